//! What the published types cannot say, and the real ones refuse all the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Dialect, Speaks};

/// The most cache marks in a request, by both providers that have them.
const MARKS_MAX: usize = 4;

pub(super) fn request(speaks: Speaks, request: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    tools(speaks, request, &mut wrong);
    let text = request.to_string();
    for mark in ["\"prompt_cache_breakpoint\":{", "\"cache_control\":{"] {
        if text.matches(mark).count() > MARKS_MAX {
            wrong.push(format!("more than {MARKS_MAX} of {mark}"));
        }
    }
    match speaks {
        Speaks::Chat(dialect) => chat(dialect, request, &mut wrong),
        Speaks::Responses => responses(request, &mut wrong),
        Speaks::Messages => messages(request, &mut wrong),
    }
    wrong
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn tools(speaks: Speaks, request: &Value, wrong: &mut Vec<String>) {
    let mut names = BTreeSet::new();
    for tool in list(request, "tools") {
        let function = match speaks {
            Speaks::Chat(_) => &tool["function"],
            Speaks::Responses | Speaks::Messages => tool,
        };
        let name = text(function, "name");
        let letters = |name: &str| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        };
        if name.is_empty() || name.len() > 64 || !letters(name) {
            wrong.push(format!("no name for a tool: {name:?}"));
        }
        if !names.insert(name.to_owned()) {
            wrong.push(format!("two tools named {name}"));
        }
        let schema = match speaks {
            Speaks::Messages => &function["input_schema"],
            Speaks::Chat(_) | Speaks::Responses => &function["parameters"],
        };
        if schema["type"] != "object" {
            wrong.push(format!("the arguments of {name} are no object"));
        }
    }
}

fn chat(dialect: Dialect, request: &Value, wrong: &mut Vec<String>) {
    let messages = list(request, "messages");
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        let role = text(message, "role");
        if role == "tool" {
            let id = text(message, "tool_call_id");
            if !open.remove(id) {
                wrong.push(format!("a result for {id:?}, which was not called just before"));
            }
            continue;
        }
        if !open.is_empty() {
            wrong.push(format!("calls without a result: {open:?}"));
        }
        let calls = list(message, "tool_calls");
        open = calls.iter().map(|call| text(call, "id")).collect();
        if open.len() != calls.len() {
            wrong.push("two calls with one id".to_owned());
        }
        if role == "assistant" && message["content"].is_null() && calls.is_empty() {
            wrong.push("an answer with neither words nor calls".to_owned());
        }
    }
    if !open.is_empty() {
        wrong.push(format!("calls without a result: {open:?}"));
    }
    if messages.last().is_some_and(|last| last["role"] == "assistant") {
        wrong.push("the last message is an answer".to_owned());
    }
    if request["stream_options"]["include_usage"] != true {
        wrong.push("the usage is not asked for".to_owned());
    }
    if dialect == Dialect::OpenAi && request.get("max_tokens").is_some() {
        wrong.push("max_tokens is refused by reasoning models: max_completion_tokens".to_owned());
    }
    if request["response_format"]["type"] == "json_schema" {
        strict_schema(&request["response_format"]["json_schema"]["schema"], wrong);
    }
    if request.get("tools").is_none() {
        for field in ["tool_choice", "parallel_tool_calls"] {
            if request.get(field).is_some() {
                wrong.push(format!("{field} without tools"));
            }
        }
    }
}

/// OpenAI's strict mode takes closed objects with all fields required.
fn strict_schema(schema: &Value, wrong: &mut Vec<String>) {
    if schema["type"] == "object" && schema["additionalProperties"] != false {
        wrong.push("a strict schema is closed: additionalProperties must be false".to_owned());
    }
}

