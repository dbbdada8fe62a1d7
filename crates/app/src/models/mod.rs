//! Which models there are: the library's files under the catalog's names.

mod copies;
mod elsewhere;
mod inspect;
mod pull;
mod search;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use plimsoll_catalog::{Ability, Catalog, Model, Variant};
use plimsoll_hub::{Found, FoundState, Home, Hub, Library, Place, Source};
use plimsoll_os::jobs::Scope;
use plimsoll_planner::Projector;
use plimsoll_wire::{FaultCode, VariantState};

use crate::bus::Bus;
use crate::fault::{Failed, fault};
use crate::memo::Memo;
use crate::moving::MOVE;

use copies::Copies;
pub(crate) use copies::KnownHashes;
use elsewhere::Others;
pub(crate) use inspect::Inspected;
use inspect::Inspector;
pub(crate) use pull::Order;
use search::Headers;

/// A catalog entry and one of its variants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    pub(crate) model: &'static Model,
    pub(crate) variant: &'static Variant,
}

impl Known {
    pub(crate) fn id(self) -> String {
        format!("{}:{}", self.model.id, self.variant.quant)
    }
}

/// A model in the library, under the name that everybody uses for it.
#[derive(Debug, Clone)]
pub(crate) struct OnDisk {
    /// `catalog-id:QUANT`, or `ORG/REPO/FILE` for a model that the catalog does not know.
    pub(crate) id: String,
    pub(crate) found: Found,
    pub(crate) known: Option<Known>,
    /// Its bytes were compared with its hash, and were wrong.
    pub(crate) damaged: bool,
}

impl OnDisk {
    pub(crate) fn is_ready(&self) -> bool {
        self.found.state == FoundState::Ready && !self.damaged
    }

    /// A fault when another program keeps it: nothing of theirs is changed.
    pub(crate) fn check_ours(&self) -> Result<(), Failed> {
        let Place::Elsewhere { source, .. } = &self.found.place else {
            return Ok(());
        };
        let params = [
            ("model", self.id.as_str().into()),
            ("keeper", source.keeper.as_str().into()),
            ("path", source.folder.display().to_string().into()),
        ];
        Err(fault(FaultCode::ModelNotOurs, params).into())
    }

    /// The projector that is used with it: the catalog's own choice, else the first that lies beside it.
    pub(crate) fn projector(&self) -> Option<&Path> {
        let beside = &self.found.projectors;
        let ours = self.known.and_then(|known| known.model.projectors.first());
        let chosen = ours.and_then(|ours| beside.iter().find(|file| file.path == ours.file.path));
        chosen.or(beside.first()).map(|file| file.at.as_path())
    }

    /// What an engine is given. A fault when the model is not whole.
    pub(crate) fn first_file(&self) -> Result<&Path, Failed> {
        let model = ("model", self.id.as_str().into());
        if self.damaged {
            return Err(fault(FaultCode::HashMismatch, [model]).into());
        }
        self.found.first().ok_or_else(|| {
            let missing = ("file", self.found.missing.join(", ").into());
            fault(FaultCode::ModelFileMissing, [model, missing]).into()
        })
    }
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub(crate) enum Named {
    OnDisk(Box<OnDisk>),
    /// Not on disk, but the catalog knows where to get it.
    Catalog(Known),
}

/// The library, and the hub that fetches into it.
#[derive(Clone)]
struct Shelf {
    library: Library,
    hub: Hub,
    /// The folder was chosen, and has to bear our mark.
    chosen: bool,
}

impl Shelf {
    fn new(hub: Hub, chosen: bool) -> Self {
        Self {
            library: Library::new(hub.config().cache.clone()),
            hub,
            chosen,
        }
    }
}

pub(crate) struct Models {
    /// A lock and no owner task: held for a copy or an assignment.
    shelf: RwLock<Shelf>,
    /// The library's folder while none is chosen.
    usual: PathBuf,
    pub(crate) catalog: &'static Catalog,
    memo: Memo,
    inspector: Inspector,
    jobs: Scope,
    others: Others,
    copies: Copies,
    headers: Headers,
}

impl Models {
    /// `elsewhere`: where other programs keep their models.
    pub(crate) fn new(
        catalog: &'static Catalog,
        hub: Hub,
        memo: Memo,
        elsewhere: Vec<Source>,
        bus: &Bus,
        jobs: Scope,
    ) -> Self {
        Self {
            usual: hub.config().cache.clone(),
            shelf: RwLock::new(Shelf::new(hub, false)),
            catalog,
            others: Others::new(elsewhere, memo.clone(), bus.clone(), jobs.clone()),
            copies: Copies::new(memo.clone(), bus.clone(), jobs.clone()),
            headers: Headers::default(),
            jobs: jobs.clone(),
            memo,
            inspector: Inspector::new(jobs),
        }
    }

