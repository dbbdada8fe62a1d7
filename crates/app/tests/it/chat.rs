use plimsoll_testkit::TinyGguf;
use plimsoll_wire::{ChatEnd, Event, FaultCode};
use serde_json::{Value, json};

use crate::place::{Place, until};

async fn create(place: &Place) -> Value {
    place.call("conversations/create", json!({})).await["id"].clone()
}

#[tokio::test]
async fn a_conversation_goes_to_the_trash_and_comes_back() {
    let place = Place::offline().await;
    let id = create(&place).await;
    place
        .call("conversations/rename", json!({"id": id, "title": "Tides"}))
        .await;
    insta::assert_snapshot!(place.shown("conversations/open", json!({"id": id})).await, @r#"
{
  "createdAt": "<time>",
  "id": "<id>",
  "messages": [],
  "settings": {},
  "title": "Tides",
  "tools": {
    "allowed": [],
    "folders": [],
    "on": false
  },
  "updatedAt": "<time>"
}
"#);
    place.call("conversations/delete", json!({"id": id})).await;
    assert_eq!(
        place.call("conversations/list", json!({})).await["conversations"],
        json!([])
    );
    let trash = place.call("conversations/list", json!({"trash": true})).await;
    assert_eq!(trash["conversations"][0]["id"], id);
    place.call("conversations/restore", json!({"id": id})).await;
    let kept = place.call("conversations/list", json!({})).await;
    assert_eq!(kept["conversations"][0]["title"], json!("Tides"));
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_before_anything_is_kept() {
    let place = Place::offline().await;
    let id = create(&place).await;
    for (body, code) in [
        (json!({"conversation": id, "text": "  \n"}), FaultCode::BadRequest),
        (json!({"conversation": "none", "text": "Hi"}), FaultCode::NotFound),
        (json!({"conversation": id, "text": "Hi"}), FaultCode::UnknownModel),
        (
            json!({"conversation": id, "text": "Hi", "model": "nothing"}),
            FaultCode::UnknownModel,
        ),
        (
            json!({"conversation": id, "text": "Hi", "model": "qwen3-8b"}),
            FaultCode::ModelFileMissing,
        ),
    ] {
        assert_eq!(place.fault("turn/start", body.clone()).await.code, code, "{body}");
    }
    assert_eq!(
        place.call("conversations/open", json!({"id": id})).await["messages"],
        json!([])
    );
}

#[tokio::test]
async fn a_turn_without_an_engine_ends_once_and_says_why() {
    let place = Place::offline().await;
    let path = place.file("Tiny.gguf", &TinyGguf::llama().bytes());
    let model = place.call("models/import", json!({ "path": path })).await["id"].clone();
    let id = create(&place).await;
    let mut heard = place.app.hear();
    let call = json!({"conversation": id, "text": "How deep is the sea?\nIn metres.", "model": model});
    let turn = place.call("turn/start", call.clone()).await["id"].clone();
    let (end, fault) = until(&mut heard, |event| match event {
        Event::TurnEnded {
            turn: of, end, fault, ..
        } if json!(of) == turn => Some((end, fault)),
        _ => None,
    })
    .await;
    assert_eq!(
        (end, fault.map(|fault| fault.code)),
        (ChatEnd::Failed, Some(FaultCode::NoEngine))
    );
    insta::assert_snapshot!(place.shown("conversations/open", json!({"id": id})).await, @r#"
{
  "createdAt": "<time>",
  "id": "<id>",
  "messages": [
    {
      "createdAt": "<time>",
      "id": "<id>",
      "reasoning": "",
      "role": "user",
      "text": "How deep is the sea?\nIn metres."
    },
    {
      "createdAt": "<time>",
      "end": "failed",
      "fault": {
        "code": "noEngine",
        "fixes": [
          "reinstallEngine",
          "addEngine"
        ],
        "params": {},
        "trace": [
          "no engine is in use"
        ]
      },
      "id": "<id>",
      "parent": "<id>",
      "reasoning": "",
      "role": "assistant",
      "text": ""
    }
  ],
  "model": "local/Tiny/Tiny.gguf",
  "settings": {},
  "title": "How deep is the sea?",
  "tools": {
    "allowed": [],
    "folders": [],
    "on": false
  },
  "updatedAt": "<time>"
}
"#);

    // The conversation goes on: the next turn gets its own end.
    let again = place.call("turn/start", call).await["id"].clone();
    let ended = until(&mut heard, |event| match event {
        Event::TurnEnded { turn, .. } => Some(turn),
        _ => None,
    })
    .await;
    assert_eq!(json!(ended), again);
    assert_eq!(place.call("status/read", json!({})).await["running"], json!([]));
}
