//! The context of conversations: the accounting of `agent` fed with what happens, and with what was written
//! down of it.

mod driver;
mod expected;
mod names;
mod replay;

pub use replay::replay;
