//! Calls that a model wrote as text, because it does not know how its server wants them.

use serde_json::{Map, Value};

use crate::{ToolCall, ToolSpec};

/// More than this in one answer is no list of calls.
const CALLS_MAX: usize = 16;
/// Braces that a small model forgot at the end.
const MISSING_MAX: usize = 3;

/// Calls found in a text, and the words before them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) before: String,
    pub(crate) calls: Vec<ToolCall>,
}

/// Looks for calls of these tools: bare JSON, in a fence, in tags of which one may be missing. Only what ends
/// the text counts, and only names that are on the list: a JSON example in the middle of an explanation is none.
pub(crate) fn find(text: &str, tools: &[ToolSpec]) -> Option<Found> {
    let starts = text
        .char_indices()
        .filter(|(_, letter)| matches!(letter, '{' | '['))
        .map(|(at, _)| at);
    for start in starts {
        if let Some(calls) = to_the_end(&text[start..], tools) {
            let before = without_opening(&text[..start]);
            return Some(Found {
                before: before.to_owned(),
                calls,
            });
        }
    }
    None
}

/// Whether a text could become a call when more of it has come: it is not shown as words until it is decided.
pub(crate) fn may_begin(text: &str) -> bool {
    const OPENINGS: [&str; 6] = ["{", "[", "```", "<tool", "<function", "<|"];
    let text = text.trim_start();
    text.is_empty()
        || OPENINGS
            .iter()
            .any(|opening| text.starts_with(opening) || opening.starts_with(text))
}

/// Calls from the first letter on, with nothing but fences, tags and space behind and between them.
fn to_the_end(text: &str, tools: &[ToolSpec]) -> Option<Vec<ToolCall>> {
    let mut rest = text;
    let mut calls = Vec::new();
    loop {
        let (value, used) = first_value(rest)?;
        match value {
            Value::Array(values) => {
                for value in values {
                    calls.push(call(&value, tools)?);
                }
            }
            value @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_)) => calls.push(call(&value, tools)?),
        }
        rest = skip(&rest[used..]);
        if rest.is_empty() || calls.len() > CALLS_MAX {
            break;
        }
    }
    if calls.is_empty() || calls.len() > CALLS_MAX {
        return None;
    }
    for (number, call) in calls.iter_mut().enumerate() {
        call.id = format!("call_{number}");
    }
    Some(calls)
}

/// The JSON value that a text begins with, and how many bytes it takes. Missing braces at the end are added.
fn first_value(text: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = values.next() {
        return Some((value, values.byte_offset()));
    }
    let end = text.trim_end().trim_end_matches("```").trim_end();
    let end = end.strip_suffix("</tool_call>").unwrap_or(end).trim_end();
    for missing in 1..=MISSING_MAX {
        let mended = format!("{end}{}", "}".repeat(missing));
        if let Ok(value) = serde_json::from_str(&mended) {
            return Some((value, text.len()));
        }
    }
    None
}

/// Fences, closing tags, separators and space.
fn skip(text: &str) -> &str {
    let mut rest = text;
    loop {
        let before = rest;
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || matches!(letter, ',' | ';'));
        for noise in [
            "```json",
            "```",
            "</tool_call>",
            "<tool_call>",
            "</function>",
            "<|im_end|>",
            "</s>",
        ] {
            rest = rest.strip_prefix(noise).unwrap_or(rest);
        }
        if rest.len() == before.len() {
            return rest;
        }
    }
}

/// The words before a call, without the fence or tag that opened it.
fn without_opening(text: &str) -> &str {
    let mut words = text.trim_end();
    loop {
        let before = words;
        for opening in [
            "```json",
            "```",
            "<tool_call>",
            "<tools>",
            "[TOOL_CALLS]",
            "<|python_tag|>",
        ] {
            words = words.strip_suffix(opening).unwrap_or(words).trim_end();
        }
        if words.len() == before.len() {
            return words;
        }
    }
}

