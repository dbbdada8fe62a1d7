//! What goes wrong on a person's machine, caused on purpose with the real engine; and that a retry works.
#![expect(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

mod common;

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{BUDGET, Home, child_of, model, pid, plan, smol, soon};
use plimsoll_engine::{Cause, EngineError, Memory, ModelStatus, Ports, RouterState};
use plimsoll_os::child::Command;
use plimsoll_os::{Environment, files, process};
use plimsoll_testkit::real;
use plimsoll_units::Bytes;

#[tokio::test(flavor = "multi_thread")]
async fn a_model_file_that_is_not_there_is_named() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    let path = home.path().join("moved.gguf");
    let plan = plan("moved", &path, Bytes::mib(300));
    let error = desk.load(plan.clone(), BUDGET).await.unwrap_err();
    assert!(
        matches!(&*error, EngineError::ModelFileMissing { path: named } if *named == path),
        "{error:?}"
    );
    assert_eq!(model(&desk, "moved").unwrap().status, ModelStatus::Failed);
    files::symlink(&real::model(real::SMOLLM2), &path).unwrap();
    desk.load(plan, BUDGET).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_file_deleted_while_it_loads_fails_with_its_name_and_can_be_loaded_again() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    desk.want().await.unwrap();
    let router = pid(&desk);
    let path = home.path().join("here.gguf");
    let plan = plan("here", &path, Bytes::mib(300));
    files::symlink(&real::model(real::SMOLLM2), &path).unwrap();
    let (loaded, ()) = tokio::join!(desk.load(plan.clone(), BUDGET), async {
        soon("a child", || !process::children(router).is_empty()).await;
        files::remove_file(&path).unwrap();
    });
    // Gone before it was opened; on a quick machine after, and then it stays open.
    if let Err(error) = loaded {
        assert!(
            matches!(&*error, EngineError::ModelFileMissing { path: named } if *named == path),
            "{error:?}"
        );
    } else {
        desk.unload("here").await.unwrap();
    }
    let error = desk.load(plan.clone(), BUDGET).await.unwrap_err();
    assert!(
        matches!(&*error, EngineError::ModelFileMissing { .. }),
        "{error:?}"
    );
    files::symlink(&real::model(real::SMOLLM2), &path).unwrap();
    desk.load(plan, BUDGET).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_files_are_told_apart() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    let whole = std::fs::read(real::model(real::SMOLLM2)).unwrap();
    for (id, content, want) in [
        ("cut", &whole[..whole.len() / 2], Cause::ModelFileCut),
        ("text", &b"hello, this is no model at all"[..], Cause::NotGguf),
    ] {
        let path = home.path().join(id).with_extension("gguf");
        files::replace(&path, content).unwrap();
        let error = desk
            .load(plan(id, &path, Bytes::mib(300)), BUDGET)
            .await
            .unwrap_err();
        let EngineError::LoadFailed { cause, tail, .. } = &*error else {
            panic!("{error:?}")
        };
        assert_eq!(*cause, want);
        assert!(!tail.is_empty());
    }
    desk.load(smol(), BUDGET).await.unwrap();
}

