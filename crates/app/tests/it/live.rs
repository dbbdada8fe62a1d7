use plimsoll_wire::{CALL_NAMES, Event, FaultCode};
use serde_json::json;

use crate::place::{Place, next, until};

#[tokio::test]
async fn a_new_home_shows_the_first_start() {
    let place = Place::offline().await;
    insta::assert_snapshot!(place.shown("status/read", json!({})).await, @r#"
{
  "firstStart": true,
  "router": {
    "state": "off"
  },
  "running": [],
  "transfers": [],
  "version": "<version>"
}
"#);
}

#[tokio::test]
async fn no_call_is_unknown_and_none_takes_anything_for_a_body() {
    let place = Place::offline().await;
    for name in CALL_NAMES {
        let fault = place.fault(name, json!(7)).await;
        assert_eq!(fault.code, FaultCode::BadRequest, "{name}");
        assert!(!fault.fixes.is_empty(), "{name}");
    }
    assert_eq!(
        place.fault("models/eat", json!({})).await.code,
        FaultCode::UnknownCall
    );
}

#[tokio::test]
async fn settings_change_one_by_one_and_survive() {
    let mut place = Place::offline().await;
    let mut heard = place.app.hear();
    place
        .call(
            "settings/write",
            json!({"settings": {"theme": "dark", "statusBar": true}}),
        )
        .await;
    assert_eq!(next(&mut heard).await, Event::SettingsChanged);
    place
        .call("settings/write", json!({"settings": {"statusBar": false}}))
        .await;
    place.restart().await;
    let kept = place.call("settings/read", json!({})).await;
    assert_eq!(kept, json!({"theme": "dark", "statusBar": false}));
}

#[tokio::test]
async fn the_endpoint_is_where_its_host_says_and_keeps_its_key() {
    let mut place = Place::offline().await;
    let before = place.call("endpoint/read", json!({})).await;
    assert_eq!(before["url"], json!(null));
    place.app.set_endpoint(Some("http://127.0.0.1:18760/v1".into()));
    assert_eq!(
        place.call("endpoint/read", json!({})).await["url"],
        json!("http://127.0.0.1:18760/v1")
    );
    place
        .call("settings/write", json!({"settings": {"endpoint": false}}))
        .await;
    assert_eq!(place.call("endpoint/read", json!({})).await["url"], json!(null));
    place.restart().await;
    assert_eq!(place.call("endpoint/read", json!({})).await["key"], before["key"]);
}

#[tokio::test]
async fn readings_come_while_someone_looks() {
    let place = Place::offline().await;
    let mut heard = place.app.hear();
    place.call("status/watch", json!({"on": true})).await;
    let sample = until(&mut heard, |event| match event {
        Event::Sampled { sample } => Some(sample),
        _ => None,
    })
    .await;
    assert!(sample.memory.total_bytes > sample.memory.app_bytes + sample.memory.others_bytes);
    assert!(place.call("status/read", json!({})).await["sample"].is_object());
    place.call("status/watch", json!({"on": false})).await;
}

#[tokio::test]
async fn without_an_engine_the_router_says_what_is_missing() {
    let place = Place::offline().await;
    assert_eq!(
        place.call("router/read", json!({})).await,
        json!({"state": "off"})
    );
    let tiny = plimsoll_testkit::TinyGguf::llama().bytes();
    let path = place.file("Tiny.gguf", &tiny);
    let id = place.call("models/import", json!({ "path": path })).await["id"].clone();
    insta::assert_snapshot!(place.shown_fault("router/load", json!({ "model": id })).await, @r#"{"code":"noEngine","fixes":["reinstallEngine","addEngine"],"params":{}}"#);
    insta::assert_snapshot!(place.shown_fault("engines/add", json!({ "path": "/nowhere" })).await, @r#"{"code":"engineIncomplete","fixes":["reinstallEngine","addEngine"],"params":{"file":"llama-server","path":"/nowhere"}}"#);
    insta::assert_snapshot!(place.shown_fault("engines/use", json!({ "id": "nothing" })).await, @r#"{"code":"notFound","fixes":["retry"],"params":{"engine":"nothing"}}"#);
    let engines = place.call("engines/list", json!({})).await;
    assert_eq!(engines["engines"], json!([]));
}
