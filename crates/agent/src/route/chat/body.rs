use plimsoll_catalog::{CacheMapping, EffortField, ReasoningCarrier, ReplyLimit, SamplingField, Structured};
use serde::Serialize;
use serde_json::Value;

use super::super::Asked;
use crate::sorted::Sorted;
use crate::{Format, Image, Item, Part, Row, Seal, Thinking, ToolCall, ToolChoice, ToolSpec};

/// The request. A field that is not set is not sent, so that the server's default holds; fields keep one
/// order, so that equal requests are equal bytes. What never changes in a conversation stands first.
#[derive(Serialize)]
pub(in super::super) struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_progress: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_slot: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<TemplateSwitch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_options: Option<CacheOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ReasoningObject {
    effort: &'static str,
}

#[derive(Serialize)]
struct TemplateSwitch {
    enable_thinking: bool,
}

#[derive(Serialize)]
struct CacheOptions {
    mode: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat<'a> {
    JsonObject,
    JsonSchema { json_schema: JsonSchema<'a> },
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    schema: Sorted<'a>,
    strict: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Sorted<'a>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: Content<'a>,
    },
    Developer {
        content: Content<'a>,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        reasoning_details: Vec<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Content<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<CacheOptions>,
    },
    ImageUrl {
        image_url: ImageUrl,
    },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Called<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Sorted<'a>>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: &'a str,
}

pub(in super::super) fn body(asked: Asked<'_>) -> Body<'_> {
    let Asked {
        request,
        dialect,
        rows,
    } = asked;
    let sampling = request.sampling;
    let mut messages = Vec::new();
    let system = request.transcript.system();
    if !system.is_empty() {
        let content = Content::Text(system);
        messages.push(if dialect.developer_role {
            Message::Developer { content }
        } else {
            Message::System { content }
        });
    }
    messages.extend(
        rows.stable
            .iter()
            .flat_map(|row| row_messages(row, dialect.reasoning)),
    );
    if dialect.cache == CacheMapping::OpenaiBreakpoints {
        mark(&mut messages);
    }
    dynamic(&mut messages, &rows.dynamic, asked);
    let limit = sampling
        .reply_max
        .or(dialect.reply_default.map(|tokens| tokens.0));
    let old_name = dialect.reply_limit == ReplyLimit::MaxTokens;
    Body {
        model: &request.model,
        tools: request.tools.iter().map(tool).collect(),
        messages,
        tool_choice: tool_choice(request.tool_choice, &request.tools),
        parallel_tool_calls: (dialect.parallel_field && !request.tools.is_empty()).then_some(true),
        stream: true,
        stream_options: dialect
            .usage_option
            .then_some(StreamOptions { include_usage: true }),
        return_progress: dialect.progress.then_some(true),
        id_slot: request.slot.filter(|_| dialect.slot),
        max_tokens: limit.filter(|_| old_name),
        max_completion_tokens: limit.filter(|_| !old_name),
        temperature: asked.taken(SamplingField::Temperature, sampling.temperature),
        top_p: asked.taken(SamplingField::TopP, sampling.top_p),
        top_k: asked.taken(SamplingField::TopK, sampling.top_k),
        min_p: asked.taken(SamplingField::MinP, sampling.min_p),
        seed: asked.taken(SamplingField::Seed, sampling.seed),
        stop: asked.stop(),
        reasoning_effort: asked.effort(EffortField::ReasoningEffort),
        reasoning: asked
            .effort(EffortField::ReasoningObject)
            .map(|effort| ReasoningObject { effort }),
        chat_template_kwargs: asked.effort(EffortField::TemplateSwitch).map(|_| TemplateSwitch {
            enable_thinking: request.thinking != Thinking::Off,
        }),
        response_format: request
            .format
            .as_ref()
            .map(|format| response_format(format, dialect.structured)),
        prompt_cache_key: request.cache_key.as_deref().filter(|_| dialect.cache_key),
        prompt_cache_options: (dialect.cache == CacheMapping::OpenaiBreakpoints)
            .then_some(CacheOptions { mode: "explicit" }),
    }
}

fn row_messages(row: &Row, carrier: ReasoningCarrier) -> Vec<Message<'_>> {
    match row {
        Row::User(parts) => vec![Message::User {
            content: user_content(parts),
        }],
        Row::Assistant(items) => vec![assistant(items, carrier)],
        Row::Results(results) => results
            .iter()
            .map(|result| Message::Tool {
                tool_call_id: &result.call,
                content: Content::Text(&result.text),
            })
            .collect(),
    }
}

fn user_content(parts: &[Part]) -> Content<'_> {
    if let [Part::Text { text }] = parts {
        return Content::Text(text);
    }
    Content::Parts(parts.iter().map(content_part).collect())
}

