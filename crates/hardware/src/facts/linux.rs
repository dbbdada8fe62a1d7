//! Reading Linux's own files. Nothing here decides anything; a file that is not there is left out.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use plimsoll_os::files::{self, Access};
use plimsoll_units::Bytes;

use super::firmware;

pub(super) type Said = BTreeMap<String, Vec<String>>;

/// Of any one file; `cpuinfo` of a large machine is the only one that comes near.
const FILE_BYTES_MAX: Bytes = Bytes::kib(64);
const PCI_DEVICES_MAX: usize = 4096;
const GPUS_MAX: usize = 64;
/// How far up a control group is followed.
const GROUP_DEPTH_MAX: usize = 16;

/// Reads below a root, which is `/` except in tests.
pub(super) struct Reader {
    root: PathBuf,
}

impl Reader {
    pub(super) fn of_this_machine() -> Self {
        Self::below("/")
    }

    pub(super) fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The first `limit` bytes.
    pub(super) fn bytes(&self, path: &str, limit: Bytes) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.at(path))
            .ok()?
            .take(limit.0)
            .read_to_end(&mut bytes)
            .ok()?;
        Some(bytes)
    }

    fn lines(&self, path: &str) -> Option<Vec<String>> {
        let bytes = self.bytes(path, FILE_BYTES_MAX)?;
        Some(
            String::from_utf8_lossy(&bytes)
                .lines()
                .map(str::to_owned)
                .collect(),
        )
    }

    pub(super) fn value(&self, path: &str) -> Option<String> {
        self.lines(path)?.first().map(|line| line.trim().to_owned())
    }

    pub(super) fn keep(&self, said: &mut Said, path: &str) {
        if let Some(lines) = self.lines(path) {
            said.insert(path.to_owned(), lines);
        }
    }

    pub(super) fn keep_some(&self, said: &mut Said, path: &str, wanted: impl Fn(&str) -> bool) {
        if let Some(mut lines) = self.lines(path) {
            lines.retain(|line| wanted(line));
            said.insert(path.to_owned(), lines);
        }
    }

    /// Names in a folder, sorted: the order of a folder differs from run to run.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.at(path)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    fn link_name(&self, path: &str) -> Option<String> {
        Some(
            fs::read_link(self.at(path))
                .ok()?
                .file_name()?
                .to_str()?
                .to_owned(),
        )
    }
}

pub(super) fn read(reader: &Reader) -> Said {
    let mut said = read_memory(reader);
    for path in ["/etc/os-release", "/usr/lib/os-release"] {
        reader.keep_some(&mut said, path, |line| {
            ["PRETTY_NAME=", "ID=", "VERSION_ID="]
                .iter()
                .any(|name| line.starts_with(name))
        });
        if said.contains_key(path) {
            break;
        }
    }
    for path in [
        "/proc/sys/kernel/osrelease",
        "/proc/driver/nvidia/version",
        "/sys/devices/system/cpu/online",
    ] {
        reader.keep(&mut said, path);
    }
    read_cpu(reader, &mut said);
    read_gpus(reader, &mut said);
    firmware::read(reader, &mut said);
    said
}

/// RAM, and the control groups that may allow less of it.
pub(super) fn read_memory(reader: &Reader) -> Said {
    let mut said = Said::new();
    reader.keep_some(&mut said, "/proc/meminfo", |line| {
        [
            "MemTotal:",
            "MemFree:",
            "MemAvailable:",
            "Buffers:",
            "Cached:",
            "SwapTotal:",
            "SwapFree:",
        ]
        .iter()
        .any(|name| line.starts_with(name))
    });
    reader.keep_some(&mut said, "/proc/self/cgroup", |line| {
        line.starts_with("0::")
            || line
                .split(':')
                .nth(1)
                .is_some_and(|kinds| kinds.split(',').any(|kind| kind == "memory"))
    });
    for line in said.get("/proc/self/cgroup").cloned().unwrap_or_default() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(_), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (base, files): (&str, &[&str]) = if number == "0" {
            ("/sys/fs/cgroup", &["memory.max", "memory.high", "memory.current"])
        } else {
            (
                "/sys/fs/cgroup/memory",
                &["memory.limit_in_bytes", "memory.usage_in_bytes"],
            )
        };
        for folder in group_folders(base, group) {
            for file in files {
                reader.keep(&mut said, &format!("{folder}/{file}"));
            }
            reader.keep_some(&mut said, &format!("{folder}/memory.stat"), |line| {
                [
                    "inactive_file ",
                    "total_inactive_file ",
                    "hierarchical_memory_limit ",
                ]
                .iter()
                .any(|name| line.starts_with(name))
            });
        }
    }
    said
}

