use std::collections::VecDeque;

use bytes::Bytes as Buffer;
use eventsource_stream::{EventStreamError, Eventsource as _};
use futures_util::{Stream, StreamExt as _, stream};
use plimsoll_units::Bytes;

use super::Limits;
use crate::{Answer, ModelError, Piece, Pieces};

/// Reads the events of one protocol. Whatever comes, it answers or refuses; it never panics.
pub(super) trait ReadEvents: Send + 'static {
    /// One event's data: pieces for the reader in order, and whether the stream has said its end.
    fn event(&mut self, data: &str, pieces: &mut VecDeque<Piece>) -> Result<Flow, ModelError>;

    /// The whole answer. `None` where the stream ended before the answer did.
    fn finish(&mut self) -> Option<Answer>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    GoesOn,
    Ended,
}

/// The answer in pieces, until its end, an error or silence.
pub(super) fn pieces(response: reqwest::Response, limits: Limits, reader: impl ReadEvents) -> Pieces {
    let bytes = response.bytes_stream().map(|chunk| chunk.map_err(cut));
    read_pieces(bytes, limits, reader)
}

fn read_pieces(
    bytes: impl Stream<Item = Result<Buffer, ModelError>> + Send + 'static,
    limits: Limits,
    reader: impl ReadEvents,
) -> Pieces {
    let state = Reading {
        events: bounded(bytes, limits).eventsource().boxed(),
        waiting: VecDeque::new(),
        reader: Some(reader),
        limits,
    };
    stream::unfold(state, |mut state| async {
        state.next().await.map(|piece| (piece, state))
    })
    .boxed()
}

type Events = stream::BoxStream<'static, Result<eventsource_stream::Event, EventStreamError<ModelError>>>;

struct Reading<R> {
    events: Events,
    waiting: VecDeque<Piece>,
    /// Taken by the last piece or the error: nothing comes after it.
    reader: Option<R>,
    limits: Limits,
}

impl<R: ReadEvents> Reading<R> {
    async fn next(&mut self) -> Option<Result<Piece, ModelError>> {
        loop {
            if let Some(piece) = self.waiting.pop_front() {
                return Some(Ok(piece));
            }
            let reader = self.reader.as_mut()?;
            let read = match next_within(&mut self.events, self.limits).await {
                Ok(Some(data)) => reader.event(&data, &mut self.waiting),
                Ok(None) => Ok(Flow::Ended),
                Err(error) => Err(error),
            };
            match read {
                Ok(Flow::GoesOn) => {}
                // The end, said or not: whoever gave a reason to finish has finished.
                Ok(Flow::Ended) => match reader.finish() {
                    Some(answer) => {
                        self.waiting.push_back(Piece::Finished(answer));
                        self.reader = None;
                    }
                    None => return Some(self.fail(ModelError::Cut { source: None })),
                },
                Err(error) => return Some(self.fail(error)),
            }
        }
    }

    fn fail(&mut self, error: ModelError) -> Result<Piece, ModelError> {
        self.reader = None;
        self.waiting.clear();
        Err(error)
    }
}

