//! The door for other apps, with a real llama-server and a real model behind it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use plimsoll_testkit::real;
use plimsoll_web::Front;
use plimsoll_wire::{Settings, WriteSettings};
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::room::{Room, SMOLLM2};

struct Open {
    room: Room,
    front: Front,
    client: Client,
}

async fn open() -> Open {
    let room = Room::with_engine().await;
    let front = Front::start(Arc::clone(&room.app), 0).await.unwrap();
    let client = Client::builder().no_proxy().build().unwrap();
    Open { room, front, client }
}

impl Open {
    fn get(&self, path: &str) -> RequestBuilder {
        self.client
            .get(format!("{}{path}", self.front.url()))
            .bearer_auth(self.room.app.endpoint_key())
    }
    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.client
            .post(format!("{}{path}", self.front.url()))
            .bearer_auth(self.room.app.endpoint_key())
            .json(body)
    }
    async fn busy(&self) -> bool {
        self.room.busy_slots(SMOLLM2).await > 0
    }
}

fn say(what: &str, more: &Value) -> Value {
    let mut body = json!({
        "model": SMOLLM2, "max_tokens": 24, "temperature": 0,
        "messages": [{ "role": "user", "content": what }],
    });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn other_apps_talk_to_a_real_model() {
    let open = open().await;

    // What is here, without a word on where.
    let models = open.get("/models").send().await.unwrap().text().await.unwrap();
    assert!(models.contains(&format!("\"id\":\"{SMOLLM2}\"")), "{models}");
    assert!(
        !models.contains(open.room.home().to_str().unwrap()) && !models.contains(".gguf"),
        "{models}"
    );

    // The first request loads the model.
    let question = say(
        "Say hello.",
        &json!({ "stream": true, "stream_options": { "include_usage": true } }),
    );
    let answer = open.post("/chat/completions", &question).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    assert!(!answer.headers().contains_key("access-control-allow-origin"));
    let pieces: Vec<_> = answer.bytes_stream().map(Result::unwrap).collect().await;
    assert!(pieces.len() > 5, "streamed in {} pieces", pieces.len());
    let text = String::from_utf8(pieces.concat()).unwrap();
    assert!(
        text.contains("\"prompt_tokens\"") && text.trim_end().ends_with("data: [DONE]"),
        "{text}"
    );
    assert!(
        text.contains(&format!("\"model\":\"{SMOLLM2}\"")),
        "the id that was asked for: {text}"
    );

    // The other two protocols of the same server, and counting.
    let message = open
        .post("/messages", &say("Say hello.", &json!({})))
        .header("x-api-key", "ignored beside the right one");
    let message: Value = message.send().await.unwrap().json().await.unwrap();
    assert!(
        message["usage"]["output_tokens"].as_u64().unwrap() > 0,
        "{message}"
    );
    let response = json!({ "model": SMOLLM2, "input": "Say hello.", "max_output_tokens": 16 });
    let response: Value = open
        .post("/responses", &response)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert!(
        response["output"]
            .as_array()
            .is_some_and(|output| !output.is_empty()),
        "{response}"
    );
    let count = open.post("/chat/completions/input_tokens", &say("Say hello.", &json!({})));
    let count: Value = count.send().await.unwrap().json().await.unwrap();
    assert!(count["input_tokens"].as_u64().unwrap() > 0, "{count}");

    // An error of the model itself comes through whole.
    let long = say(&"word ".repeat(200_000), &json!({}));
    let long = open.post("/chat/completions", &long).send().await.unwrap();
    assert_eq!(long.status(), StatusCode::BAD_REQUEST);
    let long: Value = long.json().await.unwrap();
    assert_eq!(long["error"]["type"], "exceed_context_size_error", "{long}");

    refuses_what_is_not_here(&open).await;
    frees_the_model_of_a_client_that_left(&open).await;
    refuses_everything_when_switched_off(&open).await;
    open.front.end().await;
    open.room.app.end().await;
}

async fn refuses_what_is_not_here(open: &Open) {
    // A model that is not here is not looked for on disk.
    for name in [
        "gpt-4",
        real::model(real::SMOLLM2).to_str().unwrap(),
        "../../etc/passwd",
        "",
    ] {
        let body = json!({ "model": name, "messages": [] });
        let refused = open.post("/chat/completions", &body).send().await.unwrap();
        assert!(
            matches!(refused.status(), StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST),
            "{name}"
        );
    }
}

async fn frees_the_model_of_a_client_that_left(open: &Open) {
    // A client that leaves in the middle frees the model.
    let endless = say(
        "Tell a very long story.",
        &json!({ "stream": true, "max_tokens": 3000, "ignore_eos": true }),
    );
    let mut stream = open
        .post("/chat/completions", &endless)
        .send()
        .await
        .unwrap()
        .bytes_stream();
    stream.next().await.unwrap().unwrap();
    assert!(open.busy().await, "it works on the story");
    drop(stream);
    tokio::time::timeout(Duration::from_secs(10), async {
        while open.busy().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await
    .unwrap();
}

async fn refuses_everything_when_switched_off(open: &Open) {
    // The person switches it off: nothing is told and nothing is answered any more.
    let off = Settings {
        endpoint: Some(false),
        ..Settings::default()
    };
    open.room.app.ask(WriteSettings { settings: off }).await.unwrap();
    assert_eq!(
        open.get("/models").send().await.unwrap().status(),
        StatusCode::FORBIDDEN
    );
    let refused = open
        .post("/chat/completions", &say("Say hello.", &json!({})))
        .send()
        .await
        .unwrap();
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
}
