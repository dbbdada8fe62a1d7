//! The program's own ledger, as the program fits it to the hub: the same source.

#[path = "../../../app/src/transfers/ranges.rs"]
mod ranges;

pub(crate) use ranges::RangeLedger as InStore;
