//! Windows: what DXGI, `dxdiag`, WMI, the registry and `systeminfo` say about adapters and RAM.

use plimsoll_units::Bytes;

use super::scan::{after, amount, field, leading_number, whole};
use super::{Api, Place, Sighting, Text, Told, Trust, vendor_of};

/// WMI keeps an adapter's memory in 32 bits: at 4 GiB less one MiB, or less one byte, it says nothing.
const ADAPTER_RAM_FULL: [u64; 2] = [4_293_918_720, 4_294_967_295];

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let mut reader = Reader {
        list: text.list(32),
        windows: text.os.starts_with("windows"),
        wmi: text.key_has("wmi") || text.key_has("adapterram") || text.key_has("videocontroller"),
        seen: Vec::new(),
    };
    if text.key_has("memorychip") || text.key_has("physicalmemory") {
        modules(text, told);
        return;
    }
    let dxdiag = text.key_has("dxdiag") || text.key_has("dxgi") || text.key_has("adapter");
    for line in &mut text.lines {
        if !line.taken {
            line.taken = reader.dxgi_log(line.text)
                || reader.record(line.text)
                || reader.wmi(line.text)
                || reader.block(line.text, dxdiag)
                || system(line.text, told);
        }
    }
    for gpu in reader.seen {
        told.see(gpu);
    }
}

/// `wmic memorychip get capacity`, `Get-CimInstance Win32_PhysicalMemory`: the modules, in bytes.
fn modules(text: &mut Text<'_>, told: &mut Told) {
    let mut total = Bytes::ZERO;
    for line in &mut text.lines {
        let value = field(line.text, "Capacity").unwrap_or(line.text);
        if let Some(bytes) = whole(value.trim()).filter(|&bytes| bytes >= 1 << 28) {
            total = total.plus(Bytes(bytes));
            line.taken = true;
        }
    }
    let total = Some(total).filter(|&total| total > Bytes::ZERO);
    told.say_ram(total, None, Trust::Installed, "memory modules");
}

struct Reader {
    list: u32,
    windows: bool,
    wmi: bool,
    seen: Vec<Sighting>,
}

impl Reader {
    fn open(&mut self, source: &str) -> &mut Sighting {
        self.seen.push(Sighting::new(Api::Windows, source, self.list));
        let last = self.seen.len() - 1;
        &mut self.seen[last]
    }

    fn by_luid(&mut self, luid: &str, source: &str) -> &mut Sighting {
        if let Some(at) = self.seen.iter().position(|gpu| gpu.uuid.as_deref() == Some(luid)) {
            return &mut self.seen[at];
        }
        let gpu = self.open(source);
        gpu.uuid = Some(luid.to_owned());
        gpu
    }

    /// `[DXGI] Adapter Description: NAME, LUID: 0x…, Dedicated: 0.12 GB, Shared: 27.45 GB`, and later with bytes:
    /// `Integrated GPU (NAME) with LUID 0x… detected. Shared Total: 29470189240.00 bytes (27.45 GB), …`.
    fn dxgi_log(&mut self, line: &str) -> bool {
        if let Some(rest) = after(line, "Adapter Description:") {
            let (name, rest) = rest.split_once(", LUID:").unwrap_or((rest, ""));
            let luid = luid(rest).unwrap_or_else(|| format!("row {}", self.seen.len()));
            let gpu = self.by_luid(&luid, "DXGI");
            name.trim().clone_into(&mut gpu.name);
            gpu.own = after(rest, "Dedicated:").and_then(amount);
            gpu.shared = after(rest, "Shared:").and_then(amount);
            return true;
        }
        let Some((head, rest)) = line.split_once("GPU (").filter(|_| line.contains(" with LUID ")) else {
            return line.contains("DXGI") || line.contains("ggml_dxgi");
        };
        let (name, rest) = rest.split_once(") with LUID ").unwrap_or((rest, ""));
        let luid = luid(rest).unwrap_or_default();
        let integrated = head.contains("Integrated");
        let gpu = self.by_luid(&luid, "DXGI");
        if gpu.name.is_empty() {
            name.trim().clone_into(&mut gpu.name);
        }
        if !integrated {
            gpu.place = Some(Place::Card);
        }
        let bytes = |label: &str| after(rest, label).and_then(leading_number).map(Bytes);
        gpu.shared = bytes("Shared Total:").or(gpu.shared);
        gpu.own = bytes("Dedicated Total:").or(gpu.own);
        gpu.used = bytes(if integrated {
            "Shared Usage:"
        } else {
            "Dedicated Usage:"
        })
        .or(gpu.used);
        true
    }

