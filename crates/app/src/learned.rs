//! What earlier loads and benches taught about this machine with this engine: speeds, and the memory that its libraries
//! take. Kept as measurements in the store; never used for another machine or another build.

use std::collections::HashMap;

use plimsoll_planner::Anchor;
use plimsoll_store::{Store, StoreError};
use plimsoll_units::Bytes;
use serde_json::Value;

use crate::fault::Failed;
use crate::models::Models;

/// The kind under which the store keeps what a proof measured.
pub(crate) const PROOF: &str = "proof";
/// And what a bench measured.
pub(crate) const BENCH: &str = "bench";

/// Proofs whose overhead is looked at: the newest, of any model.
const OVERHEADS: usize = 9;

/// Where something was measured: what else was measured elsewhere says nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Where {
    pub(crate) machine: String,
    /// The engine's id, which names its build.
    pub(crate) engine: String,
}

impl Where {
    /// A measurement of an earlier version does not say on which machine it was made.
    fn is_of(&self, body: &Value) -> bool {
        let same = |name: &str, own: &str| body[name].as_str().is_none_or(|said| said == own);
        same("machine", &self.machine) && body["engine"].as_str() == Some(&self.engine)
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Learned {
    pub(crate) anchors: Vec<Anchor>,
    /// Memory on the host beyond buffers and tokenizer: the engine's libraries and what they take.
    pub(crate) host_libraries: Option<Bytes>,
}

/// Speeds of one model, as they were measured last.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Speeds {
    decode: Option<f64>,
    prefill: Option<f64>,
}

pub(crate) async fn learned(store: &Store, models: &Models, place: &Where) -> Result<Learned, Failed> {
    let (speeds, host_libraries) = read(store, place).await?;
    let mut anchors = Vec::new();
    if !speeds.is_empty() {
        for model in models.on_disk().await? {
            let (Some(speeds), Ok(path)) = (speeds.get(&model.id), model.first_file()) else {
                continue;
            };
            if let Ok(inspected) = models.inspect(path).await {
                anchors.extend(Anchor::of(inspected.shape.clone(), speeds.decode, speeds.prefill));
            }
        }
    }
    Ok(Learned {
        anchors,
        host_libraries,
    })
}

async fn read(store: &Store, place: &Where) -> Result<(HashMap<String, Speeds>, Option<Bytes>), StoreError> {
    let mut speeds: HashMap<String, Speeds> = HashMap::new();
    // A bench reads a long prompt and answers at length: it counts more than the few words of a proof.
    for run in store.measurements(BENCH, None).await? {
        if place.is_of(&run.body) {
            let found = Speeds {
                decode: run.body["decodeTps"].as_f64(),
                prefill: run.body["prefillTps"].as_f64(),
            };
            speeds.entry(run.model).or_insert(found);
        }
    }
    let mut overheads = Vec::new();
    for proof in store.measurements(PROOF, None).await? {
        if !place.is_of(&proof.body) {
            continue;
        }
        if overheads.len() < OVERHEADS {
            overheads.extend(proof.body["hostLibrariesBytes"].as_u64());
        }
        // A prompt of ten tokens says nothing about the speed of reading.
        let decode = proof.body["decodeTps"].as_f64();
        if decode.is_some() {
            speeds.entry(proof.model).or_insert(Speeds {
                decode,
                prefill: None,
            });
        }
    }
    overheads.sort_unstable();
    let host_libraries = overheads.get(overheads.len() / 2).copied().map(Bytes);
    Ok((speeds, host_libraries))
}

#[cfg(test)]
mod tests {
    use plimsoll_store::{Measurement, Store};
    use plimsoll_units::Bytes;
    use serde_json::{Value, json};

    use super::{BENCH, PROOF, Speeds, Where, read};

    async fn keep(store: &Store, at: i64, kind: &str, model: &str, body: Value) {
        let measurement = Measurement {
            taken_at: at,
            kind: kind.into(),
            model: model.into(),
            body,
        };
        store.record_measurement(measurement).await.unwrap();
    }

    #[tokio::test]
    async fn only_this_machine_with_this_engine_teaches_and_a_bench_counts_more() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("a.db"), 1).await.unwrap();
        let place = Where {
            machine: "here".into(),
            engine: "b1".into(),
        };
        let body = |machine: &str, engine: &str, tps: f64, libraries: u64| json!({ "machine": machine, "engine": engine, "decodeTps": tps, "hostLibrariesBytes": libraries });
        keep(&store, 1, PROOF, "a", body("here", "b1", 10.0, 30)).await;
        keep(&store, 2, PROOF, "a", body("here", "b1", 12.0, 50)).await;
        keep(&store, 3, PROOF, "b", body("elsewhere", "b1", 99.0, 9_000)).await;
        keep(&store, 4, PROOF, "b", body("here", "b2", 98.0, 9_000)).await;
        keep(&store, 5, PROOF, "c", body("here", "b1", 40.0, 40)).await;
        let bench = json!({ "machine": "here", "engine": "b1", "decodeTps": 44.0, "prefillTps": 400.0 });
        keep(&store, 0, BENCH, "c", bench).await;
        let (speeds, libraries) = read(&store, &place).await.unwrap();
        assert_eq!(libraries, Some(Bytes(40)), "the median");
        let newest = Speeds {
            decode: Some(12.0),
            prefill: None,
        };
        assert_eq!(speeds.get("a"), Some(&newest));
        assert_eq!(speeds.get("b"), None);
        let benched = Speeds {
            decode: Some(44.0),
            prefill: Some(400.0),
        };
        assert_eq!(speeds.get("c"), Some(&benched));
    }
}
