use std::collections::VecDeque;

use plimsoll_catalog::Prices;
use serde::Deserialize;
use serde_json::Value;

use super::super::events::{Flow, ReadEvents};
use super::super::gather::{Gathered, OpenCall};
use super::super::refusal::ErrorObject;
use crate::usage::{Counts, Input};
use crate::{Answer, FinishReason, ModelError, Piece, Reasoning, Seal, Usage};

/// More items than this in one answer are no answer.
const ITEMS_MAX: usize = 1_024;

/// One event. Only what we read of it; servers send more, and less.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    delta: Option<String>,
    item: Option<OutputItem>,
    response: Option<Response>,
    error: Option<Value>,
    message: Option<String>,
    code: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Response {
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
    output: Option<Vec<OutputItem>>,
    usage: Option<UsageObject>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputItem {
    r#type: String,
    id: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    encrypted_content: Option<String>,
    summary: Option<Vec<TextPart>>,
    content: Option<Vec<TextPart>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TextPart {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageObject {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

/// Reads the events of one response.
pub(in super::super) struct Reader {
    origin: String,
    prices: Option<Prices>,
    gathered: Gathered,
    items: usize,
    calls: usize,
    /// What came as text since the last whole item.
    text: String,
    reason: Option<FinishReason>,
    refused: bool,
    usage: Usage,
}

impl Reader {
    pub(in super::super) fn new(origin: String, prices: Option<Prices>) -> Self {
        Self {
            origin,
            prices,
            gathered: Gathered::default(),
            items: 0,
            calls: 0,
            text: String::new(),
            reason: None,
            refused: false,
            usage: Usage::default(),
        }
    }

    fn item(&mut self, item: OutputItem, pieces: &mut VecDeque<Piece>) {
        self.items += 1;
        if self.items > ITEMS_MAX {
            return;
        }
        match item.r#type.as_str() {
            "message" => {
                let parts = item.content.unwrap_or_default();
                self.refused |= parts.iter().any(|part| part.refusal.is_some());
                let whole: String = parts
                    .into_iter()
                    .filter_map(|part| part.text.or(part.refusal))
                    .collect();
                let streamed = std::mem::take(&mut self.text);
                // A server that sends the item only.
                if streamed.is_empty() && !whole.is_empty() {
                    pieces.push_back(Piece::Text(whole.clone()));
                }
                let text = if streamed.is_empty() { whole } else { streamed };
                if !text.is_empty() {
                    self.gathered.text(&text);
                }
            }
            "function_call" => {
                let open = OpenCall {
                    id: item.call_id.or(item.id).unwrap_or_default(),
                    name: item.name.unwrap_or_default(),
                    arguments: item.arguments.unwrap_or_default(),
                    extra: None,
                };
                self.gathered.call(open.close(self.calls));
                self.calls += 1;
            }
            "reasoning" => {
                let texts = |parts: Option<Vec<TextPart>>| -> Vec<String> {
                    parts.into_iter().flatten().filter_map(|part| part.text).collect()
                };
                let summary = texts(item.summary).join("\n\n");
                let text = if summary.is_empty() {
                    texts(item.content).concat()
                } else {
                    summary
                };
                let seal = item.encrypted_content.map(|content| Seal::Encrypted {
                    id: item.id.unwrap_or_default(),
                    content,
                });
                if seal.is_some() || !text.is_empty() {
                    self.gathered.thought(Reasoning {
                        text,
                        by: self.origin.clone(),
                        seal,
                    });
                }
            }
            // Tools that run at the provider were not asked for.
            _ => {}
        }
    }

    fn ended(&mut self, response: Response, pieces: &mut VecDeque<Piece>) {
        // A server that sends no items on the way has them all here.
        if self.items == 0 {
            for item in response.output.unwrap_or_default() {
                self.item(item, pieces);
            }
        }
        if let Some(usage) = response.usage {
            let input = usage.input_tokens_details.unwrap_or_default();
            let output = usage.output_tokens_details.unwrap_or_default();
            let counts = Counts {
                input: usage.input_tokens.map_or(Input::Unknown, Input::Gross),
                cached: input.cached_tokens,
                cache_write: input.cache_write_tokens,
                output: usage.output_tokens,
                reasoning: output.reasoning_tokens,
                total: usage.total_tokens,
                cost: None,
            };
            self.usage = Usage::from_counts(counts, self.prices.as_ref());
        }
    }
}

impl ReadEvents for Reader {
    fn event(&mut self, data: &str, pieces: &mut VecDeque<Piece>) -> Result<Flow, ModelError> {
        // llama-server closes with the mark of the other protocol.
        if data == "[DONE]" {
            return Ok(Flow::Ended);
        }
        let event: Event = serde_json::from_str(data).map_err(|source| ModelError::Malformed { source })?;
        match event.r#type.as_str() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.refused |= event.r#type == "response.refusal.delta";
                let text = event.delta.unwrap_or_default();
                if !text.is_empty() {
                    self.text.push_str(&text);
                    pieces.push_back(Piece::Text(text));
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                pieces.extend(event.delta.filter(|text| !text.is_empty()).map(Piece::Reasoning));
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.item(item, pieces);
                }
            }
            "response.completed" => {
                self.ended(event.response.unwrap_or_default(), pieces);
                self.reason = Some(if self.refused {
                    FinishReason::Refused
                } else {
                    FinishReason::Stop
                });
                return Ok(Flow::Ended);
            }
            "response.incomplete" => {
                let response = event.response.unwrap_or_default();
                let why = response
                    .incomplete_details
                    .as_ref()
                    .and_then(|details| details.reason.clone());
                self.reason = Some(if why.as_deref() == Some("content_filter") {
                    FinishReason::Refused
                } else {
                    FinishReason::Length
                });
                self.ended(response, pieces);
                return Ok(Flow::Ended);
            }
            "response.failed" => {
                let error = event
                    .response
                    .and_then(|response| response.error)
                    .unwrap_or(Value::Null);
                return Err(ErrorObject::from_value(&error).inside_a_stream());
            }
            _ => {
                // `error` as the protocol has it, or the object of the other protocol without a type.
                let error = event.error.filter(|error| !error.is_null()).or_else(|| {
                    (event.r#type == "error")
                        .then(|| serde_json::json!({"message": event.message, "code": event.code}))
                });
                if let Some(error) = error {
                    return Err(ErrorObject::from_value(&error).inside_a_stream());
                }
            }
        }
        Ok(Flow::GoesOn)
    }

    fn finish(&mut self) -> Option<Answer> {
        let reason = self.reason?;
        let streamed = std::mem::take(&mut self.text);
        if !streamed.is_empty() {
            self.gathered.text(&streamed);
        }
        let reason = if self.gathered.calls() && reason == FinishReason::Stop {
            FinishReason::Calls
        } else {
            reason
        };
        Some(Answer {
            reason,
            items: self.gathered.take(),
            usage: self.usage,
            speed: None,
        })
    }
}
