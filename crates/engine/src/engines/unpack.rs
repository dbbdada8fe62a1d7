use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use plimsoll_os::files::{self, FileError, Run};
use plimsoll_os::names::safe_relative;
use plimsoll_units::Bytes;

use crate::error::{ArchiveProblem, EngineError};

/// What an archive may hold. The largest official one unpacks to about 1.5 GiB in about 100 files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub entries: usize,
    pub bytes: Bytes,
}

impl Limits {
    pub(super) const RELEASE: Self = Self {
        entries: 4_096,
        bytes: Bytes::gib(6),
    };
}

/// One entry, whatever the archive's kind.
enum Entry<'a> {
    Folder,
    File {
        content: &'a mut dyn Read,
        run: Run,
    },
    /// To another entry of the same folder, as libraries are linked to their versions.
    Link {
        target: String,
    },
}

/// Unpacks a `.tar.gz` or `.zip` into `into`, a folder of our own that nobody looks at yet. Nothing is written
/// outside it: names are relative and plain, a link leads only to a name beside it, and no entry replaces
/// another. Blocks; for a thread of its own.
pub(super) fn unpack(archive: &Path, into: &Path, limits: Limits) -> Result<(), EngineError> {
    files::create_dir(into)?;
    let mut sink = Sink {
        archive,
        into,
        limits,
        entries: 0,
        left: limits.bytes,
        links: Vec::new(),
    };
    let name = archive.to_string_lossy();
    if name.ends_with(".tar.gz") || name.ends_with(".tgz") {
        unpack_tar(archive, &mut sink)?;
    } else if name.ends_with(".zip") {
        unpack_zip(archive, &mut sink)?;
    } else {
        return Err(sink.refuse(ArchiveProblem::UnknownKind));
    }
    sink.make_links()
}

fn unpack_tar(archive: &Path, sink: &mut Sink<'_>) -> Result<(), EngineError> {
    let bad = |error: std::io::Error| {
        refused(
            archive,
            ArchiveProblem::Unreadable {
                why: error.to_string(),
            },
        )
    };
    let file = File::open(archive).map_err(bad)?;
    let mut tar = tar::Archive::new(GzDecoder::new(BufReader::new(file)));
    for entry in tar.entries().map_err(bad)? {
        let mut entry = entry.map_err(bad)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let target = entry
            .link_name_bytes()
            .map(|target| String::from_utf8_lossy(&target).into_owned());
        let run = if entry.header().mode().unwrap_or(0) & 0o111 == 0 {
            Run::No
        } else {
            Run::Yes
        };
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() {
            continue;
        }
        let what = match target {
            Some(target) if kind.is_symlink() => Entry::Link { target },
            _ if kind.is_dir() => Entry::Folder,
            _ if kind.is_file() => Entry::File {
                content: &mut entry,
                run,
            },
            _ => return Err(refused(archive, ArchiveProblem::UnusualEntry { name })),
        };
        sink.take(&name, what)?;
    }
    Ok(())
}

fn unpack_zip(archive: &Path, sink: &mut Sink<'_>) -> Result<(), EngineError> {
    let bad = |why: String| refused(archive, ArchiveProblem::Unreadable { why });
    let file = File::open(archive).map_err(|error| bad(error.to_string()))?;
    let mut zip = zip::ZipArchive::new(BufReader::new(file)).map_err(|error| bad(error.to_string()))?;
    for at in 0..zip.len() {
        let mut entry = zip.by_index(at).map_err(|error| bad(error.to_string()))?;
        let name = entry.name().to_owned();
        let run = if entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0) {
            Run::Yes
        } else {
            Run::No
        };
        let what = if entry.is_symlink() {
            let mut target = String::new();
            (&mut entry)
                .take(4_096)
                .read_to_string(&mut target)
                .map_err(|error| bad(error.to_string()))?;
            Entry::Link { target }
        } else if entry.is_dir() {
            Entry::Folder
        } else {
            Entry::File {
                content: &mut entry,
                run,
            }
        };
        sink.take(&name, what)?;
    }
    Ok(())
}

fn refused(archive: &Path, problem: ArchiveProblem) -> EngineError {
    EngineError::ArchiveRefused {
        archive: archive.to_owned(),
        problem,
    }
}

