//! Tries settings on a machine: what they need in each pool, and what there is.

mod pace;
mod split;

use std::cell::RefCell;
use std::ops::Range;

use plimsoll_units::Bytes;

use crate::memory::{self, HostCpu, Kinds, Layout, Load, MemoryBackend, Pool, Release};
use crate::overhead::{self, Overhead, Part};
use crate::plan::{DeviceNeed, Need};
use crate::settings::LoadMode;
use crate::situation::Ground;
use crate::speed::{Anchor, Learned, Vectors, Whole};
use crate::{Draft, Shape, Situation, Wishes};

/// A device in the order in which llama.cpp lists them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Device {
    pub(crate) number: u32,
    pub(crate) id: String,
    pub(crate) name: String,
    backend: MemoryBackend,
    room: Bytes,
    total: Bytes,
    shared: bool,
    bandwidth: Option<plimsoll_units::BytesPerSecond>,
    unpack_gflops: Option<u32>,
    /// What its driver takes.
    context: Overhead,
}

/// Which of the bench's devices are used: some in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Used {
    from: usize,
    to: usize,
}

impl Used {
    pub(crate) const NONE: Self = Self { from: 0, to: 0 };

    pub(crate) const fn one(at: usize) -> Self {
        Self { from: at, to: at + 1 }
    }

    pub(crate) const fn is_none(self) -> bool {
        self.from == self.to
    }

    const fn range(self) -> Range<usize> {
        self.from..self.to
    }
}

/// Where settings are tried.
pub(crate) struct Bench<'a> {
    shape: &'a Shape,
    pub(crate) ground: Ground<'a>,
    devices: Vec<Device>,
    /// The same, as llama.cpp sees them.
    pools: Vec<Pool>,
    cpu: HostCpu,
    cores: u32,
    vectors: Vectors,
    release: Release,
    anchors: &'a [Anchor],
    learned: Learned,
    outputs: Overhead,
    process: Overhead,
    host_libraries: Option<Bytes>,
    projector: Bytes,
    draft: Option<&'a Draft>,
    /// Of the engine, when known.
    backends: Option<Vec<MemoryBackend>>,
    /// Lengths of the pieces of a prompt that were worked out already, by placement.
    pieces: RefCell<Vec<(Placing, u32)>>,
}

/// What the length of a piece depends on.
type Placing = (Used, u32, u32, Vec<f64>);

/// Settings with what they need, as bare numbers.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub(crate) load: Load,
    pub(crate) used: Used,
    /// By pool, the host last.
    kinds: Vec<Kinds>,
    /// The same of what drafts; empty without.
    drafting: Vec<Kinds>,
    repacked: Bytes,
    fits: Fits,
}

/// Which pools hold what they have to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fits {
    devices: bool,
    host: bool,
}

impl Fits {
    const fn all(self) -> bool {
        self.devices && self.host
    }
}

impl Trial {
    pub(crate) const fn fits(&self) -> bool {
        self.fits.all()
    }

    /// Whether the devices hold their part, wherever the rest goes.
    pub(crate) const fn devices_hold(&self) -> bool {
        self.fits.devices
    }

    /// The compute buffers, by pool.
    pub(crate) fn compute(&self) -> impl Iterator<Item = Bytes> {
        self.kinds.iter().map(|kinds| kinds.compute)
    }

    fn draft_at(&self, at: usize) -> Bytes {
        self.drafting
            .get(at)
            .map(|kinds| kinds.total())
            .unwrap_or_default()
    }
}

/// What one pool has to hold, and what it may.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side {
    pub(crate) total: Bytes,
    pub(crate) budget: Bytes,
    pub(crate) context: Bytes,
}

impl Side {
    fn fits(self) -> bool {
        self.total <= self.budget
    }

    fn missing(self) -> Bytes {
        self.total.less(self.budget)
    }
}

/// Settings with what they need, part by part.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) load: Load,
    pub(crate) used: Used,
    pub(crate) devices: Vec<DeviceNeed>,
    pub(crate) host: Need,
    pub(crate) load_mode: LoadMode,
}

