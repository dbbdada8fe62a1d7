//! The page host and the front from outside, over real connections.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod fakes;
mod front;
mod page;
mod talk;
