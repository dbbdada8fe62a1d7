use std::sync::{Mutex, PoisonError};

use plimsoll_units::Bytes;

/// Takes progress and objects: it may not go back, pass its total or change its total, unless a clean start
/// was announced. Crates wrap it in their own watcher trait.
#[derive(Debug, Default)]
pub struct StrictWatcher {
    // A mutex and not an owner task: it is called from plain functions on any thread.
    seen: Mutex<Seen>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    done: Bytes,
    total: Option<Bytes>,
    moves: u32,
    fresh_starts: u32,
}

impl StrictWatcher {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// # Panics
    /// When progress goes back or passes its total.
    pub fn moved(&self, done: Bytes, total: Option<Bytes>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(
            done >= seen.done,
            "progress went back from {:?} to {done:?}",
            seen.done
        );
        assert!(
            total.is_none_or(|total| done <= total),
            "progress {done:?} passed its total {total:?}"
        );
        assert!(
            seen.total.is_none() || seen.total == total,
            "the total changed from {:?} to {total:?} without a fresh start",
            seen.total
        );
        seen.done = done;
        seen.total = total;
        seen.moves += 1;
    }

    /// From here on progress may be less than it was, and the total another: some bytes had to be given up.
    pub fn started_over(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.done = Bytes::ZERO;
        seen.total = None;
        seen.fresh_starts += 1;
    }

    /// The last progress that was reported.
    pub fn done(&self) -> Bytes {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).done
    }

    pub fn moves(&self) -> u32 {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).moves
    }

    pub fn fresh_starts(&self) -> u32 {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fresh_starts
    }

    /// # Panics
    /// When the last report was not "all of it".
    pub fn assert_finished(&self) {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(seen.moves > 0, "no progress was reported");
        assert_eq!(Some(seen.done), seen.total, "the last report was not the whole");
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_units::Bytes;

    use super::StrictWatcher;

    #[test]
    fn accepts_steady_progress_and_an_announced_fresh_start() {
        let watcher = StrictWatcher::new();
        watcher.moved(Bytes(1), Some(Bytes(3)));
        watcher.started_over();
        watcher.moved(Bytes(0), Some(Bytes(3)));
        watcher.moved(Bytes(3), Some(Bytes(3)));
        watcher.assert_finished();
        assert_eq!((watcher.moves(), watcher.fresh_starts()), (3, 1));
    }

    #[test]
    #[should_panic(expected = "went back")]
    fn objects_to_progress_that_goes_back() {
        let watcher = StrictWatcher::new();
        watcher.moved(Bytes(2), None);
        watcher.moved(Bytes(1), None);
    }

    #[test]
    #[should_panic(expected = "passed its total")]
    fn objects_to_more_than_all() {
        StrictWatcher::new().moved(Bytes(4), Some(Bytes(3)));
    }

    #[test]
    #[should_panic(expected = "not the whole")]
    fn objects_to_an_end_before_the_end() {
        let watcher = StrictWatcher::new();
        watcher.moved(Bytes(2), Some(Bytes(3)));
        watcher.assert_finished();
    }
}
