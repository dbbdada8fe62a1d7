//! Models, engines and devices that Plimsoll knows, each fact with its source.
//!
//! The data are the JSON files beside this crate; they are packaged into the binary and read once. A newer
//! file with unknown fields still loads. Never touches the network or the disk, and never guesses: what is
//! not written in the files is `None` or unverified.

mod devices;
mod engines;
mod error;
mod models;
mod packaged;

pub use devices::{Bandwidth, BandwidthRow, RowKind};
pub use engines::{Asset, AssetRole, EngineRelease};
pub use error::CatalogError;
pub use models::{Ability, File, Licence, Model, Quality, Sampling, ShapeFacts, Variant};
pub use packaged::Catalog;
