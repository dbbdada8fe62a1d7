//! The app through its front door, with a fake hub and without an engine.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "test code: a broken expectation is a failed test, and a test listens for the events it means"
)]

mod catalog;
mod chat;
mod elsewhere;
mod hub;
mod library;
mod live;
mod place;
mod plan;
mod providers;
mod talk;
mod tools;
