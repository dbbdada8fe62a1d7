//! One process, the real engine and a real model: from nothing to tokens and back.
#![expect(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

mod common;

use std::time::Duration;

use common::{BUDGET, Home, PATIENCE, child_of, family, gone, kill, model, pid, plan, smol, soon};
use futures_util::StreamExt;
use plimsoll_engine::{BufferKind, EngineError, ModelStatus, RouterState, Stay, Target};
use plimsoll_os::files;
use plimsoll_os::jobs::Ending;
use plimsoll_os::process;
use plimsoll_testkit::real;
use plimsoll_units::Bytes;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_loaded_proved_unloaded_and_stopped() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    assert!(
        matches!(*desk.state().borrow(), RouterState::Off),
        "nothing starts by itself"
    );

    let loaded = desk.load(smol(), BUDGET).await.unwrap();
    let proof = loaded.proof.unwrap();
    println!("{proof:#?}");
    assert_eq!(loaded.context.unwrap().0, 1024);
    assert!(proof.tokens > 1 && proof.first_token_ms > 0.0);
    assert!(proof.decode.unwrap().get() > 0.0);
    let resident = proof.resident.unwrap().resident;
    assert!(
        resident > Bytes::mib(90),
        "the weights alone are 92 MiB, resident {resident}"
    );
    for kind in [BufferKind::Weights, BufferKind::Context, BufferKind::Compute] {
        let told = proof
            .buffers
            .iter()
            .any(|buffer| buffer.kind == kind && buffer.bytes > Bytes::ZERO);
        assert!(told, "{kind:?} in {:?}", proof.buffers);
    }
    let router = pid(&desk);
    let child = child_of(router, "smol");
    let ready = model(&desk, "smol").unwrap();
    assert_eq!(
        (ready.status, ready.name.as_str()),
        (ModelStatus::Ready, "smol by name")
    );

    // The same wish again costs nothing; the same child serves.
    let again = desk.load(smol(), BUDGET).await.unwrap();
    assert_eq!(again.proof, Some(proof));
    assert_eq!(child_of(router, "smol"), child);

    desk.unload("smol").await.unwrap();
    gone("the child of an unloaded model", &[child], PATIENCE).await;
    assert_eq!(
        model(&desk, "smol").map(|model| model.status),
        Some(ModelStatus::Unloaded)
    );
    assert_eq!(pid(&desk), router, "the router stays");
    desk.unload("smol").await.unwrap();

    desk.stop().await.unwrap();
    gone("a stopped router", &[router], Duration::from_secs(5)).await;
    assert!(matches!(*desk.state().borrow(), RouterState::Off));
    assert!(desk.target("smol").is_none());
    assert!(!home.state_file().exists());

    let back = desk.load(smol(), BUDGET).await.unwrap();
    assert!(back.proof.is_some(), "after a stop the next wish starts anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_is_seen_in_its_stages() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    let mut states = desk.state();
    let mut load = std::pin::pin!(desk.load(smol(), BUDGET));
    let (mut seen, mut values) = (Vec::new(), Vec::new());
    loop {
        tokio::select! {
            loaded = &mut load => break drop(loaded.unwrap()),
            changed = states.changed() => {
                changed.unwrap();
                if let Some(model) = states.borrow_and_update().model("smol") {
                    seen.push(model.status);
                    values.extend(model.progress.as_ref().map(|progress| progress.value));
                }
            }
        }
    }
    seen.dedup();
    // Whether the last state or the answer is heard first is chance.
    seen.retain(|status| *status != ModelStatus::Ready);
    assert_eq!(
        seen,
        [ModelStatus::Loading, ModelStatus::Proving],
        "in this order"
    );
    assert!(!values.is_empty() && values.is_sorted(), "{values:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_is_nowhere_but_where_it_belongs() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    desk.load(smol(), BUDGET).await.unwrap();
    let key = home.state()["key"].as_str().unwrap().to_owned();
    assert!(key.len() >= 32);
    for pid in family(pid(&desk)) {
        let words = process::arguments(pid).join(" ");
        assert!(
            !words.is_empty() && !words.contains(&key),
            "in the arguments of {pid}"
        );
    }
    for log in std::fs::read_dir(home.path().join("logs")).unwrap() {
        let text = std::fs::read_to_string(log.unwrap().path()).unwrap();
        assert!(
            text.contains("llama_kv_cache") && !text.contains(&key),
            "in the log"
        );
    }
    let target = desk.target("smol").unwrap();
    assert!(
        !format!("{target:?} {:?}", desk.client()).contains(&key),
        "in what is printed for debugging"
    );
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let refused = http
        .post(format!("{}/v1/chat/completions", target.url))
        .json(&hello(&target))
        .send()
        .await
        .unwrap();
    assert_eq!(refused.status(), 401);
    assert_eq!(ask(&target).await["object"], "chat.completion");
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_names_and_places_work() {
    let home = Home::with_engine().await;
    let folder = home.path().join("Modèles #1; [new]");
    files::create_dir(&folder).unwrap();
    let path = folder.join("Ünï code.gguf");
    files::symlink(&real::model(real::SMOLLM2), &path).unwrap();
    let desk = home.desk();
    for id in ["hf:org/repo/Ünï.gguf", "a]b\n, c ", "smollm2:UD-Q4_K_XL"] {
        let loaded = desk.load(plan(id, &path, Bytes::mib(300)), BUDGET).await.unwrap();
        assert_eq!(ask(&loaded.target).await["object"], "chat.completion", "{id}");
        assert_eq!(model(&desk, id).unwrap().status, ModelStatus::Ready);
        desk.unload(id).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_plan_loads_anew_and_an_unknown_option_is_named() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    desk.load(smol(), BUDGET).await.unwrap();
    let child = child_of(pid(&desk), "smol");
    let mut larger = smol();
    larger.arguments[1] = "2048".to_owned();
    let loaded = desk.load(larger.clone(), BUDGET).await.unwrap();
    assert_eq!(loaded.context.unwrap().0, 2048);
    assert!(!process::exists(child));

    larger.arguments.push("--no-such-option".to_owned());
    let error = desk.load(larger, BUDGET).await.unwrap_err();
    assert!(
        matches!(&*error, EngineError::OptionUnknown { option, .. } if option == "--no-such-option"),
        "{error:?}"
    );
    desk.load(smol(), BUDGET).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_can_be_called_off() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    desk.want().await.unwrap();
    let router = pid(&desk);
    let (load, ()) = tokio::join!(desk.load(smol(), BUDGET), async {
        soon("a child", || !process::children(router).is_empty()).await;
        desk.unload("smol").await.unwrap();
    });
    assert!(matches!(&*load.unwrap_err(), EngineError::Stopped));
    soon("no child is left", || process::children(router).is_empty()).await;
    desk.load(smol(), BUDGET).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_given_by_bytes_and_the_idle_one_goes_first() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    let one = |id: &str| plan(id, &real::model(real::SMOLLM2), Bytes::mib(300));
    let budget = Bytes::mib(700);
    for id in ["a", "b"] {
        desk.load(one(id), budget).await.unwrap();
    }
    let status = |id: &str| model(&desk, id).unwrap().status;
    assert_eq!(
        (status("a"), status("b")),
        (ModelStatus::Ready, ModelStatus::Ready),
        "two fit"
    );
    desk.used("a", Stay::Usual);
    desk.load(one("c"), budget).await.unwrap();
    soon("the one unused for longest is gone", || {
        status("b") == ModelStatus::Unloaded
    })
    .await;
    assert_eq!(
        (status("a"), status("c")),
        (ModelStatus::Ready, ModelStatus::Ready)
    );

    // Both at work: neither is taken away from whoever uses it.
    let busy = [
        generate("a", &desk.target("a").unwrap()).await,
        generate("c", &desk.target("c").unwrap()).await,
    ];
    let error = desk.load(one("b"), budget).await.unwrap_err();
    let EngineError::NoRoom { asked, left, held_by } = &*error else {
        panic!("{error:?}")
    };
    assert_eq!((*asked, *left), (Bytes::mib(300), Bytes::mib(100)));
    assert_eq!(held_by, &["a", "c"]);
    drop(busy);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_router_ends_with_the_desk() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    desk.load(smol(), BUDGET).await.unwrap();
    let all = family(pid(&desk));
    assert!(all.len() >= 2);
    let Home { root, folder, .. } = home;
    assert_eq!(root.end(PATIENCE).await, Ending::AllEnded);
    gone("router and child", &all, Duration::from_secs(1)).await;
    assert!(!folder.path().join("run/router.json").exists());
    assert!(matches!(&*desk.want().await.unwrap_err(), EngineError::Stopped));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_child_is_told_and_the_next_load_works() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    desk.load(smol(), BUDGET).await.unwrap();
    let (router, child) = (pid(&desk), child_of(pid(&desk), "smol"));
    kill(child);
    soon("the crash is told", || {
        model(&desk, "smol").is_some_and(|model| model.status == ModelStatus::Failed)
    })
    .await;
    let trouble = model(&desk, "smol").unwrap().trouble.unwrap();
    assert!(
        matches!(&*trouble, EngineError::ModelCrashed { id, .. } if id == "smol"),
        "{trouble:?}"
    );
    assert_eq!(pid(&desk), router, "the router lives on");
    soon("its last words are found", || {
        model(&desk, "smol")
            .and_then(|model| model.trouble)
            .is_some_and(|trouble| !trouble.tail().is_empty())
    })
    .await;
    let loaded = desk.load(smol(), BUDGET).await.unwrap();
    assert_eq!(ask(&loaded.target).await["object"], "chat.completion");
    assert!(model(&desk, "smol").unwrap().trouble.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_router_is_started_again() {
    let home = Home::with_engine().await;
    let desk = home.desk();
    desk.load(smol(), BUDGET).await.unwrap();
    let all = family(pid(&desk));
    let mut states = desk.state();
    states.mark_unchanged();
    kill(pid(&desk));
    let waiting = states.wait_for(|state| matches!(state, RouterState::Waiting { .. }));
    let state = tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap()
        .unwrap()
        .clone();
    let RouterState::Waiting { crashes, trouble } = &state else {
        panic!("{state:?}")
    };
    assert_eq!(*crashes, 1, "a proof had cleared the count");
    assert!(
        matches!(&**trouble, EngineError::RouterDied { .. }),
        "{trouble:?}"
    );
    gone("the old router and its child", &all, Duration::from_secs(5)).await;
    let loaded = desk.load(smol(), BUDGET).await.unwrap();
    assert!(!all.contains(&pid(&desk)));
    assert_eq!(ask(&loaded.target).await["object"], "chat.completion");
}

fn hello(target: &Target) -> Value {
    json!({ "model": target.model, "max_tokens": 2, "messages": [{ "role": "user", "content": "Hello" }] })
}

async fn ask(target: &Target) -> Value {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let asked = http
        .post(format!("{}/v1/chat/completions", target.url))
        .bearer_auth(&target.key);
    asked
        .json(&hello(target))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap()
}

/// A generation that goes on for as long as the answer is held.
async fn generate(id: &str, target: &Target) -> impl Sized + use<> {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = json!({ "model": target.model, "prompt": id, "n_predict": 100_000, "ignore_eos": true, "stream": true });
    let asked = http
        .post(format!("{}/completion", target.url))
        .bearer_auth(&target.key)
        .json(&body);
    let mut stream = Box::pin(asked.send().await.unwrap().bytes_stream());
    assert!(stream.next().await.unwrap().is_ok());
    stream
}
