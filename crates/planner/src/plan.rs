use plimsoll_units::Bytes;

use crate::memory::Kinds;
use crate::overhead::Overhead;
use crate::settings::Settings;
use crate::speed::Speed;
use crate::{Shape, Why};

/// Model + machine + wishes → settings, memory, speed, reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub model: PlannedModel,
    pub settings: Settings,
    pub verdict: Verdict,
    pub why: Vec<Why>,
    pub memory: Memory,
    /// `None` when no bandwidth is known for a part that would work.
    pub speed: Option<Speed>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlannedModel {
    pub quant: String,
    pub architecture: String,
    pub parameters: u64,
    pub active_parameters: u64,
    pub file_bytes: Bytes,
    pub context_trained: u32,
    /// Layers of its own that guess ahead when they are asked to.
    pub drafting_layers: u32,
}

impl PlannedModel {
    pub(crate) fn of(shape: &Shape) -> Self {
        Self {
            quant: shape.quant.clone(),
            architecture: shape.architecture.clone(),
            parameters: shape.parameters,
            active_parameters: shape.active_parameters,
            file_bytes: shape.file_bytes,
            context_trained: shape.context_trained,
            drafting_layers: u32::try_from(shape.drafting.len()).unwrap_or(u32::MAX),
        }
    }
}

/// Worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Fits,
    /// Part of it runs from the RAM although there is a device.
    Spills,
    TooBig,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// In llama.cpp's order; only those that the plan uses.
    pub devices: Vec<DeviceNeed>,
    pub host: Need,
    /// Everything together, at the least and at the most.
    pub low: Bytes,
    pub high: Bytes,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DeviceNeed {
    /// The machine's id of the device.
    pub id: String,
    pub need: Need,
}

/// What one pool of memory has to hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Need {
    pub kinds: Kinds,
    pub projector: Bytes,
    pub overhead: Vec<Overhead>,
    /// What may be used here: the line on the hull.
    pub budget: Bytes,
}

impl Need {
    #[must_use]
    pub fn overhead_bytes(&self) -> Bytes {
        self.overhead.iter().map(|part| part.bytes).sum()
    }

    #[must_use]
    pub fn total(&self) -> Bytes {
        self.kinds
            .total()
            .plus(self.projector)
            .plus(self.overhead_bytes())
    }

    /// What is there right after the first words: without the parts that fill with use.
    #[must_use]
    pub fn after_loading(&self) -> Bytes {
        let there = self.overhead.iter().filter(|part| !part.part.fills_with_use());
        self.kinds
            .total()
            .plus(self.projector)
            .plus(there.map(|part| part.bytes).sum())
    }

    fn low(&self) -> Bytes {
        self.kinds
            .total()
            .plus(self.projector)
            .plus(self.overhead.iter().map(|part| part.low).sum())
    }

    fn high(&self) -> Bytes {
        self.kinds
            .total()
            .plus(self.projector)
            .plus(self.overhead.iter().map(|part| part.high).sum())
    }
}

impl Memory {
    pub(crate) fn of(devices: Vec<DeviceNeed>, host: Need, uncertain: bool) -> Self {
        let all = || devices.iter().map(|device| &device.need).chain([&host]);
        let (low, high): (Bytes, Bytes) = (all().map(Need::low).sum(), all().map(Need::high).sum());
        // The general rule may be off by a tenth either way.
        let (low, high) = if uncertain {
            (low.less(Bytes(low.0 / 10)), high.plus(Bytes(high.0 / 10)))
        } else {
            (low, high)
        };
        Self {
            devices,
            host,
            low,
            high,
        }
    }
}
