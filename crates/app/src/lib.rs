//! Composition without a window: owners, use cases, the call table.
