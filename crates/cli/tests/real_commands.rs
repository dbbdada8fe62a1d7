//! The command with a real engine and a real model. Needs what `scripts/test` fetches.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "it/place.rs"]
#[allow(dead_code, reason = "shared with the other tests; each uses its part")]
mod place;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use plimsoll_os::{files, process};
use plimsoll_testkit::hub::FakeFile;
use plimsoll_testkit::real;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use self::place::{Place, text};

const PATIENCE: Duration = Duration::from_mins(1);

/// A place with the engine and a small model, and the model's id.
fn ready() -> (Place, String) {
    let place = Place::fresh();
    let added = place
        .run(&["engine", "add", text(&real::engine_dir()), "--json"])
        .reply();
    assert_eq!(added["engines"][0]["inUse"], true, "{added}");
    let model = place
        .run(&["import", text(&real::model(real::SMOLLM2)), "--json"])
        .reply();
    (place, model["id"].as_str().unwrap().to_owned())
}

/// A command that stays.
struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    fn start(place: &Place, typed: &[&str]) -> Self {
        let mut command = place.command(typed);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|why| {
            let mut beside = String::new();
            let _ = self.child.kill();
            let _ = self.child.stderr.take().unwrap().read_to_string(&mut beside);
            panic!("{why}: {line:?} {beside}")
        })
    }

    fn signal(&self, signal: Signal) {
        kill_process(
            Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap(),
            signal,
        )
        .unwrap();
    }

    fn code(mut self) -> i32 {
        let mut code = None;
        until("the command ends", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.and_then(|status| status.code()).unwrap_or(-1)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Status and body of a request to the front.
fn ask_front(url: &str, path: &str, key: &str, body: &str) -> Option<(u16, String)> {
    let port: u16 = url
        .strip_prefix("http://127.0.0.1:")?
        .strip_suffix("/v1")?
        .parse()
        .ok()?;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let method = if body.is_empty() { "GET" } else { "POST" };
    let length = body.len();
    let head = format!(
        "{method} /v1{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {key}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    Some((status, answer.split_once("\r\n\r\n")?.1.to_owned()))
}

#[test]
fn one_question_end_to_end_shows_plan_and_fact() {
    let (place, model) = ready();
    let seen = place
        .run(&["ask", "--check", "--model", &model, "--json"])
        .reply();
    assert!(!seen["answer"].as_str().unwrap().trim().is_empty(), "{seen}");
    assert!(seen["stats"]["decodeTps"].as_f64().unwrap() > 0.0, "{seen}");
    let proof = &seen["proof"];
    assert!(
        proof["plannedBytes"].as_u64().unwrap() > 0 && proof["residentBytes"].as_u64().unwrap() > 0,
        "{proof}"
    );
    let parts: Vec<&str> = proof["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["code"].as_str().unwrap())
        .collect();
    for part in ["weights", "context", "compute"] {
        assert!(parts.contains(&part), "{parts:?}");
    }
    let shown = place.run(&["ask", "--check"]);
    for part in [
        "Machine ", "Plan ", "Answer ", "tokens/s", "planned ", "used ", "weights",
    ] {
        assert!(shown.shown().contains(part), "{part}: {}", shown.out);
    }
}

#[test]
fn a_chat_streams_and_an_interrupt_stops_it() {
    let (place, model) = ready();
    let ran = place.run_with_input(
        &["chat", "--model", &model, "--json", "Repeat this word:"],
        "anchor",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let events: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds.iter().filter(|kind| **kind == "turnEnded").count(),
        1,
        "{kinds:?}"
    );
    assert_eq!(kinds.last(), Some(&"turnEnded"));
    let started = events
        .iter()
        .find(|event| event["type"] == "turnStarted")
        .unwrap();
    assert_eq!(
        started["user"]["text"], "Repeat this word:\n\nanchor",
        "typed and piped"
    );
    // A short answer may come in one piece: pieces that arrive together are sent together.
    assert!(kinds.contains(&"textAdded"), "{kinds:?}");

    let story = "Write a very long story about a ship and its crew, with every detail of every day.";
    let mut long = Running::start(&place, &["chat", "--model", &model, "--json", story]);
    // A long one comes in several, before its end.
    for _ in 0..2 {
        while long.line()["type"] != "textAdded" {}
    }
    long.signal(Signal::INT);
    let ended = loop {
        let event = long.line();
        if event["type"] == "turnEnded" {
            break event;
        }
    };
    assert_eq!(ended["end"], "stopped", "{ended}");
    assert_eq!(long.code(), 130);
}

#[test]
fn serve_is_adopted_and_taken_over() {
    let (place, model) = ready();
    let mut first = Running::start(&place, &["serve", &model]);
    let told = first.line();
    let (url, key) = (
        told["url"].as_str().unwrap().to_owned(),
        told["key"].as_str().unwrap().to_owned(),
    );
    let router = u32::try_from(told["pid"].as_u64().unwrap()).unwrap();
    assert!(
        url.starts_with("http://127.0.0.1:") && url.ends_with("/v1"),
        "{url}"
    );
    let (status, models) = ask_front(&url, "/models", &key, "").unwrap();
    assert_eq!(status, 200);
    assert!(models.contains(&model) && !models.contains(".gguf"), "{models}");
    let body =
        format!(r#"{{"model":"{model}","max_tokens":8,"messages":[{{"role":"user","content":"Hi"}}]}}"#);
    assert_eq!(ask_front(&url, "/chat/completions", &key, &body).unwrap().0, 200);
    assert_eq!(
        ask_front(&url, "/chat/completions", "wrong", &body).unwrap().0,
        401
    );

    let mut second = Running::start(&place, &["serve"]);
    assert_eq!(
        second.line(),
        told,
        "the same router, the same door, the same key"
    );

    first.signal(Signal::KILL);
    assert_eq!(first.code(), -1);
    let died = Instant::now();
    until("the router ends with its owner", || {
        process::start_time(router).is_none()
    });
    assert!(died.elapsed() < Duration::from_secs(5), "{:?}", died.elapsed());
    // The other one owns the next router and opens the door again, at the same address with the same key.
    until("the second serve answers", || {
        ask_front(&url, "/chat/completions", &key, &body).is_some_and(|(status, _)| status == 200)
    });
    second.signal(Signal::TERM);
    assert_eq!(second.code(), 130);
    let run = place.path("home/run");
    assert!(
        ask_front(&url, "/models", &key, "").is_none(),
        "nobody listens any more, see {}",
        run.display()
    );
}

#[test]
fn models_of_other_programs_answer_where_they_lie() {
    let place = Place::fresh();
    place
        .run(&["engine", "add", text(&real::engine_dir()), "--json"])
        .reply();
    let file = real::model(real::SMOLLM2);
    // Names only: a second name of the same bytes is what these programs would have copied.
    let link = |to: &str| {
        let to = place.path(to);
        files::create_dir(to.parent().unwrap()).unwrap();
        files::link_or_copy(&file, &to).unwrap();
        to
    };
    let (sha256, bytes) = (sha256_of(&file), std::fs::metadata(&file).unwrap().len());
    let blob = link(&format!("person/.ollama/models/blobs/sha256-{sha256}"));
    place.file(
        "person/.ollama/models/manifests/registry.ollama.ai/library/smollm2/135m",
        format!(
            r#"{{"layers":[{{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{sha256}","size":{bytes}}}]}}"#
        ),
    );
    link("person/.lmstudio/models/some body/Größe-GGUF/a model.gguf");
    let models = place.run(&["models", "--json"]).reply();
    let kept: Vec<(&str, &str)> = models["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| (model["keeper"].as_str().unwrap(), model["id"].as_str().unwrap()))
        .collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    for (keeper, id) in kept {
        let seen = place.run(&["ask", "--check", "--model", id, "--json"]).reply();
        assert!(
            !seen["answer"].as_str().unwrap().trim().is_empty(),
            "{keeper}: {seen}"
        );
    }
    let twice = place.run(&["duplicates", "--json"]).reply();
    assert_eq!(
        twice["same"],
        serde_json::json!([]),
        "two names of one file take no space"
    );
    assert_eq!(std::fs::metadata(&blob).unwrap().len(), bytes, "as it was");
}

fn sha256_of(path: &std::path::Path) -> String {
    FakeFile::lfs(std::fs::read(path).unwrap()).sha256().to_owned()
}
