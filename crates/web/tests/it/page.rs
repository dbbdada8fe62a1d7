use std::sync::Arc;
use std::time::Duration;

use plimsoll_web::Page;
use plimsoll_wire::Event;
use serde_json::json;

use crate::fakes::ScriptedCalls;
use crate::talk::{Answer, Talk, ask, soon};

struct Open {
    page: Page,
    calls: Arc<ScriptedCalls>,
    host: String,
    cookie: String,
}

async fn open() -> Open {
    let calls = Arc::new(ScriptedCalls::default());
    let page = Page::over(calls.clone(), 0).await.unwrap();
    let host = format!("host: 127.0.0.1:{}", page.port());
    let answer = follow(&page, &page.login_link()).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let set = answer.header("set-cookie").unwrap();
    assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{set}");
    let cookie = format!("cookie: {}", set.split(';').next().unwrap());
    Open {
        page,
        calls,
        host,
        cookie,
    }
}

async fn follow(page: &Page, link: &str) -> Answer {
    let port = page.port();
    let path = link
        .strip_prefix(&format!("http://127.0.0.1:{port}"))
        .expect("the link names our address");
    ask(
        port,
        &[
            &format!("GET {path} HTTP/1.1"),
            &format!("host: 127.0.0.1:{port}"),
        ],
        "",
    )
    .await
}

impl Open {
    async fn call(&self, name: &str, body: &str, more: &[&str]) -> Answer {
        let line = format!("POST /call/{name} HTTP/1.1");
        let mut head = vec![
            line.as_str(),
            &self.host,
            &self.cookie,
            "content-type: application/json",
        ];
        head.extend(more);
        ask(self.page.port(), &head, body).await
    }

    async fn events(&self) -> Talk {
        Talk::start(
            self.page.port(),
            &["GET /events HTTP/1.1", &self.host, &self.cookie],
            "",
        )
        .await
    }
}

#[tokio::test]
async fn nothing_without_the_link() {
    let open = open().await;
    let port = open.page.port();
    for line in [
        "GET / HTTP/1.1",
        "GET /events HTTP/1.1",
        "GET /assets/a.js HTTP/1.1",
        "POST /call/status/read HTTP/1.1",
    ] {
        let answer = ask(port, &[line, &open.host], "").await;
        assert_eq!(answer.status, 401, "{line}");
        assert_eq!(answer.json()["code"], "notAllowed", "{line}");
        let wrong = ask(
            port,
            &[line, &open.host, &format!("cookie: plimsoll-{port}=0123")],
            "",
        )
        .await;
        assert_eq!(wrong.status, 401, "{line} with a wrong cookie");
    }
    let browser = ask(port, &["GET / HTTP/1.1", &open.host, "accept: text/html,*/*"], "").await;
    assert_eq!(browser.status, 401);
    assert!(
        browser.body.contains("plimsoll web"),
        "a person is told what to do: {}",
        browser.body
    );
    assert_eq!(open.calls.asked(), [], "no call ran");
}

#[tokio::test]
async fn a_link_opens_the_page_once() {
    let open = open().await;
    let link = open.page.login_link();
    assert_eq!(follow(&open.page, &link).await.status, 303);
    assert_eq!(follow(&open.page, &link).await.status, 401, "used");
    // The person clicks the used link again in the browser that is signed in already.
    let path = link
        .split_once("/?")
        .map(|(_, query)| format!("GET /?{query} HTTP/1.1"))
        .unwrap();
    let again = ask(open.page.port(), &[&path, &open.host, &open.cookie], "").await;
    assert_eq!((again.status, again.header("location")), (303, Some("/")));
    assert_eq!(again.header("set-cookie"), None);
}

