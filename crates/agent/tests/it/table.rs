//! One table of behaviours against the fakes of all protocols; `real_protocols.rs` runs it against llama-server.

use std::time::Duration;

use plimsoll_agent::{
    ChatModel as _, Cost, FinishReason, Item, ModelError, Part, Piece, Reasoning, Refusal, Request,
    RouteModel, Row, Seal, ToolCall, ToolResult, Transcript, Unsendable,
};
use plimsoll_catalog::Catalog;
use plimsoll_testkit::provider::{Beat, Dialect, Provider, Reply, Speaks};
use plimsoll_units::{PicoDollars, Tokens};
use serde_json::{Value, json};

use crate::support::{ALL, ask, client, fake, format, image, limits, question, route, route_for, weather};

fn calls(items: &[Item]) -> Vec<ToolCall> {
    items
        .iter()
        .filter_map(|item| match item {
            Item::Call(call) => Some(call.clone()),
            Item::Text { .. } | Item::Reasoning(_) => None,
        })
        .collect()
}

fn results(items: &[Item]) -> Row {
    Row::Results(
        calls(items)
            .into_iter()
            .map(|call| ToolResult {
                text: format!("sunny, said {}", call.name),
                call: call.id,
                failed: false,
            })
            .collect(),
    )
}

#[tokio::test]
async fn stream() {
    for speaks in ALL {
        let provider = fake(speaks, [Reply::words(&["Fine", ", ", "thanks"])]).await;
        let (answer, pieces) = ask(
            &route(speaks, &provider.url()),
            Request::new("m", question("How?")),
        )
        .await
        .unwrap();
        assert_eq!(answer.reason, FinishReason::Stop, "{speaks:?}");
        assert_eq!(answer.items, [Item::text("Fine, thanks")], "{speaks:?}");
        let texts = pieces
            .iter()
            .filter(|piece| matches!(piece, Piece::Text(_)))
            .count();
        assert_eq!(texts, 3, "{speaks:?}: piece by piece");
    }
}

/// One call and two at once, with their results and the answer after them.
#[tokio::test]
async fn tools_and_parallel_tools() {
    for speaks in ALL {
        for cities in [&["Kiel"][..], &["Kiel", "Rome"]] {
            let calling = Reply::calls(cities.iter().enumerate().map(|(n, city)| {
                Beat::call(
                    &format!("call_{n}"),
                    "weather",
                    &json!({"city": city, "unit": "c"}),
                )
            }));
            let provider = fake(speaks, [calling, Reply::words(&["Sunny."])]).await;
            let route = route(speaks, &provider.url());
            let mut request = Request {
                tools: vec![weather()],
                ..Request::new("m", question("How is the weather?"))
            };
            let (answer, _) = ask(&route, request.clone()).await.unwrap();
            assert_eq!(answer.reason, FinishReason::Calls, "{speaks:?}");
            let called: Vec<Value> = calls(&answer.items)
                .iter()
                .map(|call| serde_json::from_str(&call.arguments).unwrap())
                .collect();
            let expected: Vec<Value> = cities
                .iter()
                .map(|city| json!({"city": city, "unit": "c"}))
                .collect();
            assert_eq!(called, expected, "{speaks:?}");
            let results = results(&answer.items);
            request.transcript.push(Row::Assistant(answer.items));
            request.transcript.push(results);
            let (answer, _) = ask(&route, request).await.unwrap();
            assert_eq!(answer.items, [Item::text("Sunny.")], "{speaks:?}");
        }
    }
}

#[tokio::test]
async fn image_parts() {
    for speaks in ALL {
        let provider = fake(speaks, [Reply::words(&["Red."])]).await;
        let mut transcript = Transcript::new("");
        transcript.push(Row::User(vec![Part::text("What colour?"), Part::Image(image())]));
        ask(&route(speaks, &provider.url()), Request::new("m", transcript))
            .await
            .unwrap();
        let sent = String::from_utf8(provider.bytes()[0].to_vec()).unwrap();
        assert!(sent.contains(&image().data), "{speaks:?}");
    }
    // A route that cannot see is told so, and so is the model.
    let deepseek = Speaks::Chat(Dialect::DeepSeek);
    let provider = fake(deepseek, [Reply::words(&["?"])]).await;
    let mut transcript = Transcript::new("");
    transcript.push(Row::User(vec![Part::text("What colour?"), Part::Image(image())]));
    let route = route(deepseek, &provider.url());
    assert_eq!(route.losses(&transcript, "m").images, 1);
    ask(&route, Request::new("m", transcript)).await.unwrap();
    let sent = String::from_utf8(provider.bytes()[0].to_vec()).unwrap();
    assert!(
        !sent.contains(&image().data) && sent.contains("cannot see"),
        "{sent}"
    );
}

