use std::fmt::Write;

use plimsoll_hardware::facts::{Nvml, NvmlMemory, Reading};
use plimsoll_hardware::{Backend, Class, DeviceKind, Machine, Note, is_software_rasteriser, judge};
use plimsoll_units::{Bytes, BytesPerSecond};

use crate::recordings::{all, machine};
use crate::reports::reports;

fn code(note: &Note) -> String {
    serde_json::to_value(note).unwrap()["code"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn codes(machine: &Machine) -> Vec<String> {
    machine.notes.iter().map(code).collect()
}

/// Class, RAM, notes, and a line per device: MiB in all, MiB of its own, backends, source.
fn row(name: &str, machine: &Machine) -> String {
    let mib = |bytes: Bytes| bytes.0 >> 20;
    let mut row = format!(
        "{name}: {:?}, RAM {} MiB, {} free [{}] {}\n",
        machine.class,
        mib(machine.memory.total),
        mib(machine.memory.available),
        machine.memory.source,
        codes(machine).join(" ")
    );
    for device in &machine.devices {
        let own = mib(device.total.less(device.shared_with_ram()));
        let speed = device
            .bandwidth
            .as_ref()
            .map_or(String::new(), |b| format!(", {} GB/s", b.value.0 / 1_000_000_000));
        writeln!(
            row,
            "  {:?} {} ({}) {} MiB, {own} own, {} free{speed} {:?} [{}]",
            device.kind,
            device.name,
            device.id,
            mib(device.total),
            mib(device.free),
            device.backends,
            device.source
        )
        .unwrap();
    }
    row
}

#[test]
fn every_recording_gives_the_machine_that_it_should() {
    let reports = reports().into_iter().map(|(report, facts)| (report.id, facts));
    let table: String = all()
        .into_iter()
        .chain(reports)
        .map(|(name, facts)| row(&name, &judge(&facts)))
        .collect();
    insta::assert_snapshot!(table);
}

#[test]
fn every_machine_reads_back_as_a_machine_file() {
    let reports = reports().into_iter().map(|(report, facts)| (report.id, facts));
    for (name, facts) in all().into_iter().chain(reports) {
        let machine = judge(&facts);
        if machine.memory.total == Bytes::ZERO {
            assert!(codes(&machine).contains(&"memoryUnknown".to_owned()), "{name}");
            continue;
        }
        let json = serde_json::to_vec(&machine).unwrap();
        assert_eq!(Machine::from_json(&json).unwrap(), machine, "{name}");
    }
}

// The cases that broke others, by their numbers in the list of cases.

#[test]
fn case_1_a_discrete_amd_card_is_not_unified_memory() {
    let machine = machine("rx7900xtx-64g");
    assert_eq!(machine.class, Class::Discrete);
    let [card] = machine.devices.as_slice() else {
        panic!("{machine:?}")
    };
    assert_eq!(
        (card.kind, card.total),
        (DeviceKind::Discrete, Bytes(25_753_026_560))
    );
    assert_eq!(card.shared_with_ram(), Bytes::ZERO);
}

#[test]
fn case_2_amd_and_intel_have_a_gpu_backend() {
    for name in [
        "rx7900xtx-64g",
        "arc-b580",
        "uhd620-laptop",
        "lunar-lake",
        "strix-halo-96g",
    ] {
        let machine = machine(name);
        assert!(
            machine.devices[0].backends.contains(&Backend::Vulkan),
            "{name}: {machine:?}"
        );
    }
}

#[test]
fn cases_3_and_8_a_machine_without_gpu_stays_without_one() {
    for name in ["kvm-vm-llvmpipe", "vm-virtio"] {
        let machine = machine(name);
        assert_eq!(
            (machine.class, machine.devices.len()),
            (Class::CpuOnly, 0),
            "{name}"
        );
    }
    let seen = codes(&machine("kvm-vm-llvmpipe"));
    assert!(seen.contains(&"softwareRasteriser".to_owned()), "{seen:?}");
    for name in [
        "llvmpipe (LLVM 15.0.6, 256 bits)",
        "SwiftShader Device (LLVM 10.0.0)",
        "Microsoft Basic Render Driver",
    ] {
        assert!(is_software_rasteriser(name), "{name}");
    }
    assert!(!is_software_rasteriser("AMD Radeon 780M Graphics (RADV PHOENIX)"));
}

#[test]
fn case_4_the_integrated_gpu_is_neither_summed_nor_used() {
    let machine = machine("radeon780m-rtx3060");
    assert_eq!(machine.class, Class::Discrete);
    let used: Vec<(&str, Bytes)> = machine
        .placeable()
        .map(|device| (device.name.as_str(), device.total))
        .collect();
    assert_eq!(used, [("NVIDIA GeForce RTX 3060", Bytes::gib(12))]);
    assert_eq!(machine.devices[1].kind, DeviceKind::Integrated);
}

#[test]
fn case_5_two_cards_are_two_devices() {
    let machine = machine("two-rtx3090");
    let sizes: Vec<Bytes> = machine.placeable().map(|device| device.total).collect();
    assert_eq!(sizes, [Bytes::gib(24), Bytes::gib(24)]);
    let speed = machine.devices[0].bandwidth.as_ref().unwrap();
    assert_eq!(
        speed.value,
        BytesPerSecond(936_096_000_000),
        "the data sheet says 936 GB/s"
    );
}

#[test]
fn case_6_carve_out_and_borrowed_memory_are_told_apart() {
    let borrowed = machine("strix-halo-512m-gtt124");
    assert_eq!(borrowed.class, Class::Unified);
    let gpu = &borrowed.devices[0];
    assert_eq!(
        (gpu.kind, gpu.total),
        (DeviceKind::Unified, Bytes::gib(124).plus(Bytes::mib(512)))
    );
    assert_eq!(gpu.shared_with_ram(), Bytes::gib(124));

    let set_aside = machine("strix-halo-96g");
    let gpu = &set_aside.devices[0];
    assert_eq!((gpu.total, gpu.shared_with_ram()), (Bytes::gib(96), Bytes::ZERO));
    assert_eq!(
        set_aside.memory.total,
        Bytes(33_262_243_840),
        "the RAM is what is left"
    );
}

#[test]
fn case_7_nvidia_without_a_size_is_the_machines_memory() {
    let machine = machine("gb10");
    assert_eq!(machine.class, Class::Unified);
    assert_eq!(machine.devices[0].total, machine.memory.total);
    assert_eq!(machine.devices[0].shared_with_ram(), machine.memory.total);
}

#[test]
fn a_chip_whose_driver_says_zero_is_the_machines_memory_too() {
    let (_, mut facts) = all().into_iter().find(|(name, _)| name == "gb10").unwrap();
    for compute in [Some((12, 1)), Some((8, 9)), None] {
        let Some(Nvml::Answered { devices, .. }) = &mut facts.nvml else {
            panic!("no answer")
        };
        devices[0].memory = Reading::Known(NvmlMemory::default());
        devices[0].compute = compute;
        let expected = if compute == Some((12, 1)) {
            Class::Unified
        } else {
            Class::CpuOnly
        };
        let machine = judge(&facts);
        assert_eq!(machine.class, expected, "{compute:?}");
        assert_eq!(
            codes(&machine).contains(&"gpuMemoryUnknown".into()),
            expected == Class::CpuOnly
        );
    }
}

#[test]
fn case_9_a_driver_that_is_not_loaded_is_named() {
    let machine = machine("nvidia-not-loaded");
    assert_eq!((machine.class, machine.devices.len()), (Class::CpuOnly, 0));
    assert!(
        machine.notes.contains(&Note::NvidiaDriverNotLoaded {}),
        "{:?}",
        machine.notes
    );
}

#[test]
fn case_10_only_what_the_engine_will_see() {
    let second = machine("two-rtx3090-second-visible");
    let ids: Vec<&str> = second.devices.iter().map(|device| device.id.as_str()).collect();
    assert_eq!(ids, ["pci-0000:02:00.0"]);
    assert!(codes(&second).contains(&"hiddenByVariable".to_owned()));

    let named = machine("two-a100-mig-one-named");
    let [slice] = named.devices.as_slice() else {
        panic!("{named:?}")
    };
    assert_eq!(
        (slice.id.as_str(), slice.total),
        ("pci-0000:0f:00.0/mig-1", Bytes::mib(9728))
    );
}

#[test]
fn case_10_variables_are_read_as_cuda_reads_them() {
    let table: [(&str, &[&str]); 9] = [
        ("0", &["pci-0000:01:00.0"]),
        ("1,0", &["pci-0000:02:00.0", "pci-0000:01:00.0"]),
        ("0, 0", &["pci-0000:01:00.0"]),
        ("GPU-00000001", &["pci-0000:02:00.0"]),
        ("GPU-0000000", &[]),
        ("1,9,0", &["pci-0000:02:00.0"]),
        ("-1", &[]),
        ("", &[]),
        ("NoDevFiles", &[]),
    ];
    let (_, facts) = all().into_iter().find(|(name, _)| name == "two-rtx3090").unwrap();
    for (value, expected) in table {
        let mut facts = facts.clone();
        facts
            .variables
            .insert("CUDA_VISIBLE_DEVICES".into(), value.into());
        let machine = judge(&facts);
        let ids: Vec<&str> = machine.devices.iter().map(|device| device.id.as_str()).collect();
        assert_eq!(ids, expected, "for {value:?}");
        assert_eq!(
            codes(&machine).contains(&"variableHidesAll".into()),
            expected.is_empty(),
            "for {value:?}"
        );
    }
}

#[test]
fn other_variables_take_their_backend_only() {
    let (_, facts) = all()
        .into_iter()
        .find(|(name, _)| name == "rx7900xtx-64g")
        .unwrap();
    for (variable, value, left) in [
        ("HIP_VISIBLE_DEVICES", "-1", vec![Backend::Vulkan]),
        ("ROCR_VISIBLE_DEVICES", "0", vec![Backend::Rocm, Backend::Vulkan]),
        ("GGML_VK_VISIBLE_DEVICES", "1", vec![Backend::Rocm]),
    ] {
        let mut facts = facts.clone();
        facts.variables.insert(variable.into(), value.into());
        assert_eq!(judge(&facts).devices[0].backends, left, "{variable}={value}");
    }
}

#[test]
fn case_11_the_limit_of_a_container_is_its_ram() {
    for name in ["container-8g", "container-8g-v1"] {
        let machine = machine(name);
        assert_eq!(machine.memory.total, Bytes::gib(8), "{name}");
        let note = machine.notes.iter().find(|note| code(note) == "cgroupLimit");
        assert!(
            matches!(
                note,
                Some(Note::CgroupLimit {
                    limit_bytes: Bytes(8_589_934_592),
                    ..
                })
            ),
            "{name}: {note:?}"
        );
    }
    // 3 GiB held, one of them file cache that the kernel gives up.
    assert_eq!(machine("container-8g").memory.available, Bytes::gib(6));
    let unlimited = codes(&machine("lxc-nolimit-32g"));
    assert!(
        !unlimited.contains(&"cgroupLimit".to_owned()),
        "max is no limit: {unlimited:?}"
    );
}
