//! Reading llama-server's log: which lines belong to whom, what a failure means, how large the buffers are.

mod buffers;
mod cause;
mod line;
mod mark;
mod rules;

pub use buffers::{Buffer, BufferKind};
pub(crate) use buffers::{buffers, offloaded};
pub use cause::{Cause, FileProblem, GpuProblem, Memory, OptionProblem, Part, cause, held_back};
pub(crate) use line::{LogLine, lines_of_child, lines_of_router};
pub(crate) use mark::LogMark;