/// The group and all above it: a limit anywhere on the way counts. In a container the named path often does not
/// exist below the mount, whose root is then the container's own group.
fn group_folders(base: &str, group: &str) -> Vec<String> {
    let parts: Vec<&str> = group
        .split('/')
        .filter(|part| !part.is_empty() && *part != "..")
        .collect();
    (0..=parts.len().min(GROUP_DEPTH_MAX))
        .map(|depth| {
            let below: String = parts[..depth].iter().flat_map(|part| ["/", part]).collect();
            format!("{base}{below}")
        })
        .collect()
}

fn read_cpu(reader: &Reader, said: &mut Said) {
    if let Some(lines) = reader.lines("/proc/cpuinfo") {
        // The first processor stands for all; the others only repeat its flags.
        let first: Vec<String> = lines
            .into_iter()
            .take_while(|line| !line.trim().is_empty())
            .collect();
        said.insert("/proc/cpuinfo".to_owned(), first);
    }
}

fn read_gpus(reader: &Reader, said: &mut Said) {
    const FILES: [&str; 15] = [
        "vendor",
        "device",
        "revision",
        "class",
        "boot_vga",
        "power/runtime_status",
        "mem_info_vram_total",
        "mem_info_vram_used",
        "mem_info_vis_vram_total",
        "mem_info_gtt_total",
        "mem_info_gtt_used",
        "mem_info_vram_vendor",
        "product_name",
        "resource",
        "ip_discovery/die/0/GC/0/major",
    ];
    let mut found = 0;
    for address in reader
        .names("/sys/bus/pci/devices")
        .into_iter()
        .take(PCI_DEVICES_MAX)
    {
        let folder = format!("/sys/bus/pci/devices/{address}");
        // 0x03: displays; 0x12: accelerators without one, such as AMD's Instinct.
        let class = reader.value(&format!("{folder}/class")).unwrap_or_default();
        if !(class.starts_with("0x03") || class.starts_with("0x12")) || found == GPUS_MAX {
            continue;
        }
        found += 1;
        for file in FILES {
            reader.keep(said, &format!("{folder}/{file}"));
        }
        for file in ["minor", "revision"] {
            reader.keep(said, &format!("{folder}/ip_discovery/die/0/GC/0/{file}"));
        }
        if let Some(driver) = reader.link_name(&format!("{folder}/driver")) {
            said.insert(format!("{folder}/driver"), vec![driver]);
        }
        for entry in reader.names(&format!("{folder}/drm")) {
            let below = format!("{folder}/drm/{entry}");
            if entry.starts_with("renderD") {
                let device = format!("/dev/dri/{entry}");
                said.insert(format!("{folder}/render"), vec![device.clone()]);
                said.insert(
                    format!("access {device}"),
                    vec![access(&reader.at(&device)).to_owned()],
                );
            } else if entry.starts_with("card") && !entry.contains('-') {
                // Under the card's own folder, whatever its number is on that machine.
                for file in ["lmem_total_bytes", "lmem_avail_bytes"] {
                    if let Some(value) = reader.value(&format!("{below}/{file}")) {
                        said.insert(format!("{folder}/{file}"), vec![value]);
                    }
                }
            }
        }
        reader.keep(said, &format!("{folder}/tile0/physical_vram_size_bytes"));
        read_names(reader, said, &folder);
    }
}

/// Whether this program may use a device file.
fn access(path: &Path) -> &'static str {
    match files::access(path) {
        Access::Yes => "yes",
        Access::Missing => "missing",
        Access::Denied => "denied",
    }
}

/// The names that people know, from the lists of the distribution where they are installed.
fn read_names(reader: &Reader, said: &mut Said, folder: &str) {
    let id = |file: &str| {
        Some(
            reader
                .value(&format!("{folder}/{file}"))?
                .trim_start_matches("0x")
                .to_ascii_lowercase(),
        )
    };
    let (Some(vendor), Some(device)) = (id("vendor"), id("device")) else {
        return;
    };
    if vendor == "1002" {
        let revision = id("revision").unwrap_or_default();
        for list in [
            "/usr/share/libdrm/amdgpu.ids",
            "/opt/amdgpu/share/libdrm/amdgpu.ids",
        ] {
            let wanted = (device.to_ascii_uppercase(), revision.to_ascii_uppercase());
            if let Some(name) = amdgpu_name(&reader.at(list), &wanted) {
                said.insert(format!("amdgpu.ids {device}:{revision}"), vec![name]);
                break;
            }
        }
    }
    for list in ["/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids"] {
        if let Some(name) = pci_name(&reader.at(list), &vendor, &device) {
            said.insert(format!("pci.ids {vendor}:{device}"), vec![name]);
            break;
        }
    }
}

