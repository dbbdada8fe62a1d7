//! Which sightings are of one device, and what that device is.

use crate::facts::Facts;
use crate::machine::{Device, Memory};
use crate::note::Note;
use crate::told::{Api, Part, Place, Sighting, State, Told, Trouble, Vendor, canonical, place_of};

use super::pool;

/// All sightings of one device.
pub(super) struct Group<'a> {
    /// What a driver's own interface told; its numbers stand.
    pub(super) known: Option<Device>,
    pub(super) seen: Vec<&'a Sighting>,
}

/// The devices of the sightings, together with those that are known already.
pub(super) fn devices(
    facts: &Facts,
    told: &Told,
    known: Vec<Device>,
    memory: &Memory,
    notes: &mut Vec<Note>,
) -> Vec<Device> {
    let nvml_answered = matches!(facts.nvml, Some(crate::facts::Nvml::Answered { .. }));
    let groups = groups(told, known, nvml_answered);
    let broken = nvidia_trouble(told, &groups, notes);
    if told.troubles.contains(&Trouble::EngineListedNone) {
        notes.push(Note::EngineListedNoGpu {});
    }
    let mut devices: Vec<Device> = Vec::new();
    let mut slice_taken = false;
    for group in groups {
        let nvidia = group.vendor() == Some(Vendor::Nvidia);
        if nvidia && broken && group.known.is_none() {
            continue;
        }
        if group.unusable(notes) {
            continue;
        }
        if group.seen.iter().any(|gpu| gpu.part == Part::Cut) {
            // One program can use one slice, of all cards together.
            if let Some(slice) = one_slice(&group, told, &mut slice_taken, &devices, notes) {
                devices.push(slice);
            }
            continue;
        }
        devices.push(pool::device(&group, facts, told, memory, &devices, notes));
    }
    devices
}

fn groups(told: &Told, known: Vec<Device>, nvml_answered: bool) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = known
        .into_iter()
        .map(|device| Group {
            known: Some(device),
            seen: Vec::new(),
        })
        .collect();
    let mut order: Vec<&Sighting> = told.gpus.iter().filter(|gpu| gpu.part != Part::Slice).collect();
    // First what has a name and sizes, then lists of the bus, then what has neither.
    order.sort_by_key(|gpu| {
        (
            gpu.name.is_empty(),
            gpu.api == Api::Bus,
            gpu.api == Api::Prose,
            gpu.api,
        )
    });
    for gpu in order {
        // NVML lists every card of its maker; another list shows no more of them.
        let listed = nvml_answered && gpu.vendor == Some(Vendor::Nvidia);
        match find(&groups, gpu) {
            Some(at) => groups[at].seen.push(gpu),
            None if listed => {}
            None => groups.push(Group {
                known: None,
                seen: vec![gpu],
            }),
        }
    }
    lower_numbers(&mut groups, told);
    groups
}

/// The tool that cannot reach card 1 has reached card 0, which a cut report leaves out.
fn lower_numbers(groups: &mut Vec<Group<'_>>, told: &Told) {
    let healthy = groups
        .iter()
        .any(|group| group.vendor() == Some(Vendor::Nvidia) && !group.lost());
    if healthy || groups.len() != 1 {
        return;
    }
    let lost = groups[0]
        .seen
        .iter()
        .find_map(|gpu| gpu.index.filter(|_| gpu.state != State::Fine));
    let Some(count) = lost.filter(|&count| count > 0 && count <= 16) else {
        return;
    };
    if told.troubles.is_empty() {
        for number in 0..count {
            let device = pool::unknown_nvidia(number);
            groups.push(Group {
                known: Some(device),
                seen: Vec::new(),
            });
        }
    }
}

