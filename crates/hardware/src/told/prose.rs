//! What people and other programs write: names of GPUs in sentences and lists, sizes beside them, RAM. The last
//! reader: it looks only at lines that no other has understood.

use plimsoll_units::Bytes;

use super::cpu::is_processor;
use super::mention::mentions;
use super::names::{gfx_in, is_software, is_virtual};
use super::scan::{Amount, amounts, has_word, leading_number};
use super::{Api, Line, Place, Sighting, Text, Told, Trust, Vendor, vendor_of};

/// Lines of engines that hold names of files and libraries, or sizes of buffers.
const NOISE: [&str; 13] = [
    "load_backend:",
    "load_tensors",
    "llama_",
    "llm_load",
    "common_",
    "ggml_",
    "system_info",
    "srv ",
    "TensileLibrary",
    "vk::",
    // Log lines of Ollama, of which another reader takes what counts.
    " source=",
    // Units for networks like these are no GPUs, whatever chip they are named after.
    "Neural Processing Unit",
    "ComputeAccelerator",
];
/// At the start of a line only; `driver version: …` behind a name is something else.
const NOISE_AT_START: [&str; 2] = ["build:", "version:"];
/// What layered drivers of virtual machines put around a name.
const WRAPPERS: [&str; 5] = ["virtio-gpu", "venus (", "virgl (", "svga3d", "gfxstream"];

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    // A file of wishes: whether they were granted stands elsewhere.
    if text.key_has("wslconfig") {
        return;
    }
    // `NAME  ID  SIZE  PROCESSOR`: what models hold, not what the machine has.
    let models = |line: &Line<'_>| line.text.contains("NAME") && line.text.contains("PROCESSOR");
    if text.lines.iter().any(models) {
        return;
    }
    let mut reader = Reader {
        list: text.list(48),
        mac: text.os == "macos",
        context: text.lower_key.clone(),
        guessed: text.key_has("wrong"),
        rows: 0,
        first: told.gpus.len(),
    };
    for line in &text.lines {
        if line.taken {
            continue;
        }
        if ["on ROCm", "GPU arch", "amdgcn"]
            .iter()
            .any(|mark| line.text.contains(mark))
        {
            reader.isa(line.text, told);
        } else if !NOISE.iter().any(|noise| line.text.contains(noise))
            && !NOISE_AT_START
                .iter()
                .any(|noise| line.text.trim_start().starts_with(noise))
        {
            reader.line(line.text, told);
        }
    }
}

struct Reader {
    list: u32,
    mac: bool,
    /// The key, for lines that are a value alone.
    context: String,
    /// The reporter says that these numbers are wrong.
    guessed: bool,
    rows: u32,
    /// The first sighting of this entry.
    first: usize,
}

/// What a size in a line is the size of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Ram,
    RamFree,
    Total,
    Free,
    Used,
    Own,
    Shared,
}

impl Reader {
    fn line(&mut self, line: &str, told: &mut Told) {
        let lower = line.to_lowercase();
        let found = mentions(line, self.mac);
        let wrapped = WRAPPERS.iter().any(|wrapper| lower.contains(wrapper));
        if wrapped || (found.is_empty() && lower.contains("gpu") && is_virtual(line)) {
            let name = line.trim().to_owned();
            if !told.virtual_gpus.contains(&name) {
                told.virtual_gpus.push(name);
            }
            return;
        }
        if is_software(line) {
            self.software(line, &lower, found.is_empty(), told);
        }
        let place = place_word(line);
        if self.unknown_row(line, &lower, found.first().map(|first| first.at.start), told) {
            return;
        }
        if found.is_empty()
            && ["ryzen ai max", "strix halo"]
                .iter()
                .any(|chip| lower.contains(chip))
        {
            // A processor that is known by its GPU, with or without its name.
            self.keep(self.sighting("AMD Strix Halo GPU", None), 1, told);
        }
        match found.as_slice() {
            [] => self.without_name(line, &lower, place, told),
            [one] => {
                let mut gpu = self.sighting(&line[one.at.clone()], row_number(line));
                gpu.place = place;
                gpu.gfx = gfx_in(line);
                let apple = vendor_of(&gpu.name).map_or(self.mac, |vendor| vendor == Vendor::Apple);
                let sizes: Vec<(Role, Bytes)> = amounts(line)
                    .iter()
                    // A number that belongs to the name is no size.
                    .filter(|amount| amount.at.start >= one.at.end || amount.at.end <= one.at.start)
                    .map(|amount| (role(&lower, amount), amount.bytes))
                    // A Mac is sold by its memory, which its GPU has no other than.
                    .map(|(role, bytes)| {
                        let ram = apple && role == Role::Total;
                        (if ram { Role::Ram } else { role }, bytes)
                    })
                    .collect();
                self.apply(&mut gpu, &sizes, told);
                gpu.total = gpu.total.or_else(|| unlabelled(line));
                self.keep(gpu, one.count, told);
            }
            several => {
                for (at, mention) in several.iter().enumerate() {
                    let mut gpu = self.sighting(&line[mention.at.clone()], None);
                    // What stands up to the next name is about this one.
                    let end = several.get(at + 1).map_or(line.len(), |next| next.at.start);
                    let part = &line[mention.at.end..end];
                    let lower = part.to_lowercase();
                    gpu.place = place_word(part);
                    gpu.gfx = gfx_in(part);
                    let sizes: Vec<(Role, Bytes)> = amounts(part)
                        .iter()
                        .map(|amount| (role(&lower, amount), amount.bytes))
                        .collect();
                    self.apply(&mut gpu, &sizes, told);
                    gpu.index = Some(self.rows);
                    self.rows += 1;
                    self.keep(gpu, mention.count, told);
                }
            }
        }
    }

