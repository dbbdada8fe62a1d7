//! The probe of NVIDIA's driver, against a library that plays one.
//!
//! This binary is its own disposable child, as our programs are, so it needs a `main` of its own: the tests run
//! under `libtest-mimic` instead of the usual harness.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use plimsoll_hardware::facts::{Nvml, NvmlThrough, nvml_child_main, record};
use plimsoll_hardware::{Class, DeviceKind, Machine, Note, judge};
use plimsoll_os::Environment;
use plimsoll_os::child::{Command, run_to_end_blocking};
use plimsoll_units::Bytes;

fn main() -> ExitCode {
    if let Some(code) = nvml_child_main() {
        return code;
    }
    let tests: [(&str, &'static str, Check); 9] = [
        ("two_cards_are_seen_with_size_and_speed", "TWO_CARDS", two_cards),
        ("a_card_without_a_size_shares_the_ram", "NO_SIZE", no_size),
        ("a_card_that_is_cut_gives_one_slice", "ONE_CUT", one_cut),
        ("a_lost_card_is_named_and_the_other_stays", "ONE_LOST", one_lost),
        ("a_driver_that_is_not_loaded_is_said", "NOT_LOADED", not_loaded),
        ("two_versions_of_the_driver_are_said", "MISMATCH", mismatch),
        ("a_driver_that_hangs_does_not_hang_the_probe", "HANGS", hangs),
        ("a_driver_that_crashes_does_not_take_us_along", "CRASHES", crashes),
        ("no_library_is_no_news", "", no_library),
    ];
    let trials = tests.map(|(name, play, check)| {
        Trial::test(name, move || {
            check(&Seen::of(play)?);
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

type Check = fn(&Seen);

struct Seen {
    nvml: Option<Nvml>,
    machine: Machine,
    took: Duration,
}

impl Seen {
    /// Builds the library that plays `play`, and probes with it in the way of the loader.
    fn of(play: &str) -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        if !play.is_empty() {
            let command = Command::new("/usr/bin/env")
                .args(["cc", "-shared", "-fPIC", "-o"])
                .arg(folder.path().join("libnvidia-ml.so.1"))
                .arg(format!("-DPLAY={play}"))
                .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvml/stub.c"))
                .envs(Environment::read().only(&["PATH"]));
            let built = run_to_end_blocking(command, Duration::from_mins(1), Bytes::kib(64))?;
            if !built.exit.is_success() {
                return Err(
                    format!("a C compiler is needed, see scripts/setup: {}", built.err_text()).into(),
                );
            }
        }
        let environment = Environment::from_pairs([("LD_LIBRARY_PATH", folder.path())]);
        let through = NvmlThrough::Child {
            program: std::env::current_exe()?,
        };
        let before = Instant::now();
        let facts = record(&environment, &through);
        Ok(Self {
            nvml: facts.nvml.clone(),
            machine: judge(&facts),
            took: before.elapsed(),
        })
    }
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
