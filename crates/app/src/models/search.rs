//! What the hub has, and what it would do on this machine, before anything of it is fetched.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_gguf::Sibling;
use plimsoll_hub::{Gate, Listed, Listing, RepoHit, RepoId, RepoVariant};
use plimsoll_planner::{Projector, Shape};
use plimsoll_units::Bytes;
use plimsoll_wire::{FaultCode, HubGate, HubRepo, HubSearch, HubVariant, HubVariants, VariantState};

use super::{Known, Models, OnDisk};
use crate::fault::{Failed, fault};

/// One more than is shown tells that there are more.
const SHOWN_MAX: usize = 30;
/// Repositories whose headers are remembered; a person looks at a few.
const KEPT_MAX: usize = 32;

/// What was read of one repository at one commit.
#[derive(Default)]
struct Repository {
    listing: Option<Listing>,
    /// From the first header that was read whole.
    sibling: Option<Arc<Sibling>>,
    shapes: BTreeMap<String, Arc<Shape>>,
    /// By path.
    projectors: BTreeMap<String, Projector>,
}

/// Shapes read from headers at the hub. One repository is asked by one at a time: whoever comes second profits
/// from what the first one read.
#[derive(Default)]
pub(super) struct Headers {
    /// A lock, held for a look-up.
    repositories: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<Repository>>>>,
}

impl Headers {
    fn of(&self, repo: &RepoId) -> Arc<tokio::sync::Mutex<Repository>> {
        let mut all = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT_MAX && !all.contains_key(repo.as_str()) {
            all.clear();
        }
        Arc::clone(all.entry(repo.as_str().to_owned()).or_default())
    }
}

/// A variant at the hub as far as its header says it.
pub(crate) struct Judged {
    pub(crate) id: String,
    pub(crate) shape: Arc<Shape>,
    pub(crate) projector: Option<Projector>,
    pub(crate) fetched: Bytes,
}

impl Models {
    pub(crate) async fn search(&self, words: &str) -> Result<HubSearch, Failed> {
        let mut hits = self.hub().search(words, SHOWN_MAX + 1).await?;
        let more = hits.len() > SHOWN_MAX;
        hits.truncate(SHOWN_MAX);
        Ok(HubSearch {
            repos: hits.into_iter().map(repo).collect(),
            more,
        })
    }

    /// What a repository holds, as it is at the hub now.
    pub(crate) async fn hub_variants(&self, name: &str) -> Result<HubVariants, Failed> {
        let repo: RepoId = name.parse()?;
        let listing = self.hub().list(&repo, "main").await?;
        let on_disk = self.on_disk().await?;
        let variants = listing.variants();
        let shown = variants.iter().map(|variant| {
            let id = self.hub_id(&listing, variant);
            HubVariant {
                quant: variant.quant.clone().unwrap_or_default(),
                path: variant.path.clone(),
                files: u32::try_from(variant.files.len()).unwrap_or(u32::MAX),
                bytes: variant.bytes.0,
                projector_bytes: variant.projector.as_ref().map(|file| file.bytes.0),
                missing: variant.missing.clone(),
                state: state_of(&on_disk, &id),
                id,
                fit: None,
            }
        });
        let reply = HubVariants {
            repo: repo.to_string(),
            commit: listing.commit.clone(),
            url: format!(
                "{}/{repo}",
                self.hub().config().endpoint.as_str().trim_end_matches('/')
            ),
            gate: gate(listing.gate),
            licence: listing.licence.clone(),
            variants: shown.collect(),
        };
        let kept = self.headers.of(&repo);
        let mut kept = kept.lock().await;
        if kept
            .listing
            .as_ref()
            .is_none_or(|known| known.commit != listing.commit)
        {
            *kept = Repository::default();
        }
        kept.listing = Some(listing);
        Ok(reply)
    }

