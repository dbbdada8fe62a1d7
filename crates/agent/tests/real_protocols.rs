//! The table of behaviours against a real llama-server's three protocols. Cells that the model or the build
//! cannot do are listed with the reason. `scripts/test` provides engine and model.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "test code: a broken expectation is a failed test"
)]

use std::time::Duration;

use futures_util::StreamExt as _;
use plimsoll_agent::{
    Answer, ChatModel as _, FinishReason, Format, Image, ImageFormat, Item, Limits, ModelError, Part, Piece,
    Refusal, Request, Route, RouteModel, Row, Sampling, ToolCall, ToolResult, ToolSpec, Transcript,
    list_models,
};
use plimsoll_catalog::Catalog;
use plimsoll_os::child::{Child, Command};
use plimsoll_testkit::real;
use plimsoll_units::Tokens;
use serde_json::{Value, json};

const WINDOW: u32 = 2048;
const KEY: &str = "sesame";
const PROTOCOLS: [&str; 3] = ["llama-server", "llama-server-responses", "llama-server-messages"];

struct Server {
    url: String,
    client: reqwest::Client,
    _child: Child,
}

impl Server {
    async fn start() -> Self {
        let engine = real::engine_dir();
        // Below the ephemeral range; the process number keeps parallel test runs apart.
        let port = 10_000 + std::process::id() % 10_000;
        let child = Command::new(engine.join("llama-server"))
            .folder(&engine)
            .env("LD_LIBRARY_PATH", &engine)
            .env("LLAMA_API_KEY", KEY)
            .args([
                "--host",
                "127.0.0.1",
                "-np",
                "1",
                "-b",
                "128",
                "--jinja",
                "--port",
                &port.to_string(),
            ])
            .args(["-c", &WINDOW.to_string(), "-m"])
            .arg(real::model(real::QWEN_CODER))
            .spawn()
            .unwrap();
        let server = Self {
            url: format!("http://127.0.0.1:{port}"),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            _child: child,
        };
        let ready = async {
            while server
                .get("/health")
                .await
                .is_none_or(|health| health["status"] != "ok")
            {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(3), ready).await.unwrap();
        server
    }

    async fn get(&self, path: &str) -> Option<Value> {
        let get = self.client.get(format!("{}{path}", self.url)).bearer_auth(KEY);
        get.send().await.ok()?.json().await.ok()
    }

    async fn idle(&self) {
        let idle = async {
            while self
                .get("/slots")
                .await
                .is_none_or(|slots| slots[0]["is_processing"] == true)
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), idle)
            .await
            .expect("the slot is free again");
    }

    fn route(&self, id: &str) -> Route {
        let provider = Catalog::packaged().unwrap().provider(id).unwrap();
        Route::new(provider, "m", Some(KEY.into())).at(&format!("{}/v1", self.url))
    }

    async fn ask(&self, route: &Route, request: Request) -> Result<(Answer, Vec<Piece>), ModelError> {
        let limits = Limits {
            idle: Duration::from_mins(2),
            ..Limits::default()
        };
        let model = RouteModel::new(self.client.clone(), route.clone(), limits);
        let mut stream = model.answer(request).await?;
        let mut pieces = Vec::new();
        while let Some(piece) = stream.next().await {
            match piece? {
                Piece::Finished(answer) => return Ok((answer, pieces)),
                piece @ (Piece::PromptRead { .. } | Piece::Text(_) | Piece::Reasoning(_)) => {
                    pieces.push(piece);
                }
            }
        }
        panic!("a stream ends with an answer or an error")
    }
}

fn question(text: &str) -> Transcript {
    let mut transcript = Transcript::new("Be brief.");
    transcript.user(text);
    transcript
}

fn short(transcript: Transcript, tokens: u32) -> Request {
    Request {
        sampling: Sampling {
            temperature: Some(0.0),
            reply_max: Some(tokens),
            ..Sampling::default()
        },
        ..Request::new("m", transcript)
    }
}