fn content_part(part: &Part) -> ContentPart<'_> {
    match part {
        Part::Text { text } => ContentPart::Text {
            text,
            prompt_cache_breakpoint: None,
        },
        Part::Image(image) => ContentPart::ImageUrl {
            image_url: ImageUrl { url: data_url(image) },
        },
    }
}

pub(in super::super) fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.format.media_type(), image.data)
}

fn assistant(items: &[Item], carrier: ReasoningCarrier) -> Message<'_> {
    let mut text: Option<String> = None;
    let mut thought = String::new();
    let mut details = Vec::new();
    let mut calls = Vec::new();
    for item in items {
        match item {
            Item::Text { text: more } => match &mut text {
                Some(text) => {
                    text.push_str("\n\n");
                    text.push_str(more);
                }
                None => text = Some(more.clone()),
            },
            Item::Reasoning(reasoning) => {
                thought.push_str(&reasoning.text);
                if let Some(Seal::Details { details: sealed }) = &reasoning.seal {
                    details.extend(sealed);
                }
            }
            Item::Call(call) => calls.push(sent_call(call)),
        }
    }
    let thought = Some(thought).filter(|thought| !thought.is_empty());
    let (reasoning_content, reasoning) = match carrier {
        ReasoningCarrier::ReasoningContent => (thought, None),
        ReasoningCarrier::Reasoning => (None, thought),
        // Sealed: the details hold the text.
        ReasoningCarrier::ReasoningDetails
        | ReasoningCarrier::None
        | ReasoningCarrier::EncryptedItems
        | ReasoningCarrier::Signatures => (None, None),
    };
    Message::Assistant {
        content: text,
        reasoning_content,
        reasoning,
        reasoning_details: details,
        tool_calls: calls,
    }
}

fn sent_call(call: &ToolCall) -> Call<'_> {
    Call {
        id: &call.id,
        r#type: "function",
        function: Called {
            name: &call.name,
            arguments: &call.arguments,
        },
        extra_content: call.extra.as_ref().map(|extra| Sorted(&extra.content)),
    }
}

/// The end of what may be cached: the last text of the instructions, of a person, or of a tool.
fn mark(messages: &mut [Message<'_>]) {
    for message in messages.iter_mut().rev() {
        let content = match message {
            Message::System { content }
            | Message::Developer { content }
            | Message::User { content }
            | Message::Tool { content, .. } => content,
            Message::Assistant { .. } => continue,
        };
        if let Content::Text(text) = content {
            *content = Content::Parts(vec![ContentPart::Text {
                text,
                prompt_cache_breakpoint: None,
            }]);
        }
        let Content::Parts(parts) = content else { continue };
        let last = parts.iter_mut().rev().find_map(|part| match part {
            ContentPart::Text {
                text,
                prompt_cache_breakpoint,
            } if !text.is_empty() => Some(prompt_cache_breakpoint),
            ContentPart::Text { .. } | ContentPart::ImageUrl { .. } => None,
        });
        if let Some(breakpoint) = last {
            *breakpoint = Some(CacheOptions { mode: "explicit" });
            return;
        }
    }
}

/// Rows after the marker come last. Where turns have to alternate they join the question.
fn dynamic<'a>(messages: &mut Vec<Message<'a>>, rows: &'a [Row], asked: Asked<'a>) {
    for row in rows {
        match (row, messages.last_mut()) {
            (Row::User(parts), Some(Message::User { content })) if asked.dialect.strict_turns => {
                if let Content::Text(text) = content {
                    *content = Content::Parts(vec![ContentPart::Text {
                        text,
                        prompt_cache_breakpoint: None,
                    }]);
                }
                if let Content::Parts(before) = content {
                    before.extend(parts.iter().map(content_part));
                }
            }
            (row, _) => messages.extend(row_messages(row, asked.dialect.reasoning)),
        }
    }
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        r#type: "function",
        function: Function {
            name: &spec.name,
            description: &spec.description,
            parameters: Sorted(&spec.parameters),
        },
    }
}

/// Only what differs from the default is said, and only where there are tools.
pub(in super::super) fn tool_choice(choice: ToolChoice, tools: &[ToolSpec]) -> Option<&'static str> {
    match choice {
        ToolChoice::Required if !tools.is_empty() => Some("required"),
        ToolChoice::None if !tools.is_empty() => Some("none"),
        ToolChoice::Auto | ToolChoice::Required | ToolChoice::None => None,
    }
}

fn response_format(format: &Format, structured: Structured) -> ResponseFormat<'_> {
    match structured {
        Structured::JsonSchema => ResponseFormat::JsonSchema {
            json_schema: JsonSchema {
                name: &format.name,
                schema: Sorted(&format.schema),
                strict: true,
            },
        },
        Structured::JsonObject | Structured::None => ResponseFormat::JsonObject,
    }
}
