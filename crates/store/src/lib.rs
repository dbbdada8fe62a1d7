//! Conversations, events, settings and measurements in SQLite.