#[tokio::test]
async fn other_pages_are_refused_even_with_the_cookie() {
    let open = open().await;
    let port = open.page.port();
    for (host, more) in [
        (format!("host: evil.example:{port}"), "accept: */*".to_owned()),
        ("host: 127.0.0.1".to_owned(), "accept: */*".to_owned()),
        (open.host.clone(), "origin: http://evil.example".to_owned()),
        (open.host.clone(), "origin: null".to_owned()),
        (
            open.host.clone(),
            format!("origin: http://127.0.0.1:{}", port ^ 1),
        ),
        (open.host.clone(), "sec-fetch-site: cross-site".to_owned()),
        (open.host.clone(), "sec-fetch-site: same-site".to_owned()),
    ] {
        for line in [
            "GET / HTTP/1.1",
            "GET /events HTTP/1.1",
            "POST /call/status/read HTTP/1.1",
        ] {
            let head = [line, &host, &open.cookie, &more, "content-type: application/json"];
            let answer = ask(port, &head, "{}").await;
            assert_eq!(answer.status, 403, "{line} {host} {more}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    assert_eq!(open.calls.asked(), [], "no call ran");
    let ours = open
        .call(
            "status/read",
            "{}",
            &[
                &format!("origin: http://127.0.0.1:{port}"),
                "sec-fetch-site: same-origin",
            ],
        )
        .await;
    assert_eq!(ours.status, 200);
}

#[tokio::test]
async fn a_call_is_answered_and_its_fault_keeps_its_form() {
    let open = open().await;
    let answer = open.call("models/list", r#"{"a":1}"#, &[]).await;
    assert_eq!(
        (answer.status, answer.json()),
        (200, json!({"answered": "models/list"}))
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(open.calls.asked(), [("models/list".to_owned(), json!({"a": 1}))]);

    let fault = open.call("fails/diskFull", "{}", &[]).await;
    assert_eq!((fault.status, &fault.json()["code"]), (507, &json!("diskFull")));
    let fault = open.call("fails/unknownModel", "{}", &[]).await;
    assert_eq!(
        (fault.status, &fault.json()["code"]),
        (404, &json!("unknownModel"))
    );
}

#[tokio::test]
async fn a_body_that_is_no_call_is_a_fault() {
    let open = open().await;
    let port = open.page.port();
    let cut = open.call("models/list", "{", &[]).await;
    assert_eq!((cut.status, &cut.json()["code"]), (400, &json!("badRequest")));
    let head = [
        "POST /call/models/list HTTP/1.1",
        &open.host,
        &open.cookie,
        "content-type: text/plain",
    ];
    let text = ask(port, &head, "{}").await;
    assert_eq!(
        (text.status, &text.json()["code"]),
        (415, &json!("badRequest")),
        "what a form could send"
    );
    let claim = format!("content-length: {}", 1_u64 << 40);
    let head = [
        "POST /call/models/list HTTP/1.1",
        &open.host,
        &open.cookie,
        "content-type: application/json",
        &claim,
    ];
    let huge = ask(port, &head, "").await;
    assert_eq!((huge.status, &huge.json()["code"]), (413, &json!("badRequest")));
    assert_eq!(open.calls.asked(), []);
    let lost = ask(port, &["POST /nowhere HTTP/1.1", &open.host, &open.cookie], "").await;
    assert_eq!((lost.status, &lost.json()["code"]), (404, &json!("notFound")));
}

#[tokio::test]
async fn every_answer_is_protected() {
    let open = open().await;
    let port = open.page.port();
    let page = ["GET / HTTP/1.1", &open.host, &open.cookie, "accept: text/html"];
    let answers = [
        ask(port, &page, "").await,
        ask(port, &["GET / HTTP/1.1", &open.host], "").await,
        ask(port, &["GET / HTTP/1.1", "host: evil.example"], "").await,
        open.call("models/list", "{}", &[]).await,
        open.call("fails/diskFull", "{}", &[]).await,
        ask(port, &["GET /no/such.js HTTP/1.1", &open.host, &open.cookie], "").await,
    ];
    for answer in answers {
        let policy = answer.header("content-security-policy").unwrap();
        let rule = |name: &str| {
            policy
                .split(';')
                .map(str::trim)
                .find(|part| part.starts_with(name))
                .unwrap()
        };
        assert_eq!(rule("default-src"), "default-src 'none'");
        assert_eq!(
            rule("script-src"),
            "script-src 'self'",
            "no inline script, no eval"
        );
        assert_eq!(rule("connect-src"), "connect-src 'self'");
        assert_eq!(rule("img-src"), "img-src 'self' data: blob:");
        assert_eq!(rule("frame-ancestors"), "frame-ancestors 'none'");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn no_file_outside_the_page() {
    let open = open().await;
    for path in [
        "/../Cargo.toml",
        "/..%2f..%2fCargo.toml",
        "/%2e%2e/%2e%2e/Cargo.toml",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
    ] {
        let line = format!("GET {path} HTTP/1.1");
        let answer = ask(open.page.port(), &[&line, &open.host, &open.cookie], "").await;
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(
            !answer.body.contains("plimsoll-web") && !answer.body.contains("root:"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn events_come_one_by_one_as_they_happen() {
    let open = open().await;
    let mut events = open.events().await;
    events.hear("text/event-stream").await;
    events.hear(": open").await;
    for turn in ["one", "two", "three"] {
        open.calls.happen(Event::TextAdded {
            conversation: "c".into(),
            turn: turn.into(),
            text: "…".into(),
        });
        // The next one happens only after this one was read: a buffer anywhere would stop here.
        events.hear(&format!(r#""turn":"{turn}""#)).await;
    }
    open.page.end().await;
    let all = soon("the stream's end", events.until_the_end()).await;
    assert!(all.contains("data: {\"type\":\"textAdded\""), "{all}");
}

#[tokio::test]
async fn only_so_many_listeners_and_a_seat_is_given_back() {
    let open = open().await;
    let mut seated = Vec::new();
    for _ in 0..16 {
        let mut events = open.events().await;
        events.hear(": open").await;
        seated.push(events);
    }
    let head = ["GET /events HTTP/1.1", &open.host, &open.cookie];
    let late = ask(open.page.port(), &head, "").await;
    assert_eq!((late.status, &late.json()["code"]), (409, &json!("busy")));
    drop(seated.pop());
    soon("a seat for the next listener", async {
        loop {
            // The host notices a closed page when it next writes to it.
            open.calls.happen(Event::LibraryChanged);
            let mut events = open.events().await;
            events.hear("\r\n\r\n").await;
            if events.read_so_far().contains(" 200 ") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn two_hosts_side_by_side_do_not_sign_each_other_out() {
    let (one, two) = (open().await, open().await);
    assert_ne!(one.page.port(), two.page.port());
    let both = format!("{}; {}", one.cookie, two.cookie.strip_prefix("cookie: ").unwrap());
    for open in [&one, &two] {
        let head = [
            "POST /call/a HTTP/1.1",
            &open.host,
            &both,
            "content-type: application/json",
        ];
        assert_eq!(ask(open.page.port(), &head, "{}").await.status, 200);
    }
    let head = [
        "POST /call/a HTTP/1.1",
        &one.host,
        &two.cookie,
        "content-type: application/json",
    ];
    assert_eq!(
        ask(one.page.port(), &head, "{}").await.status,
        401,
        "the other's cookie opens nothing"
    );
}
