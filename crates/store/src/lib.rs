//! Conversations, settings, measurements and the transfer ledger, in one `SQLite` file.
//!
//! One thread owns the connection; everybody else asks it and waits. What was answered with `Ok` is on the disk:
//! every commit is synced, so that after a kill or a loss of power the file opens and at most the last batch of
//! an answer is missing. An answer whose writer is gone is marked as interrupted, one that another process is
//! still writing is left alone. A file that is damaged is kept aside and told, never deleted and never opened
//! as if nothing was wrong; a file of a newer version is refused.
//!
//! Never interprets what it keeps (reports and faults are JSON of its callers), never reads the clock (times
//! are arguments), never shows anything to a person.

mod branches;
mod contexts;
mod conversations;
mod damage;
mod db;
mod error;
mod events;
mod ledger;
mod messages;
mod parts;
mod portable;
mod schema;
mod search;
mod settings;
mod store;
mod writers;

pub use branches::Branch;
pub use contexts::{Compaction, ContextRecord};
pub use conversations::{Conversation, Opened, Shown};
pub use error::{Limited, StoreError};
pub use events::{CostBy, Event, UsageRecord};
pub use ledger::{Measurement, TransferRecord, TransferState};
pub use messages::{Begun, End, Finish, Message, Piece, Role};
pub use parts::{ContentMarks, Part};
pub use portable::{Whole, WholeMessage};
pub use search::{Found, Snip};
pub use store::Store;
