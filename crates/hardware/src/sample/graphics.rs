//! The memory of devices while they work: NVIDIA's as its child said, AMD's by the files of its driver, Intel's by
//! what the kernel counts for each process.

use std::path::Path;

use plimsoll_units::Bytes;

use crate::judge::size;
use crate::machine::{Device, DeviceKind, Machine};

use super::drm::{self, Region, text};
use super::nvidia::{CardUse, cards_of};
use super::{DeviceUse, split};

/// Looking into all processes costs more than into our own, and others move slowly.
const LOOKS_BETWEEN_OTHERS: u32 = 10;

pub(super) struct Graphics {
    amd: Vec<Device>,
    nvidia: Vec<Device>,
    intel: Vec<Intel>,
}

/// Intel's drivers tell nobody how much of a device is used, only what each process holds.
struct Intel {
    device: Device,
    others: Bytes,
    looks: u32,
}

impl Graphics {
    pub(super) fn of(machine: &Machine) -> Self {
        let made_by = |vendor: &'static str| {
            machine
                .devices
                .iter()
                .filter(move |device| device.vendor == vendor)
                .cloned()
        };
        Self {
            amd: made_by("AMD").collect(),
            intel: made_by("Intel").map(Intel::new).collect(),
            nvidia: cards_of(machine),
        }
    }

    /// `said`: what NVIDIA's cards hold.
    pub(super) fn look(&mut self, ours: &[u32], said: &[CardUse]) -> Vec<DeviceUse> {
        let mut devices: Vec<DeviceUse> = self
            .amd
            .iter()
            .filter_map(|device| amd(Path::new("/"), device, ours))
            .collect();
        devices.extend(
            self.intel
                .iter_mut()
                .filter_map(|device| device.look(Path::new("/"), ours)),
        );
        for device in &self.nvidia {
            let Some(card) = said.iter().find(|card| card.id == device.id) else {
                continue;
            };
            let app = card.by_process.as_ref().map(|list| {
                list.iter()
                    .filter(|(pid, _)| ours.contains(pid))
                    .map(|(_, bytes)| *bytes)
                    .sum()
            });
            devices.push(device_use(device, card.used, app));
        }
        devices
    }
}

fn device_use(device: &Device, used: Bytes, app: Option<Bytes>) -> DeviceUse {
    DeviceUse {
        id: device.id.clone(),
        name: device.name.clone(),
        memory: split::of_device(device.total, used, app),
        app_known: app.is_some(),
    }
}

/// `root` is `/` except in tests.
fn amd(root: &Path, device: &Device, ours: &[u32]) -> Option<DeviceUse> {
    let address = device.id.strip_prefix("pci-")?;
    let folder = root.join("sys/bus/pci/devices").join(address);
    if is_asleep(&folder) {
        return Some(device_use(device, Bytes::ZERO, Some(Bytes::ZERO)));
    }
    let read = |name: &str| {
        let text = text(&folder.join(name))?;
        size(&text, name, &mut Vec::new())
    };
    let own = read("mem_info_vram_used")?;
    // What a device borrows counts where the plan counts it: on one whose total includes it.
    let borrows = device.dedicated.is_some_and(|own| own < device.total);
    let used = if borrows {
        own.plus(read("mem_info_gtt_used").unwrap_or_default())
    } else {
        own
    };
    let region = if borrows {
        Region::OwnAndBorrowed
    } else {
        Region::Own
    };
    let app = ours
        .iter()
        .map(|&pid| drm::held_by(root, pid, address, region))
        .sum();
    Some(device_use(device, used, Some(app)))
}

impl Intel {
    fn new(device: Device) -> Self {
        Self {
            device,
            others: Bytes::ZERO,
            looks: 0,
        }
    }

    /// Processes of other people keep their files to themselves, so what others hold is the least it can be.
    fn look(&mut self, root: &Path, ours: &[u32]) -> Option<DeviceUse> {
        let address = self.device.id.strip_prefix("pci-")?;
        let region = match self.device.kind {
            DeviceKind::Discrete | DeviceKind::Remote => Region::Own,
            DeviceKind::Integrated | DeviceKind::Unified => Region::OwnAndBorrowed,
        };
        let held = |pids: &mut dyn Iterator<Item = u32>| -> Bytes {
            pids.map(|pid| drm::held_by(root, pid, address, region)).sum()
        };
        let app = held(&mut ours.iter().copied());
        if self.looks.is_multiple_of(LOOKS_BETWEEN_OTHERS) {
            let mut others = drm::processes(root).into_iter().filter(|pid| !ours.contains(pid));
            self.others = held(&mut others);
        }
        self.looks = self.looks.wrapping_add(1);
        Some(device_use(&self.device, app.plus(self.others), Some(app)))
    }
}

