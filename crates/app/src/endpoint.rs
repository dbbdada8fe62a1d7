//! Our loopback front, as the app knows it: where it listens and which key it wants to see.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use plimsoll_os::files::{self, FileError, Lock};
use plimsoll_units::Bytes;
use plimsoll_wire::{EndpointUse, Event, Fault};
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use crate::bus::Bus;

const KEY_FILE: &str = "endpoint.key";
const KEY_BYTES_MAX: Bytes = Bytes(256);
const KEY_CHARS_MIN: usize = 32;
const NAME_CHARS_MAX: usize = 120;
/// Another of our processes makes its key in milliseconds.
const LOCK_TRIES_MAX: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct Endpoint {
    key: String,
    open: watch::Sender<Open>,
    /// Somebody wants the front to try again.
    again: Notify,
    /// Requests of other programs that are under way, by the model's name as they gave it. Written in one step each.
    uses: watch::Sender<BTreeMap<String, u32>>,
}

/// A request of another program, for as long as it lives.
#[must_use]
pub struct OutsideRequest {
    model: String,
    uses: watch::Sender<BTreeMap<String, u32>>,
    bus: Bus,
}

impl OutsideRequest {
    fn count(&self, change: impl FnOnce(u32) -> u32) {
        self.uses.send_modify(|all| {
            let count = change(all.get(&self.model).copied().unwrap_or_default());
            if count == 0 {
                all.remove(&self.model);
            } else {
                all.insert(self.model.clone(), count);
            }
        });
        let uses = told(&self.uses.borrow());
        self.bus.tell(Event::EndpointUsed { uses });
    }
}

impl Drop for OutsideRequest {
    fn drop(&mut self) {
        self.count(|count| count.saturating_sub(1));
    }
}

fn told(uses: &BTreeMap<String, u32>) -> Vec<EndpointUse> {
    uses.iter()
        .map(|(model, &requests)| EndpointUse {
            model: model.clone(),
            requests,
        })
        .collect()
}

/// Where the front listens, or why it does not.
#[derive(Debug, Clone, Default)]
struct Open {
    url: Option<String>,
    fault: Option<Fault>,
}

impl Endpoint {
    /// Reads the key, or makes it on the first start. It stays the same afterwards, because people paste it into
    /// other programs.
    pub(crate) async fn open(home: &Path) -> Result<Self, FileError> {
        let path = home.join(KEY_FILE);
        let key = match read(&path)? {
            Some(key) => key,
            None => make(home, &path).await?,
        };
        Ok(Self {
            key,
            open: watch::Sender::default(),
            again: Notify::new(),
            uses: watch::Sender::default(),
        })
    }

    /// A name is a stranger's: only so much of it is shown.
    pub(crate) fn request(&self, model: &str, bus: Bus) -> OutsideRequest {
        let request = OutsideRequest {
            model: model.chars().take(NAME_CHARS_MAX).collect(),
            uses: self.uses.clone(),
            bus,
        };
        request.count(|count| count.saturating_add(1));
        request
    }

    pub(crate) fn uses(&self) -> Vec<EndpointUse> {
        told(&self.uses.borrow())
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn url(&self) -> Option<String> {
        self.open.borrow().url.clone()
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.open.borrow().fault.clone()
    }

    pub(crate) fn set_url(&self, url: Option<String>) {
        self.open.send_replace(Open { url, fault: None });
    }

    pub(crate) fn set_fault(&self, fault: Fault) {
        self.open.send_replace(Open {
            url: None,
            fault: Some(fault),
        });
    }

    pub(crate) fn ask_again(&self) {
        self.again.notify_one();
    }

    pub(crate) async fn asked_again(&self) {
        self.again.notified().await;
    }
}

/// `None` for a file that is missing or holds no key of ours, such as one that was emptied by hand.
fn read(path: &Path) -> Result<Option<String>, FileError> {
    let bytes = match files::read_up_to(path, KEY_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(FileError::Missing { .. } | FileError::TooLarge { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let key = String::from_utf8_lossy(&bytes).trim().to_owned();
    let usable = key.len() >= KEY_CHARS_MIN && key.bytes().all(|byte| byte.is_ascii_graphic());
    Ok(usable.then_some(key))
}

async fn make(home: &Path, path: &Path) -> Result<String, FileError> {
    files::create_private_dir(home)?;
    let lock = home.join("endpoint.lock");
    for _ in 0..LOCK_TRIES_MAX {
        let Some(_held) = Lock::try_exclusive(&lock)? else {
            tokio::time::sleep(LOCK_PAUSE).await;
            continue;
        };
        // Another process may have been first.
        if let Some(key) = read(path)? {
            return Ok(key);
        }
        return write(path);
    }
    write(path)
}

fn write(path: &Path) -> Result<String, FileError> {
    // Two times 122 bits from the system's generator.
    let key = format!("pl-{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    files::replace_private(path, key.as_bytes())?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use plimsoll_os::files;

    use super::{Bus, Endpoint, Event, KEY_FILE};

    #[tokio::test]
    async fn the_key_is_made_once_and_is_private() {
        let home = tempfile::tempdir().unwrap();
        let first = Endpoint::open(home.path()).await.unwrap();
        let second = Endpoint::open(home.path()).await.unwrap();
        assert_eq!(first.key(), second.key());
        assert!(first.key().len() > 60);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(home.path().join(KEY_FILE))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[tokio::test]
    async fn requests_are_counted_while_they_live() {
        let home = tempfile::tempdir().unwrap();
        let endpoint = Endpoint::open(home.path()).await.unwrap();
        let bus = Bus::new();
        let mut heard = bus.hear();
        let one = endpoint.request("smol", bus.clone());
        let other = endpoint.request("smol", bus.clone());
        let counts =
            |endpoint: &Endpoint| -> Vec<u32> { endpoint.uses().iter().map(|used| used.requests).collect() };
        assert_eq!(counts(&endpoint), [2]);
        drop(one);
        assert_eq!(counts(&endpoint), [1]);
        drop(other);
        assert_eq!(counts(&endpoint), [0; 0]);
        for requests in [1, 2, 1, 0] {
            let Some(Event::EndpointUsed { uses }) = heard.next().await else {
                panic!("something else was told")
            };
            assert_eq!(uses.iter().map(|used| used.requests).sum::<u32>(), requests);
        }
    }

    #[tokio::test]
    async fn two_that_start_at_once_get_one_key() {
        let home = tempfile::tempdir().unwrap();
        let open = || Endpoint::open(home.path());
        let (a, b, c) = tokio::join!(open(), open(), open());
        let keys = [a, b, c].map(|endpoint| endpoint.unwrap().key().to_owned());
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }

    #[tokio::test]
    async fn an_emptied_file_gets_a_new_key() {
        let home = tempfile::tempdir().unwrap();
        files::replace(&home.path().join(KEY_FILE), b"").unwrap();
        assert!(!Endpoint::open(home.path()).await.unwrap().key().is_empty());
    }
}
