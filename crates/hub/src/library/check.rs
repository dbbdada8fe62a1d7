use std::path::Path;

use plimsoll_gguf::{Header, Limits};
use plimsoll_os::files::PartFile;
use plimsoll_units::Bytes;
use sha2::{Digest, Sha256};

use super::Found;
use crate::hex::hex;
use crate::{HubError, Note, Watcher};

const READ: usize = 1 << 20;

/// What hashing a model again found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    Done {
        /// Names of files whose bytes are not what their name in the library says, and of missing ones.
        damaged: Vec<String>,
        /// Names of files whose hash nobody knows: only their header and their length were checked.
        unpinned: Vec<String>,
    },
    Stopped,
}

pub(super) fn check(found: &Found, watcher: &dyn Watcher, stops: &dyn Fn() -> bool) -> Checked {
    let mut damaged = found.missing.clone();
    let mut unpinned = Vec::new();
    let files = || found.files.iter().chain(&found.projectors);
    let total: Bytes = files().map(|file| file.bytes).sum();
    let mut done = Bytes::ZERO;
    for file in files() {
        watcher.noted(Note::Checking {
            file: file.path.clone(),
        });
        let Some(known) = file.etag.as_ref().and_then(crate::Etag::sha256) else {
            match Header::read_file(&file.at, &Limits::default()) {
                Ok(_) => unpinned.push(file.path.clone()),
                Err(_) => damaged.push(file.path.clone()),
            }
            done = done.plus(file.bytes);
            watcher.moved(done, total);
            continue;
        };
        let hashed = sha256_of(&file.at, stops, &mut |here| {
            watcher.moved(done.plus(here.min(file.bytes)), total);
        });
        match hashed {
            Ok(None) => return Checked::Stopped,
            Ok(Some(sha256)) if sha256 == known => {}
            // A file that cannot be read is not the right file either.
            Ok(Some(_)) | Err(_) => damaged.push(file.path.clone()),
        }
        done = done.plus(file.bytes);
        watcher.moved(done, total);
    }
    Checked::Done { damaged, unpinned }
}

/// The hash of a file; `None` when stopped on the way.
pub(crate) fn sha256_of(
    path: &Path,
    stops: &dyn Fn() -> bool,
    moved: &mut dyn FnMut(Bytes),
) -> Result<Option<String>, HubError> {
    let file = PartFile::open_to_read(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ];
    let mut at = Bytes::ZERO;
    loop {
        if stops() {
            return Ok(None);
        }
        let got = file.read_at(at, &mut buffer)?;
        if got == 0 {
            return Ok(Some(hex(&hasher.finalize())));
        }
        hasher.update(&buffer[..got]);
        at = at.plus(Bytes(got as u64));
        moved(at);
    }
}