/// The real engine behind a script that limits its address space, as a container or a small machine would.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn too_little_memory_is_called_so() {
    let home = Home::empty();
    let folder = home.path().join("limited");
    let script = format!(
        "#!/bin/sh\nulimit -v 3000000\nexec '{}' \"$@\"\n",
        real::engine_dir().join("llama-server").display()
    );
    put_program(&folder, &script);
    // A backend beside it, as a build that came in pieces has.
    let engine = home.engines.add(&folder).await.unwrap();
    assert!(home.engines.in_use().is_ok_and(|used| used == engine));
    let desk = home.desk();
    let mut large = smol();
    large.arguments[1] = "400000".to_owned();
    let error = desk.load(large, BUDGET).await.unwrap_err();
    let EngineError::OutOfMemory { planned, cause, .. } = &*error else {
        panic!("{error:?}")
    };
    assert_eq!(*planned, Bytes::mib(300));
    assert!(
        matches!(cause, Cause::OutOfMemory { memory: Memory::Ram, asked: Some(asked), .. } if *asked > Bytes::gib(4))
    );
    desk.load(smol(), BUDGET).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_taken_between_choice_and_bind_is_tried_again_elsewhere() {
    let home = Home::with_engine().await;
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let taken_port = taken.local_addr().unwrap().port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let free = Ports::default();
    let ports = Ports(Arc::new(move || {
        // The first two are no longer free when the router wants them.
        if count.fetch_add(1, Ordering::SeqCst) < 2 {
            Some(taken_port)
        } else {
            (free.0)()
        }
    }));
    let desk = home.desk_with(ports);
    desk.want().await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    assert!(matches!(&*desk.state().borrow(), RouterState::Ready(ready) if ready.owned));
    assert!(
        !home.state()["url"]
            .as_str()
            .unwrap()
            .ends_with(&format!(":{taken_port}"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_free_port_at_all_is_told_and_a_later_try_works() {
    let home = Home::with_engine().await;
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let desk = home.desk_with(Ports(Arc::new(move || Some(port))));
    let error = desk.want().await.unwrap_err();
    assert!(matches!(&*error, EngineError::PortTaken { .. }), "{error:?}");
    assert!(matches!(&*desk.state().borrow(), RouterState::Failed { .. }));
    drop(taken);
    desk.want().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn someone_elses_server_on_the_port_is_left_alone() {
    let home = Home::with_engine().await;
    let free = Ports::default();
    let port = (free.0)().unwrap();
    let engine = real::engine_dir();
    let foreign = Command::new(engine.join("llama-server"))
        .args(["--host", "127.0.0.1", "--port", &port.to_string()])
        .env("LD_LIBRARY_PATH", &engine)
        .env("LLAMA_CACHE", home.path())
        .folder(&engine)
        .spawn()
        .unwrap();
    soon("the other server answers", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    })
    .await;
    let first = AtomicUsize::new(0);
    let desk = home.desk_with(Ports(Arc::new(move || {
        if first.fetch_add(1, Ordering::SeqCst) == 0 {
            Some(port)
        } else {
            (free.0)()
        }
    })));
    desk.load(smol(), BUDGET).await.unwrap();
    assert_ne!(pid(&desk), foreign.pid());
    child_of(pid(&desk), "smol");
    desk.stop().await.unwrap();
    assert!(foreign.exit().is_none(), "it still runs");
    assert!(
        process::children(foreign.pid()).is_empty(),
        "and nothing was loaded in it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_lost_a_library_is_named_and_works_again_when_it_is_back() {
    let home = Home::empty();
    let folder = home.path().join("copy");
    copy_engine(&folder);
    home.engines.add(&folder).await.unwrap();
    let desk = home.desk();
    desk.load(smol(), BUDGET).await.unwrap();
    desk.stop().await.unwrap();

    let library = folder.join(if cfg!(target_os = "macos") {
        "libmtmd.0.dylib"
    } else {
        "libmtmd.so.0"
    });
    let aside = home.path().join("aside");
    files::link_or_copy(&library, &aside).unwrap();
    files::remove_file(&library).unwrap();
    let error = desk.load(smol(), BUDGET).await.unwrap_err();
    let EngineError::EngineIncomplete { missing, .. } = &*error else {
        panic!("{error:?}")
    };
    assert!(missing.iter().any(|name| name.contains("libmtmd")), "{missing:?}");
    assert!(matches!(&*desk.state().borrow(), RouterState::Failed { .. }));

    files::link_or_copy(&aside, &library).unwrap();
    desk.load(smol(), BUDGET).await.unwrap();
    desk.stop().await.unwrap();
    files::remove_file(&folder.join("llama-server")).unwrap();
    let error = desk.want().await.unwrap_err();
    assert!(matches!(&*error, EngineError::EngineIncomplete { missing, .. } if missing == &["llama-server"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_engine_it_says_so() {
    let home = Home::empty();
    let error = home.desk().load(smol(), BUDGET).await.unwrap_err();
    assert!(matches!(&*error, EngineError::NoEngine), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_the_person_do_not_reach_the_engine() {
    let home = Home::empty();
    let with_secrets = Environment::from_pairs([
        ("PATH", "/usr/bin:/bin"),
        ("OPENAI_API_KEY", "sk-should-not-be-seen"),
        ("HF_TOKEN", "hf-should-not-be-seen"),
        ("LLAMA_ARG_CTX_SIZE", "99"),
    ]);
    let engines = plimsoll_engine::Engines::new(home.path().join("engines"), with_secrets);
    engines.add(&real::engine_dir()).await.unwrap();
    let config = plimsoll_engine::DeskConfig {
        home: home.path().to_owned(),
        engines,
        ports: Ports::default(),
        memory: plimsoll_engine::MemoryReader::default(),
    };
    let desk = plimsoll_engine::Desk::start(&home.root.scope(), config).unwrap();
    let loaded = desk.load(smol(), BUDGET).await.unwrap();
    assert_eq!(loaded.context.unwrap().0, 1024, "the plan's, not the person's");
    #[cfg(target_os = "linux")]
    for pid in common::family(pid(&desk)) {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap();
        let environment = String::from_utf8_lossy(&environment);
        assert!(environment.contains("LLAMA_API_KEY="), "its own key it has");
        assert!(!environment.contains("should-not-be-seen") && !environment.contains("LLAMA_ARG_CTX"));
    }
}

fn copy_engine(to: &Path) {
    files::create_dir(to).unwrap();
    for entry in std::fs::read_dir(real::engine_dir()).unwrap().flatten() {
        // By their own names: a link to a library is asked for under the link's name.
        files::link_or_copy(&entry.path(), &to.join(entry.file_name())).unwrap();
    }
}

#[cfg(unix)]
fn put_program(folder: &Path, script: &str) {
    files::create_dir(folder).unwrap();
    files::write_new(
        &folder.join("llama-server"),
        &mut script.as_bytes(),
        Bytes::mib(1),
        files::Run::Yes,
    )
    .unwrap();
}
