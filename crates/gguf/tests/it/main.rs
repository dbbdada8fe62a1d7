//! The reader against headers made here: whole, cut, lying, and damaged at random.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod broken;
mod build;
mod sets;
mod whole;
