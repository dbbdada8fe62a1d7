//! `POST /chat/completions`.

mod body;
mod chunk;

pub(super) use body::{body, data_url, tool_choice};
pub(super) use chunk::Reader;
