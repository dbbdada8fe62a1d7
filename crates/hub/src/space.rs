//! Whether there is room for all that is to come, over everything that is under way at once: an engine and the
//! files of a model share a disk, and each for itself would fit.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use plimsoll_os::files;
use plimsoll_units::Bytes;

use crate::fetch::remaining_of;
use crate::{Archive, FileSet, Hub, HubError};

/// What the running transfers have still to put on the disk. A lock instead of an owner: held for a look at a
/// handful of entries.
#[derive(Debug, Default)]
pub(crate) struct Promises(Mutex<Vec<Weak<Promise>>>);

/// Space that one transfer will take; void when dropped.
pub(crate) struct Promise {
    folder: PathBuf,
    missing: Box<dyn Fn() -> Bytes + Send + Sync>,
}

impl fmt::Debug for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Promise")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Hub {
    /// Refuses a plan that does not fit as a whole: files of the hub, archives with the folders they go to, and
    /// whatever else it will put where. What runs already counts as well.
    ///
    /// # Errors
    /// [`HubError::DiskFull`] with the sum for the first volume that is too small.
    pub fn check_plan(
        &self,
        set: Option<&FileSet>,
        archives: &[(&Archive, &Path)],
        more: &[(PathBuf, Bytes)],
    ) -> Result<(), HubError> {
        let mut needs = more.to_vec();
        if let Some(set) = set {
            needs.push((self.config().cache.clone(), self.remaining(set)?));
        }
        needs.extend(archives.iter().map(|(archive, to)| {
            let missing = remaining_of(archive, to);
            (to.parent().unwrap_or(Path::new(".")).to_owned(), missing)
        }));
        self.check_space(&needs, None)
    }

    pub(crate) fn promise(
        &self,
        folder: &Path,
        missing: impl Fn() -> Bytes + Send + Sync + 'static,
    ) -> Arc<Promise> {
        let promise = Arc::new(Promise {
            folder: folder.to_owned(),
            missing: Box::new(missing),
        });
        let mut known = self.promises().0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.strong_count() > 0);
        known.push(Arc::downgrade(&promise));
        promise
    }

    /// Each volume has to hold the sum of what goes there. `own` is part of `needs` and not counted twice.
    pub(crate) fn check_space(
        &self,
        needs: &[(PathBuf, Bytes)],
        own: Option<&Arc<Promise>>,
    ) -> Result<(), HubError> {
        let others: Vec<Arc<Promise>> = {
            let known = self.promises().0.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().filter_map(Weak::upgrade).collect()
        };
        let promised = others
            .iter()
            .filter(|promise| own.is_none_or(|own| !Arc::ptr_eq(own, promise)))
            .map(|promise| (promise.folder.clone(), (promise.missing)()));
        let mut volumes: Vec<(PathBuf, Bytes, bool)> = Vec::new();
        let asked = needs.iter().cloned().map(|need| (need, true));
        for ((folder, bytes), is_asked) in asked.chain(promised.map(|need| (need, false))) {
            if bytes == Bytes::ZERO {
                continue;
            }
            match volumes
                .iter_mut()
                .find(|(known, ..)| files::same_volume(known, &folder))
            {
                Some((_, sum, any_asked)) => {
                    *sum = sum.plus(bytes);
                    *any_asked |= is_asked;
                }
                None => volumes.push((folder, bytes, is_asked)),
            }
        }
        // What others were promised elsewhere is their own trouble.
        for (folder, needed, _) in volumes.into_iter().filter(|(.., is_asked)| *is_asked) {
            let free = files::free_space(&folder)?;
            // With what is left alone: a person who makes this much room gets the files.
            let needed = needed.plus(self.config().spare);
            if needed > free {
                return Err(HubError::DiskFull { folder, needed, free });
            }
        }
        Ok(())
    }
}