    /// `GPUInfo(name='…', dedicated_gpu_memory=17171480576, avail_dedicated_gpu_memory=…)`
    fn record(&mut self, line: &str) -> bool {
        if !line.contains("dedicated_gpu_memory=") {
            return false;
        }
        let text = |label: &str| {
            after(line, label).and_then(|rest| rest.trim_start_matches(['\'', '"']).split(['\'', '"']).next())
        };
        let number = |label: &str| after(line, label).and_then(leading_number).map(Bytes);
        let name = text("name=").unwrap_or_default().to_owned();
        let (own, free, shared) = (
            number("(dedicated_gpu_memory=").or_else(|| number(" dedicated_gpu_memory=")),
            number("avail_dedicated_gpu_memory="),
            number("shared_system_memory="),
        );
        let gpu = self.open("DXGI");
        (gpu.name, gpu.own, gpu.free, gpu.shared) = (name, own, free, shared);
        true
    }

    /// `Intel(R) HD Graphics 4000|2158112768`, `Win32_VideoController.AdapterRAM = 4293918720 bytes`, a number
    /// under such a key, or a list of `AdapterRAM : …` and `Name : …`.
    fn wmi(&mut self, line: &str) -> bool {
        let labelled = after(line, "AdapterRAM").map(|rest| rest.trim_start_matches([' ', ':', '=', '\t']));
        let number = labelled.and_then(leading_number).or_else(|| {
            self.wmi
                .then(|| line.rsplit(['|', ',', '\t']).next().and_then(whole))
                .flatten()
        });
        let name = line
            .split(['|', ',', '\t'])
            .flat_map(|part| part.split("  "))
            .map(str::trim)
            .find(|part| vendor_of(part).is_some() && (self.wmi || labelled.is_some()))
            .map(|part| {
                field(part, "Name")
                    .or_else(|| field(part, "Caption"))
                    // The label itself may stand in the part before.
                    .unwrap_or_else(|| part.trim_start_matches([':', '=', ' ']))
            });
        if number.is_none() && name.is_none() {
            return false;
        }
        // In a list the name and the number stand on lines of their own, in either order.
        let joins = self.seen.last().is_some_and(|last| {
            last.source == "WMI AdapterRAM"
                && if number.is_some() {
                    last.weak_size_open()
                } else {
                    last.name.is_empty()
                }
        });
        let gpu = if joins {
            let last = self.seen.len() - 1;
            &mut self.seen[last]
        } else {
            self.open("WMI AdapterRAM")
        };
        if let Some(name) = name {
            name.clone_into(&mut gpu.name);
        }
        if let Some(number) = number {
            gpu.weak = true;
            gpu.own = Some(Bytes(number)).filter(|_| !ADAPTER_RAM_FULL.contains(&number) && number > 0);
        }
        true
    }

