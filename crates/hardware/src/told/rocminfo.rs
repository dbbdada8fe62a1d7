//! `rocminfo`: one block an agent, processors among them.

use plimsoll_units::Bytes;

use super::scan::{field, leading_number};
use super::{Api, Sighting, Text, Told, Trust, Vendor, names};

#[derive(Default)]
struct Agent {
    name: String,
    marketing: String,
    is_gpu: Option<bool>,
    is_apu: bool,
    uuid: Option<String>,
    pool: Option<Bytes>,
    in_global: bool,
}

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let is_rocminfo = text
        .lines
        .iter()
        .any(|line| line.text.trim_start().starts_with("Marketing Name:"));
    if !is_rocminfo {
        return;
    }
    let list = text.list(24);
    let mut ram = Bytes::ZERO;
    let mut agent = Agent::default();
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        let trimmed = line.text.trim();
        line.taken = true;
        if trimmed.starts_with("Agent ") || trimmed.starts_with("****") {
            if trimmed.starts_with("Agent ") {
                finish(std::mem::take(&mut agent), list, &mut ram, told);
            }
        } else if let Some(value) = field(trimmed, "Marketing Name") {
            if !agent.marketing.is_empty() {
                finish(std::mem::take(&mut agent), list, &mut ram, told);
            }
            value.clone_into(&mut agent.marketing);
        } else if let Some(value) = field(trimmed, "Name") {
            // The last one of an agent is its instruction set's long name.
            if agent.name.is_empty() {
                value.clone_into(&mut agent.name);
            } else if agent.name.starts_with("gfx") || !value.contains("gfx") {
            } else {
                agent.name = names::gfx_in(value).unwrap_or_default();
            }
        } else if let Some(value) = field(trimmed, "Device Type") {
            agent.is_gpu = Some(value == "GPU");
        } else if let Some(value) = field(trimmed, "Uuid") {
            agent.uuid = Some(value.to_ascii_lowercase()).filter(|uuid| !uuid.ends_with("-xx"));
        } else if let Some(value) = field(trimmed, "Memory Properties") {
            agent.is_apu = value.contains("APU");
        } else if let Some(value) = field(trimmed, "Segment") {
            agent.in_global = value.contains("GLOBAL");
        } else if let Some(value) = field(trimmed, "Size")
            && agent.in_global
            && agent.pool.is_none()
        {
            // `25149440(0x17fc000) KB`
            agent.pool = leading_number(value).map(Bytes::kib);
        }
    }
    finish(agent, list, &mut ram, told);
    // Each processor is a node with a part of the RAM.
    let total = Some(ram).filter(|&ram| ram > Bytes::ZERO);
    told.say_ram(total, None, Trust::Inferred, "rocminfo");
}

fn finish(agent: Agent, list: u32, ram: &mut Bytes, told: &mut Told) {
    let gfx = names::gfx_in(&agent.name);
    if agent.is_gpu.unwrap_or(gfx.is_some()) {
        let mut gpu = Sighting::new(Api::Rocm, "rocminfo", list).named(&agent.marketing);
        gpu.gfx = gfx;
        gpu.vendor = Some(Vendor::Amd);
        gpu.uuid = agent.uuid;
        // A server's processor with a GPU of the size of a card; of smaller ones the instruction set tells.
        if agent.is_apu {
            gpu.place = Some(super::Place::Processor {
                worth_planning_on: true,
            });
        }
        gpu.total = agent.pool;
        told.see(gpu);
    } else if agent.is_gpu == Some(false) {
        *ram = ram.plus(agent.pool.unwrap_or_default());
        if told.cpu.name.is_none() && !agent.marketing.is_empty() {
            told.cpu.name = Some(agent.marketing);
        }
    }
}
