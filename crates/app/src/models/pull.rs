use std::sync::Arc;

use plimsoll_hub::{Address, Fetched, Pin, Wanted, Watcher};
use plimsoll_units::Bytes;
use plimsoll_wire::FaultCode;
use tokio_util::sync::CancellationToken;

use super::{Known, Models, Named};
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
            Self::Catalog(known) => Some(known.variant.bytes()),
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

    /// Asks the hub for the file set and brings it. What is here already costs nothing.
    pub(crate) async fn fetch(
        &self,
        order: &Order,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Brought, Failed> {
        let asking = async {
            match order {
                Order::Catalog(known) => self.hub.file_set_of(&wanted(*known)?).await,
                Order::Hub(address) => self.hub.file_set(address).await,
            }
        };
        let set = tokio::select! { biased;
            () = stop.cancelled() => return Ok(Brought::Stopped),
            set = asking => set?,
        };
        // A file that was found wrong is still there and has the right size: it has to be hashed to be replaced.
        let damaged = self.memo.damaged().await?.contains(&order.id());
        let fetched = if damaged {
            self.hub.repair(&set, watcher, stop).await?
        } else {
            self.hub.fetch(&set, watcher, stop).await?
        };
        match fetched {
            Fetched::Done { .. } => {
                self.memo.set_damaged(&order.id(), false).await?;
                Ok(Brought::All)
            }
            Fetched::Stopped { .. } => Ok(Brought::Stopped),
        }
    }
}

fn wanted(known: Known) -> Result<Vec<Wanted>, plimsoll_hub::HubError> {
    let wanted = known.variant.files.iter().map(|file| {
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