    /// Blocks of labels: `dxdiag`, a printed `DXGI_ADAPTER_DESC`, the registry's class key.
    fn block(&mut self, line: &str, adapters: bool) -> bool {
        let name = ["Card name", "DriverDesc", "HardwareInformation.AdapterString"]
            .iter()
            .find_map(|label| registry(line, label))
            .or_else(|| {
                adapters
                    .then(|| registry(line, "Description").or_else(|| registry(line, "Name")))
                    .flatten()
            });
        if let Some(name) = name {
            let joins = self.seen.last().is_some_and(|last| last.name.is_empty());
            if !joins {
                self.open("DXGI");
            }
            if let Some(gpu) = self.seen.last_mut() {
                name.clone_into(&mut gpu.name);
            }
            return true;
        }
        let own = [
            "Dedicated Memory",
            "DedicatedVideoMemory",
            "Dedicated Video Memory",
            "HardwareInformation.qwMemorySize",
            "qwMemorySize",
        ]
        .iter()
        .find_map(|label| registry(line, label))
        .and_then(bytes);
        let shared = ["Shared Memory", "SharedSystemMemory", "Shared System Memory"]
            .iter()
            .filter(|_| adapters || self.windows)
            .find_map(|label| registry(line, label))
            .and_then(bytes);
        if own.is_none() && shared.is_none() {
            return registry(line, "Display Memory").is_some()
                || registry(line, "DedicatedSystemMemory").is_some();
        }
        let joins = self.seen.last().is_some_and(|last| {
            last.source == "DXGI"
                && if own.is_some() {
                    last.own.is_none()
                } else {
                    last.shared.is_none()
                }
        });
        if !joins {
            self.open("DXGI");
        }
        if let Some(gpu) = self.seen.last_mut() {
            gpu.own = own.or(gpu.own);
            gpu.shared = shared.or(gpu.shared);
        }
        true
    }
}

impl Sighting {
    fn weak_size_open(&self) -> bool {
        !self.weak && self.own.is_none()
    }
}

/// `0x000000000000FF6B` in one spelling.
fn luid(text: &str) -> Option<String> {
    let hex = after(text, "0x")?;
    let digits = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
    let number = u64::from_str_radix(hex.get(..digits)?, 16).ok()?;
    Some(format!("{number:x}"))
}

/// A label with a colon, an equals sign, or in the registry's form `NAME    REG_QWORD    0x3fb000000`.
fn registry<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    field(line, label).or_else(|| {
        let rest = line.trim_start().strip_prefix(label)?.trim_start();
        let (kind, value) = rest.split_once(char::is_whitespace)?;
        kind.starts_with("REG_").then(|| value.trim())
    })
}

fn bytes(value: &str) -> Option<Bytes> {
    let value = value.trim();
    if let Some(hex) = value.strip_prefix("0x") {
        let digits = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
        return u64::from_str_radix(&hex[..digits], 16).ok().map(Bytes);
    }
    amount(value).or_else(|| whole(value.split(' ').next()?).map(Bytes))
}

