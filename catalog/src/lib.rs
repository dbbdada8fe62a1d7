//! Models, engines, devices and providers that Plimsoll knows, each fact with its source.
//!
//! The data are the JSON files beside this crate; they are packaged into the binary and read once. A newer
//! file with unknown fields still loads. Never touches the network or the disk, and never guesses: what is
//! not written in the files is `None` or unverified.

mod devices;
mod engines;
mod error;
mod files;
mod models;
mod packaged;
mod providers;
mod shape;
mod signed;

pub use devices::{Bandwidth, BandwidthRow, RowKind};
pub use engines::{Asset, AssetRole, EngineRelease};
pub use error::CatalogError;
pub use files::{Draft, DraftKind, File, Projector, Variant};
pub use models::{Ability, EngineNeed, EngineNeedKind, Licence, Model, Quality, Quoted, Sampling};
pub use packaged::Catalog;
pub use providers::{
    CacheMapping, CloudModel, Dialect, EffortField, KeyHeader, KeyNeed, Prices, Protocol, Provider,
    ReasoningCarrier, Replay, ReplyLimit, SamplingField, Structured,
};
pub use shape::{Mla, Recurrent, ShapeFacts};
pub use signed::{SIGNED_BYTES_MAX, SignedCatalog};
