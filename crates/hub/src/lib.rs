//! Models from a Hugging Face hub or a mirror, and the library they end up in.
//!
//! A file's bytes are checked before anybody can see the file: they come in several ranges at a time into a part,
//! are hashed on their way, and the whole appears under its name by one rename. What is on the disk is written
//! down in a [`Ledger`] after it was synced, never before. The library is the shared Hugging Face cache, so other
//! tools see what we fetch and we see what they did; their lock on a content is ours too.
//!
//! Never shows a file as usable whose bytes are wrong, never mixes two versions of a file, never throws away
//! bytes that could still be used, never removes anything outside the cache, never sends the token to anybody
//! but the hub, never goes through a proxy for loopback, and never reads the environment by itself.

mod config;
mod error;
mod fetch;
mod hex;
mod http;
mod hub;
mod layout;
mod ledger;
mod library;
mod listing;
mod metadata;
mod moved;
mod patience;
mod read;
mod remote_header;
mod repair;
mod search;
mod space;
mod transfer;
mod watcher;

pub use config::{HubConfig, Lanes, Patience, Proxies, Token, TokenOrigin};
pub use error::{Absent, BadAnswer, HubError, Setting};
pub use fetch::{Archive, Fetched};
pub use hub::Hub;
pub use layout::{Address, Etag, LOCAL_OWNER, RepoId};
pub use ledger::{Ledger, LedgerError, Marks, MemoryLedger, PartRecord};
pub use library::{
    Checked, Comparison, CopyOf, Elsewhere, FileStamp, Found, FoundFile, FoundState, Home, Imported, Keeper,
    Library, Looked, Odd, OddReason, OtherPlaces, Place, Relocated, Same, Scan, Source, compare,
};
pub use listing::{Listed, Listing};
pub use metadata::{FileSet, Pin, RemoteFile, Wanted};
pub use remote_header::RemoteHeader;
pub use search::{Gate, RepoHit, RepoVariant, SEARCH_MAX, quant_of};
pub use transfer::Traffic;
pub use watcher::{FreshStart, Note, Pause, Unwatched, Watcher};
