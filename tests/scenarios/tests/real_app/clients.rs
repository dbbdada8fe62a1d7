//! The official Python clients of OpenAI and Anthropic against the endpoint, with a real model behind it.

use std::path::Path;
use std::sync::Arc;

use plimsoll_os::child::{Command, Line};
use plimsoll_testkit::real;
use plimsoll_web::Front;

use crate::room::{Room, SMOLLM2};

/// Runs a program of `tests/clients` and gives what it says works.
async fn run(program: &str) -> Vec<String> {
    let room = Room::with_engine().await;
    let front = Front::start(Arc::clone(&room.app), 0).await.unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients")
        .join(program);
    let mut child = Command::new(real::python_clients())
        .args([path.to_str().unwrap()])
        .env("PATH", "/usr/bin:/bin")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("ENDPOINT_URL", front.url())
        .env("ENDPOINT_KEY", room.app.endpoint_key())
        .env("ENDPOINT_MODEL", SMOLLM2)
        .spawn()
        .unwrap();
    let mut lines = child.lines().unwrap();
    let mut said = Vec::new();
    while let Some(line) = lines.recv().await {
        if let Line::Text { text, .. } = line {
            said.push(text);
        }
    }
    let exit = child.wait().await;
    assert!(exit.is_success(), "{exit}: {}", said.join("\n"));
    front.end().await;
    room.app.end().await;
    said.iter()
        .filter_map(|line| line.strip_prefix("ok "))
        .map(str::to_owned)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_of_openai_finds_what_it_expects() {
    let works = run("with_openai.py").await;
    assert_eq!(works.len(), 12, "{works:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_of_anthropic_finds_what_it_expects() {
    let works = run("with_anthropic.py").await;
    assert_eq!(works.len(), 7, "{works:?}");
}
