use std::io::{IsTerminal, Read};

use plimsoll_wire::{
    ChatEnd, ChatSettings, CreateConversation, Event, Fault, FaultCode, Fix, Params, StartTurn,
};

use super::Session;
use super::turn::{self, Ended, Show};
use crate::args::ChatArgs;
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use crate::lang::clean;
use crate::out::{Form, Out, QUIET, styled};
use crate::show;

/// What may be piped in: far more than any window holds.
const PIPED_BYTES_MAX: u64 = 8 << 20;

pub(super) async fn chat(session: &Session, args: ChatArgs) -> Result<(), Failure> {
    let mut interrupts = session.interrupts();
    let mut text = args.text.join(" ");
    let by_hand = std::io::stdin().is_terminal();
    if !by_hand {
        let piped = piped(&mut interrupts).await?;
        if !text.is_empty() && !piped.trim().is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&piped);
    }
    if text.trim().is_empty() && !(by_hand && session.out.form == Form::Person) {
        return Err(nothing_asked());
    }
    let conversation = match &args.go_on {
        Some(typed) => super::conversations::find(session, typed).await?,
        None => begin(session, &args).await?,
    };
    let asked = |text: String| StartTurn {
        conversation: conversation.clone(),
        text,
        model: args.model.clone(),
        instead: None,
    };
    if !text.trim().is_empty() {
        let ended = answer(session, &mut interrupts, asked(text)).await?;
        return close(session, &ended);
    }
    session
        .out
        .note(&styled(QUIET, session.out.lang.text("chat.how")));
    loop {
        session.out.piece("> ");
        let line = tokio::select! {
            line = turn::line() => line,
            () = interrupts.next() => return Err(Failure::Interrupted),
        };
        let Some(line) = line else { return Ok(()) };
        if line.trim().is_empty() {
            continue;
        }
        // A failed turn is told, and the next question may do better.
        match answer(session, &mut interrupts, asked(line.trim_end().to_owned())).await {
            Ok(ended) => {
                let _told = close(session, &ended).map_err(|failure| crate::tell(&session.out, &failure));
            }
            Err(Failure::Fault(fault)) => crate::tell(&session.out, &Failure::Fault(fault)),
            Err(failure @ (Failure::Told | Failure::Interrupted)) => return Err(failure),
        }
    }
}

async fn begin(session: &Session, args: &ChatArgs) -> Result<String, Failure> {
    let settings = args.instructions.as_ref().map(|instructions| ChatSettings {
        instructions: Some(instructions.clone()),
        ..ChatSettings::default()
    });
    let created = session
        .ask(CreateConversation {
            model: args.model.clone(),
            settings,
        })
        .await?;
    Ok(created.summary.id)
}

async fn answer(session: &Session, interrupts: &mut Interrupts, asked: StartTurn) -> Result<Ended, Failure> {
    match session.out.form {
        Form::Json => turn::run(session, interrupts, asked, &mut AsLines(&session.out)).await,
        Form::Person => {
            let mut shown = AsText {
                out: &session.out,
                thinking: false,
            };
            let ended = turn::run(session, interrupts, asked, &mut shown).await?;
            session.out.line("");
            Ok(ended)
        }
    }
}

fn close(session: &Session, ended: &Ended) -> Result<(), Failure> {
    if session.out.form == Form::Person
        && let Some(stats) = &ended.stats
    {
        session
            .out
            .note(&styled(QUIET, &show::stats(&session.out, stats)));
    }
    match ended.end {
        ChatEnd::Complete => Ok(()),
        ChatEnd::Length => {
            session.out.note(session.out.lang.text("chat.cut"));
            Ok(())
        }
        ChatEnd::Stopped => Err(Failure::Interrupted),
        ChatEnd::Failed | ChatEnd::Interrupted => {
            Err(ended.fault.clone().map_or(Failure::Told, Failure::from))
        }
    }
}

struct AsLines<'a>(&'a Out);
impl Show for AsLines<'_> {
    fn event(&mut self, event: &Event) {
        self.0.json(event);
    }
    fn text(&mut self, _: &str) {}
    fn reasoning(&mut self, _: &str) {}
}

struct AsText<'a> {
    out: &'a Out,
    thinking: bool,
}
impl Show for AsText<'_> {
    fn event(&mut self, _: &Event) {}
    fn text(&mut self, text: &str) {
        if self.thinking {
            self.thinking = false;
            self.out.piece("\n\n");
        }
        self.out.piece(&clean(text));
    }
    fn reasoning(&mut self, text: &str) {
        self.thinking = true;
        self.out.piece(&styled(QUIET, &clean(text)));
    }
}

async fn piped(interrupts: &mut Interrupts) -> Result<String, Failure> {
    let reading = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .take(PIPED_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    });
    let bytes = tokio::select! {
        read = reading => read.ok().and_then(Result::ok).unwrap_or_default(),
        () = interrupts.next() => return Err(Failure::Interrupted),
    };
    if bytes.len() as u64 > PIPED_BYTES_MAX {
        return Err(bad_input("standard input is too long"));
    }
    String::from_utf8(bytes).map_err(|_| bad_input("standard input is no UTF-8 text"))
}

fn bad_input(why: &str) -> Failure {
    let trace = vec![why.to_owned()];
    Fault {
        code: FaultCode::BadRequest,
        params: Params::new(),
        trace,
        fixes: vec![Fix::Retry],
    }
    .into()
}

fn nothing_asked() -> Failure {
    bad_input("nothing was asked")
}
