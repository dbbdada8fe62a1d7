//! The rules of the strictest chat templates, and our own about streaming, for llama-server.

use serde_json::Value;

pub(super) fn complaints(request: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    if request["model"].as_str().is_none_or(str::is_empty) {
        wrong.push("no model".to_owned());
    }
    for (what, is) in [
        ("stream", &request["stream"]),
        (
            "stream_options.include_usage",
            &request["stream_options"]["include_usage"],
        ),
        ("return_progress", &request["return_progress"]),
    ] {
        if *is != true {
            wrong.push(format!("{what} is {is}"));
        }
    }
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let roles: Vec<&str> = messages
        .iter()
        .map(|message| message["role"].as_str().unwrap_or_default())
        .collect();
    let spoken = if roles.first() == Some(&"system") {
        &roles[1..]
    } else {
        &roles[..]
    };
    // Calls and results stand inside one answer: a user's question, then any number of both.
    let calls = messages.iter().any(|message| message.get("tool_calls").is_some());
    if spoken.first() != Some(&"user")
        || spoken
            .windows(2)
            .any(|pair| pair[0] == pair[1] && pair[0] != "tool")
        || (!calls
            && spoken
                .iter()
                .enumerate()
                .any(|(n, role)| *role != ["user", "assistant"][n % 2]))
    {
        wrong.push(format!(
            "roles must alternate, beginning with the user: {roles:?}"
        ));
    }
    if !["user", "tool"].contains(spoken.last().unwrap_or(&"")) {
        wrong.push("the last message is neither the user's nor a result".to_owned());
    }
    let empty = |content: &Value| match content {
        Value::String(text) => text.is_empty(),
        Value::Array(parts) => parts.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    };
    if messages
        .iter()
        .any(|message| empty(&message["content"]) && message.get("tool_calls").is_none())
    {
        wrong.push("a message without content".to_owned());
    }
    wrong
}
