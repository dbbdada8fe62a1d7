//! A real small model that writes its calls as bare JSON, with tools that do something. `scripts/test` provides
//! engine and model.
#![expect(
    clippy::unwrap_used,
    reason = "test code: a broken expectation is a failed test"
)]

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_agent::{
    Approval, Approver, Effect, End, Item, Limits, Patience, Request, Route, RouteModel, Sampling, ToolCall,
    ToolLimits, ToolResult, Toolbox, Transcript, Turn, TurnEvent, TurnTools, Usage,
};
use plimsoll_catalog::Catalog;
use plimsoll_os::child::{Child, Command};
use plimsoll_os::clock;
use plimsoll_testkit::real;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

struct Nobody;
impl Approver for Nobody {
    fn ask<'a>(&'a self, _: &'a ToolCall, _: &'a Effect) -> BoxFuture<'a, Approval> {
        std::future::ready(Approval::Refused).boxed()
    }
}

async fn server(client: &reqwest::Client) -> (String, Child) {
    let engine = real::engine_dir();
    // Below the ephemeral range; the process number keeps parallel test runs apart.
    let port = 12_000 + std::process::id() % 10_000;
    let child = Command::new(engine.join("llama-server"))
        .folder(&engine)
        .env("LD_LIBRARY_PATH", &engine)
        .args([
            "--host",
            "127.0.0.1",
            "-np",
            "1",
            "-b",
            "128",
            "--jinja",
            "-c",
            "8192",
        ])
        .args(["--port", &port.to_string(), "-m"])
        .arg(real::model(real::QWEN_CODER))
        .spawn()
        .unwrap();
    let url = format!("http://127.0.0.1:{port}");
    let ready = async {
        loop {
            let health = client.get(format!("{url}/health")).send().await;
            if health.is_ok_and(|health| health.status().is_success()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(3), ready).await.unwrap();
    (url, child)
}

#[derive(Default)]
struct Heard {
    text: String,
    calls: Vec<ToolCall>,
    results: Vec<ToolResult>,
    usages: Vec<Usage>,
    rows: Vec<Vec<Item>>,
    end: Option<End>,
}

async fn ask(client: &reqwest::Client, url: &str, toolbox: &Toolbox, transcript: Transcript) -> Heard {
    let provider = Catalog::packaged().unwrap().provider("llama-server").unwrap();
    let route = Route::new(provider, "m", None).at(&format!("{url}/v1"));
    let model = RouteModel::new(client.clone(), route, Limits::default());
    let request = Request {
        tools: toolbox.specs(),
        sampling: Sampling {
            temperature: Some(0.0),
            reply_max: Some(80),
            ..Sampling::default()
        },
        slot: Some(0),
        ..Request::new("m", transcript)
    };
    let (out, mut events) = mpsc::channel(256);
    let stop = CancellationToken::new();
    let tools = TurnTools {
        toolbox,
        approver: &Nobody,
        limits: ToolLimits {
            rounds_max: 2,
            ..ToolLimits::default()
        },
    };
    let turn = async {
        Turn::run(&model, request, Patience::NONE, Some(tools), &out, &stop).await;
        drop(out);
    };
    let listen = async {
        let mut heard = Heard::default();
        while let Some(event) = events.recv().await {
            match event {
                TurnEvent::Text(text) => heard.text += &text,
                TurnEvent::Answered { items, usage } => {
                    heard.calls.extend(items.iter().filter_map(Item::call).cloned());
                    heard.usages.push(usage);
                    heard.rows.push(items);
                }
                TurnEvent::Results(results) => heard.results.extend(results),
                TurnEvent::End { end, .. } => heard.end = Some(end),
                TurnEvent::Waiting { .. } | TurnEvent::PromptRead { .. } | TurnEvent::Reasoning(_) => {}
            }
        }
        heard
    };
    tokio::join!(turn, listen).1
}

#[tokio::test]
async fn a_small_model_that_calls_in_bare_json_gets_its_results() {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let (url, _child) = server(&client).await;
    let toolbox = Toolbox::packaged(Vec::new(), clock::now_s);
    // One of them is enough: a model of this size may misread one question, not all.
    let mut called = 0;
    for expression in ["12345 * 6789", "987654 - 4321", "17 * 23 * 29"] {
        let mut transcript = Transcript::new("Use the tools. Call calculate for every calculation.");
        transcript.user(&format!("Calculate {expression} with the calculate tool."));
        let heard = ask(&client, &url, &toolbox, transcript).await;
        println!(
            "{expression}: {:?} -> {:?}, then {:?}",
            heard.calls, heard.results, heard.text
        );
        assert!(
            matches!(heard.end, Some(End::Complete | End::Length)),
            "{:?}",
            heard.end
        );
        assert_eq!(heard.results.len(), heard.calls.len().min(heard.results.len()));
        let done = heard.calls.iter().zip(&heard.results).any(|(call, result)| {
            call.name == "calculate" && !result.failed && result.text.parse::<f64>().is_ok()
        });
        called += u32::from(done);
        // The second request re-read the conversation from the cache: only what is new was evaluated.
        if let [first, second, ..] = &heard.usages[..] {
            println!(
                "  {} in, then {} in of which {} cached",
                first.input.unwrap(),
                second.input.unwrap(),
                second.cached.unwrap()
            );
            assert!(
                second.cached > first.input.map(|tokens| plimsoll_units::Tokens(tokens.0 / 2)),
                "{second:?}"
            );
        }
    }
    assert!(called >= 2, "{called} of 3 questions led to a call that was done");
}

#[tokio::test]
async fn twenty_turns_with_tools_read_only_what_is_new() {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let (url, _child) = server(&client).await;
    let provider = Catalog::packaged().unwrap().provider("llama-server").unwrap();
    let route = Route::new(provider, "m", None).at(&format!("{url}/v1"));
    let model = RouteModel::new(client.clone(), route, Limits::default());
    let toolbox = Toolbox::packaged(Vec::new(), clock::now_s);
    let mut transcript = Transcript::new("Answer in one short sentence. Do not use tools.");
    let mut before: Option<u32> = None;
    for turn in 1..=20 {
        transcript.user(&format!("Say something about the number {turn}."));
        let request = Request {
            tools: toolbox.specs(),
            sampling: Sampling {
                temperature: Some(0.0),
                reply_max: Some(16),
                ..Sampling::default()
            },
            slot: Some(0),
            ..Request::new("m", transcript.clone())
        };
        let (out, mut events) = mpsc::channel(256);
        let stop = CancellationToken::new();
        let running = async {
            Turn::run(&model, request, Patience::NONE, None, &out, &stop).await;
            drop(out);
        };
        let listen = async {
            let mut answered = None;
            while let Some(event) = events.recv().await {
                if let TurnEvent::Answered { items, usage } = event {
                    answered = Some((items, usage));
                }
            }
            answered.unwrap()
        };
        let (items, usage) = tokio::join!(running, listen).1;
        let (input, cached) = (usage.input.unwrap().0, usage.cached.unwrap().0);
        let read = input - cached;
        println!("turn {turn}: {input} tokens, {cached} from the cache, {read} read");
        if let Some(before) = before {
            // The answer of before and the new question; a token or two at the seam may fall otherwise.
            assert!(
                read <= input - before + 4,
                "turn {turn}: {read} read, {} are new",
                input - before
            );
        }
        before = Some(input);
        transcript.push(plimsoll_agent::Row::Assistant(items));
    }
}
