use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use plimsoll_app::Stay;
use plimsoll_web::Front;
use serde_json::json;
use tokio::sync::mpsc;

use crate::fakes::{FRONT_KEY, FakeRouter, ROUTER_KEY, Script, ScriptedRoutes};
use crate::talk::{Answer, Talk, ask, soon};

const CHAT: &str = "POST /v1/chat/completions HTTP/1.1";
const BODY: &str = r#"{"stream":true,"model":"smol:Q4_1","messages":[]}"#;

struct Open {
    front: Front,
    routes: Arc<ScriptedRoutes>,
    host: String,
    key: String,
}

async fn open(routes: ScriptedRoutes) -> Open {
    let routes = Arc::new(routes);
    let front = Front::over(routes.clone(), 0).await.unwrap();
    let host = format!("host: 127.0.0.1:{}", front.port());
    Open {
        front,
        routes,
        host,
        key: format!("authorization: Bearer {FRONT_KEY}"),
    }
}

impl Open {
    async fn ask(&self, line: &str, more: &[&str], body: &str) -> Answer {
        let mut head = vec![line, self.host.as_str()];
        head.extend(more);
        ask(self.front.port(), &head, body).await
    }
    async fn talk(&self, line: &str, body: &str) -> Talk {
        Talk::start(self.front.port(), &[line, &self.host, &self.key], body).await
    }
}