/// What was thought before a call goes back as each route needs it, unchanged: the fakes compare it with what
/// they gave. Chat Completions at OpenAI itself has no place for it.
#[tokio::test]
async fn reasoning_replay() {
    for (speaks, where_to) in [
        (Speaks::Messages, "sealed-1"),
        (Speaks::Responses, "sealed-1"),
        (Speaks::Chat(Dialect::OpenRouter), "sealed-1"),
    ] {
        let thinking = Reply::Stream(
            [
                Beat::Thought {
                    text: "They want the weather; I should look.".into(),
                    seal: "sealed-1".into(),
                },
                Beat::call("call_0", "weather", &json!({"city": "Kiel"})),
            ]
            .into_iter()
            .chain(Reply::ending("tool_calls", 20, 4, 5))
            .collect(),
        );
        let provider = fake(
            speaks,
            [thinking, Reply::words(&["Sunny."]), Reply::words(&["Bye."])],
        )
        .await;
        let route = route(speaks, &provider.url());
        let mut request = Request {
            tools: vec![weather()],
            ..Request::new("m", question("How is the weather?"))
        };
        let (answer, _) = ask(&route, request.clone()).await.unwrap();
        let thought = matches!(&answer.items[0], Item::Reasoning(Reasoning { seal: Some(_), .. }));
        assert!(thought, "{speaks:?}: {:?}", answer.items);
        let results = results(&answer.items);
        // Over a restart, as the store keeps it.
        let kept = serde_json::to_string(&Row::Assistant(answer.items)).unwrap();
        request.transcript.push(serde_json::from_str(&kept).unwrap());
        request.transcript.push(results);
        let (answer, _) = ask(&route, request.clone()).await.unwrap();
        request.transcript.push(Row::Assistant(answer.items));
        request.transcript.user("Thanks.");
        ask(&route, request.clone()).await.unwrap();
        for sent in &provider.bytes()[1..] {
            let sent = String::from_utf8(sent.to_vec()).unwrap();
            assert!(sent.contains(where_to), "{speaks:?}: {sent}");
        }
        // Another model gets none of it, and the person hears it before.
        assert_eq!(route.losses(&request.transcript, "another").thoughts, 1);
        request.model = "another".into();
        let body = String::from_utf8(route.body(&request).unwrap()).unwrap();
        assert!(!body.contains(where_to), "{speaks:?}: {body}");
    }
}

/// Where thoughts are plain text they go back within the turn only.
#[tokio::test]
async fn plain_reasoning_goes_back_within_its_turn() {
    for speaks in [
        Speaks::Chat(Dialect::DeepSeek),
        Speaks::Chat(Dialect::LlamaServer),
    ] {
        let thinking = Reply::Stream(
            [
                Beat::Reasoning("I should look.".into()),
                Beat::call("call_0", "weather", &json!({"city": "Kiel"})),
            ]
            .into_iter()
            .chain(Reply::ending("tool_calls", 20, 4, 5))
            .collect(),
        );
        let provider = fake(
            speaks,
            [thinking, Reply::words(&["Sunny."]), Reply::words(&["Bye."])],
        )
        .await;
        let route = route(speaks, &provider.url());
        let mut request = Request {
            tools: vec![weather()],
            ..Request::new("m", question("How is the weather?"))
        };
        let (answer, _) = ask(&route, request.clone()).await.unwrap();
        let results = results(&answer.items);
        request.transcript.push(Row::Assistant(answer.items));
        request.transcript.push(results);
        ask(&route, request.clone()).await.unwrap();
        request.transcript.assistant("Sunny.");
        request.transcript.user("Thanks.");
        ask(&route, request).await.unwrap();
        let sent = provider.requests();
        assert_eq!(
            sent[1]["messages"][2]["reasoning_content"], "I should look.",
            "{speaks:?}"
        );
        assert!(!sent[2].to_string().contains("I should look."), "{speaks:?}");
    }
}

