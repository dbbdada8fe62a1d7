//! The hub crate against the fake hub: every fault once, and what must never happen.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

mod answers;
mod kill;
mod ledger;
mod library;
mod listing;
mod others;
mod parallel;
mod search;
mod space;
mod support;
mod transfer;
mod ways;