    fn sighting(&self, name: &str, row: Option<u32>) -> Sighting {
        let mut gpu = Sighting::new(Api::Prose, "report", self.list).named(name);
        gpu.index = row;
        gpu
    }

    fn apply(&self, gpu: &mut Sighting, sizes: &[(Role, Bytes)], told: &mut Told) {
        for &(role, bytes) in sizes.iter().filter(|(_, bytes)| *bytes > Bytes::ZERO) {
            match role {
                Role::Ram => told.say_ram(Some(bytes), None, Trust::Reported, "report"),
                Role::RamFree => told.say_ram(None, Some(bytes), Trust::Reported, "report"),
                Role::Total if gpu.total.is_none() => gpu.total = Some(bytes),
                Role::Free if gpu.free.is_none() => gpu.free = Some(bytes),
                Role::Used if gpu.used.is_none() => gpu.used = Some(bytes),
                Role::Own if gpu.own.is_none() => gpu.own = Some(bytes),
                Role::Shared if gpu.shared.is_none() => gpu.shared = Some(bytes),
                Role::Total | Role::Free | Role::Used | Role::Own | Role::Shared => {}
            }
        }
        gpu.weak = self.guessed;
    }

    /// One name many times on lines of its own is one device, unless the lines are numbered.
    fn keep(&self, gpu: Sighting, count: u32, told: &mut Told) {
        let again = gpu.index.is_none()
            && told.gpus[self.first.min(told.gpus.len())..]
                .iter()
                .any(|known| known.api == Api::Prose && known.name == super::names::unwrapped(&gpu.name));
        if again {
            return;
        }
        if count <= 1 {
            told.see(gpu);
            return;
        }
        for number in 0..count {
            let mut copy = gpu.clone();
            copy.index = Some(1000 + number);
            told.see(copy);
        }
    }

    fn software(&self, line: &str, lower: &str, alone: bool, told: &mut Told) {
        let at = ["llvmpipe", "lavapipe", "swiftshader", "softpipe", "basic render"]
            .iter()
            .find_map(|name| lower.find(name));
        let name = line.get(at.unwrap_or(0)..).unwrap_or(line);
        let end = name
            .find([',', '|', ';'])
            .filter(|_| !name.contains("LLVM"))
            .unwrap_or(name.len());
        let mut gpu = self.sighting(name[..end].trim(), None);
        if alone {
            gpu.total = amounts(line)
                .iter()
                .find(|amount| !amount.short)
                .map(|amount| amount.bytes);
            if let Some(number) = amounts(&gpu.name).first() {
                gpu.name.truncate(number.at.start);
            }
        }
        told.see(gpu);
    }

    /// `61/61 layers on ROCm0 gfx1151`, `… for GPU arch : gfx1032`
    fn isa(&self, line: &str, told: &mut Told) {
        let from = ["on ROCm", "GPU arch", "amdgcn"]
            .iter()
            .find_map(|mark| line.find(mark))
            .unwrap_or(0);
        if let Some(gfx) = line.get(from..).and_then(gfx_in) {
            let mut gpu = Sighting::new(Api::Rocm, "report", self.list + 1);
            gpu.vendor = Some(Vendor::Amd);
            gpu.gfx = Some(gfx);
            told.see(gpu);
        }
    }

