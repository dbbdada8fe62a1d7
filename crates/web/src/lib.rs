//! The same calls over loopback HTTP, the page, and the front for other apps.
//!
//! [`Page`] serves `ui/` and the call table to a browser on this machine: headless boxes, and tests.
//! [`Front`] is the door for other programs that speak to llama-server's protocols: it checks key, `Host` and
//! `Origin`, loads the model that is asked for and hands bytes through as they come.
//!
//! Never listens beyond 127.0.0.1, never answers a page that is not ours, never shows the router's key, its
//! port or a path of this machine, never holds an answer back to look at it.

mod bind;
mod body;
mod error;
mod front;
mod guard;
mod headers;
mod page;
mod secret;
mod serve;
mod source;

pub use error::WebError;
pub use front::{FRONT_PORT, Front, KeptFront};
pub use page::{PAGE_PORT, Page};
pub use source::{Calls, Model, Routes, Seen, Target};
