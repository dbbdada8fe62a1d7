//! The same content twice on this computer: told from names and remembered hashes, hashed in the background.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plimsoll_hub::{FileStamp, Found, Library, compare};
use plimsoll_os::jobs::Scope;
use plimsoll_units::Bytes;
use plimsoll_wire::{Comparing, Duplicate, DuplicateCopy, Duplicates, Event};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Models;
use crate::bus::Bus;
use crate::fault::Failed;
use crate::memo::Memo;
use crate::to_wire;

/// A page needs no more than this.
const TELL_EVERY: Duration = Duration::from_millis(250);
/// More than anybody has models; what is not met any more goes first.
const HASHES_MAX: usize = 4096;

/// A hash and what the file was like when it was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KnownHash {
    bytes: u64,
    modified_ns: u64,
    inode: u64,
    sha256: String,
}

/// By path.
pub(crate) type KnownHashes = BTreeMap<String, KnownHash>;

impl KnownHash {
    fn new(stamp: FileStamp, sha256: String) -> Self {
        Self {
            bytes: stamp.bytes.0,
            modified_ns: stamp.modified_ns,
            inode: stamp.inode,
            sha256,
        }
    }

    fn is_of(&self, stamp: FileStamp) -> bool {
        *self == Self::new(stamp, self.sha256.clone())
    }
}

fn look_up(known: &KnownHashes, path: &Path) -> Option<String> {
    let hash = known.get(path.to_str()?)?;
    hash.is_of(FileStamp::of(path)?).then(|| hash.sha256.clone())
}

#[derive(Clone)]
pub(super) struct Copies {
    memo: Memo,
    bus: Bus,
    jobs: Scope,
    running: watch::Sender<Option<(Comparing, CancellationToken)>>,
}

impl Copies {
    pub(super) fn new(memo: Memo, bus: Bus, jobs: Scope) -> Self {
        Self {
            memo,
            bus,
            jobs,
            running: watch::Sender::new(None),
        }
    }

    /// Hashes these files one after the other, unless it is at it already.
    fn start(&self, library: Library, open: Vec<(PathBuf, Bytes)>) {
        let comparing = Comparing {
            done_bytes: 0,
            total_bytes: open.iter().map(|(_, bytes)| bytes.0).sum(),
        };
        let stop = self.jobs.token().child_token();
        let mut mine = false;
        self.running.send_if_modified(|running| {
            mine = running.is_none();
            if mine {
                *running = Some((comparing, stop.clone()));
            }
            mine
        });
        if !mine {
            return;
        }
        let this = self.clone();
        self.jobs.keep(|_| async move {
            this.hash_all(&library, open, &stop).await;
            this.running.send_replace(None);
            this.bus.tell(Event::LibraryChanged);
        });
    }

    async fn hash_all(&self, library: &Library, open: Vec<(PathBuf, Bytes)>, stop: &CancellationToken) {
        let mut before = Bytes::ZERO;
        for (path, bytes) in open {
            let stamp = FileStamp::of(&path);
            let teller = self.teller(before);
            let hashed = library.sha256(&path, teller, stop).await;
            before = before.plus(bytes);
            match hashed {
                Ok(None) => return,
                Ok(Some(sha256)) => {
                    // Of a file that was written meanwhile nothing is known.
                    if let Some(stamp) = stamp.filter(|stamp| FileStamp::of(&path) == Some(*stamp)) {
                        self.keep(&path, KnownHash::new(stamp, sha256)).await;
                    }
                }
                Err(error) => tracing::warn!(%error, at = %path.display(), "a file cannot be compared"),
            }
        }
    }

    async fn keep(&self, path: &Path, hash: KnownHash) {
        let Some(path) = path.to_str().map(str::to_owned) else {
            return;
        };
        let kept = self.memo.change_hashes(|all| {
            if all.len() >= HASHES_MAX {
                all.retain(|path, hash| {
                    FileStamp::of(Path::new(path)).is_some_and(|stamp| hash.is_of(stamp))
                });
            }
            all.insert(path, hash);
        });
        if let Err(error) = kept.await {
            tracing::warn!(%error, "a hash is not kept");
        }
    }

    fn teller(&self, before: Bytes) -> impl Fn(Bytes) + Send + use<> {
        let (running, bus) = (self.running.clone(), self.bus.clone());
        let told = Arc::new(Mutex::new(None::<Instant>));
        move |here| {
            let mut now = None;
            running.send_if_modified(|running| {
                if let Some((comparing, _)) = running {
                    comparing.done_bytes = before.plus(here).0.min(comparing.total_bytes);
                    now = Some(*comparing);
                }
                false
            });
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(comparing) = now.filter(|_| told.is_none_or(|at| at.elapsed() >= TELL_EVERY)) {
                *told = Some(Instant::now());
                bus.tell(Event::Compared { comparing });
            }
        }
    }
}

impl Models {
    /// What lies here more than once, as far as it is known. `start`: hashes what has to be, in the background.
    pub(crate) async fn duplicates(&self, start: bool) -> Result<Duplicates, Failed> {
        let on_disk = self.on_disk().await?;
        let known = self.memo.hashes().await?;
        // By the names that everybody uses.
        let models: Vec<Found> = on_disk
            .iter()
            .map(|model| Found {
                id: model.id.clone(),
                ..model.found.clone()
            })
            .collect();
        let compared = self
            .jobs
            .start_blocking(move |_| compare(&models, &|path| look_up(&known, path)))
            .await?;
        if start && !compared.open.is_empty() {
            self.copies.start(self.library(), compared.open.clone());
        }
        let keeper_of = |id: &str| {
            let model = on_disk.iter().find(|model| model.id == id);
            model.and_then(|model| model.found.keeper()).map(to_wire::keeper)
        };
        let same: Vec<Duplicate> = compared
            .same
            .into_iter()
            .map(|same| Duplicate {
                sha256: same.sha256,
                bytes: same.bytes.0,
                savable_bytes: same.savable.0,
                copies: same
                    .copies
                    .into_iter()
                    .map(|copy| DuplicateCopy {
                        keeper: keeper_of(&copy.id),
                        model: copy.id,
                        path: copy.at.display().to_string(),
                    })
                    .collect(),
            })
            .collect();
        let comparing = self
            .copies
            .running
            .borrow()
            .as_ref()
            .map(|(comparing, _)| *comparing);
        Ok(Duplicates {
            savable_bytes: same.iter().map(|same| same.savable_bytes).sum(),
            same,
            open_files: u32::try_from(compared.open.len()).unwrap_or(u32::MAX),
            open_bytes: compared.open.iter().map(|(_, bytes)| bytes.0).sum(),
            comparing,
        })
    }

    /// What was hashed so far is kept.
    pub(crate) fn stop_comparing(&self) {
        if let Some((_, stop)) = self.copies.running.borrow().as_ref() {
            stop.cancel();
        }
    }
}
