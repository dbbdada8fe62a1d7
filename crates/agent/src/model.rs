use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use crate::{ModelError, Row, Speed, Usage};

/// Someone who continues a conversation: a local llama-server or a provider.
pub trait ChatModel: Send + Sync {
    /// Sends the request and waits until the answer begins. Dropping the future or the pieces closes the
    /// connection, and with it ends the work at the server.
    fn answer(&self, request: Request) -> BoxFuture<'_, Result<Pieces, ModelError>>;
}

/// An answer while it comes. The last piece of a good one is [`Piece::Finished`].
pub type Pieces = BoxStream<'static, Result<Piece, ModelError>>;

/// One question to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The name that the server knows the model by.
    pub model: String,
    pub rows: Vec<Row>,
    pub sampling: Sampling,
    /// The slot of llama-server to use, where reuse of its cache matters.
    pub slot: Option<u32>,
}

/// How the next token is chosen. What is left out is the model's own default.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<u32>,
    pub min_p: Option<f64>,
    /// The most tokens that an answer may have.
    pub reply_max: Option<u32>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// The prompt is being read; `done` includes what was in the cache.
    PromptRead {
        done: u32,
        total: u32,
    },
    Text(String),
    Reasoning(String),
    Finished {
        reason: FinishReason,
        usage: Option<Usage>,
        speed: Option<Speed>,
    },
}

/// Why a model stopped by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    Stop,
    /// The reply limit or the window's end.
    Length,
}
