//! Machines as people reported them, judged, and held against what their reporter should have got.
//!
//! The reports use finer classes and kinds than ours; [`CLASSES`] and [`kind_of`] map them. Where an expectation
//! does not follow from the facts of its report, or is wrong, the `exceptions` say so, one line a point.

use std::fmt::Write;

use plimsoll_hardware::{Class, Device, DeviceKind, Facts, Machine, judge};
use plimsoll_units::Bytes;
use serde::Deserialize;

use crate::exceptions::{EXCEPTIONS, Point};

#[derive(Deserialize)]
pub(crate) struct Report {
    pub(crate) id: String,
    source: String,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    class: String,
    devices: Vec<Expected>,
    ram_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct Expected {
    name: String,
    kind: String,
    total_bytes: Option<u64>,
    #[serde(default)]
    note: String,
}

/// The classes of the reports, and ours.
const CLASSES: [(&str, &[Class]); 24] = [
    ("cuda-discrete", &[Class::Discrete]),
    ("cuda-multi", &[Class::Discrete]),
    ("cuda-mig", &[Class::Discrete]),
    ("cuda-unified", &[Class::Unified]),
    ("wsl2-cuda", &[Class::Discrete]),
    ("amd-discrete", &[Class::Discrete]),
    ("amd-multi", &[Class::Discrete]),
    ("amd-apu-unified", &[Class::Unified]),
    ("intel-discrete", &[Class::Discrete]),
    ("intel-discrete-multi", &[Class::Discrete]),
    // Ours tells the GPUs that are worth planning on from those that a processor beats.
    ("intel-igpu", &[Class::Unified, Class::CpuOnly]),
    ("mixed-vendor", &[Class::Discrete]),
    ("hybrid-dgpu-igpu", &[Class::Discrete]),
    ("apple-silicon", &[Class::Unified]),
    ("arm-vulkan-unified", &[Class::Unified]),
    ("arm-windows-igpu", &[Class::CpuOnly]),
    // A card that no program can use is said in a note; the machine plans on its processor.
    ("driver-broken", &[Class::CpuOnly]),
    ("vm-software-gpu", &[Class::CpuOnly]),
    ("vm-virtual-gpu", &[Class::CpuOnly]),
    ("vm-no-gpu", &[Class::CpuOnly]),
    ("cpu-only", &[Class::CpuOnly]),
    ("container-limited", &[Class::CpuOnly]),
    ("container-unlimited", &[Class::CpuOnly]),
    ("wsl2", &[Class::CpuOnly]),
];

/// The kinds of the reports, and ours; `None` for what is no device of ours.
fn kinds_of(kind: &str, class: &str) -> Option<&'static [DeviceKind]> {
    match kind {
        "discrete" if class == "driver-broken" => None,
        "discrete" | "mig-slice" | "mig-parent" => Some(&[DeviceKind::Discrete]),
        "unified" => Some(&[DeviceKind::Unified]),
        "integrated" if class == "amd-apu-unified" || class == "arm-vulkan-unified" => {
            Some(&[DeviceKind::Unified])
        }
        "integrated" if class == "intel-igpu" => Some(&[DeviceKind::Integrated, DeviceKind::Unified]),
        "integrated" => Some(&[DeviceKind::Integrated]),
        "remote" => Some(&[DeviceKind::Remote]),
        "cpu" | "software" | "virtual" => None,
        other => panic!("a kind that the table does not map: {other}"),
    }
}

/// Sizes that a person rounded.
const TOLERANCE: f64 = 0.01;

fn near(one: u64, other: u64) -> bool {
    (Bytes(one).as_f64() - Bytes(other).as_f64()).abs() <= TOLERANCE * Bytes(other).as_f64()
}

pub(crate) fn reports() -> Vec<(Report, Facts)> {
    let bytes = include_bytes!("../fixtures/reports.json");
    let reports: Vec<serde_json::Value> = serde_json::from_slice(bytes).unwrap();
    reports
        .into_iter()
        .map(|report| {
            let facts = Facts::from_json(report.to_string().as_bytes()).unwrap();
            (serde_json::from_value(report).unwrap(), facts)
        })
        .collect()
}

