//! Turns against a scripted server.
#![expect(
    clippy::unwrap_used,
    reason = "test code: a broken expectation is a failed test"
)]

mod turn;
