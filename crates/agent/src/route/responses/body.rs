use plimsoll_catalog::{CacheMapping, EffortField, ReasoningCarrier, SamplingField, Structured};
use serde::Serialize;

use super::super::Asked;
use super::super::chat::{data_url, tool_choice};
use crate::sorted::Sorted;
use crate::{Format, Item, Part, Row, Seal, Thinking, ToolSpec};

/// The request; see the one of Chat Completions for its order.
#[derive(Serialize)]
pub(in super::super) struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    input: Vec<InputItem<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    stream: bool,
    /// Nothing is kept at the provider: the conversation is ours.
    store: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_options: Option<CacheOptions>,
}

#[derive(Serialize)]
struct CacheOptions {
    mode: &'static str,
}

#[derive(Serialize)]
struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
struct TextConfig<'a> {
    format: TextFormat<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TextFormat<'a> {
    JsonObject,
    JsonSchema {
        name: &'a str,
        schema: Sorted<'a>,
        strict: bool,
    },
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Sorted<'a>,
    /// Strict mode wants every argument required; ours need not be.
    strict: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Content<'a>,
    },
    Reasoning {
        id: &'a str,
        summary: Vec<Summary<'a>>,
        encrypted_content: &'a str,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Summary<'a> {
    SummaryText { text: &'a str },
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
    InputText {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt_cache_breakpoint: Option<CacheOptions>,
    },
    InputImage {
        detail: &'static str,
        image_url: String,
    },
}

pub(in super::super) fn body(asked: Asked<'_>) -> Body<'_> {
    let Asked {
        request,
        dialect,
        rows,
    } = asked;
    let sampling = request.sampling;
    let mut input = Vec::new();
    let system = request.transcript.system();
    if !system.is_empty() {
        input.push(InputItem::Message {
            role: if dialect.developer_role {
                "developer"
            } else {
                "system"
            },
            content: text_content(system),
        });
    }
    input.extend(rows.stable.iter().flat_map(row_items));
    let marks = dialect.cache == CacheMapping::OpenaiBreakpoints;
    if marks {
        mark(&mut input);
    }
    dynamic(&mut input, &rows.dynamic, dialect.strict_turns);
    let encrypted = dialect.reasoning == ReasoningCarrier::EncryptedItems;
    let effort = asked.effort(EffortField::ReasoningEffort);
    Body {
        model: &request.model,
        tools: request.tools.iter().map(tool).collect(),
        input,
        tool_choice: tool_choice(request.tool_choice, &request.tools),
        parallel_tool_calls: (dialect.parallel_field && !request.tools.is_empty()).then_some(true),
        stream: true,
        store: false,
        include: if encrypted {
            vec!["reasoning.encrypted_content"]
        } else {
            Vec::new()
        },
        max_output_tokens: sampling
            .reply_max
            .or(dialect.reply_default.map(|tokens| tokens.0)),
        temperature: asked.taken(SamplingField::Temperature, sampling.temperature),
        top_p: asked.taken(SamplingField::TopP, sampling.top_p),
        reasoning: effort.map(|effort| Reasoning {
            effort: Some(effort),
            summary: (request.thinking != Thinking::Off).then_some("auto"),
        }),
        text: request
            .format
            .as_ref()
            .map(|format| text_config(format, dialect.structured)),
        prompt_cache_key: request.cache_key.as_deref().filter(|_| dialect.cache_key),
        prompt_cache_options: marks.then_some(CacheOptions { mode: "explicit" }),
    }
}

fn row_items(row: &Row) -> Vec<InputItem<'_>> {
    match row {
        Row::User(parts) => vec![InputItem::Message {
            role: "user",
            content: Content::Parts(parts.iter().map(content_part).collect()),
        }],
        Row::Assistant(items) => items.iter().filter_map(answer_item).collect(),
        Row::Results(results) => results
            .iter()
            .map(|result| InputItem::FunctionCallOutput {
                call_id: &result.call,
                output: Content::Text(&result.text),
            })
            .collect(),
    }
}

fn answer_item(item: &Item) -> Option<InputItem<'_>> {
    Some(match item {
        Item::Text { text } => InputItem::Message {
            role: "assistant",
            content: Content::Text(text),
        },
        Item::Call(call) => InputItem::FunctionCall {
            call_id: &call.id,
            name: &call.name,
            arguments: &call.arguments,
        },
        Item::Reasoning(thought) => match &thought.seal {
            Some(Seal::Encrypted { id, content }) => InputItem::Reasoning {
                id,
                summary: if thought.text.is_empty() {
                    Vec::new()
                } else {
                    vec![Summary::SummaryText { text: &thought.text }]
                },
                encrypted_content: content,
            },
            // No other form has a place here.
            Some(Seal::Signature { .. } | Seal::Redacted { .. } | Seal::Details { .. }) | None => {
                return None;
            }
        },
    })
}

fn content_part(part: &Part) -> ContentPart<'_> {
    match part {
        Part::Text { text } => ContentPart::InputText {
            text,
            prompt_cache_breakpoint: None,
        },
        Part::Image(image) => ContentPart::InputImage {
            detail: "auto",
            image_url: data_url(image),
        },
    }
}

fn text_content(text: &str) -> Content<'_> {
    Content::Parts(vec![ContentPart::InputText {
        text,
        prompt_cache_breakpoint: None,
    }])
}

/// On the last text of the latest item that may carry it: instructions, a person's text, or a tool's output.
fn mark(input: &mut [InputItem<'_>]) {
    for item in input.iter_mut().rev() {
        let content = match item {
            InputItem::Message { role, content } if *role != "assistant" => content,
            InputItem::FunctionCallOutput { output, .. } => output,
            InputItem::Message { .. } | InputItem::FunctionCall { .. } | InputItem::Reasoning { .. } => {
                continue;
            }
        };
        if let Content::Text(text) = content {
            *content = text_content(text);
        }
        let Content::Parts(parts) = content else { continue };
        let last = parts.iter_mut().rev().find_map(|part| match part {
            ContentPart::InputText {
                text,
                prompt_cache_breakpoint,
            } if !text.is_empty() => Some(prompt_cache_breakpoint),
            ContentPart::InputText { .. } | ContentPart::InputImage { .. } => None,
        });
        if let Some(breakpoint) = last {
            *breakpoint = Some(CacheOptions { mode: "explicit" });
            return;
        }
    }
}

/// Rows after the marker come last. Where turns have to alternate they join the question.
fn dynamic<'a>(input: &mut Vec<InputItem<'a>>, rows: &'a [Row], strict: bool) {
    for row in rows {
        match (row, input.last_mut()) {
            (
                Row::User(parts),
                Some(InputItem::Message {
                    role: "user",
                    content: Content::Parts(before),
                }),
            ) if strict => before.extend(parts.iter().map(content_part)),
            (row, _) => input.extend(row_items(row)),
        }
    }
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        r#type: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: Sorted(&spec.parameters),
        strict: false,
    }
}

fn text_config(format: &Format, structured: Structured) -> TextConfig<'_> {
    let format = match structured {
        Structured::JsonSchema => TextFormat::JsonSchema {
            name: &format.name,
            schema: Sorted(&format.schema),
            strict: true,
        },
        Structured::JsonObject | Structured::None => TextFormat::JsonObject,
    };
    TextConfig { format }
}
