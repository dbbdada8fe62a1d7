//! Files, child processes, jobs, clock, environment and keyring: the one place that touches the operating system.
//!
//! Everything that can be left half done lives here. A file is replaced whole or not at all, a child never
//! outlives the program that started it, a job ends when its handle is dropped, and the environment is read
//! once. Never holds an opinion about models, engines or the network, never shows anything to a person, and
//! never retries: what failed is said with its path and its action, the caller decides.

pub mod child;
pub mod clock;
pub mod environment;
pub mod files;
pub mod jobs;
pub mod keyring;
pub mod memory;
pub mod names;
pub mod process;

pub use environment::{Environment, Places, PlacesError};
