//! Asking macOS by its own tools, which print plain text. Reading that text is the judgement's business; only
//! the number of GPU cores is put where a reader of Metal's answer looks for it.

use super::graphics::{Asked, MetalDevice};

/// Names that a machine does not have are left out by `sysctl` with a complaint on the other stream.
#[cfg(target_os = "macos")]
const ASKED: [&str; 22] = [
    "hw.model",
    "hw.memsize",
    "hw.memsize_usable",
    "hw.pagesize",
    "hw.ncpu",
    "hw.physicalcpu",
    "hw.logicalcpu",
    "hw.perflevel0.physicalcpu",
    "hw.perflevel0.name",
    "hw.perflevel1.physicalcpu",
    "hw.perflevel1.name",
    "hw.optional.arm.FEAT_DotProd",
    "hw.optional.arm.FEAT_I8MM",
    "hw.optional.arm.FEAT_BF16",
    "hw.optional.arm.FEAT_SME",
    "machdep.cpu.brand_string",
    "machdep.cpu.features",
    "machdep.cpu.leaf7_features",
    "iogpu.wired_limit_mb",
    "debug.iogpu.wired_limit",
    "kern.memorystatus_level",
    "kern.memorystatus_vm_pressure_level",
];

/// Tool → the lines it gave. Each takes some milliseconds; one that hangs is ended.
#[cfg(target_os = "macos")]
pub(super) fn read(patience: std::time::Duration) -> std::collections::BTreeMap<String, Vec<String>> {
    use std::collections::BTreeMap;
    use std::thread;

    use plimsoll_os::child::{Command, run_to_end_blocking};
    use plimsoll_units::Bytes;

    const ANSWER_MAX: Bytes = Bytes::kib(256);
    let tools = [
        ("sysctl", Command::new("/usr/sbin/sysctl").args(ASKED)),
        ("vm_stat", Command::new("/usr/bin/vm_stat")),
        (
            "ioreg",
            Command::new("/usr/sbin/ioreg").args(["-r", "-d", "1", "-w", "0", "-c", "IOAccelerator"]),
        ),
    ];
    let mut said = BTreeMap::new();
    thread::scope(|scope| {
        let asked = tools.map(|(name, command)| {
            (
                name,
                scope.spawn(move || run_to_end_blocking(command, patience, ANSWER_MAX)),
            )
        });
        for (name, answer) in asked {
            let Ok(Ok(output)) = answer.join() else { continue };
            let text = output.out_text();
            let lines = text.lines().filter(|line| name != "ioreg" || is_wanted(line));
            said.insert(name.to_owned(), lines.map(str::to_owned).collect());
        }
    });
    said
}

/// Of the accelerator's entry in the registry only what a judgement uses: the rest names the machine.
#[cfg(any(target_os = "macos", test))]
fn is_wanted(line: &str) -> bool {
    ["\"gpu-core-count\"", "\"model\"", "\"MetalPluginClassName\""]
        .iter()
        .any(|name| line.contains(name))
}

/// The number of cores, as the registry prints it for Apple's own GPUs: `"gpu-core-count" = 10`.
pub(super) fn add_cores(metal: &mut Asked<MetalDevice>, registry: &[String]) {
    let mut counts = registry.iter().filter_map(|line| {
        let (_, value) = line.split_once("\"gpu-core-count\"")?;
        value.trim_start().strip_prefix('=')?.trim().parse::<u32>().ok()
    });
    // A Mac has one GPU of Apple's; with two of them nobody knows whose number it is.
    let (Some(cores), None) = (counts.next(), counts.next()) else {
        return;
    };
    let Asked::Answered { devices } = metal else {
        return;
    };
    if let [device] = devices.as_mut_slice() {
        device.gpu_cores = Some(cores);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: [&str; 4] = [
        "+-o AGXAcceleratorG13X  <class AGXAcceleratorG13X, id 0x100000422, registered, matched, active>",
        "    {",
        "      \"gpu-core-count\" = 16",
        "      \"IOPlatformSerialNumber\" = \"C02XXXXXXX\"",
    ];

    #[test]
    fn the_cores_of_the_one_gpu_are_found() {
        let lines: Vec<String> = REGISTRY
            .iter()
            .filter(|line| is_wanted(line))
            .map(|line| (*line).to_owned())
            .collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        let device = MetalDevice {
            name: "Apple M1 Pro".into(),
            ..MetalDevice::default()
        };
        let cores = |mut metal: Asked<MetalDevice>, lines: &[String]| {
            add_cores(&mut metal, lines);
            metal
                .devices()
                .iter()
                .map(|device| device.gpu_cores)
                .collect::<Vec<_>>()
        };
        let one = || Asked::Answered {
            devices: vec![device.clone()],
        };
        assert_eq!(cores(one(), &lines), [Some(16)]);
        assert_eq!(cores(one(), &[]), [None]);
        assert_eq!(cores(one(), &["\"gpu-core-count\" = many".into()]), [None]);
        let two = Asked::Answered {
            devices: vec![device.clone(), device.clone()],
        };
        assert_eq!(cores(two, &lines), [None, None]);
    }
}
