use plimsoll_wire::{Class, Device, Machine};

use super::reasons;
use crate::lang::{clean, params};
use crate::out::{Out, STRONG, styled};

/// The whole machine in one line.
pub(crate) fn machine_line(out: &Out, machine: &Machine) -> String {
    let memory = &machine.memory;
    let ram = match memory.available_bytes {
        Some(free) => out.say(
            "machine.ramFree",
            &params! { total = memory.total_bytes, free = free },
        ),
        None => out.say("machine.ram", &params! { total = memory.total_bytes }),
    };
    let cpu = if machine.cpu.name.is_empty() {
        String::new()
    } else {
        let params = params! { name = clean(&machine.cpu.name), cores = machine.cpu.physical_cores };
        out.say("machine.cpu", &params) + ", "
    };
    let devices = if machine.devices.is_empty() {
        out.lang.text("machine.noDevices").to_owned()
    } else {
        let shown = machine.devices.iter().map(|device| {
            out.say(
                "machine.device",
                &params! { name = clean(&device.name), total = device.total_bytes },
            )
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    format!("{cpu}{ram}, {devices}")
}

/// Every number with its source.
pub(crate) fn machine(out: &Out, machine: &Machine) -> String {
    let text = |key: &str| out.lang.text(key).to_owned();
    let mut lines = vec![styled(STRONG, &machine_line(out, machine)), String::new()];
    let os = &machine.os;
    let mut pairs = vec![(
        text("machine.os"),
        clean(&format!("{} {} {}", os.name, os.version, os.arch)),
    )];
    let cores = params! { physical = machine.cpu.physical_cores, logical = machine.cpu.logical_cores };
    pairs.push((text("machine.cores"), out.say("machine.coresValue", &cores)));
    if !machine.cpu.features.is_empty() {
        pairs.push((text("machine.features"), clean(&machine.cpu.features.join(" "))));
    }
    pairs.push((
        text("machine.memory"),
        with_source(
            out,
            out.lang.bytes(machine.memory.total_bytes),
            &machine.memory.source,
        ),
    ));
    if let Some(bandwidth) = &machine.memory.bandwidth_bytes_per_s {
        pairs.push((
            text("machine.bandwidth"),
            with_source(out, out.lang.bandwidth(bandwidth.value), &bandwidth.source),
        ));
    }
    if let Some(class) = machine.class {
        pairs.push((text("machine.class"), text(class_key(class))));
    }
    lines.push(out.pairs(&pairs));
    if !machine.devices.is_empty() {
        lines.push(devices(out, &machine.devices));
    }
    if !machine.notes.is_empty() {
        lines.push(String::new());
        lines.extend(reasons(out, "note", &machine.notes));
    }
    lines.join("\n")
}

fn devices(out: &Out, devices: &[Device]) -> String {
    let head = [
        "word.id",
        "machine.deviceHead",
        "machine.kind",
        "machine.memory",
        "machine.free",
        "machine.bandwidth",
        "machine.source",
    ]
    .map(|key| out.lang.text(key));
    let mut table = out.table(&head);
    for device in devices {
        table.add_row([
            clean(&device.id),
            clean(&device.name),
            out.lang
                .code("kind", &super::fault::name_of(&device.kind), &params! {}),
            out.lang.bytes(device.total_bytes),
            device
                .free_bytes
                .map(|free| out.lang.bytes(free))
                .unwrap_or_default(),
            device
                .bandwidth_bytes_per_s
                .as_ref()
                .map(|found| out.lang.bandwidth(found.value))
                .unwrap_or_default(),
            clean(&device.source),
        ]);
    }
    table.trim_fmt()
}

fn with_source(out: &Out, value: String, source: &str) -> String {
    if source.is_empty() {
        value
    } else {
        out.say(
            "machine.valueSource",
            &params! { value = value, source = clean(source) },
        )
    }
}

const fn class_key(class: Class) -> &'static str {
    match class {
        Class::Discrete => "class.discrete",
        Class::Unified => "class.unified",
        Class::CpuOnly => "class.cpuOnly",
    }
}