    fn without_name(&mut self, line: &str, lower: &str, place: Option<Place>, told: &mut Told) {
        // Windows' sum of the dedicated and the shared part.
        if lower.trim_start().starts_with("gpu memory") && lower.contains('/') {
            return;
        }
        let sizes = amounts(line);
        if let Some(place) = place {
            // A word about the device that the lines before named, or about one without a name.
            let first = self.first.min(told.gpus.len());
            if let Some(gpu) = told.gpus[first..]
                .iter_mut()
                .rev()
                .find(|gpu| gpu.api == Api::Prose)
            {
                gpu.place = gpu.place.or(Some(place));
            } else if sizes.is_empty() {
                let mut gpu = self.sighting("", None);
                gpu.place = Some(place);
                told.see(gpu);
            }
        }
        let total_and_free = lower.contains("total") && lower.contains("available") && !about_gpu(lower);
        let mut gpu = self.sighting("", None);
        let mut said = Vec::new();
        for amount in &sizes {
            let (before, behind) = around(lower, amount);
            let beside = format!("{before} {behind}");
            // A line with one size is about it as a whole, where the words beside it do not say.
            let words = if sizes.len() == 1 && !about_ram(&beside) && !about_gpu(&beside) {
                lower.to_owned()
            } else {
                beside
            };
            let near = if about_ram(&words) || about_gpu(&words) {
                words
            } else {
                format!("{} {words}", self.context)
            };
            let free = has_word(&near, "available") || has_word(&near, "free");
            if amount.short && !about_ram(&near) {
                continue;
            }
            if near.contains("shared gpu memory") || near.contains("shared memory") {
                said.push((Role::Shared, amount.bytes));
            } else if about_gpu(&near) {
                let part = ["used", "need", "require", "buffer", "offload"]
                    .iter()
                    .any(|word| near.contains(word));
                if !part && !amount.short {
                    said.push((
                        if near.contains("dedicated") {
                            Role::Own
                        } else if free {
                            Role::Free
                        } else {
                            Role::Total
                        },
                        amount.bytes,
                    ));
                }
            } else if about_ram(&near) || total_and_free || (sizes.len() == 1 && is_processor(line)) {
                let part = ["used", "need", "require"]
                    .iter()
                    .any(|word| has_word(&near, word));
                if !part {
                    said.push((if free { Role::RamFree } else { Role::Ram }, amount.bytes));
                }
            }
        }
        self.apply(&mut gpu, &said, told);
        if gpu.total.is_some() || gpu.own.is_some() {
            told.see(gpu);
        }
    }

    /// `GPU 1: Phoenix1 — 2.0 GB`, `GPU 0: Battlemage G31 [Intel Graphics] — …`: a numbered row whose name begins
    /// before what is known of it.
    fn unknown_row(&self, line: &str, lower: &str, known: Option<usize>, told: &mut Told) -> bool {
        let Some(rest) = lower.trim_start().strip_prefix("gpu ") else {
            return false;
        };
        let Some(index) = leading_number(rest).and_then(|n| u32::try_from(n).ok()) else {
            return false;
        };
        let Some((head, value)) = line.split_once(':') else {
            return false;
        };
        let name = value.split(['—', '|', ',', '(']).next().unwrap_or(value);
        let begins = head.len() + 1 + name.len() - name.trim_start().len();
        let name = name.trim();
        let whole = known.is_some_and(|known| known <= begins) || name.is_empty() || name.len() > 80;
        if whole || vendor_of(name).is_none() {
            return false;
        }
        let mut gpu = self.sighting(name, Some(index));
        gpu.own = amounts(value).first().map(|amount| amount.bytes);
        told.see(gpu);
        true
    }
}

/// `"total_memory": 24564`: programs that hand on what NVML and Vulkan say, in MiB or in bytes.
fn unlabelled(line: &str) -> Option<Bytes> {
    let bytes = [
        "\"dedicatedMemoryCapacityBytes\":",
        "\"totalMemoryCapacityBytes\":",
    ]
    .iter()
    .find_map(|label| leading_number(super::scan::after(line, label)?));
    if let Some(bytes) = bytes.filter(|&bytes| bytes > 1 << 28) {
        return Some(Bytes(bytes));
    }
    [
        "\"total_memory\":",
        "\"vram_mb\":",
        "\"memory_mb\":",
        "\"vramTotalMb\":",
    ]
    .iter()
    .find_map(|label| leading_number(super::scan::after(line, label)?))
    .filter(|&number| (512..1 << 22).contains(&number))
    .map(Bytes::mib)
}

