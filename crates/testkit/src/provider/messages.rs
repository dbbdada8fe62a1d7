//! Anthropic Messages.

use bytes::Bytes;
use serde_json::{Value, json};

use super::Beat;
use super::encode::{Counts, Encoder, named, pieces};

#[derive(Debug)]
pub(super) struct Events {
    counts: Counts,
    begun: bool,
    /// The block that is open, and how many there were.
    open: Option<&'static str>,
    blocks: usize,
    reason: &'static str,
}

impl Events {
    pub(super) fn new(counts: Counts) -> Self {
        Self {
            counts,
            begun: false,
            open: None,
            blocks: 0,
            reason: "end_turn",
        }
    }

    fn begin(&mut self, events: &mut Vec<Value>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        events.push(json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m",
            "stop_reason": null, "stop_sequence": null,
            "usage": {
                "input_tokens": self.counts.prompt - self.counts.cached,
                "cache_read_input_tokens": self.counts.cached, "cache_creation_input_tokens": 0, "output_tokens": 1,
            },
        }}));
        events.push(json!({"type": "ping"}));
    }

    fn close_block(&mut self, events: &mut Vec<Value>) {
        if self.open.take().is_some() {
            events.push(json!({"type": "content_block_stop", "index": self.blocks - 1}));
        }
    }

    fn block(&mut self, kind: &'static str, block: &Value, events: &mut Vec<Value>) {
        self.close_block(events);
        events.push(json!({"type": "content_block_start", "index": self.blocks, "content_block": block}));
        self.open = Some(kind);
        self.blocks += 1;
    }

    fn delta(&self, delta: &Value, events: &mut Vec<Value>) {
        events.push(json!({"type": "content_block_delta", "index": self.blocks - 1, "delta": delta}));
    }
}

impl Encoder for Events {
    fn beat(&mut self, beat: &Beat) -> Vec<Value> {
        let mut events = Vec::new();
        if !matches!(beat, Beat::Error(_)) {
            self.begin(&mut events);
        }
        match beat {
            Beat::Text(text) => {
                if self.open != Some("text") {
                    self.block("text", &json!({"type": "text", "text": ""}), &mut events);
                }
                self.delta(&json!({"type": "text_delta", "text": text}), &mut events);
            }
            Beat::Reasoning(text) => {
                if self.open != Some("thinking") {
                    let empty = json!({"type": "thinking", "thinking": "", "signature": ""});
                    self.block("thinking", &empty, &mut events);
                }
                self.delta(&json!({"type": "thinking_delta", "thinking": text}), &mut events);
            }
            Beat::Thought { text, seal } if text.is_empty() => {
                self.block(
                    "redacted",
                    &json!({"type": "redacted_thinking", "data": seal}),
                    &mut events,
                );
            }
            Beat::Thought { text, seal } => {
                let empty = json!({"type": "thinking", "thinking": "", "signature": ""});
                self.block("thought", &empty, &mut events);
                for text in pieces(text) {
                    self.delta(&json!({"type": "thinking_delta", "thinking": text}), &mut events);
                }
                self.delta(
                    &json!({"type": "signature_delta", "signature": seal}),
                    &mut events,
                );
            }
            Beat::Call { id, name, arguments } => {
                let empty = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.block("tool_use", &empty, &mut events);
                self.delta(
                    &json!({"type": "input_json_delta", "partial_json": ""}),
                    &mut events,
                );
                for more in pieces(arguments) {
                    self.delta(
                        &json!({"type": "input_json_delta", "partial_json": more}),
                        &mut events,
                    );
                }
            }
            Beat::Finish(reason) => {
                self.close_block(&mut events);
                self.reason = match *reason {
                    "length" => "max_tokens",
                    "tool_calls" => "tool_use",
                    "content_filter" => "refusal",
                    _ => "end_turn",
                };
            }
            Beat::Done => {
                events.push(json!({
                    "type": "message_delta", "delta": {"stop_reason": self.reason, "stop_sequence": null},
                    "usage": {"output_tokens": self.counts.completion},
                }));
            }
            Beat::Error(error) => events.push(json!({"type": "error", "error": error})),
            // It has no progress, and tells its counts at the start and the end.
            Beat::Progress { .. }
            | Beat::Usage { .. }
            | Beat::NoUsage
            | Beat::Pause(_)
            | Beat::Hang
            | Beat::Raw(_)
            | Beat::Cut => {}
        }
        events
    }

    fn frame(&self, event: &Value) -> Bytes {
        named(event)
    }

    fn close(&mut self) -> Bytes {
        named(&json!({"type": "message_stop"}))
    }
}
