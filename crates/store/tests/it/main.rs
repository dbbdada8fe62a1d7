//! The store through its own front door, and through kills, damage and company.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

mod branches;
mod chats;
mod company;
mod damage;
mod kill;
mod records;

use plimsoll_store::Store;
use tempfile::TempDir;

/// A store in a folder of its own.
async fn fresh() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("data").join("plimsoll.db"), 100)
        .await
        .unwrap();
    (folder, store)
}
