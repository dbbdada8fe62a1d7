//! How full a conversation is, what is to be done about it, and why: the one authority for every gate and for
//! the meter.
//!
//! An [`Account`] keeps what servers counted ([`Anchor`]), what came since ([`Chain`]), and what was learned
//! about a route ([`Rates`]). It gives one [`ContextReading`] to whoever asks, decides at the gates
//! ([`Decision`]), and judges what a compaction brought. [`plan_cut`] says what would be cut, [`check_floor`]
//! whether a conversation can work at all, [`choose_way`] how a summary is asked for.
//!
//! Pure: no I/O, no clock (times are arguments, in seconds), no text of a conversation is kept, only sizes and
//! hashes. A count that nobody gave is `None`, never 0.

mod account;
mod answered;
mod chain;
mod cut;
mod decision;
mod floor;
mod fork;
mod gate;
mod image;
mod measure;
mod rates;
mod reading;
mod summary;
mod weight;

pub use account::{Account, Anchor, AnchorLost, Head, HeadPart, Sent, route_key};
pub use answered::{Counted, Heard};
pub use chain::{Chain, Digest, Thoughts};
pub use cut::{CutLimits, CutPlan, NoCut, Prune, PruneKind, plan_cut};
pub use decision::{Decision, GateLimits, GateReason, Mode, Moment, Outcome, Verdict, default_threshold};
pub use floor::{FloorCheck, ToolWeight, check_floor};
pub use fork::{
    ForkFacts, SUMMARY_TOOL, Unusable, Way, WhyStandalone, choose_way, is_cached_enough, read_summary,
};
pub use image::size_class;
pub use measure::{Policy, measure, measure_head};
pub use rates::{IMAGE_DEFAULT, ImageLesson, Quantiles, Rates, Refused, TextLesson};
pub use reading::{ContextReading, ReadingKind};
pub use summary::{SummaryNote, fork_instruction, summary_request_text, summary_row_text};
pub use weight::{Images, ResultFacts, RowFacts, RowKind, SizeClass, Weight};
