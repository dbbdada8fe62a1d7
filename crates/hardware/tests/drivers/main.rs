//! The probe of drivers, against libraries that play them: NVML, and a Vulkan loader. And against the real loader
//! of this machine, where there is one.
//!
//! This binary is its own disposable child, as our programs are, so it needs a `main` of its own: the tests run
//! under `libtest-mimic` instead of the usual harness.

mod watch;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use plimsoll_hardware::facts::{Asked, Drivers, Nvml, VulkanDevice, VulkanKind, driver_child_main, record};
use plimsoll_hardware::{Class, DeviceKind, Machine, Note, judge};
use plimsoll_os::Environment;
use plimsoll_os::child::{Command, run_to_end_blocking};
use plimsoll_units::Bytes;

fn main() -> ExitCode {
    if let Some(code) = driver_child_main() {
        return code;
    }
    // Name, what NVML plays, what the Vulkan loader plays, and what is to be seen.
    let tests: [(&str, &'static str, &'static str, Check); 13] = [
        (
            "two_cards_are_seen_with_size_and_speed",
            "TWO_CARDS",
            "",
            two_cards,
        ),
        ("a_card_without_a_size_shares_the_ram", "NO_SIZE", "", no_size),
        ("a_card_that_is_cut_gives_one_slice", "ONE_CUT", "", one_cut),
        (
            "a_lost_card_is_named_and_the_other_stays",
            "ONE_LOST",
            "",
            one_lost,
        ),
        (
            "a_driver_that_is_not_loaded_is_said",
            "NOT_LOADED",
            "",
            not_loaded,
        ),
        ("two_versions_of_the_driver_are_said", "MISMATCH", "", mismatch),
        ("a_driver_that_hangs_does_not_hang_the_probe", "HANGS", "", hangs),
        (
            "a_driver_that_crashes_does_not_take_us_along",
            "CRASHES",
            "",
            crashes,
        ),
        ("no_library_is_no_news", "", "", no_library),
        (
            "a_vulkan_loader_that_hangs_is_left_behind",
            "TWO_CARDS",
            "HANGS",
            vulkan_hangs,
        ),
        (
            "a_vulkan_loader_that_crashes_takes_a_child_along",
            "TWO_CARDS",
            "CRASHES",
            vulkan_crashes,
        ),
        ("drivers_that_all_hang_cost_one_wait", "HANGS", "HANGS", all_hang),
        ("a_processor_that_draws_is_no_gpu", "", "", rasteriser),
    ];
    let probes = tests.map(|(name, nvml, vulkan, check)| {
        Trial::test(name, move || {
            check(&Seen::of(nvml, vulkan)?);
            Ok(())
        })
    });
    let trials = probes.into_iter().chain(watch::trials()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

type Check = fn(&Seen);

struct Seen {
    nvml: Option<Nvml>,
    vulkan: Option<Asked<VulkanDevice>>,
    machine: Machine,
    took: Duration,
}

impl Seen {
    /// Builds the libraries that play what is wanted, and probes with them in the way of the loader.
    fn of(nvml: &str, vulkan: &str) -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        build(folder.path(), "libnvidia-ml.so.1", "nvml.c", nvml)?;
        build(folder.path(), "libvulkan.so.1", "vulkan.c", vulkan)?;
        let environment = Environment::from_pairs([("LD_LIBRARY_PATH", folder.path())]);
        let through = Drivers::Child {
            program: std::env::current_exe()?,
        };
        let before = Instant::now();
        let facts = record(&environment, &through);
        Ok(Self {
            nvml: facts.nvml.clone(),
            vulkan: facts.vulkan.clone(),
            machine: judge(&facts),
            took: before.elapsed(),
        })
    }
}

fn build(folder: &Path, library: &str, source: &str, play: &str) -> Result<(), Failed> {
    if play.is_empty() {
        return Ok(());
    }
    let command = Command::new("/usr/bin/env")
        .args(["cc", "-shared", "-fPIC", "-o"])
        .arg(folder.join(library))
        .arg(format!("-DPLAY={play}"))
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/drivers")
                .join(source),
        )
        .envs(Environment::read().only(&["PATH"]));
    let built = run_to_end_blocking(command, Duration::from_mins(1), Bytes::kib(64))?;
    if built.exit.is_success() {
        return Ok(());
    }
    Err(format!("a C compiler is needed, see scripts/setup: {}", built.err_text()).into())
}

fn two_cards(seen: &Seen) {
    let nvidia: Vec<_> = seen
        .machine
        .devices
        .iter()
        .filter(|device| device.vendor == "NVIDIA")
        .collect();
    let [first, second] = nvidia.as_slice() else {
        panic!("{:?}", seen.nvml)
    };
    assert_eq!(
        (first.id.as_str(), second.id.as_str()),
        ("pci-0000:0a:00.0", "pci-0000:0b:00.0")
    );
    assert_eq!((first.total, first.free), (Bytes::gib(24), Bytes::gib(23)));
    assert_eq!(first.bandwidth.as_ref().map(|b| b.value.0), Some(936_096_000_000));
    assert_eq!(seen.machine.class, Class::Discrete);
}

