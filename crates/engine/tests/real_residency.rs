//! Who stays in memory and for how long, with the real engine.
#![expect(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{BUDGET, Home, child_of, desk_with, gone, model, pid, plan, smol, soon};
use plimsoll_engine::{Desk, HostMemory, Keeping, MemoryReader, ModelStatus, Ports, Stay, Target};
use plimsoll_os::process;
use plimsoll_testkit::real;
use plimsoll_units::Bytes;
use serde_json::json;

/// Longer than the least, shorter than a test wants to wait.
const SHORT: Duration = Duration::from_secs(6);

fn status(desk: &Desk) -> Option<ModelStatus> {
    status_of(desk, "smol")
}

fn status_of(desk: &Desk, id: &str) -> Option<ModelStatus> {
    model(desk, id).map(|model| model.status)
}

fn shortly() -> Keeping {
    Keeping {
        idle_max: Some(SHORT),
        ..Keeping::default()
    }
}

/// As another program would, past everything that we are told.
async fn ask(target: &Target, tokens: u32) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = json!({ "model": target.model, "prompt": "Once", "n_predict": tokens, "ignore_eos": true });
    let asked = http
        .post(format!("{}/completion", target.url))
        .bearer_auth(&target.key);
    let answer = asked.json(&body).send().await.unwrap();
    assert!(answer.status().is_success(), "{:?}", answer.text().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_nobody_uses_gives_its_memory_back_and_comes_again() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    desk.keeping(shortly()).await;
    let loaded = desk.load(smol(), BUDGET).await.unwrap();
    let (router, child) = (pid(&desk), child_of(pid(&desk), "smol"));

    // In use, though nobody tells the desk: a little at a time, and all the time.
    for _ in 0..4 {
        ask(&loaded.target, 4).await;
        tokio::time::sleep(SHORT / 2).await;
        assert_eq!(status(&desk), Some(ModelStatus::Ready));
    }
    ask(&loaded.target, 900).await;
    assert_eq!(
        status(&desk),
        Some(ModelStatus::Ready),
        "while it worked, it stayed"
    );

    soon("the idle model is told as gone", || {
        status(&desk) == Some(ModelStatus::Unloaded)
    })
    .await;
    gone("its process", &[child], Duration::from_secs(15)).await;
    assert_eq!(pid(&desk), router, "the router stays");
    assert!(
        model(&desk, "smol").unwrap().trouble.is_none(),
        "that was no crash"
    );
    let again = desk.load(smol(), BUDGET).await.unwrap();
    ask(&again.target, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_uses_it_may_say_how_long_it_stays() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    desk.load(smol(), BUDGET).await.unwrap();
    let child = child_of(pid(&desk), "smol");
    desk.keeping(shortly()).await;
    desk.used("smol", Stay::Always);
    tokio::time::sleep(SHORT * 3).await;
    assert_eq!(
        status(&desk),
        Some(ModelStatus::Ready),
        "its user wants it to stay"
    );
    desk.used("smol", Stay::For(Duration::ZERO));
    soon("it goes", || !process::exists(child)).await;
    // A load that is asked for in the middle of it ends well all the same.
    desk.load(smol(), BUDGET).await.unwrap();
    desk.used("smol", Stay::For(Duration::ZERO));
    soon("it is on its way out", || {
        status(&desk) == Some(ModelStatus::Unloaded)
    })
    .await;
    desk.load(smol(), BUDGET).await.unwrap();
    assert_eq!(status(&desk), Some(ModelStatus::Ready));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_programs_get_the_memory_of_the_one_unused_for_longest() {
    let home = Home::with_engine().await;
    let low = Arc::new(AtomicBool::new(false));
    let read = Arc::clone(&low);
    let memory = MemoryReader(Arc::new(move || {
        let mib = if read.load(Ordering::SeqCst) { 100 } else { 4_000 };
        Some(HostMemory {
            available: Bytes::mib(mib),
            total: Bytes::gib(8),
        })
    }));
    let desk = desk_with(&home.root, home.path(), Ports::default(), memory);
    let file = real::model(real::SMOLLM2);
    for id in ["a", "b"] {
        desk.load(plan(id, &file, Bytes::mib(300)), BUDGET).await.unwrap();
    }
    let child = child_of(pid(&desk), "a");
    desk.used("b", Stay::Usual);
    low.store(true, Ordering::SeqCst);
    soon("the one unused for longest goes", || {
        status_of(&desk, "a") == Some(ModelStatus::Unloaded)
    })
    .await;
    low.store(false, Ordering::SeqCst);
    gone("its process", &[child], Duration::from_secs(30)).await;
    tokio::time::sleep(SHORT * 2).await;
    assert_eq!(
        status_of(&desk, "b"),
        Some(ModelStatus::Ready),
        "there is enough again"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_hangs_while_the_router_is_healthy_is_found_by_a_probe_and_loaded_again() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    let loaded = desk.load(smol(), BUDGET).await.unwrap();
    let child = child_of(pid(&desk), "smol");
    assert!(!desk.doubt("smol").await, "one that answers stays");
    assert_eq!(child_of(pid(&desk), "smol"), child);

    signal(child, rustix::process::Signal::STOP);
    assert!(desk.client().unwrap().is_up().await, "whatever /health says");
    assert!(desk.doubt("smol").await, "it has to be loaded again");
    gone("the child that hung", &[child], Duration::from_secs(30)).await;
    assert!(model(&desk, "smol").is_none_or(|model| model.trouble.is_none()));
    let again = desk.load(smol(), BUDGET).await.unwrap();
    assert_ne!(again.target.url, loaded.target.url, "another process");
    ask(&again.target, 2).await;
}

#[cfg(target_os = "linux")]
fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn everything_that_stood_still_for_a_while_goes_on() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    let loaded = desk.load(smol(), BUDGET).await.unwrap();
    let all = common::family(pid(&desk));
    // As on a machine that sleeps: nobody runs, and nobody is told.
    for signal in [rustix::process::Signal::STOP, rustix::process::Signal::CONT] {
        for &pid in &all {
            self::signal(pid, signal);
        }
        tokio::time::sleep(Duration::from_secs(8)).await;
    }
    ask(&loaded.target, 4).await;
    assert_eq!(common::family(pid(&desk)), all, "nothing had to be started again");
}
