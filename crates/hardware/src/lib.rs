//! Records what a machine says, and judges it.
