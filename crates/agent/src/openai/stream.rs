use std::collections::VecDeque;

use bytes::Bytes as Buffer;
use eventsource_stream::{EventStreamError, Eventsource as _};
use futures_util::{Stream, StreamExt as _, stream};
use plimsoll_units::Bytes;

use super::Limits;
use super::chunk::{Chunk, Ending};
use crate::{ModelError, Piece, Pieces};

/// Ends the stream of every OpenAI-shaped server.
const DONE: &str = "[DONE]";

/// The answer in pieces, until its end, an error or silence.
pub(super) fn pieces(response: reqwest::Response, limits: Limits) -> Pieces {
    let bytes = response.bytes_stream().map(|chunk| chunk.map_err(cut));
    let state = Reading {
        events: bounded(bytes, limits).eventsource().boxed(),
        waiting: VecDeque::new(),
        ending: Some(Ending::default()),
        limits,
    };
    stream::unfold(state, |mut state| async {
        state.next().await.map(|piece| (piece, state))
    })
    .boxed()
}

type Events = stream::BoxStream<'static, Result<eventsource_stream::Event, EventStreamError<ModelError>>>;

struct Reading {
    events: Events,
    waiting: VecDeque<Piece>,
    /// Taken by the last piece or the error: nothing comes after it.
    ending: Option<Ending>,
    limits: Limits,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<Piece, ModelError>> {
        loop {
            if let Some(piece) = self.waiting.pop_front() {
                return Some(Ok(piece));
            }
            let ending = self.ending.as_mut()?;
            let read = match self.events.next_within(self.limits).await {
                Ok(Some(data)) if data != DONE => read(&data, ending),
                // The end, said or not: whoever gave a reason to finish has finished.
                Ok(Some(_) | None) => {
                    return self
                        .ending
                        .take()
                        .map(|ending| ending.finish(|| ModelError::Cut { source: None }));
                }
                Err(error) => Err(error),
            };
            match read {
                Ok(pieces) => self.waiting.extend(pieces),
                Err(error) => {
                    self.ending = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

fn read(data: &str, ending: &mut Ending) -> Result<Vec<Piece>, ModelError> {
    let chunk: Chunk = serde_json::from_str(data).map_err(|source| ModelError::Malformed { source })?;
    chunk.pieces(ending)
}

trait NextWithin {
    async fn next_within(&mut self, limits: Limits) -> Result<Option<String>, ModelError>;
}

impl NextWithin for Events {
    /// The next event's data; comments that only keep a connection open are no sign of life.
    async fn next_within(&mut self, limits: Limits) -> Result<Option<String>, ModelError> {
        match tokio::time::timeout(limits.idle, self.next()).await {
            Ok(Some(Ok(event))) => Ok(Some(event.data)),
            Ok(None) => Ok(None),
            Ok(Some(Err(EventStreamError::Transport(error)))) => Err(error),
            Ok(Some(Err(EventStreamError::Utf8(_) | EventStreamError::Parser(_)))) => {
                Err(ModelError::NotText)
            }
            Err(_) => Err(ModelError::Silent { after: limits.idle }),
        }
    }
}

fn cut(source: reqwest::Error) -> ModelError {
    ModelError::Cut {
        source: Some(source.without_url()),
    }
}

/// Passes bytes on until an event or the whole is too large: the event parser has no limit of its own.
fn bounded(
    bytes: impl Stream<Item = Result<Buffer, ModelError>>,
    limits: Limits,
) -> impl Stream<Item = Result<Buffer, ModelError>> {
    let mut total = Bytes::ZERO;
    let mut event = 0_u64;
    let mut line = 0_u64;
    bytes.map(move |chunk| {
        let chunk = chunk?;
        total = total.plus(Bytes(u64::try_from(chunk.len()).unwrap_or(u64::MAX)));
        if total > limits.answer {
            return Err(ModelError::AnswerTooLarge { limit: limits.answer });
        }
        for byte in &chunk {
            event += 1;
            match byte {
                // An empty line ends an event.
                b'\n' => event = if line == 0 { 0 } else { event },
                b'\r' => continue,
                _ => {
                    line += 1;
                    continue;
                }
            }
            line = 0;
        }
        if Bytes(event) > limits.piece {
            return Err(ModelError::PieceTooLarge { limit: limits.piece });
        }
        Ok(chunk)
    })
}
