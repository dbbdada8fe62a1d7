//! A home of its own for each test, with the real engine in it.
#![allow(dead_code, reason = "each test program uses its part")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken expectation is a failed test"
)]

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_engine::{Desk, DeskConfig, Engines, MemoryReader, ModelPlan, ModelState, Ports, RouterState};
use plimsoll_os::Environment;
use plimsoll_os::jobs::Root;
use plimsoll_os::process;
use plimsoll_testkit::real;
use plimsoll_units::Bytes;
use tempfile::TempDir;

/// Longer than anything here takes on a slow machine; only a hang meets it.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct Home {
    pub(crate) root: Root,
    pub(crate) folder: TempDir,
    pub(crate) engines: Engines,
}

impl Home {
    /// With the real engine added and in use.
    pub(crate) async fn with_engine() -> Self {
        let home = Self::empty();
        home.engines.add(&real::engine_dir()).await.unwrap();
        home
    }

    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engines = engines_in(folder.path());
        Self {
            root: Root::new(),
            folder,
            engines,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn desk(&self) -> Desk {
        self.desk_with(Ports::default())
    }

    pub(crate) fn desk_with(&self, ports: Ports) -> Desk {
        desk(&self.root, self.path(), ports)
    }

    pub(crate) fn state_file(&self) -> PathBuf {
        self.path().join("run").join("router.json")
    }

    /// What the owner wrote down.
    pub(crate) fn state(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.state_file()).unwrap()).unwrap()
    }
}

pub(crate) fn engines_in(home: &Path) -> Engines {
    Engines::new(home.join("engines"), Environment::read())
}

pub(crate) fn desk(root: &Root, home: &Path, ports: Ports) -> Desk {
    desk_with(root, home, ports, MemoryReader(Arc::new(|| None)))
}

pub(crate) fn desk_with(root: &Root, home: &Path, ports: Ports, memory: MemoryReader) -> Desk {
    let config = DeskConfig {
        home: home.to_owned(),
        engines: engines_in(home),
        ports,
        memory,
    };
    Desk::start(&root.scope(), config).unwrap()
}

pub(crate) const BUDGET: Bytes = Bytes::gib(8);

pub(crate) fn smol() -> ModelPlan {
    plan("smol", &real::model(real::SMOLLM2), Bytes::mib(300))
}

pub(crate) fn plan(id: &str, path: &Path, planned: Bytes) -> ModelPlan {
    let arguments = [
        "--ctx-size",
        "1024",
        "--parallel",
        "1",
        "--cache-ram",
        "0",
        "--fit",
        "off",
        "--no-mmproj",
    ];
    ModelPlan {
        id: id.to_owned(),
        name: format!("{id} by name"),
        path: path.to_owned(),
        arguments: arguments.map(str::to_owned).into(),
        planned,
    }
}

pub(crate) fn pid(desk: &Desk) -> u32 {
    let states = desk.state();
    let state = states.borrow();
    let RouterState::Ready(ready) = &*state else {
        panic!("no router: {state:?}")
    };
    ready.pid
}

/// The router and all below it.
pub(crate) fn family(router: u32) -> Vec<u32> {
    let mut all = process::descendants(router);
    all.push(router);
    all
}

/// The pid of the child that holds this model.
pub(crate) fn child_of(router: u32, router_id: &str) -> u32 {
    let held = |pid: &u32| {
        process::arguments(*pid)
            .windows(2)
            .any(|two| two == ["--alias", router_id])
    };
    process::children(router)
        .into_iter()
        .find(held)
        .expect("a child with this model")
}

pub(crate) async fn soon(what: &str, mut met: impl FnMut() -> bool) {
    within(what, PATIENCE, || std::future::ready(met())).await;
}

pub(crate) async fn within<F: Future<Output = bool>>(
    what: &str,
    limit: Duration,
    mut met: impl FnMut() -> F,
) {
    let end = Instant::now() + limit;
    while !met().await {
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) async fn gone(what: &str, pids: &[u32], limit: Duration) {
    within(what, limit, || {
        std::future::ready(pids.iter().all(|&pid| !process::exists(pid)))
    })
    .await;
}

pub(crate) fn model(desk: &Desk, id: &str) -> Option<ModelState> {
    desk.state().borrow().model(id).cloned()
}

/// SIGKILL, from outside.
pub(crate) fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
