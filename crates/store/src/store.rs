use std::fmt;
use std::path::{Path, PathBuf};

use tokio::sync::{mpsc, oneshot};

use crate::StoreError;
use crate::db::{Db, Failed};

/// Asks that wait for the thread; who asks more waits until there is room.
const ASKS_WAITING_MAX: usize = 64;

type Ask = Box<dyn FnOnce(&mut Db) + Send>;

/// The store. Clones ask the same thread, which ends with the last of them.
#[derive(Clone)]
pub struct Store {
    asks: mpsc::Sender<Ask>,
    path: PathBuf,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the file or makes it, brings it up to date, and ends the answers of runs that are gone.
    pub async fn open(path: &Path, now: i64) -> Result<Self, StoreError> {
        let (asks, mut incoming) = mpsc::channel::<Ask>(ASKS_WAITING_MAX);
        let (told, opened) = oneshot::channel();
        let at = path.to_owned();
        // A thread and not a task: SQLite blocks, and its connection stays where it was made.
        let body = move || {
            let mut db = match Db::open(&at, now) {
                Ok(db) => db,
                Err(error) => {
                    let _ = told.send(Err(error));
                    return;
                }
            };
            if told.send(Ok(())).is_err() {
                return;
            }
            while let Some(ask) = incoming.blocking_recv() {
                ask(&mut db);
            }
        };
        std::thread::Builder::new()
            .name("store".into())
            .spawn(body)
            .map_err(StoreError::Thread)?;
        opened.await.map_err(|_| StoreError::Ended)??;
        Ok(Self {
            asks,
            path: path.to_owned(),
        })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Folds the log into the file. Nothing needs this, it makes the file alone a whole copy.
    pub async fn settle(&self) -> Result<(), StoreError> {
        self.ask(|db| {
            // The reply says how far it came; another process may still hold a part back, which is no fault.
            let folded = db
                .connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            folded.map_err(|error| db.explain(Failed::Sql(error)))
        })
        .await
    }

    /// Answers when the disk has it.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask_and_then(work, |_| {}).await
    }

    /// Answers when the system has it: it outlives our process, however that ends. The disk follows before
    /// anything else is done, so that a loss of power can only take what is some milliseconds old.
    pub(crate) async fn ask_in_haste<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask_and_then(
            |db| db.in_haste(work),
            |db| {
                if let Err(error) = db.sync() {
                    // The next commit waits for the whole log again, and tells its caller.
                    tracing::error!(%error, "what was written last may not be on the disk");
                }
            },
        )
        .await
    }

    async fn ask_and_then<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Db) -> Result<T, StoreError> + Send + 'static,
        then: impl FnOnce(&mut Db) + Send + 'static,
    ) -> Result<T, StoreError> {
        let (told, answer) = oneshot::channel();
        let ask: Ask = Box::new(move |db| {
            // Who no longer waits does not want the answer; the work is done all the same.
            let _ = told.send(work(db));
            then(db);
        });
        self.asks.send(ask).await.map_err(|_| StoreError::Ended)?;
        answer.await.map_err(|_| StoreError::Ended)?
    }
}
