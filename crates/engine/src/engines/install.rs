use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_hub::{Archive, Fetched, Hub, Watcher};
use plimsoll_os::files;
use plimsoll_os::jobs::{JobError, Scope};
use tokio_util::sync::CancellationToken;

use super::probe::{self, SERVER};
use super::registry::{About, Engine};
use super::unpack::{Limits, unpack};
use super::{Engines, Origin};
use crate::error::{ArchiveProblem, EngineError};

/// How deep a release may hide its server.
const DEPTH_MAX: usize = 3;

/// One pinned build: the archive with the server first, then what must lie beside it (a CUDA runtime).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Names its folder: letters, digits, `.`, `-` and `_`.
    pub id: String,
    pub archives: Vec<Archive>,
}

impl Engines {
    /// Fetches, unpacks and checks a pinned build, and keeps it. Nothing of it is seen before it passed its
    /// checks; `None` when it was stopped, and what was fetched is kept for the next time.
    pub async fn install(
        &self,
        release: &Release,
        hub: &Hub,
        watcher: Arc<dyn Watcher>,
        scope: &Scope,
        stop: &CancellationToken,
    ) -> Result<Option<Engine>, EngineError> {
        let to = self.release_folder(&safe_id(&release.id)?);
        if let Ok(known) = self.find(&release.id)
            && known.missing().is_empty()
        {
            return Ok(Some(known));
        }
        let downloads = self.folder().join("downloads");
        let mut archives = Vec::new();
        for archive in &release.archives {
            let at = downloads.join(file_name(&archive.url)?);
            let fetched = hub.fetch_url(archive, &at, Arc::clone(&watcher), stop).await;
            match fetched.map_err(EngineError::Fetch)? {
                Fetched::Done { .. } => archives.push(at),
                Fetched::Stopped { .. } => return Ok(None),
            }
        }
        let engine = self.unpack_and_check(&release.id, &archives, &to, scope).await?;
        for archive in &archives {
            files::remove_file(archive)?;
        }
        Ok(Some(engine))
    }

    async fn unpack_and_check(
        &self,
        id: &str,
        archives: &[PathBuf],
        to: &Path,
        scope: &Scope,
    ) -> Result<Engine, EngineError> {
        let part = self.folder().join(format!(".{id}.part"));
        let removed_when_left = Leftover(part.clone());
        files::remove_tree(&part)?;
        let (from, into) = (archives.to_vec(), part.clone());
        let unpacked = scope.start_blocking(move |_| unpack_all(&from, &into)).await;
        let folder = unpacked.map_err(|error| job_failed(archives, &error))??;
        let probed = probe::probe(&folder.join(SERVER), self.environment()).await.1?;
        let inside = folder.strip_prefix(&part).unwrap_or(Path::new("")).to_owned();
        // What an earlier attempt left, which the index does not know.
        files::remove_tree(to)?;
        files::publish_folder(&part, to)?;
        drop(removed_when_left);
        let folder = to.join(inside);
        let about = About {
            origin: Origin::Release,
            files: names_in(&folder),
            instead_of: Vec::new(),
        };
        self.keep_probed(id.to_owned(), folder.join(SERVER), probed, about)
            .await
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// A half-unpacked folder goes, whatever happened.
struct Leftover(PathBuf);

impl Drop for Leftover {
    fn drop(&mut self) {
        if let Err(error) = files::remove_tree(&self.0) {
            tracing::warn!(%error, "a half-unpacked engine stays behind");
        }
    }
}

/// Returns the folder that holds the server and all that belongs beside it.
fn unpack_all(archives: &[PathBuf], part: &Path) -> Result<PathBuf, EngineError> {
    let mut server = None;
    for (n, archive) in archives.iter().enumerate() {
        let into = part.join(n.to_string());
        unpack(archive, &into, Limits::RELEASE)?;
        match &server {
            None => {
                let found = folder_with_server(&into, DEPTH_MAX);
                let none = || EngineError::ArchiveRefused {
                    archive: archive.clone(),
                    problem: ArchiveProblem::NoServer,
                };
                server = Some(found.ok_or_else(none)?);
            }
            Some(beside) => move_files(&into, beside, DEPTH_MAX)?,
        }
    }
    server.ok_or(EngineError::NoServerThere {
        path: part.to_owned(),
    })
}

fn folder_with_server(folder: &Path, depth: usize) -> Option<PathBuf> {
    if folder.join(SERVER).is_file() {
        return Some(folder.to_owned());
    }
    let below = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut folders: Vec<PathBuf> = below.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
        .iter()
        .filter(|_| depth > 0)
        .find_map(|path| folder_with_server(path, depth - 1))
}

/// All files below `from`, whatever their folders are called, to one folder. What is there already stays.
fn move_files(from: &Path, to: &Path, depth: usize) -> Result<(), EngineError> {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (path, at) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() && !path.is_symlink() {
            if depth > 0 {
                move_files(&path, to, depth - 1)?;
            }
        } else if !at.exists() {
            match fs::read_link(&path) {
                // A name beside it, as unpacking has made sure.
                Ok(target) => files::symlink(&target, &at)?,
                Err(_) => files::publish(&path, &at)?,
            }
        }
    }
    Ok(())
}

fn safe_id(id: &str) -> Result<String, EngineError> {
    let plain = id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        && id != "downloads";
    if plain {
        Ok(id.to_owned())
    } else {
        Err(EngineError::UnknownEngine { id: id.to_owned() })
    }
}

fn file_name(url: &str) -> Result<String, EngineError> {
    let name = url.rsplit('/').next().unwrap_or_default();
    plimsoll_os::names::safe_component(name).map_err(|_| EngineError::ArchiveRefused {
        archive: PathBuf::from(url),
        problem: ArchiveProblem::UnsafeName {
            name: name.to_owned(),
        },
    })
}

fn job_failed(archives: &[PathBuf], error: &JobError) -> EngineError {
    let archive = archives.first().cloned().unwrap_or_default();
    EngineError::ArchiveRefused {
        archive,
        problem: ArchiveProblem::Unreadable {
            why: error.to_string(),
        },
    }
}
