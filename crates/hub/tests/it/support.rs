use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_hub::{
    Fetched, FileSet, Hub, HubConfig, HubError, Lanes, Ledger, MemoryLedger, Note, Patience, Traffic, Watcher,
};
use plimsoll_testkit::StrictWatcher;
use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_units::Bytes;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) const REPO: &str = "org/model-GGUF";
pub(crate) const FILE: &str = "model-Q4_K_M.gguf";
pub(crate) const SIZE: u64 = 1 << 20;

/// A watcher that objects, and remembers what was said.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) strict: StrictWatcher,
    pub(crate) notes: Mutex<Vec<Note>>,
    /// How far each file was told to be.
    pub(crate) files: Mutex<std::collections::BTreeMap<String, (Bytes, Bytes)>>,
    /// Stops the transfer when this much is here.
    pub(crate) stop_at: Option<(Bytes, CancellationToken)>,
}

impl Watcher for Watch {
    fn moved(&self, done: Bytes, total: Bytes) {
        self.strict.moved(done, Some(total));
        if let Some((limit, stop)) = &self.stop_at
            && done >= *limit
        {
            stop.cancel();
        }
    }

    fn moved_in(&self, file: &str, done: Bytes, total: Bytes) {
        assert!(done <= total, "{file}: {done} of {total}");
        self.files.lock().unwrap().insert(file.to_owned(), (done, total));
    }

    fn noted(&self, note: Note) {
        if matches!(note, Note::StartedOver { .. }) {
            self.strict.started_over();
        }
        self.notes.lock().unwrap().push(note);
    }
}

/// A fake hub, a cache and a hub between them.
pub(crate) struct Bench {
    pub(crate) fake: FakeHub,
    pub(crate) cache: TempDir,
    /// Outlives each hub, as the program's database does.
    pub(crate) ledger: Arc<MemoryLedger>,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self {
            fake: FakeHub::start().await,
            cache: tempfile::tempdir().unwrap(),
            ledger: Arc::default(),
        }
    }

    pub(crate) fn config(&self) -> HubConfig {
        config(&self.fake.endpoint(), self.cache.path())
    }

    pub(crate) fn hub(&self) -> Hub {
        self.hub_with(self.config())
    }

    pub(crate) fn hub_with(&self, config: HubConfig) -> Hub {
        Hub::with_ledger(config, self.ledger.clone())
    }

    /// The set behind one path of [`REPO`].
    pub(crate) async fn set(&self, path: &str) -> Result<FileSet, HubError> {
        self.hub()
            .file_set(&format!("hf:{REPO}/{path}").parse().unwrap())
            .await
    }

    pub(crate) async fn fetch(&self, set: &FileSet) -> (Result<Fetched, HubError>, Arc<Watch>) {
        let watch = Arc::new(Watch::default());
        let fetched = self
            .hub()
            .fetch(set, watch.clone(), &CancellationToken::new())
            .await;
        (fetched, watch)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.cache.path().join("models--org--model-GGUF")
    }

    pub(crate) fn part(&self, sha256: &str) -> PathBuf {
        self.folder()
            .join("blobs")
            .join(format!("{sha256}.ranges.incomplete"))
    }

    /// As older versions and other tools have it.
    pub(crate) fn older_part(&self, sha256: &str) -> PathBuf {
        self.folder().join("blobs").join(format!("{sha256}.incomplete"))
    }

    /// How much of a part the ledger claims.
    pub(crate) async fn kept(&self, sha256: &str) -> u64 {
        let record = self.ledger.find(&self.part(sha256)).await.unwrap();
        record.map_or(0, |record| {
            record.ranges.iter().map(|(first, after)| after.0 - first.0).sum()
        })
    }

    pub(crate) fn blob(&self, sha256: &str) -> PathBuf {
        self.folder().join("blobs").join(sha256)
    }
}

pub(crate) fn config(endpoint: &str, cache: &Path) -> HubConfig {
    let mut config = HubConfig::new(cache.to_owned()).unwrap();
    config.set_endpoint(endpoint).unwrap();
    config.spare = Bytes::ZERO;
    config.patience = Patience {
        first_pause: Duration::from_millis(2),
        longest_pause: Duration::from_millis(10),
        // Far longer than a busy machine pauses a test; tests about silence set their own.
        stall: Duration::from_secs(5),
        connect: Duration::from_secs(5),
        ..Patience::default()
    };
    config
}

/// Several small ranges at a time, so that a small file is enough.
pub(crate) const SMALL_LANES: Lanes = Lanes {
    first: 4,
    most: 4,
    range_least: Bytes::kib(128),
    range_most: Bytes::mib(1),
};

/// Bytes that look like nothing, the same every time.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .collect()
}

pub(crate) fn done(fetched: Result<Fetched, HubError>) -> (Vec<PathBuf>, Traffic) {
    match fetched.unwrap() {
        Fetched::Done { paths, traffic } => (paths, traffic),
        Fetched::Stopped { traffic } => panic!("stopped: {traffic:?}"),
    }
}

/// A repository with one file of [`SIZE`] bytes.
pub(crate) async fn bench_with_file() -> (Bench, FakeFile) {
    let bench = Bench::new().await;
    let file = FakeFile::lfs(noise(usize::try_from(SIZE).unwrap(), 1));
    let _ = bench.fake.commit(REPO, &[(FILE, file.clone())]);
    (bench, file)
}

pub(crate) fn assert_published(bench: &Bench, file: &FakeFile, paths: &[PathBuf]) {
    let bytes = std::fs::read(&paths[0]).unwrap();
    assert_eq!(bytes.len() as u64, file.len());
    assert!(
        bench.blob(file.sha256()).is_file(),
        "the blob is named by its content"
    );
    assert!(!bench.part(file.sha256()).exists(), "no part is left");
    assert_eq!(std::fs::read(bench.blob(file.sha256())).unwrap(), bytes);
}