pub(super) fn is_asleep(folder: &Path) -> bool {
    text(&folder.join("power/runtime_status")).is_some_and(|status| status.trim() == "suspended")
}

#[cfg(test)]
mod tests {
    use plimsoll_os::files;

    use super::*;
    use crate::machine::Backend;

    fn tree(list: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in list {
            let path = root.path().join(path);
            files::create_dir(path.parent().unwrap()).unwrap();
            files::replace(&path, content.as_bytes()).unwrap();
        }
        root
    }

    fn radeon(dedicated: Option<Bytes>) -> Device {
        Device {
            id: "pci-0000:03:00.0".into(),
            name: "Radeon".into(),
            vendor: "AMD".into(),
            kind: if dedicated.is_some() {
                DeviceKind::Unified
            } else {
                DeviceKind::Discrete
            },
            backends: vec![Backend::Vulkan],
            total: Bytes::gib(24),
            free: Bytes::gib(24),
            dedicated,
            bandwidth: None,
            platform: crate::machine::Platform::default(),
            source: String::new(),
        }
    }

    #[test]
    fn the_memory_of_a_card_is_split_by_process() {
        let client = "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\ndrm-memory-vram:\t1048576 KiB\ndrm-memory-gtt:\t2048 KiB\n";
        let other_card = client.replace("03:00", "0a:00").replace("id:\t7", "id:\t8");
        let root = tree(&[
            (
                "sys/bus/pci/devices/0000:03:00.0/mem_info_vram_used",
                "3221225472\n",
            ),
            ("sys/bus/pci/devices/0000:03:00.0/mem_info_gtt_used", "4194304\n"),
            ("proc/77/fdinfo/4", client),
            ("proc/77/fdinfo/5", client),
            ("proc/77/fdinfo/6", &other_card),
            ("proc/77/fdinfo/7", "pos:\t0\n"),
        ]);
        let card = amd(root.path(), &radeon(None), &[77, 78]).unwrap();
        let memory = card.memory;
        assert_eq!(
            (memory.app, memory.others, memory.free),
            (Bytes::gib(1), Bytes::gib(2), Bytes::gib(21))
        );
        let inside = amd(root.path(), &radeon(Some(Bytes::mib(512))), &[77]).unwrap();
        assert_eq!(
            inside.memory.app,
            Bytes::gib(1).plus(Bytes::mib(2)),
            "what it borrows counts there"
        );
    }

    #[test]
    fn an_arc_is_split_by_what_each_process_holds() {
        let client = |address: &str, mib: u64| {
            format!(
                "drm-driver:\txe\ndrm-pdev:\t{address}\ndrm-client-id:\t3\ndrm-resident-vram0:\t{mib} MiB\n"
            )
        };
        let root = tree(&[
            ("proc/77/fdinfo/4", &client("0000:03:00.0", 2048)),
            ("proc/90/fdinfo/4", &client("0000:03:00.0", 1024)),
            ("proc/91/fdinfo/4", &client("0000:00:02.0", 512)),
            ("proc/meminfo", "MemTotal: 1 kB\n"),
        ]);
        let arc = Device {
            name: "Arc".into(),
            vendor: "Intel".into(),
            total: Bytes::gib(12),
            ..radeon(None)
        };
        let memory = Intel::new(arc).look(root.path(), &[77]).unwrap().memory;
        assert_eq!(
            (memory.app, memory.others, memory.free),
            (Bytes::gib(2), Bytes::gib(1), Bytes::gib(9))
        );
    }

    #[test]
    fn a_sleeping_card_is_not_woken() {
        let root = tree(&[(
            "sys/bus/pci/devices/0000:03:00.0/power/runtime_status",
            "suspended\n",
        )]);
        let card = amd(root.path(), &radeon(None), &[]).unwrap();
        assert_eq!(card.memory.free, card.memory.total);
    }
}