fn weather() -> ToolSpec {
    ToolSpec {
        name: "weather".into(),
        description: "The weather in a city.".into(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
    }
}

/// One line of the table.
struct Line(Vec<(&'static str, String)>);

impl Line {
    fn add(&mut self, cell: &'static str, result: impl Into<String>) {
        self.0.push((cell, result.into()));
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one cell after the other")]
async fn the_table_of_behaviours_on_three_protocols() {
    let server = Server::start().await;
    for id in PROTOCOLS {
        let route = server.route(id);
        let mut line = Line(Vec::new());

        let (first, pieces) = server
            .ask(&route, short(question("Name three colours of the sea."), 24))
            .await
            .unwrap();
        let texts = pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Text(_)))
            .count();
        assert!(texts > 3, "{id}: {texts} pieces");
        line.add("stream", format!("{texts} pieces"));

        let usage = first.usage;
        assert!(usage.input.unwrap() > Tokens(15), "{id}: {usage:?}");
        assert!(usage.output.unwrap() <= Tokens(24), "{id}: {usage:?}");
        let (again, _) = server
            .ask(&route, short(question("Name three colours of the sea."), 24))
            .await
            .unwrap();
        assert_eq!(again.usage.input, usage.input, "{id}: gross, cached or not");
        let cached = again.usage.cached.unwrap_or_default();
        assert!(cached > Tokens(10), "{id}: {:?}", again.usage);
        line.add(
            "usage",
            format!("{} in, {cached} of them cached", again.usage.input.unwrap()),
        );

        let (cut, _) = server
            .ask(&route, short(question("Count to a hundred."), 5))
            .await
            .unwrap();
        if id == "llama-server-responses" && cut.reason == FinishReason::Stop {
            line.add("length", "not told: this build reports a cut answer as completed");
        } else {
            assert_eq!(cut.reason, FinishReason::Length, "{id}");
            line.add("length", "told");
        }

        // A call and its result in the history, which the template has to take.
        let mut transcript = question("How is the weather in Kiel?");
        transcript.push(Row::Assistant(vec![Item::Call(ToolCall {
            id: "call_1".into(),
            name: "weather".into(),
            arguments: r#"{"city":"Kiel"}"#.into(),
            extra: None,
        })]));
        transcript.push(Row::Results(vec![ToolResult {
            call: "call_1".into(),
            text: "Hail, 3 degrees.".into(),
            failed: false,
        }]));
        let request = Request {
            tools: vec![weather()],
            ..short(transcript, 40)
        };
        let (told, _) = server.ask(&route, request).await.unwrap();
        assert!(!told.items.is_empty(), "{id}");
        line.add("tool results", "taken");
        line.add(
            "tool calls",
            "as bare JSON text: this model does not write the tags; repaired by the turn",
        );
        line.add("parallel calls", "not by this model");
        line.add("reasoning", "this model does not think");

        let format = Format {
            name: "colour".into(),
            schema: json!({
                "type": "object", "properties": {"colour": {"type": "string", "enum": ["blue", "red"]}},
                "required": ["colour"], "additionalProperties": false,
            }),
        };
        let request = Request {
            format: Some(format),
            ..short(question("The colour of the sky?"), 40)
        };
        match server.ask(&route, request).await {
            Ok((answer, _)) => {
                let Some(Item::Text { text }) = answer.items.first() else {
                    panic!("{id}: {answer:?}")
                };
                let value: Value = serde_json::from_str(text).unwrap();
                assert!(value["colour"].is_string(), "{id}: {text}");
                line.add("structured", "held to the schema");
            }
            Err(ModelError::Unsendable(_)) => {
                line.add(
                    "structured",
                    "this build ignores the schema here, so it is not offered",
                );
            }
            Err(error) => panic!("{id}: {error:?}"),
        }

        let mut transcript = Transcript::new("");
        transcript.push(Row::User(vec![
            Part::text("What is this?"),
            Part::Image(Image {
                format: ImageFormat::Png,
                data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==".into(),
            }),
        ]));
        let refused = server.ask(&route, short(transcript, 5)).await.unwrap_err();
        assert!(matches!(refused, ModelError::Refused { .. }), "{id}: {refused:?}");
        line.add("image", format!("refused, this model cannot see: {refused}"));

        let error = server
            .ask(&route, short(question(&"word ".repeat(4_000)), 5))
            .await
            .unwrap_err();
        let ModelError::Overflow {
            prompt,
            window: Tokens(WINDOW),
        } = error
        else {
            panic!("{id}: {error:?}")
        };
        assert!(prompt > Tokens(4_000), "{id}");
        line.add("overflow", format!("{prompt} of {WINDOW}"));

        let model = RouteModel::new(server.client.clone(), route.clone(), Limits::default());
        let mut stream = model
            .answer(short(question("Tell a very long story."), 1_000))
            .await
            .unwrap();
        while !matches!(stream.next().await.unwrap().unwrap(), Piece::Text(_)) {}
        drop(stream);
        server.idle().await;
        line.add("cancel", "the slot is free");

        let mut keyless = route.clone();
        keyless.key = Some("wrong".into());
        let refused = server.ask(&keyless, short(question("Hi."), 5)).await.unwrap_err();
        assert!(
            matches!(
                refused,
                ModelError::Refused {
                    why: Refusal::Key,
                    ..
                }
            ),
            "{id}: {refused:?}"
        );
        line.add("error kinds", "key");
        assert!(
            !list_models(&server.client, &route).await.unwrap().is_empty(),
            "{id}"
        );

        println!("{id}");
        for (cell, result) in line.0 {
            println!("  {cell:15} {result}");
        }
    }
}
