//! `/v1/responses` as its clients know it.
//!
//! llama-server (seen in b10434 and b11434) forgets the form that an answer was to have, calls an answer that was cut
//! `completed`, and leaves out of its events and answers what the official clients cannot do without: the number of each
//! event, which item and which part of it a piece belongs to, and what the request said. That is put in here; every piece
//! still goes through as it comes.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, Stream, StreamExt};
use serde_json::{Map, Value, json};

use super::request::Fields;

pub(crate) const PATH: &str = "/v1/responses";

/// One event larger than this goes through as it is.
const EVENT_BYTES_MAX: usize = 16 << 20;

/// What an answer repeats of its request, and what stands there where the request said nothing.
static REPEATED: [(&str, Value); 11] = [
    ("instructions", Value::Null),
    ("max_output_tokens", Value::Null),
    ("metadata", Value::Null),
    ("parallel_tool_calls", Value::Bool(true)),
    ("previous_response_id", Value::Null),
    ("reasoning", Value::Null),
    ("temperature", Value::Null),
    ("text", Value::Null),
    ("tool_choice", Value::Null),
    ("tools", Value::Null),
    ("top_p", Value::Null),
];

/// What a request said, as far as its answer needs it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked(BTreeMap<&'static str, Value>);

impl Asked {
    pub(crate) fn read(fields: &Fields<'_>) -> Self {
        let said = REPEATED.iter().filter_map(|(name, _)| {
            let (_, value) = fields.iter().find(|(field, _)| field == name)?;
            Some((*name, serde_json::from_str(value.get()).ok()?))
        });
        Self(said.collect())
    }

    /// The form of the answer in the words of Chat Completions, which llama-server does read here.
    pub(crate) fn form(&self) -> Option<Value> {
        let format = self.0.get("text")?.get("format")?;
        match format.get("type")?.as_str()? {
            "json_schema" => {
                let mut schema = format.as_object()?.clone();
                schema.remove("type");
                Some(json!({ "type": "json_schema", "json_schema": schema }))
            }
            "json_object" => Some(json!({ "type": "json_object" })),
            _ => None,
        }
    }

    /// All that was asked for was written, and it wanted to go on.
    fn was_cut(&self, response: &Map<String, Value>) -> bool {
        let most = self.0.get("max_output_tokens").and_then(Value::as_u64);
        let written = response
            .get("usage")
            .and_then(|usage| usage.get("output_tokens")?.as_u64());
        matches!((most, written), (Some(most), Some(written)) if written >= most)
    }

    /// Puts into a response what is missing there. Whether its answer was cut.
    fn complete(&self, response: &mut Map<String, Value>) -> bool {
        let ended = response.get("status").and_then(Value::as_str) == Some("completed");
        let cut = ended && self.was_cut(response);
        if cut {
            response.insert("status".into(), "incomplete".into());
            let why = json!({ "reason": "max_output_tokens" });
            response.insert("incomplete_details".into(), why);
            if let Some(last) = response
                .get_mut("output")
                .and_then(|output| output.as_array_mut()?.last_mut())
                .and_then(Value::as_object_mut)
            {
                last.insert("status".into(), "incomplete".into());
            }
        }
        for (name, otherwise) in &REPEATED {
            let said = self.0.get(name).unwrap_or(otherwise).clone();
            let value = match (*name, said) {
                ("tools", Value::Null) => json!([]),
                ("tool_choice", Value::Null) => "auto".into(),
                ("text", Value::Null) => json!({ "format": { "type": "text" } }),
                ("metadata", Value::Null) => json!({}),
                (_, said) => said,
            };
            response.entry(*name).or_insert(value);
        }
        for name in ["error", "incomplete_details"] {
            response.entry(name).or_insert(Value::Null);
        }
        response.entry("output").or_insert_with(|| json!([]));
        let thought = response
            .get("output")
            .and_then(Value::as_array)
            .is_some_and(|items| items.iter().any(|item| item["type"] == "reasoning"));
        // How many of the tokens were thoughts is not told; where there are none, it is none.
        if !thought && let Some(usage) = response.get_mut("usage").and_then(Value::as_object_mut) {
            usage
                .entry("output_tokens_details")
                .or_insert_with(|| json!({ "reasoning_tokens": 0 }));
        }
        cut
    }

    /// An answer that came in one piece. What is none goes through as it is.
    pub(crate) fn whole(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut response: Map<String, Value> = serde_json::from_slice(body).ok()?;
        if response.get("object").and_then(Value::as_str) != Some("response") {
            return None;
        }
        self.complete(&mut response);
        serde_json::to_vec(&response).ok()
    }
}

/// The events of one answer, one after the other.
#[derive(Debug)]
struct Mender {
    asked: Asked,
    sequence: u64,
    /// The ids of the answer's items in the order they came.
    items: Vec<String>,
}

