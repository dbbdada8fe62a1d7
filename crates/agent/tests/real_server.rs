//! The adapter against a real llama-server with a real model. `scripts/test` provides both.
#![expect(
    clippy::unwrap_used,
    reason = "test code: a broken expectation is a failed test"
)]

use std::time::Duration;

use plimsoll_agent::{
    End, Limits, ModelError, Patience, Request, Route, RouteModel, Sampling, Transcript, Turn, TurnEvent,
    TurnFigures,
};
use plimsoll_catalog::Catalog;
use plimsoll_os::child::{Child, Command};
use plimsoll_testkit::real;
use plimsoll_units::Tokens;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const WINDOW: u32 = 1024;

struct Server {
    url: String,
    client: reqwest::Client,
    _child: Child,
}

impl Server {
    async fn start() -> Self {
        let engine = real::engine_dir();
        // Below the ephemeral range; the process number keeps parallel test runs apart.
        let port = 20_000 + std::process::id() % 10_000;
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
                "--port",
                &port.to_string(),
            ])
            .args(["-c", &WINDOW.to_string(), "-m"])
            .arg(real::model(real::SMOLLM2))
            .spawn()
            .unwrap();
        let server = Self {
            url: format!("http://127.0.0.1:{port}"),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            _child: child,
        };
        let ready = async {
            while !server
                .get("/health")
                .await
                .is_some_and(|health| health["status"] == "ok")
            {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(2), ready).await.unwrap();
        server
    }

    async fn get(&self, path: &str) -> Option<Value> {
        self.client
            .get(format!("{}{path}", self.url))
            .send()
            .await
            .ok()?
            .json()
            .await
            .ok()
    }

    async fn busy(&self) -> bool {
        self.get("/slots").await.unwrap()[0]["is_processing"] == true
    }

    fn model(&self) -> RouteModel {
        let provider = Catalog::packaged().unwrap().provider("llama-server").unwrap();
        RouteModel::new(
            self.client.clone(),
            Route::new(provider, "m", None).at(&format!("{}/v1", self.url)),
            Limits {
                idle: Duration::from_mins(1),
                ..Limits::default()
            },
        )
    }

    /// Asks; presses stop at the first piece of text if `stop_early`.
    async fn ask(&self, question: &str, sampling: Sampling, stop_early: bool) -> (String, End, TurnFigures) {
        let mut transcript = Transcript::new("Be brief.");
        transcript.user(question);
        let request = Request {
            sampling,
            slot: Some(0),
            ..Request::new("m", transcript)
        };
        let (out, mut events) = mpsc::channel(256);
        let stop = CancellationToken::new();
        let model = self.model();
        let turn = async {
            Turn::run(&model, request, Patience::NONE, None, &out, &stop).await;
            drop(out);
        };
        let listen = async {
            let (mut text, mut ends) = (String::new(), Vec::new());
            while let Some(event) = events.recv().await {
                match event {
                    TurnEvent::Text(more) => {
                        text += &more;
                        if stop_early {
                            stop.cancel();
                        }
                    }
                    TurnEvent::End { end, figures } => ends.push((end, figures)),
                    TurnEvent::PromptRead { done, total } => assert!(done <= total),
                    TurnEvent::Reasoning(_)
                    | TurnEvent::Waiting { .. }
                    | TurnEvent::Answered { .. }
                    | TurnEvent::Results(_) => {}
                }
            }
            assert_eq!(ends.len(), 1);
            let (end, figures) = ends.remove(0);
            (text, end, figures)
        };
        tokio::join!(turn, listen).1
    }
}

#[tokio::test]
async fn a_real_server_answers_counts_refuses_and_stops() {
    let server = Server::start().await;
    let short = Sampling {
        temperature: Some(0.0),
        reply_max: Some(12),
        ..Sampling::default()
    };

    let (text, end, first) = server.ask("Name three colours of the sea.", short, false).await;
    assert!(!text.trim().is_empty());
    assert!(matches!(end, End::Complete | End::Length), "{end:?}");
    assert!(first.usage.input.unwrap() > Tokens(10));
    assert!(first.usage.output.unwrap() <= Tokens(12));
    assert!(first.decode.unwrap().get() > 0.0);
    assert!(first.first_token.is_some());

    let (again, _, second) = server.ask("Name three colours of the sea.", short, false).await;
    assert_eq!(again, text, "temperature 0");
    assert_eq!(second.usage.input, first.usage.input);
    assert!(
        second.usage.cached > first.usage.cached,
        "the same prompt on the same slot is not read twice"
    );

    let (_, end, figures) = server.ask(&"word ".repeat(2_000), short, false).await;
    assert!(
        matches!(&end, End::Failed(ModelError::Overflow { prompt, window: Tokens(WINDOW) }) if *prompt > Tokens(2_000)),
        "{end:?}"
    );
    assert_eq!(figures.usage.input, None);

    let (text, end, _) = server
        .ask("Tell a very long story about a ship.", Sampling::default(), true)
        .await;
    assert!(matches!(end, End::Stopped), "{end:?} after {text:?}");
    let idle = async {
        while server.busy().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(2), idle)
        .await
        .expect("stopping frees the slot");
}
