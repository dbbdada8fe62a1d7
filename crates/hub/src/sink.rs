//! Where the bytes of one file go: a thread that writes and hashes while the next bytes travel.

use std::path::{Path, PathBuf};

use bytes::Bytes as Chunk;
use plimsoll_os::files::{FileError, Lock, PartFile};
use plimsoll_os::jobs::{Job, Scope};
use plimsoll_units::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::HubError;

/// Chunks on their way to the disk. With the sizes that the network gives this is a few MiB.
const CHUNKS_WAITING_MAX: usize = 64;
const READ_BACK: usize = 1 << 20;

/// A part file that only grows: its length says how much of the file is here, so a killed program needs no
/// other record to go on.
#[derive(Debug)]
pub(crate) struct Sink {
    pieces: Option<mpsc::Sender<Piece>>,
    writer: Option<Job<Result<Written, FileError>>>,
    part: PathBuf,
    have: Bytes,
}

#[derive(Debug)]
enum Piece {
    Next(Chunk),
    StartOver,
}

/// What the writer leaves behind.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) sha256: String,
    /// Held until the file is published.
    pub(crate) lock: Lock,
}

impl Sink {
    /// Opens the part with what an earlier run left in it; a part longer than the file is emptied. The lock is
    /// held as long as anything may still be written.
    pub(crate) async fn open(scope: &Scope, part: &Path, size: Bytes, lock: Lock) -> Result<Self, HubError> {
        let path = part.to_owned();
        let opened = scope.start_blocking(move |_| {
            let file = PartFile::open(&path)?;
            let mut have = file.len()?;
            if have > size {
                file.set_len(Bytes::ZERO)?;
                have = Bytes::ZERO;
            }
            Ok::<_, FileError>((file, have))
        });
        let (file, have) = opened.await??;
        let (pieces, incoming) = mpsc::channel(CHUNKS_WAITING_MAX);
        let writer = scope.start_blocking(move |_| write(&file, have, incoming, lock));
        Ok(Self {
            pieces: Some(pieces),
            writer: Some(writer),
            part: part.to_owned(),
            have,
        })
    }

    pub(crate) fn part(&self) -> &Path {
        &self.part
    }

    /// Bytes taken so far, those of earlier runs included.
    pub(crate) const fn have(&self) -> Bytes {
        self.have
    }

    pub(crate) async fn put(&mut self, chunk: Chunk) -> Result<(), HubError> {
        let length = Bytes(chunk.len() as u64);
        self.tell(Piece::Next(chunk)).await?;
        self.have = self.have.plus(length);
        Ok(())
    }

    pub(crate) async fn start_over(&mut self) -> Result<(), HubError> {
        self.tell(Piece::StartOver).await?;
        self.have = Bytes::ZERO;
        Ok(())
    }

    async fn tell(&mut self, piece: Piece) -> Result<(), HubError> {
        let sent = match &self.pieces {
            Some(pieces) => pieces.send(piece).await.is_ok(),
            None => false,
        };
        if sent {
            return Ok(());
        }
        // The writer ends early only with an error.
        self.finish().await.map(drop)
    }

    /// Everything taken is on the disk when this returns.
    pub(crate) async fn finish(&mut self) -> Result<Written, HubError> {
        self.pieces = None;
        match self.writer.take() {
            Some(writer) => Ok(writer.await??),
            None => Err(plimsoll_os::jobs::JobError::RuntimeEnded.into()),
        }
    }
}

fn write(
    file: &PartFile,
    have: Bytes,
    mut pieces: mpsc::Receiver<Piece>,
    lock: Lock,
) -> Result<Written, FileError> {
    let mut hasher = Sha256::new();
    read_back(file, have, &mut hasher)?;
    let mut at = have;
    while let Some(piece) = pieces.blocking_recv() {
        match piece {
            Piece::Next(chunk) => {
                file.write_at(at, &chunk)?;
                hasher.update(&chunk);
                at = at.plus(Bytes(chunk.len() as u64));
            }
            Piece::StartOver => {
                file.set_len(Bytes::ZERO)?;
                hasher = Sha256::new();
                at = Bytes::ZERO;
            }
        }
    }
    file.sync_data()?;
    Ok(Written {
        sha256: hex(&hasher.finalize()),
        lock,
    })
}

/// What an earlier run wrote has to go through the hash again.
fn read_back(file: &PartFile, have: Bytes, hasher: &mut Sha256) -> Result<(), FileError> {
    let mut buffer = vec![0; READ_BACK];
    let mut at = Bytes::ZERO;
    while at < have {
        let got = file.read_at(at, &mut buffer)?;
        if got == 0 {
            break;
        }
        hasher.update(&buffer[..got]);
        at = at.plus(Bytes(got as u64));
    }
    Ok(())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}
