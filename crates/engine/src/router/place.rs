use std::path::{Path, PathBuf};

use plimsoll_os::files::{self, FileError};
use plimsoll_os::process::{self, Identity};
use plimsoll_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;

const STATE_BYTES_MAX: Bytes = Bytes::kib(64);
const SCHEMA: u32 = 1;

/// Where the router's files lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    run: PathBuf,
    logs: PathBuf,
}

impl Place {
    /// Makes the folders under `home`; only this person may enter them.
    pub(super) fn make(home: &Path) -> Result<Self, FileError> {
        let place = Self {
            run: home.join("run"),
            logs: home.join("logs"),
        };
        files::create_private_dir(&place.run)?;
        files::create_private_dir(&place.logs)?;
        // llama-server lists what lies in a model cache as models of its own. It is shown an empty one.
        files::create_private_dir(&place.empty_cache())?;
        Ok(place)
    }

    /// Held by the owner for as long as it owns the router.
    #[must_use]
    pub(super) fn lock(&self) -> PathBuf {
        self.run.join("router.lock")
    }
    #[must_use]
    pub(super) fn state(&self) -> PathBuf {
        self.run.join("router.json")
    }
    #[must_use]
    pub(super) fn preset(&self) -> PathBuf {
        self.run.join("preset.ini")
    }
    /// Held while the preset is changed.
    #[must_use]
    pub(super) fn preset_lock(&self) -> PathBuf {
        self.run.join("preset.lock")
    }
    #[must_use]
    pub(super) fn links(&self) -> PathBuf {
        self.run.join("links")
    }
    #[must_use]
    pub(super) fn empty_cache(&self) -> PathBuf {
        self.run.join("no-cache")
    }
    #[must_use]
    pub(super) fn log(&self) -> PathBuf {
        self.logs.join("router.log")
    }
}

/// Our loopback front for other apps, as the owner tells it to our other processes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Front {
    pub url: String,
    pub key: String,
}

impl std::fmt::Debug for Front {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Front")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// What the owner writes down for our other processes. Holds the key: readable by this person only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StateFile {
    schema: u32,
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    pub key: String,
    pub router: Identity,
    pub executable: PathBuf,
    pub owner: Identity,
    /// The id of the engine.
    pub engine: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front: Option<Front>,
}

impl std::fmt::Debug for StateFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("StateFile");
        shown
            .field("url", &self.url)
            .field("router", &self.router)
            .field("owner", &self.owner);
        shown.field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl StateFile {
    #[must_use]
    pub(super) const fn new(
        url: String,
        key: String,
        router: Identity,
        executable: PathBuf,
        owner: Identity,
        engine: String,
    ) -> Self {
        Self {
            schema: SCHEMA,
            url,
            key,
            router,
            executable,
            owner,
            engine,
            front: None,
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), EngineError> {
        let bytes = serde_json::to_vec_pretty(self).map_err(|source| EngineError::IndexBroken {
            path: path.to_owned(),
            source,
        })?;
        Ok(files::replace_private(path, &bytes)?)
    }

    /// `None` when there is none, or none that this version can read: the lock decides who owns, the file
    /// only tells where.
    #[must_use]
    pub(super) fn read(path: &Path) -> Option<Self> {
        let bytes = files::read_up_to(path, STATE_BYTES_MAX).ok()?;
        let state: Self = serde_json::from_slice(&bytes).ok()?;
        (state.schema == SCHEMA).then_some(state)
    }

    /// Owner and router are the very processes that are named, and the router runs the named program. A
    /// number that was given to another process is not taken for ours.
    #[must_use]
    pub(super) fn is_alive(&self) -> bool {
        process::is_alive(&self.owner) && self.router_is_alive()
    }

    #[must_use]
    pub(super) fn router_is_alive(&self) -> bool {
        process::is_alive(&self.router)
            && process::executable(self.router.pid).is_some_and(|found| found == self.executable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> StateFile {
        let us = process::identity(process::own_pid()).unwrap();
        let executable = process::executable(us.pid).unwrap();
        StateFile::new(
            "http://127.0.0.1:1".into(),
            "secret".into(),
            us,
            executable,
            us,
            "e".into(),
        )
    }

    #[test]
    fn is_private_and_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::make(folder.path()).unwrap();
        let mut state = ours();
        state.front = Some(Front {
            url: "u".into(),
            key: "k".into(),
        });
        state.write(&place.state()).unwrap();
        assert_eq!(StateFile::read(&place.state()), Some(state.clone()));
        assert!(state.is_alive());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(place.state()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(!format!("{state:?}").contains("secret"));
    }

    #[test]
    fn a_number_that_was_used_again_is_not_ours() {
        let mut other_time = ours();
        other_time.router.start_time += 1;
        assert!(!other_time.is_alive());
        let mut other_program = ours();
        other_program.executable = "/bin/true".into();
        assert!(!other_program.is_alive());
        let mut dead_owner = ours();
        dead_owner.owner.start_time += 1;
        assert!(!dead_owner.is_alive());
        assert!(dead_owner.router_is_alive());
    }

    #[test]
    fn rubbish_is_no_state() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("router.json");
        assert_eq!(StateFile::read(&path), None);
        for text in ["", "{}", "{\"schema\":2}", "\0\0"] {
            files::replace(&path, text.as_bytes()).unwrap();
            assert_eq!(StateFile::read(&path), None, "{text:?}");
        }
    }
}
