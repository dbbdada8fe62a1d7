//! Several of our processes at once: one router, and it never outlives its owner.
//!
//! The other processes are this test program again, in the role that an environment variable names.
#![expect(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

mod common;

use std::path::Path;
use std::time::Duration;

use common::{BUDGET, Home, PATIENCE, desk, family, gone, kill, model, pid, smol, soon};
use plimsoll_engine::{ModelStatus, Ports, RouterState};
use plimsoll_os::child::{Child, Command, Line};
use plimsoll_os::jobs::Root;
use plimsoll_os::{Environment, files, process};
use plimsoll_testkit::real;
use serde_json::json;
use tokio::sync::mpsc;

const ROLE: &str = "PLIMSOLL_TEST_ROLE";
const HOME: &str = "PLIMSOLL_TEST_HOME";
/// A child may not be left longer than this.
const ORPHANS_MAX: Duration = Duration::from_secs(5);

/// Not a test by itself: what the other processes run.
#[tokio::test(flavor = "multi_thread")]
async fn another_process() {
    let environment = Environment::read();
    let Some(role) = environment.get(ROLE) else { return };
    let root = Root::new();
    let desk = desk(&root, Path::new(environment.get(HOME).unwrap()), Ports::default());
    match role {
        "want" => desk.want().await.unwrap(),
        "keep" => desk.keep().await.unwrap(),
        "load" => drop(desk.load(smol(), BUDGET).await.unwrap()),
        other => panic!("no role {other}"),
    }
    let mut states = desk.state();
    loop {
        let line = match &*states.borrow_and_update() {
            RouterState::Ready(ready) => json!({ "state": "ready", "pid": ready.pid, "owned": ready.owned }),
            RouterState::Off => json!({ "state": "off" }),
            RouterState::Starting => json!({ "state": "starting" }),
            RouterState::Waiting { .. } => json!({ "state": "waiting" }),
            RouterState::Failed { .. } => json!({ "state": "failed" }),
        };
        println!("\nSAYS {line}");
        states.changed().await.unwrap();
    }
}

struct Other {
    child: Child,
    lines: mpsc::Receiver<Line>,
}

