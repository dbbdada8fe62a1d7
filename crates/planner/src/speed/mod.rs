//! How fast a model answers: a floor per token and layer, plus the bytes it reads over the bandwidth that reaches
//! them, plus the cache that it looks back at; reading a prompt is limited by arithmetic. A range, never a point.
//!
//! Three bases, told apart: the table of [`place`]; runs of other models on the same machine ([`learn`]); a run of
//! this very model there. The constants are fitted to public measurements (llmfit's community rows and llama.cpp's
//! own benches, both MIT; lhl's Strix Halo runs, Apache-2.0); how well they do, also on machines they were not
//! fitted to, is printed by the tests of this module.

mod cost;
mod learn;
mod place;
#[cfg(test)]
mod tests;

use plimsoll_units::Bytes;

use crate::Shape;

pub(crate) use cost::{FETCHED_FOR, Work, Worker, attention, host_is_fetched};
pub(crate) use learn::Learned;
pub(crate) use place::{Vectors, WorkerKind};

/// At the least, expected, at the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub low: f64,
    pub mid: f64,
    pub high: f64,
}

impl Range {
    /// `None` unless all three are finite numbers above 0.
    fn around(mid: f64, spread: Spread) -> Option<Self> {
        let range = Self {
            low: mid * spread.down,
            mid,
            high: mid * spread.up,
        };
        let sound = |n: f64| n.is_finite() && n > 0.0;
        (sound(range.low) && sound(range.mid) && sound(range.high)).then_some(range)
    }
}

#[derive(Debug, Clone, Copy)]
struct Spread {
    down: f64,
    up: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// Tokens per second while answering.
    pub decode: Range,
    /// Tokens per second while reading the prompt.
    pub prefill: Range,
    pub prompt_tokens: u32,
    /// Seconds from sending such a prompt to the first word.
    pub first_token_s: Range,
    pub basis: Basis,
    /// Measured runs that were used.
    pub runs: u32,
    reading: Reading,
}

/// Milliseconds for a prompt: so much for each token, and so much more for each token that it looks back at.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    token_ms: f64,
    pair_ms: f64,
}

impl Reading {
    fn seconds(self, tokens: u32) -> f64 {
        let tokens = f64::from(tokens);
        (tokens * self.token_ms + tokens * tokens / 2.0 * self.pair_ms) / 1e3
    }
}

impl Speed {
    /// Seconds for a whole turn with this many tokens of prompt and answer, as expected.
    #[must_use]
    pub fn turn_seconds(&self, prompt: u32, answer: u32) -> f64 {
        self.reading.seconds(prompt) + f64::from(answer) / self.decode.mid
    }

    /// The same at the least and at the most: prompt and answer are slow or quick together.
    #[must_use]
    pub fn turn(&self, prompt: u32, answer: u32) -> Range {
        let reading = self.reading.seconds(prompt) * self.prefill.mid;
        let with = |prefill: f64, decode: f64| reading / prefill + f64::from(answer) / decode;
        Range {
            low: with(self.prefill.high, self.decode.high),
            mid: with(self.prefill.mid, self.decode.mid),
            high: with(self.prefill.low, self.decode.low),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Data sheets and constants.
    Table,
    /// Corrected by runs of other models on this machine.
    Measured,
    /// A run of this very model on this machine.
    OwnRun,
}

/// A measured run of a model on the machine that is planned for.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    shape: Shape,
    decode: Option<f64>,
    prefill: Option<f64>,
}

impl Anchor {
    /// `None` when neither figure is a speed.
    #[must_use]
    pub fn of(shape: Shape, decode: Option<f64>, prefill: Option<f64>) -> Option<Self> {
        let sound = |n: &f64| n.is_finite() && *n > 0.0;
        let (decode, prefill) = (decode.filter(sound), prefill.filter(sound));
        (decode.is_some() || prefill.is_some()).then_some(Self {
            shape,
            decode,
            prefill,
        })
    }

    /// The same file, as far as its numbers tell.
    fn is_of(&self, shape: &Shape) -> bool {
        self.shape.architecture == shape.architecture
            && self.shape.parameters == shape.parameters
            && self.shape.quant == shape.quant
            && self.shape.bytes_read() == shape.bytes_read()
    }
}

/// The question: who works, with how long a prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) workers: &'a [Worker],
    /// Cache of such a prompt.
    pub(crate) cache_reads: Bytes,
    pub(crate) prompt_tokens: u32,
}

/// Where the anchors were measured: the fastest place of the machine, with its memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole {
    pub(crate) worker: Worker,
    /// Models above this did not run there alone.
    pub(crate) room: Bytes,
}

/// Speed from the table, corrected by measured runs where there are some.
pub(crate) fn estimate(question: &Question, anchors: &[Anchor], learned: &Learned) -> Option<Speed> {
    let table = cost::cost(question.shape, question.workers, question.cache_reads)?;
    let learned = learned.about(question.shape, anchors, &table);
    let decode_ms = learned.token_ms(&table);
    let reading = Reading {
        token_ms: table.prompt_token_ms() * learned.prompt,
        pair_ms: table.prompt_pair_ms() * learned.prompt,
    };
    let place = Placing::of(question.workers);
    let decode = Range::around(1e3 / decode_ms, decode_spread(&learned, place))?;
    let tokens = f64::from(question.prompt_tokens);
    let seconds = reading.seconds(question.prompt_tokens);
    let prefill = Range::around(tokens / seconds, prefill_spread(&learned))?;
    let first_token_s = Range {
        low: tokens / prefill.high + 1.0 / decode.high,
        mid: tokens / prefill.mid + 1.0 / decode.mid,
        high: tokens / prefill.low + 1.0 / decode.low,
    };
    Some(Speed {
        decode,
        prefill,
        prompt_tokens: question.prompt_tokens,
        first_token_s,
        basis: learned.basis,
        runs: learned.runs,
        reading,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placing {
    Devices,
    Host,
    Both,
}

impl Placing {
    fn of(workers: &[Worker]) -> Self {
        let on_host = |worker: &&Worker| matches!(worker.kind, WorkerKind::Host { .. });
        match workers.iter().filter(on_host).count() {
            0 => Self::Devices,
            hosts if hosts == workers.len() => Self::Host,
            _ => Self::Both,
        }
    }
}

/// Nine of ten measurements of the table's machines lie within; the own run leaves the noise between two runs, 2 to
/// 5 % (llmfit's community data).
const fn decode_spread(learned: &Learned, placing: Placing) -> Spread {
    let (down, up) = match (learned.basis, placing) {
        (Basis::OwnRun, _) => (0.93, 1.07),
        (Basis::Measured, Placing::Devices) if learned.runs >= 3 => (0.85, 1.15),
        (Basis::Measured, Placing::Devices | Placing::Host) => (0.8, 1.2),
        (Basis::Measured, Placing::Both) => (0.72, 1.3),
        (Basis::Table, Placing::Devices) => (0.75, 1.2),
        (Basis::Table, Placing::Host | Placing::Both) => (0.65, 1.4),
    };
    Spread { down, up }
}

/// Prefill has less data behind it, and batches, kernels and versions move it more.
const fn prefill_spread(learned: &Learned) -> Spread {
    let (down, up) = match (learned.basis, learned.prompt_runs) {
        (Basis::OwnRun, 1..) => (0.85, 1.15),
        (Basis::Table | Basis::Measured | Basis::OwnRun, 0) => (0.5, 1.8),
        (Basis::Table | Basis::Measured, 1..) => (0.7, 1.35),
    };
    Spread { down, up }
}
