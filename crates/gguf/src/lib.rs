//! Reads GGUF headers from files and split sets, within limits.
