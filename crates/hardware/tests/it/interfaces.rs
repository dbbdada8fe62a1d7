//! The same device through several interfaces is one device, and each interface counts memory in its own way.

use plimsoll_hardware::facts::{
    Asked, DxgiAdapter, MetalDevice, Nvml, NvmlDevice, NvmlMemory, Reading, System, VulkanDevice, VulkanHeap,
    VulkanKind,
};
use plimsoll_hardware::{Backend, Class, Device, DeviceKind, Facts, Machine, Note, judge};
use plimsoll_units::Bytes;

use crate::recordings::all;

fn asked(os: &str, ram: Bytes) -> Facts {
    Facts {
        schema: 1,
        os: os.to_owned(),
        system: Some(System {
            total_bytes: ram.0,
            available_bytes: ram.0 / 2,
            ..System::default()
        }),
        ..Facts::default()
    }
}

fn only(machine: &Machine) -> &Device {
    let [device] = machine.devices.as_slice() else {
        panic!("one device: {machine:?}")
    };
    device
}

fn heap(bytes: Bytes, local: bool) -> VulkanHeap {
    VulkanHeap {
        size_bytes: bytes,
        device_local: Some(local),
        budget_bytes: None,
        usage_bytes: None,
    }
}

#[test]
fn case_12_a_mac_gives_its_working_set_and_not_its_ram() {
    let mut facts = asked("macos", Bytes::gib(24));
    facts.metal = Some(Asked::Answered {
        devices: vec![MetalDevice {
            name: "Apple M4 Pro".to_owned(),
            unified: Some(true),
            working_set_bytes: Some(Bytes::mib(18_186)),
            ..MetalDevice::default()
        }],
    });
    let machine = judge(&facts);
    let gpu = only(&machine);
    assert_eq!((machine.class, gpu.kind), (Class::Unified, DeviceKind::Unified));
    assert_eq!(
        (gpu.total, machine.memory.total),
        (Bytes::mib(18_186), Bytes::gib(24))
    );
    assert_eq!(gpu.backends, [Backend::Metal]);
    assert_eq!(gpu.shared_with_ram(), gpu.total);
    assert!(machine.notes.is_empty(), "{:?}", machine.notes);
}

#[test]
fn a_card_that_nvml_and_vulkan_list_is_one() {
    let mut facts = asked("linux", Bytes::gib(64));
    let card = |index: u32| NvmlDevice {
        index,
        name: "NVIDIA GeForce RTX 3090".to_owned(),
        uuid: format!("GPU-{index}"),
        pci: format!("0000:0{}:00.0", index + 1),
        memory: Reading::Known(NvmlMemory {
            total_bytes: Bytes::gib(24),
            free_bytes: Bytes::gib(23),
            used_bytes: Bytes::gib(1),
        }),
        ..NvmlDevice::default()
    };
    facts.nvml = Some(Nvml::Answered {
        driver: String::new(),
        cuda: None,
        devices: vec![card(0), card(1)],
    });
    let seen = |index: usize| VulkanDevice {
        name: "NVIDIA GeForce RTX 3090".to_owned(),
        kind: Some(VulkanKind::Discrete),
        vendor_id: Some(0x10de),
        pci: Some(format!("0000:0{}:00.0", index + 1)),
        heaps: vec![heap(Bytes::mib(24_210), true), heap(Bytes::gib(47), false)],
        ..VulkanDevice::default()
    };
    let llvmpipe = VulkanDevice {
        name: "llvmpipe (LLVM 17, 256 bits)".to_owned(),
        kind: Some(VulkanKind::Cpu),
        heaps: vec![heap(Bytes::gib(64), true)],
        ..VulkanDevice::default()
    };
    facts.vulkan = Some(Asked::Answered {
        devices: vec![seen(1), seen(0), llvmpipe.clone()],
    });
    let machine = judge(&facts);
    let sizes: Vec<Bytes> = machine.devices.iter().map(|device| device.total).collect();
    assert_eq!(sizes, [Bytes::gib(24), Bytes::gib(24)]);
    let rasteriser = Note::SoftwareRasteriser { name: llvmpipe.name };
    assert!(machine.notes.contains(&rasteriser), "{:?}", machine.notes);
    let disagreeing = machine
        .notes
        .iter()
        .any(|note| matches!(note, Note::SourcesDisagree { .. }));
    assert!(
        disagreeing,
        "24576 and 24210 MiB are both kept: {:?}",
        machine.notes
    );

    // A hidden card does not come back through another interface.
    facts.variables.insert("CUDA_VISIBLE_DEVICES".into(), "1".into());
    assert_eq!(only(&judge(&facts)).id, "pci-0000:02:00.0");
}

