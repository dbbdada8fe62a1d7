use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_catalog::File;
use plimsoll_hub::{Address, Fetched, FileSet, Hub, HubError, Pin, RepoVariant, Wanted, Watcher};
use plimsoll_units::Bytes;
use plimsoll_wire::{FaultCode, Reason};
use tokio_util::sync::CancellationToken;

use super::{Known, Models, Named, OnDisk};
use crate::fault::{Failed, fault};
use crate::transfers::Brought;

/// What a download brings.
#[derive(Debug, Clone)]
pub(crate) enum Order {
    Catalog(Known),
    /// A file at the hub that the catalog does not know.
    Hub(Address),
}

impl Order {
    /// The id that the model will have in the library.
    pub(crate) fn id(&self) -> String {
        match self {
            Self::Catalog(known) => known.id(),
            Self::Hub(address) => format!("{}/{}", address.repo, address.path),
        }
    }

    /// As far as it is known before the hub is asked.
    pub(crate) fn bytes(&self) -> Option<Bytes> {
        match self {
            Self::Catalog(known) => {
                let all = known.variant.files.iter().chain(projector_of(*known));
                Some(all.map(|file| file.bytes).sum())
            }
            Self::Hub(_) => None,
        }
    }
}

impl Models {
    /// What a name that is to be downloaded means. A name of the catalog wins over an address.
    pub(crate) async fn order(&self, name: &str) -> Result<Order, Failed> {
        let bare = name.strip_prefix("hf:").unwrap_or(name);
        match self.find(bare).await {
            Ok(Named::Catalog(known)) => return Ok(Order::Catalog(known)),
            Ok(Named::OnDisk(on_disk)) => {
                if let Some(known) = on_disk.known {
                    return Ok(Order::Catalog(known));
                }
                return order_again(&on_disk);
            }
            Err(_) if bare.matches('/').count() >= 2 => {}
            Err(unknown) => return Err(unknown),
        }
        let address: Address = bare.parse()?;
        let known = self.catalog.by_place(address.repo.as_str(), &address.path);
        Ok(known.map_or(Order::Hub(address), |(model, variant, _)| {
            Order::Catalog(Known { model, variant })
        }))
    }

    /// Refuses a model whose licence wants to be agreed to and was not; remembers a consent that comes along.
    pub(crate) async fn check_licence(&self, order: &Order, accepted: bool) -> Result<(), Failed> {
        let Order::Catalog(known) = order else {
            return Ok(());
        };
        let licence = &known.model.licence;
        if !licence.consent {
            return Ok(());
        }
        if accepted {
            return Ok(self.memo.accept_licence(&licence.name).await?);
        }
        if self.memo.licences().await?.contains(&licence.name) {
            return Ok(());
        }
        let params = [
            ("model", known.id().into()),
            ("licence", licence.name.as_str().into()),
            ("url", licence.url.as_str().into()),
        ];
        Err(fault(FaultCode::LicenceNotAccepted, params).into())
    }

    /// Asks the hub for the file set and brings it. What is here already costs nothing. What the hub says otherwise
    /// than an unconfirmed entry of the catalog is told before the first byte.
    pub(crate) async fn fetch(
        &self,
        order: &Order,
        watcher: Arc<dyn Watcher>,
        told: &(dyn Fn(Reason) + Send + Sync),
        stop: &CancellationToken,
    ) -> Result<Brought, Failed> {
        self.check_there().await?;
        let set = tokio::select! { biased;
            () = stop.cancelled() => return Ok(Brought::Stopped),
            set = self.file_set(order) => set?,
        };
        let FileSetOf { set, left_out } = set;
        if let Order::Catalog(known) = order {
            let files = known.variant.files.iter().chain(projector_of(*known));
            differences(files, &set).into_iter().for_each(told);
        }
        left_out.into_iter().for_each(told);
        // A file that was found wrong is still there and has the right size: it has to be hashed to be replaced.
        let damaged = self.memo.damaged().await?.contains(&order.id());
        let fetched = if damaged {
            self.hub().repair(&set, watcher, stop).await?
        } else {
            self.hub().fetch(&set, watcher, stop).await?
        };
        match fetched {
            Fetched::Done { .. } => {
                self.memo.set_damaged(&order.id(), false).await?;
                Ok(Brought::All)
            }
            Fetched::Stopped { .. } => Ok(Brought::Stopped),
        }
    }

    /// Refuses an order that does not fit on the disk together with what else is to come: where to, and how much.
    pub(crate) async fn check_room(&self, order: &Order, more: &[(PathBuf, Bytes)]) -> Result<(), Failed> {
        let FileSetOf { set, .. } = self.file_set(order).await?;
        Ok(self.hub().check_plan(Some(&set), &[], more)?)
    }

