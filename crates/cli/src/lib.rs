//! The same calls from a terminal.
