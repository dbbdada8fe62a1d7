//! Files that are whole or not there.
//!
//! Replacing writes beside the target, syncs, renames and syncs the folder. A full disk is its own error,
//! wherever it is met. Never follows a name it was not given: callers build paths from [`crate::names`].

mod append_log;
mod error;
mod lock;
mod part;
mod place;

pub use append_log::AppendLog;
pub use error::{Action, FileError};
pub use lock::Lock;
pub use part::PartFile;
#[cfg(unix)]
pub use place::access;
pub use place::{
    Access, Placed, Run, allocated, create_dir, create_private_dir, free_space, link_or_copy, publish,
    publish_folder, read_up_to, remove_file, remove_tree, replace, replace_private, same_volume, symlink,
    write_new,
};
