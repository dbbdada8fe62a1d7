use std::collections::VecDeque;

use plimsoll_catalog::Prices;
use plimsoll_units::TokensPerSecond;
use serde::Deserialize;
use serde_json::Value;

use super::super::events::{Flow, ReadEvents};
use super::super::gather::{Gathered, OpenCall};
use super::super::refusal::ErrorObject;
use crate::usage::{Counts, Input};
use crate::{Answer, Extra, FinishReason, ModelError, Piece, Refusal, Seal, Speed, Usage};

/// Ends the stream of every OpenAI-shaped server.
const DONE: &str = "[DONE]";
/// More calls than this in one answer are no calls.
const CALLS_MAX: usize = 128;

/// One event of the stream. Everything is optional: providers leave out what they please, or send `null`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<UsageObject>,
    timings: Option<Timings>,
    prompt_progress: Option<Progress>,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Delta {
    content: Option<String>,
    refusal: Option<String>,
    /// llama-server's, DeepSeek's, vLLM's name.
    reasoning_content: Option<String>,
    /// OpenRouter's, Groq's, Ollama's name for the same.
    reasoning: Option<String>,
    reasoning_details: Option<Vec<Value>>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallDelta {
    index: Option<usize>,
    id: Option<String>,
    function: Option<FunctionDelta>,
    extra_content: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionDelta {
    name: Option<String>,
    /// Text; some servers send the object itself.
    arguments: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageObject {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for what came from the cache.
    prompt_cache_hit_tokens: Option<u64>,
    /// OpenRouter's, in US dollars.
    cost: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct Timings {
    cache_n: u64,
    prompt_n: u64,
    predicted_n: u64,
    prompt_per_second: Option<f64>,
    predicted_per_second: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Progress {
    total: u32,
    processed: u32,
}

/// Reads the chunks of one answer.
pub(in super::super) struct Reader {
    origin: String,
    prices: Option<Prices>,
    gathered: Gathered,
    calls: Vec<(usize, OpenCall)>,
    details: Vec<Value>,
    reason: Option<FinishReason>,
    usage: Option<UsageObject>,
    timings: Option<Timings>,
}

impl Reader {
    pub(in super::super) fn new(origin: String, prices: Option<Prices>) -> Self {
        Self {
            origin,
            prices,
            gathered: Gathered::default(),
            calls: Vec::new(),
            details: Vec::new(),
            reason: None,
            usage: None,
            timings: None,
        }
    }

    fn delta(&mut self, delta: Delta, pieces: &mut VecDeque<Piece>) {
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(text) = filled(delta.reasoning_content).or_else(|| filled(delta.reasoning)) {
            self.gathered.reasoning(&text, &self.origin);
            pieces.push_back(Piece::Reasoning(text));
        }
        for detail in delta.reasoning_details.unwrap_or_default() {
            self.detail(detail);
        }
        for text in [filled(delta.content), filled(delta.refusal)]
            .into_iter()
            .flatten()
        {
            self.gathered.text(&text);
            pieces.push_back(Piece::Text(text));
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(call);
        }
    }

    /// Fragments of one detail become that detail again: it has to go back as it was before it was streamed.
    fn detail(&mut self, fragment: Value) {
        let same = |last: &Value| last["type"] == fragment["type"] && last["index"] == fragment["index"];
        let (Some(Value::Object(last)), Value::Object(more)) =
            (self.details.last_mut().filter(|last| same(last)), &fragment)
        else {
            self.details.push(fragment);
            return;
        };
        for (name, value) in more {
            match (last.get_mut(name), value) {
                (Some(Value::String(before)), Value::String(text))
                    if ["text", "summary", "data"].contains(&name.as_str()) =>
                {
                    before.push_str(text);
                }
                (_, Value::Null) => {}
                (_, value) => {
                    last.insert(name.clone(), value.clone());
                }
            }
        }
    }

    /// A call goes on under its index. Some servers give every call the same index, or none: a new id is a new
    /// call then.
    fn call(&mut self, delta: CallDelta) {
        let last = self.calls.last().map(|(index, _)| *index);
        let index = delta.index.or(last).unwrap_or_default();
        let id = delta.id.filter(|id| !id.is_empty());
        let goes_on = self.calls.iter().rposition(|(at, open)| {
            *at == index && id.as_ref().is_none_or(|id| open.id.is_empty() || open.id == *id)
        });
        let at = match goes_on {
            Some(at) => at,
            None if self.calls.len() < CALLS_MAX => {
                self.calls.push((index, OpenCall::default()));
                self.calls.len() - 1
            }
            None => return,
        };
        let open = &mut self.calls[at].1;
        if let Some(id) = id {
            open.id = id;
        }
        let function = delta.function.unwrap_or_default();
        open.name.push_str(&function.name.unwrap_or_default());
        match function.arguments {
            Some(Value::String(more)) => open.arguments.push_str(&more),
            Some(Value::Null) | None => {}
            Some(whole) => open.arguments = whole.to_string(),
        }
        if let Some(content) = delta.extra_content {
            open.extra = Some(Extra {
                by: self.origin.clone(),
                content,
            });
        }
    }

    fn usage(&self) -> Usage {
        let cache = self.timings.map(|timings| timings.cache_n);
        let told = self.usage.as_ref().map(|usage| {
            let details = usage.prompt_tokens_details.as_ref();
            Counts {
                input: usage.prompt_tokens.map_or(Input::Unknown, Input::Gross),
                cached: details
                    .and_then(|details| details.cached_tokens)
                    .or(usage.prompt_cache_hit_tokens)
                    .or(cache),
                cache_write: details.and_then(|details| details.cache_write_tokens),
                output: usage.completion_tokens,
                reasoning: usage
                    .completion_tokens_details
                    .as_ref()
                    .and_then(|details| details.reasoning_tokens),
                total: usage.total_tokens,
                cost: usage.cost,
            }
        });
        let told = told.map(|counts| {
            let parts = self
                .timings
                .map(|timings| timings.cache_n.saturating_add(timings.prompt_n));
            let whole = match counts.input {
                Input::Gross(tokens) => Some(tokens),
                Input::Net(_) | Input::Unknown => None,
            };
            Usage {
                disputed: parts.is_some_and(|parts| parts > 0 && Some(parts) != whole),
                ..Usage::from_counts(counts, self.prices.as_ref())
            }
        });
        // llama-server's timings where a route leaves the usage out.
        told.filter(|usage| usage.input.is_some())
            .or_else(|| {
                let timings = self.timings?;
                let counts = Counts {
                    input: Input::Gross(timings.cache_n.saturating_add(timings.prompt_n)),
                    cached: cache,
                    output: Some(timings.predicted_n),
                    ..Counts::default()
                };
                Some(Usage::from_counts(counts, self.prices.as_ref()))
            })
            .or(told)
            .unwrap_or_default()
    }
}

impl ReadEvents for Reader {
    fn event(&mut self, data: &str, pieces: &mut VecDeque<Piece>) -> Result<Flow, ModelError> {
        if data == DONE {
            return Ok(Flow::Ended);
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|source| ModelError::Malformed { source })?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(ErrorObject::from_value(&error).inside_a_stream());
        }
        if let Some(Progress { total, processed }) = chunk.prompt_progress
            && total > 0
        {
            pieces.push_back(Piece::PromptRead {
                done: processed.min(total),
                total,
            });
        }
        // One answer was asked for.
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            self.delta(choice.delta.unwrap_or_default(), pieces);
            match choice.finish_reason.as_deref() {
                None | Some("") => {}
                Some("length") => self.reason = Some(FinishReason::Length),
                Some("tool_calls" | "function_call") => self.reason = Some(FinishReason::Calls),
                Some("content_filter") => self.reason = Some(FinishReason::Refused),
                Some("error") => {
                    return Err(ModelError::Broken {
                        why: Refusal::Server,
                        kind: "error".into(),
                        message: String::new(),
                    });
                }
                Some(_) => self.reason = Some(FinishReason::Stop),
            }
        }
        self.timings = chunk.timings.or(self.timings);
        if chunk.usage.is_some() {
            self.usage = chunk.usage;
        }
        Ok(Flow::GoesOn)
    }

    fn finish(&mut self) -> Option<Answer> {
        let reason = self.reason?;
        if !self.details.is_empty() {
            let details = std::mem::take(&mut self.details);
            self.gathered.seal(Seal::Details { details }, &self.origin);
        }
        let calls = std::mem::take(&mut self.calls);
        for (number, (_, open)) in calls.into_iter().enumerate() {
            self.gathered.call(open.close(number));
        }
        // A call is a call, whatever the server says why it stopped; but half a call is none.
        let reason = if self.gathered.calls() && reason == FinishReason::Stop {
            FinishReason::Calls
        } else {
            reason
        };
        let usage = self.usage();
        let speed = self.timings.map(|timings| Speed {
            prefill: timings.prompt_per_second.and_then(TokensPerSecond::new),
            decode: timings.predicted_per_second.and_then(TokensPerSecond::new),
        });
        Some(Answer {
            reason,
            items: self.gathered.take(),
            usage,
            speed,
        })
    }
}