#[test]
fn vulkan_adds_nothing_to_what_the_drivers_files_say() {
    for (name, mut facts) in all() {
        let before = judge(&facts);
        let devices = before
            .devices
            .iter()
            .filter(|device| device.id.starts_with("pci-") && !device.id.contains('/'))
            .map(|device| VulkanDevice {
                name: device.name.clone(),
                kind: Some(match device.kind {
                    DeviceKind::Discrete | DeviceKind::Remote => VulkanKind::Discrete,
                    DeviceKind::Unified | DeviceKind::Integrated => VulkanKind::Integrated,
                }),
                pci: device.id.strip_prefix("pci-").map(str::to_owned),
                heaps: vec![heap(device.total, true)],
                ..VulkanDevice::default()
            })
            .collect();
        facts.vulkan = Some(Asked::Answered { devices });
        assert_eq!(judge(&facts).devices, before.devices, "{name}");
    }
}

#[test]
fn windows_counts_a_card_by_its_own_memory_and_a_processors_gpu_by_what_it_may_borrow() {
    let mut facts = asked("windows", Bytes::gib(32));
    let adapter = |name: &str, own: Bytes, shared: Bytes, luid: &str| DxgiAdapter {
        name: name.to_owned(),
        luid: Some(luid.to_owned()),
        dedicated_video_bytes: Some(own),
        shared_system_bytes: Some(shared),
        ..DxgiAdapter::default()
    };
    let card = DxgiAdapter {
        local_budget_bytes: Some(Bytes::mib(15_300)),
        local_usage_bytes: Some(Bytes::mib(300)),
        ..adapter("AMD Radeon RX 6800 XT", Bytes::mib(16_368), Bytes::gib(16), "a1")
    };
    let small = adapter("AMD Radeon(TM) Graphics", Bytes::mib(512), Bytes::gib(16), "b2");
    let software = DxgiAdapter {
        software: true,
        ..adapter("Microsoft Basic Render Driver", Bytes::ZERO, Bytes::gib(16), "c3")
    };
    facts.dxgi = Some(Asked::Answered {
        // The card stands there twice, as it does beside a remote screen.
        devices: vec![card.clone(), small.clone(), card, software],
    });
    let machine = judge(&facts);
    assert_eq!(machine.class, Class::Discrete);
    let [card, other] = machine.devices.as_slice() else {
        panic!("{machine:?}")
    };
    assert_eq!((card.total, card.free), (Bytes::mib(16_368), Bytes::mib(15_000)));
    assert_eq!(
        (other.kind, other.total),
        (DeviceKind::Integrated, Bytes::gib(16))
    );

    // Alone, the small one is what the machine has; a carve-out counts instead of what could be borrowed besides.
    facts.dxgi = Some(Asked::Answered { devices: vec![small] });
    let machine = judge(&facts);
    assert_eq!(
        (machine.class, only(&machine).total),
        (Class::Unified, Bytes::gib(16))
    );
    let carved = adapter(
        "AMD Radeon(TM) 8060S Graphics",
        Bytes::gib(96),
        Bytes::gib(16),
        "d4",
    );
    facts.dxgi = Some(Asked::Answered {
        devices: vec![carved],
    });
    let machine = judge(&facts);
    assert_eq!(only(&machine).total, Bytes::gib(96));
    assert_eq!(only(&machine).shared_with_ram(), Bytes::ZERO);
}

/// The compute driver's topology: a processor, and a GPU with `bank` of its own.
fn topology(facts: &mut Facts, gfx: &str, location: &str, bank: Bytes) {
    const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";
    let mut keep = |file: &str, lines: &[&str]| {
        let lines = lines.iter().map(|line| (*line).to_owned()).collect();
        facts.facts.insert(format!("{NODES}/{file}"), lines);
    };
    keep("0/properties", &["cpu_cores_count 32", "simd_count 0"]);
    keep(
        "0/mem_banks/0/properties",
        &["heap_type 0", "size_in_bytes 66000000000"],
    );
    keep(
        "1/properties",
        &[
            "cpu_cores_count 0",
            "simd_count 80",
            &format!("gfx_target_version {gfx}"),
            &format!("location_id {location}"),
            "domain 0",
        ],
    );
    let size = format!("size_in_bytes {}", bank.0);
    keep("1/mem_banks/0/properties", &["heap_type 1", &size, "width 384"]);
}

#[test]
fn the_compute_driver_alone_tells_a_card_and_its_memory() {
    let mut facts = asked("linux", Bytes::gib(64));
    topology(&mut facts, "110000", "768", Bytes::gib(24));
    let machine = judge(&facts);
    let card = only(&machine);
    assert_eq!(
        (card.id.as_str(), card.kind, card.total),
        ("pci-0000:03:00.0", DeviceKind::Discrete, Bytes::gib(24))
    );
    assert_eq!(card.platform.architecture.as_deref(), Some("gfx1100"));
    assert!(card.backends.contains(&Backend::Rocm), "{card:?}");

    topology(&mut facts, "110501", "50432", Bytes::gib(96));
    let machine = judge(&facts);
    let inside = only(&machine);
    assert_eq!(
        (inside.id.as_str(), inside.kind, inside.total),
        ("pci-0000:c5:00.0", DeviceKind::Unified, Bytes::gib(96))
    );
    assert_eq!(inside.shared_with_ram(), Bytes::ZERO, "set aside by the firmware");
}

