use std::time::Duration;

use plimsoll_os::child::{ChildError, Command, Line, Stream, run_to_end, run_to_end_blocking};
use plimsoll_os::files::AppendLog;
use plimsoll_os::process;
use plimsoll_units::Bytes;

/// Long enough for a slow machine; no test waits for it when things are right.
const PATIENCE: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Command {
    Command::new("/bin/sh").args(["-c", script])
}

async fn lines_of(command: Command) -> (Vec<Line>, plimsoll_os::child::Exit) {
    let mut child = command.spawn().unwrap();
    let mut heard = child.lines().unwrap();
    let mut lines = Vec::new();
    while let Some(line) = heard.recv().await {
        lines.push(line);
    }
    (lines, child.wait().await)
}

/// Until `pid` is gone; false when it is still there after a long time.
async fn gone(pid: u32) -> bool {
    for _ in 0..2000 {
        if !process::exists(pid) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn output_arrives_by_line_and_stream_and_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("child.log");
    let log = AppendLog::open(&path, Bytes::mib(1)).unwrap();
    let (lines, exit) = lines_of(shell("echo out; echo err >&2; exit 3").log(log)).await;
    assert_eq!(exit.code, Some(3));
    for (from, text) in [(Stream::Out, "out"), (Stream::Err, "err")] {
        let line = Line::Text {
            from,
            text: text.into(),
        };
        assert!(lines.contains(&line), "{line:?} in {lines:?}");
    }
    let logged = std::fs::read_to_string(&path).unwrap();
    assert!(logged.contains("out\n") && logged.contains("err\n"), "{logged}");
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_nothing_else() {
    let command = Command::new("/usr/bin/env").env("LLAMA_API_KEY", "k");
    let output = run_to_end(command, PATIENCE, Bytes::kib(64)).await.unwrap();
    assert_eq!(output.out_text().trim(), "LLAMA_API_KEY=k");
}

#[tokio::test]
async fn starts_in_the_given_folder() {
    let folder = tempfile::tempdir().unwrap();
    let output = run_to_end(shell("pwd -P").folder(folder.path()), PATIENCE, Bytes::kib(64))
        .await
        .unwrap();
    assert_eq!(
        output.out_text().trim(),
        folder.path().canonicalize().unwrap().to_str().unwrap()
    );
}

#[tokio::test]
async fn a_reader_that_sleeps_does_not_block_the_child() {
    let mut child = shell("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done")
        .lines_waiting(8)
        .spawn()
        .unwrap();
    let mut heard = child.lines().unwrap();
    let exit = tokio::time::timeout(PATIENCE, child.wait())
        .await
        .expect("the child is blocked by its reader");
    assert!(exit.is_success());
    let (mut arrived, mut dropped) = (0u64, 0);
    while let Some(line) = heard.recv().await {
        match line {
            Line::Text { .. } => arrived += 1,
            Line::Dropped(n) => dropped += n,
        }
    }
    assert!(
        arrived > 0 && arrived + dropped <= 20_000,
        "{arrived} arrived, {dropped} told as lost"
    );
}

#[tokio::test]
async fn terminate_asks_first_and_kills_then() {
    let polite = shell("trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done");
    let stubborn = shell("trap '' TERM; echo up; while :; do sleep 0.05; done");
    for (command, grace, code, signal) in [
        (polite, PATIENCE, Some(7), None),
        (stubborn, Duration::from_millis(200), None, Some(9)),
    ] {
        let mut child = command.spawn().unwrap();
        let mut lines = child.lines().unwrap();
        lines.recv().await.expect("the trap is set");
        let exit = child.terminate(grace).await;
        assert_eq!((exit.code, exit.signal), (code, signal));
    }
}

#[tokio::test]
async fn killing_takes_the_grandchildren_along() {
    let mut child = shell("sleep 60 & echo $!; wait").spawn().unwrap();
    let mut lines = child.lines().unwrap();
    let Some(Line::Text { text, .. }) = lines.recv().await else {
        panic!("no number")
    };
    let grandchild: u32 = text.parse().unwrap();
    assert!(process::exists(grandchild));
    assert_eq!(process::children(child.pid()), [grandchild]);
    assert!(process::descendants(process::own_pid()).contains(&grandchild));
    drop(child);
    assert!(gone(grandchild).await);
}

#[tokio::test]
async fn what_a_child_leaves_behind_ends_with_it() {
    let (lines, exit) = lines_of(shell("sleep 60 >/dev/null 2>&1 & echo $!")).await;
    assert!(exit.is_success());
    let [Line::Text { text, .. }] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert!(gone(text.parse().unwrap()).await);
}

#[cfg(unix)]
#[tokio::test]
async fn a_process_is_asked_to_end_only_under_its_right_identity() {
    let child = shell("exec sleep 60").spawn().unwrap();
    let right = process::identity(child.pid()).unwrap();
    let wrong = process::Identity {
        start_time: right.start_time + 1,
        ..right
    };
    assert!(!process::ask_to_end(&wrong));
    assert!(child.exit().is_none());
    assert!(process::ask_to_end(&right));
    assert_eq!(child.wait().await.signal, Some(15));
    assert!(!process::ask_to_end(&right), "it is gone");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_is_still_being_written_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("fresh");
    std::fs::copy("/bin/true", &program).unwrap();
    let writer = std::fs::OpenOptions::new().write(true).open(&program).unwrap();
    let closing = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        drop(writer);
    });
    let child = Command::new(&program).spawn().expect("it is free in a moment");
    assert!(child.wait().await.is_success());
    closing.join().unwrap();
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::copy("/bin/sh", &plain).unwrap();
    std::fs::set_permissions(&plain, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert!(matches!(
        Command::new("/no/such/program").spawn(),
        Err(ChildError::Missing { .. })
    ));
    assert!(matches!(
        Command::new(&plain).spawn(),
        Err(ChildError::NotRunnable { .. })
    ));
}

#[tokio::test]
async fn short_runs_have_a_limit_of_time_and_output() {
    let error = run_to_end(shell("sleep 60"), Duration::from_millis(100), Bytes::kib(1))
        .await
        .unwrap_err();
    assert!(matches!(error, ChildError::TimedOut { .. }), "{error}");
    let output = run_to_end(shell("yes | head -c 100000"), PATIENCE, Bytes(10))
        .await
        .unwrap();
    assert_eq!(
        (output.out.len(), output.cut, output.exit.code),
        (10, true, Some(0))
    );
}

#[test]
fn short_runs_need_no_runtime() {
    let output = run_to_end_blocking(shell("echo a; echo b >&2"), PATIENCE, Bytes::kib(1)).unwrap();
    assert_eq!(
        (output.out_text().as_str(), output.err_text().as_str(), output.cut),
        ("a\n", "b\n", false)
    );
    let error = run_to_end_blocking(shell("sleep 60"), Duration::from_millis(100), Bytes::kib(1));
    assert!(matches!(error, Err(ChildError::TimedOut { .. })));
}

#[test]
fn a_short_run_does_not_wait_for_what_left_its_group() {
    // setsid leaves the group and keeps the pipe open: its holder must not hold us.
    let before = std::time::Instant::now();
    let output = run_to_end_blocking(
        shell("echo here; setsid sleep 30 & exit 0"),
        PATIENCE,
        Bytes::kib(1),
    )
    .unwrap();
    assert_eq!(output.out_text(), "here\n");
    assert!(
        before.elapsed() < Duration::from_secs(15),
        "waited for a stranger"
    );
}

#[tokio::test]
async fn a_listening_child_answers_line_by_line_and_ends_when_it_is_let_go() {
    let mut child = shell("while read -r line; do echo \"heard $line\"; done")
        .listening()
        .spawn()
        .unwrap();
    let pid = child.pid();
    let mut lines = child.lines().unwrap();
    for word in ["one", "two"] {
        child.say(word).unwrap();
        let answer = tokio::time::timeout(PATIENCE, lines.recv()).await.unwrap();
        let text = format!("heard {word}");
        assert_eq!(
            answer,
            Some(Line::Text {
                from: Stream::Out,
                text
            })
        );
    }
    drop(child);
    assert!(gone(pid).await, "it still waits for a line");
    let mut deaf = shell("sleep 60").spawn().unwrap();
    assert!(deaf.say("anybody?").is_err());
}
