//! The providers' own published types.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;

use super::{Dialect, Speaks};

macro_rules! schema {
    ($name:literal) => {{
        static SCHEMA: OnceLock<Validator> = OnceLock::new();
        SCHEMA.get_or_init(|| {
            let text = include_str!(concat!("../../schemas/", $name, ".json"));
            let schema = serde_json::from_str(text).expect("the schema is JSON");
            jsonschema::validator_for(&schema).expect("the schema is one")
        })
    }};
}

/// What of a request the published type does not allow.
pub(super) fn request(speaks: Speaks, request: &Value) -> Vec<String> {
    match speaks {
        Speaks::Chat(dialect) => complaints(
            schema!("openai-chat-request"),
            &without_extras(dialect, request.clone()),
        ),
        Speaks::Responses => complaints(schema!("openai-responses-request"), request),
        Speaks::Messages => complaints(schema!("anthropic-messages-request"), request),
    }
}

/// # Panics
/// When the fake would say what the real one's published types do not allow.
pub(super) fn check_event(speaks: Speaks, event: &Value) {
    let wrong = match speaks {
        Speaks::Chat(_) => complaints(schema!("openai-chat-event"), event),
        Speaks::Responses => complaints(schema!("openai-responses-event"), event),
        // Kept out of the published union, because clients swallow it.
        Speaks::Messages if event["type"] == "ping" => Vec::new(),
        Speaks::Messages => complaints(schema!("anthropic-messages-event"), event),
    };
    assert!(
        wrong.is_empty(),
        "the fake says what nobody would: {wrong:?} in {event}"
    );
}

fn complaints(schema: &Validator, value: &Value) -> Vec<String> {
    schema
        .iter_errors(value)
        .map(|error| {
            let text: String = error.to_string().chars().take(600).collect();
            format!("{}: {text}", error.instance_path())
        })
        .collect()
}

/// Takes out what this dialect has beyond the published type, so that the rest can be held to it.
fn without_extras(dialect: Dialect, mut request: Value) -> Value {
    let (fields, of_messages, of_calls): (&[&str], &[&str], &[&str]) = match dialect {
        Dialect::OpenAi => (&[], &[], &[]),
        Dialect::LlamaServer => (
            &[
                "return_progress",
                "id_slot",
                "top_k",
                "min_p",
                "chat_template_kwargs",
            ],
            &["reasoning_content"],
            &[],
        ),
        Dialect::DeepSeek => (&[], &["reasoning_content"], &[]),
        Dialect::OpenRouter => (&["top_k", "min_p", "reasoning"], &["reasoning_details"], &[]),
        Dialect::Gemini => (&[], &[], &["extra_content"]),
    };
    let remove = |value: &mut Value, names: &[&str]| {
        if let Some(object) = value.as_object_mut() {
            for name in names {
                object.remove(*name);
            }
        }
    };
    remove(&mut request, fields);
    for message in request["messages"].as_array_mut().into_iter().flatten() {
        remove(message, of_messages);
        for call in message
            .get_mut("tool_calls")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            remove(call, of_calls);
        }
    }
    request
}
