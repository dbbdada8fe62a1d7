use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_os::Environment;
use plimsoll_os::files::{self, FileError, Lock};
use plimsoll_units::Bytes;
use serde::{Deserialize, Serialize};

use super::Abilities;
use super::environment::engine_environment;
use super::probe::{self, Checked, Probed, SERVER};
use crate::error::{EngineError, Step};
use crate::hex;
use crate::router::{TRIAL_MODEL, try_out};

const SCHEMA: u32 = 1;
/// Of the other's speed. A tiny model on a busy machine is measured to a third or so; half is no noise.
const SLOWEST: f64 = 0.5;
const SPEED_TRIES: u32 = 3;
const INDEX_BYTES_MAX: Bytes = Bytes::mib(4);
/// Another of our processes changes the index for milliseconds at a time.
const LOCK_TRIES_MAX: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Where an engine came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// The person's own build: used where it lies, never changed or deleted by us.
    Added,
    /// Fetched and unpacked by us.
    Release,
}

/// A build that was tried before another and did not work here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    pub flavour: String,
    /// In the words of the check that failed.
    pub problem: String,
}

/// One llama.cpp build that passed its checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Engine {
    pub id: String,
    /// What the binary says of itself.
    pub version: String,
    pub backends: Vec<String>,
    pub binary: PathBuf,
    pub origin: Origin,
    pub abilities: Abilities,
    /// The devices that it saw when it was checked last, in its own words.
    #[serde(default)]
    pub devices: Vec<String>,
    /// What lay beside the binary when we unpacked it; nothing of a build that the person added.
    #[serde(default)]
    pub files: Vec<String>,
    /// Better ones that were tried before it.
    #[serde(default)]
    pub instead_of: Vec<Skipped>,
}

impl Engine {
    /// Its libraries lie beside it, and it runs there.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        probe::folder_of(&self.binary)
    }

    /// What of it vanished, or was taken away by a virus scanner.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let folder = self.folder();
        let gone = self.files.iter().filter(|file| !folder.join(file).exists());
        let mut missing: Vec<String> = gone.cloned().collect();
        if !self.binary.is_file() && !missing.iter().any(|file| file == SERVER) {
            missing.insert(0, SERVER.to_owned());
        }
        missing
    }

    pub(crate) fn ensure_there(&self) -> Result<(), EngineError> {
        let missing = self.missing();
        if missing.is_empty() {
            return Ok(());
        }
        Err(EngineError::EngineIncomplete {
            folder: self.folder(),
            missing,
        })
    }
}

/// How a whole check went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub engine: String,
    pub steps: Vec<Checked>,
}

impl Check {
    #[must_use]
    pub fn passed(&self) -> bool {
        self.steps.iter().all(|step| step.passed)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema: u32,
    in_use: Option<String>,
    /// The one that was in use before, which served well until then.
    #[serde(default)]
    previous: Option<String>,
    engines: Vec<Engine>,
}

/// What of an engine no run of it tells.
pub(super) struct About {
    pub(super) origin: Origin,
    pub(super) files: Vec<String>,
    pub(super) instead_of: Vec<Skipped>,
}

impl About {
    const fn added() -> Self {
        Self {
            origin: Origin::Added,
            files: Vec::new(),
            instead_of: Vec::new(),
        }
    }
}

/// The engines we know. Holds no state of its own: each answer is read from the index, so that all our
/// processes see the same.
#[derive(Debug, Clone)]
pub struct Engines {
    folder: PathBuf,
    environment: Environment,
}

impl Engines {
    /// `folder` is made when the first engine is added.
    #[must_use]
    pub const fn new(folder: PathBuf, environment: Environment) -> Self {
        Self { folder, environment }
    }

    pub fn list(&self) -> Result<Vec<Engine>, EngineError> {
        Ok(self.read()?.engines)
    }

    /// The id of the engine in use.
    pub fn chosen(&self) -> Result<Option<String>, EngineError> {
        Ok(self.read()?.in_use)
    }