fn find(groups: &[Group<'_>], gpu: &Sighting) -> Option<usize> {
    // The surest sign first.
    let by =
        |sign: &dyn Fn(&Group<'_>) -> Option<bool>| groups.iter().position(|group| sign(group) == Some(true));
    if let Some(at) = by(&|group| group.same_bus(gpu)).or_else(|| by(&|group| group.same_id(gpu))) {
        return Some(at);
    }
    if let Some(at) = by(&|group| Some(group.may_be(gpu) && group.same_row(gpu))) {
        return Some(at);
    }
    if let Some(at) = by(&|group| Some(group.may_be(gpu) && group.same_kind(gpu))) {
        return Some(at);
    }
    // Without a name: the only one that it can be.
    let vague = gpu.name.is_empty() || gpu.api == Api::Bus;
    let candidates: Vec<usize> = (0..groups.len()).filter(|&at| groups[at].may_be(gpu)).collect();
    match candidates.as_slice() {
        [only] if vague || groups[*only].nameless() => Some(*only),
        // Both lists follow the bus.
        [first, ..] if gpu.api == Api::Bus && gpu.vendor.is_some() => Some(*first),
        _ => None,
    }
}

impl Group<'_> {
    pub(super) fn vendor(&self) -> Option<Vendor> {
        let known = self.known.as_ref().and_then(|device| {
            [
                Vendor::Nvidia,
                Vendor::Amd,
                Vendor::Intel,
                Vendor::Apple,
                Vendor::Qualcomm,
                Vendor::Arm,
            ]
            .into_iter()
            .find(|vendor| vendor.name() == device.vendor)
        });
        known.or_else(|| self.seen.iter().find_map(|gpu| gpu.vendor))
    }

    fn nameless(&self) -> bool {
        self.known.is_none() && self.seen.iter().all(|gpu| gpu.name.is_empty())
    }

    fn lost(&self) -> bool {
        self.seen
            .iter()
            .any(|gpu| matches!(gpu.state, State::Lost { .. }))
    }

    fn same_bus(&self, gpu: &Sighting) -> Option<bool> {
        let address = gpu.pci.as_deref()?;
        let known = self
            .known
            .as_ref()
            .map(|device| device.id == format!("pci-{address}"));
        let seen = self
            .seen
            .iter()
            .find_map(|other| Some(other.pci.as_deref()? == address));
        known.filter(|&same| same).or(seen)
    }

    fn same_id(&self, gpu: &Sighting) -> Option<bool> {
        let id = gpu.uuid.as_deref()?;
        self.seen
            .iter()
            .find_map(|other| (other.uuid.as_deref()? == id).then_some(true))
    }

    /// Nothing speaks against it.
    fn may_be(&self, gpu: &Sighting) -> bool {
        if self.same_bus(gpu) == Some(false)
            || matches!((self.vendor(), gpu.vendor), (Some(a), Some(b)) if a != b)
        {
            return false;
        }
        if self.lost() != matches!(gpu.state, State::Lost { .. }) && gpu.pci.is_none() {
            return false;
        }
        let (here, there) = (self.place(), place(gpu));
        if let (Some(here), Some(there)) = (here, there)
            && (here == Place::Card) != (there == Place::Card)
        {
            return false;
        }
        // Rows of one list are different devices, but for a processor's GPU, of which there is one.
        let one_only =
            matches!(here, Some(Place::Processor { .. })) && matches!(there, Some(Place::Processor { .. }));
        let other_row = self.seen.iter().any(|other| {
            let numbers = matches!((other.index, gpu.index), (Some(a), Some(b)) if a != b);
            let names = !other.name.is_empty() && !gpu.name.is_empty() && other.name != gpu.name;
            other.list == gpu.list && (numbers || names)
        });
        let other_id = self.seen.iter().any(|other| {
            other.api == gpu.api && matches!((&other.uuid, &gpu.uuid), (Some(a), Some(b)) if a != b)
        });
        // Windows lists an adapter a second time for a remote screen.
        let twice = gpu.api == Api::Windows
            && self
                .seen
                .iter()
                .any(|other| other.api != Api::Windows && names_equal(&other.name, &gpu.name));
        one_only || twice || !(other_row || other_id)
    }

    fn same_row(&self, gpu: &Sighting) -> bool {
        gpu.index.is_some()
            && self.seen.iter().any(|other| {
                other.api == gpu.api
                    && other.index == gpu.index
                    && (other.name == gpu.name || other.name.is_empty() || gpu.name.is_empty())
            })
    }

    fn same_kind(&self, gpu: &Sighting) -> bool {
        if let (Some(Place::Processor { .. }), Some(Place::Processor { .. })) = (self.place(), place(gpu)) {
            return self.vendor().is_none() || gpu.vendor.is_none() || self.vendor() == gpu.vendor;
        }
        let known = self.known.as_ref().map(|device| device.name.as_str());
        let mut names = known
            .into_iter()
            .chain(self.seen.iter().map(|other| other.name.as_str()));
        let gfx = gpu.gfx.is_some() && self.seen.iter().any(|other| other.gfx == gpu.gfx);
        !gpu.name.is_empty()
            && (names.any(|name| names_equal(name, &gpu.name)) || (gfx && self.vendor() == Some(Vendor::Amd)))
    }

    /// Where it sits, as far as all sightings together tell.
    pub(super) fn place(&self) -> Option<Place> {
        if let Some(device) = &self.known {
            return Some(match device.kind {
                crate::machine::DeviceKind::Discrete | crate::machine::DeviceKind::Remote => Place::Card,
                crate::machine::DeviceKind::Unified => Place::Processor {
                    worth_planning_on: true,
                },
                crate::machine::DeviceKind::Integrated => Place::Processor {
                    worth_planning_on: false,
                },
            });
        }
        let placed: Vec<Place> = self.seen.iter().filter_map(|gpu| place(gpu)).collect();
        // One that is worth planning on by its name was not called small by that name.
        let best = |place: &Place| {
            matches!(
                place,
                Place::Processor {
                    worth_planning_on: true
                }
            )
        };
        placed
            .iter()
            .copied()
            .find(best)
            .or_else(|| placed.first().copied())
    }

    /// Whether the device cannot be used, with a note that says why; a sleeping one can.
    fn unusable(&self, notes: &mut Vec<Note>) -> bool {
        let name = pool::name(self);
        for gpu in &self.seen {
            match &gpu.state {
                State::Lost { cause } => {
                    notes.push(Note::GpuLost {
                        name,
                        cause: super::host::short(cause),
                    });
                    return true;
                }
                State::Asleep => {
                    notes.push(Note::GpuAsleep { name: name.clone() });
                    return false;
                }
                State::Fine => {}
            }
        }
        let by_bus_only = self.known.is_none() && self.seen.iter().all(|gpu| gpu.api == Api::Bus);
        let driver = self
            .seen
            .iter()
            .find_map(|gpu| gpu.driver.clone())
            .filter(|_| by_bus_only)
            .unwrap_or_default();
        if ["nouveau", "vfio-pci", "radeon", "pci-stub"].contains(&driver.as_str()) {
            notes.push(Note::GpuOtherDriver { name, driver });
            return true;
        }
        false
    }
}

/// Where one sighting puts its device. What an interface says counts before what a name means, except for the
/// makers whose names are certain.
pub(super) fn place(gpu: &Sighting) -> Option<Place> {
    let by_name = place_of(&gpu.name, gpu.vendor, gpu.gfx.as_deref(), gpu.compute);
    match (gpu.place, by_name) {
        (Some(Place::Card), Some(name)) if matches!(gpu.vendor, Some(Vendor::Nvidia | Vendor::Apple)) => {
            Some(name)
        }
        (Some(Place::Processor { .. }), Some(Place::Card)) if gpu.vendor == Some(Vendor::Nvidia) => {
            Some(Place::Card)
        }
        (Some(Place::Processor { .. }), Some(name @ Place::Processor { .. })) => Some(name),
        (Some(said), _) => Some(said),
        (None, Some(_)) if gpu.is_ram => Some(Place::Processor {
            worth_planning_on: true,
        }),
        (None, by_name) => by_name.or_else(|| by_sizes(gpu)),
    }
}

/// A small own part beside a larger borrowed one is a processor's GPU; no card that computes has less than 2 GiB.
fn by_sizes(gpu: &Sighting) -> Option<Place> {
    let own = gpu.own?;
    let small = own <= plimsoll_units::Bytes::mib(1536);
    let processor = small && gpu.api != Api::Windows && gpu.shared.is_none_or(|shared| shared > own);
    (gpu.vendor == Some(Vendor::Amd) && processor).then_some(Place::Processor {
        worth_planning_on: true,
    })
}

/// The same model, where one of two may be written short: `RTX 3050 Ti` and `NVIDIA GeForce RTX 3050 Ti Laptop GPU`.
fn names_equal(one: &str, other: &str) -> bool {
    let (one, other) = (canonical(one), canonical(other));
    if one.is_empty() || other.is_empty() {
        return false;
    }
    let (short, long) = if one.len() <= other.len() {
        (&one, &other)
    } else {
        (&other, &one)
    };
    let rest: Vec<&String> = long.iter().filter(|word| !short.contains(word)).collect();
    // Lists of the bus name all models of a chip.
    let model = |word: &String| {
        word.starts_with(|c: char| c.is_ascii_digit())
            || matches!(word.as_str(), "ti" | "super" | "xt" | "xtx" | "gre")
    };
    short.iter().all(|word| long.contains(word))
        && (rest.iter().all(|word| !model(word))
            || (long.len() > 4 && short.iter().any(model) && rest.len() >= 3))
}

/// Notes what is wrong with NVIDIA's driver; whether its cards cannot be used for it.
fn nvidia_trouble(told: &Told, groups: &[Group<'_>], notes: &mut Vec<Note>) -> bool {
    let mut broken = false;
    for trouble in &told.troubles {
        let note = match trouble {
            Trouble::NvidiaNotLoaded => Note::NvidiaDriverNotLoaded {},
            Trouble::NvidiaMismatch => Note::NvidiaDriverMismatch {},
            Trouble::NvidiaNoPermission => Note::NvidiaNoPermission {},
            Trouble::CudaBroken { cause } => Note::NvidiaProbeFailed {
                cause: super::host::short(cause),
            },
            Trouble::NvidiaToolMissing => {
                let on_bus = groups.iter().find(|group| {
                    group.vendor() == Some(Vendor::Nvidia) && group.seen.iter().all(|gpu| gpu.api == Api::Bus)
                });
                let Some(group) = on_bus else { continue };
                Note::NvidiaDriverMissing {
                    name: pool::name(group),
                }
            }
            Trouble::CudaUnusable { cause } => {
                notes.push(Note::NvidiaProbeFailed {
                    cause: super::host::short(cause),
                });
                continue;
            }
            Trouble::EngineListedNone => continue,
        };
        broken = true;
        notes.push(note);
    }
    broken
}

fn one_slice(
    group: &Group<'_>,
    told: &Told,
    taken: &mut bool,
    others: &[Device],
    notes: &mut Vec<Note>,
) -> Option<Device> {
    let card = group.seen.iter().find(|gpu| gpu.part == Part::Cut)?;
    let mut slices: Vec<&Sighting> = told
        .gpus
        .iter()
        .filter(|gpu| {
            gpu.part == Part::Slice
                && (gpu.index.is_none() || card.index.is_none() || gpu.index == card.index)
        })
        .collect();
    // One tool lists them, or another; a table has their sizes.
    if let Some(list) = slices
        .iter()
        .find(|slice| slice.total.is_some())
        .or(slices.first())
        .map(|slice| slice.list)
    {
        slices.retain(|slice| slice.list == list);
    }
    notes.push(Note::MigOneSlice {
        name: pool::name(group),
        slices: u32::try_from(slices.len()).unwrap_or(u32::MAX),
    });
    if std::mem::replace(taken, true) {
        return None;
    }
    Some(pool::slice(card, slices.first().copied(), others, notes))
}
