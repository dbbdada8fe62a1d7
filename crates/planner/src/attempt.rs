//! Tries settings on a machine: what they need in each pool, and what there is.

use plimsoll_units::Bytes;

use crate::memory::{self, HostCpu, Layout, Load, MemoryBackend, Pool, Release};
use crate::overhead::{self, Overhead, Part};
use crate::plan::{DeviceNeed, Need};
use crate::settings::LoadMode;
use crate::situation::Ground;
use crate::speed::{self, Anchor, Learned, Question, Speed, Vectors, Whole, Work, Worker, WorkerKind};
use crate::{Draft, Shape, Situation, Wishes};

/// A device in the order in which llama.cpp lists them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Device {
    pub(crate) number: u32,
    pub(crate) id: String,
    pub(crate) name: String,
    pool: Pool,
    room: Bytes,
    total: Bytes,
    shared: bool,
    bandwidth: Option<plimsoll_units::BytesPerSecond>,
}

/// Where settings are tried.
pub(crate) struct Bench<'a> {
    shape: &'a Shape,
    pub(crate) ground: Ground<'a>,
    devices: Vec<Device>,
    cpu: HostCpu,
    cores: u32,
    vectors: Vectors,
    release: Release,
    anchors: &'a [Anchor],
    learned: Learned,
    host_libraries: Option<Bytes>,
    projector: Bytes,
    draft: Option<&'a Draft>,
    /// Of the engine, when known.
    backends: Option<Vec<MemoryBackend>>,
}

/// Settings with what they need.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) load: Load,
    pub(crate) used: Vec<Device>,
    pub(crate) devices: Vec<DeviceNeed>,
    pub(crate) host: Need,
    copied: Bytes,
}

impl Attempt {
    pub(crate) fn fits(&self) -> bool {
        self.missing() == Bytes::ZERO
    }

    pub(crate) fn missing(&self) -> Bytes {
        self.devices
            .iter()
            .map(|device| device.need.missing())
            .sum::<Bytes>()
            .plus(self.host.missing())
    }

    /// Needed and allowed, over all pools.
    pub(crate) fn totals(&self) -> (Bytes, Bytes) {
        let needs = || self.devices.iter().map(|device| &device.need).chain([&self.host]);
        (
            needs().map(Need::total).sum(),
            needs().map(|need| need.budget).sum(),
        )
    }

    pub(crate) fn context(&self) -> Bytes {
        let devices = self.devices.iter().map(|device| device.need.kinds.context);
        devices.sum::<Bytes>().plus(self.host.kinds.context)
    }

    /// Mapping is right when all weights are used where the file has them: on the host as they are, and on Metal,
    /// which computes from the mapped pages. Else the pages of what was copied stay resident beside the copy.
    pub(crate) fn load_mode(&self) -> LoadMode {
        let metal = self
            .used
            .iter()
            .any(|device| device.pool.backend == MemoryBackend::Metal);
        if metal || self.copied == Bytes::ZERO {
            LoadMode::Map
        } else {
            LoadMode::Read
        }
    }
}

impl<'a> Bench<'a> {
    pub(crate) fn new(shape: &'a Shape, situation: &'a Situation<'a>, wishes: &'a Wishes) -> Self {
        let ground = Ground::of(situation);
        let machine = situation.machine;
        let mut devices: Vec<Device> = (0..)
            .zip(&ground.devices)
            .map(|(number, candidate)| Device {
                number,
                id: candidate.device.id.clone(),
                name: candidate.device.name.clone(),
                pool: candidate.pool(),
                room: candidate.room,
                total: candidate.device.total,
                shared: candidate.is_shared(),
                bandwidth: candidate.bandwidth,
            })
            .collect();
        // What cannot even hold a context is not worth a split.
        devices.retain(|device| device.room > overhead::device(shape, device.pool.backend).high);
        let cores = match (machine.cpu.physical_cores, machine.cpu.logical_cores) {
            (0, logical) => (logical / 2).max(1),
            (physical, 0) => physical,
            (physical, logical) => physical.min(logical),
        };
        let mut bench = Self {
            shape,
            devices,
            cpu: HostCpu::of(&machine.cpu, &machine.os.arch),
            cores,
            vectors: Vectors::of(&machine.cpu.features, &machine.os.arch),
            release: situation.engine.release,
            anchors: &situation.anchors,
            learned: Learned::of(&[], None),
            host_libraries: situation.host_libraries,
            projector: wishes.projector.unwrap_or_default(),
            draft: wishes.draft.as_ref().filter(|draft| draft.suits(shape)),
            backends: situation
                .engine
                .backends
                .as_ref()
                .map(|known| known.iter().map(|&backend| MemoryBackend::of(backend)).collect()),
            ground,
        };
        if !bench.anchors.is_empty() {
            // They ran on the fastest place of the machine.
            let first = bench.devices.first();
            let room = first.map_or(Bytes(u64::MAX), |device| device.total);
            let whole = bench.worker(first).ok().map(|worker| Whole { worker, room });
            bench.learned = Learned::of(bench.anchors, whole.as_ref());
        }
        bench
    }

