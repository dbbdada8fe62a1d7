//! The command from outside: what is typed, what comes back, with which exit code.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conversations;
mod engines;
mod hub;
mod library;
mod memory;
mod place;
mod plan;
mod probe;
mod replay;
mod shelves;
mod talk;
mod usage;
mod web;