#[tokio::test]
async fn nothing_without_the_key() {
    let open = open(ScriptedRoutes::to(&["http://127.0.0.1:1"])).await;
    for line in [
        CHAT,
        "GET /v1/models HTTP/1.1",
        "GET /health HTTP/1.1",
        "GET / HTTP/1.1",
        "GET /models HTTP/1.1",
    ] {
        for key in [
            "accept: */*",
            "authorization: Bearer nonsense",
            "x-api-key: nonsense",
            "authorization: Basic ZnJvbnQta2V5",
        ] {
            let answer = open.ask(line, &[key], "").await;
            assert_eq!(
                (answer.status, &answer.json()["error"]["code"]),
                (401, &json!("invalid_api_key")),
                "{line} {key}"
            );
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    let anthropic = open.ask("POST /v1/messages HTTP/1.1", &[], BODY).await;
    assert_eq!(
        (anthropic.status, &anthropic.json()["error"]["type"]),
        (401, &json!("authentication_error"))
    );
    assert_eq!(anthropic.json()["type"], "error", "in its own protocol's form");
    assert_eq!(open.routes.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_key_in_either_place_opens() {
    let open = open(ScriptedRoutes::to(&["http://127.0.0.1:1"])).await;
    for key in [open.key.clone(), format!("x-api-key: {FRONT_KEY}")] {
        assert_eq!(
            open.ask("GET /health HTTP/1.1", &[&key], "").await.json(),
            json!({"status": "ok"})
        );
    }
}

#[tokio::test]
async fn web_pages_are_refused_with_the_right_key() {
    let open = open(ScriptedRoutes::to(&["http://127.0.0.1:1"])).await;
    let port = open.front.port();
    let foreign = [
        (
            format!("host: rebound.example:{port}"),
            "accept: */*".to_owned(),
            "foreign_host",
        ),
        (
            "host: 127.0.0.1:1".to_owned(),
            "accept: */*".to_owned(),
            "foreign_host",
        ),
        (
            open.host.clone(),
            "origin: https://evil.example".to_owned(),
            "foreign_origin",
        ),
        (open.host.clone(), "origin: null".to_owned(), "foreign_origin"),
        (
            open.host.clone(),
            format!("origin: http://localhost:{}", port ^ 1),
            "foreign_origin",
        ),
        (
            open.host.clone(),
            "sec-fetch-site: cross-site".to_owned(),
            "foreign_origin",
        ),
    ];
    for (host, more, code) in &foreign {
        for line in [
            CHAT,
            "GET /v1/models HTTP/1.1",
            "OPTIONS /v1/chat/completions HTTP/1.1",
        ] {
            let answer = ask(port, &[line, host, more, &open.key], "").await;
            assert_eq!(
                (answer.status, &answer.json()["error"]["code"]),
                (403, &json!(code)),
                "{line} {host} {more}"
            );
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(open.routes.asked.load(Ordering::SeqCst), 0);
    let own = [
        &*format!("origin: http://127.0.0.1:{port}"),
        "access-control-request-method: POST",
    ];
    let preflight = open.ask("OPTIONS /v1/chat/completions HTTP/1.1", &own, "").await;
    assert_eq!(preflight.status, 204, "our own page may ask");
}

#[tokio::test]
async fn models_by_their_stable_ids() {
    let open = open(ScriptedRoutes::to(&["http://127.0.0.1:1"])).await;
    let list = open.ask("GET /v1/models HTTP/1.1", &[&open.key], "").await;
    let ids: Vec<_> = list.json()["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].clone())
        .collect();
    assert_eq!(ids, ["smol:Q4_1", "ORG/REPO/a b.gguf"]);
    let one = open
        .ask("GET /v1/models/ORG/REPO/a%20b.gguf HTTP/1.1", &[&open.key], "")
        .await;
    assert_eq!(
        (one.status, &one.json()["id"]),
        (200, &json!("ORG/REPO/a b.gguf"))
    );
    let none = open.ask("GET /v1/models/gpt-4 HTTP/1.1", &[&open.key], "").await;
    assert_eq!(
        (none.status, &none.json()["error"]["code"]),
        (404, &json!("model_not_found"))
    );
}

#[tokio::test]
async fn a_model_that_is_not_ours_or_not_ready() {
    let open = open(ScriptedRoutes::to(&["http://127.0.0.1:1"])).await;
    let unknown = open.ask(CHAT, &[&open.key], r#"{"model":"gpt-4"}"#).await;
    assert_eq!(unknown.status, 404);
    let error = &unknown.json()["error"];
    assert_eq!(
        (&error["code"], &error["param"], &error["type"]),
        (
            &json!("model_not_found"),
            &json!("model"),
            &json!("invalid_request_error")
        )
    );
    let anthropic = open
        .ask(
            "POST /v1/messages HTTP/1.1",
            &[&open.key],
            r#"{"model":"claude"}"#,
        )
        .await;
    assert_eq!(
        (anthropic.status, &anthropic.json()["error"]["type"]),
        (404, &json!("not_found_error"))
    );
    for (body, status, code) in [
        ("{}", 400, "model_missing"),
        ("not json", 400, "invalid_json"),
        (r#"{"model":"smol:Q4_1","model":"heavy"}"#, 400, "invalid_json"),
        (r#"{"model":"heavy"}"#, 503, "outOfMemory"),
    ] {
        let answer = open.ask(CHAT, &[&open.key], body).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (status, &json!(code)),
            "{body}"
        );
        assert!(
            !answer.body.contains("secret.gguf"),
            "a path leaked: {}",
            answer.body
        );
    }
    let claim = format!("content-length: {}", 1_u64 << 40);
    let huge = open.ask(CHAT, &[&open.key, &claim], "").await;
    assert_eq!(
        (huge.status, &huge.json()["error"]["code"]),
        (413, &json!("request_too_large"))
    );
}

#[tokio::test]
async fn the_routers_own_addresses_are_not_ours() {
    let open = open(ScriptedRoutes::to(&["http://127.0.0.1:1"])).await;
    for line in [
        "GET /models HTTP/1.1",
        "POST /models/load HTTP/1.1",
        "GET /models/sse HTTP/1.1",
        "GET /slots HTTP/1.1",
        "GET /props?model=smol HTTP/1.1",
        "GET /metrics HTTP/1.1",
        "POST /apply-template HTTP/1.1",
        "POST /v1/../models/load HTTP/1.1",
        "POST /v1/%2e%2e/models/load HTTP/1.1",
        "POST //models/load HTTP/1.1",
        "POST /v1/models HTTP/1.1",
        "DELETE /v1/models/x HTTP/1.1",
        "GET /v1/chat/completions HTTP/1.1",
    ] {
        let answer = open.ask(line, &[&open.key], "").await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (404, &json!("unknown_url")),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_request_arrives_as_it_was_written_with_the_routers_key() {
    let router = FakeRouter::start().await;
    let open = open(ScriptedRoutes::to(&[&router.url])).await;
    router.next(Script::Whole(StatusCode::OK, r#"{"done":1}"#));
    let body = r#"{"z":1.50,"model":"smol:Q4_1","tools":[{"b":1,"a":2}]}"#;
    let more = [
        open.key.as_str(),
        "content-type: application/json",
        "anthropic-version: 2023-06-01",
        "cookie: a=b",
        "referer: http://127.0.0.1/",
        "x-forwarded-for: 10.0.0.1",
    ];
    let answer = open
        .ask("POST /v1/messages?beta=true&autoload=true HTTP/1.1", &more, body)
        .await;
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"done":1}"#));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(
        answer.header("access-control-allow-origin"),
        None,
        "the router's open door"
    );
    assert_eq!(answer.header("server"), None);
    let seen = router.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].uri, "/v1/messages", "without the query");
    assert_eq!(seen[0].headers["anthropic-version"], "2023-06-01");
    assert_eq!(
        std::str::from_utf8(&seen[0].body).unwrap(),
        r#"{"z":1.50,"model":"at-router smol:Q4_1","tools":[{"b":1,"a":2}]}"#
    );
    assert!(!format!("{answer:?}").contains(ROUTER_KEY));
}

#[tokio::test]
async fn an_error_of_the_model_passes_unchanged() {
    let router = FakeRouter::start().await;
    let open = open(ScriptedRoutes::to(&[&router.url])).await;
    let error = r#"{"error":{"type":"exceed_context_size_error","n_prompt_tokens":20031,"n_ctx":4096}}"#;
    router.next(Script::Whole(StatusCode::BAD_REQUEST, error));
    let answer = open.ask(CHAT, &[&open.key], BODY).await;
    assert_eq!((answer.status, answer.body.as_str()), (400, error));
}

#[tokio::test]
async fn an_answer_streams_through_piece_by_piece() {
    let router = FakeRouter::start().await;
    let open = open(ScriptedRoutes::to(&[&router.url])).await;
    let (send, pieces) = mpsc::channel(1);
    router.next(Script::Pieces(pieces));
    let mut talk = open.talk(CHAT, BODY).await;
    for piece in ["data: one\n\n", "data: two\n\n", "data: three\n\n"] {
        send.send(piece).await.unwrap();
        // The next piece is sent only after this one arrived: a buffer anywhere would stop here.
        talk.hear(piece.trim()).await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_stops_the_model() {
    let router = FakeRouter::start().await;
    let open = open(ScriptedRoutes::to(&[&router.url])).await;
    let (send, pieces) = mpsc::channel(1);
    router.next(Script::Pieces(pieces));
    let mut streaming = open.talk(CHAT, BODY).await;
    send.send("data: one\n\n").await.unwrap();
    streaming.hear("data: one").await;
    drop(streaming);
    soon("the stream at the router ends", async {
        router.all_gone().await;
        send.closed().await;
    })
    .await;

    // While the prompt is read there is no piece yet whose writing could fail.
    router.next(Script::Silence);
    let waiting = open.talk(CHAT, BODY).await;
    soon("the request at the router", router.came(2)).await;
    drop(waiting);
    soon("the waiting request at the router ends", router.all_gone()).await;
    assert_eq!(router.seen().len(), 2, "nothing was sent twice");
}

#[tokio::test]
async fn a_client_that_leaves_while_its_model_loads_waits_no_longer() {
    let mut routes = ScriptedRoutes::to(&["http://127.0.0.1:1"]);
    routes.never_ready = true;
    let open = open(routes).await;
    let waiting = open.talk(CHAT, BODY).await;
    soon("the load", open.routes.loading(1)).await;
    drop(waiting);
    soon("the load is no longer waited for", open.routes.loading(0)).await;
}

#[tokio::test]
async fn how_long_the_model_stays_is_passed_on_and_the_body_left_alone() {
    let router = FakeRouter::start().await;
    let open = open(ScriptedRoutes::to(&[&router.url])).await;
    for (body, stay) in [
        (
            r#"{"model":"smol:Q4_1","keep_alive":"5m"}"#,
            Stay::For(Duration::from_mins(5)),
        ),
        (r#"{"model":"smol:Q4_1","keep_alive":-1}"#, Stay::Always),
        (r#"{"model":"smol:Q4_1"}"#, Stay::Usual),
    ] {
        router.next(Script::Whole(StatusCode::OK, "{}"));
        assert_eq!(open.ask(CHAT, &[&open.key], body).await.status, 200);
        assert_eq!(open.routes.stays.lock().unwrap().pop(), Some(stay), "{body}");
    }
    let passed = String::from_utf8(router.seen()[0].body.to_vec()).unwrap();
    assert!(passed.contains(r#""keep_alive":"5m""#), "{passed}");
}

#[tokio::test]
async fn a_model_that_fails_at_everything_is_asked_again_once_it_was_loaded_again() {
    let router = FakeRouter::start().await;
    let mut scripted = ScriptedRoutes::to(&[&router.url]);
    scripted.wedged = true;
    let open = open(scripted).await;
    router.next(Script::Whole(StatusCode::INTERNAL_SERVER_ERROR, "{}"));
    router.next(Script::Whole(StatusCode::OK, "{\"a\":1}"));
    let answer = open.ask(CHAT, &[&open.key], BODY).await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "a": 1 })));
    assert_eq!(*open.routes.doubts.lock().unwrap(), ["smol:Q4_1"]);
}

#[tokio::test]
async fn an_error_of_a_model_that_answers_a_probe_comes_through() {
    let router = FakeRouter::start().await;
    let open = open(ScriptedRoutes::to(&[&router.url])).await;
    router.next(Script::Whole(
        StatusCode::INTERNAL_SERVER_ERROR,
        "{\"error\":{\"message\":\"no pictures\"}}",
    ));
    let answer = open.ask(CHAT, &[&open.key], BODY).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]["message"]),
        (500, &json!("no pictures"))
    );
    assert_eq!(router.seen().len(), 1);
}

#[tokio::test]
async fn other_programs_get_the_slot_that_is_theirs_and_none_of_a_conversation() {
    let router = FakeRouter::start().await;
    let mut scripted = ScriptedRoutes::to(&[&router.url]);
    scripted.slot = Some(3);
    let open = open(scripted).await;
    for (line, body, passed) in [
        (CHAT, r#"{"model":"smol:Q4_1"}"#, r#","id_slot":3}"#),
        (CHAT, r#"{"id_slot":0,"model":"smol:Q4_1"}"#, r#"{"id_slot":3,"#),
        (
            "POST /v1/messages HTTP/1.1",
            r#"{"model":"smol:Q4_1"}"#,
            r#"{"model":"at-router smol:Q4_1"}"#,
        ),
    ] {
        router.next(Script::Whole(StatusCode::OK, "{}"));
        assert_eq!(open.ask(line, &[&open.key], body).await.status, 200);
        let seen = String::from_utf8(router.seen().last().unwrap().body.to_vec()).unwrap();
        assert!(seen.contains(passed), "{seen}");
    }
}

#[tokio::test]
async fn a_request_is_shown_until_its_answer_is_gone() {
    let router = FakeRouter::start().await;
    let open = open(ScriptedRoutes::to(&[&router.url])).await;
    let mut seen = open.routes.under_way.subscribe();
    router.next(Script::Whole(StatusCode::OK, "{}"));
    assert_eq!(open.ask(CHAT, &[&open.key], BODY).await.status, 200);
    seen.wait_for(|(now, all)| (*now, *all) == (0, 1)).await.unwrap();
}

#[tokio::test]
async fn responses_get_the_form_that_was_asked_for_and_a_true_end() {
    let router = FakeRouter::start().await;
    let open = open(ScriptedRoutes::to(&[&router.url])).await;
    let told = "{\"object\":\"response\",\"status\":\"completed\",\"usage\":{\"output_tokens\":4}}";
    router.next(Script::Whole(StatusCode::OK, told));
    let body = r#"{"model":"smol:Q4_1","max_output_tokens":4,"text":{"format":{"type":"json_object"}}}"#;
    let answer = open.ask("POST /v1/responses HTTP/1.1", &[&open.key], body).await;
    assert_eq!(
        (answer.status, &answer.json()["status"]),
        (200, &json!("incomplete"))
    );
    let passed = String::from_utf8(router.seen()[0].body.to_vec()).unwrap();
    assert!(
        passed.ends_with(r#","response_format":{"type":"json_object"}}"#),
        "{passed}"
    );
}

#[tokio::test]
async fn a_picture_for_a_model_without_eyes_is_the_requests_fault() {
    let router = FakeRouter::start().await;
    let open = open(ScriptedRoutes::to(&[&router.url])).await;
    let said = "{\"error\":{\"code\":500,\"message\":\"image input is not supported - hint\",\"type\":\"server_error\"}}";
    for (line, kind) in [
        (CHAT, "/error/type"),
        ("POST /v1/messages HTTP/1.1", "/error/type"),
    ] {
        router.next(Script::Whole(StatusCode::INTERNAL_SERVER_ERROR, said));
        let answer = open.ask(line, &[&open.key], BODY).await;
        assert_eq!(
            (answer.status, answer.json().pointer(kind)),
            (400, Some(&json!("invalid_request_error")))
        );
    }
    assert!(
        open.routes.doubts.lock().unwrap().is_empty(),
        "nobody doubts the model"
    );
}

#[tokio::test]
async fn a_router_that_came_back_elsewhere_is_found() {
    let (gone, router) = (FakeRouter::start().await, FakeRouter::start().await);
    let old = gone.url.clone();
    gone.die().await;
    let open = open(ScriptedRoutes::to(&[&old, &router.url])).await;
    router.next(Script::Whole(StatusCode::OK, "{}"));
    assert_eq!(open.ask(CHAT, &[&open.key], BODY).await.status, 200);
    assert_eq!(open.routes.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_router_that_is_gone_for_good_is_said() {
    let gone = FakeRouter::start().await;
    let url = gone.url.clone();
    gone.die().await;
    let open = open(ScriptedRoutes::to(&[&url])).await;
    let answer = open.ask(CHAT, &[&open.key], BODY).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (502, &json!("routerGone"))
    );
}

#[tokio::test]
async fn only_so_many_requests_at_once() {
    let mut scripted = ScriptedRoutes::to(&["http://127.0.0.1:1"]);
    scripted.never_ready = true;
    let open = open(scripted).await;
    let mut waiting = Vec::new();
    for _ in 0..64 {
        waiting.push(open.talk(CHAT, BODY).await);
    }
    soon("64 loads", open.routes.loading(64)).await;
    let late = open.ask(CHAT, &[&open.key], BODY).await;
    assert_eq!(
        (late.status, &late.json()["error"]["code"]),
        (429, &json!("too_many_requests"))
    );
    drop(waiting.pop());
    soon("a seat", open.routes.loading(63)).await;
    let next = open.talk(CHAT, BODY).await;
    soon("the next one has it", open.routes.loading(64)).await;
    drop(next);
}

#[tokio::test]
async fn the_app_is_told_where_the_front_is() {
    let open = open(ScriptedRoutes::to(&["http://127.0.0.1:1"])).await;
    let url = open.front.url();
    assert_eq!(url, format!("http://127.0.0.1:{}/v1", open.front.port()));
    open.front.end().await;
    assert_eq!(open.routes.told(), [Some(url), None]);
}

#[tokio::test]
async fn ending_ends_what_is_under_way() {
    let router = FakeRouter::start().await;
    let open = open(ScriptedRoutes::to(&[&router.url])).await;
    let (send, pieces) = mpsc::channel(1);
    router.next(Script::Pieces(pieces));
    let mut talk = open.talk(CHAT, BODY).await;
    send.send("data: one\n\n").await.unwrap();
    talk.hear("data: one").await;
    soon("the front ends", open.front.end()).await;
    soon("the client hears it", talk.until_the_end()).await;
    soon("the router is free", router.all_gone()).await;
}
