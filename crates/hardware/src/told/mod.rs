//! What the tools of a report said, read from their text.
//!
//! A report is whatever a person copied: tables, logs, single lines, often cut and under keys of the reporter's
//! own choosing. So a reader of each tool's format looks at every line, takes the lines that it knows and leaves
//! the others; a label that nobody has seen yet costs that line and nothing else. Nothing here decides what a
//! machine is: the same device may be sighted many times, with numbers that disagree.

mod apps;
mod container;
mod cpu;
mod dmi;
mod env;
mod finish;
mod ggml;
mod ggml_lists;
mod lang;
mod lspci;
mod macos;
mod memory;
mod mention;
mod metal;
mod names;
mod nvidia_csv;
mod nvidia_query;
mod nvidia_smi;
mod place;
mod prose;
mod rocm;
mod rocminfo;
mod scan;
mod sysfs;
mod vulkaninfo;
mod windows;

use std::collections::BTreeMap;

use plimsoll_units::Bytes;

use crate::facts::{Facts, VulkanDevice};

pub(crate) use finish::finish;
use names::is_virtual;
pub(crate) use names::{Vendor, canonical, is_software, vendor_of};
pub(crate) use nvidia_smi::driver_in as nvidia_driver_in;
pub(crate) use place::{Place, place_of};
pub(crate) use sysfs::isa as gfx_of_kfd;

/// Of one report; what stands beyond is not read.
const LINES_MAX: usize = 20_000;
/// Of one line.
const LINE_BYTES_MAX: usize = 4096;
/// More sightings than any tool prints for one machine.
const SIGHTINGS_MAX: usize = 512;

/// Everything that was read.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) gpus: Vec<Sighting>,
    /// Devices with heaps, in the form in which a live probe has them, each with its key.
    pub(crate) vulkan: Vec<(String, VulkanDevice)>,
    pub(crate) ram: Vec<Ram>,
    pub(crate) limits: Vec<(Bytes, String)>,
    pub(crate) cpu: Cpu,
    pub(crate) os_version: Option<String>,
    pub(crate) kernel: Option<String>,
    pub(crate) wsl: bool,
    /// A limit that somebody set for the RAM a GPU may borrow, by the kernel's command line.
    pub(crate) borrow_limit: Option<(Bytes, String)>,
    /// A limit that somebody set for the memory of a Mac's GPU.
    pub(crate) wired_limit: Option<Bytes>,
    /// Programs that draw with the processor.
    pub(crate) software: Vec<String>,
    /// GPUs of a virtual machine.
    pub(crate) virtual_gpus: Vec<String>,
    pub(crate) troubles: Vec<Trouble>,
    pub(crate) variables: BTreeMap<String, String>,
    /// Version of NVIDIA's driver, and the newest CUDA that it runs.
    pub(crate) nvidia_driver: Option<String>,
    pub(crate) nvidia_cuda: Option<String>,
    /// Bytes a second of the RAM, by what the firmware lists.
    pub(crate) ram_bandwidth: Option<(u64, String)>,
    /// Numbers that no machine has, by source.
    pub(crate) absurd: Vec<(String, String)>,
}

/// Why a vendor's devices cannot be used, in the words of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    NvidiaNotLoaded,
    NvidiaMismatch,
    NvidiaNoPermission,
    /// The tool is not there.
    NvidiaToolMissing,
    /// The driver lists cards, but no program can start on them.
    CudaBroken {
        cause: String,
    },
    /// CUDA cannot start; other interfaces may.
    CudaUnusable {
        cause: String,
    },
    /// A build for GPUs found none.
    EngineListedNone,
}

/// What was said about the RAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ram {
    pub(crate) total: Option<Bytes>,
    pub(crate) available: Option<Bytes>,
    pub(crate) trust: Trust,
    pub(crate) source: String,
}

/// How near a statement is to the kernel's own number. The nearest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trust {
    /// Follows from another number.
    Inferred,
    /// A person or another program said so.
    Reported,
    /// The modules in the slots; a little more than the system may use.
    Installed,
    /// A tool printed it, rounded.
    Rounded,
    /// The system's own number.
    Exact,
}

