//! Files, child processes, jobs, clock and environment: the only crate that writes files or spawns.