fn no_size(seen: &Seen) {
    let device = seen
        .machine
        .devices
        .first()
        .unwrap_or_else(|| panic!("{:?}", seen.nvml));
    assert_eq!(
        (device.kind, device.total),
        (DeviceKind::Unified, seen.machine.memory.total)
    );
    assert_eq!(device.bandwidth, None);
}

fn one_cut(seen: &Seen) {
    let device = seen
        .machine
        .devices
        .first()
        .unwrap_or_else(|| panic!("{:?}", seen.nvml));
    assert_eq!(
        (device.id.as_str(), device.total),
        ("pci-0000:0a:00.0/mig-0", Bytes::gib(10))
    );
    let note = Note::MigOneSlice {
        name: "NVIDIA Stub 24".into(),
        slices: 2,
    };
    assert!(seen.machine.notes.contains(&note), "{:?}", seen.machine.notes);
}

fn one_lost(seen: &Seen) {
    assert_eq!(
        seen.machine
            .devices
            .iter()
            .filter(|device| device.vendor == "NVIDIA")
            .count(),
        1
    );
    assert!(
        seen.machine
            .notes
            .iter()
            .any(|note| matches!(note, Note::GpuLost { .. })),
        "{:?}",
        seen.machine.notes
    );
}

fn not_loaded(seen: &Seen) {
    assert_eq!(seen.nvml, Some(Nvml::DriverNotLoaded));
    assert!(seen.machine.notes.contains(&Note::NvidiaDriverNotLoaded {}));
}

fn mismatch(seen: &Seen) {
    assert_eq!(seen.nvml, Some(Nvml::VersionMismatch));
}

fn hangs(seen: &Seen) {
    assert!(
        matches!(seen.nvml, Some(Nvml::TimedOut { .. })),
        "{:?}",
        seen.nvml
    );
    // The library sleeps for ten minutes; how busy this machine is does not matter then.
    assert!(seen.took < Duration::from_mins(1), "{:?}", seen.took);
    assert!(
        seen.machine.memory.total > Bytes::ZERO,
        "the rest of the probe is not lost"
    );
    assert!(
        seen.machine
            .notes
            .iter()
            .any(|note| matches!(note, Note::NvidiaProbeTimedOut { .. }))
    );
}

fn crashes(seen: &Seen) {
    assert!(
        matches!(&seen.nvml, Some(Nvml::Crashed { exit }) if exit == "signal 6"),
        "{:?}",
        seen.nvml
    );
}

fn no_library(seen: &Seen) {
    // With a real driver installed its library is found here, and answers.
    let expected = matches!(
        seen.nvml,
        Some(Nvml::LibraryMissing | Nvml::DriverNotLoaded | Nvml::Answered { .. })
    );
    assert!(expected, "{:?}", seen.nvml);
}

fn vulkan_hangs(seen: &Seen) {
    let Some(Asked::TimedOut { limit_ms }) = seen.vulkan else {
        panic!("{:?}", seen.vulkan)
    };
    let note = Note::GraphicsProbeTimedOut {
        library: "Vulkan".into(),
        limit_ms,
    };
    assert!(seen.machine.notes.contains(&note), "{:?}", seen.machine.notes);
    two_cards(seen);
}

fn vulkan_crashes(seen: &Seen) {
    assert!(
        matches!(&seen.vulkan, Some(Asked::Crashed { exit }) if exit == "signal 6"),
        "{:?}",
        seen.vulkan
    );
    two_cards(seen);
}

fn all_hang(seen: &Seen) {
    hangs(seen);
    let Some(Asked::TimedOut { limit_ms }) = seen.vulkan else {
        panic!("{:?}", seen.vulkan)
    };
    tell(&format!(
        "both hang: the probe took {} ms, the limit is {limit_ms} ms",
        seen.took.as_millis()
    ));
    assert!(
        seen.took < 2 * Duration::from_millis(limit_ms),
        "one after the other: {:?}",
        seen.took
    );
}

/// Mesa's lavapipe, where it is installed: `scripts/setup` does so.
fn rasteriser(seen: &Seen) {
    tell(&format!("{} ms: {:?}", seen.took.as_millis(), seen.vulkan));
    let listed: Vec<_> = seen
        .vulkan
        .iter()
        .flat_map(Asked::devices)
        .filter(|device| device.kind == Some(VulkanKind::Cpu))
        .collect();
    if Path::new("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json").exists() {
        assert!(!listed.is_empty(), "{:?}", seen.vulkan);
    }
    for device in listed {
        assert!(
            device.heaps.iter().any(|heap| heap.size_bytes > Bytes::ZERO),
            "{device:?}"
        );
        assert!(
            !seen.machine.devices.iter().any(|one| one.name == device.name),
            "{:?}",
            seen.machine.devices
        );
    }
}

/// Figures for whoever runs this by hand.
#[expect(clippy::print_stdout, reason = "a test tells what it measured")]
fn tell(text: &str) {
    println!("{text}");
}