    /// The engine that [`Engines::roll_back`] would bring back, while all of it is there.
    pub fn previous(&self) -> Result<Option<String>, EngineError> {
        let index = self.read()?;
        Ok(index.previous.filter(|id| {
            let known = index.engines.iter().find(|engine| engine.id == *id);
            known.is_some_and(|engine| engine.missing().is_empty())
        }))
    }

    pub fn in_use(&self) -> Result<Engine, EngineError> {
        let index = self.read()?;
        let id = index.in_use.ok_or(EngineError::NoEngine)?;
        index
            .engines
            .into_iter()
            .find(|engine| engine.id == id)
            .ok_or(EngineError::NoEngine)
    }

    pub fn find(&self, id: &str) -> Result<Engine, EngineError> {
        let unknown = || EngineError::UnknownEngine { id: id.to_owned() };
        self.read()?
            .engines
            .into_iter()
            .find(|engine| engine.id == id)
            .ok_or_else(unknown)
    }

    /// Checks the build at `path` (its folder or its llama-server) and keeps it where it lies. The first one is
    /// used from then on. Adding it again reads it anew.
    pub async fn add(&self, path: &Path) -> Result<Engine, EngineError> {
        let binary = probe::find_server(path)?;
        let probed = probe::probe(&binary, &self.environment).await.1?;
        let id = id_of_added(&binary, &probed);
        self.keep_probed(id, binary, probed, About::added()).await
    }

    pub async fn choose(&self, id: &str) -> Result<(), EngineError> {
        self.change(|index| {
            if !index.engines.iter().any(|engine| engine.id == id) {
                return Err(EngineError::UnknownEngine { id: id.to_owned() });
            }
            if index.in_use.as_deref() != Some(id) {
                index.previous = index.in_use.replace(id.to_owned());
            }
            Ok(())
        })
        .await
    }

    /// Goes back to the engine that was in use before; done twice, nothing has changed.
    pub async fn roll_back(&self) -> Result<(), EngineError> {
        let id = self.read()?.previous.ok_or(EngineError::NoEngine)?;
        self.find(&id)?.ensure_there()?;
        self.choose(&id).await
    }

    /// Has it say a few tokens of a tiny model that comes along, on a device where it is to compute on one, and beside the
    /// engine in use where both compute with the same: an engine that is far slower than the last good one does not
    /// take its place.
    pub async fn try_out(&self, id: &str, on_gpu: bool) -> Result<(), EngineError> {
        let engine = self.find(id)?;
        let model = self.folder.join("trial.gguf");
        files::replace(&model, TRIAL_MODEL)?;
        let mut now = try_out(self, &engine, &model, on_gpu).await?;
        let Some(before) = self.in_use().ok().filter(|other| {
            other.id != engine.id && other.backends == engine.backends && other.missing().is_empty()
        }) else {
            return Ok(());
        };
        // One after the other, so that both meet the same neighbours; a slow moment does not come three times.
        for tries_left in (0..SPEED_TRIES).rev() {
            // An engine that no longer runs is nothing to be held against.
            let before = try_out(self, &before, &model, on_gpu).await.ok().flatten();
            let (Some(new), Some(old)) = (now, before) else {
                break;
            };
            if new.get() >= old.get() * SLOWEST {
                break;
            }
            if tries_left == 0 {
                return Err(EngineError::EngineCheckFailed {
                    step: Step::Speed,
                    output: format!(
                        "{:.0} tokens a second where the engine in use says {:.0}",
                        new.get(),
                        old.get()
                    ),
                });
            }
            now = try_out(self, &engine, &model, on_gpu).await?;
        }
        Ok(())
    }

    /// Remembers what was tried before this one.
    pub async fn keep_skipped(&self, id: &str, skipped: Vec<Skipped>) -> Result<(), EngineError> {
        self.change(|index| {
            let known = index.engines.iter_mut().find(|engine| engine.id == id);
            let known = known.ok_or_else(|| EngineError::UnknownEngine { id: id.to_owned() })?;
            known.instead_of = skipped;
            Ok(())
        })
        .await
    }

