use plimsoll_units::TokensPerSecond;
use serde::Deserialize;

use super::refusal::ErrorObject;
use crate::{FinishReason, ModelError, Piece, Speed, Usage};

/// One event of the stream. Everything is optional: providers leave out what they please.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    choices: Vec<Choice>,
    usage: Option<UsageObject>,
    timings: Option<Timings>,
    prompt_progress: Option<Progress>,
    error: Option<ErrorObject>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Delta {
    content: Option<String>,
    /// llama-server's name.
    reasoning_content: Option<String>,
    /// Other providers' name for the same.
    reasoning: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UsageObject {
    prompt_tokens: u32,
    completion_tokens: u32,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Timings {
    cache_n: u32,
    prompt_n: u32,
    predicted_n: u32,
    prompt_per_second: Option<f64>,
    predicted_per_second: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Progress {
    total: u32,
    processed: u32,
}

/// What a stream has told so far that only counts at its end.
#[derive(Debug, Default)]
pub(super) struct Ending {
    reason: Option<FinishReason>,
    usage: Option<Usage>,
    speed: Option<Speed>,
}

impl Ending {
    /// The last piece, or why there is none: a stream that ends without a reason was cut.
    pub(super) fn finish(self, cut: impl FnOnce() -> ModelError) -> Result<Piece, ModelError> {
        match self.reason {
            Some(reason) => Ok(Piece::Finished {
                reason,
                usage: self.usage,
                speed: self.speed,
            }),
            None => Err(cut()),
        }
    }
}

impl Chunk {
    /// The pieces of this chunk, in order; what counts at the end goes into `ending`.
    pub(super) fn pieces(self, ending: &mut Ending) -> Result<Vec<Piece>, ModelError> {
        if let Some(error) = self.error {
            return Err(error.inside_a_stream());
        }
        let mut pieces = Vec::new();
        if let Some(Progress { total, processed }) = self.prompt_progress
            && total > 0
        {
            pieces.push(Piece::PromptRead {
                done: processed.min(total),
                total,
            });
        }
        for choice in self.choices {
            let reasoning = choice.delta.reasoning_content.or(choice.delta.reasoning);
            pieces.extend(reasoning.filter(|text| !text.is_empty()).map(Piece::Reasoning));
            pieces.extend(
                choice
                    .delta
                    .content
                    .filter(|text| !text.is_empty())
                    .map(Piece::Text),
            );
            if let Some(reason) = choice.finish_reason {
                ending.reason = Some(if reason == "length" {
                    FinishReason::Length
                } else {
                    FinishReason::Stop
                });
            }
        }
        if let Some(timings) = &self.timings {
            ending.speed = Some(Speed {
                prefill: timings.prompt_per_second.and_then(TokensPerSecond::new),
                decode: timings.predicted_per_second.and_then(TokensPerSecond::new),
            });
        }
        if let Some(usage) = usage(self.usage, self.timings) {
            ending.usage = Some(usage);
        }
        Ok(pieces)
    }
}

/// From the usage object; from llama-server's timings where a route leaves it out.
fn usage(usage: Option<UsageObject>, timings: Option<Timings>) -> Option<Usage> {
    let cache = timings.as_ref().map(|timings| timings.cache_n);
    let told = usage.and_then(|usage| {
        let cached = usage
            .prompt_tokens_details
            .and_then(|details| details.cached_tokens);
        Usage::counted(usage.prompt_tokens, cached.or(cache), usage.completion_tokens)
    });
    told.or_else(|| {
        timings.and_then(|timings| {
            Usage::counted(
                timings.cache_n.saturating_add(timings.prompt_n),
                Some(timings.cache_n),
                timings.predicted_n,
            )
        })
    })
}
