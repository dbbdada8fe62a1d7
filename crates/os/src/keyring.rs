//! The person's keyring: where keys of providers live, and nowhere else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyring::v1::{Entry, Error};

/// A keyring that is locked asks the person, who may be away.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Where a secret is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// By the system, over restarts.
    System,
    /// Here, until the program ends: the system has no keyring, or it did not answer.
    Memory,
}

/// Secrets by name, under one name of a program.
#[derive(Clone)]
pub struct Keyring {
    service: Arc<str>,
    system: bool,
    /// A map and no task: what is in it is only ever copied.
    memory: Arc<Mutex<BTreeMap<String, String>>>,
}

/// Names only.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring")
            .field("service", &self.service)
            .field("system", &self.system)
            .finish_non_exhaustive()
    }
}

impl Keyring {
    /// The system's, for a program of this name.
    #[must_use]
    pub fn system(service: &str) -> Self {
        Self {
            service: service.into(),
            system: true,
            memory: Arc::default(),
        }
    }

    /// One that forgets.
    #[must_use]
    pub fn memory() -> Self {
        Self {
            service: "".into(),
            system: false,
            memory: Arc::default(),
        }
    }

    /// `None` when there is none of this name.
    pub async fn get(&self, name: &str) -> Option<(String, Kept)> {
        if let Some(secret) = self.remembered().get(name) {
            return Some((secret.clone(), Kept::Memory));
        }
        let secret = self.ask(name, Entry::get_password).await?;
        Some((secret, Kept::System))
    }

    /// Keeps a secret in place of the one of this name, and says where it is now.
    pub async fn set(&self, name: &str, secret: &str) -> Kept {
        let copy = secret.to_owned();
        let kept = self.ask(name, move |entry| entry.set_password(&copy)).await;
        if kept.is_some() {
            self.remembered().remove(name);
            return Kept::System;
        }
        self.remembered().insert(name.to_owned(), secret.to_owned());
        Kept::Memory
    }

    /// Nothing happens when there is none.
    pub async fn remove(&self, name: &str) {
        self.remembered().remove(name);
        self.ask(name, Entry::delete_credential).await;
    }

    /// Where a new secret would be kept.
    pub async fn place(&self) -> Kept {
        let asked = self
            .ask("plimsoll", |entry| match entry.get_password() {
                Ok(_) | Err(Error::NoEntry) => Ok(()),
                Err(error) => Err(error),
            })
            .await;
        if asked.is_some() {
            Kept::System
        } else {
            Kept::Memory
        }
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// On a thread of its own: the system's answer blocks, and may never come.
    async fn ask<T: Send + 'static>(
        &self,
        name: &str,
        ask: impl FnOnce(&Entry) -> Result<T, Error> + Send + 'static,
    ) -> Option<T> {
        if !self.system {
            return None;
        }
        let (service, name) = (Arc::clone(&self.service), name.to_owned());
        let (told, answer) = tokio::sync::oneshot::channel();
        let asking = move || {
            let asked = Entry::new(&service, &name).and_then(|entry| ask(&entry));
            let _ = told.send(asked);
        };
        std::thread::Builder::new()
            .name("keyring".into())
            .spawn(asking)
            .ok()?;
        match tokio::time::timeout(WAIT_MAX, answer).await {
            Ok(Ok(Ok(found))) => Some(found),
            Ok(Ok(Err(error))) if !matches!(error, Error::NoEntry) => {
                tracing::debug!(%error, "the keyring does not answer");
                None
            }
            Ok(Ok(Err(_)) | Err(_)) | Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kept, Keyring};

    #[tokio::test]
    async fn a_secret_is_kept_replaced_and_removed_and_never_printed() {
        let keyring = Keyring::memory();
        assert_eq!(keyring.get("openai").await, None);
        assert_eq!(keyring.place().await, Kept::Memory);
        keyring.set("openai", "one").await;
        assert_eq!(keyring.set("openai", "sesame").await, Kept::Memory);
        assert_eq!(keyring.get("openai").await, Some(("sesame".into(), Kept::Memory)));
        assert_eq!(keyring.get("other").await, None);
        assert!(!format!("{keyring:?}").contains("sesame"));
        keyring.remove("openai").await;
        assert_eq!(keyring.get("openai").await, None);
    }
}
