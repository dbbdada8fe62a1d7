//! Follows a download from its start to its end.

use indicatif::ProgressBar;
use plimsoll_app::Hearing;
use plimsoll_wire::{Fault, FaultCode, Fix, Params, ReadStatus, Transfer, Transferring};

use super::Session;
use super::news::News;
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use crate::out::Form;

pub(super) enum Followed {
    Done { subject: String },
    Interrupted,
}

/// `hearing` began before the transfer did, so nothing of it is missed.
pub(super) async fn follow(
    session: &Session,
    interrupts: &mut Interrupts,
    hearing: &mut Hearing,
    id: &str,
    moved: impl Fn(&Transfer),
) -> Result<Followed, Failure> {
    let bar = session.out.bar(0);
    let mut noted = 0;
    let ended = loop {
        let event = tokio::select! {
            event = hearing.next() => event,
            () = interrupts.next() => break Ok(Followed::Interrupted),
        };
        let transfer = match event.map(News::from) {
            Some(News::Transfer(transfer)) if transfer.id == id => *transfer,
            Some(News::Missed) => match missed(session, id).await? {
                Some(transfer) => transfer,
                None => continue,
            },
            Some(News::Transfer(_) | News::Compared(_) | News::Router | News::Other) => continue,
            None => break Err(gone()),
        };
        for note in transfer.notes.iter().skip(noted) {
            bar.println(session.out.lang.code("reason", &note.code, &note.params));
        }
        noted = transfer.notes.len();
        match session.out.form {
            Form::Json => moved(&transfer),
            Form::Person => draw(session, &bar, &transfer),
        }
        match transfer.state {
            Transferring::Running | Transferring::Checking => {}
            Transferring::Done => {
                break Ok(Followed::Done {
                    subject: transfer.subject,
                });
            }
            // Someone else stopped it: another window, another terminal.
            Transferring::Stopped | Transferring::Cancelled => break Ok(Followed::Interrupted),
            Transferring::Failed => break Err(transfer.fault.map_or_else(gone, Failure::from)),
        }
    };
    bar.finish_and_clear();
    ended
}

fn draw(session: &Session, bar: &ProgressBar, transfer: &Transfer) {
    let key = match transfer.state {
        Transferring::Checking => "pull.checking",
        Transferring::Running
        | Transferring::Done
        | Transferring::Stopped
        | Transferring::Cancelled
        | Transferring::Failed => "pull.running",
    };
    bar.set_length(transfer.total_bytes);
    bar.set_position(transfer.done_bytes);
    bar.set_message(session.out.lang.text(key).to_owned());
}

async fn missed(session: &Session, id: &str) -> Result<Option<Transfer>, Failure> {
    let status = session.ask(ReadStatus {}).await?;
    Ok(status.transfers.into_iter().find(|transfer| transfer.id == id))
}

fn gone() -> Failure {
    Fault {
        code: FaultCode::Internal,
        params: Params::new(),
        trace: Vec::new(),
        fixes: vec![Fix::ReportBug],
    }
    .into()
}