    /// Forgets it; what we unpacked is deleted, what the person added stays where it is.
    pub async fn remove(&self, id: &str) -> Result<(), EngineError> {
        let removed = self
            .change(|index| {
                let at = index.engines.iter().position(|engine| engine.id == id);
                let at = at.ok_or_else(|| EngineError::UnknownEngine { id: id.to_owned() })?;
                let removed = index.engines.remove(at);
                index.previous = index.previous.take().filter(|previous| previous != id);
                if index.in_use.as_deref() == Some(id) {
                    index.in_use = index.engines.first().map(|engine| engine.id.clone());
                }
                Ok(removed)
            })
            .await?;
        if removed.origin == Origin::Release {
            files::remove_tree(&self.release_folder(id))?;
        }
        Ok(())
    }

    /// Runs every step again. What fails is in the report, not an error.
    pub async fn check(&self, id: &str) -> Result<Check, EngineError> {
        let known = self.find(id)?;
        let (steps, probed) = probe::probe(&known.binary, &self.environment).await;
        if let Ok(probed) = probed {
            let about = About {
                origin: known.origin,
                files: known.files,
                instead_of: known.instead_of,
            };
            self.keep_probed(known.id, known.binary, probed, about).await?;
        }
        Ok(Check {
            engine: id.to_owned(),
            steps,
        })
    }

    /// The whole environment of a child of this engine, before its key.
    #[must_use]
    pub(crate) fn environment_for(&self, engine: &Engine) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        engine_environment(&self.environment, &engine.folder())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn release_folder(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(super) async fn keep_probed(
        &self,
        id: String,
        binary: PathBuf,
        probed: Probed,
        about: About,
    ) -> Result<Engine, EngineError> {
        let Probed {
            version,
            backends,
            abilities,
            devices,
        } = probed;
        let engine = Engine {
            id,
            version,
            backends,
            binary,
            origin: about.origin,
            abilities,
            devices,
            files: about.files,
            instead_of: about.instead_of,
        };
        self.change(|index| {
            index.engines.retain(|have| have.id != engine.id);
            index.engines.push(engine.clone());
            index.in_use.get_or_insert_with(|| engine.id.clone());
            Ok(engine)
        })
        .await
    }

    async fn change<T>(
        &self,
        how: impl FnOnce(&mut Index) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        files::create_dir(&self.folder)?;
        let _lock = self.lock().await?;
        let mut index = self.read()?;
        let done = how(&mut index)?;
        index.schema = SCHEMA;
        let path = self.index_path();
        let bytes = serde_json::to_vec_pretty(&index).map_err(|source| EngineError::IndexBroken {
            path: path.clone(),
            source,
        })?;
        files::replace(&path, &bytes)?;
        Ok(done)
    }

    async fn lock(&self) -> Result<Option<Lock>, EngineError> {
        let path = self.folder.join("index.lock");
        for _ in 0..LOCK_TRIES_MAX {
            if let Some(lock) = Lock::try_exclusive(&path)? {
                return Ok(Some(lock));
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
        // Someone hangs with it. The file itself is replaced whole, so the worst is a lost entry.
        tracing::warn!(path = %path.display(), "the list of engines is changed without its lock");
        Ok(None)
    }

    fn index_path(&self) -> PathBuf {
        self.folder.join("index.json")
    }

    fn read(&self) -> Result<Index, EngineError> {
        let path = self.index_path();
        let bytes = match files::read_up_to(&path, INDEX_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(FileError::Missing { .. }) => return Ok(Index::default()),
            Err(error) => return Err(error.into()),
        };
        let index: Index = serde_json::from_slice(&bytes).map_err(|source| EngineError::IndexBroken {
            path: path.clone(),
            source,
        })?;
        if index.schema > SCHEMA {
            return Err(EngineError::IndexTooNew {
                path,
                schema: index.schema,
            });
        }
        Ok(index)
    }
}

/// Stable for one place: the folder's name for people, a few hex digits of its whole path against clashes.
fn id_of_added(binary: &Path, probed: &Probed) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(binary.as_os_str().as_encoded_bytes());
    let short = hex(&digest[..3]);
    let build = probed
        .backends
        .iter()
        .rfind(|name| *name != "rpc" && *name != "cpu");
    format!("own-{}-{short}", build.map_or("cpu", String::as_str))
}
