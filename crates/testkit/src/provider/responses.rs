//! OpenAI Responses.

use bytes::Bytes;
use serde_json::{Value, json};

use super::Beat;
use super::encode::{Counts, Encoder, named, pieces};

#[derive(Debug)]
pub(super) struct Events {
    counts: Counts,
    sequence: u64,
    begun: bool,
    /// The text of the message that is open.
    message: Option<String>,
    thought: Option<String>,
    output: Vec<Value>,
    reason: &'static str,
}

impl Events {
    pub(super) fn new(counts: Counts) -> Self {
        Self {
            counts,
            sequence: 0,
            begun: false,
            message: None,
            thought: None,
            output: Vec::new(),
            reason: "stop",
        }
    }

    fn push(&mut self, mut event: Value, events: &mut Vec<Value>) {
        event["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        events.push(event);
    }

    fn response(&self, status: &str) -> Value {
        let usage = json!({
            "input_tokens": self.counts.prompt, "output_tokens": self.counts.completion,
            "total_tokens": self.counts.prompt + self.counts.completion,
            "input_tokens_details": {"cached_tokens": self.counts.cached, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        });
        json!({
            "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status,
            "output": self.output, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
            "error": null, "incomplete_details": match self.reason {
                "length" => json!({"reason": "max_output_tokens"}),
                "content_filter" => json!({"reason": "content_filter"}),
                _ => json!(null),
            },
            "usage": if status == "in_progress" { json!(null) } else { usage },
        })
    }

    fn begin(&mut self, events: &mut Vec<Value>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        for kind in ["response.created", "response.in_progress"] {
            let response = self.response("in_progress");
            self.push(json!({"type": kind, "response": response}), events);
        }
    }

    fn item(&mut self, item: Value, events: &mut Vec<Value>) {
        let index = self.output.len();
        self.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
            events,
        );
        self.output.push(item);
    }

    fn added(&mut self, item: &Value, events: &mut Vec<Value>) {
        let index = self.output.len();
        self.push(
            json!({"type": "response.output_item.added", "output_index": index, "item": item}),
            events,
        );
    }

    fn close_item(&mut self, events: &mut Vec<Value>) {
        let index = self.output.len();
        if let Some(text) = self.message.take() {
            let item = json!({
                "type": "message", "id": format!("msg_{index}"), "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            });
            self.item(item, events);
        }
        if let Some(text) = self.thought.take() {
            let item = json!({
                "type": "reasoning", "id": format!("rs_{index}"), "summary": [{"type": "summary_text", "text": text}],
            });
            self.item(item, events);
        }
    }
}

impl Encoder for Events {
    fn beat(&mut self, beat: &Beat) -> Vec<Value> {
        let mut events = Vec::new();
        if !matches!(beat, Beat::Error(_)) {
            self.begin(&mut events);
        }
        let index = self.output.len();
        match beat {
            Beat::Text(text) => {
                if self.message.is_none() {
                    self.close_item(&mut events);
                    let index = self.output.len();
                    let item = json!({
                        "type": "message", "id": format!("msg_{index}"), "role": "assistant",
                        "status": "in_progress", "content": [],
                    });
                    self.added(&item, &mut events);
                }
                let index = self.output.len();
                self.message.get_or_insert_default().push_str(text);
                self.push(
                    json!({
                        "type": "response.output_text.delta", "item_id": format!("msg_{index}"), "output_index": index,
                        "content_index": 0, "delta": text, "logprobs": [],
                    }),
                    &mut events,
                );
            }
            Beat::Reasoning(text) => {
                self.thought.get_or_insert_default().push_str(text);
                self.push(summary(index, text), &mut events);
            }
            Beat::Thought { text, seal } => {
                self.close_item(&mut events);
                let index = self.output.len();
                for text in pieces(text) {
                    self.push(summary(index, &text), &mut events);
                }
                let parts = if text.is_empty() {
                    json!([])
                } else {
                    json!([{"type": "summary_text", "text": text}])
                };
                let item = json!({
                    "type": "reasoning", "id": format!("rs_{index}"), "summary": parts, "encrypted_content": seal,
                });
                self.item(item, &mut events);
            }
            Beat::Call { id, name, arguments } => {
                self.close_item(&mut events);
                let index = self.output.len();
                let item = |arguments: &str| {
                    json!({
                        "type": "function_call", "id": format!("fc_{index}"), "call_id": id, "name": name,
                        "arguments": arguments, "status": "completed",
                    })
                };
                self.added(&item(""), &mut events);
                for more in pieces(arguments) {
                    self.push(
                        json!({
                            "type": "response.function_call_arguments.delta", "item_id": format!("fc_{index}"),
                            "output_index": index, "delta": more,
                        }),
                        &mut events,
                    );
                }
                self.item(item(arguments), &mut events);
            }
            Beat::Finish(reason) => {
                self.close_item(&mut events);
                self.reason = reason;
            }
            Beat::Error(error) => {
                let (message, code) = (error["message"].clone(), error["code"].as_str());
                self.push(
                    json!({"type": "error", "message": message, "code": code, "param": null}),
                    &mut events,
                );
            }
            // It has no progress, and tells its counts at the end.
            Beat::Progress { .. }
            | Beat::Usage { .. }
            | Beat::NoUsage
            | Beat::Done
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
        let incomplete = ["length", "content_filter"].contains(&self.reason);
        let (kind, status) = if incomplete {
            ("response.incomplete", "incomplete")
        } else {
            ("response.completed", "completed")
        };
        let mut events = Vec::new();
        let response = self.response(status);
        self.push(json!({"type": kind, "response": response}), &mut events);
        super::schema::check_event(super::Speaks::Responses, &events[0]);
        named(&events[0])
    }
}

fn summary(index: usize, text: &str) -> Value {
    json!({
        "type": "response.reasoning_summary_text.delta", "item_id": format!("rs_{index}"), "output_index": index,
        "summary_index": 0, "delta": text,
    })
}