impl Attempt {
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
}

impl<'a> Bench<'a> {
    pub(crate) fn new(shape: &'a Shape, situation: &'a Situation<'a>, wishes: &'a Wishes) -> Self {
        let ground = Ground::of(situation);
        let machine = situation.machine;
        let candidates = (0..).zip(&ground.devices);
        // What cannot even hold a context is not worth a split.
        let (devices, pools) = candidates
            .map(|(number, candidate)| {
                let pool = candidate.pool();
                let device = Device {
                    number,
                    id: candidate.device.id.clone(),
                    name: candidate.device.name.clone(),
                    backend: pool.backend,
                    room: candidate.room,
                    total: candidate.device.total,
                    shared: candidate.is_shared(),
                    bandwidth: candidate.bandwidth,
                    unpack_gflops: candidate.unpack_gflops,
                    context: overhead::device(shape, pool.backend),
                };
                (device, pool)
            })
            .filter(|(device, _)| device.room > device.context.high)
            .unzip();
        let cores = match (machine.cpu.physical_cores, machine.cpu.logical_cores) {
            (0, logical) => (logical / 2).max(1),
            (physical, 0) => physical,
            (physical, logical) => physical.min(logical),
        };
        let mut bench = Self {
            shape,
            devices,
            pools,
            cpu: HostCpu::of(&machine.cpu, &machine.os.arch),
            cores,
            vectors: Vectors::of(&machine.cpu.features, &machine.os.arch),
            release: situation.engine.release,
            anchors: &situation.anchors,
            learned: Learned::of(&[], None),
            outputs: overhead::outputs(shape, wishes.slots.unwrap_or(1)),
            process: overhead::process(shape),
            host_libraries: situation.host_libraries,
            projector: wishes
                .projector
                .map(|projector| projector.bytes())
                .unwrap_or_default(),
            draft: wishes.draft.as_ref().filter(|draft| draft.suits(shape)),
            backends: situation
                .engine
                .backends
                .as_ref()
                .map(|known| known.iter().map(|&backend| MemoryBackend::of(backend)).collect()),
            pieces: RefCell::default(),
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

    pub(crate) const fn all(&self) -> Used {
        Used {
            from: 0,
            to: self.devices.len(),
        }
    }

    pub(crate) fn used(&self, used: Used) -> &[Device] {
        self.devices.get(used.range()).unwrap_or_default()
    }

    fn pools(&self, used: Used) -> &[Pool] {
        self.pools.get(used.range()).unwrap_or_default()
    }

    /// Tries settings, whether they fit or not.
    pub(crate) fn attempt(&self, load: Load, used: Used) -> Trial {
        let pools = self.pools(used);
        let layout = Layout::of(self.shape, &load, pools, self.cpu, self.release);
        let compute = layout.compute();
        let fixed = layout.fixed;
        let drafting = self.drafting(&load, used);
        self.trial(load, used, fixed, drafting, &compute)
    }

    /// The same when they fit; the dear part, which is the compute buffers, is left out where the rest is too much.
    pub(crate) fn quick(&self, load: Load, used: Used) -> Option<Trial> {
        if self.plods() {
            return Some(self.attempt(load, used)).filter(Trial::fits);
        }
        let pools = self.pools(used);
        let layout = Layout::of(self.shape, &load, pools, self.cpu, self.release);
        let least = layout.compute_least();
        if !self.holding(used, &layout.fixed, &[], &least).all() {
            return None;
        }
        let drafting = self.drafting(&load, used);
        if !drafting.is_empty() && !self.holding(used, &layout.fixed, &drafting, &least).all() {
            return None;
        }
        let compute = layout.compute();
        let fixed = layout.fixed;
        let trial = self.trial(load, used, fixed, drafting, &compute);
        trial.fits().then_some(trial)
    }

    /// In tests: everything is worked out in full, layer by layer and number by number.
    pub(crate) fn plods(&self) -> bool {
        cfg!(test) && self.shape.looks.is_empty()
    }

    /// Whether the devices hold their weights and context beside compute buffers of such sizes, or the least there
    /// can be.
    pub(crate) fn devices_could(&self, load: &Load, used: Used, compute: &[Bytes]) -> bool {
        self.holds_beside(load, used, compute).devices
    }

    /// Whether the host could hold the rest.
    pub(crate) fn host_could(&self, load: &Load, used: Used) -> bool {
        self.holds_beside(load, used, &[]).host
    }

    /// Whether there could be room for both.
    pub(crate) fn could(&self, load: &Load, used: Used) -> bool {
        self.holds_beside(load, used, &[]).all()
    }

    fn holds_beside(&self, load: &Load, used: Used, compute: &[Bytes]) -> Fits {
        let layout = Layout::of(self.shape, load, self.pools(used), self.cpu, self.release);
        let mut least = layout.compute_least();
        for (least, &compute) in least.iter_mut().zip(compute) {
            *least = compute.max(*least);
        }
        self.holding(used, &layout.fixed, &[], &least)
    }

    fn trial(
        &self,
        load: Load,
        used: Used,
        fixed: memory::Breakdown,
        drafting: Vec<Kinds>,
        compute: &[Bytes],
    ) -> Trial {
        let mut kinds = fixed.devices;
        kinds.push(fixed.host);
        for (kinds, &compute) in kinds.iter_mut().zip(compute) {
            kinds.compute = compute;
        }
        let mut trial = Trial {
            load,
            used,
            kinds,
            drafting,
            repacked: fixed.repacked,
            fits: Fits {
                devices: true,
                host: true,
            },
        };
        let mut fits = trial.fits;
        let host = self.sides(&trial, |side| fits.devices &= side.fits());
        fits.host = host.fits();
        trial.fits = fits;
        trial
    }

    pub(crate) fn missing(&self, trial: &Trial) -> Bytes {
        let mut missing = Bytes::ZERO;
        let host = self.sides(trial, |side| missing = missing.plus(side.missing()));
        missing.plus(host.missing())
    }

    /// The host's side of settings.
    pub(crate) fn host(&self, trial: &Trial) -> Side {
        self.sides(trial, |_| ())
    }

    fn sides(&self, trial: &Trial, hear: impl FnMut(Side)) -> Side {
        self.weigh(
            trial.used,
            |at| trial.kinds.get(at).copied().unwrap_or_default(),
            |at| trial.draft_at(at),
            trial.repacked,
            hear,
        )
    }

    fn holding(&self, used: Used, fixed: &memory::Breakdown, drafting: &[Kinds], compute: &[Bytes]) -> Fits {
        let mut devices = true;
        let host = self.weigh(
            used,
            |at| Kinds {
                compute: compute.get(at).copied().unwrap_or_default(),
                ..*fixed.devices.get(at).unwrap_or(&fixed.host)
            },
            |at| drafting.get(at).map(|kinds| kinds.total()).unwrap_or_default(),
            fixed.repacked,
            |side| devices &= side.fits(),
        );
        Fits {
            devices,
            host: host.fits(),
        }
    }

    /// Tells the side of each device, and gives the host's.
    fn weigh(
        &self,
        used: Used,
        kinds: impl Fn(usize) -> Kinds,
        draft: impl Fn(usize) -> Bytes,
        repacked: Bytes,
        mut hear: impl FnMut(Side),
    ) -> Side {
        let mut shared = Bytes::ZERO;
        let devices = self.used(used);
        for (at, device) in devices.iter().enumerate() {
            let kinds = kinds(at);
            let projector = if at == 0 { self.projector } else { Bytes::ZERO };
            let total = kinds
                .total()
                .plus(projector)
                .plus(draft(at))
                .plus(device.context.bytes);
            if device.shared {
                shared = shared.plus(total);
            }
            hear(Side {
                total,
                budget: self.budget(device),
                context: kinds.context,
            });
        }
        let at = devices.len();
        let kinds = kinds(at);
        let projector = if at == 0 { self.projector } else { Bytes::ZERO };
        let parts = [self.outputs, self.libraries(used), self.process];
        let total = kinds.total().plus(projector).plus(draft(at)).plus(repacked);
        Side {
            total: parts.iter().fold(total, |total, part| total.plus(part.bytes)),
            budget: self.host_budget(shared, &parts),
            context: kinds.context,
        }
    }

    /// What may be used of a device. The line lies where the highest estimate still fits.
    fn budget(&self, device: &Device) -> Bytes {
        let room = if device.shared {
            device.room.min(self.ground.host_room)
        } else {
            device.room
        };
        self.line(room.less(device.context.high.less(device.context.bytes)))
    }

    fn host_budget(&self, shared: Bytes, parts: &[Overhead]) -> Bytes {
        let spread: Bytes = parts.iter().map(|part| part.high.less(part.bytes)).sum();
        self.line(self.ground.host_room.less(shared).less(spread))
    }

    /// What the engine has is loaded; what a plan uses is there at the least.
    fn libraries(&self, used: Used) -> Overhead {
        if let Some(seen) = self.host_libraries {
            return overhead::seen(seen);
        }
        let used = self.used(used);
        let known = self.backends.as_deref();
        if known.is_none() && used.is_empty() {
            return overhead::libraries(None::<std::iter::Empty<MemoryBackend>>);
        }
        let all = known.unwrap_or_default().iter().copied();
        overhead::libraries(Some(all.chain(used.iter().map(|device| device.backend))))
    }

    /// The same settings, part by part.
    pub(crate) fn tell(&self, trial: Trial) -> Attempt {
        let used = self.used(trial.used);
        let draft_at = |at: usize| {
            let bytes = trial.draft_at(at);
            (bytes > Bytes::ZERO).then(|| Overhead::exact(Part::Draft, bytes))
        };
        let projector_at = |at: usize| if at == 0 { self.projector } else { Bytes::ZERO };
        let devices: Vec<DeviceNeed> = used
            .iter()
            .zip(&trial.kinds)
            .enumerate()
            .map(|(at, (device, &kinds))| DeviceNeed {
                id: device.id.clone(),
                need: Need {
                    kinds,
                    projector: projector_at(at),
                    budget: self.budget(device),
                    overhead: draft_at(at).into_iter().chain([device.context]).collect(),
                },
            })
            .collect();
        let on_shared = used.iter().zip(&devices).filter(|(device, _)| device.shared);
        let shared = on_shared.map(|(_, need)| need.need.total()).sum();
        let parts = [self.outputs, self.libraries(trial.used), self.process];
        let copies = (trial.repacked > Bytes::ZERO).then(|| Overhead::exact(Part::Repack, trial.repacked));
        let host = Need {
            kinds: trial.kinds.last().copied().unwrap_or_default(),
            projector: projector_at(used.len()),
            budget: self.host_budget(shared, &parts),
            overhead: draft_at(used.len())
                .into_iter()
                .chain(copies)
                .chain(parts)
                .collect(),
        };
        let on_devices: Bytes = devices.iter().map(|device| device.need.kinds.weights).sum();
        // Mapping is right when all weights are used where the file has them: on the host as they are, and on
        // Metal, which computes from the mapped pages. Else the pages of what was copied stay resident beside the
        // copy.
        let metal = used.iter().any(|device| device.backend == MemoryBackend::Metal);
        let load_mode = if metal || trial.repacked.plus(on_devices) == Bytes::ZERO {
            LoadMode::Map
        } else {
            LoadMode::Read
        };
        Attempt {
            load: trial.load,
            used: trial.used,
            devices,
            host,
            load_mode,
        }
    }

    fn drafting(&self, load: &Load, used: Used) -> Vec<Kinds> {
        let Some(draft) = self.draft else {
            return Vec::new();
        };
        draft.needs(self.shape, load, self.pools(used), self.cpu, self.release)
    }

    /// The general rule may be off by a tenth.
    fn line(&self, room: Bytes) -> Bytes {
        if self.shape.is_known() {
            room
        } else {
            Bytes(room.0 / 11 * 10)
        }
    }
}