    pub(crate) fn devices(&self) -> &[Device] {
        &self.devices
    }

    pub(crate) fn attempt(&self, load: &Load, used: &[Device]) -> Attempt {
        let pools: Vec<Pool> = used.iter().map(|device| device.pool).collect();
        let layout = Layout::of(self.shape, load, &pools, self.cpu, self.release);
        let whole = layout.complete();
        self.judge(load.clone(), used, &whole)
    }

    pub(crate) fn quick(&self, load: &Load, used: &[Device]) -> Option<Attempt> {
        let pools: Vec<Pool> = used.iter().map(|device| device.pool).collect();
        let layout = Layout::of(self.shape, load, &pools, self.cpu, self.release);
        if !self.judge(load.clone(), used, &layout.fixed).fits() {
            return None;
        }
        let whole = layout.complete();
        Some(self.judge(load.clone(), used, &whole))
    }

    fn judge(&self, load: Load, used: &[Device], breakdown: &memory::Breakdown) -> Attempt {
        // What the engine has is loaded; what a plan uses is there at the least.
        let used_backends = used.iter().map(|device| device.pool.backend);
        let known = self.backends.is_some() || !used.is_empty();
        let all: Vec<MemoryBackend> = self
            .backends
            .iter()
            .flatten()
            .copied()
            .chain(used_backends)
            .collect();
        let backends = known.then_some(all.as_slice());
        let drafting = self.drafting(&load, used);
        let draft_at = |at: usize| {
            let bytes = drafting.get(at).map(|kinds| kinds.total()).unwrap_or_default();
            (bytes > Bytes::ZERO).then(|| Overhead::exact(Part::Draft, bytes))
        };
        let mut shared = Bytes::ZERO;
        let mut devices = Vec::new();
        for (number, (device, &kinds)) in used.iter().zip(&breakdown.devices).enumerate() {
            let context = overhead::device(self.shape, device.pool.backend);
            let room = if device.shared {
                device.room.min(self.ground.host_room)
            } else {
                device.room
            };
            let need = Need {
                kinds,
                projector: if number == 0 { self.projector } else { Bytes::ZERO },
                // The line lies where the highest estimate still fits.
                budget: self.line(room.less(context.high.less(context.bytes))),
                overhead: draft_at(number).into_iter().chain([context]).collect(),
            };
            if device.shared {
                shared = shared.plus(need.total());
            }
            devices.push(DeviceNeed {
                id: device.id.clone(),
                need,
            });
        }
        let parts = overhead::host(self.shape, breakdown, load.slots, backends, self.host_libraries);
        let spread: Bytes = parts.iter().map(|part| part.high.less(part.bytes)).sum();
        let host = Need {
            kinds: breakdown.host,
            projector: if used.is_empty() {
                self.projector
            } else {
                Bytes::ZERO
            },
            budget: self.line(self.ground.host_room.less(shared).less(spread)),
            overhead: draft_at(used.len()).into_iter().chain(parts).collect(),
        };
        let on_devices: Bytes = breakdown.devices.iter().map(|kinds| kinds.weights).sum();
        Attempt {
            load,
            used: used.to_vec(),
            devices,
            host,
            copied: breakdown.repacked.plus(on_devices),
        }
    }

    fn drafting(&self, load: &Load, used: &[Device]) -> Vec<memory::Kinds> {
        let Some(draft) = self.draft else {
            return Vec::new();
        };
        let pools: Vec<Pool> = used.iter().map(|device| device.pool).collect();
        draft.needs(self.shape, load, &pools, self.cpu, self.release)
    }

    /// The general rule may be off by a tenth.
    fn line(&self, room: Bytes) -> Bytes {
        if self.shape.is_known() {
            room
        } else {
            Bytes(room.0 / 11 * 10)
        }
    }

    /// Shares of the devices for the load's layers, as whole layers: in proportion to their room, and one device
    /// after the other to its brim.
    pub(crate) fn splits(&self, load: &Load) -> Vec<Vec<f64>> {
        let even = self.even_split(load.gpu_layers);
        let shares = |counts: &[u32]| counts.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let filled = self.filled_split(load, shares(&even));
        if even == filled {
            vec![shares(&even)]
        } else {
            vec![shares(&even), shares(&filled)]
        }
    }