fn call(value: &Value, tools: &[ToolSpec]) -> Option<ToolCall> {
    let object = value.as_object()?;
    // {"type": "function", "function": {"name": …}}
    if let Some(inner @ Value::Object(_)) = object.get("function") {
        return call(inner, tools);
    }
    let named = field(object, &["name", "function", "tool", "tool_name"]).and_then(Value::as_str);
    let (name, arguments) = if let Some(name) = named {
        (name, field(object, &["arguments", "parameters", "args", "input"]))
    } else {
        // {"weather": {"city": …}}
        let (name, arguments) = object.iter().next().filter(|_| object.len() == 1)?;
        (name.as_str(), Some(arguments))
    };
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let arguments = match arguments {
        Some(Value::String(text)) => serde_json::from_str(text).ok()?,
        Some(Value::Object(fields)) => fields.clone(),
        None => Map::new(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => return None,
    };
    // Without what it needs it is more likely an example, or talk about the tool.
    let required = tool.parameters["required"].as_array().into_iter().flatten();
    let whole = required
        .filter_map(Value::as_str)
        .all(|name| arguments.contains_key(name));
    whole.then(|| ToolCall {
        id: String::new(),
        name: name.to_owned(),
        arguments: Value::Object(arguments).to_string(),
        extra: None,
    })
}

fn field<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| object.get(*name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{find, may_begin};
    use crate::ToolSpec;

    fn tools() -> Vec<ToolSpec> {
        ["weather", "time"]
            .map(|name| ToolSpec {
                name: name.into(),
                description: String::new(),
                parameters: if name == "weather" {
                    json!({"type": "object", "required": ["city"]})
                } else {
                    json!({"type": "object"})
                },
            })
            .into()
    }

    fn names(text: &str) -> Option<Vec<String>> {
        Some(
            find(text, &tools())?
                .calls
                .into_iter()
                .map(|call| call.name)
                .collect(),
        )
    }

    #[test]
    fn calls_are_found_in_every_form_that_small_models_write() {
        let call = r#"{"name": "weather", "arguments": {"city": "Kiel"}}"#;
        for text in [
            call.to_owned(),
            format!("```json\n{call}\n```"),
            format!("<tool_call>\n{call}\n</tool_call>"),
            format!("{call}\n</tool_call>"),
            format!("<tool_call>{call}"),
            format!("I look it up.\n\n{call}"),
            format!("[{call}]"),
            call[..call.len() - 1].to_owned(),
            format!("```json\n{}\n```", &call[..call.len() - 2]),
            r#"{"function": "weather", "parameters": {"city": "Kiel"}}"#.into(),
            r#"{"type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Kiel\"}"}}"#
                .into(),
            r#"{"weather": {"city": "Kiel"}}"#.into(),
            format!("[TOOL_CALLS][{call}]"),
        ] {
            let found = find(&text, &tools()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(found.calls.len(), 1, "{text}");
            assert_eq!(found.calls[0].arguments, r#"{"city":"Kiel"}"#, "{text}");
            assert!(
                found.before.is_empty() || found.before == "I look it up.",
                "{text}: {}",
                found.before
            );
        }
        let two = format!("<tool_call>{call}</tool_call>\n<tool_call>{{\"name\": \"time\"}}</tool_call>");
        assert_eq!(names(&two).unwrap(), ["weather", "time"]);
    }

    #[test]
    fn what_is_no_call_is_left_alone() {
        for text in [
            "The weather is fine.",
            r#"{"name": "launch_missiles", "arguments": {}}"#,
            r#"{"name": "weather", "arguments": {}}"#,
            r#"A call looks like {"name": "weather", "arguments": {"city": "Kiel"}} in this protocol."#,
            r#"{"city": "Kiel"}"#,
            "[1, 2, 3]",
            "{",
        ] {
            assert_eq!(names(text), None, "{text}");
        }
    }

    #[test]
    fn only_what_may_be_a_call_is_held_back() {
        for text in ["", " ", "{\"na", "```js", "`", "<tool_call>", "<t", "["] {
            assert!(may_begin(text), "{text}");
        }
        for text in ["Sure", "<b>", "A {"] {
            assert!(!may_begin(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_looked_at_without_harm(text in "[ -~äß🌊\n]{0,120}") {
            let _ = find(&text, &tools());
        }

        /// Whatever was cut off or written around it: what is found is on the list and has what it needs.
        #[test]
        fn what_is_found_is_whole(noise in "[{}\\[\\]`<>a-z\": ,]{0,20}", cut in 0_usize..60) {
            let call = r#"<tool_call>{"name": "weather", "arguments": {"city": "Kiel"}}</tool_call>"#;
            let text = format!("{noise}{}", &call[..cut.min(call.len())]);
            if let Some(found) = find(&text, &tools()) {
                for call in found.calls {
                    prop_assert!(call.name == "time" || call.arguments.contains("city"));
                }
            }
        }
    }
}
