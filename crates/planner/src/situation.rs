use plimsoll_catalog::Catalog;
use plimsoll_hardware::{Backend, Device, DeviceKind, Machine};
use plimsoll_units::{Bytes, BytesPerSecond};

use crate::Why;
use crate::memory::{MemoryBackend, Pool, Release};
use crate::speed::Anchor;

/// Everything about the place that a plan is made for.
#[derive(Debug, Clone)]
pub struct Situation<'a> {
    pub machine: &'a Machine,
    /// For bandwidths that the machine does not tell.
    pub catalog: Option<&'a Catalog>,
    pub engine: Engine,
    /// Measured runs on this machine.
    pub anchors: Vec<Anchor>,
    /// What the engine's libraries were seen to take of the RAM here, beside its buffers; `None` for the usual.
    pub host_libraries: Option<Bytes>,
    /// What our own loaded model holds now: it counts as free, because a switch ends it first.
    pub held: Held,
}

/// The llama.cpp build that will run the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    pub release: Release,
    /// The device backends it has; `None` when not known: then the one that suits the machine.
    pub backends: Option<Vec<Backend>>,
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            release: Release::CHECKED,
            backends: None,
        }
    }
}

/// Memory that our own engine holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    pub host: Bytes,
    /// By device id.
    pub devices: Vec<(String, Bytes)>,
}

impl<'a> Situation<'a> {
    /// A machine with nothing loaded, nothing measured and the pinned engine.
    #[must_use]
    pub fn of(machine: &'a Machine, catalog: Option<&'a Catalog>) -> Self {
        let (engine, anchors, held) = (Engine::default(), Vec::new(), Held::default());
        Self {
            machine,
            catalog,
            engine,
            anchors,
            host_libraries: None,
            held,
        }
    }
}

/// A device that may be planned on.
#[derive(Debug, Clone)]
pub(crate) struct Candidate<'a> {
    pub(crate) device: &'a Device,
    pub(crate) backend: MemoryBackend,
    /// Before what the backend itself takes.
    pub(crate) room: Bytes,
    pub(crate) bandwidth: Option<BytesPerSecond>,
    /// Of a card that unpacks weights slower than it reads them.
    pub(crate) unpack_gflops: Option<u32>,
}

impl Candidate<'_> {
    pub(crate) fn pool(&self) -> Pool {
        Pool {
            backend: self.backend,
            free: self.device.free,
        }
    }

    /// Its memory is the machine's RAM.
    pub(crate) fn is_shared(&self) -> bool {
        match self.device.kind {
            DeviceKind::Unified | DeviceKind::Integrated => true,
            DeviceKind::Discrete | DeviceKind::Remote => false,
        }
    }
}

/// The machine as a plan sees it.
#[derive(Debug, Clone)]
pub(crate) struct Ground<'a> {
    pub(crate) devices: Vec<Candidate<'a>>,
    pub(crate) host_room: Bytes,
    /// What is left to the system.
    pub(crate) reserve: Bytes,
    pub(crate) host_bandwidth: Option<BytesPerSecond>,
    pub(crate) why: Vec<Why>,
}

impl<'a> Ground<'a> {
    pub(crate) fn of(situation: &'a Situation<'a>) -> Self {
        let machine = situation.machine;
        let mut why = Vec::new();
        let devices = candidates(situation, &mut why);
        let (host_room, reserve) = host_room(machine, situation.held.host);
        let host_bandwidth = machine.memory.bandwidth.as_ref().map(|known| known.value);
        Self {
            devices,
            host_room,
            reserve,
            host_bandwidth,
            why,
        }
    }
}

/// What a program may take of the RAM, and what stays for the system: what the person said, else an eighth, at
/// least 1 and at most 8 GiB.
fn host_room(machine: &Machine, held: Bytes) -> (Bytes, Bytes) {
    let total = machine.memory.total;
    let by_rule = || {
        Bytes(total.0 / 8)
            .clamp(Bytes::gib(1), Bytes::gib(8))
            .min(Bytes(total.0 / 2))
    };
    let said = machine.memory.reserve.as_ref();
    let reserve = said.map_or_else(by_rule, |said| said.value.min(total));
    // What others use now may grow a little before the model is loaded.
    let slack = Bytes(total.0 / 64).clamp(Bytes::mib(64), Bytes::gib(1));
    let available = machine.memory.available.plus(held).min(total);
    (total.less(reserve).min(available.less(slack)), reserve)
}

