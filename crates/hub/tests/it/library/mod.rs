//! The library: what is found, taken in, checked and removed.

mod check;
mod elsewhere;
mod import;
mod relocate;
mod remove;
mod same;
mod scan;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_hub::{Checked, Found, Home, HubError, Imported, Library, Place};
use plimsoll_os::files;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::Watch;

struct Shelf {
    cache: TempDir,
    outside: TempDir,
}

impl Shelf {
    fn new() -> Self {
        Self {
            cache: tempfile::tempdir().unwrap(),
            outside: tempfile::tempdir().unwrap(),
        }
    }

    fn library(&self) -> Library {
        Library::new(self.cache.path().to_owned())
    }

    /// A file somewhere in a person's folders.
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let at = self.outside.path().join(name);
        files::create_dir(at.parent().unwrap()).unwrap();
        files::replace(&at, bytes).unwrap();
        at
    }

    async fn import(&self, path: &Path) -> Result<Found, HubError> {
        self.import_known(path, |_| None).await
    }

    async fn import_known(
        &self,
        path: &Path,
        known: impl Fn(&str) -> Option<Home> + Send + 'static,
    ) -> Result<Found, HubError> {
        let watch = Arc::new(Watch::default());
        let imported = self
            .library()
            .import(path, known, watch.clone(), &CancellationToken::new())
            .await?;
        watch.strict.assert_finished();
        match imported {
            Imported::Done(found) => Ok(*found),
            Imported::Stopped => panic!("nobody stopped it"),
        }
    }

    async fn ids(&self) -> Vec<String> {
        self.library()
            .scan()
            .await
            .unwrap()
            .models
            .into_iter()
            .map(|found| found.id)
            .collect()
    }

    async fn check(&self, found: &Found) -> (Vec<String>, Vec<String>) {
        let watch = Arc::new(Watch::default());
        match self
            .library()
            .verify(found, watch, &CancellationToken::new())
            .await
            .unwrap()
        {
            Checked::Done { damaged, unpinned } => (damaged, unpinned),
            Checked::Stopped => panic!("nobody stopped it"),
        }
    }

    /// Everything below the cache, as paths inside it.
    fn tree(&self) -> Vec<String> {
        fn walk(at: &Path, root: &Path, out: &mut Vec<String>) {
            for child in std::fs::read_dir(at).unwrap() {
                let child = child.unwrap();
                if child.file_type().unwrap().is_dir() {
                    walk(&child.path(), root, out);
                } else {
                    out.push(
                        child
                            .path()
                            .strip_prefix(root)
                            .unwrap()
                            .to_string_lossy()
                            .into_owned(),
                    );
                }
            }
        }
        let mut out = Vec::new();
        walk(self.cache.path(), self.cache.path(), &mut out);
        out.sort();
        out
    }
}

fn write(at: &Path, bytes: &[u8]) {
    files::create_dir(at.parent().unwrap()).unwrap();
    files::replace(at, bytes).unwrap();
}

fn commit_of(found: &Found) -> &str {
    match &found.place {
        Place::Library { commit, .. } => commit,
        Place::Elsewhere { .. } => panic!("{found:?} is not in the library"),
    }
}