#[tokio::test]
async fn redacted_thoughts_and_geminis_extras_come_back() {
    let thinking = Reply::Stream(
        [
            Beat::Thought {
                text: String::new(),
                seal: "hidden".into(),
            },
            Beat::Text("Yes.".into()),
        ]
        .into_iter()
        .chain(Reply::ending("stop", 20, 4, 5))
        .collect(),
    );
    let provider = fake(Speaks::Messages, [thinking, Reply::words(&["Bye."])]).await;
    let at = route(Speaks::Messages, &provider.url());
    let mut request = Request::new("m", question("Really?"));
    let (answer, _) = ask(&at, request.clone()).await.unwrap();
    assert!(
        matches!(&answer.items[0], Item::Reasoning(Reasoning { seal: Some(Seal::Redacted { data }), .. }) if data == "hidden")
    );
    request.transcript.push(Row::Assistant(answer.items));
    request.transcript.user("Bye.");
    ask(&at, request).await.unwrap();

    let gemini = Speaks::Chat(Dialect::Gemini);
    let chunk = json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{
        "index": 0, "finish_reason": "tool_calls", "delta": {"tool_calls": [{
            "index": 0, "id": "call_0", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Kiel\"}"},
            "extra_content": {"google": {"thought_signature": "abc"}},
        }]},
    }]});
    let raw = Reply::Stream(vec![
        Beat::Raw(format!("data: {chunk}\n\n").into_bytes()),
        Beat::Done,
    ]);
    let provider = fake(gemini, [raw, Reply::words(&["Sunny."])]).await;
    let at = route(gemini, &provider.url());
    let mut request = Request {
        tools: vec![weather()],
        ..Request::new("m", question("Weather?"))
    };
    let (answer, _) = ask(&at, request.clone()).await.unwrap();
    let results = results(&answer.items);
    request.transcript.push(Row::Assistant(answer.items));
    request.transcript.push(results);
    ask(&at, request).await.unwrap();
    assert_eq!(
        provider.requests()[1]["messages"][2]["tool_calls"][0]["extra_content"],
        json!({"google": {"thought_signature": "abc"}})
    );
}

#[tokio::test]
async fn cancel() {
    for speaks in ALL {
        let provider = fake(
            speaks,
            [Reply::Stream(vec![Beat::Text("Onc".into()), Beat::Hang])],
        )
        .await;
        let model = RouteModel::new(client(), route(speaks, &provider.url()), limits());
        let stream = model
            .answer(Request::new("m", question("A story.")))
            .await
            .unwrap();
        drop(stream);
        provider.left(1).await;
    }
}

#[tokio::test]
async fn usage() {
    for speaks in ALL {
        let provider = fake(speaks, [Reply::words(&["Fine", "."])]).await;
        let at = route(speaks, &provider.url());
        let (answer, _) = ask(&at, Request::new("m", question("How?"))).await.unwrap();
        let usage = answer.usage;
        assert_eq!(
            (usage.input, usage.cached, usage.output, usage.total),
            (
                Some(Tokens(20)),
                Some(Tokens(4)),
                Some(Tokens(2)),
                Some(Tokens(22))
            ),
            "{speaks:?}: gross, whatever the protocol counts"
        );
        assert_eq!(usage.cost, Cost::Unknown, "{speaks:?}: no price is known");
        // A stream that counts nothing, and one that says nothing of counts.
        for beats in [
            vec![
                Beat::Text("Hi".into()),
                Beat::Finish("stop"),
                Beat::NoUsage,
                Beat::Done,
            ],
            vec![Beat::Text("Hi".into()), Beat::Finish("stop"), Beat::Done],
        ] {
            let provider = fake(speaks, [Reply::Stream(beats)]).await;
            let at = route(speaks, &provider.url());
            let (answer, _) = ask(&at, Request::new("m", question("How?"))).await.unwrap();
            assert_eq!(answer.usage.input, None, "{speaks:?}");
            assert_eq!(answer.usage.cached, None, "{speaks:?}");
        }
    }
    let provider = fake(Speaks::Messages, [Reply::words(&["Fine"])]).await;
    let at = route_for(Speaks::Messages, &provider.url(), "claude-haiku-4-5");
    let (answer, _) = ask(&at, Request::new("claude-haiku-4-5", question("How?")))
        .await
        .unwrap();
    // 16 read at 1, 4 from the cache at 0.1, 1 written at 5 millionths of a dollar.
    let cost = PicoDollars(16 * 1_000_000 + 4 * 100_000 + 5_000_000);
    assert_eq!(answer.usage.cost, Cost::Computed(cost));
}