#[derive(Debug, Default)]
pub(crate) struct Cpu {
    pub(crate) name: Option<String>,
    pub(crate) physical: Option<u32>,
    pub(crate) logical: Option<u32>,
    /// In the kernel's spelling.
    pub(crate) features: Vec<String>,
    pub(crate) arch: Option<String>,
}

/// The interface that a sighting came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Api {
    /// NVML and `nvidia-smi`
    Nvml,
    Cuda,
    Rocm,
    Vulkan,
    Sycl,
    Metal,
    OpenCl,
    /// DXGI, WMI, `dxdiag` and the registry of Windows.
    Windows,
    /// The files of a Linux driver.
    Sysfs,
    /// A list of the bus: names without sizes.
    Bus,
    /// Another machine.
    Rpc,
    /// What a person or another program wrote.
    Prose,
}

/// What one line or block said about one device.
#[derive(Debug, Clone)]
pub(crate) struct Sighting {
    pub(crate) api: Api,
    pub(crate) source: String,
    /// Rows of one list are different devices.
    pub(crate) list: u32,
    pub(crate) index: Option<u32>,
    pub(crate) name: String,
    pub(crate) vendor: Option<Vendor>,
    pub(crate) pci: Option<String>,
    /// UUID or LUID, in lower case.
    pub(crate) uuid: Option<String>,
    pub(crate) gfx: Option<String>,
    pub(crate) compute: Option<(u32, u32)>,
    pub(crate) place: Option<Place>,
    /// All that this interface offers.
    pub(crate) total: Option<Bytes>,
    pub(crate) free: Option<Bytes>,
    pub(crate) used: Option<Bytes>,
    /// The device's own and the borrowed part, where the source tells them apart.
    pub(crate) own: Option<Bytes>,
    pub(crate) shared: Option<Bytes>,
    /// "Not supported": the memory is the machine's.
    pub(crate) is_ram: bool,
    pub(crate) state: State,
    pub(crate) part: Part,
    pub(crate) driver: Option<String>,
    /// A size that another program made up, or a number that only has 32 bits.
    pub(crate) weak: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Fine,
    /// Listed, but does not answer.
    Lost {
        cause: String,
    },
    Asleep,
}

/// Whether a card is cut by MIG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    /// Cut into slices; itself of no use to one program.
    Cut,
    Slice,
}

impl Sighting {
    pub(crate) fn new(api: Api, source: &str, list: u32) -> Self {
        Self {
            api,
            source: source.to_owned(),
            list,
            index: None,
            name: String::new(),
            vendor: None,
            pci: None,
            uuid: None,
            gfx: None,
            compute: None,
            place: None,
            total: None,
            free: None,
            used: None,
            own: None,
            shared: None,
            is_ram: false,
            state: State::Fine,
            part: Part::Whole,
            driver: None,
            weak: false,
        }
    }

    /// With a name as a tool prints it, in whatever wrapper.
    pub(crate) fn named(mut self, name: &str) -> Self {
        name.trim().clone_into(&mut self.name);
        self
    }
}

