//! `POST /messages`.

mod body;
mod event;

pub(super) use body::body;
pub(super) use event::Reader;
