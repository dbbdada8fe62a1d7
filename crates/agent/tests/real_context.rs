//! The accounting against a real llama-server: what it counts, and what its cache keeps.
#![expect(
    clippy::unwrap_used,
    reason = "test code: a broken expectation is a failed test"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use plimsoll_agent::context::{fork_instruction, is_cached_enough};
use plimsoll_agent::{
    Answer, ChatModel as _, Item, Limits, Part, Piece, Request, Route, RouteModel, Row, Sampling, Transcript,
};
use plimsoll_catalog::Catalog;
use plimsoll_os::child::{Child, Command};
use plimsoll_testkit::real;
use serde_json::Value;

/// No server waits for the port of the one before it.
static STARTED: AtomicU32 = AtomicU32::new(0);

struct Server {
    url: String,
    client: reqwest::Client,
    _child: Child,
}

impl Server {
    async fn start(model: &str, window: u32) -> Self {
        let engine = real::engine_dir();
        // Below the ephemeral range; the process number keeps parallel test runs apart.
        let port = 10_000 + (std::process::id() * 3 + STARTED.fetch_add(1, Ordering::Relaxed)) % 10_000;
        let command = Command::new(engine.join("llama-server"))
            .folder(&engine)
            .env("LD_LIBRARY_PATH", &engine)
            .args(["--host", "127.0.0.1", "-np", "1", "-b", "256"])
            .args(["--port", &port.to_string(), "-c", &window.to_string(), "-m"])
            .arg(real::model(model));
        let server = Self {
            url: format!("http://127.0.0.1:{port}"),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            _child: command.spawn().unwrap(),
        };
        let ready = async {
            loop {
                let asked = server.client.get(format!("{}/health", server.url)).send().await;
                if let Ok(reply) = asked
                    && reply
                        .json::<Value>()
                        .await
                        .is_ok_and(|health| health["status"] == "ok")
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(2), ready).await.unwrap();
        server
    }

    fn route(&self) -> Route {
        let provider = Catalog::packaged().unwrap().provider("llama-server").unwrap();
        Route::new(provider, "m", None).at(&format!("{}/v1", self.url))
    }

    fn model(&self) -> RouteModel {
        let limits = Limits {
            idle: Duration::from_mins(2),
            ..Limits::default()
        };
        RouteModel::new(self.client.clone(), self.route(), limits)
    }

    async fn answer(&self, request: Request) -> Answer {
        let mut pieces = self.model().answer(request).await.unwrap();
        while let Some(piece) = pieces.next().await {
            if let Piece::Finished(answer) = piece.unwrap() {
                return answer;
            }
        }
        panic!("an answer has an end")
    }
}

fn request(rows: &[Row], reply_max: u32) -> Request {
    let mut transcript = Transcript::new("You keep the log of a small harbour. Be brief.");
    for row in rows {
        transcript.push(row.clone());
    }
    Request {
        slot: Some(0),
        sampling: Sampling {
            temperature: Some(0.0),
            reply_max: Some(reply_max),
            ..Sampling::default()
        },
        ..Request::new("m", transcript)
    }
}

/// Words of several kinds: plain, German, code, numbers, Japanese.
fn words(n: usize) -> String {
    let kinds = [
        "The ferry came in at noon and the wind was from the west. ",
        "Der Schlepper liegt seit gestern an der Mole und wartet auf Öl. ",
        "fn depth(at: usize) -> f64 { SOUNDINGS[at % 12] * 1.8288 } ",
        "12.5; 13.75; 14.0625; 99,120,431; 0x7fff; 2026-12-01T09:30Z; ",
        "船は朝に港を出て、夕方に戻った。",
    ];
    kinds[n % kinds.len()].repeat(3 + n * 7 % 11)
}

/// The conversation's own slot: what a fork repeats is in the cache, and the next turn reads its own rows only.
#[tokio::test]
async fn a_fork_on_its_own_slot_reads_its_instruction_only() {
    for model in [real::SMOLLM2, real::QWEN_CODER, real::GEMMA3] {
        let server = Server::start(model, 4_096).await;
        let asked = server.model();
        let mut rows: Vec<Row> = (0..2)
            .flat_map(|n| {
                [
                    Row::User(vec![Part::text(words(n))]),
                    Row::Assistant(vec![Item::text(words(n + 1))]),
                ]
            })
            .collect();
        rows.push(Row::User(vec![Part::text("What came in at noon?")]));
        let parent = request(&rows, 12);
        let before = asked.count(&parent).await.unwrap();
        let answer = server.answer(parent.clone()).await;
        assert_eq!(
            answer.usage.input,
            Some(before),
            "{model}: the count before is the count after"
        );
        assert!(!answer.usage.disputed);
        rows.push(Row::Assistant(answer.items));

        let mut forked = rows.clone();
        forked.push(Row::User(vec![Part::text(fork_instruction())]));
        let fork = request(&forked, 12);
        let (one, two) = (
            asked.rendered(&parent).await.unwrap(),
            asked.rendered(&fork).await.unwrap(),
        );
        let common = one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b).count();
        assert!(
            common * 100 >= one.len() * 90,
            "{model}: the parent's prompt begins the fork's"
        );
        let summary = server.answer(fork).await;
        let (input, cached) = (summary.usage.input.unwrap().0, summary.usage.cached.unwrap().0);
        let parent_tokens = u64::from(before.0);
        assert!(is_cached_enough(cached.into(), parent_tokens));
        assert!(
            u64::from(cached) * 100 >= parent_tokens * 98,
            "{model}: {cached} of {parent_tokens} were cached"
        );

        rows.push(Row::User(vec![Part::text("And what is the depth?")]));
        let next = server.answer(request(&rows, 8)).await;
        let read = next.usage.input.unwrap().0 - next.usage.cached.unwrap().0;
        // Its question, the answer that was written meanwhile, and the frames around them.
        let own = next.usage.input.unwrap().0 - before.0 + 8;
        println!(
            "{model}: fork {cached} of {input} cached, {:.1} % of the parent's {parent_tokens}; the next turn reads {read} of {}",
            f64::from(cached) * 100.0 / f64::from(before.0),
            next.usage.input.unwrap().0
        );
        assert!(read <= own, "{model}: {read} read, {own} are its own");
    }
}