impl Other {
    fn start(role: &str, home: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["another_process", "--exact", "--nocapture"])
            .env(ROLE, role)
            .env(HOME, home)
            .env(
                "PLIMSOLL_TEST_MODELS",
                real::model(real::SMOLLM2).parent().unwrap(),
            )
            .env("PATH", "/usr/bin:/bin")
            .spawn()
            .unwrap();
        let lines = child.lines().unwrap();
        Self { child, lines }
    }

    /// The next thing it says that fits; panics when it ends first.
    async fn says(&mut self, fits: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let mut all = Vec::new();
        let heard = tokio::time::timeout(PATIENCE, async {
            while let Some(line) = self.lines.recv().await {
                let Line::Text { text, .. } = line else { continue };
                if let Some(said) = text.strip_prefix("SAYS ") {
                    let said: serde_json::Value = serde_json::from_str(said).unwrap();
                    if fits(&said) {
                        return Some(said);
                    }
                }
                all.push(text);
            }
            None
        });
        heard
            .await
            .ok()
            .flatten()
            .unwrap_or_else(|| panic!("it said only {all:#?}"))
    }

    /// Waits for its router. Returns the router's pid and whether this process owns it.
    async fn ready(&mut self) -> (u32, bool) {
        let said = self.says(|said| said["state"] == "ready").await;
        (
            u32::try_from(said["pid"].as_u64().unwrap()).unwrap(),
            said["owned"].as_bool().unwrap(),
        )
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_owner_leaves_nothing_behind_and_the_next_start_works() {
    let home = Home::with_engine().await;
    for role in ["want", "load"] {
        let mut owner = Other::start(role, home.path());
        let (router, is_owner) = owner.ready().await;
        assert!(is_owner);
        let all = family(router);
        kill(owner.child.pid());
        gone("the router of a killed owner and its children", &all, ORPHANS_MAX).await;
        assert!(home.state_file().exists(), "nobody was left to remove it");
    }
    let desk = home.desk();
    desk.load(smol(), BUDGET).await.unwrap();
    assert!(matches!(&*desk.state().borrow(), RouterState::Ready(ready) if ready.owned));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_killed_while_it_loads_leaves_nothing_behind() {
    let home = Home::with_engine().await;
    let owner = Other::start("load", home.path());
    let router = || {
        let state = std::fs::read(home.state_file()).ok()?;
        let state: serde_json::Value = serde_json::from_slice(&state).ok()?;
        u32::try_from(state["router"]["pid"].as_u64()?).ok()
    };
    soon("the model's child", || {
        router().is_some_and(|pid| !process::children(pid).is_empty())
    })
    .await;
    let all = family(router().unwrap());
    assert!(all.len() >= 2);
    kill(owner.child.pid());
    gone("router and child", &all, ORPHANS_MAX).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_start_at_once_make_one_router() {
    let home = Home::with_engine().await;
    let mut others: Vec<Other> = (0..3).map(|_| Other::start("want", home.path())).collect();
    let desk = home.desk();
    desk.want().await.unwrap();
    let mut seen = vec![(
        pid(&desk),
        matches!(&*desk.state().borrow(), RouterState::Ready(ready) if ready.owned),
    )];
    for other in &mut others {
        seen.push(other.ready().await);
    }
    assert!(seen.iter().all(|(pid, _)| *pid == seen[0].0), "{seen:?}");
    assert_eq!(seen.iter().filter(|(_, owned)| *owned).count(), 1, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_uses_the_owners_router_and_takes_over_when_it_is_gone() {
    let home = Home::with_engine().await;
    let mut owner = Other::start("load", home.path());
    let (router, _) = owner.ready().await;
    let desk = home.desk();
    soon(
        "the other's router is seen unasked",
        || matches!(&*desk.state().borrow(), RouterState::Ready(ready) if !ready.owned),
    )
    .await;
    soon("and its model", || {
        model(&desk, "smol").is_some_and(|model| model.status == ModelStatus::Ready)
    })
    .await;
    assert_eq!(model(&desk, "smol").unwrap().name, "smol by name");

    // The same plan is not loaded twice, and it is proved here as well.
    let child = common::child_of(router, "smol");
    let loaded = desk.load(smol(), BUDGET).await.unwrap();
    assert_eq!((pid(&desk), common::child_of(router, "smol")), (router, child));
    let proof = loaded.proof.unwrap();
    assert!(proof.resident.is_some() && !proof.buffers.is_empty());

    // A model of our own, in the other's router.
    let mut own = smol();
    own.id = "own".to_owned();
    desk.load(own.clone(), BUDGET).await.unwrap();
    assert_eq!(
        common::child_of(router, "smol"),
        child,
        "beside the other's, which was not disturbed"
    );

    let all = family(router);
    kill(owner.child.pid());
    gone("everything of the owner", &all, ORPHANS_MAX).await;
    soon("the end is seen", || {
        matches!(&*desk.state().borrow(), RouterState::Off)
    })
    .await;
    desk.load(own, BUDGET).await.unwrap();
    assert!(
        matches!(&*desk.state().borrow(), RouterState::Ready(ready) if ready.owned && ready.pid != router)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_right_after_the_owner_died_gets_a_living_router() {
    let home = Home::with_engine().await;
    for _ in 0..5 {
        let mut owner = Other::start("want", home.path());
        let (router, _) = owner.ready().await;
        let desk = home.desk();
        desk.want().await.unwrap();
        assert_eq!(pid(&desk), router);
        kill(owner.child.pid());
        gone("the router", &[router], ORPHANS_MAX).await;
        desk.want().await.unwrap();
        assert_ne!(pid(&desk), router, "the dead one");
        desk.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_keeps_takes_over_by_itself() {
    let home = Home::with_engine().await;
    let mut owner = Other::start("want", home.path());
    let (first, _) = owner.ready().await;
    let desk = home.desk();
    desk.keep().await.unwrap();
    assert_eq!(pid(&desk), first);
    kill(owner.child.pid());
    soon(
        "a router of our own",
        || matches!(&*desk.state().borrow(), RouterState::Ready(ready) if ready.owned && ready.pid != first),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_may_stop_the_router_and_its_owner_takes_it_as_said() {
    let home = Home::with_engine().await;
    let mut owner = Other::start("load", home.path());
    let (router, _) = owner.ready().await;
    let all = family(router);
    let desk = home.desk();
    desk.want().await.unwrap();
    desk.stop().await.unwrap();
    gone("router and model", &all, PATIENCE).await;
    owner.says(|said| said["state"] == "off").await;
    // Whoever needs one next makes one: the lock is free although the former owner lives.
    desk.want().await.unwrap();
    assert!(matches!(&*desk.state().borrow(), RouterState::Ready(ready) if ready.owned));
    owner
        .says(|said| said["state"] == "ready" && said["owned"] == false)
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_file_of_the_dead_is_ignored() {
    let home = Home::with_engine().await;
    let mut owner = Other::start("want", home.path());
    owner.ready().await;
    let left = std::fs::read(home.state_file()).unwrap();
    kill(owner.child.pid());
    owner.child.wait().await;
    // Its numbers now belong to a living process that has nothing to do with it: this one.
    let mut state: serde_json::Value = serde_json::from_slice(&left).unwrap();
    for process in ["router", "owner"] {
        state[process]["pid"] = process::own_pid().into();
    }
    files::replace(&home.state_file(), state.to_string().as_bytes()).unwrap();
    let desk = home.desk();
    desk.want().await.unwrap();
    assert!(matches!(&*desk.state().borrow(), RouterState::Ready(ready) if ready.owned));
    assert_ne!(pid(&desk), process::own_pid());
}
