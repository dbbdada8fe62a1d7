use std::time::Duration;

use plimsoll_units::{Bytes, Tokens};

/// Why a model gave no answer, or only a part of one.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("no connection to the model's server")]
    Unreachable {
        #[source]
        source: reqwest::Error,
    },
    /// Answered with a status other than 200.
    #[error("the model's server refused: {status} {kind}: {message}")]
    Refused {
        status: u16,
        why: Refusal,
        kind: String,
        message: String,
    },
    /// The request is longer than the window. Both counts are the server's own where it refused; a request that was not
    /// sent has what the last reading says, which is an estimate where the server does not count.
    #[error("{prompt} tokens do not fit into a window of {window}")]
    Overflow { prompt: Tokens, window: Tokens },
    /// The same from a server that does not say how long the request is.
    #[error("the request does not fit into the window: {message}")]
    TooLong { window: Option<Tokens>, message: String },
    /// One message of the person is longer than the window: nothing can be cut from it.
    #[error("the message {row} alone does not fit into a window of {window}")]
    MessageTooLarge {
        row: String,
        /// Of the whole request, as far as it was counted or estimated.
        prompt: Tokens,
        window: Tokens,
    },
    /// Nothing was sent: it does not fit, and the summary that would have made room took too long.
    #[error("the summary took too long")]
    CompactionTimedOut,
    /// An error object inside a stream that had begun well.
    #[error("the model's server failed while answering: {kind}: {message}")]
    Broken {
        why: Refusal,
        kind: String,
        message: String,
    },
    /// The connection closed before the answer was complete.
    #[error("the answer was cut off")]
    Cut {
        #[source]
        source: Option<reqwest::Error>,
    },
    #[error("nothing came for {} s", after.as_secs())]
    Silent { after: Duration },
    #[error("the model's server sent something that is not a chat stream")]
    Malformed {
        #[source]
        source: serde_json::Error,
    },
    #[error("the model's server sent a stream that is not text")]
    NotText,
    #[error("one piece of the answer is larger than {limit}")]
    PieceTooLarge { limit: Bytes },
    #[error("the answer is larger than {limit}")]
    AnswerTooLarge { limit: Bytes },
    /// Nothing was sent: this route has no way to say it.
    #[error(transparent)]
    Unsendable(#[from] Unsendable),
    /// A defect of ours: caught, so that the turn still ends.
    #[error("the adapter stopped on a defect")]
    Defect,
}

/// What a server's refusal means for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The key is missing, wrong, or not allowed this.
    Key,
    /// Paid for is used up.
    Quota,
    /// Too much at once. `wait`: as the server says.
    Rate { wait: Option<Duration> },
    /// The server has too much to do, or is still starting.
    Overload { wait: Option<Duration> },
    /// It will not answer this for what it is about.
    Content,
    /// There is no such model.
    Model,
    /// The server failed.
    Server,
    /// Whatever else was wrong with the request.
    Request,
}

/// What a route has no way to say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsendable {
    #[error("{tools} tools, this provider takes {limit} at most")]
    TooManyTools { tools: usize, limit: usize },
    #[error("this provider cannot hold an answer to a form")]
    Format,
    #[error("this provider takes no tools")]
    Tools,
    #[error("the address or the key of this provider cannot be sent")]
    Address,
}

impl ModelError {
    /// How long to wait before the same request may be sent once more, where that is safe: nothing of it was
    /// worked on. `None` where sending it again could do harm or would not help.
    #[must_use]
    pub fn retry_after(&self) -> Option<Option<Duration>> {
        match self {
            Self::Refused {
                why: Refusal::Rate { wait } | Refusal::Overload { wait },
                ..
            } => Some(*wait),
            Self::Unreachable { source } if source.is_connect() => Some(None),
            Self::Unreachable { .. }
            | Self::Refused { .. }
            | Self::Overflow { .. }
            | Self::TooLong { .. }
            | Self::MessageTooLarge { .. }
            | Self::CompactionTimedOut
            | Self::Broken { .. }
            | Self::Cut { .. }
            | Self::Silent { .. }
            | Self::Malformed { .. }
            | Self::NotText
            | Self::PieceTooLarge { .. }
            | Self::AnswerTooLarge { .. }
            | Self::Unsendable(_)
            | Self::Defect => None,
        }
    }
}
