//! Reads what a GGUF file says about itself, from one file or a split set.
//!
//! Everything in a header is a claim of a stranger: each count, length and size has a limit ([`Limits`]), nothing
//! is allocated because a number asked for it, and a file that is shorter than its own tensor list is told apart
//! from one that is broken. Never reads tensor data, never writes, never panics.

mod apart;
mod error;
mod found;
mod header;
mod limits;
mod metadata;
mod set;
mod source;
mod tensor;

pub use apart::Sibling;
pub use error::{BadReason, HeaderError, Limited};
pub use header::Header;
pub use limits::Limits;
pub use metadata::{Array, Metadata, Value, ValueKind};
pub use set::{FileSet, Part, part_names};
pub use tensor::{Tensor, TensorType};