fn responses(request: &Value, wrong: &mut Vec<String>) {
    let input = list(request, "input");
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (n, item) in input.iter().enumerate() {
        let kind = text(item, "type");
        match kind {
            "function_call" if !open.insert(text(item, "call_id")) => {
                wrong.push("two calls with one id".to_owned());
            }
            "function_call_output" => {
                let id = text(item, "call_id");
                if !open.remove(id) {
                    wrong.push(format!("No tool call found for function call output {id}"));
                }
            }
            "reasoning" => {
                if text(item, "encrypted_content").is_empty() {
                    wrong.push("a thought that is not kept there needs its encrypted content".to_owned());
                }
                let follows = input.get(n + 1).is_some_and(|next| {
                    ["function_call", "reasoning"].contains(&text(next, "type"))
                        || next["role"] == "assistant"
                });
                if !follows {
                    wrong.push(format!(
                        "Item {} of type reasoning was provided without its required following item",
                        text(item, "id")
                    ));
                }
            }
            "message" if item["role"] != "assistant" && !open.is_empty() => {
                wrong.push(format!("No tool output found for function call {open:?}"));
            }
            _ => {}
        }
    }
    if !open.is_empty() {
        wrong.push(format!("No tool output found for function call {open:?}"));
    }
    if request["store"] != false {
        wrong.push("the conversation would be kept at the provider".to_owned());
    }
    if request["text"]["format"]["type"] == "json_schema" {
        strict_schema(&request["text"]["format"]["schema"], wrong);
    }
}

fn messages(request: &Value, wrong: &mut Vec<String>) {
    let messages = list(request, "messages");
    let mut expected = "user";
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let role = text(message, "role");
        if role != expected {
            wrong.push(format!("roles alternate: {role} where {expected} is due"));
        }
        expected = if role == "user" { "assistant" } else { "user" };
        let blocks = list(message, "content");
        let results: Vec<&str> = blocks
            .iter()
            .take_while(|block| block["type"] == "tool_result")
            .map(|block| text(block, "tool_use_id"))
            .collect();
        if blocks
            .iter()
            .filter(|block| block["type"] == "tool_result")
            .count()
            != results.len()
        {
            wrong.push("results stand first in their message".to_owned());
        }
        for id in &open {
            if !results.contains(id) {
                wrong.push(format!(
                    "tool_use ids were found without tool_result blocks immediately after: {id}"
                ));
            }
        }
        for id in &results {
            if !open.contains(id) {
                wrong.push(format!(
                    "unexpected tool_use_id found in tool_result blocks: {id}"
                ));
            }
        }
        open = blocks
            .iter()
            .filter(|block| block["type"] == "tool_use")
            .map(|block| text(block, "id"))
            .collect();
        for block in blocks {
            if block["type"] == "text" && text(block, "text").trim().is_empty() {
                wrong.push("text content blocks must contain non-whitespace text".to_owned());
            }
            if block["type"] == "thinking" && text(block, "signature").is_empty() {
                wrong.push("a thought without its signature".to_owned());
            }
        }
    }
    if messages.last().is_none_or(|last| last["role"] != "user") {
        wrong.push("the last message is not the user's".to_owned());
    }
    if request["max_tokens"].as_u64().is_none_or(|tokens| tokens == 0) {
        wrong.push("max_tokens: at least 1".to_owned());
    }
}

/// Seals that the fake gave out, by what they sealed: they come back with the same text, or not at all.
pub(super) fn seals(speaks: Speaks, given: &BTreeMap<String, String>, request: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |seal: &str, sealed: String| match given.get(seal) {
        Some(before) if *before == sealed => {}
        Some(before) => wrong.push(format!("the thought {before:?} came back as {sealed:?}")),
        None => wrong.push(format!("a seal that was never given: {seal:?}")),
    };
    match speaks {
        Speaks::Messages => {
            for block in list(request, "messages")
                .iter()
                .flat_map(|message| list(message, "content"))
            {
                match text(block, "type") {
                    "thinking" => check(text(block, "signature"), text(block, "thinking").to_owned()),
                    "redacted_thinking" => check(text(block, "data"), String::new()),
                    _ => {}
                }
            }
        }
        Speaks::Responses => {
            for item in list(request, "input") {
                if item["type"] == "reasoning" {
                    let summary: String = list(item, "summary")
                        .iter()
                        .map(|part| text(part, "text"))
                        .collect();
                    check(text(item, "encrypted_content"), summary);
                }
            }
        }
        Speaks::Chat(_) => {
            for detail in list(request, "messages")
                .iter()
                .flat_map(|message| list(message, "reasoning_details"))
            {
                check(text(detail, "signature"), text(detail, "text").to_owned());
            }
        }
    }
    wrong
}
