//! Loss of power: what the ledger claims must be on the disk at every moment, whatever was not synced.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_os::files::FileError;
use plimsoll_units::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::disk::{self, Hashing, Medium, Piece};
use super::{Item, Ranges, Shared};
use crate::hex::hex;
use crate::{Hub, HubConfig, Lanes, Ledger, LedgerError, Marks, PartRecord, Unwatched};

const SIZE: u64 = 3 << 20;

/// A disk with a cache that forgets: only what was written before a sync began is there afterwards.
struct Recorder {
    written: Mutex<Vec<u8>>,
    durable: Mutex<Vec<u8>>,
    honest: bool,
}

impl Recorder {
    fn new(honest: bool) -> Self {
        let empty = || Mutex::new(vec![0; usize::try_from(SIZE).unwrap()]);
        Self {
            written: empty(),
            durable: empty(),
            honest,
        }
    }
}

impl Medium for Recorder {
    fn write_at(&self, at: Bytes, bytes: &[u8]) -> Result<(), FileError> {
        let at = usize::try_from(at.0).unwrap();
        self.written.lock().unwrap()[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, at: Bytes, buffer: &mut [u8]) -> Result<usize, FileError> {
        let at = usize::try_from(at.0).unwrap();
        let written = self.written.lock().unwrap();
        let length = buffer.len().min(written.len() - at);
        buffer[..length].copy_from_slice(&written[at..at + length]);
        Ok(length)
    }

    fn sync(&self) -> Result<(), FileError> {
        let before = self.written.lock().unwrap().clone();
        std::thread::sleep(std::time::Duration::from_millis(3));
        if self.honest {
            *self.durable.lock().unwrap() = before;
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct Book(Mutex<Option<PartRecord>>);

impl Ledger for Book {
    fn find<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<Option<PartRecord>, LedgerError>> {
        async { Ok(self.0.lock().unwrap().clone()) }.boxed()
    }
    fn keep<'a>(&'a self, _: &'a Path, record: PartRecord) -> BoxFuture<'a, Result<(), LedgerError>> {
        async move {
            *self.0.lock().unwrap() = Some(record);
            Ok(())
        }
        .boxed()
    }
    fn forget<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<(), LedgerError>> {
        async { Ok(()) }.boxed()
    }
    fn marks<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Marks>, LedgerError>> {
        async { Ok(None) }.boxed()
    }
    fn keep_marks<'a>(&'a self, _: &'a str, _: Marks) -> BoxFuture<'a, Result<(), LedgerError>> {
        async { Ok(()) }.boxed()
    }
}

fn content() -> Vec<u8> {
    // No zeros: a claim of what was never written is seen.
    (0..SIZE)
        .map(|n| u8::try_from(n * 2_654_435_761 % 251).unwrap() + 1)
        .collect()
}

/// What would be wrong if the power went now. The claims are read first: the disk only ever gains.
fn power_loss(book: &Book, disk: &Recorder, right: &[u8]) -> Option<String> {
    let record = book.0.lock().unwrap().clone()?;
    let durable = disk.durable.lock().unwrap().clone();
    let here: Ranges = record.ranges.iter().map(|(from, end)| from.0..end.0).collect();
    for range in here.iter() {
        let place = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
        if durable[place.clone()] != right[place] {
            return Some(format!("{range:?} is claimed and not there"));
        }
    }
    if record.hashed.0 > here.prefix() {
        return Some(format!("{} bytes are hashed of {here:?}", record.hashed));
    }
    let mut resumed = Hashing::resumed(&record, SIZE, here.prefix());
    if resumed.at != record.hashed.0 {
        return Some("the hash cannot go on".into());
    }
    resumed.take_in(&right[usize::try_from(resumed.at).unwrap()..], SIZE);
    (resumed.sum() != hex(&Sha256::digest(right))).then(|| "the hash goes on wrong".into())
}

/// Fetches once over several connections; everything that a loss of power would have broken on the way.
async fn voyage(honest: bool) -> Vec<String> {
    let right = content();
    let (book, disk) = (Arc::new(Book::default()), Arc::new(Recorder::new(honest)));
    let mut config = HubConfig::new(PathBuf::from("cache")).unwrap();
    config.lanes = Lanes {
        first: 3,
        most: 3,
        range_least: Bytes::kib(16),
        range_most: Bytes::kib(256),
    };
    let hub = Hub::with_ledger(config, book.clone());
    let item = Item {
        url: "http://hub.invalid/file".parse().unwrap(),
        token: None,
        file: "file".into(),
        repo: "repo".into(),
        address: None,
        bytes: Bytes(SIZE),
        etag: None,
        sha256: Some(hex(&Sha256::digest(&right))),
        part: PathBuf::from("part"),
        older: PathBuf::from("older"),
        lock: PathBuf::from("lock"),
        to: PathBuf::from("to"),
        trusted: true,
        pointer: None,
    };
    let (events, mut heard) = mpsc::channel(16);
    let shared = Arc::new(Shared::new(hub.clone(), vec![item], Arc::new(Unwatched), events));
    assert!(shared.media[0].set(disk.clone()).is_ok());
    shared.opened(0, Some(Ranges::default()));
    let (pieces, mut incoming) = mpsc::channel(64);
    let at_writer = Arc::clone(&shared);
    let writer = hub
        .jobs()
        .start_blocking(move |_| disk::write(&at_writer, &mut incoming));
    let at_hasher = Arc::clone(&shared);
    let hasher = hub
        .jobs()
        .start_blocking(move |stop| disk::hash(&at_hasher, &stop));
    let closed = CancellationToken::new();
    let (at_syncer, until) = (Arc::clone(&shared), closed.clone());
    let syncer = hub
        .jobs()
        .start(move |stop| disk::keep_safe(at_syncer, until, stop));

    let mut broken = Vec::new();
    let mut grants = Vec::new();
    loop {
        while grants.len() < 3 {
            let Some(grant) = shared.board().take(Instant::now(), shared.sizes()) else {
                break;
            };
            grants.push(grant);
        }
        if grants.is_empty() {
            break;
        }
        let grant = grants[rand::random_range(0..grants.len())];
        let length = rand::random_range(1..40_000_u64);
        let room = shared.room_for(usize::try_from(length).unwrap()).await.unwrap();
        let came = shared.board().advance(grant, length, Instant::now());
        if let Some(came) = came.filter(|came| !came.is_empty()) {
            let place = usize::try_from(came.start).unwrap()..usize::try_from(came.end).unwrap();
            let piece = Piece {
                file: 0,
                era: grant.era,
                at: came.start,
                chunk: right[place].to_vec().into(),
                _room: room,
            };
            assert!(pieces.send(piece).await.is_ok());
        } else {
            shared.board().give_back(grant);
            grants.retain(|other| other.id != grant.id);
        }
        broken.extend(power_loss(&book, &disk, &right));
    }
    drop(pieces);
    writer.await.unwrap();
    let Some(super::Event::Hashed { sha256, .. }) = heard.recv().await else {
        panic!("the file was not hashed");
    };
    assert_eq!(sha256, hex(&Sha256::digest(&right)));
    closed.cancel();
    syncer.await.unwrap();
    hasher.ask_to_stop();
    hasher.await.unwrap();
    broken.extend(power_loss(&book, &disk, &right));
    let record = book.0.lock().unwrap().clone().unwrap();
    assert_eq!(record.ranges, [(Bytes::ZERO, Bytes(SIZE))]);
    broken
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_never_claims_what_a_loss_of_power_would_take() {
    for _ in 0..5 {
        let broken = voyage(true).await;
        assert!(broken.is_empty(), "{broken:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_lies_about_its_syncs_is_seen_by_this_test() {
    assert!(!voyage(false).await.is_empty());
}
