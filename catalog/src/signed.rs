use minisign_verify::{PublicKey, Signature};
use plimsoll_units::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::{Catalog, CatalogError, Model};

/// A whole catalog is under half a megabyte; ten times that is no catalog.
pub const SIGNED_BYTES_MAX: Bytes = Bytes::mib(8);
const NAME: &str = "the signed catalog";

/// A newer catalog, signed by whoever publishes it.
#[derive(Debug, Clone)]
pub struct SignedCatalog {
    pub catalog: Catalog,
    /// Counts up; one that is not above the last is not taken, so that nobody can hand out an old one again.
    pub serial: u64,
    /// `YYYY-MM-DD`.
    pub issued: String,
    /// Entries that this version of Plimsoll cannot read, by id; the others are usable.
    pub left_out: Vec<String>,
}

/// `{"schema": 1, "serial": 7, "issued": "2026-12-24", "models": […]}`; whatever else stands there is for later
/// versions.
#[derive(Deserialize)]
struct Bundle {
    schema: u32,
    serial: u64,
    issued: String,
    models: Vec<Value>,
}

impl SignedCatalog {
    /// Checks the signature (minisign, the text of a `.minisig` file) with `key` (the base64 line of a `.pub` file),
    /// then reads the models. Engines and devices stay those that are packaged: they belong to the version.
    ///
    /// # Errors
    /// A signature that does not fit, a form that is not ours, or no entry that can be read. Nothing of such a file
    /// is used.
    pub fn open(bundle: &[u8], signature: &str, key: &str) -> Result<Self, CatalogError> {
        if Bytes(bundle.len() as u64) > SIGNED_BYTES_MAX {
            return Err(CatalogError::TooLarge {
                bytes: Bytes(bundle.len() as u64),
                most: SIGNED_BYTES_MAX,
            });
        }
        let key = PublicKey::from_base64(key.trim()).map_err(CatalogError::Key)?;
        let signature = Signature::decode(signature).map_err(CatalogError::Signature)?;
        key.verify(bundle, &signature, false)
            .map_err(CatalogError::Signature)?;
        let bundle: Bundle = serde_json::from_slice(bundle).map_err(|source| CatalogError::Syntax {
            file: NAME.into(),
            source,
        })?;
        if bundle.schema != 1 {
            return Err(CatalogError::Schema { found: bundle.schema });
        }
        let mut models: Vec<Model> = Vec::new();
        let mut left_out = Vec::new();
        for entry in bundle.models {
            let id = entry["id"].as_str().unwrap_or("?").to_owned();
            let known = |model: &Model| models.iter().all(|other| other.id != model.id);
            match serde_json::from_value::<Model>(entry) {
                Ok(model) if model.check(NAME).is_ok() && known(&model) => models.push(model),
                Ok(_) | Err(_) => left_out.push(id),
            }
        }
        let packaged = Catalog::packaged().map_err(|_| CatalogError::Empty)?;
        if models.is_empty() {
            return Err(CatalogError::Empty);
        }
        Ok(Self {
            catalog: packaged.with_models(models),
            serial: bundle.serial,
            issued: bundle.issued,
            left_out,
        })
    }
}