    /// The shape of one variant, from its header at the hub.
    pub(crate) async fn judge_at_hub(&self, name: &str, path: &str) -> Result<Judged, Failed> {
        let repo: RepoId = name.parse()?;
        let kept = self.headers.of(&repo);
        let mut kept = kept.lock().await;
        let listing = if let Some(listing) = &kept.listing {
            listing.clone()
        } else {
            let listing = self.hub().list(&repo, "main").await?;
            kept.listing.insert(listing).clone()
        };
        let variants = listing.variants();
        let unknown = || {
            fault(
                FaultCode::UnknownModel,
                [("model", format!("{name}/{path}").into())],
            )
        };
        let variant = variants
            .iter()
            .find(|variant| variant.path == path)
            .ok_or_else(unknown)?;
        if !variant.missing.is_empty() {
            let params = [
                ("model", format!("{name}/{path}").into()),
                ("file", variant.missing.join(", ").into()),
            ];
            return Err(fault(FaultCode::ModelFileMissing, params).into());
        }
        let known = kept.shapes.get(path).map(Arc::clone);
        let (shape, mut fetched) = if let Some(shape) = known {
            (shape, Bytes::ZERO)
        } else {
            let sibling = kept.sibling.clone();
            let read = self.hub().header(&listing, variant, sibling.as_deref()).await?;
            let shape = Arc::new(Shape::from_header(&read.header)?);
            if let Some(sibling) = read.sibling {
                kept.sibling.get_or_insert_with(|| Arc::new(sibling));
            }
            kept.shapes.insert(path.to_owned(), Arc::clone(&shape));
            (shape, read.fetched)
        };
        let projector = match &variant.projector {
            Some(file) => {
                let (projector, cost) = self.projector_at_hub(&mut kept, &listing, file).await;
                fetched = fetched.plus(cost);
                Some(projector)
            }
            None => None,
        };
        Ok(Judged {
            id: self.hub_id(&listing, variant),
            shape,
            projector,
            fetched,
        })
    }

    /// What the projector's header says, and what reading it cost; by its size where the header says nothing. Read
    /// once for all variants beside it.
    async fn projector_at_hub(
        &self,
        kept: &mut Repository,
        listing: &Listing,
        file: &Listed,
    ) -> (Projector, Bytes) {
        if let Some(known) = kept.projectors.get(&file.path) {
            return (*known, Bytes::ZERO);
        }
        let (projector, fetched) = match self.hub().header_beside(listing, file).await {
            Ok((header, fetched)) => (Projector::from_header(&header).ok(), fetched),
            Err(error) => {
                tracing::debug!(%error, path = file.path, "a projector is judged by its size");
                (None, Bytes::ZERO)
            }
        };
        let projector = projector.unwrap_or(Projector::of_size(file.bytes));
        kept.projectors.insert(file.path.clone(), projector);
        (projector, fetched)
    }

    /// The catalog's id, where it knows the file.
    fn hub_id(&self, listing: &Listing, variant: &RepoVariant) -> String {
        let known = self.catalog.by_place(listing.repo.as_str(), &variant.path);
        known.map_or_else(
            || format!("{}/{}", listing.repo, variant.path),
            |(model, variant, _)| Known { model, variant }.id(),
        )
    }
}

fn state_of(on_disk: &[OnDisk], id: &str) -> VariantState {
    match on_disk
        .iter()
        .find(|model| model.id == id || model.found.id == id)
    {
        Some(model) if model.is_ready() => VariantState::OnDisk,
        Some(_) => VariantState::Partial,
        None => VariantState::Absent,
    }
}

fn repo(hit: RepoHit) -> HubRepo {
    HubRepo {
        id: hit.repo.to_string(),
        downloads: hit.downloads,
        likes: hit.likes,
        gate: gate(hit.gate),
        licence: hit.licence,
        changed: hit.changed,
        quants: hit.quants,
    }
}

const fn gate(gate: Gate) -> HubGate {
    match gate {
        Gate::Open => HubGate::Open,
        Gate::Automatic => HubGate::Automatic,
        Gate::Manual => HubGate::Manual,
    }
}
