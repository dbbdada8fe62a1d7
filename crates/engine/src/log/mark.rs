use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// As much of a log as is ever looked at, counted from its end.
const BYTES_MAX: u64 = 512 << 10;
/// A line is cut here before it is looked at.
const LINE_CHARS_MAX: usize = 2_000;
/// The last lines that an error carries with it.
const TAIL_LINES: usize = 40;

/// A place in a log that turns over: what is written after it can be read later, by any process.
#[derive(Debug, Clone)]
pub(crate) struct LogMark {
    path: PathBuf,
    offset: u64,
}

impl LogMark {
    /// The log's end as it is now.
    #[must_use]
    pub(crate) fn at_end(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            offset: length(path),
        }
    }

    /// All that the log still holds.
    #[must_use]
    pub(crate) fn whole(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            offset: 0,
        }
    }

    /// The lines written since, at most the last half megabyte. A log that cannot be read has no lines: it
    /// explains failures and must not cause one.
    #[must_use]
    pub(crate) fn lines(&self) -> Vec<String> {
        let now = length(&self.path);
        let mut bytes = Vec::new();
        if now < self.offset {
            // It turned over: the first part is in the older file.
            let mut older = self.path.clone().into_os_string();
            older.push(".1");
            read_from(Path::new(&older), self.offset, &mut bytes);
            read_from(&self.path, 0, &mut bytes);
        } else {
            read_from(&self.path, self.offset, &mut bytes);
        }
        String::from_utf8_lossy(&bytes)
            .lines()
            .map(|line| line.chars().take(LINE_CHARS_MAX).collect())
            .collect()
    }

    /// The last of `lines`, for an error.
    #[must_use]
    pub(crate) fn tail<S: AsRef<str>>(lines: &[S]) -> Vec<String> {
        let from = lines.len().saturating_sub(TAIL_LINES);
        lines[from..]
            .iter()
            .map(|line| line.as_ref().to_owned())
            .collect()
    }
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |about| about.len())
}

fn read_from(path: &Path, offset: u64, into: &mut Vec<u8>) {
    let from = offset.max(length(path).saturating_sub(BYTES_MAX));
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.take(BYTES_MAX).read_to_end(into)
    });
    if let Err(error) = read {
        tracing::debug!(%error, path = %path.display(), "a log could not be read");
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_os::files::AppendLog;
    use plimsoll_units::Bytes;

    use super::*;

    #[test]
    fn only_what_came_after_the_mark_is_read_also_when_the_log_turned_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("router.log");
        let mut log = AppendLog::open(&path, Bytes(64)).unwrap();
        log.line(b"before").unwrap();
        let mark = LogMark::at_end(&path);
        assert!(mark.lines().is_empty());
        log.line(b"first after").unwrap();
        assert_eq!(mark.lines(), ["first after"]);
        log.line(&[b'x'; 60]).unwrap();
        log.line(b"last").unwrap();
        let lines = mark.lines();
        assert_eq!(lines.last().map(String::as_str), Some("last"), "{lines:?}");
    }

    #[test]
    fn a_missing_log_has_no_lines() {
        let mark = LogMark::at_end(Path::new("/nowhere/at/all"));
        assert!(mark.lines().is_empty());
    }
}
