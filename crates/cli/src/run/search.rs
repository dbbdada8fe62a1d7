use plimsoll_wire::{FitVariant, HubVariants, ListVariants, SearchHub};

use super::Session;
use crate::args::SearchArgs;
use crate::failure::Failure;
use crate::show;

/// Repositories by words; of one that is named in full, its variants with what each would do here.
pub(super) async fn search(session: &Session, args: &SearchArgs) -> Result<(), Failure> {
    if let [repo] = args.words.as_slice()
        && repo.split('/').filter(|part| !part.is_empty()).count() == 2
    {
        let variants = fitted(session, repo.trim_start_matches("hf:")).await?;
        session.out.answer(&variants, show::variants);
        return Ok(());
    }
    let waiting = session.out.spinner();
    waiting.set_message(session.out.lang.text("search.running").to_owned());
    let words = args.words.join(" ");
    let found = session.ask(SearchHub { words }).await;
    waiting.finish_and_clear();
    session.out.answer(&found?, show::found);
    Ok(())
}

/// Every file's header, one after the other: the first one teaches how to read the others.
async fn fitted(session: &Session, repo: &str) -> Result<HubVariants, Failure> {
    let waiting = session.out.spinner();
    waiting.set_message(session.out.lang.text("search.running").to_owned());
    let repo = repo.to_owned();
    let mut found = match session.ask(ListVariants { repo: repo.clone() }).await {
        Ok(found) => found,
        Err(failure) => {
            waiting.finish_and_clear();
            return Err(failure);
        }
    };
    for variant in &mut found.variants {
        waiting.set_message(variant.path.clone());
        let call = FitVariant {
            repo: repo.clone(),
            path: variant.path.clone(),
        };
        // One file that cannot be read says so in its own line.
        variant.fit = Some(match session.app.ask(call).await {
            Ok(fit) => fit,
            Err(fault) => plimsoll_wire::HubFit {
                plan: None,
                with_projector: None,
                fault: Some(fault),
                fetched_bytes: 0,
            },
        });
    }
    waiting.finish_and_clear();
    Ok(found)
}