impl Mender {
    /// The event as it should be, and before it what should have come before it.
    fn event(&mut self, mut event: Map<String, Value>) -> Vec<Map<String, Value>> {
        let kind = event
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let mut before = None;
        match kind.as_str() {
            "response.created" | "response.in_progress" | "response.completed" => {
                let response = event.get_mut("response").and_then(Value::as_object_mut);
                if response.is_some_and(|response| self.asked.complete(response)) {
                    event.insert("type".into(), "response.incomplete".into());
                }
            }
            "response.output_item.added" => {
                let id = id_of(&event);
                self.items.push(id.clone());
                self.place(&mut event, &id);
            }
            "response.output_item.done" => {
                let id = id_of(&event);
                self.place(&mut event, &id);
                before = self.arguments(&event, &id);
            }
            "response.content_part.added"
            | "response.content_part.done"
            | "response.output_text.delta"
            | "response.output_text.done"
            | "response.reasoning_text.delta" => {
                let id = event
                    .get("item_id")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                self.place(&mut event, &id);
                event.entry("content_index").or_insert(0.into());
                if kind.starts_with("response.output_text") {
                    event.entry("logprobs").or_insert_with(|| json!([]));
                }
                if let Some(part) = event.get_mut("part").and_then(Value::as_object_mut) {
                    part.entry("annotations").or_insert_with(|| json!([]));
                }
            }
            "response.function_call_arguments.delta" => {
                let id = event
                    .get("item_id")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                self.place(&mut event, &id);
            }
            _ => {}
        }
        let mut events: Vec<_> = before.into_iter().chain([event]).collect();
        for event in &mut events {
            event.insert("sequence_number".into(), self.sequence.into());
            self.sequence += 1;
        }
        events
    }

    /// Which item it belongs to.
    fn place(&self, event: &mut Map<String, Value>, id: &str) {
        if let Some(index) = self.items.iter().position(|item| item == id) {
            event.entry("output_index").or_insert(index.into());
        }
    }

    /// A call's arguments are told as done before the call is.
    fn arguments(&self, event: &Map<String, Value>, id: &str) -> Option<Map<String, Value>> {
        let item = event.get("item")?;
        if item["type"] != "function_call" {
            return None;
        }
        let mut done = Map::new();
        done.insert("type".into(), "response.function_call_arguments.done".into());
        done.insert("item_id".into(), id.into());
        done.insert("name".into(), item["name"].clone());
        done.insert("arguments".into(), item["arguments"].clone());
        self.place(&mut done, id);
        Some(done)
    }

    /// A part of the stream that ends with an empty line. What is no event, such as a word that keeps the line open, goes
    /// through as it is.
    fn block(&mut self, block: &[u8]) -> Bytes {
        let data = std::str::from_utf8(block)
            .ok()
            .and_then(|text| text.lines().find_map(|line| line.strip_prefix("data:")))
            .and_then(|data| serde_json::from_str::<Map<String, Value>>(data.trim()).ok())
            .filter(|event| event.contains_key("type"));
        let Some(event) = data else {
            return Bytes::copy_from_slice(block);
        };
        let mut out = String::with_capacity(block.len() + 128);
        for event in self.event(event) {
            let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
            out.push_str("event: ");
            out.push_str(kind);
            out.push_str("\ndata: ");
            out.push_str(&Value::Object(event).to_string());
            out.push_str("\n\n");
        }
        out.into()
    }
}

fn id_of(event: &Map<String, Value>) -> String {
    event
        .get("item")
        .and_then(|item| item["id"].as_str())
        .unwrap_or_default()
        .to_owned()
}

