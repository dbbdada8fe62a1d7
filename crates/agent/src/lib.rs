//! One conversation over any route: turns, streaming, usage.