/// Lines of the form `744C,\tC8,\tAMD Radeon RX 7900 XTX`.
fn amdgpu_name(list: &Path, wanted: &(String, String)) -> Option<String> {
    let lines = BufReader::new(File::open(list).ok()?).lines();
    lines.map_while(Result::ok).find_map(|line| {
        let mut parts = line.splitn(3, ',').map(str::trim);
        let same = parts.next() == Some(wanted.0.as_str()) && parts.next() == Some(wanted.1.as_str());
        same.then(|| parts.next().map(str::to_owned)).flatten()
    })
}

/// A vendor's line starts the line of its devices, which are set in by one tab.
fn pci_name(list: &Path, vendor: &str, device: &str) -> Option<String> {
    let mut reader = BufReader::new(File::open(list).ok()?);
    let mut line = Vec::new();
    let mut in_vendor = false;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&line);
        if let Some(of_device) = text.strip_prefix('\t') {
            if in_vendor
                && let Some(name) = of_device
                    .strip_prefix(device)
                    .filter(|name| name.starts_with("  "))
            {
                return Some(name.trim().to_owned());
            }
        } else if in_vendor && !text.starts_with('#') {
            return None;
        } else {
            in_vendor = text.starts_with(vendor) && text[vendor.len()..].starts_with("  ");
        }
    }
}

/// A machine of files, below a root of its own.
#[cfg(test)]
pub(super) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Reader) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path.trim_start_matches('/'));
        plimsoll_os::files::create_dir(path.parent().unwrap()).unwrap();
        plimsoll_os::files::replace(&path, text.as_bytes()).unwrap();
    }
    let reader = Reader::below(root.path());
    (root, reader)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_with_its_driver_its_name_and_its_device_file() {
        let card = "/sys/bus/pci/devices/0000:03:00.0";
        let file = |name: &str| format!("{card}/{name}");
        let (root, reader) = tree(&[
            (&file("class"), "0x030000\n"),
            (&file("vendor"), "0x1002\n"),
            (&file("device"), "0x744c\n"),
            (&file("revision"), "0xc8\n"),
            (&file("mem_info_vram_total"), "25753026560\n"),
            (&file("drm/card1/dev"), "226:1\n"),
            (&file("drm/renderD129/dev"), "226:129\n"),
            (&file("drm/card1-DP-1/status"), "connected\n"),
            ("/sys/bus/pci/devices/0000:00:1f.0/class", "0x060100\n"),
            (
                "/usr/share/libdrm/amdgpu.ids",
                "1.0.0\n744C,\tC7,\tother\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n",
            ),
            (
                "/usr/share/misc/pci.ids",
                "# list\n1001  Other\n\t744c  Wrong\n1002  AMD\n\t744b  Not this\n\t744c  Navi 31\n\t\t1002 0e3b  sub\n10de  NVIDIA\n",
            ),
        ]);
        std::os::unix::fs::symlink(
            "../../../bus/pci/drivers/amdgpu",
            root.path().join(&file("driver")[1..]),
        )
        .unwrap();
        let said = read(&reader);
        let first = |key: &str| said.get(key).and_then(|lines| lines.first()).map(String::as_str);
        assert_eq!(first(&file("driver")), Some("amdgpu"));
        assert_eq!(first(&file("mem_info_vram_total")), Some("25753026560"));
        assert_eq!(first("amdgpu.ids 744c:c8"), Some("AMD Radeon RX 7900 XTX"));
        assert_eq!(first("pci.ids 1002:744c"), Some("Navi 31"));
        assert_eq!(
            first("access /dev/dri/renderD129"),
            Some("missing"),
            "listed, but not lent to this program"
        );
        assert!(
            !said.keys().any(|key| key.contains("1f.0")),
            "only what may be a GPU"
        );
    }

    #[test]
    fn limits_are_read_from_the_group_up_to_the_root() {
        let (_root, reader) = tree(&[
            (
                "/proc/self/cgroup",
                "12:cpu:/x\n4:memory:/docker/abc\n0::/user.slice/app\n",
            ),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "8589934592\n"),
            ("/sys/fs/cgroup/user.slice/memory.max", "max\n"),
            ("/sys/fs/cgroup/user.slice/app/memory.max", "4294967296\n"),
        ]);
        let said = read_memory(&reader);
        let keys: Vec<&str> = said
            .keys()
            .map(String::as_str)
            .filter(|key| key.starts_with("/sys"))
            .collect();
        assert_eq!(
            keys,
            [
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/user.slice/app/memory.max",
                "/sys/fs/cgroup/user.slice/memory.max"
            ]
        );
    }

    #[test]
    fn a_machine_without_anything_is_an_empty_record() {
        let (_root, reader) = tree(&[]);
        assert_eq!(read(&reader), Said::new());
    }

    #[test]
    fn an_endless_file_is_cut() {
        let (_root, reader) = tree(&[("/proc/cpuinfo", &"x".repeat(1 << 20))]);
        assert_eq!(read(&reader)["/proc/cpuinfo"][0].len() as u64, FILE_BYTES_MAX.0);
    }
}