    /// Everything in the library and elsewhere, in the order of its ids.
    pub(crate) async fn on_disk(&self) -> Result<Vec<OnDisk>, Failed> {
        self.settle().await?;
        let library = self.library();
        let scan = library.scan().await?;
        for odd in &scan.odd {
            tracing::debug!(at = %odd.at.display(), why = %odd.why, "passed over in the library");
        }
        let elsewhere = self.others.look(&library).await?;
        let damaged = self.memo.damaged().await?;
        let mut taken = BTreeSet::new();
        // The library comes first: what it has goes by the catalog's name.
        let mut all: Vec<OnDisk> = scan
            .models
            .into_iter()
            .chain(elsewhere.models.iter().cloned())
            .map(|found| {
                // The same content may lie in two repositories: the second goes by its place.
                let known = self.known(&found).filter(|known| taken.insert(known.id()));
                let id = known.map_or_else(|| found.id.clone(), Known::id);
                OnDisk {
                    damaged: damaged.contains(&id),
                    id,
                    found,
                    known,
                }
            })
            .collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(all)
    }

    /// What the catalog says of a file: by its place, or else by its content. Elsewhere a place is a guess by names,
    /// and a file of another length is not the one.
    fn known(&self, found: &Found) -> Option<Known> {
        let first = found.files.first();
        let by_content = || self.catalog.by_sha256(first?.etag.as_ref()?.sha256()?);
        let by_place = || {
            let (repo, path) = found.at_hub()?;
            let known = self.catalog.by_place(repo.as_str(), path)?;
            let same_length = || first.is_some_and(|first| first.bytes == known.2.bytes);
            (found.keeper().is_none() || same_length()).then_some(known)
        };
        let (model, variant, _) = by_place().or_else(by_content)?;
        Some(Known { model, variant })
    }

    /// `catalog-id[:QUANT]`, `ORG/REPO/FILE` or `hf:ORG/REPO/FILE`. Without a quant, what is on disk comes
    /// before what is not.
    pub(crate) async fn find(&self, name: &str) -> Result<Named, Failed> {
        let on_disk = self.on_disk().await?;
        self.find_in(&on_disk, name)
    }

    pub(crate) fn find_in(&self, on_disk: &[OnDisk], name: &str) -> Result<Named, Failed> {
        let name = name.strip_prefix("hf:").unwrap_or(name);
        let (id, quant) = match name.split_once(':') {
            Some((id, quant)) => (id, Some(quant)),
            None => (name, None),
        };
        let exact = on_disk
            .iter()
            .find(|model| model.id.eq_ignore_ascii_case(name) || model.found.id == name);
        if let Some(model) = exact {
            return Ok(Named::OnDisk(Box::new(model.clone())));
        }
        let unknown = || fault(FaultCode::UnknownModel, [("model", name.into())]);
        let model = self.catalog.model(id).ok_or_else(unknown)?;
        if quant.is_none() {
            let of_model = |on_disk: &&OnDisk| on_disk.known.is_some_and(|known| known.model.id == model.id);
            let mut variants: Vec<&OnDisk> = on_disk.iter().filter(of_model).collect();
            variants.sort_by_key(|on_disk| {
                let is_default = on_disk
                    .known
                    .is_some_and(|known| known.variant.quant == model.default_quant);
                (!on_disk.is_ready(), !is_default)
            });
            if let Some(best) = variants.first() {
                return Ok(Named::OnDisk(Box::new((*best).clone())));
            }
        }
        let variant = model.variant(quant).ok_or_else(unknown)?;
        Ok(Named::Catalog(Known { model, variant }))
    }

    /// The model, which must be on disk.
    pub(crate) async fn find_on_disk(&self, name: &str) -> Result<OnDisk, Failed> {
        match self.find(name).await? {
            Named::OnDisk(on_disk) => Ok(*on_disk),
            Named::Catalog(known) => {
                Err(fault(FaultCode::ModelFileMissing, [("model", known.id().into())]).into())
            }
        }
    }

    /// What the file says of itself; read once as long as the file stays the same.
    pub(crate) async fn inspect(&self, path: &Path) -> Result<Arc<Inspected>, Failed> {
        self.inspector.inspect(path).await
    }

    /// What the header of a projector says.
    pub(crate) async fn projector(&self, path: &Path) -> Result<Projector, Failed> {
        self.inspector.projector(path).await
    }

    /// A model that was just found, under its name.
    pub(crate) async fn named(&self, found: Found) -> Result<OnDisk, Failed> {
        let on_disk = self.on_disk().await?;
        let same = |model: &&OnDisk| model.found.id == found.id;
        let named = on_disk.iter().find(same).cloned();
        Ok(named.unwrap_or_else(|| OnDisk {
            id: found.id.clone(),
            found,
            known: None,
            damaged: false,
        }))
    }

