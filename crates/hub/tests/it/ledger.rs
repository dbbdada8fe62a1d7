//! The program's own ledger, as the program fits it to the hub.

use std::path::Path;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_hub::{Ledger, LedgerError, Marks, PartRecord};
use plimsoll_store::{ContentMarks, Part, Store};

#[derive(Debug)]
pub(crate) struct InStore(pub(crate) Store);

fn key(part: &Path) -> String {
    part.to_string_lossy().into_owned()
}

impl Ledger for InStore {
    fn find<'a>(&'a self, part: &'a Path) -> BoxFuture<'a, Result<Option<PartRecord>, LedgerError>> {
        async {
            let found = self.0.part(&key(part)).await.map_err(LedgerError::new)?;
            Ok(found.map(|part| PartRecord {
                version: part.version,
                ranges: part.ranges,
                hashed: part.hashed,
                hash: part.hash,
                marks: part.marks,
            }))
        }
        .boxed()
    }

    fn keep<'a>(&'a self, part: &'a Path, record: PartRecord) -> BoxFuture<'a, Result<(), LedgerError>> {
        let kept = Part {
            version: record.version,
            ranges: record.ranges,
            hashed: record.hashed,
            hash: record.hash,
            marks: record.marks,
        };
        async { self.0.save_part(&key(part), kept).await.map_err(LedgerError::new) }.boxed()
    }

    fn forget<'a>(&'a self, part: &'a Path) -> BoxFuture<'a, Result<(), LedgerError>> {
        async { self.0.forget_part(&key(part)).await.map_err(LedgerError::new) }.boxed()
    }

    fn marks<'a>(&'a self, sha256: &'a str) -> BoxFuture<'a, Result<Option<Marks>, LedgerError>> {
        async {
            let found = self.0.content_marks(sha256).await.map_err(LedgerError::new)?;
            Ok(found.map(|marks| Marks {
                step: marks.step,
                states: marks.states,
            }))
        }
        .boxed()
    }

    fn keep_marks<'a>(&'a self, sha256: &'a str, marks: Marks) -> BoxFuture<'a, Result<(), LedgerError>> {
        let kept = ContentMarks {
            step: marks.step,
            states: marks.states,
        };
        async {
            self.0
                .save_content_marks(sha256, kept)
                .await
                .map_err(LedgerError::new)
        }
        .boxed()
    }
}
