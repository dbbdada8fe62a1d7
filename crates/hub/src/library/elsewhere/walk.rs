use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::{Odd, OddReason, real};

/// Folders of other people hold anything: a look ends after so many entries, whatever they are.
pub(super) const ENTRIES_MAX: usize = 200_000;
/// Deeper than any program puts its models.
const DEPTH_MAX: usize = 12;

/// A walk through somebody else's folders, within limits. Links are followed, each real folder once.
pub(super) struct Walk<'a> {
    /// Places that are looked at for themselves, or not at all.
    apart: Vec<PathBuf>,
    stops: &'a dyn Fn() -> bool,
    odd: &'a mut Vec<Odd>,
    most: usize,
    left: usize,
    seen: BTreeSet<PathBuf>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        apart: Vec<PathBuf>,
        most: usize,
        stops: &'a dyn Fn() -> bool,
        odd: &'a mut Vec<Odd>,
    ) -> Self {
        Self {
            apart,
            stops,
            odd,
            most,
            left: most,
            seen: BTreeSet::new(),
        }
    }

    pub(super) fn odd(&mut self, at: &Path, why: OddReason) {
        if self.odd.len() < super::ODD_MAX {
            self.odd.push(Odd::new(at, why));
        }
    }

    /// Every file below `root` whose path inside it `wanted` takes, with that path.
    pub(super) fn files(&mut self, root: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        self.go(root, "", 0, wanted, &mut found);
        found.sort();
        found
    }

    fn go(
        &mut self,
        folder: &Path,
        inside: &str,
        depth: usize,
        wanted: &dyn Fn(&str) -> bool,
        found: &mut Vec<(PathBuf, String)>,
    ) {
        // A link that leads back to where we were, or into a place that is looked at for itself.
        let here = real(folder);
        if (depth > 0 && self.apart.contains(&here)) || !self.seen.insert(here) {
            return;
        }
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if depth > 0 && error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.odd(folder, OddReason::Unreadable(error)),
        };
        let mut folders = Vec::new();
        for entry in entries {
            if self.left == 0 || (self.stops)() {
                if self.left == 0 {
                    self.full(folder);
                }
                return;
            }
            self.left -= 1;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.odd(folder, OddReason::Unreadable(error));
                    continue;
                }
            };
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                // Only what could have been a model is worth a word.
                if name.to_string_lossy().ends_with(".gguf") {
                    self.odd(&entry.path(), OddReason::NotUnicode);
                }
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            let path = if inside.is_empty() {
                name.to_owned()
            } else {
                format!("{inside}/{name}")
            };
            // Follows links; one that leads nowhere is neither, and a file of no size.
            if entry.path().is_dir() {
                folders.push((entry.path(), path));
            } else if wanted(&path) {
                found.push((entry.path(), path));
            }
        }
        folders.sort();
        for (at, path) in folders {
            if self.left == 0 {
                return self.full(folder);
            }
            if depth < DEPTH_MAX {
                self.go(&at, &path, depth + 1, wanted, found);
            }
        }
    }

    /// Said once, whichever folder it was noticed in.
    fn full(&mut self, folder: &Path) {
        let is_told = self
            .odd
            .iter()
            .any(|odd| matches!(odd.why, OddReason::TooMany(_)));
        if !is_told {
            self.odd(folder, OddReason::TooMany(self.most));
        }
    }
}