/// The same stream with whole events.
pub(crate) fn streamed<E: Send + 'static>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    asked: Asked,
) -> impl Stream<Item = Result<Bytes, E>> + Send + 'static {
    let mender = Mender {
        asked,
        sequence: 0,
        items: Vec::new(),
    };
    let state = (Box::pin(pieces), mender, BytesMut::new());
    stream::unfold(state, |(mut pieces, mut mender, mut rest)| async move {
        loop {
            match pieces.next().await {
                Some(Ok(piece)) => {
                    rest.extend_from_slice(&piece);
                    let mut out = BytesMut::new();
                    while let Some(end) = rest.windows(2).position(|two| two == b"\n\n") {
                        out.extend_from_slice(&mender.block(&rest.split_to(end + 2)));
                    }
                    if rest.len() > EVENT_BYTES_MAX {
                        out.extend_from_slice(&rest.split());
                    }
                    if !out.is_empty() {
                        return Some((Ok(out.freeze()), (pieces, mender, rest)));
                    }
                }
                Some(Err(error)) => return Some((Err(error), (pieces, mender, rest))),
                None if rest.is_empty() => return None,
                None => return Some((Ok(rest.split().freeze()), (pieces, mender, rest))),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::request;

    fn asked(body: &str) -> Asked {
        Asked::read(&request::fields(body.as_bytes()).unwrap())
    }

    async fn events(of: &[&str], asked: Asked, piece: usize) -> Vec<Value> {
        let text = of.concat();
        let pieces: Vec<Result<Bytes, ()>> = text
            .as_bytes()
            .chunks(piece)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        let out: Vec<Bytes> = streamed(stream::iter(pieces), asked)
            .map(Result::unwrap)
            .collect()
            .await;
        let text = String::from_utf8(out.concat()).unwrap();
        text.split("\n\n")
            .filter_map(|block| block.lines().find_map(|line| line.strip_prefix("data: ")))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }

    const TOLD: [&str; 9] = [
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"in_progress\"}}\n\n",
        ": ping\n\n",
        "data: {\"type\":\"response.output_item.added\",\"item\":{\"id\":\"msg_1\",\"type\":\"message\"}}\n\n",
        "data: {\"type\":\"response.content_part.added\",\"item_id\":\"msg_1\",\"part\":{\"type\":\"output_text\",\"text\":\"\"}}\n\n",
        "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\"delta\":\"Grüße\"}\n\n",
        "data: {\"type\":\"response.output_item.added\",\"item\":{\"id\":\"fc_2\",\"type\":\"function_call\"}}\n\n",
        "data: {\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_2\",\"delta\":\"{}\"}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"item\":{\"id\":\"fc_2\",\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"{}\"}}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"object\":\"response\",\"status\":\"completed\",\"output\":[{\"type\":\"message\"}],\"usage\":{\"output_tokens\":5}}}\n\n",
    ];

    #[tokio::test]
    async fn every_event_says_what_it_belongs_to_however_it_arrives() {
        for piece in [1, 7, 4096] {
            let events = events(
                &TOLD,
                asked(r#"{"tools":[{"type":"function","name":"f"}]}"#),
                piece,
            )
            .await;
            let numbers: Vec<u64> = events
                .iter()
                .map(|event| event["sequence_number"].as_u64().unwrap())
                .collect();
            assert_eq!(numbers, (0..9).collect::<Vec<_>>());
            let kinds: Vec<&str> = events
                .iter()
                .map(|event| event["type"].as_str().unwrap())
                .collect();
            assert_eq!(kinds[6], "response.function_call_arguments.done");
            let indices: Vec<Option<u64>> = events
                .iter()
                .map(|event| event["output_index"].as_u64())
                .collect();
            let first = [None, Some(0), Some(0), Some(0)];
            assert_eq!(indices[..4], first);
            assert_eq!(indices[4..8], [Some(1); 4]);
            assert_eq!(events[3]["delta"], "Grüße");
            assert_eq!(events[2]["content_index"], 0);
            let response = &events[8]["response"];
            assert_eq!(response["status"], "completed");
            assert_eq!(response["tools"][0]["name"], "f");
            assert_eq!(response["tool_choice"], "auto");
        }
    }

    #[tokio::test]
    async fn a_cut_answer_is_told_as_such() {
        let events = events(&TOLD, asked(r#"{"max_output_tokens":5}"#), 64).await;
        let last = events.last().unwrap();
        assert_eq!(last["type"], "response.incomplete");
        assert_eq!(last["response"]["status"], "incomplete");
        assert_eq!(
            last["response"]["incomplete_details"]["reason"],
            "max_output_tokens"
        );
        assert_eq!(last["response"]["output"][0]["status"], "incomplete");

        let whole = br#"{"object":"response","status":"completed","output":[],"usage":{"output_tokens":5}}"#;
        let mended =
            |body: &str| -> Value { serde_json::from_slice(&asked(body).whole(whole).unwrap()).unwrap() };
        assert_eq!(mended(r#"{"max_output_tokens":5}"#)["status"], "incomplete");
        assert_eq!(mended(r#"{"max_output_tokens":6}"#)["status"], "completed");
        assert_eq!(
            mended("{}")["usage"]["output_tokens_details"]["reasoning_tokens"],
            0
        );
        assert_eq!(asked("{}").whole(br#"{"error":{}}"#), None);
    }

    #[tokio::test]
    async fn what_is_no_event_goes_through() {
        let pieces = [
            ": ping\n\n",
            "data: [DONE]\n\n",
            "data: {\"error\":{}}\n\n",
            "half",
        ];
        let stream = stream::iter(pieces.map(|piece| Ok::<_, ()>(Bytes::from(piece))));
        let out: Vec<Bytes> = streamed(stream, Asked::default())
            .map(Result::unwrap)
            .collect()
            .await;
        assert_eq!(out.concat(), pieces.concat().as_bytes());
    }

    #[test]
    fn the_form_is_put_in_the_words_that_are_read() {
        let form = asked(
            r#"{"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true}}}"#,
        )
        .form();
        assert_eq!(
            form,
            Some(json!({ "type": "json_schema",
                         "json_schema": { "name": "n", "schema": { "type": "object" }, "strict": true } }))
        );
        for none in ["{}", r#"{"text":{"format":{"type":"text"}}}"#, r#"{"text":3}"#] {
            assert_eq!(asked(none).form(), None, "{none}");
        }
    }
}