#[test]
fn the_compute_driver_fills_in_for_a_missing_file() {
    let mut facts = asked("linux", Bytes::gib(64));
    topology(&mut facts, "110000", "768", Bytes::gib(24));
    for (file, value) in [
        ("class", "0x030000"),
        ("vendor", "0x1002"),
        ("device", "0x744c"),
        ("driver", "amdgpu"),
    ] {
        let key = format!("/sys/bus/pci/devices/0000:03:00.0/{file}");
        facts.facts.insert(key, vec![value.to_owned()]);
    }
    let machine = judge(&facts);
    let card = only(&machine);
    assert_eq!(
        (card.kind, card.total, card.source.as_str()),
        (DeviceKind::Discrete, Bytes::gib(24), "KFD mem_banks")
    );
    let own = "/sys/bus/pci/devices/0000:03:00.0/mem_info_vram_total";
    facts.facts.insert(own.to_owned(), vec!["25753026560".to_owned()]);
    assert_eq!(
        only(&judge(&facts)).source,
        "amdgpu mem_info_vram_total",
        "the driver's own file stands"
    );
}

#[test]
fn windows_grants_less_than_nvml_calls_free() {
    let mut facts = asked("windows", Bytes::gib(32));
    facts.nvml = Some(Nvml::Answered {
        driver: "581.57".into(),
        cuda: Some("13.0".into()),
        devices: vec![NvmlDevice {
            name: "NVIDIA GeForce RTX 4080".to_owned(),
            memory: Reading::Known(NvmlMemory {
                total_bytes: Bytes::gib(16),
                free_bytes: Bytes::gib(15),
                used_bytes: Bytes::gib(1),
            }),
            compute: Some((8, 9)),
            ..NvmlDevice::default()
        }],
    });
    let adapter = |budget| DxgiAdapter {
        name: "NVIDIA GeForce RTX 4080".to_owned(),
        vendor_id: Some(0x10de),
        dedicated_video_bytes: Some(Bytes::mib(16_048)),
        local_budget_bytes: Some(budget),
        ..DxgiAdapter::default()
    };
    for (budget, free) in [
        (Bytes::gib(13), Bytes::gib(13)),
        (Bytes::mib(15_500), Bytes::gib(15)),
    ] {
        facts.dxgi = Some(Asked::Answered {
            devices: vec![adapter(budget)],
        });
        let machine = judge(&facts);
        let card = only(&machine);
        assert_eq!((card.total, card.free), (Bytes::gib(16), free));
        let platform = &card.platform;
        assert_eq!(platform.architecture.as_deref(), Some("8.9"));
        assert_eq!(platform.driver.as_deref(), Some("581.57"));
        assert_eq!(platform.cuda.as_deref(), Some("13.0"));
    }
}

#[test]
fn the_driver_is_named_whoever_told() {
    let card = "|   0  NVIDIA L4        Off | 00000000:01:00.0 Off | 0 |";
    let memory = "| N/A 38C P8 9W / 72W |  0MiB / 23034MiB | 0% Default |";
    for (key, lines, driver, cuda) in [
        (
            "nvidia-smi",
            vec![
                "| NVIDIA-SMI 580.95.05      Driver Version: 580.95.05      CUDA Version: 13.0     |",
                card,
                memory,
            ],
            "580.95.05",
            Some("13.0"),
        ),
        (
            "nvidia-smi",
            vec![
                "| NVIDIA-SMI 617.42      KMD Version: 617.42        CUDA UMD Version: 13.4     |",
                card,
                memory,
            ],
            "617.42",
            Some("13.4"),
        ),
        (
            "nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader",
            vec!["NVIDIA L4, 535.183.01, 23034 MiB"],
            "535.183.01",
            None,
        ),
        (
            "/proc/driver/nvidia/version",
            vec![
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build",
                "GCC version:  gcc version 13.3.0",
            ],
            "570.133.20",
            None,
        ),
    ] {
        let mut facts = Facts {
            os: "linux".to_owned(),
            ..Facts::default()
        };
        let text = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        facts.facts.insert(
            "nvidia-smi -L".to_owned(),
            text(&["GPU 0: NVIDIA L4 (UUID: GPU-aa)"]),
        );
        facts.facts.insert(key.to_owned(), text(&lines));
        let machine = judge(&facts);
        let platform = &machine.devices[0].platform;
        assert_eq!(
            (platform.driver.as_deref(), platform.cuda.as_deref()),
            (Some(driver), cuda),
            "{key}"
        );
    }
}
