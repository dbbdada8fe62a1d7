//! Models that other programs keep, and folders that the person named. Read in place; nothing here is ever
//! written, moved or removed.

mod folders;
mod ollama;
mod places;
mod walk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use plimsoll_units::Bytes;

use super::found::{Found, FoundFile, FoundState, Keeper, Odd, OddReason, Place, Source};
use super::group::real;
use walk::Walk;

pub use places::OtherPlaces;

/// What lies elsewhere.
#[derive(Debug, Default)]
pub struct Elsewhere {
    pub models: Vec<Found>,
    /// Every place that was looked at, in its order, with what was odd there.
    pub looked: Vec<Looked>,
}

/// One place, and how the look at it went.
#[derive(Debug)]
pub struct Looked {
    pub source: Source,
    pub models: usize,
    pub bytes: Bytes,
    pub odd: Vec<Odd>,
}

/// More odd entries than anybody reads.
const ODD_MAX: usize = 50;

/// `library` is our own cache: what lies in it is the library's, wherever a folder that leads to it was named.
pub(super) fn look(sources: &[Source], library: &Path, stops: &dyn Fn() -> bool) -> Elsewhere {
    look_at_most(sources, library, walk::ENTRIES_MAX, stops)
}

fn look_at_most(
    sources: &[Source],
    library: &Path,
    entries_max: usize,
    stops: &dyn Fn() -> bool,
) -> Elsewhere {
    let mut all = Elsewhere::default();
    let mut ids = BTreeSet::new();
    let roots: Vec<PathBuf> = sources.iter().map(|source| real(&source.folder)).collect();
    let library = real(library);
    for (number, source) in sources.iter().enumerate() {
        let Some(root) = roots.get(number) else { continue };
        // Named twice, or under two names.
        if roots.iter().take(number).any(|before| before == root) || root.starts_with(&library) {
            continue;
        }
        let mut others: Vec<PathBuf> = roots.iter().filter(|other| *other != root).cloned().collect();
        others.push(library.clone());
        let mut looked = Looked {
            source: source.clone(),
            models: 0,
            bytes: Bytes::ZERO,
            odd: Vec::new(),
        };
        if stops() {
            break;
        }
        let mut walk = Walk::new(others, entries_max, stops, &mut looked.odd);
        let mut models = if !root.is_dir() {
            // What a program never made is not missing; what the person named is.
            if source.keeper == Keeper::Folder {
                walk.odd(&source.folder, OddReason::Gone);
            }
            Vec::new()
        } else if source.keeper == Keeper::Ollama {
            ollama::models(source, &mut walk)
        } else {
            folders::models(source, &mut walk)
        };
        looked.odd.truncate(ODD_MAX);
        for model in &mut models {
            looked.models += 1;
            looked.bytes = looked.bytes.plus(model.bytes);
            if !ids.insert(model.id.clone()) {
                // The same program in two places.
                let at = model.files.first().map(|file| file.at.as_path());
                let at = at.unwrap_or(&source.folder).display();
                model.id = format!("{}:{at}", source.keeper);
                ids.insert(model.id.clone());
            }
        }
        all.models.append(&mut models);
        all.looked.push(looked);
    }
    all.models.sort_by(|a, b| a.id.cmp(&b.id));
    all
}

#[cfg(test)]
mod tests {
    use plimsoll_os::files;

    use super::{Keeper, OddReason, Source, look_at_most};

    #[test]
    fn a_folder_of_very_many_files_ends_the_look_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        files::replace(&folder.path().join("a.gguf"), b"x").unwrap();
        for number in 0..40 {
            let at = folder.path().join(format!("{number:02}"));
            files::create_dir(&at).unwrap();
            files::replace(&at.join("note.txt"), b"x").unwrap();
        }
        let source = Source {
            keeper: Keeper::Folder,
            folder: folder.path().to_owned(),
        };
        let cache = folder.path().join("no cache");
        let look = |most| look_at_most(std::slice::from_ref(&source), &cache, most, &|| false);
        let whole = look(1_000);
        assert_eq!((whole.models.len(), whole.looked[0].odd.len()), (1, 0));
        let cut = look(50);
        assert_eq!(cut.models.len(), 1, "what was met before the end is there");
        let odd = &cut.looked[0].odd;
        assert!(matches!(odd[0].why, OddReason::TooMany(50)), "{odd:?}");
    }
}
