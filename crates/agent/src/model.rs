use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use crate::{Item, ModelError, Request, Speed, Usage};

/// Someone who continues a conversation: a local llama-server or a provider.
pub trait ChatModel: Send + Sync {
    /// Sends the request and waits until the answer begins. Dropping the future or the pieces closes the
    /// connection, and with it ends the work at the server.
    fn answer(&self, request: Request) -> BoxFuture<'_, Result<Pieces, ModelError>>;
}

/// An answer while it comes. The last piece of a good one is [`Piece::Finished`].
pub type Pieces = BoxStream<'static, Result<Piece, ModelError>>;

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
    Finished(Answer),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub reason: FinishReason,
    /// All of it, in its order, with what has to go back unread.
    pub items: Vec<Item>,
    pub usage: Usage,
    pub speed: Option<Speed>,
}

/// Why a model stopped by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    Stop,
    /// The reply limit or the window's end.
    Length,
    /// It waits for the results of its calls.
    Calls,
    /// It, or a filter behind it, will not say more.
    Refused,
}
