//! A program of ours is killed with no chance to tidy up. The test binary plays that program: run again with a
//! variable set, it starts a child, takes a lock, says so and sleeps.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use plimsoll_os::child::{Command, Line};
use plimsoll_os::files::Lock;
use plimsoll_os::{Environment, process};

const PART: &str = "PLIMSOLL_TEST_PART";

/// What the second run does; a passing test without a word in the first.
#[test]
fn the_part_of_the_program() {
    let environment = Environment::read();
    let Some(lock) = environment.path(PART) else {
        return;
    };
    let lock = Lock::try_exclusive(&lock).unwrap().expect("the lock is free");
    // From a thread that ends at once: the child must live on all the same.
    // It has a child of its own that hears of nothing.
    let script = "sleep 120 <&- >&- 2>&- & echo grandchild $!; wait";
    let start = || {
        Command::new("/bin/sh")
            .args(["-c", script])
            .env("PATH", "/usr/bin:/bin")
            .watched()
            .spawn()
    };
    let mut child = std::thread::spawn(start).join().unwrap().unwrap();
    let said = child.lines().unwrap().blocking_recv();
    let Some(Line::Text { text: grandchild, .. }) = said else {
        panic!("{said:?}")
    };
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(
        child.exit(),
        None,
        "the child died with the thread that asked for it"
    );
    println!("child {} {grandchild}", child.pid());
    std::thread::sleep(Duration::from_mins(2));
    drop((lock, child));
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program that is to be killed must not be a child of ours"
)]
fn start_the_program(lock: &Path) -> (Child, [u32; 2]) {
    let mut program = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "death::the_part_of_the_program", "--nocapture"])
        .env(PART, lock)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let said = lines.map_while(Result::ok).find_map(|line| {
        let (child, grandchild) = line.split_once("child ")?.1.split_once(" grandchild ")?;
        Some([child.parse().ok()?, grandchild.parse().ok()?])
    });
    (
        program,
        said.expect("the program names its child and its grandchild"),
    )
}

#[test]
fn after_a_kill_no_child_lives_and_the_lock_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    let (mut program, all) = start_the_program(&lock);
    assert!(all.into_iter().all(process::exists));
    assert!(
        Lock::try_exclusive(&lock).unwrap().is_none(),
        "the program holds it"
    );
    program.kill().unwrap();
    let killed = Instant::now();
    program.wait().unwrap();
    while all.into_iter().any(process::exists) {
        assert!(
            killed.elapsed() < Duration::from_secs(2),
            "a child outlives its program"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(
        Lock::try_exclusive(&lock).unwrap().is_some(),
        "the kernel released it"
    );
}
