use std::time::Duration;

use futures_util::StreamExt as _;
use plimsoll_agent::{
    Answer, ChatModel as _, Format, Image, ImageFormat, Limits, ModelError, Piece, Request, Route,
    RouteModel, ToolSpec, Transcript,
};
use plimsoll_catalog::Catalog;
use plimsoll_testkit::provider::{Dialect, Provider, Reply, Speaks};
use serde_json::json;

/// Every protocol, and both ends of the first: the strict cloud and the strict templates.
pub(crate) const ALL: [Speaks; 4] = [
    Speaks::Chat(Dialect::OpenAi),
    Speaks::Chat(Dialect::LlamaServer),
    Speaks::Responses,
    Speaks::Messages,
];

pub(crate) fn limits() -> Limits {
    Limits {
        idle: Duration::from_secs(20),
        ..Limits::default()
    }
}

pub(crate) fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// The entry of the catalog that speaks like this.
pub(crate) fn provider_id(speaks: Speaks) -> &'static str {
    match speaks {
        Speaks::Chat(Dialect::OpenAi) => "openai-chat",
        Speaks::Chat(Dialect::LlamaServer) => "llama-server",
        Speaks::Chat(Dialect::DeepSeek) => "deepseek",
        Speaks::Chat(Dialect::OpenRouter) => "openrouter",
        Speaks::Chat(Dialect::Gemini) => "gemini",
        Speaks::Responses => "openai",
        Speaks::Messages => "anthropic",
    }
}

pub(crate) fn route(speaks: Speaks, url: &str) -> Route {
    route_for(speaks, url, "m")
}

pub(crate) fn route_for(speaks: Speaks, url: &str, model: &str) -> Route {
    let provider = Catalog::packaged()
        .unwrap()
        .provider(provider_id(speaks))
        .unwrap();
    Route::new(provider, model, None).at(&format!("{}/v1", url.trim_end_matches('/')))
}

pub(crate) async fn fake(speaks: Speaks, replies: impl IntoIterator<Item = Reply>) -> Provider {
    Provider::start_with(speaks, replies, None).await
}

/// A whole answer and the pieces that it came in.
pub(crate) async fn ask(route: &Route, request: Request) -> Result<(Answer, Vec<Piece>), ModelError> {
    let model = RouteModel::new(client(), route.clone(), limits());
    let mut stream = model.answer(request).await?;
    let mut pieces = Vec::new();
    while let Some(piece) = stream.next().await {
        match piece? {
            Piece::Finished(answer) => {
                assert!(stream.next().await.is_none(), "nothing comes after the end");
                return Ok((answer, pieces));
            }
            piece @ (Piece::PromptRead { .. } | Piece::Text(_) | Piece::Reasoning(_)) => pieces.push(piece),
        }
    }
    panic!("a stream ends with an answer or an error")
}

pub(crate) fn question(text: &str) -> Transcript {
    let mut transcript = Transcript::new("Be brief.");
    transcript.user(text);
    transcript
}

pub(crate) fn weather() -> ToolSpec {
    ToolSpec {
        name: "weather".into(),
        description: "The weather in a city.".into(),
        parameters: json!({
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["c", "a"]}},
            "required": ["city"],
        }),
    }
}

pub(crate) fn format() -> Format {
    Format {
        name: "colour".into(),
        schema: json!({
            "type": "object", "properties": {"colour": {"type": "string"}},
            "required": ["colour"], "additionalProperties": false,
        }),
    }
}

/// One red pixel.
pub(crate) fn image() -> Image {
    Image {
        format: ImageFormat::Png,
        data:
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
                .into(),
    }
}
