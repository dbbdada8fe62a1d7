//! Chat Completions.

use bytes::Bytes;
use serde_json::{Value, json};

use super::Beat;
use super::encode::{Encoder, data, pieces};

#[derive(Debug, Default)]
pub(super) struct Chunks {
    calls: usize,
}

impl Encoder for Chunks {
    fn beat(&mut self, beat: &Beat) -> Vec<Value> {
        match beat {
            Beat::Text(text) => vec![delta(&json!({ "content": text }))],
            Beat::Reasoning(text) => vec![delta(&json!({ "reasoning_content": text }))],
            Beat::Thought { text, seal } => {
                let mut events: Vec<Value> = pieces(text)
                    .iter()
                    .map(|text| detail(&json!({"type": "reasoning.text", "text": text, "index": 0})))
                    .collect();
                events.push(detail(
                    &json!({"type": "reasoning.text", "signature": seal, "index": 0}),
                ));
                events
            }
            Beat::Call { id, name, arguments } => {
                let index = self.calls;
                self.calls += 1;
                let mut events = vec![delta(&json!({"tool_calls": [{
                    "index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""},
                }]}))];
                events.extend(pieces(arguments).iter().map(|more| {
                    delta(&json!({"tool_calls": [{"index": index, "function": {"arguments": more}}]}))
                }));
                events
            }
            Beat::Progress { done, total } => vec![chunk(&json!({
                "choices": [{"finish_reason": null, "index": 0, "delta": {"role": "assistant", "content": null}}],
                "prompt_progress": {"total": total, "cache": 0, "processed": done, "time_ms": 1},
            }))],
            Beat::Finish(reason) => vec![chunk(
                &json!({"choices": [{"finish_reason": reason, "index": 0, "delta": {}}]}),
            )],
            Beat::Usage {
                prompt,
                cached,
                completion,
            } => vec![chunk(&json!({
                "choices": [],
                "usage": {
                    "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
                    "prompt_tokens_details": {"cached_tokens": cached},
                },
                "timings": {
                    "cache_n": cached, "prompt_n": prompt - cached, "predicted_n": completion,
                    "prompt_per_second": 400.0, "predicted_per_second": 25.0,
                },
            }))],
            Beat::NoUsage => vec![chunk(&json!({
                "choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            }))],
            Beat::Error(error) => vec![json!({ "error": error })],
            Beat::Done | Beat::Pause(_) | Beat::Hang | Beat::Raw(_) | Beat::Cut => Vec::new(),
        }
    }

    fn frame(&self, event: &Value) -> Bytes {
        data(event)
    }

    fn close(&mut self) -> Bytes {
        Bytes::from_static(b"data: [DONE]\n\n")
    }
}

fn detail(detail: &Value) -> Value {
    delta(&json!({ "reasoning_details": [detail] }))
}

fn delta(delta: &Value) -> Value {
    chunk(&json!({"choices": [{"finish_reason": null, "index": 0, "delta": delta}]}))
}

fn chunk(part: &Value) -> Value {
    let mut chunk =
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"});
    if let (Some(chunk), Some(part)) = (chunk.as_object_mut(), part.as_object()) {
        chunk.extend(part.clone());
    }
    chunk
}
