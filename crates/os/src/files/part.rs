use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_units::Bytes;

use super::error::{Action, FileError, on};

/// A file that is filled in pieces, in any order, possibly over several runs of the program. Many threads may
/// write to it at once, each at its own place.
#[derive(Debug)]
pub struct PartFile {
    file: File,
    path: PathBuf,
}

impl PartFile {
    /// Opens what an earlier run left, or makes an empty file.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        Ok(Self {
            file: opened.map_err(on(Action::Open, path))?,
            path: path.to_owned(),
        })
    }

    /// Opens a file that is there, for reading only.
    pub fn open_to_read(path: &Path) -> Result<Self, FileError> {
        Ok(Self {
            file: File::open(path).map_err(on(Action::Open, path))?,
            path: path.to_owned(),
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length; of what is written or reserved, not of what is right.
    pub fn len(&self) -> Result<Bytes, FileError> {
        let metadata = self.file.metadata().map_err(on(Action::Read, &self.path))?;
        Ok(Bytes(metadata.len()))
    }

    pub fn is_empty(&self) -> Result<bool, FileError> {
        Ok(self.len()? == Bytes::ZERO)
    }

    /// Cuts or extends the file; the new part reads as zeros.
    pub fn set_len(&self, length: Bytes) -> Result<(), FileError> {
        self.file
            .set_len(length.0)
            .map_err(on(Action::Reserve, &self.path))
    }

    /// Takes the space now, so that a full disk is met before the first byte travels. Where the file system
    /// cannot, nothing is taken and the length stays.
    pub fn preallocate(&self, length: Bytes) -> Result<(), FileError> {
        if length == Bytes::ZERO {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        {
            let done = rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), 0, length.0);
            match done.map_err(io::Error::from) {
                Err(error) if error.kind() != io::ErrorKind::Unsupported => {
                    Err(FileError::new(Action::Reserve, &self.path, error))
                }
                Ok(()) | Err(_) => Ok(()),
            }
        }
        #[cfg(not(target_os = "linux"))]
        Ok(())
    }

    pub fn write_at(&self, offset: Bytes, bytes: &[u8]) -> Result<(), FileError> {
        self.write_all_at(offset.0, bytes)
            .map_err(on(Action::Write, &self.path))
    }

    /// Fills `buffer` from `offset`; fewer bytes than its length only at the end of the file.
    pub fn read_at(&self, offset: Bytes, buffer: &mut [u8]) -> Result<usize, FileError> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_once(offset.0.saturating_add(done as u64), &mut buffer[done..]) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(FileError::new(Action::Read, &self.path, error)),
            }
        }
        Ok(done)
    }

    /// What was written is on the disk when this returns.
    pub fn sync_data(&self) -> Result<(), FileError> {
        self.file.sync_data().map_err(on(Action::Sync, &self.path))
    }

    /// What is read next comes from the disk and not from memory, as far as the system can be asked for that.
    pub fn drop_cached(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
    }

    /// The time of the last change, as another file has it.
    pub fn set_modified(&self, modified: std::time::SystemTime) -> Result<(), FileError> {
        self.file
            .set_modified(modified)
            .map_err(on(Action::Write, &self.path))
    }

    #[cfg(unix)]
    fn write_all_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset)
    }

    #[cfg(unix)]
    fn read_once(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn write_all_at(&self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = std::os::windows::fs::FileExt::seek_write(&self.file, bytes, offset)?;
            if n == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            offset += n as u64;
            bytes = &bytes[n..];
        }
        Ok(())
    }

    #[cfg(windows)]
    fn read_once(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)
    }
}
