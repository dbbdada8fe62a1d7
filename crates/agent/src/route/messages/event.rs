use std::collections::VecDeque;

use plimsoll_catalog::Prices;
use serde::Deserialize;
use serde_json::Value;

use super::super::events::{Flow, ReadEvents};
use super::super::gather::{Gathered, OpenCall};
use super::super::refusal::ErrorObject;
use crate::usage::{Counts, Input};
use crate::{Answer, FinishReason, ModelError, Piece, Reasoning, Seal, Usage};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    message: Option<Message>,
    content_block: Option<Block>,
    delta: Option<Delta>,
    usage: Option<UsageObject>,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    usage: Option<UsageObject>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block {
    r#type: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Delta {
    r#type: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct UsageObject {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

/// The block that is being written.
enum Open {
    Text(String),
    Thought {
        text: String,
        signature: String,
    },
    Call(OpenCall),
    /// One that we do not read.
    Other,
}

/// Reads the events of one message.
pub(in super::super) struct Reader {
    origin: String,
    prices: Option<Prices>,
    gathered: Gathered,
    open: Option<Open>,
    calls: usize,
    reason: Option<FinishReason>,
    usage: UsageObject,
}

impl Reader {
    pub(in super::super) fn new(origin: String, prices: Option<Prices>) -> Self {
        Self {
            origin,
            prices,
            gathered: Gathered::default(),
            open: None,
            calls: 0,
            reason: None,
            usage: UsageObject::default(),
        }
    }

    fn begin(&mut self, block: Block, pieces: &mut VecDeque<Piece>) {
        self.close();
        let filled = |text: Option<String>| text.unwrap_or_default();
        self.open = Some(match block.r#type.as_str() {
            "text" => {
                let text = filled(block.text);
                if !text.is_empty() {
                    pieces.push_back(Piece::Text(text.clone()));
                }
                Open::Text(text)
            }
            "thinking" => {
                let text = filled(block.thinking);
                if !text.is_empty() {
                    pieces.push_back(Piece::Reasoning(text.clone()));
                }
                Open::Thought {
                    text,
                    signature: filled(block.signature),
                }
            }
            "redacted_thinking" => {
                self.gathered.thought(Reasoning {
                    text: String::new(),
                    by: self.origin.clone(),
                    seal: Some(Seal::Redacted {
                        data: filled(block.data),
                    }),
                });
                Open::Other
            }
            "tool_use" => Open::Call(OpenCall {
                id: filled(block.id),
                name: filled(block.name),
                // Empty while it is streamed; whole from a server that does not stream it.
                arguments: block
                    .input
                    .filter(|input| input.as_object().is_some_and(|fields| !fields.is_empty()))
                    .map(|input| input.to_string())
                    .unwrap_or_default(),
                extra: None,
            }),
            _ => Open::Other,
        });
    }

    fn delta(&mut self, delta: Delta, pieces: &mut VecDeque<Piece>) {
        match (&mut self.open, delta.r#type.as_str()) {
            (Some(Open::Text(text)), "text_delta") => {
                let more = delta.text.unwrap_or_default();
                text.push_str(&more);
                if !more.is_empty() {
                    pieces.push_back(Piece::Text(more));
                }
            }
            (Some(Open::Thought { text, .. }), "thinking_delta") => {
                let more = delta.thinking.unwrap_or_default();
                text.push_str(&more);
                if !more.is_empty() {
                    pieces.push_back(Piece::Reasoning(more));
                }
            }
            (Some(Open::Thought { signature, .. }), "signature_delta") => {
                signature.push_str(&delta.signature.unwrap_or_default());
            }
            (Some(Open::Call(call)), "input_json_delta") => {
                call.arguments.push_str(&delta.partial_json.unwrap_or_default());
            }
            // A delta that does not belong to its block says nothing that we could keep.
            (Some(Open::Text(_) | Open::Thought { .. } | Open::Call(_) | Open::Other) | None, _) => {}
        }
    }

    fn close(&mut self) {
        match self.open.take() {
            Some(Open::Text(text)) if !text.is_empty() => self.gathered.text(&text),
            Some(Open::Thought { text, signature }) => {
                let seal = (!signature.is_empty()).then_some(Seal::Signature { signature });
                if seal.is_some() || !text.is_empty() {
                    self.gathered.thought(Reasoning {
                        text,
                        by: self.origin.clone(),
                        seal,
                    });
                }
            }
            Some(Open::Call(call)) => {
                self.gathered.call(call.close(self.calls));
                self.calls += 1;
            }
            Some(Open::Text(_) | Open::Other) | None => {}
        }
    }

    /// Counts come at the start and, as totals, at the end.
    fn count(&mut self, usage: UsageObject) {
        let now = &mut self.usage;
        now.input_tokens = usage.input_tokens.or(now.input_tokens);
        now.cache_read_input_tokens = usage.cache_read_input_tokens.or(now.cache_read_input_tokens);
        now.cache_creation_input_tokens = usage
            .cache_creation_input_tokens
            .or(now.cache_creation_input_tokens);
        now.output_tokens = usage.output_tokens.or(now.output_tokens);
        now.output_tokens_details = usage.output_tokens_details.or(now.output_tokens_details);
    }
}

impl ReadEvents for Reader {
    fn event(&mut self, data: &str, pieces: &mut VecDeque<Piece>) -> Result<Flow, ModelError> {
        let event: Event = serde_json::from_str(data).map_err(|source| ModelError::Malformed { source })?;
        match event.r#type.as_str() {
            "message_start" => {
                if let Some(usage) = event.message.and_then(|message| message.usage) {
                    self.count(usage);
                }
            }
            "content_block_start" => self.begin(event.content_block.unwrap_or_default(), pieces),
            "content_block_delta" => self.delta(event.delta.unwrap_or_default(), pieces),
            "content_block_stop" => self.close(),
            "message_delta" => {
                if let Some(usage) = event.usage {
                    self.count(usage);
                }
                match event.delta.and_then(|delta| delta.stop_reason).as_deref() {
                    None => {}
                    Some("max_tokens" | "model_context_window_exceeded") => {
                        self.reason = Some(FinishReason::Length);
                    }
                    Some("tool_use") => self.reason = Some(FinishReason::Calls),
                    Some("refusal") => self.reason = Some(FinishReason::Refused),
                    Some(_) => self.reason = Some(FinishReason::Stop),
                }
            }
            "message_stop" => return Ok(Flow::Ended),
            // `error`, or the object of another protocol without a type.
            _ => {
                if let Some(error) = event.error.filter(|error| !error.is_null()) {
                    return Err(ErrorObject::from_value(&error).inside_a_stream());
                }
            }
        }
        Ok(Flow::GoesOn)
    }

    fn finish(&mut self) -> Option<Answer> {
        let reason = self.reason?;
        self.close();
        let reason = if self.gathered.calls() && reason == FinishReason::Stop {
            FinishReason::Calls
        } else {
            reason
        };
        let usage = self.usage;
        let counts = Counts {
            input: usage.input_tokens.map_or(Input::Unknown, Input::Net),
            cached: usage.cache_read_input_tokens,
            cache_write: usage.cache_creation_input_tokens,
            output: usage.output_tokens,
            reasoning: usage
                .output_tokens_details
                .and_then(|details| details.thinking_tokens.or(details.reasoning_tokens)),
            total: None,
            cost: None,
        };
        Some(Answer {
            reason,
            items: self.gathered.take(),
            usage: Usage::from_counts(counts, self.prices.as_ref()),
            speed: None,
        })
    }
}
