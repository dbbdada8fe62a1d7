//! A newer catalog: fetched from a repository on the hub, so that mirrors, proxies and tokens hold for it as for models;
//! taken only with its publisher's signature; used from the next start on. Without one the packaged catalog stands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_catalog::{Catalog, CatalogError, SIGNED_BYTES_MAX, SignedCatalog};
use plimsoll_hub::{Address, Fetched, Hub, Unwatched, Wanted};
use plimsoll_os::{Environment, files};
use plimsoll_units::Bytes;
use plimsoll_wire::{CatalogReply, FaultCode};
use tokio_util::sync::CancellationToken;

use crate::fault::{Failed, fault};

/// `owner/name` on the hub.
const REPO: &str = "PLIMSOLL_CATALOG_REPO";
/// The base64 line of a minisign public key.
const KEY: &str = "PLIMSOLL_CATALOG_KEY";
const BUNDLE: &str = "catalog.json";
const SIGNATURE: &str = "catalog.json.minisig";
const SIGNATURE_MAX: Bytes = Bytes::kib(4);

/// Whose catalog is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Publisher {
    repo: String,
    key: String,
}

impl Publisher {
    /// `None` unless both are told: a place without a key would be anybody's.
    pub(crate) fn from(environment: &Environment) -> Option<Self> {
        Some(Self {
            repo: environment.filled(REPO)?.to_owned(),
            key: environment.filled(KEY)?.to_owned(),
        })
    }
}

fn folder(home: &Path) -> PathBuf {
    home.join("catalog")
}

fn read(home: &Path, publisher: &Publisher) -> Option<Result<SignedCatalog, CatalogError>> {
    let at = |name, most| files::read_up_to(&folder(home).join(name), most).ok();
    let bundle = at(BUNDLE, SIGNED_BYTES_MAX)?;
    let signature = String::from_utf8(at(SIGNATURE, SIGNATURE_MAX)?).ok()?;
    Some(SignedCatalog::open(&bundle, &signature, &publisher.key))
}

/// The catalog that was fetched last, if there is one and it is still good.
pub(crate) fn kept(home: &Path, publisher: &Publisher) -> Option<SignedCatalog> {
    match read(home, publisher)? {
        Ok(signed) => Some(signed),
        Err(error) => {
            tracing::warn!(%error, "the fetched catalog is not used");
            None
        }
    }
}

/// Fetches and keeps a newer catalog.
pub(crate) async fn refresh(
    hub: &Hub,
    home: &Path,
    publisher: Option<&Publisher>,
    in_use: &Catalog,
) -> Result<CatalogReply, Failed> {
    let Some(publisher) = publisher else {
        return Err(fault(
            FaultCode::NotFound,
            [("setting", REPO.into()), ("key", KEY.into())],
        )
        .into());
    };
    let have = kept(home, publisher);
    let (bundle, signature) = fetch(hub, publisher).await?;
    let told = |error: &CatalogError| {
        let mut refused = fault(FaultCode::HashMismatch, [("file", BUNDLE.into())]);
        refused.trace.push(error.to_string());
        refused
    };
    let text = String::from_utf8_lossy(&signature);
    let signed = SignedCatalog::open(&bundle, &text, &publisher.key).map_err(|error| told(&error))?;
    let newer = have.as_ref().is_none_or(|have| signed.serial > have.serial);
    if newer {
        let folder = folder(home);
        files::create_private_dir(&folder)?;
        // A crash between the two leaves a pair that does not fit, which is then not used.
        files::replace(&folder.join(SIGNATURE), &signature)?;
        files::replace(&folder.join(BUNDLE), &bundle)?;
    }
    let (serial, issued) = match have {
        Some(have) if !newer => (have.serial, have.issued),
        Some(_) | None => (signed.serial, signed.issued),
    };
    Ok(CatalogReply {
        serial,
        issued,
        models: count(signed.catalog.models().count()),
        models_in_use: count(in_use.models().count()),
        left_out: signed.left_out,
        newer,
    })
}

async fn fetch(hub: &Hub, publisher: &Publisher) -> Result<(Vec<u8>, Vec<u8>), Failed> {
    let wanted = |path: &str| -> Result<Wanted, Failed> {
        Ok(Wanted {
            address: Address {
                repo: publisher.repo.parse()?,
                path: path.to_owned(),
                revision: "main".to_owned(),
            },
            pin: None,
        })
    };
    let set = hub.file_set_of(&[wanted(BUNDLE)?, wanted(SIGNATURE)?]).await?;
    if set.bytes() > SIGNED_BYTES_MAX {
        let params = [
            ("claimed", set.bytes().0.into()),
            ("limit", SIGNED_BYTES_MAX.0.into()),
        ];
        return Err(fault(FaultCode::HubRefused, params).into());
    }
    let fetched = hub
        .fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
        .await?;
    match fetched {
        Fetched::Done { paths, .. } => {
            let read = |at: usize, most| -> Result<Vec<u8>, Failed> {
                let path = paths.get(at).cloned().unwrap_or_default();
                Ok(files::read_up_to(&path, most)?)
            };
            Ok((read(0, SIGNED_BYTES_MAX)?, read(1, SIGNATURE_MAX)?))
        }
        // Only the app's end stops it, and then nobody waits for this.
        Fetched::Stopped { .. } => Err(fault(FaultCode::Busy, []).into()),
    }
}

fn count(models: usize) -> u32 {
    u32::try_from(models).unwrap_or(u32::MAX)
}