    /// What people call it: the catalog's name, the file's own, or the file's.
    pub(crate) async fn name_of(&self, model: &OnDisk) -> String {
        if let Some(known) = model.known {
            return known.model.name.clone();
        }
        if let Ok(path) = model.first_file()
            && let Ok(inspected) = self.inspect(path).await
            && let Some(name) = &inspected.name
        {
            return name.clone();
        }
        let file = model.found.path.rsplit('/').next().unwrap_or_default();
        file.strip_suffix(".gguf").unwrap_or(file).to_owned()
    }

    /// How much of a catalog's variant is here.
    pub(crate) fn variant_state(&self, on_disk: &[OnDisk], known: Known) -> VariantState {
        let library = self.library();
        let id = known.id();
        match on_disk.iter().find(|model| model.id == id) {
            Some(model) if model.is_ready() => VariantState::OnDisk,
            Some(_) => VariantState::Partial,
            None => {
                let begun = known.variant.files.iter().any(|file| {
                    let (Ok(repo), Some(sha256)) = (file.repo.parse(), &file.sha256) else {
                        return false;
                    };
                    library.begun(&repo, sha256).is_some()
                });
                if begun {
                    VariantState::Partial
                } else {
                    VariantState::Absent
                }
            }
        }
    }

    pub(crate) async fn licences(&self) -> Result<BTreeSet<String>, Failed> {
        Ok(self.memo.licences().await?)
    }

    /// Whether a model is meant for talking: by the catalog, or by its own chat template.
    pub(crate) async fn can_chat(&self, on_disk: &OnDisk) -> bool {
        if let Some(known) = on_disk.known {
            return known.model.can(Ability::Chat);
        }
        let Ok(path) = on_disk.first_file() else {
            return false;
        };
        self.inspect(path)
            .await
            .is_ok_and(|inspected| inspected.has_chat_template)
    }

    /// The model that is used when nobody says which: the chosen one, the last one, the only one.
    pub(crate) async fn default_model(&self) -> Result<Option<String>, Failed> {
        let on_disk = self.on_disk().await?;
        let ready = |name: Option<String>| match self.find_in(&on_disk, &name?) {
            Ok(Named::OnDisk(model)) if model.is_ready() => Some(model.id),
            Ok(Named::OnDisk(_) | Named::Catalog(_)) | Err(_) => None,
        };
        if let Some(chosen) = ready(self.memo.settings().await?.default_model) {
            return Ok(Some(chosen));
        }
        if let Some(last) = ready(self.memo.last_model().await?) {
            return Ok(Some(last));
        }
        let mut chatting = Vec::new();
        for model in on_disk.iter().filter(|model| model.is_ready()) {
            if self.can_chat(model).await {
                chatting.push(&model.id);
            }
        }
        Ok(match chatting.as_slice() {
            [only] => Some((*only).clone()),
            _ => None,
        })
    }

    /// Where an imported content belongs, when the catalog knows it.
    pub(crate) fn home_of(&self) -> impl Fn(&str) -> Option<Home> + Send + use<> {
        let catalog = self.catalog;
        move |sha256| {
            let (_, _, file) = catalog.by_sha256(sha256)?;
            Some(Home {
                repo: file.repo.parse().ok()?,
                revision: file.revision.clone(),
                path: file.path.clone(),
            })
        }
    }

    fn shelf(&self) -> Shelf {
        self.shelf.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn hub(&self) -> Hub {
        self.shelf().hub
    }

    pub(crate) fn library(&self) -> Library {
        self.shelf().library
    }

    /// Where the library is by now: this program or another one may have moved it.
    pub(crate) async fn settle(&self) -> Result<(), Failed> {
        let chosen = self.memo.library_folder().await?.map(PathBuf::from);
        let now = self.shelf();
        let folder = chosen.as_ref().unwrap_or(&self.usual);
        if *folder != now.hub.config().cache || chosen.is_some() != now.chosen {
            let next = Shelf::new(now.hub.with_cache(folder.clone()), chosen.is_some());
            *self.shelf.write().unwrap_or_else(PoisonError::into_inner) = next;
        }
        Ok(())
    }

    /// The library's folder was chosen and is not there: nothing may be put where its disk should be.
    pub(crate) fn is_gone(&self) -> bool {
        let now = self.shelf();
        now.chosen && !Library::is_marked(now.library.folder())
    }

    /// Whether something may arrive at the library: its disk is there, and it is not being moved away.
    pub(crate) async fn check_there(&self) -> Result<(), Failed> {
        self.settle().await?;
        let begun = self.memo.library_move().await?;
        if begun.is_some_and(|plan| !plan.is_switched()) {
            return Err(fault(FaultCode::Busy, [("what", MOVE.into())]).into());
        }
        if self.is_gone() {
            let path = self.folder().display().to_string();
            return Err(fault(FaultCode::LibraryGone, [("path", path.into())]).into());
        }
        Ok(())
    }

    /// The library's folder while none is chosen.
    pub(crate) fn usual(&self) -> &Path {
        &self.usual
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.library().folder().to_owned()
    }
}
