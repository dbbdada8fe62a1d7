//! One conversation over any route: what is sent, what streams back, how a turn ends, what it took.
//!
//! A route is a [`ChatModel`]; [`OpenAiChat`] is the one for `/v1/chat/completions` as llama-server serves
//! it. A [`Turn`] asks a model and always ends with exactly one [`TurnEvent::End`], whatever happened.
//!
//! Never stores anything, never starts an engine, never retries behind the person's back. Numbers that a
//! server did not give are `None`, never 0. What is sent for a row depends on that row alone, so that a
//! growing conversation keeps its prefix and the server's cache keeps its worth.

mod error;
mod model;
mod openai;
mod transcript;
mod turn;
mod usage;

pub use error::ModelError;
pub use model::{ChatModel, FinishReason, Piece, Pieces, Request, Sampling};
pub use openai::{Limits, OpenAiChat, Route};
pub use transcript::{Role, Row, SYSTEM_PROMPT, Transcript};
pub use turn::{End, Turn, TurnEvent, TurnFigures};
pub use usage::{Speed, Usage};
