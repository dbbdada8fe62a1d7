//! Decides what fits where: memory, speed, search, reasons. Pure.
