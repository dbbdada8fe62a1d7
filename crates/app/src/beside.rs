//! What a model is planned and loaded with: its own file, a projector for pictures, something that drafts.

use std::path::{Path, PathBuf};

use plimsoll_planner::{Draft, Projector, Shape, Wishes};
use plimsoll_wire::{self as wire, FaultCode, PlanWishes};

use crate::fault::{Failed, fault};
use crate::models::{Models, Named};

/// llama-server's option for the file of a model that drafts.
const DRAFT_FILE: &str = "--spec-draft-model";

/// What lies beside a model and is loaded with it.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    pub(crate) projector: Option<Projector>,
    draft: Option<Draft>,
    /// For the engine.
    arguments: Vec<String>,
}

impl Beside {
    /// What is wished, and the projector that lies beside the model unless another is named.
    pub(crate) async fn of(models: &Models, wishes: &PlanWishes, own: Option<&Path>) -> Result<Self, Failed> {
        let mut beside = Self::default();
        let named = wishes.projector.as_deref().map(Path::new);
        let read = match (named, own) {
            (Some(path), _) if !path.is_file() => {
                let path = path.display().to_string();
                return Err(fault(FaultCode::ModelFileMissing, [("path", path.into())]).into());
            }
            (Some(path), _) => Some((path, models.projector(path).await?)),
            // One that nobody asked for must not keep the model from loading.
            (None, Some(path)) => match models.projector(path).await {
                Ok(projector) => Some((path, projector)),
                Err(failed) => {
                    let fault = wire::Fault::from(failed);
                    tracing::warn!(path = %path.display(), ?fault, "a projector is left out");
                    None
                }
            },
            (None, None) => None,
        };
        if let Some((path, projector)) = read {
            beside.projector = Some(projector);
            beside.name("--mmproj", path);
        }
        match wishes.draft.as_deref() {
            None => {}
            Some("own") => beside.draft = Some(Draft::Own),
            Some(name) => {
                let (shape, file) = draft_of(models, name).await?;
                beside.draft = Some(Draft::Model(Box::new(shape)));
                if let Some(file) = file {
                    beside.name(DRAFT_FILE, &file);
                }
            }
        }
        Ok(beside)
    }

    fn name(&mut self, option: &str, path: &Path) {
        let path = path.display().to_string();
        self.arguments.extend([option.to_owned(), path]);
    }

    /// Whether all that a load needs is on the disk.
    pub(crate) fn check_files(&self, wishes: &PlanWishes) -> Result<(), Failed> {
        let named = self.arguments.iter().any(|argument| argument == DRAFT_FILE);
        match (&self.draft, wishes.draft.as_deref()) {
            (Some(Draft::Model(_)), Some(name)) if !named => {
                Err(fault(FaultCode::ModelFileMissing, [("model", name.into())]).into())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn wishes(&self, wishes: Wishes) -> Wishes {
        Wishes {
            projector: self.projector,
            draft: self.draft.clone(),
            ..wishes
        }
    }

    /// The plan with the files among its arguments. A draft that does not suit the model is not in the plan.
    pub(crate) fn named_in(&self, mut plan: wire::Plan) -> wire::Plan {
        let drafts = plan
            .settings
            .arguments
            .iter()
            .any(|argument| argument == "--spec-type");
        for pair in self.arguments.chunks_exact(2) {
            if drafts || pair[0] != DRAFT_FILE {
                plan.settings.arguments.extend_from_slice(pair);
            }
        }
        plan
    }
}

/// A model that a plan is asked for.
pub(crate) struct Subject {
    pub(crate) id: String,
    pub(crate) shape: Shape,
    pub(crate) projector: Option<Pictures>,
}

/// What it sees pictures with.
pub(crate) enum Pictures {
    File(PathBuf),
    /// Not on the disk; its size is known.
    Sized(Projector),
}

/// From the model's file where there is one, else from the catalog.
pub(crate) async fn subject(models: &Models, name: &str) -> Result<Subject, Failed> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(Subject {
            id: name.to_owned(),
            shape: models.inspect(path).await?.shape.clone(),
            projector: None,
        });
    }
    match models.find(name).await {
        Ok(Named::OnDisk(model)) => Ok(Subject {
            shape: models.inspect(model.first_file()?).await?.shape.clone(),
            projector: model.projector().map(|path| Pictures::File(path.to_owned())),
            id: model.id,
        }),
        Ok(Named::Catalog(known)) => Ok(Subject {
            id: known.id(),
            shape: Shape::from_catalog(known.model, known.variant),
            projector: Projector::of_model(known.model).map(Pictures::Sized),
        }),
        // Somebody meant a file: say that it is not there, not that the catalog does not know it.
        Err(_)
            if path
                .extension()
                .is_some_and(|ending| ending.eq_ignore_ascii_case("gguf")) =>
        {
            Err(fault(FaultCode::ModelFileMissing, [("path", name.into())]).into())
        }
        Err(failed) => Err(failed),
    }
}

/// A small model that drafts, and its file where it is on the disk.
async fn draft_of(models: &Models, name: &str) -> Result<(Shape, Option<PathBuf>), Failed> {
    let path = Path::new(name);
    let file = if path.is_file() {
        Some(path.to_owned())
    } else {
        match models.find(name).await {
            Ok(Named::OnDisk(model)) => Some(model.first_file()?.to_owned()),
            Ok(Named::Catalog(_)) | Err(_) => None,
        }
    };
    Ok((subject(models, name).await?.shape, file))
}
