//! The real IPC path without a display: configuration, permissions, the two commands, over Tauri's mock runtime.

#![expect(clippy::unwrap_used, reason = "a test stops where its ground is missing")]

use std::path::Path;
use std::sync::Arc;

use plimsoll_app::{App, Config};
use plimsoll_desktop::{Desk, build, context, open_window};
use plimsoll_os::Environment;
use plimsoll_wire::{Fault, FaultCode, Params};
use serde_json::{Value, json};
use tauri::ipc::{CallbackFn, InvokeBody};
use tauri::test::{INVOKE_KEY, MockRuntime, get_ipc_response, mock_builder};
use tauri::webview::InvokeRequest;
use tauri::{Manager as _, WebviewUrl, WebviewWindow, WebviewWindowBuilder};

const PAGE: &str = "tauri://localhost";

fn desk(home: &Path) -> Desk {
    let home = home.to_str().unwrap();
    let environment =
        Environment::from_pairs([("PLIMSOLL_HOME", home), ("HF_HUB_CACHE", home), ("HOME", home)]);
    let app = tauri::async_runtime::block_on(async {
        App::start(Config::from(&environment).unwrap()).await.unwrap()
    });
    Desk::new(Ok(app), None)
}

/// The event loop would open the window; a test has none.
fn shell(desk: Desk) -> tauri::App<MockRuntime> {
    let app = build(mock_builder(), context(), desk).unwrap();
    open_window(app.handle()).unwrap();
    app
}

fn ask(window: &WebviewWindow<MockRuntime>, from: &str, command: &str, body: Value) -> Result<Value, Value> {
    let request = InvokeRequest {
        cmd: command.into(),
        callback: CallbackFn(0),
        error: CallbackFn(1),
        url: from.parse().unwrap(),
        body: InvokeBody::Json(body),
        headers: tauri::http::HeaderMap::default(),
        invoke_key: INVOKE_KEY.to_string(),
    };
    get_ipc_response(window, request).map(|reply| reply.deserialize().unwrap())
}

#[test]
fn the_page_asks_and_listens_through_two_commands() {
    let home = tempfile::tempdir().unwrap();
    let app = shell(desk(home.path()));
    let window = app
        .get_webview_window("main")
        .expect("the shell opens its window");

    let status = ask(&window, PAGE, "call", json!({"name": "status/read", "body": {}})).unwrap();
    assert_eq!(status["router"], json!({"state": "off"}), "{status}");
    assert_eq!(status["firstStart"], json!(true), "{status}");

    let unknown = ask(&window, PAGE, "call", json!({"name": "files/read", "body": {}})).unwrap_err();
    assert_eq!(
        unknown["code"],
        json!("unknownCall"),
        "a fault crosses as it is: {unknown}"
    );

    let listening = ask(&window, PAGE, "listen", json!({"to": "__CHANNEL__:7"}));
    assert_eq!(listening, Ok(Value::Null));
    tauri::async_runtime::block_on(app.state::<Desk>().close());
}

#[test]
fn nobody_else_gets_in() {
    let home = tempfile::tempdir().unwrap();
    let app = shell(desk(home.path()));
    let main = app.get_webview_window("main").unwrap();
    let other = WebviewWindowBuilder::new(&app, "other", WebviewUrl::default())
        .build()
        .unwrap();
    let call = json!({"name": "status/read", "body": {}});

    for (window, from, who) in [
        (&main, "https://example.org", "a page from elsewhere"),
        (&other, PAGE, "another window"),
    ] {
        let refused = ask(window, from, "call", call.clone()).expect_err(who);
        assert!(
            refused.as_str().is_some_and(|why| why.contains("not allowed")),
            "{who}: {refused}"
        );
    }
    for command in [
        "plugin:fs|read_file",
        "plugin:shell|execute",
        "plugin:event|listen",
        "plugin:path|resolve_directory",
    ] {
        assert!(
            ask(&main, PAGE, command, json!({})).is_err(),
            "{command} is open to the page"
        );
    }
    tauri::async_runtime::block_on(app.state::<Desk>().close());
}

#[test]
fn a_start_that_failed_is_what_every_call_answers() {
    let fault = Fault {
        code: FaultCode::StoreTooNew,
        params: Params::new(),
        trace: Vec::new(),
        fixes: Vec::new(),
    };
    let app = shell(Desk::new(Err::<Arc<App>, _>(fault.clone()), None));
    let window = app.get_webview_window("main").unwrap();
    let refused = ask(&window, PAGE, "call", json!({"name": "status/read", "body": {}})).unwrap_err();
    assert_eq!(serde_json::from_value::<Fault>(refused).unwrap(), fault);
    tauri::async_runtime::block_on(app.state::<Desk>().close());
}