    /// The model's own files, and what it sees pictures with: one set, so one bar. A projector that is not to be had
    /// does not keep the model away.
    async fn file_set(&self, order: &Order) -> Result<FileSetOf, HubError> {
        let hub = self.hub();
        let (mut set, projector) = match order {
            Order::Catalog(known) => {
                let set = hub.file_set_of(&wanted(&known.variant.files)?).await?;
                let projector = projector_of(*known).into_iter();
                (set, wanted(projector)?.into_iter().next())
            }
            Order::Hub(address) => (hub.file_set(address).await?, projector_at(&hub, address).await),
        };
        let mut left_out = None;
        if let Some(wanted) = projector {
            let path = wanted.address.path.clone();
            match hub.file_set_of(&[wanted]).await {
                Ok(more) => set.files.extend(more.files),
                Err(HubError::NotFound { .. }) => left_out = Some(without_projector(path)),
                Err(other) => return Err(other),
            }
        }
        Ok(FileSetOf { set, left_out })
    }

    /// Throws away what an unfinished download of this left; says how much space that gave back.
    pub(crate) async fn discard(&self, order: &Order) -> Result<Bytes, Failed> {
        let FileSetOf { set, .. } = self.file_set(order).await?;
        Ok(self.hub().discard(&set).await?)
    }
}

/// What a download brings, and why a part of what was meant is not in it.
struct FileSetOf {
    set: FileSet,
    left_out: Option<Reason>,
}

/// The projector that the catalog names for a model.
fn projector_of(known: Known) -> Option<&'static File> {
    known.model.projectors.first().map(|projector| &projector.file)
}

/// The one that lies beside a file of the hub. Only to know it the listing is asked for: without one the file comes
/// alone.
async fn projector_at(hub: &Hub, address: &Address) -> Option<Wanted> {
    let listing = match hub.list(&address.repo, &address.revision).await {
        Ok(listing) => listing,
        Err(error) => {
            tracing::debug!(%error, repo = %address.repo, "a projector is not looked for");
            return None;
        }
    };
    let has = |variant: &RepoVariant| variant.files.iter().any(|file| file.path == address.path);
    let variant = listing.variants().into_iter().find(has)?;
    Some(Wanted {
        address: Address {
            path: variant.projector?.path,
            ..address.clone()
        },
        pin: None,
    })
}

fn without_projector(path: String) -> Reason {
    Reason {
        code: "projectorMissing".to_owned(),
        params: [("file".to_owned(), path.into())].into(),
    }
}

/// A model that is here and that the catalog does not know, to be completed or mended: from the hub, where it came
/// from there.
fn order_again(on_disk: &OnDisk) -> Result<Order, Failed> {
    let at_hub = on_disk.found.at_hub().filter(|(repo, _)| !repo.is_local());
    if let Some((repo, path)) = at_hub {
        return Ok(Order::Hub(Address {
            repo: repo.clone(),
            path: path.to_owned(),
            revision: "main".to_owned(),
        }));
    }
    on_disk.check_ours()?;
    let params = [
        ("model", on_disk.id.as_str().into()),
        ("file", on_disk.found.missing.join(", ").into()),
    ];
    Err(fault(FaultCode::ModelFileMissing, params).into())
}

fn wanted<'a>(files: impl IntoIterator<Item = &'a File>) -> Result<Vec<Wanted>, HubError> {
    let wanted = files.into_iter().map(|file| {
        Ok(Wanted {
            address: Address {
                repo: file.repo.parse()?,
                path: file.path.clone(),
                revision: file.revision.clone(),
            },
            // A figure that nobody checked must not keep a good file out: then the hub's own word counts.
            pin: file.verified.then(|| Pin {
                bytes: Some(file.bytes),
                sha256: file.sha256.clone(),
            }),
        })
    });
    wanted.collect()
}

/// Where the hub's size or hash is not the catalog's. Files that are pinned cannot differ: the hub refuses those.
fn differences<'a>(files: impl Iterator<Item = &'a File>, set: &FileSet) -> Vec<Reason> {
    let differs = |(file, remote): (&File, &plimsoll_hub::RemoteFile)| {
        let size = !file.approximate && file.bytes != remote.bytes;
        let hash = match (file.sha256.as_deref(), remote.sha256()) {
            (Some(ours), Some(theirs)) => (!ours.eq_ignore_ascii_case(theirs)).then_some((ours, theirs)),
            (Some(_) | None, None) | (None, Some(_)) => None,
        };
        let (expected, found) = match hash {
            Some((ours, theirs)) => (short(ours), short(theirs)),
            None if size => (file.bytes.to_string(), remote.bytes.to_string()),
            None => return None,
        };
        let params = [
            ("file", file.path.clone()),
            ("expected", expected),
            ("found", found),
        ];
        Some(Reason {
            code: "catalogDiffers".to_owned(),
            params: params
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect(),
        })
    };
    files.zip(&set.files).filter_map(differs).collect()
}

/// Enough of a hash to tell two apart.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}
