use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use plimsoll_gguf::{FileSet, Limits};
use plimsoll_os::jobs::Scope;
use plimsoll_planner::{Projector, Shape};

use crate::fault::Failed;

/// More headers than anybody has models; a larger cache would be a leak.
const KEPT_MAX: usize = 512;

/// What a model's file says of itself.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) name: Option<String>,
    pub(crate) has_chat_template: bool,
    pub(crate) shape: Shape,
}

/// A file, as far as headers go.
#[derive(Debug, Clone)]
enum Kept {
    Model(Arc<Inspected>),
    Projector(Projector),
}

/// The same length and time: the same file.
type Stamp = (u64, Option<SystemTime>);

/// Reads headers on a thread of their own and remembers what they said.
pub(super) struct Inspector {
    jobs: Scope,
    /// A lock, because two who read the same header at once cost a little time and no more; held for a
    /// look-up, never while a file is read.
    kept: Mutex<HashMap<PathBuf, (Stamp, Kept)>>,
}

impl Inspector {
    pub(super) fn new(jobs: Scope) -> Self {
        Self {
            jobs,
            kept: Mutex::new(HashMap::new()),
        }
    }

    pub(super) async fn inspect(&self, path: &Path) -> Result<Arc<Inspected>, Failed> {
        let stamp = stamp(path);
        if let Some(Kept::Model(inspected)) = self.kept(path, stamp) {
            return Ok(inspected);
        }
        let at = path.to_owned();
        let inspected = Arc::new(self.jobs.start_blocking(move |_| read(&at)).await??);
        self.keep(path, stamp, Kept::Model(Arc::clone(&inspected)));
        Ok(inspected)
    }

    pub(super) async fn projector(&self, path: &Path) -> Result<Projector, Failed> {
        let stamp = stamp(path);
        if let Some(Kept::Projector(projector)) = self.kept(path, stamp) {
            return Ok(projector);
        }
        let at = path.to_owned();
        let projector = self.jobs.start_blocking(move |_| read_projector(&at)).await??;
        self.keep(path, stamp, Kept::Projector(projector));
        Ok(projector)
    }

    fn kept(&self, path: &Path, stamp: Option<Stamp>) -> Option<Kept> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, kept) = kept.get(path)?;
        (Some(*of) == stamp).then(|| kept.clone())
    }

    fn keep(&self, path: &Path, stamp: Option<Stamp>, what: Kept) {
        let Some(stamp) = stamp else { return };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(path.to_owned(), (stamp, what));
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.len(), about.modified().ok()))
}

fn read_projector(path: &Path) -> Result<Projector, Failed> {
    let header = FileSet::read(path, &Limits::default())?.header;
    Ok(Projector::from_header(&header)?)
}

fn read(path: &Path) -> Result<Inspected, Failed> {
    let header = FileSet::read(path, &Limits::default())?.header;
    let text = |key| header.metadata.text(key).ok().flatten();
    Ok(Inspected {
        name: text("general.name")
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(shorten),
        has_chat_template: text("tokenizer.chat_template").is_some_and(|template| !template.is_empty()),
        shape: Shape::from_header(&header)?,
    })
}

/// A name from a stranger's file is cut to what a list can show.
fn shorten(name: &str) -> String {
    name.chars()
        .filter(|letter| !letter.is_control())
        .take(120)
        .collect()
}
