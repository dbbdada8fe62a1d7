//! Which files are the same content twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use plimsoll_units::Bytes;

use super::found::{Found, FoundFile};
use super::group::real;

/// What tells whether a file is still the one that was hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    pub bytes: Bytes,
    /// Since 1970; 0 where the system does not tell.
    pub modified_ns: u64,
    /// 0 where the system has none.
    pub inode: u64,
}

impl FileStamp {
    /// `None` when the file cannot be looked at.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let about = std::fs::metadata(path).ok()?;
        let since = about.modified().ok()?.duration_since(UNIX_EPOCH).ok();
        Some(Self {
            bytes: Bytes(about.len()),
            modified_ns: since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)),
            inode: identity(&about).1,
        })
    }
}

#[cfg(unix)]
pub(super) fn identity(about: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (about.dev(), about.ino())
}

#[cfg(not(unix))]
pub(super) fn identity(_: &std::fs::Metadata) -> (u64, u64) {
    (0, 0)
}

/// One content that takes space more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Same {
    pub sha256: String,
    /// Of one copy.
    pub bytes: Bytes,
    pub copies: Vec<CopyOf>,
    /// What all copies but one take.
    pub savable: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOf {
    /// The model it belongs to.
    pub id: String,
    pub at: PathBuf,
}

/// What is known of copies so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// The largest saving first.
    pub same: Vec<Same>,
    /// Files of equal size whose hash nobody knows yet.
    pub open: Vec<(PathBuf, Bytes)>,
}

/// A place on the disk: by the system's numbers, or by path where it has none.
type Spot = (PathBuf, (u64, u64));

/// Compares the files of models by size, and where sizes are equal by hash: from their names, or as `known` says.
/// Names of one file on the disk are one file. Touches the disk for files of equal size only.
pub fn compare(models: &[Found], known: &dyn Fn(&Path) -> Option<String>) -> Comparison {
    let mut by_size: BTreeMap<Bytes, Vec<(&Found, &FoundFile)>> = BTreeMap::new();
    for model in models {
        for file in model.files.iter().chain(&model.projectors) {
            by_size.entry(file.bytes).or_default().push((model, file));
        }
    }
    let mut comparison = Comparison::default();
    for (bytes, files) in by_size.into_iter().filter(|(_, files)| files.len() > 1) {
        // By place on the disk, so that links and second names are not copies.
        let mut places: BTreeMap<Spot, Vec<(&Found, &FoundFile)>> = BTreeMap::new();
        for (model, file) in files {
            let at = real(&file.at);
            let identity = std::fs::metadata(&at)
                .map(|about| identity(&about))
                .unwrap_or_default();
            // With an identity the path does not matter.
            let at = if identity == (0, 0) { at } else { PathBuf::new() };
            places.entry((at, identity)).or_default().push((model, file));
        }
        if places.len() < 2 {
            continue;
        }
        let mut by_hash: BTreeMap<String, Vec<CopyOf>> = BTreeMap::new();
        for files in places.into_values() {
            let named = files
                .iter()
                .find_map(|(_, file)| file.etag.as_ref()?.sha256().map(str::to_owned));
            let Some((model, file)) = files.first() else {
                continue;
            };
            match named.or_else(|| known(&file.at)) {
                Some(sha256) => by_hash.entry(sha256).or_default().push(CopyOf {
                    id: model.id.clone(),
                    at: file.at.clone(),
                }),
                None => comparison.open.push((file.at.clone(), bytes)),
            }
        }
        let several =
            by_hash
                .into_iter()
                .filter(|(_, copies)| copies.len() > 1)
                .map(|(sha256, mut copies)| {
                    copies.sort_by(|a, b| a.id.cmp(&b.id));
                    (sha256, copies)
                });
        comparison.same.extend(several.map(|(sha256, copies)| Same {
            savable: Bytes(bytes.0.saturating_mul(copies.len() as u64 - 1)),
            sha256,
            bytes,
            copies,
        }));
    }
    comparison
        .same
        .sort_by(|a, b| b.savable.cmp(&a.savable).then_with(|| a.sha256.cmp(&b.sha256)));
    comparison
}