/// A device's free memory but for a small part: drivers round up, and what others use moves.
fn device_room(device: &Device, held: Bytes) -> Bytes {
    let slack = Bytes(device.total.0 / 64).clamp(Bytes::mib(64), Bytes::gib(1));
    device.free.plus(held).min(device.total).less(slack)
}

fn candidates<'a>(situation: &'a Situation<'a>, why: &mut Vec<Why>) -> Vec<Candidate<'a>> {
    let engine = situation.engine.backends.as_deref();
    let mut found: Vec<(Backend, &Device)> = Vec::new();
    for device in situation.machine.placeable() {
        match backend_for(device, engine) {
            Some(backend) => found.push((backend, device)),
            None => why.push(Why::DeviceLeftOut {
                device: device.name.clone(),
            }),
        }
    }
    // One build brings one family of drivers; remote devices come along with any.
    let main = main_backend(&found);
    let mut devices: Vec<Candidate> = Vec::new();
    for (backend, device) in found {
        if backend != Backend::Rpc && Some(backend) != main {
            why.push(Why::DeviceLeftOut {
                device: device.name.clone(),
            });
            continue;
        }
        let held = situation
            .held
            .devices
            .iter()
            .filter(|(id, _)| *id == device.id)
            .map(|(_, bytes)| *bytes)
            .sum();
        let known = device.bandwidth.as_ref().map(|known| known.value);
        let memory = built_in(situation.machine, device);
        let row = situation
            .catalog
            .and_then(|catalog| catalog.bandwidth.find_build(&device.name, Some(memory), None));
        devices.push(Candidate {
            device,
            backend: MemoryBackend::of(backend),
            room: device_room(device, held),
            bandwidth: known.or(row.map(|row| row.bytes_per_second)),
            unpack_gflops: row.and_then(|row| row.unpack_gflops),
        });
    }
    // llama.cpp lists remote devices before local ones.
    devices.sort_by_key(|candidate| candidate.device.kind != DeviceKind::Remote);
    devices
}

/// The memory that a device is sold with: a unified one's is the machine's, of which it may use a part.
fn built_in(machine: &Machine, device: &Device) -> Bytes {
    match device.kind {
        DeviceKind::Unified | DeviceKind::Integrated => machine.memory.total,
        DeviceKind::Discrete | DeviceKind::Remote => device.total,
    }
}

/// The backend that covers most memory.
fn main_backend(found: &[(Backend, &Device)]) -> Option<Backend> {
    let mut totals: Vec<(Backend, Bytes)> = Vec::new();
    for (backend, device) in found.iter().filter(|(backend, _)| *backend != Backend::Rpc) {
        match totals.iter_mut().find(|(known, _)| known == backend) {
            Some((_, total)) => *total = total.plus(device.total),
            None => totals.push((*backend, device.total)),
        }
    }
    // The first of equals: the order of the machine's list.
    totals
        .into_iter()
        .rev()
        .max_by_key(|(_, total)| *total)
        .map(|(backend, _)| backend)
}

/// Fastest first, among those that official builds exist for.
const PREFERENCE: [Backend; 6] = [
    Backend::Cuda,
    Backend::Metal,
    Backend::Vulkan,
    Backend::Rocm,
    Backend::Sycl,
    Backend::Rpc,
];

fn backend_for(device: &Device, engine: Option<&[Backend]>) -> Option<Backend> {
    let usable = |backend: Backend| {
        // RPC is part of every build.
        backend == Backend::Rpc || engine.is_none_or(|backends| backends.contains(&backend))
    };
    if device.backends.is_empty() {
        return Some(guessed(device)).filter(|&backend| usable(backend));
    }
    PREFERENCE
        .into_iter()
        .find(|backend| device.backends.contains(backend) && usable(*backend))
}

/// For a machine file that leaves the backends out.
fn guessed(device: &Device) -> Backend {
    let says =
        |word: &str| device.vendor.to_lowercase().contains(word) || device.name.to_lowercase().contains(word);
    if device.kind == DeviceKind::Remote {
        Backend::Rpc
    } else if says("nvidia") || says("geforce") {
        Backend::Cuda
    } else if says("apple") {
        Backend::Metal
    } else {
        Backend::Vulkan
    }
}
