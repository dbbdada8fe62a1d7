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
        kind: String,
        message: String,
    },
    /// The request is longer than the window. Both counts are the server's own, and exact.
    #[error("{prompt} tokens do not fit into a window of {window}")]
    Overflow { prompt: Tokens, window: Tokens },
    /// An error object inside a stream that had begun well.
    #[error("the model's server failed while answering: {kind}: {message}")]
    Broken { kind: String, message: String },
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
    /// A defect of ours: caught, so that the turn still ends.
    #[error("the adapter stopped on a defect")]
    Defect,
}
