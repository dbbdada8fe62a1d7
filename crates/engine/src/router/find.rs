use std::path::Path;
use std::time::Duration;

use plimsoll_os::files::Lock;
use tokio::time::{Instant, sleep};

use super::client::Client;
use super::place::{Place, StateFile};
use crate::error::EngineError;

/// How long the holder of the lock may take to show a router: it may be starting one, or waiting to.
const OWNER_MAX: Duration = Duration::from_secs(90);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const ALIVE_EVERY: Duration = Duration::from_millis(250);

/// What came of looking for another process's router.
#[derive(Debug)]
pub(super) enum Other {
    Router(StateFile),
    /// Its holder let go of the lock; it is ours now.
    Gone(Lock),
}

/// Waits for the router of the process that holds the lock, or for the lock.
pub(super) async fn find_other(place: &Place) -> Result<Other, EngineError> {
    let end = Instant::now() + OWNER_MAX;
    while Instant::now() < end {
        if let Some(state) = StateFile::read(&place.state()).filter(StateFile::is_alive)
            && Client::new(&state.url, &state.key)?.is_up().await
        {
            return Ok(Other::Router(state));
        }
        if let Some(lock) = Lock::try_exclusive(&place.lock())? {
            return Ok(Other::Gone(lock));
        }
        sleep(LOOK_EVERY).await;
    }
    Err(EngineError::OwnerSilent {
        after_s: OWNER_MAX.as_secs(),
    })
}

/// Returns when that router is no longer the one to talk to: it or its owner died, or its owner has another.
pub(super) async fn until_gone(router: &StateFile, path: &Path) {
    loop {
        sleep(ALIVE_EVERY).await;
        if !router.is_alive() {
            return;
        }
        if StateFile::read(path).is_some_and(|now| now.router != router.router) {
            return;
        }
    }
}