/// `x2` or `7 usable` in a note: one line for several equal devices.
fn copies(expected: &Expected) -> usize {
    let word = expected.note.split([' ', ',', ';']).next().unwrap_or_default();
    let usable = expected.note.split_once(" usable").map(|(count, _)| count);
    word.strip_prefix('x')
        .or(usable)
        .and_then(|n| n.parse().ok())
        .unwrap_or(1)
}

fn complaints(report: &Report, machine: &Machine) -> Vec<(Point, String)> {
    let expect = &report.expect;
    let mut wrong = Vec::new();
    let (_, allowed) = CLASSES
        .iter()
        .find(|(class, _)| *class == expect.class)
        .unwrap_or_else(|| panic!("a class that the table does not map: {}", expect.class));
    if !allowed.contains(&machine.class) {
        wrong.push((
            Point::Class,
            format!("class {:?}, expected {}", machine.class, expect.class),
        ));
    }
    let mut left: Vec<&Device> = machine.devices.iter().collect();
    for expected in &expect.devices {
        let Some(kinds) = kinds_of(&expected.kind, &expect.class) else {
            continue;
        };
        if expected.note == "lost" {
            continue;
        }
        // However many slices there are, one program gets one.
        let count = if expected.kind == "mig-slice" {
            1
        } else {
            copies(expected)
        };
        for _ in 0..count {
            let fits = |device: &&Device| kinds.contains(&device.kind);
            let sized = |device: &&Device| {
                fits(device)
                    && expected
                        .total_bytes
                        .is_none_or(|total| near(device.total.0, total))
            };
            let alike = |device: &&Device| sized(device) && similar(&device.name, &expected.name);
            let at = left
                .iter()
                .position(alike)
                .or_else(|| left.iter().position(sized))
                .or_else(|| left.iter().position(fits));
            let Some(at) = at else {
                // A second slice, of another card, is the same slice to one program.
                if expected.kind != "mig-slice" || machine.devices.is_empty() {
                    wrong.push((Point::Device, format!("no {} {}", expected.kind, expected.name)));
                }
                continue;
            };
            let device = left.remove(at);
            if let Some(total) = expected.total_bytes
                && !near(device.total.0, total)
            {
                wrong.push((
                    Point::Size,
                    format!("{} has {}, expected {total}", device.name, device.total.0),
                ));
            }
        }
    }
    for device in left {
        wrong.push((
            Point::Device,
            format!("one too many: {:?} {}", device.kind, device.name),
        ));
    }
    if let Some(ram) = expect.ram_bytes
        && !near(machine.memory.total.0, ram)
    {
        wrong.push((
            Point::Ram,
            format!("RAM {}, expected {ram}", machine.memory.total.0),
        ));
    }
    wrong
}

fn similar(one: &str, other: &str) -> bool {
    let words = |name: &str| -> Vec<String> {
        name.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() > 1)
            .map(str::to_owned)
            .collect()
    };
    let (one, other) = (words(one), words(other));
    one.iter().filter(|word| other.contains(word)).count() * 2 >= one.len().min(other.len())
}

#[test]
fn every_report_is_judged_right_or_it_is_said_why_not() {
    let (mut right, mut undecidable, mut misses, mut unexplained) = (0, 0, 0, String::new());
    let mut unused: Vec<_> = EXCEPTIONS.iter().collect();
    for (report, facts) in reports() {
        let found = complaints(&report, &judge(&facts));
        if found.is_empty() {
            right += 1;
            continue;
        }
        let excuse = |point: Point| {
            EXCEPTIONS
                .iter()
                .find(|exception| exception.report == report.id && exception.point == point)
        };
        let mut miss = false;
        for (point, complaint) in &found {
            if let Some(exception) = excuse(*point) {
                unused.retain(|other| !std::ptr::eq(*other, exception));
                miss |= exception.ours;
            } else {
                miss = true;
                writeln!(unexplained, "{} ({}): {complaint}", report.id, report.source).unwrap();
            }
        }
        if miss {
            misses += 1;
        } else {
            undecidable += 1;
        }
    }
    let decidable = right + misses;
    println!(
        "reports judged right: {right} of {decidable} decidable ({:.1} %); {undecidable} do not follow from their facts",
        f64::from(right) * 100.0 / f64::from(decidable)
    );
    assert_eq!(
        unexplained, "",
        "explain these in the exceptions, or judge better"
    );
    assert!(unused.is_empty(), "exceptions that are not needed: {unused:?}");
    assert!(right * 100 >= decidable * 97, "{right} of {decidable}");
}
