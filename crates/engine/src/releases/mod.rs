//! What a release of llama.cpp holds, and which of its builds this machine gets.

mod asset;
mod choose;
mod fit;
mod list;

pub use asset::{AssetName, Backing, Build, Toolkit};
pub use choose::{Choices, NoChoice, Offer, Passed, choose};
pub use fit::{Misfit, Why};
pub use list::{LIST_BYTES_MAX, ListError, ReleaseAsset, ReleaseList};
