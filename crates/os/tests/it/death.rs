//! A program of ours is killed with no chance to tidy up. The test binary plays that program: run again with a
//! variable set, it starts a child, takes a lock, says so and sleeps.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use plimsoll_os::child::Command;
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
    let child = std::thread::spawn(|| Command::new("/bin/sleep").arg("120").spawn().unwrap())
        .join()
        .unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(
        child.exit(),
        None,
        "the child died with the thread that asked for it"
    );
    println!("child {}", child.pid());
    std::thread::sleep(Duration::from_mins(2));
    drop((lock, child));
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program that is to be killed must not be a child of ours"
)]
fn start_the_program(lock: &Path) -> (Child, u32) {
    let mut program = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "death::the_part_of_the_program", "--nocapture"])
        .env(PART, lock)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let said = lines
        .map_while(Result::ok)
        .find_map(|line| line.split_once("child ")?.1.trim().parse().ok());
    (program, said.expect("the program names its child"))
}

#[test]
fn after_a_kill_no_child_lives_and_the_lock_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock");
    let (mut program, child) = start_the_program(&lock);
    assert!(process::exists(child));
    assert!(
        Lock::try_exclusive(&lock).unwrap().is_none(),
        "the program holds it"
    );
    program.kill().unwrap();
    let killed = Instant::now();
    program.wait().unwrap();
    while process::exists(child) {
        assert!(
            killed.elapsed() < Duration::from_secs(1),
            "the child outlives its program"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(
        Lock::try_exclusive(&lock).unwrap().is_some(),
        "the kernel released it"
    );
}