/// `[0] …`, `GPU 1: …`, `0: …`, `Vulkan2 …`
fn row_number(line: &str) -> Option<u32> {
    let line = line.trim_start();
    let line = line.split_once(": [").map_or(line, |(_, rest)| rest);
    let rest = ["[", "GPU ", "GPU", "Device ", "device ", "#"]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))?;
    let number = leading_number(rest)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[digits..]
        .starts_with([']', ':', ' '])
        .then(|| u32::try_from(number).ok())
        .flatten()
}

/// The words in which Vulkan, wgpu and llama.cpp say where a device sits.
fn place_word(line: &str) -> Option<Place> {
    let lower = line.to_lowercase().replace(['_', ' '], "");
    // `Integrated GPU sharing Host Memory: No`, `Unified memory: no`
    for question in ["sharinghostmemory:", "unifiedmemory:", "isintegrated:"] {
        if let Some((_, answer)) = lower.split_once(question) {
            let no = answer.starts_with("no") || answer.starts_with('0') || answer.starts_with("false");
            let processor = Place::Processor {
                worth_planning_on: false,
            };
            return Some(if no { Place::Card } else { processor });
        }
    }
    if ["discretegpu", "uma=false", "uma:0", "uma=0", "[discrete]"]
        .iter()
        .any(|word| lower.contains(word))
    {
        return Some(Place::Card);
    }
    // Whether it is worth planning on is not told by these; its name may.
    (lower.contains("integratedgpu") || lower.contains("[integrated]")).then_some(Place::Processor {
        worth_planning_on: false,
    })
}

fn about_ram(words: &str) -> bool {
    [
        "ram", "mem", "lpddr5", "lpddr5x", "lpddr4x", "ddr4", "ddr5", "host",
    ]
    .iter()
    .any(|word| has_word(words, word))
        || [
            "system memory",
            "total memory",
            "physical memory",
            "unified memory",
        ]
        .iter()
        .any(|phrase| words.contains(phrase))
}

fn about_gpu(words: &str) -> bool {
    ["vram", "gpu", "gpu's", "hbm3", "hbm2", "gddr6", "gddr6x", "gddr7"]
        .iter()
        .any(|word| has_word(words, word))
        || [
            "video memory",
            "graphics memory",
            "dedicated memory",
            "global memory",
            "totalglobalmem",
            "memory physical size",
        ]
        .iter()
        .any(|phrase| words.contains(phrase))
}

/// The words from the separator before a size to the one behind it.
fn around<'a>(lower: &'a str, amount: &Amount) -> (&'a str, &'a str) {
    // Lower case may have moved the places in a line that is not all ASCII.
    let before = lower.get(..amount.at.start).unwrap_or_default();
    let behind = lower.get(amount.at.end..).unwrap_or_default();
    let start = before
        .rfind([',', ';', '(', '|', '—', '+'])
        .map_or(0, |at| at + 1);
    let end = behind
        .find([',', ';', ')', '|', '—', '+'])
        .into_iter()
        .chain(next_number(behind))
        .min()
        .unwrap_or(behind.len());
    // `total: 31 GiB used: 5 GiB`: a word with a colon is about what follows.
    let behind = if behind[..end].contains(':') {
        ""
    } else {
        &behind[..end]
    };
    (before.get(start..).unwrap_or(before), behind)
}

/// Where the next number begins; those inside words (`lpddr5x`) are none.
fn next_number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (1..bytes.len()).find(|&at| bytes[at].is_ascii_digit() && bytes[at - 1] == b' ')
}

fn role(lower: &str, amount: &Amount) -> Role {
    let (before, behind) = around(lower, amount);
    // The words behind a size are about it before those in front are: `16.0 GiB, 15.8 GiB free`.
    for words in [behind, before] {
        let has = |word: &str| has_word(words, word);
        if has("vram") {
            return Role::Total;
        }
        if has("ram")
            || has("ddr4")
            || has("ddr5")
            || has("lpddr5")
            || has("lpddr5x")
            || words.contains("system memory")
            || words.contains("unified memory")
        {
            return if has("free") || has("available") {
                Role::RamFree
            } else {
                Role::Ram
            };
        }
        if has("free") || has("available") || has("avail") {
            return Role::Free;
        }
        if has("used") {
            return Role::Used;
        }
        if has("dedicated") {
            return Role::Own;
        }
        if has("shared") {
            return Role::Shared;
        }
    }
    Role::Total
}
