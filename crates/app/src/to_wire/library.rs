use plimsoll_catalog as catalog;
use plimsoll_hub::{FoundState, Keeper, Odd, OddReason};
use plimsoll_wire as wire;

use crate::models::OnDisk;

pub(crate) fn library_state(model: &OnDisk) -> wire::LibraryState {
    match model.found.state {
        FoundState::Incomplete => wire::LibraryState::Incomplete,
        FoundState::Ready if model.damaged => wire::LibraryState::Damaged,
        FoundState::Ready => wire::LibraryState::Ready,
    }
}

pub(crate) fn model_entry(
    model: &catalog::Model,
    accepted: bool,
    variants: Vec<wire::Variant>,
) -> wire::ModelEntry {
    wire::ModelEntry {
        id: model.id.clone(),
        name: model.name.clone(),
        about: model.about.clone(),
        about_in: model.about_in.clone(),
        publisher: model.publisher.clone(),
        licence: wire::Licence {
            name: model.licence.name.clone(),
            url: model.licence.url.clone(),
            consent: model.licence.consent,
            accepted,
        },
        parameters: model.parameters,
        active_parameters: model.active_parameters,
        context_trained: model.context_trained,
        abilities: model
            .abilities
            .iter()
            .map(|ability| ability.as_str().to_owned())
            .collect(),
        rank: model.quality.rank,
        rank_reason: model.quality.reason.clone(),
        unverified: unverified(model),
        variants,
    }
}

/// The shape's own list is for those who plan; here it is one word.
fn unverified(model: &catalog::Model) -> Vec<String> {
    let shape = (!model.shape.unverified.is_empty()).then(|| "shape".to_owned());
    model.unverified.iter().cloned().chain(shape).collect()
}

pub(crate) const fn keeper(keeper: Keeper) -> wire::Keeper {
    match keeper {
        Keeper::LmStudio => wire::Keeper::LmStudio,
        Keeper::Ollama => wire::Keeper::Ollama,
        Keeper::LlamaCpp => wire::Keeper::LlamaCpp,
        Keeper::Jan => wire::Keeper::Jan,
        Keeper::Gpt4All => wire::Keeper::Gpt4All,
        Keeper::Folder => wire::Keeper::Folder,
    }
}

/// Why something was passed over.
pub(crate) fn odd(odd: &Odd) -> wire::Reason {
    let mut params = wire::Params::from([("path".to_owned(), odd.at.display().to_string().into())]);
    let code = match &odd.why {
        OddReason::Unreadable(_) => "unreadable",
        OddReason::Name(_) | OddReason::NotUnicode | OddReason::NoRepository => "oddName",
        OddReason::TooMany(limit) => {
            params.insert(
                "limit".to_owned(),
                u64::try_from(*limit).unwrap_or(u64::MAX).into(),
            );
            "tooMany"
        }
        OddReason::Manifest(_) => "oddManifest",
        OddReason::Unusable(_) => "notOneModel",
        OddReason::Gone => "folderGone",
    };
    wire::Reason {
        code: code.to_owned(),
        params,
    }
}
