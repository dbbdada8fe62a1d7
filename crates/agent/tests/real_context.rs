//! The accounting against a real llama-server: what is expected, what it counts, and what its cache keeps.
#![expect(
    clippy::unwrap_used,
    reason = "test code: a broken expectation is a failed test"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use plimsoll_agent::context::{
    Account, Counted, Policy, Rates, ReadingKind, SizeClass, fork_instruction, is_cached_enough, measure,
    measure_head, size_class,
};
use plimsoll_agent::{
    Answer, ChatModel as _, Image, ImageFormat, Item, Limits, Part, Piece, Request, Route, RouteModel, Row,
    Sampling, Transcript,
};
use plimsoll_catalog::Catalog;
use plimsoll_os::child::{Child, Command};
use plimsoll_testkit::{TinyGguf, real};
use plimsoll_units::Tokens;
use serde_json::Value;

struct Server {
    url: String,
    client: reqwest::Client,
    _child: Child,
}

impl Server {
    async fn start(model: &str, window: u32, projector: Option<PathBuf>) -> Self {
        let engine = real::engine_dir();
        // Below the ephemeral range; the process number keeps parallel test runs apart.
        let port = 10_000 + std::process::id() % 10_000;
        let mut command = Command::new(engine.join("llama-server"))
            .folder(&engine)
            .env("LD_LIBRARY_PATH", &engine)
            .args(["--host", "127.0.0.1", "-np", "1", "-b", "256"])
            .args(["--port", &port.to_string(), "-c", &window.to_string(), "-m"])
            .arg(real::model(model));
        if let Some(projector) = projector {
            command = command.args(["--mmproj"]).arg(projector);
        }
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

/// Every row counted by the server before and after: what was expected of the next request is near, and a count
/// before it is sent is what its answer says.
async fn readings(model: &str, turns: usize) -> (usize, i32, i32) {
    let server = Server::start(model, 4_096, None).await;
    let policy = Policy::new(&server.route(), "m");
    let asked = server.model();
    let mut account = Account::new();
    account.set_route("r", policy.thoughts(), Rates::default());
    let (mut rows, mut facts) = (Vec::new(), Vec::new());
    let mut off: Vec<i32> = Vec::new();
    for turn in 0..turns {
        if turn % 20 == 0 {
            // Another conversation, with what was learned.
            let rates = account.rates().clone();
            account = Account::new();
            account.set_route("r", policy.thoughts(), rates);
            rows.clear();
            facts.clear();
        }
        let question = Row::User(vec![Part::text(words(turn))]);
        let answer = Row::Assistant(vec![Item::text(words(turn + 2))]);
        facts.push(measure(&format!("q{turn}"), &question, &policy).unwrap());
        rows.push(question);
        let now = request(&rows, 8);
        account.set_head(measure_head(now.transcript.system(), &[]));
        account.set_rows(&facts);
        let expected = account.reading(0);
        let real = asked.count(&now).await.unwrap();
        if expected.kind == ReadingKind::Anchored {
            let expected = i64::from(expected.tokens.unwrap().0);
            let error = (i64::from(real.0) - expected) * 10_000 / i64::from(real.0);
            off.push(i32::try_from(error.abs()).unwrap());
        }
        let sent = account.sent();
        facts.push(measure(&format!("a{turn}"), &answer, &policy).unwrap());
        rows.push(answer.clone());
        // What the server would count of its own answer: the next request without the next question.
        let mut with_answer = rows.clone();
        with_answer.push(Row::User(vec![Part::text("x")]));
        let mut without = rows[..rows.len() - 1].to_vec();
        if let Some(Row::User(parts)) = without.last_mut() {
            parts.push(Part::text("x"));
        }
        let with = asked.count(&request(&with_answer, 8)).await.unwrap();
        let without = asked.count(&request(&without, 8)).await.unwrap();
        let completion = with.0.saturating_sub(without.0);
        let bytes = u64::try_from(words(turn + 2).len()).unwrap();
        let usage = Counted {
            answer_bytes: bytes,
            ..Counted::new(Some(real), Some(Tokens(completion)))
        };
        account.answered(&sent, usage, 0);
        account.set_rows(&facts);
    }
    off.sort_unstable();
    let at = |percent: usize| off[(off.len() - 1) * percent / 100];
    (off.len(), at(50), at(95))
}

#[tokio::test]
async fn what_is_expected_is_near_what_a_real_server_counts() {
    for model in [real::SMOLLM2, real::QWEN_CODER, real::GEMMA3] {
        let (turns, median, high) = readings(model, 80).await;
        println!(
            "{model}: {turns} anchored readings, median off {}.{:02} %, 95 of 100 within {}.{:02} %",
            median / 100,
            median % 100,
            high / 100,
            high % 100
        );
        assert!(median <= 100, "{model}: {median}");
        assert!(high <= 500, "{model}: {high}");
    }
}

/// The conversation's own slot: what a fork repeats is in the cache, and the next turn reads its own rows only.
#[tokio::test]
async fn a_fork_on_its_own_slot_reads_its_instruction_only() {
    for model in [real::SMOLLM2, real::QWEN_CODER, real::GEMMA3] {
        let server = Server::start(model, 4_096, None).await;
        let asked = server.model();
        let mut rows: Vec<Row> = (0..6)
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

/// A summary that the person does not wait for lets go of its slot at once.
#[tokio::test]
async fn a_fork_that_is_left_frees_its_slot() {
    let server = Server::start(real::QWEN_CODER, 4_096, None).await;
    let rows = [Row::User(vec![Part::text(words(3))])];
    let model = server.model();
    let mut pieces = model.answer(request(&rows, 2_000)).await.unwrap();
    while let Some(piece) = pieces.next().await {
        if matches!(piece.unwrap(), Piece::Text(_)) {
            break;
        }
    }
    let left = Instant::now();
    drop(pieces);
    let let_go = left.elapsed();
    let free = async {
        loop {
            let asked = server
                .client
                .get(format!("{}/slots", server.url))
                .send()
                .await
                .unwrap();
            if asked.json::<Value>().await.unwrap()[0]["is_processing"] == false {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), free).await.unwrap();
    println!(
        "let go after {let_go:?}, the slot was free after {:?}",
        left.elapsed()
    );
}

fn picture() -> Image {
    Image {
        format: ImageFormat::Png,
        // One red pixel.
        data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
            .into(),
    }
}

/// Two projectors: an image costs exactly what two counts say, and another price with another projector.
#[tokio::test]
async fn an_image_costs_what_the_projector_makes_of_it() {
    let folder = tempfile::tempdir().unwrap();
    for (side, price) in [(448, 1_024), (224, 256)] {
        let path = folder.path().join(format!("mmproj-{side}.gguf"));
        std::fs::write(&path, TinyGguf::projector(576, side).bytes()).unwrap();
        let server = Server::start(real::SMOLLM2, 4_096, Some(path)).await;
        let asked = server.model();
        let text = Row::User(vec![Part::text("What is this?")]);
        let both = Row::User(vec![Part::text("What is this?"), Part::Image(picture())]);
        let without = asked.count(&request(&[text], 4)).await.unwrap();
        let with_image = request(&[both], 4);
        let with = asked.count(&with_image).await.unwrap();
        let mut rates = Rates::default();
        let class = size_class(&picture());
        assert_eq!(class, SizeClass::Small);
        let (_, learned) = rates.learn_image_exactly(class, with, without).unwrap();
        println!("{side} pixels: an image takes {learned}");
        assert!(
            learned.0.abs_diff(price) <= 4,
            "{side}: {learned}, the marks around it with it"
        );
        let answer = server.answer(with_image).await;
        assert_eq!(
            answer.usage.input,
            Some(with),
            "{side}: the count before is the count after"
        );
    }
}