struct Sink<'a> {
    archive: &'a Path,
    into: &'a Path,
    limits: Limits,
    entries: usize,
    left: Bytes,
    /// Made last, so that no file can be written through one.
    links: Vec<(PathBuf, String)>,
}

impl Sink<'_> {
    fn refuse(&self, problem: ArchiveProblem) -> EngineError {
        refused(self.archive, problem)
    }

    fn take(&mut self, name: &str, what: Entry<'_>) -> Result<(), EngineError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(self.refuse(ArchiveProblem::TooManyEntries {
                limit: self.limits.entries,
            }));
        }
        let Some(at) = self.place(name)? else {
            return Ok(());
        };
        match what {
            Entry::Folder => files::create_dir(&at)?,
            Entry::File { content, run } => {
                self.make_parent(&at)?;
                let written = match files::write_new(&at, content, self.left, run) {
                    Err(FileError::TooLarge { .. }) => {
                        let limit = self.limits.bytes;
                        return Err(self.refuse(ArchiveProblem::TooLarge { limit }));
                    }
                    written => written?,
                };
                self.left = self.left.less(written);
            }
            Entry::Link { target } => {
                let plain = Path::new(&target).components().collect::<Vec<_>>();
                let beside =
                    matches!(plain.as_slice(), [Component::Normal(_)]) && !target.contains(['/', '\\']);
                if !beside {
                    return Err(self.refuse(ArchiveProblem::UnsafeLink {
                        name: name.to_owned(),
                    }));
                }
                self.links.push((at, target));
            }
        }
        Ok(())
    }

    /// `None` for the archive's own root.
    fn place(&self, name: &str) -> Result<Option<PathBuf>, EngineError> {
        let plain = name.strip_prefix("./").unwrap_or(name).trim_end_matches('/');
        if plain.is_empty() || plain == "." {
            return Ok(None);
        }
        let safe = safe_relative(plain).map_err(|_| {
            self.refuse(ArchiveProblem::UnsafeName {
                name: name.to_owned(),
            })
        })?;
        Ok(Some(self.into.join(safe)))
    }

    fn make_parent(&self, at: &Path) -> Result<(), EngineError> {
        Ok(files::create_dir(at.parent().unwrap_or(self.into))?)
    }

    fn make_links(self) -> Result<(), EngineError> {
        for (at, target) in &self.links {
            self.make_parent(at)?;
            if at.symlink_metadata().is_ok() {
                let name = at.display().to_string();
                return Err(self.refuse(ArchiveProblem::UnsafeLink { name }));
            }
            files::symlink(Path::new(target), at)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{EntryType, Header};

    use super::*;

    enum Put<'a> {
        File(&'a [u8], u32),
        Link(&'a str),
        Hard(&'a str),
        Pipe,
    }

    /// A tar whose names are written raw: the library refuses to make bad ones.
    fn tar_gz(at: &Path, entries: &[(&str, Put<'_>)]) {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, put) in entries {
            let mut header = Header::new_gnu();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            let (kind, content, mode, link): (_, &[u8], _, _) = match put {
                Put::File(content, mode) => (EntryType::Regular, content, *mode, ""),
                Put::Link(target) => (EntryType::Symlink, b"", 0o777, *target),
                Put::Hard(target) => (EntryType::Link, b"", 0o644, *target),
                Put::Pipe => (EntryType::Fifo, b"", 0o644, ""),
            };
            header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link.as_bytes());
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_size(content.len() as u64);
            header.set_cksum();
            tar.append(&header, content).unwrap();
        }
        let bytes = tar.into_inner().unwrap().finish().unwrap();
        files::replace(at, &bytes).unwrap();
    }

    fn try_tar(entries: &[(&str, Put<'_>)], limits: Limits) -> Result<(), ArchiveProblem> {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a.tar.gz");
        tar_gz(&archive, entries);
        match unpack(&archive, &folder.path().join("into"), limits) {
            Ok(()) => Ok(()),
            Err(EngineError::ArchiveRefused { problem, .. }) => Err(problem),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_release_is_unpacked_with_its_run_bits_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("llama.tar.gz");
        tar_gz(
            &archive,
            &[
                ("llama-b1/libllama.so", Put::Link("libllama.so.0")),
                ("llama-b1/libllama.so.0", Put::File(b"ELF", 0o644)),
                ("./llama-b1/llama-server", Put::File(b"#!", 0o755)),
            ],
        );
        let into = folder.path().join("into");
        unpack(&archive, &into, Limits::RELEASE).unwrap();
        assert_eq!(std::fs::read(into.join("llama-b1/libllama.so")).unwrap(), b"ELF");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |name: &str| std::fs::metadata(into.join(name)).unwrap().permissions().mode() & 0o111;
            assert_eq!(
                (mode("llama-b1/llama-server"), mode("llama-b1/libllama.so.0")),
                (0o111, 0)
            );
        }
    }

    #[test]
    fn nothing_leads_outside() {
        use ArchiveProblem::{UnsafeLink, UnsafeName, UnusualEntry};
        let file = || Put::File(b"x", 0o644);
        for name in [
            "/etc/x",
            "../x",
            "a/../../x",
            "C:\\x",
            "a\\..\\x",
            "a/\u{7}x",
            "aux",
        ] {
            let got = try_tar(&[(name, file())], Limits::RELEASE);
            assert!(matches!(got, Err(UnsafeName { .. })), "{name}: {got:?}");
        }
        for target in ["/etc/passwd", "../x", "..", ".", "sub/x", "a\\b"] {
            let got = try_tar(&[("l", Put::Link(target))], Limits::RELEASE);
            assert!(matches!(got, Err(UnsafeLink { .. })), "{target}: {got:?}");
        }
        for put in [Put::Hard("/etc/passwd"), Put::Pipe] {
            assert!(matches!(
                try_tar(&[("x", put)], Limits::RELEASE),
                Err(UnusualEntry { .. })
            ));
        }
    }

    #[test]
    fn no_entry_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a.tar.gz");
        let file = || Put::File(b"x", 0o644);
        tar_gz(&archive, &[("x", file()), ("x", file())]);
        assert!(unpack(&archive, &folder.path().join("one"), Limits::RELEASE).is_err());
        tar_gz(&archive, &[("x", file()), ("x", Put::Link("y"))]);
        assert!(unpack(&archive, &folder.path().join("two"), Limits::RELEASE).is_err());
    }

    #[test]
    fn size_and_number_are_limited() {
        let limits = Limits {
            entries: 2,
            bytes: Bytes(10),
        };
        let file = |n| Put::File(&[7; 20][..n], 0o644);
        assert_eq!(try_tar(&[("a", file(5)), ("b", file(5))], limits), Ok(()));
        assert_eq!(
            try_tar(&[("a", file(5)), ("b", file(6))], limits),
            Err(ArchiveProblem::TooLarge { limit: Bytes(10) })
        );
        assert_eq!(
            try_tar(&[("a", file(1)), ("b", file(1)), ("c", file(1))], limits),
            Err(ArchiveProblem::TooManyEntries { limit: 2 })
        );
    }

    #[test]
    fn zips_go_the_same_way() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a.zip");
        let write = |names: &[&str]| {
            let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            for name in names {
                let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
                zip.start_file(*name, options).unwrap();
                zip.write_all(b"MZ").unwrap();
            }
            files::replace(&archive, &zip.finish().unwrap().into_inner()).unwrap();
        };
        write(&["bin/llama-server.exe"]);
        unpack(&archive, &folder.path().join("good"), Limits::RELEASE).unwrap();
        assert!(folder.path().join("good/bin/llama-server.exe").is_file());
        write(&["../evil"]);
        assert!(matches!(
            unpack(&archive, &folder.path().join("bad"), Limits::RELEASE),
            Err(EngineError::ArchiveRefused {
                problem: ArchiveProblem::UnsafeName { .. },
                ..
            })
        ));
        assert!(!folder.path().join("evil").exists());
        files::replace(&archive, b"no zip at all").unwrap();
        assert!(matches!(
            unpack(&archive, &folder.path().join("none"), Limits::RELEASE),
            Err(EngineError::ArchiveRefused {
                problem: ArchiveProblem::Unreadable { .. },
                ..
            })
        ));
    }
}