/// The next event's data; comments that only keep a connection open are no sign of life.
async fn next_within(events: &mut Events, limits: Limits) -> Result<Option<String>, ModelError> {
    match tokio::time::timeout(limits.idle, events.next()).await {
        Ok(Some(Ok(event))) => Ok(Some(event.data)),
        Ok(None) => Ok(None),
        Ok(Some(Err(EventStreamError::Transport(error)))) => Err(error),
        Ok(Some(Err(EventStreamError::Utf8(_) | EventStreamError::Parser(_)))) => Err(ModelError::NotText),
        Err(_) => Err(ModelError::Silent { after: limits.idle }),
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

#[cfg(test)]
mod tests {
    use bytes::Bytes as Buffer;
    use futures_util::{StreamExt as _, stream};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::{Limits, chat, messages, responses};
    use super::read_pieces;
    use crate::{ModelError, Piece};

    #[derive(Debug, Clone, Copy)]
    enum Which {
        Chat,
        Responses,
        Messages,
    }
    const ALL: [Which; 3] = [Which::Chat, Which::Responses, Which::Messages];

    /// All that comes of a stream in these chunks.
    fn read(which: Which, chunks: Vec<Vec<u8>>) -> Vec<Result<Piece, ModelError>> {
        let bytes = stream::iter(chunks).map(|chunk| Ok(Buffer::from(chunk)));
        let limits = Limits::default();
        let origin = || "p/m".to_owned();
        let pieces = match which {
            Which::Chat => read_pieces(bytes, limits, chat::Reader::new(origin(), None)),
            Which::Responses => read_pieces(bytes, limits, responses::Reader::new(origin(), None)),
            Which::Messages => read_pieces(bytes, limits, messages::Reader::new(origin(), None)),
        };
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(pieces.collect())
    }

    /// Whatever came, it ends once: with an answer or with an error, and nothing after it.
    fn check_end(heard: &[Result<Piece, ModelError>]) -> Result<(), TestCaseError> {
        let (last, before) = heard.split_last().ok_or_else(|| TestCaseError::fail("no end"))?;
        prop_assert!(matches!(last, Ok(Piece::Finished(_)) | Err(_)), "{last:?}");
        for piece in before {
            prop_assert!(!matches!(piece, Ok(Piece::Finished(_)) | Err(_)), "{piece:?}");
        }
        Ok(())
    }

    fn chunks(bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        cuts.windows(2)
            .map(|pair| bytes[pair[0]..pair[1]].to_vec())
            .collect()
    }

    fn frames(events: &[Value]) -> Vec<u8> {
        events
            .iter()
            .flat_map(|event| format!("event: x\ndata: {event}\n\n").into_bytes())
            .collect()
    }

    /// A good answer with a thought, words and two calls.
    fn good(which: Which) -> Vec<u8> {
        frames(&match which {
            Which::Chat => vec![
                json!({"choices": [{"delta": {"reasoning_content": "hm 🌊"}}]}),
                json!({"choices": [{"delta": {"content": "Grüße"}}]}),
                json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":"}}]}}]}),
                json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}, {"index": 1, "id": "b", "function": {"name": "g"}}]}}]}),
                json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
            ],
            Which::Responses => vec![
                json!({"type": "response.reasoning_summary_text.delta", "delta": "hm 🌊"}),
                json!({"type": "response.output_item.done", "item": {"type": "reasoning", "id": "r", "summary": [{"text": "hm 🌊"}], "encrypted_content": "e"}}),
                json!({"type": "response.output_text.delta", "delta": "Grüße"}),
                json!({"type": "response.output_item.done", "item": {"type": "message", "content": [{"text": "Grüße"}]}}),
                json!({"type": "response.output_item.done", "item": {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{\"x\":1}"}}),
                json!({"type": "response.output_item.done", "item": {"type": "function_call", "call_id": "b", "name": "g", "arguments": ""}}),
                json!({"type": "response.completed", "response": {"usage": {"input_tokens": 3, "output_tokens": 2}}}),
            ],
            Which::Messages => vec![
                json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm 🌊"}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "e"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Grüße"}}),
                json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}}}),
                json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"x\":1}"}}),
                json!({"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "b", "name": "g", "input": {}}}),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
                json!({"type": "message_stop"}),
            ],
        })
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z_]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(name(), inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// Names that the readers look for.
    fn name() -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "type",
            "choices",
            "delta",
            "content",
            "tool_calls",
            "index",
            "id",
            "function",
            "arguments",
            "name",
            "finish_reason",
            "usage",
            "prompt_tokens",
            "error",
            "message",
            "code",
            "item",
            "response",
            "output",
            "summary",
            "text",
            "content_block",
            "partial_json",
            "stop_reason",
            "reasoning_details",
            "timings",
            "prompt_progress",
            "total",
            "processed",
            "input",
            "cost",
        ])
        .prop_map(str::to_owned)
    }

    fn event_type() -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
            "error",
            "ping",
            "response.completed",
            "response.failed",
            "response.incomplete",
            "response.output_item.done",
            "response.output_text.delta",
            "text_delta",
            "tool_use",
            "text",
            "thinking",
            "function_call",
            "reasoning",
        ])
        .prop_map(str::to_owned)
    }

    proptest! {
        #[test]
        fn any_bytes_end_once(bytes in prop::collection::vec(any::<u8>(), 0..400), cuts in prop::collection::vec(any::<usize>(), 0..5)) {
            for which in ALL {
                check_end(&read(which, chunks(&bytes, &cuts)))?;
            }
        }

        #[test]
        fn any_json_ends_once(events in prop::collection::vec((prop::option::of(event_type()), json_value()), 0..8)) {
            let events: Vec<Value> = events.into_iter().map(|(kind, mut event)| {
                if let (Some(kind), Some(fields)) = (kind, event.as_object_mut()) {
                    fields.insert("type".into(), kind.into());
                }
                event
            }).collect();
            for which in ALL {
                check_end(&read(which, vec![frames(&events)]))?;
            }
        }

        /// However the network cuts a stream, the same answer comes of it.
        #[test]
        fn the_cuts_of_the_network_change_nothing(cuts in prop::collection::vec(any::<usize>(), 0..12)) {
            for which in ALL {
                let bytes = good(which);
                let whole = read(which, vec![bytes.clone()]);
                let Some(Ok(Piece::Finished(answer))) = whole.last() else { panic!("{whole:?}") };
                prop_assert_eq!(answer.items.len(), 4, "{:?}", answer);
                let cut = read(which, chunks(&bytes, &cuts));
                prop_assert_eq!(format!("{cut:?}"), format!("{whole:?}"));
            }
        }

        /// A stream that breaks off anywhere is cut or whole, never half an answer that looks whole.
        #[test]
        fn a_stream_that_breaks_off_is_no_answer(at in any::<prop::sample::Index>()) {
            for which in ALL {
                let bytes = good(which);
                let heard = read(which, vec![bytes[..at.index(bytes.len())].to_vec()]);
                check_end(&heard)?;
                if let Some(Ok(Piece::Finished(answer))) = heard.last() {
                    prop_assert_eq!(answer.items.len(), 4, "{:?}", answer);
                }
            }
        }
    }
}
