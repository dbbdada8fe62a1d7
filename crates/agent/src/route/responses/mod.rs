//! `POST /responses`, without anything kept at the provider.

mod body;
mod event;

pub(super) use body::body;
pub(super) use event::Reader;