#[tokio::test]
async fn structured_output() {
    for speaks in ALL {
        let provider = fake(speaks, [Reply::words(&[r#"{"colour":"blue"}"#])]).await;
        let request = Request {
            format: Some(format()),
            ..Request::new("m", question("The sky?"))
        };
        ask(&route(speaks, &provider.url()), request).await.unwrap();
    }
    let catalog = Catalog::packaged().unwrap();
    let without = plimsoll_agent::Route::new(catalog.provider("llama-server-responses").unwrap(), "m", None);
    let request = Request {
        format: Some(format()),
        ..Request::new("m", question("The sky?"))
    };
    assert_eq!(without.body(&request), Err(Unsendable::Format));
}

#[tokio::test]
async fn an_answer_at_the_limit_and_one_that_is_withheld() {
    for speaks in ALL {
        for (told, reason) in [
            ("length", FinishReason::Length),
            ("content_filter", FinishReason::Refused),
        ] {
            let beats = [Beat::Text("Onc".into())]
                .into_iter()
                .chain(Reply::ending(told, 20, 4, 1));
            let provider = fake(speaks, [Reply::Stream(beats.collect())]).await;
            let at = route(speaks, &provider.url());
            let (answer, _) = ask(&at, Request::new("m", question("Go."))).await.unwrap();
            assert_eq!(answer.reason, reason, "{speaks:?}");
        }
    }
}

/// A refusal in the form that the protocol's own provider gives it.
fn refusal(speaks: Speaks, status: u16, kind: &str, code: &str, message: &str) -> Reply {
    let body = match speaks {
        Speaks::Messages => json!({"type": "error", "error": {"type": kind, "message": message}}),
        Speaks::Chat(_) | Speaks::Responses => {
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
    };
    Reply::RefuseWith(status, ("retry-after", "7".into()), body)
}

async fn failure(speaks: Speaks, reply: Reply) -> ModelError {
    let provider = fake(speaks, [reply]).await;
    let at = route(speaks, &provider.url());
    ask(&at, Request::new("m", question("How?"))).await.unwrap_err()
}

#[tokio::test]
async fn overflow() {
    for speaks in ALL {
        let told = match speaks {
            Speaks::Messages => refusal(
                speaks,
                400,
                "invalid_request_error",
                "",
                "prompt is too long: 210000 tokens > 200000 maximum",
            ),
            Speaks::Chat(_) | Speaks::Responses => refusal(
                speaks,
                400,
                "invalid_request_error",
                "context_length_exceeded",
                "This model's maximum context length is 200000 tokens. However, your messages resulted in 210000 tokens.",
            ),
        };
        for reply in [told, Reply::overflow(210_000, 200_000)] {
            let error = failure(speaks, reply).await;
            assert!(
                matches!(
                    error,
                    ModelError::Overflow {
                        prompt: Tokens(210_000),
                        window: Tokens(200_000)
                    }
                ),
                "{speaks:?}: {error:?}"
            );
        }
    }
}

#[tokio::test]
async fn error_kinds() {
    let wait = Some(Duration::from_secs(7));
    for speaks in ALL {
        for (status, kind, code, expected) in [
            (401, "authentication_error", "invalid_api_key", Refusal::Key),
            (402, "billing_error", "insufficient_quota", Refusal::Quota),
            (
                429,
                "rate_limit_error",
                "rate_limit_exceeded",
                Refusal::Rate { wait },
            ),
            (529, "overloaded_error", "slow_down", Refusal::Overload { wait }),
            (404, "not_found_error", "model_not_found", Refusal::Model),
            (500, "api_error", "server_error", Refusal::Server),
            (400, "invalid_request_error", "", Refusal::Request),
        ] {
            match failure(speaks, refusal(speaks, status, kind, code, "no")).await {
                ModelError::Refused { why, .. } => assert_eq!(why, expected, "{speaks:?} {status} {kind}"),
                other => panic!("{speaks:?} {status} {kind}: {other:?}"),
            }
        }
        // HTTP 200 with an error inside: as a document, and in the stream.
        let document = Reply::Refuse(
            200,
            json!({"error": {"code": 429, "message": "no", "type": "rate_limit_error"}}),
        );
        assert!(matches!(
            failure(speaks, document).await,
            ModelError::Refused {
                why: Refusal::Rate { .. },
                ..
            }
        ));
        let inside = Reply::Stream(vec![
            Beat::Text("Hi".into()),
            Beat::Error(json!({"type": "overloaded_error", "message": "busy", "code": "slow_down"})),
        ]);
        assert!(matches!(
            failure(speaks, inside).await,
            ModelError::Broken {
                why: Refusal::Overload { .. },
                ..
            }
        ));
        // A bad reply, and one that ends too soon.
        let noise = Reply::Stream(vec![Beat::Raw(b"data: hello\n\n".to_vec())]);
        assert!(matches!(
            failure(speaks, noise).await,
            ModelError::Malformed { .. }
        ));
        let short = Reply::Stream(vec![Beat::Text("Hi".into())]);
        assert!(matches!(failure(speaks, short).await, ModelError::Cut { .. }));
    }
    let nobody = route(ALL[0], "http://127.0.0.1:9");
    let error = ask(&nobody, Request::new("m", question("How?")))
        .await
        .unwrap_err();
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
}

/// The fake objects to what the real ones refuse: it is no better than its objections.
#[tokio::test]
async fn the_fakes_object() {
    let half_a_pair = json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": null, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}]);
    for (speaks, path, body) in [
        (
            Speaks::Chat(Dialect::OpenAi),
            "chat/completions",
            json!({"model": "m", "messages": half_a_pair, "stream": true, "stream_options": {"include_usage": true}}),
        ),
        (
            Speaks::Chat(Dialect::OpenAi),
            "chat/completions",
            json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": true, "stream_options": {"include_usage": true}, "return_progress": true}),
        ),
        (
            Speaks::Responses,
            "responses",
            json!({"model": "m", "stream": true, "store": false, "input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}),
        ),
        (
            Speaks::Messages,
            "messages",
            json!({"model": "m", "stream": true, "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}], "temperature": 0.5}),
        ),
        (
            Speaks::Messages,
            "messages",
            json!({"model": "m", "stream": true, "max_tokens": 1, "messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "forged"}]}, {"role": "user", "content": [{"type": "text", "text": "x"}]}]}),
        ),
    ] {
        let provider: Provider = fake(speaks, []).await;
        let url = format!("{}/v1/{path}", provider.url());
        let reply = client()
            .post(url)
            .header("anthropic-version", "2023-06-01")
            .json(&body)
            .send()
            .await
            .unwrap();
        assert_eq!(reply.status(), 400, "{body}");
        assert!(!provider.take_complaints().is_empty(), "{body}");
    }
}

#[tokio::test]
async fn the_models_of_a_server_are_listed_with_its_key() {
    for speaks in ALL {
        let provider = Provider::start_with(speaks, [], Some("sesame".into())).await;
        let mut at = route(speaks, &provider.url());
        let refused = plimsoll_agent::list_models(&client(), &at).await.unwrap_err();
        assert!(
            matches!(
                refused,
                ModelError::Refused {
                    why: Refusal::Key,
                    ..
                }
            ),
            "{speaks:?}: {refused:?}"
        );
        at.key = Some("sesame".into());
        let models = plimsoll_agent::list_models(&client(), &at).await.unwrap();
        assert_eq!(models, ["m"], "{speaks:?}");
    }
}
