use plimsoll_wire::{LibraryState, ListModels, RunBench, Verdict};

use super::Session;
use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::show;

/// Measures models one after the other; each teaches the plans from then on.
pub(super) async fn bench(session: &Session, args: BenchArgs) -> Result<(), Failure> {
    let models = if args.models.is_empty() {
        ready(session).await?
    } else {
        args.models
    };
    let mut measured = Vec::new();
    let waiting = session.out.spinner();
    for model in models {
        waiting.set_message(model.clone());
        match session.ask(RunBench { model }).await {
            Ok(reply) => measured.push(reply),
            Err(failure) => {
                waiting.finish_and_clear();
                return Err(failure);
            }
        }
    }
    waiting.finish_and_clear();
    session
        .out
        .answer(&measured, |out, measured| show::bench(out, measured));
    Ok(())
}

/// Whatever is whole and fits.
async fn ready(session: &Session) -> Result<Vec<String>, Failure> {
    let library = session.ask(ListModels {}).await?;
    let usable = library.models.into_iter().filter(|model| {
        let fits = model
            .plan
            .as_ref()
            .is_some_and(|plan| plan.verdict != Verdict::TooBig);
        model.state == LibraryState::Ready && fits
    });
    Ok(usable.map(|model| model.id).collect())
}
