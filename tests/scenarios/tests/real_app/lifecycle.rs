use plimsoll_app::Stay;
use std::time::Duration;

use plimsoll_os::process;
use plimsoll_testkit::real;
use plimsoll_wire::{
    Event, FaultCode, LoadModel, PlanWishes, ReadEndpoint, RemoveModel, Router, Settings, StopRouter,
    WriteSettings,
};

use super::room::{PATIENCE, Room, SMOLLM2, next};

async fn load(room: &Room, wishes: PlanWishes) -> Result<Router, plimsoll_wire::Fault> {
    room.app
        .ask(LoadModel {
            model: SMOLLM2.into(),
            wishes,
        })
        .await
}

fn router(router: &Router) -> (u32, bool) {
    match router {
        Router::Ready { pid, owned, .. } => (*pid, *owned),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_app_on_the_same_home_is_a_client_of_the_same_router() {
    let first = Room::with_engine().await;
    let (pid, owned) = router(&load(&first, PlanWishes::default()).await.unwrap());
    assert!(owned);

    let second = first.beside().await;
    let (same, owned) = router(&load(&second, PlanWishes::default()).await.unwrap());
    assert_eq!((same, owned), (pid, false));
    let conversation = second.conversation(SMOLLM2).await;
    let answer = second.say(&conversation, "Hello.").await;
    assert!(answer.went_well(), "{answer:?}");

    first.app.end().await;
    assert!(gone(pid).await, "the router ends with its owner");
    let answer = second.say(&conversation, "Are you still there?").await;
    assert!(
        answer.went_well(),
        "the next one owns the next router: {answer:?}"
    );
    let (new, owned) = router(&second.router().await);
    assert!(owned && new != pid);
    second.app.end().await;
    assert!(gone(new).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn wishes_are_kept_until_others_come() {
    let room = Room::with_engine().await;
    let wishes = PlanWishes {
        context: Some(1_024),
        ..PlanWishes::default()
    };
    load(&room, wishes).await.unwrap();
    assert_eq!(room.loaded(SMOLLM2).await.unwrap().context, Some(1_024));
    let conversation = room.conversation(SMOLLM2).await;
    let stats = room.say(&conversation, "Hello.").await.stats.unwrap();
    assert_eq!(
        stats.window,
        Some(1_024),
        "a chat does not plan a ready model anew"
    );
    room.app.ask(StopRouter {}).await.unwrap();
    assert_eq!(room.router().await, Router::Off);
    let stats = room.say(&conversation, "Hello again.").await.stats.unwrap();
    assert_eq!(
        stats.window,
        Some(1_024),
        "what was wished for outlives the router"
    );
    room.app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_front_gets_a_target_that_answers_unless_it_is_switched_off() {
    let room = Room::with_engine().await;
    let target = room
        .app
        .router_target("smollm2-135m-instruct", Stay::Usual)
        .await
        .unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = serde_json::json!({
        "model": target.model, "max_tokens": 4, "messages": [{"role": "user", "content": "Hi"}],
    });
    let ask = |key: &str| {
        client
            .post(format!("{}/v1/chat/completions", target.url))
            .bearer_auth(key)
            .json(&body)
            .send()
    };
    assert_eq!(ask("wrong").await.unwrap().status(), 401);
    let reply: serde_json::Value = ask(&target.key).await.unwrap().json().await.unwrap();
    assert!(reply["usage"]["prompt_tokens"].as_u64().unwrap() > 0, "{reply}");

    room.app.set_endpoint(Some("http://127.0.0.1:18760/v1".into()));
    let beside = room.beside().await;
    load(&beside, PlanWishes::default()).await.unwrap();
    let told = tokio::time::timeout(PATIENCE, async {
        loop {
            let endpoint = beside.app.ask(ReadEndpoint {}).await.unwrap();
            if let Some(url) = endpoint.url {
                break (url, endpoint.key);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
    assert_eq!(
        told,
        (
            "http://127.0.0.1:18760/v1".into(),
            room.app.endpoint_key().to_owned()
        )
    );

    let off = Settings {
        endpoint: Some(false),
        ..Settings::default()
    };
    room.app.ask(WriteSettings { settings: off }).await.unwrap();
    let refused = room.app.router_target(SMOLLM2, Stay::Usual).await.unwrap_err();
    assert_eq!(refused.code, FaultCode::NotAllowed);
    beside.app.end().await;
    room.app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loaded_model_is_unloaded_before_its_file_goes() {
    let room = Room::with_engine().await;
    load(&room, PlanWishes::default()).await.unwrap();
    let removed = room.app.ask(RemoveModel { id: SMOLLM2.into() }).await.unwrap();
    assert!(!room.is_ready(SMOLLM2).await);
    assert!(
        room.loaded(SMOLLM2)
            .await
            .is_none_or(|model| model.fault.is_none()),
        "asked for, so no crash"
    );
    // The bytes stay where the person's own file has a second name.
    assert!(removed.freed_bytes <= 98 << 20);
    let fault = load(&room, PlanWishes::default()).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ModelFileMissing);
    assert!(
        real::model(real::SMOLLM2).is_file(),
        "the person's own file is untouched"
    );
    room.app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_router_is_told_and_the_next_message_works() {
    let room = Room::with_engine().await;
    let (pid, _) = router(&load(&room, PlanWishes::default()).await.unwrap());
    let mut heard = room.app.hear();
    kill(pid);
    loop {
        if let Event::RouterChanged { router } = next(&mut heard).await
            && !matches!(&router, Router::Ready { pid: same, .. } if *same == pid)
        {
            break;
        }
    }
    let conversation = room.conversation(SMOLLM2).await;
    let answer = room.say(&conversation, "Hello.").await;
    assert!(answer.went_well(), "{answer:?}");
    room.app.end().await;
}

fn kill(pid: u32) {
    #[expect(unsafe_code, reason = "the signal that no program can refuse")]
    // SAFETY: sends a signal to a process that this test started.
    unsafe {
        libc::kill(i32::try_from(pid).unwrap(), libc::SIGKILL);
    }
}

async fn gone(pid: u32) -> bool {
    let ended = async {
        while process::exists(pid) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), ended).await.is_ok()
}
