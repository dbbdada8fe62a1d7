//! Turns against scripted servers of every protocol.
#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "test code: a broken expectation is a failed test"
)]

mod bytes;
mod context;
mod support;
mod table;
mod tools;
mod turn;
