use plimsoll_catalog::{CacheMapping, EffortField, SamplingField};
use serde::Serialize;
use serde_json::Value;

use super::super::Asked;
use crate::sorted::Sorted;
use crate::{Format, Item, Part, Row, Seal, Thinking, ToolChoice, ToolSpec};

/// Where neither the person nor the catalog says how long an answer may be.
const REPLY_DEFAULT: u32 = 4_096;

/// The request; see the one of Chat Completions for its order.
#[derive(Serialize)]
pub(in super::super) struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Message<'a>>,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Sorted<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice {
    Any,
    None,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ThinkingConfig {
    Adaptive { display: &'static str },
    Disabled,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat<'a>>,
}

#[derive(Serialize)]
struct OutputFormat<'a> {
    r#type: &'static str,
    schema: Sorted<'a>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    Image {
        source: ImageSource<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Arguments,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
}

#[derive(Serialize)]
struct ImageSource<'a> {
    r#type: &'static str,
    media_type: &'static str,
    data: &'a str,
}

#[derive(Serialize, Clone, Copy)]
struct Mark {
    r#type: &'static str,
}

const MARK: Mark = Mark { r#type: "ephemeral" };

/// Arguments as an object, which is all that this protocol takes.
struct Arguments(Value);

impl Serialize for Arguments {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Sorted(&self.0).serialize(serializer)
    }
}

impl Arguments {
    /// What a model wrote that is no object goes back as an empty one: its result says what was wrong.
    fn of(text: &str) -> Self {
        let value = serde_json::from_str(text)
            .ok()
            .filter(Value::is_object)
            .unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        Self(value)
    }
}

pub(in super::super) fn body(asked: Asked<'_>) -> Body<'_> {
    let Asked {
        request,
        dialect,
        rows,
    } = asked;
    let sampling = request.sampling;
    let mut tools: Vec<Tool<'_>> = request.tools.iter().map(tool).collect();
    let mut system = Vec::new();
    if !request.transcript.system().is_empty() {
        system.push(text(request.transcript.system()));
    }
    let mut messages: Vec<Message<'_>> = rows.stable.iter().filter_map(message).collect();
    if dialect.cache == CacheMapping::AnthropicMarks {
        mark(&mut tools, &mut system, &mut messages);
    }
    for row in &rows.dynamic {
        match (row, messages.last_mut()) {
            // Roles alternate here.
            (
                Row::User(parts),
                Some(Message {
                    role: "user",
                    content,
                }),
            ) => {
                content.extend(parts.iter().map(block));
            }
            (row, _) => messages.extend(message(row)),
        }
    }
    let effort = (dialect.effort == EffortField::Adaptive)
        .then_some(request.thinking)
        .and_then(|thinking| match thinking {
            Thinking::On(effort) => Some(effort.name()),
            Thinking::Default | Thinking::Off => None,
        });
    let format = request.format.as_ref().map(output_format);
    Body {
        model: &request.model,
        tools,
        system,
        messages,
        max_tokens: sampling
            .reply_max
            .or(dialect.reply_default.map(|tokens| tokens.0))
            .unwrap_or(REPLY_DEFAULT),
        stream: true,
        tool_choice: match request.tool_choice {
            ToolChoice::Required if !request.tools.is_empty() => Some(Choice::Any),
            ToolChoice::None if !request.tools.is_empty() => Some(Choice::None),
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::None => None,
        },
        temperature: asked.taken(SamplingField::Temperature, sampling.temperature),
        top_p: asked.taken(SamplingField::TopP, sampling.top_p),
        top_k: asked.taken(SamplingField::TopK, sampling.top_k),
        stop_sequences: asked.stop(),
        thinking: match (dialect.effort, request.thinking) {
            (EffortField::Adaptive, Thinking::On(_)) => Some(ThinkingConfig::Adaptive {
                display: "summarized",
            }),
            (EffortField::Adaptive, Thinking::Off) => Some(ThinkingConfig::Disabled),
            (_, Thinking::Default | Thinking::Off | Thinking::On(_)) => None,
        },
        output_config: (effort.is_some() || format.is_some()).then_some(OutputConfig { effort, format }),
    }
}

fn message(row: &Row) -> Option<Message<'_>> {
    let (role, content): (_, Vec<Block<'_>>) = match row {
        Row::User(parts) => ("user", parts.iter().map(block).collect()),
        Row::Assistant(items) => ("assistant", items.iter().filter_map(answer_block).collect()),
        Row::Results(results) => (
            "user",
            results
                .iter()
                .map(|result| Block::ToolResult {
                    tool_use_id: &result.call,
                    content: &result.text,
                    is_error: result.failed,
                    cache_control: None,
                })
                .collect(),
        ),
    };
    (!content.is_empty()).then_some(Message { role, content })
}

fn text(text: &str) -> Block<'_> {
    Block::Text {
        text,
        cache_control: None,
    }
}

fn block(part: &Part) -> Block<'_> {
    match part {
        Part::Text { text: words } => text(words),
        Part::Image(image) => Block::Image {
            source: ImageSource {
                r#type: "base64",
                media_type: image.format.media_type(),
                data: &image.data,
            },
            cache_control: None,
        },
    }
}

fn answer_block(item: &Item) -> Option<Block<'_>> {
    Some(match item {
        // Refused by the provider: an empty text is none.
        Item::Text { text: words } if words.trim().is_empty() => return None,
        Item::Text { text: words } => text(words),
        Item::Call(call) => Block::ToolUse {
            id: &call.id,
            name: &call.name,
            input: Arguments::of(&call.arguments),
        },
        Item::Reasoning(thought) => match &thought.seal {
            Some(Seal::Signature { signature }) => Block::Thinking {
                thinking: &thought.text,
                signature,
            },
            Some(Seal::Redacted { data }) => Block::RedactedThinking { data },
            // No other form has a place here.
            Some(Seal::Encrypted { .. } | Seal::Details { .. }) | None => return None,
        },
    })
}

/// Two marks: one on what never changes (the instructions, else the last tool), one on the last block before
/// the dynamic context that may carry it. Turns of thoughts or calls alone are passed over.
fn mark(tools: &mut [Tool<'_>], system: &mut [Block<'_>], messages: &mut [Message<'_>]) {
    if !mark_last(system)
        && let Some(tool) = tools.last_mut()
    {
        tool.cache_control = Some(MARK);
    }
    for message in messages.iter_mut().rev() {
        if mark_last(&mut message.content) {
            return;
        }
    }
}

fn mark_last(blocks: &mut [Block<'_>]) -> bool {
    let eligible = blocks.iter_mut().rev().find_map(|block| match block {
        Block::Text { text, cache_control } if !text.is_empty() => Some(cache_control),
        Block::Image { cache_control, .. } | Block::ToolResult { cache_control, .. } => Some(cache_control),
        Block::Text { .. }
        | Block::ToolUse { .. }
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. } => None,
    });
    let found = eligible.is_some();
    if let Some(cache_control) = eligible {
        *cache_control = Some(MARK);
    }
    found
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        name: &spec.name,
        description: &spec.description,
        input_schema: Sorted(&spec.parameters),
        cache_control: None,
    }
}

fn output_format(format: &Format) -> OutputFormat<'_> {
    OutputFormat {
        r#type: "json_schema",
        schema: Sorted(&format.schema),
    }
}
