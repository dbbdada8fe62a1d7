//! The whole app through its front door, with a real llama-server and real models. `scripts/test` provides both.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "test code: a broken expectation is a failed test, and a test listens for the events it means"
)]

mod chat;
mod clients;
mod engines;
mod front;
mod lifecycle;
mod other_servers;
mod proof;
mod room;
mod setup;
