//! How fast settings are.

use plimsoll_units::Bytes;

use super::{Bench, Device, Placing, Used};
use crate::memory::{self, Load};
use crate::speed::{self, Question, Speed, Work, Worker, WorkerKind};

impl Bench<'_> {
    /// The speed of settings, or the part whose bandwidth is not known. Answers are timed after so many tokens
    /// (`depth`).
    pub(crate) fn speed(&self, load: &Load, used: Used, prompt: u32, depth: u32) -> Result<Speed, String> {
        let workers = self.workers(load, used)?;
        let cache_reads = memory::bytes_read(self.shape, load, depth.min(load.context));
        let question = Question {
            shape: self.shape,
            workers: &workers,
            cache_reads,
            prompt_tokens: prompt,
        };
        speed::estimate(&question, self.anchors, &self.learned).ok_or_else(|| "arithmetic".to_owned())
    }

    /// How long the pieces of a prompt are, which depends on the placement and not on the cache: worked out once.
    pub(crate) fn piece(&self, load: &Load, used: Used, work_out: impl FnOnce() -> u32) -> u32 {
        let same = |placing: &Placing| {
            placing.0 == used
                && placing.1 == load.gpu_layers
                && placing.2 == load.host_experts
                && placing.3 == load.tensor_split
        };
        let known = self.pieces.borrow();
        if let Some(&(_, piece)) = known.iter().find(|(placing, _)| same(placing)) {
            return piece;
        }
        drop(known);
        let piece = work_out();
        let (layers, experts) = (load.gpu_layers, load.host_experts);
        let placing = (used, layers, experts, load.tensor_split.clone());
        self.pieces.borrow_mut().push((placing, piece));
        piece
    }

    /// The host's part of a prompt is done by a device, which fetches the weights for each batch.
    pub(crate) fn host_is_fetched(&self, load: &Load, used: Used) -> bool {
        let fetches = |device: &Device| device.backend.fetches_weights();
        if !self.used(used).iter().any(fetches) {
            return false;
        }
        self.workers(load, used)
            .is_ok_and(|workers| speed::host_is_fetched(&workers))
    }

    fn workers(&self, load: &Load, used: Used) -> Result<Vec<Worker>, String> {
        let placement = memory::Placement::of(self.shape, load, self.pools(used));
        let devices = self.used(used);
        let host = devices.len();
        let mut places = vec![Work::default(); host + 1];
        for (at, run) in placement.runs() {
            let at = usize::from(at);
            let bound = run.end.min(placement.host_experts as usize).max(run.start);
            self.shape.tally.add_layers(&mut places[at], &run);
            self.shape
                .tally
                .add_experts(&mut places[host], &(run.start..bound));
            self.shape.tally.add_experts(&mut places[at], &(bound..run.end));
        }
        for weight in &self.shape.output {
            places[usize::from(placement.output)].add(weight, self.shape.read_of(weight));
        }
        let total = places.iter().map(Work::reads).sum::<Bytes>().as_f64();
        let mut workers = Vec::with_capacity(places.len());
        for (at, &work) in places.iter().enumerate() {
            if work.reads() > Bytes::ZERO {
                workers.push(Worker {
                    work,
                    share: work.reads().as_f64() / total,
                    ..self.worker(devices.get(at))?
                });
            }
        }
        Ok(workers)
    }

    pub(super) fn worker(&self, device: Option<&Device>) -> Result<Worker, String> {
        let (kind, bandwidth) = if let Some(device) = device {
            let kind = WorkerKind::Device {
                backend: device.backend,
                unified: device.shared,
                unpack_gflops: device.unpack_gflops,
            };
            (kind, device.bandwidth.ok_or_else(|| device.name.clone())?)
        } else {
            let kind = WorkerKind::Host {
                cores: self.cores,
                vectors: self.vectors,
            };
            (
                kind,
                self.ground.host_bandwidth.ok_or_else(|| "memory".to_owned())?,
            )
        };
        Ok(Worker {
            kind,
            bandwidth,
            work: Work::default(),
            share: 0.0,
        })
    }
}