impl Told {
    /// Keeps a sighting, unless it is of something that cannot compute.
    pub(crate) fn see(&mut self, mut gpu: Sighting) {
        let name = names::unwrapped(&gpu.name);
        if is_software(name) {
            let name = name.to_owned();
            // A rasteriser's memory is the RAM; the exception is an old one that always says 2 GiB.
            if let Some(total) = gpu.total.filter(|&total| total != Bytes::gib(2)) {
                self.ram.push(Ram {
                    total: Some(total),
                    available: None,
                    trust: Trust::Inferred,
                    source: gpu.source,
                });
            }
            if !self.software.contains(&name) {
                self.software.push(name);
            }
            return;
        }
        if is_virtual(&gpu.name) {
            if !self.virtual_gpus.contains(&gpu.name) {
                self.virtual_gpus.push(gpu.name);
            }
            return;
        }
        let name = name.to_owned();
        gpu.name = name;
        gpu.vendor = gpu.vendor.or_else(|| vendor_of(&gpu.name));
        if gpu.gfx.is_none() {
            gpu.gfx = names::gfx_in(&gpu.name);
        }
        // A slice whose size nobody printed has it in its name; a table's own number counts before that.
        if gpu.vendor == Some(Vendor::Nvidia) && gpu.total.is_none() && gpu.own.is_none() {
            gpu.own = names::mig_size(&gpu.name);
        }
        if self.gpus.len() < SIGHTINGS_MAX {
            self.gpus.push(gpu);
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        if !self.troubles.contains(&trouble) {
            self.troubles.push(trouble);
        }
    }

    pub(crate) fn say_ram(
        &mut self,
        total: Option<Bytes>,
        available: Option<Bytes>,
        trust: Trust,
        source: &str,
    ) {
        if total.is_some() || available.is_some() {
            self.ram.push(Ram {
                total,
                available,
                trust,
                source: source.to_owned(),
            });
        }
    }
}

/// One entry of a report: a key and its lines, some of them already understood.
struct Text<'a> {
    key: &'a str,
    /// The key without upper case, for looking words up.
    lower_key: String,
    number: u32,
    lines: Vec<Line<'a>>,
    os: &'a str,
    /// The record has the bus as a recorder writes it, and the judgement reads it from there.
    recorded: bool,
}

struct Line<'a> {
    text: &'a str,
    taken: bool,
}

impl Text<'_> {
    /// Numbers for the lists inside one entry.
    fn list(&self, part: u32) -> u32 {
        self.number * 128 + part.min(127)
    }

    fn key_has(&self, word: &str) -> bool {
        self.lower_key.contains(word)
    }
}

/// Reads the text of a record. A record of our own recorder holds files of the kernel, which the judgement reads
/// by itself; there only the lists of tools count.
pub(crate) fn read(facts: &Facts) -> Told {
    let mut told = Told::default();
    let report = facts.is_report();
    let recorded = facts
        .facts
        .keys()
        .any(|key| key.starts_with("/sys/bus/pci/devices/") && key.ends_with("/vendor"));
    let mut lines = 0;
    for (number, (key, text)) in facts.facts.iter().enumerate() {
        if !report && (key.starts_with('/') || key.starts_with("access ") || key.contains(".ids ")) {
            continue;
        }
        let room = LINES_MAX - lines;
        let spoken: Vec<_> = text
            .iter()
            .flat_map(|line| line.lines())
            .take(room)
            .map(|line| lang::in_english(scan::cut(line, LINE_BYTES_MAX)))
            .collect();
        let kept: Vec<Line<'_>> = spoken
            .iter()
            .map(|line| Line {
                text: line,
                taken: false,
            })
            .collect();
        lines += kept.len();
        let mut text = Text {
            key,
            lower_key: key.to_lowercase(),
            number: u32::try_from(number)
                .unwrap_or(u32::MAX / 128 - 2)
                .min(u32::MAX / 128 - 2),
            lines: kept,
            os: &facts.os,
            recorded,
        };
        read_entry(&mut text, report, &mut told);
    }
    told
}

fn read_entry(text: &mut Text<'_>, report: bool, told: &mut Told) {
    nvidia_smi::read(text, told);
    nvidia_query::read(text, told);
    nvidia_csv::read(text, told);
    ggml::read(text, told);
    metal::read(text, told);
    ggml_lists::read(text, told);
    vulkaninfo::read(text, told);
    rocminfo::read(text, told);
    rocm::read(text, told);
    lspci::read(text, told);
    windows::read(text, told);
    macos::read(text, told);
    if report {
        env::read(text, told);
        sysfs::read(text, told);
        memory::read(text, told);
        dmi::read(text, told);
        container::read(text, told);
        cpu::read(text, told);
        apps::read(text, told);
        prose::read(text, told);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What is read from one text of a report.
    pub(crate) fn told_by(os: &str, key: &str, text: &str) -> Told {
        read(&Facts {
            os: os.to_owned(),
            facts: BTreeMap::from([(key.to_owned(), text.lines().map(str::to_owned).collect())]),
            ..Facts::default()
        })
    }
}
