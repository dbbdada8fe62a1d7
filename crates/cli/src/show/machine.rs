//! A machine as sentences: what a friend can read aloud over the telephone.

use plimsoll_wire::{Class, Device, DeviceKind, Machine, Param, Params, Sourced};

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

/// Every number with its source, as sentences.
pub(crate) fn machine(out: &Out, machine: &Machine) -> String {
    let mut lines = vec![styled(STRONG, &machine_line(out, machine)), String::new()];
    let os = &machine.os;
    let system = params! { system = clean(&os.version), kind = clean(&os.name), arch = clean(&os.arch) };
    lines.push(out.say("machine.saySystem", &system));
    if let Some(class) = machine.class {
        lines.push(out.lang.text(class_key(class)).to_owned());
    }
    lines.push(processor(out, machine));
    lines.push(ram(out, machine));
    lines.extend(machine.devices.iter().map(|device| device_sentence(out, device)));
    if !machine.notes.is_empty() {
        lines.extend([String::new(), out.lang.text("machine.notes").to_owned()]);
        lines.extend(reasons(out, "note", &machine.notes));
    }
    lines.extend([String::new(), out.lang.text("machine.change").to_owned()]);
    lines.push(format!("  {}", names(machine).join(" ")));
    lines.join("\n")
}

fn processor(out: &Out, machine: &Machine) -> String {
    let cpu = &machine.cpu;
    let mut params = params! { physical = cpu.physical_cores, logical = cpu.logical_cores };
    some(
        &mut params,
        "name",
        Some(clean(&cpu.name)).filter(|name| !name.is_empty()),
    );
    some(
        &mut params,
        "features",
        Some(clean(&cpu.features.join(", "))).filter(|features| !features.is_empty()),
    );
    out.say("machine.sayProcessor", &params)
}

fn ram(out: &Out, machine: &Machine) -> String {
    let memory = &machine.memory;
    let mut params = params! { total = memory.total_bytes, source = source(out, &memory.source) };
    some(&mut params, "free", memory.available_bytes);
    speed(out, &mut params, memory.bandwidth_bytes_per_s.as_ref());
    if let Some(reserve) = &memory.reserve_bytes {
        params.insert("reserve".to_owned(), reserve.value.into());
        params.insert("reserveSource".to_owned(), source(out, &reserve.source).into());
    }
    out.say("machine.sayRam", &params)
}

fn device_sentence(out: &Out, device: &Device) -> String {
    let mut params = params! {
        name = clean(&device.name), total = device.total_bytes, source = source(out, &device.source),
    };
    some(&mut params, "free", device.free_bytes);
    some(&mut params, "dedicated", device.dedicated_bytes);
    some(
        &mut params,
        "backends",
        Some(clean(&device.backends.join(", "))).filter(|backends| !backends.is_empty()),
    );
    speed(out, &mut params, device.bandwidth_bytes_per_s.as_ref());
    let key = match device.kind {
        DeviceKind::Discrete => "machine.sayDiscrete",
        DeviceKind::Integrated => "machine.sayIntegrated",
        DeviceKind::Unified => "machine.sayUnified",
        DeviceKind::Remote => "machine.sayRemote",
    };
    out.say(key, &params)
}

fn speed(out: &Out, params: &mut Params, bandwidth: Option<&Sourced>) {
    if let Some(bandwidth) = bandwidth {
        params.insert("speed".to_owned(), out.lang.bandwidth(bandwidth.value).into());
        params.insert("speedSource".to_owned(), source(out, &bandwidth.source).into());
    }
}

fn some<T: Into<Param>>(params: &mut Params, name: &str, value: Option<T>) {
    if let Some(value) = value {
        params.insert(name.to_owned(), value.into());
    }
}

/// Most sources are names of files and tools, which are the same in every language.
fn source(out: &Out, source: &str) -> String {
    let known = out.lang.find(&format!("source.{source}"));
    known.map_or_else(|| clean(source), str::to_owned)
}

/// What `--set` understands here.
fn names(machine: &Machine) -> Vec<String> {
    let own = ["memory", "reserve", "bandwidth"].map(str::to_owned);
    let of_devices = machine.devices.iter().flat_map(|device| {
        let id = clean(&device.id);
        ["memory", "bandwidth", "ignored"].map(|part| format!("{id}.{part}"))
    });
    own.into_iter().chain(of_devices).collect()
}

const fn class_key(class: Class) -> &'static str {
    match class {
        Class::Discrete => "machine.sayClassDiscrete",
        Class::Unified => "machine.sayClassUnified",
        Class::CpuOnly => "machine.sayClassCpuOnly",
    }
}
