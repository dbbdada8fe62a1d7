//! Hub metadata, resumable verified transfers, the library on disk.
