//! Compute buffers that were worked out before: the same question has the same answer, and plans ask it again and
//! again while a person looks at models.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_units::Bytes;

use crate::compute::{Backend, BackendTraits, Batch};

/// More settings than anybody tries of one model; a larger memory would be a leak.
const KEPT_MAX: usize = 96;

/// All that the buffers of one model depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) batch: Batch,
    pub(super) output: Backend,
    pub(super) pins_norms: bool,
    pub(super) pipelined: bool,
    /// The layers that are built, each as a number for its graph and its places.
    pub(super) layers: Vec<u64>,
    /// After so many rounds of equal layers some were left out; `None` when none were.
    pub(super) rounds: Option<usize>,
    pub(super) backends: Vec<BackendTraits>,
}

/// A question and its answer, `None` when those layers do not tell it.
type Known = (Question, Option<Vec<Bytes>>);

/// Belongs to a shape and is no part of its value; copies of the shape share it.
#[derive(Clone, Default)]
pub(crate) struct Memo {
    /// A lock for a look-up, never held while anything is worked out.
    known: Arc<Mutex<Vec<Known>>>,
}

impl Memo {
    pub(super) fn answer(
        &self,
        question: Question,
        work_out: impl FnOnce() -> Option<Vec<Bytes>>,
    ) -> Option<Vec<Bytes>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answer)) = known.iter().find(|(asked, _)| *asked == question) {
            return answer.clone();
        }
        drop(known);
        let answer = work_out();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT_MAX {
            known.clear();
        }
        known.push((question, answer.clone()));
        answer
    }
}

impl PartialEq for Memo {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo")
    }
}
