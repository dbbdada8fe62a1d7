use plimsoll_os::{clock, process};
use plimsoll_units::Bytes;

use crate::facts::record_memory;
use crate::judge::judge_memory;
use crate::machine::Machine;

use super::graphics::Graphics;
use super::nvidia::CardUse;
use super::{Sample, split};

/// Reads what changes. Lives in the sampler's task; blocks only for files.
pub(super) struct Gauge {
    processors: sysinfo::System,
    /// Whether the processors were looked at before: their load is the difference between two looks.
    marked: bool,
    graphics: Graphics,
}

impl Gauge {
    pub(super) fn new(machine: &Machine) -> Self {
        Self {
            processors: sysinfo::System::new(),
            marked: false,
            graphics: Graphics::of(machine),
        }
    }

    /// After a long sleep the difference to the last look says nothing about now.
    pub(super) const fn forget_load(&mut self) {
        self.marked = false;
    }

    /// `None` for a first look. `cards`: what NVIDIA's hold.
    pub(super) fn look(&mut self, also_ours: &[u32], cards: &[CardUse]) -> Option<Sample> {
        self.processors.refresh_cpu_usage();
        if !std::mem::replace(&mut self.marked, true) {
            return None;
        }
        let ours = our_processes(also_ours);
        // Notes were left by the probe; a reading every second must not repeat them.
        let memory = judge_memory(&record_memory(), &mut Vec::new());
        let resident: Vec<process::Resident> =
            ours.iter().filter_map(|&pid| process::resident(pid)).collect();
        Some(Sample {
            taken_at_ms: clock::now_ms(),
            cpu_percent: f64::from(self.processors.global_cpu_usage()).clamp(0.0, 100.0),
            memory: split::of_ram(memory.total, memory.available.min(memory.total), &resident),
            devices: if memory.total == Bytes::ZERO {
                Vec::new()
            } else {
                self.graphics.look(&ours, cards)
            },
        })
    }
}

fn our_processes(also_ours: &[u32]) -> Vec<u32> {
    let mut ours: Vec<u32> = std::iter::once(process::own_pid())
        .chain(also_ours.iter().copied())
        .flat_map(|pid| std::iter::once(pid).chain(process::descendants(pid)))
        .collect();
    ours.sort_unstable();
    ours.dedup();
    ours
}
