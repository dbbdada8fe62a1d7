//! Fakes and builders that the tests of every crate share. Development only.
//!
//! Each outside party has one fake, a real server on loopback, and the fake checks *us*: a request that the
//! real one would refuse fails the test. Nothing here skips in silence: what a test needs and does not find
//! is a failure that says how to get it. Never used outside tests, never reaches the network.
#![expect(
    clippy::expect_used,
    reason = "this crate is test code: a broken expectation is a failed test"
)]

pub mod hub;
pub mod provider;
mod proxy;
pub mod real;
pub mod router;
mod tiny;
mod tls;
mod watcher;

pub use proxy::FakeProxy;
pub use tiny::{GgufValue, TinyGguf};
pub use tls::Authority;
pub use watcher::StrictWatcher;
