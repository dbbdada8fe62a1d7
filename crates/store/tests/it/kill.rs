//! A real process that writes an answer and is killed in the middle of it.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use plimsoll_store::{End, Piece, Shown, Store, StoreError};

use crate::fresh;

/// Not a test of its own: the process that the tests below start and kill.
#[tokio::test]
#[ignore = "started by the tests of this file"]
async fn write_in_a_process_of_its_own() {
    let environment = plimsoll_os::Environment::read();
    let path = environment
        .path("TEST_STORE")
        .expect("this one is started by its parent only");
    let store = Store::open(&path, 1000).await.unwrap();
    let chat = store.create_conversation(None, 1000).await.unwrap();
    store
        .add_user_message(&chat.id, "count for ever", 1001)
        .await
        .unwrap();
    let answer = store.begin_answer(&chat.id, 1002).await.unwrap();
    for n in 0.. {
        store
            .append(&answer.id, Piece::text(format!("{n} ")))
            .await
            .unwrap();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the child has to be killed without its knowledge"
)]
fn start_child(path: &Path) -> Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "kill::write_in_a_process_of_its_own",
            "--ignored",
            "--nocapture",
        ])
        .env("TEST_STORE", path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the child has written some of its answer; its conversation and how far it was.
async fn writing(store: &Store, child: &mut Child) -> (String, usize) {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        assert!(Instant::now() < until, "the child writes nothing");
        assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
        for chat in store.conversations(Shown::Kept).await.unwrap() {
            let opened = store.open_conversation(&chat.id, 2000).await.unwrap();
            if let Some(answer) = opened
                .messages
                .get(1)
                .filter(|answer| answer.is_running() && answer.text.len() > 200)
            {
                return (chat.id, answer.text.len());
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Every number once and in order, the last one whole.
fn assert_counts(text: &str) {
    let numbers: Vec<usize> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
    assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>());
    assert!(text.ends_with(' '), "{text:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_writer_loses_no_batch_that_was_written() {
    let (_folder, store) = fresh().await;
    for round in 0..3 {
        let mut child = start_child(store.path());
        let (chat, seen) = writing(&store, &mut child).await;

        // While it lives, its answer is its own: seen as running, and nobody else may touch it.
        let other = Store::open(store.path(), 3000).await.unwrap();
        let opened = other.open_conversation(&chat, 3001).await.unwrap();
        let running = opened.running.clone().unwrap();
        let refused = other.append(&running, Piece::text("mine")).await.unwrap_err();
        assert!(matches!(refused, StoreError::AlreadyEnded { .. }), "{refused:?}");
        let refused = other.begin_answer(&chat, 3002).await.unwrap_err();
        assert!(matches!(refused, StoreError::AnswerRunning { .. }), "{refused:?}");

        child.kill().unwrap();
        child.wait().unwrap();

        let store = if round == 0 {
            Store::open(store.path(), 4000).await.unwrap()
        } else {
            store.clone()
        };
        let opened = store.open_conversation(&chat, 4001).await.unwrap();
        let answer = &opened.messages[1];
        assert_eq!((answer.end, opened.running), (Some(End::Interrupted), None));
        assert!(answer.text.len() >= seen, "{} < {seen}", answer.text.len());
        assert_counts(&answer.text);
        store.add_user_message(&chat, "go on", 4002).await.unwrap();
        store.begin_answer(&chat, 4003).await.unwrap();
        store.delete_conversation(&chat, 4004).await.unwrap();
    }
}