    /// Room for weights and context on a device with such a compute buffer.
    fn space(&self, device: &Device, compute: Bytes) -> Bytes {
        let context = overhead::device(self.shape, device.pool.backend);
        let room = if device.shared {
            device.room.min(self.ground.host_room)
        } else {
            device.room
        };
        self.line(room.less(context.high.less(context.bytes)))
            .less(context.bytes)
            .less(compute)
    }

    fn even_split(&self, layers: u32) -> Vec<u32> {
        let rooms = self
            .devices
            .iter()
            .map(|device| u128::from(self.space(device, Bytes::ZERO).0));
        let total: u128 = rooms.clone().sum::<u128>().max(1);
        let (mut seen, mut given) = (0, 0);
        rooms
            .map(|room| {
                seen += room;
                let until = u32::try_from(u128::from(layers) * seen / total).unwrap_or(layers);
                let count = until - given;
                given = until;
                count
            })
            .collect()
    }

    fn filled_split(&self, load: &Load, even: Vec<f64>) -> Vec<u32> {
        let pools: Vec<Pool> = self.devices.iter().map(|device| device.pool).collect();
        // The compute buffers hardly depend on the split.
        let load = Load {
            tensor_split: even,
            ..load.clone()
        };
        let whole = Layout::of(self.shape, &load, &pools, self.cpu, self.release).complete();
        let backend = pools.first().map_or(MemoryBackend::Rpc, |pool| pool.backend);
        let weights = memory::weights_of_layers(self.shape, &load, backend);
        let cache = memory::cache_of_layers(self.shape, &load)
            .into_iter()
            .chain(self.shape.drafting.iter().map(|_| Bytes::ZERO))
            .chain([Bytes::ZERO]);
        let needs: Vec<Bytes> = weights
            .into_iter()
            .zip(cache)
            .map(|(weights, cache)| weights.plus(cache))
            .collect();
        let first = needs.len().saturating_sub(load.gpu_layers as usize);
        let mut left = needs.get(first..).unwrap_or_default().iter();
        let last = self.devices.len().saturating_sub(1);
        let mut counts = Vec::new();
        for (number, (device, kinds)) in self.devices.iter().zip(&whole.devices).enumerate() {
            let space = self.space(device, kinds.compute);
            let mut taken = Bytes::ZERO;
            let mut count = 0u32;
            let mut peek = left.clone();
            while let Some(&need) = peek.next() {
                taken = taken.plus(need);
                if taken > space && number < last {
                    break;
                }
                left = peek.clone();
                count += 1;
            }
            counts.push(count);
        }
        counts
    }

    /// The speed of settings, or the part whose bandwidth is not known. Answers are timed after so many tokens
    /// (`depth`).
    pub(crate) fn speed(
        &self,
        load: &Load,
        used: &[Device],
        prompt: u32,
        depth: u32,
    ) -> Result<Speed, String> {
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

    /// The host's part of a prompt is done by a device, which fetches the weights for each batch.
    pub(crate) fn host_is_fetched(&self, load: &Load, used: &[Device]) -> bool {
        self.workers(load, used)
            .is_ok_and(|workers| speed::host_is_fetched(&workers))
    }

    fn workers(&self, load: &Load, used: &[Device]) -> Result<Vec<Worker>, String> {
        let pools: Vec<Pool> = used.iter().map(|device| device.pool).collect();
        let placement = memory::Placement::of(self.shape, load, &pools);
        let mut places = vec![Work::default(); used.len() + 1];
        for (number, (layer, &at)) in (0u32..).zip(self.shape.layers.iter().zip(&placement.layers)) {
            let seat = placement.seat(number, at);
            for weight in &layer.weights {
                let at = if weight.role.is_expert() {
                    seat.experts
                } else {
                    seat.layer
                };
                places[usize::from(at)].add(weight, self.shape.read_of(weight));
            }
            places[usize::from(at)].add_layer(layer);
        }
        for weight in &self.shape.output {
            places[usize::from(placement.output)].add(weight, self.shape.read_of(weight));
        }
        let total = places.iter().map(Work::reads).sum::<Bytes>().as_f64();
        let mut workers = Vec::new();
        for (at, &work) in places.iter().enumerate() {
            if work.reads() > Bytes::ZERO {
                workers.push(Worker {
                    work,
                    share: work.reads().as_f64() / total,
                    ..self.worker(used.get(at))?
                });
            }
        }
        Ok(workers)
    }

    fn worker(&self, device: Option<&Device>) -> Result<Worker, String> {
        let (kind, bandwidth) = if let Some(device) = device {
            let kind = WorkerKind::Device {
                backend: device.pool.backend,
                unified: device.shared,
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