/// `systeminfo`, `msinfo32` and `Win32_OperatingSystem`.
fn system(line: &str, told: &mut Told) -> bool {
    if let Some(total) = field(line, "Total Physical Memory").and_then(amount) {
        told.say_ram(Some(total), None, Trust::Rounded, "systeminfo");
    } else if let Some(free) = field(line, "Available Physical Memory").and_then(amount) {
        told.say_ram(None, Some(free), Trust::Rounded, "systeminfo");
    } else if let Some(total) = ["TotalPhysicalMemory", "ullTotalPhys"]
        .iter()
        .find_map(|label| field(line, label))
        .and_then(whole)
    {
        told.say_ram(Some(Bytes(total)), None, Trust::Exact, "Win32_ComputerSystem");
    } else if let Some(total) = field(line, "TotalVisibleMemorySize").and_then(whole) {
        told.say_ram(
            Some(Bytes::kib(total)),
            None,
            Trust::Exact,
            "Win32_OperatingSystem",
        );
    } else if let Some(free) = field(line, "FreePhysicalMemory").and_then(whole) {
        told.say_ram(
            None,
            Some(Bytes::kib(free)),
            Trust::Exact,
            "Win32_OperatingSystem",
        );
    } else if let Some(total) = line
        .trim()
        .strip_prefix("Installed Physical Memory (RAM)")
        .and_then(amount)
    {
        told.say_ram(Some(total), None, Trust::Installed, "msinfo32");
    } else {
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::tests::told_by;

    /// Name, own, shared and used, in MiB.
    type Row = (String, Option<u64>, Option<u64>, Option<u64>);

    fn rows(told: &Told) -> Vec<Row> {
        let mib = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0 >> 20);
        told.gpus
            .iter()
            .map(|gpu| (gpu.name.clone(), mib(gpu.own), mib(gpu.shared), mib(gpu.used)))
            .collect()
    }

    #[test]
    fn a_log_of_dxgi_in_two_passes_is_one_adapter() {
        let told = told_by(
            "windows",
            "ollama DXGI",
            "[DXGI] Adapter Description: Intel(R) Arc(TM) 130V GPU (16GB), LUID: 0x000000000000FF6B, Dedicated: 0.12 GB, Shared: 27.45 GB\n\
             [DXGI] Adapter Description: Microsoft Basic Render Driver, LUID: 0x000000000001038E, Dedicated: 0.00 GB, Shared: 27.45 GB\n\
             Integrated GPU (Intel(R) Arc(TM) 130V GPU (16GB)) with LUID 0x000000000000ff6b detected. Shared Total: 29470189240.00 bytes (27.45 GB), Shared Usage: 1070800896.00 bytes (1.00 GB), Dedicated Total: 134217728.00 bytes (0.12 GB), Dedicated Usage: 0.00",
        );
        let arc = (
            "Intel(R) Arc(TM) 130V GPU (16GB)".to_owned(),
            Some(128),
            Some(28_104),
            Some(1021),
        );
        assert_eq!(rows(&told), [arc]);
        assert_eq!(told.software, ["Microsoft Basic Render Driver"]);
    }

    #[test]
    fn thirty_two_bits_say_no_size() {
        for (key, line, size) in [
            ("WMI AdapterRAM", "4293918720", None),
            ("WMI", "Win32_VideoController.AdapterRAM = 4293918720 bytes", None),
            ("WMI AdapterRAM", "4294967295", None),
            (
                "WMI Name|AdapterRAM",
                "Intel(R) HD Graphics 4000|2158112768",
                Some(2058),
            ),
        ] {
            let told = told_by("windows", key, line);
            assert_eq!(rows(&told)[0].1, size, "{line}");
            assert!(told.gpus[0].weak, "{line}");
        }
    }

    #[test]
    fn dxdiag_and_the_registry_say_what_is_dedicated() {
        let told = told_by(
            "windows",
            "dxdiag/DXGI",
            "Dedicated Memory: 8448 MB\nShared Memory: 12197 MB\nDisplay Memory: 20645 MB",
        );
        assert_eq!(rows(&told), [(String::new(), Some(8448), Some(12_197), None)]);
        let told = told_by(
            "windows",
            "reg query",
            "    DriverDesc    REG_SZ    AMD Radeon RX 6800 XT\n    HardwareInformation.qwMemorySize    REG_QWORD    0x3ff000000",
        );
        assert_eq!(
            rows(&told),
            [("AMD Radeon RX 6800 XT".to_owned(), Some(16_368), None, None)]
        );
    }

    #[test]
    fn another_program_hands_on_what_dxgi_said() {
        let told = told_by(
            "windows",
            "launcher log",
            "GPUInfo(index=None, name='NVIDIA GeForce RTX 4080', dedicated_gpu_memory=17171480576, dedicated_system_memory=None, shared_system_memory=None, avail_dedicated_gpu_memory=15920529408)",
        );
        let [gpu] = told.gpus.as_slice() else {
            panic!("{:?}", told.gpus)
        };
        assert_eq!(
            (gpu.own, gpu.free),
            (Some(Bytes(17_171_480_576)), Some(Bytes(15_920_529_408)))
        );
    }

    #[test]
    fn ram_by_systeminfo_and_wmi() {
        for (line, bytes) in [
            ("Total Physical Memory:     16,429 MB", Bytes::mib(16_429)),
            ("TotalPhysicalMemory : 34190458880", Bytes(34_190_458_880)),
            ("TotalVisibleMemorySize : 16643068", Bytes::kib(16_643_068)),
            ("Installed Physical Memory (RAM)	32.0 GB", Bytes::gib(32)),
        ] {
            let told = told_by("windows", "systeminfo", line);
            assert_eq!(told.ram.first().and_then(|ram| ram.total), Some(bytes), "{line}");
        }
    }
}
