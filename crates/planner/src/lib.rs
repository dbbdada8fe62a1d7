//! Decides what fits where: memory, speed, search, reasons.
//!
//! Pure: facts come in, a plan and its reasons go out. Never does I/O, reads no clock, knows no window and no wire.
//! If a rule needs a new fact, it is added to `plimsoll-hardware`, `plimsoll-gguf` or `plimsoll-catalog` and passed
//! in here. [`memory`] is llama.cpp's own accounting; what lies outside it is [`Overhead`], part by part.

mod attempt;
mod compute;
mod draft;
pub mod memory;
mod overhead;
mod plan;
mod projector;
mod reasons;
mod recommend;
mod search;
mod settings;
mod shape;
mod situation;
mod speed;
mod variant;
mod why;
mod wishes;

pub use draft::Draft;
pub use memory::{CacheType, Outputs, Release, UnknownCacheType};
pub use overhead::{Overhead, Part};
pub use plan::{DeviceNeed, Memory, Need, Plan, PlannedModel, Verdict};
pub use projector::Projector;
pub use recommend::{ANSWER_TOKENS, Alternative, Pick, Recommendation, Rejected, recommend};
pub use search::plan;
pub use settings::{DeviceUse, DraftUse, LoadMode, Settings};
pub use shape::Shape;
pub use situation::{Engine, Held, Situation};
pub use speed::{Anchor, Basis, Range, Speed};
pub use variant::{Chosen, best_variant};
pub use why::{Why, WhyParam};
pub use wishes::{Goal, PlanError, UnknownGoal, Wishes};
