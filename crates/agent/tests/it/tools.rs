//! Turns that call tools.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_agent::{
    Approval, Approver, Effect, End, Item, Patience, Request, RouteModel, Tool, ToolCall, ToolError,
    ToolLimits, ToolResult, ToolSpec, Toolbox, Turn, TurnEvent, TurnFigures, TurnTools,
};
use plimsoll_testkit::provider::{Beat, Dialect, Reply, Speaks};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::support::{ALL, client, fake, limits, question, route};

/// A tool that says what it was given, after a while.
struct Echo {
    spec: ToolSpec,
    effect: Effect,
    after: Duration,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Echo {
    fn named(name: &str, effect: Effect, after: Duration) -> Self {
        Self {
            spec: ToolSpec {
                name: name.into(),
                description: "Says what it was given.".into(),
                parameters: json!({
                    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
                }),
            },
            effect,
            after,
            running: Arc::default(),
            most: Arc::default(),
        }
    }
}

/// Counts down when the work ends, done or dropped.
struct Running(Arc<AtomicUsize>);
impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: &Value) -> Result<Effect, ToolError> {
        if arguments["text"].is_string() {
            Ok(self.effect.clone())
        } else {
            Err(ToolError::Arguments {
                problem: "text has to be a text".into(),
            })
        }
    }

    fn run(&self, arguments: Value, _: Effect) -> BoxFuture<'_, Result<String, ToolError>> {
        async move {
            let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            let _running = Running(Arc::clone(&self.running));
            tokio::time::sleep(self.after).await;
            Ok(arguments["text"].as_str().unwrap_or_default().to_owned())
        }
        .boxed()
    }
}

/// A person who answers as scripted, and remembers what they were shown.
struct Person {
    answer: Approval,
    shown: Mutex<Vec<(String, Effect)>>,
}

impl Person {
    fn who_says(answer: Approval) -> Self {
        Self {
            answer,
            shown: Mutex::default(),
        }
    }
}

impl Approver for Person {
    fn ask<'a>(&'a self, call: &'a ToolCall, effect: &'a Effect) -> BoxFuture<'a, Approval> {
        self.shown
            .lock()
            .unwrap()
            .push((call.name.clone(), effect.clone()));
        std::future::ready(self.answer).boxed()
    }
}

#[derive(Default)]
struct Heard {
    text: String,
    answers: Vec<Vec<Item>>,
    results: Vec<Vec<ToolResult>>,
    end: Option<(End, TurnFigures)>,
}

async fn run(
    speaks: Speaks,
    replies: Vec<Reply>,
    toolbox: &Toolbox,
    person: &Person,
    tool_limits: ToolLimits,
    stop: &CancellationToken,
) -> (Heard, Vec<Value>) {
    let provider = fake(speaks, replies).await;
    let model = RouteModel::new(client(), route(speaks, &provider.url()), limits());
    let request = Request {
        tools: toolbox.specs(),
        ..Request::new("m", question("Look it up."))
    };
    let (out, mut events) = mpsc::channel(64);
    let tools = TurnTools {
        toolbox,
        approver: person,
        limits: tool_limits,
    };
    let turn = async {
        Turn::run(&model, request, Patience::NONE, Some(tools), &out, stop).await;
        drop(out);
    };
    let listen = async {
        let mut heard = Heard::default();
        while let Some(event) = events.recv().await {
            match event {
                TurnEvent::Text(text) => heard.text += &text,
                TurnEvent::Answered { items, .. } => heard.answers.push(items),
                TurnEvent::Results(results) => heard.results.push(results),
                TurnEvent::End { end, figures } => heard.end = Some((end, figures)),
                TurnEvent::Waiting { .. } | TurnEvent::PromptRead { .. } | TurnEvent::Reasoning(_) => {}
            }
        }
        heard
    };
    let heard = tokio::join!(turn, listen).1;
    let requests = provider.requests();
    (heard, requests)
}

fn call(id: &str, name: &str, text: &str) -> Beat {
    Beat::call(id, name, &json!({ "text": text }))
}

fn texts(results: &[ToolResult]) -> Vec<(&str, bool)> {
    results
        .iter()
        .map(|result| (result.text.as_str(), result.failed))
        .collect()
}

#[tokio::test]
async fn calls_at_once_are_done_side_by_side_and_answered_in_their_order() {
    for speaks in ALL {
        let echo = Arc::new(Echo::named("echo", Effect::Nothing, Duration::from_millis(150)));
        let toolbox = Toolbox::new(vec![Arc::clone(&echo) as Arc<dyn Tool>]);
        let replies = vec![
            Reply::calls([call("a", "echo", "one"), call("b", "echo", "two")]),
            Reply::words(&["Done."]),
        ];
        let person = Person::who_says(Approval::Refused);
        let (heard, _) = run(
            speaks,
            replies,
            &toolbox,
            &person,
            ToolLimits::default(),
            &CancellationToken::new(),
        )
        .await;
        assert_eq!(
            texts(&heard.results[0]),
            [("one", false), ("two", false)],
            "{speaks:?}"
        );
        assert_eq!(echo.most.load(Ordering::SeqCst), 2, "{speaks:?}: side by side");
        assert!(
            person.shown.lock().unwrap().is_empty(),
            "what is harmless is not asked"
        );
        assert_eq!(heard.text, "Done.", "{speaks:?}");
        let (end, figures) = heard.end.unwrap();
        assert!(matches!(end, End::Complete), "{speaks:?}: {end:?}");
        assert_eq!(figures.usage.input.unwrap().0, 20, "of the last call");
    }
}

#[tokio::test]
async fn what_changes_something_is_shown_first_and_not_done_without_a_yes() {
    let effect = Effect::Fetches {
        url: "https://example.com/".into(),
    };
    for (answer, expected) in [
        (Approval::Allowed, ("x", false)),
        (Approval::Refused, ("the person did not allow it", true)),
    ] {
        let toolbox = Toolbox::new(vec![Arc::new(Echo::named(
            "echo",
            effect.clone(),
            Duration::ZERO,
        ))]);
        let person = Person::who_says(answer);
        let replies = vec![Reply::calls([call("a", "echo", "x")]), Reply::words(&["Ok."])];
        let speaks = Speaks::Messages;
        let (heard, requests) = run(
            speaks,
            replies,
            &toolbox,
            &person,
            ToolLimits::default(),
            &CancellationToken::new(),
        )
        .await;
        assert_eq!(texts(&heard.results[0]), [expected]);
        assert_eq!(
            *person.shown.lock().unwrap(),
            [("echo".to_owned(), effect.clone())]
        );
        let told = &requests[1]["messages"][2]["content"][0];
        assert_eq!(told["is_error"].as_bool().unwrap_or_default(), expected.1);
    }
}

#[tokio::test]
async fn a_wrong_call_is_told_to_the_model_which_may_do_better() {
    let toolbox = Toolbox::new(vec![Arc::new(Echo::named(
        "echo",
        Effect::Nothing,
        Duration::ZERO,
    ))]);
    let broken = Beat::Call {
        id: "c".into(),
        name: "echo".into(),
        arguments: "{\"text\": ".into(),
    };
    let replies = vec![
        Reply::calls([
            call("a", "launch", "x"),
            Beat::call("b", "echo", &json!({"word": 1})),
            broken,
        ]),
        Reply::words(&["Sorry."]),
    ];
    let person = Person::who_says(Approval::Allowed);
    let speaks = Speaks::Chat(Dialect::LlamaServer);
    let (heard, _) = run(
        speaks,
        replies,
        &toolbox,
        &person,
        ToolLimits::default(),
        &CancellationToken::new(),
    )
    .await;
    let told = texts(&heard.results[0]);
    assert!(told.iter().all(|(_, failed)| *failed), "{told:?}");
    assert!(
        told[0].0.contains("there is no tool launch; there are: echo"),
        "{told:?}"
    );
    assert!(told[1].0.contains("text has to be a text"), "{told:?}");
    assert!(told[2].0.contains("no JSON"), "{told:?}");
}

#[tokio::test]
async fn slow_calls_end_long_results_are_cut_aloud_and_rounds_have_an_end() {
    let toolbox = Toolbox::new(vec![
        Arc::new(Echo::named("slow", Effect::Nothing, Duration::from_mins(1))),
        Arc::new(Echo::named("echo", Effect::Nothing, Duration::ZERO)),
    ]);
    let tight = ToolLimits {
        rounds_max: 2,
        time_max: Duration::from_millis(100),
        result_bytes_max: 10,
    };
    let replies = vec![
        Reply::calls([call("a", "slow", "x"), call("b", "echo", "ääääääääää")]),
        Reply::calls([call("a", "echo", "again")]),
        Reply::words(&["Enough."]),
    ];
    let person = Person::who_says(Approval::Allowed);
    let speaks = Speaks::Chat(Dialect::OpenAi);
    let (heard, requests) = run(
        speaks,
        replies,
        &toolbox,
        &person,
        tight,
        &CancellationToken::new(),
    )
    .await;
    let first = texts(&heard.results[0]);
    assert!(first[0].0.contains("longer than") && first[0].1, "{first:?}");
    assert_eq!(first[1].0, "äääää\n[Cut here: 10 of 20 bytes are shown.]");
    assert_eq!(requests[2]["tool_choice"], "none", "it has to answer now");
    assert_eq!(heard.text, "Enough.");
    // The id that was there already got a new end.
    let second = &requests[2]["messages"][5]["tool_calls"][0]["id"];
    assert_eq!(second, "a_2");
}

#[tokio::test]
async fn stopping_reaches_the_tools() {
    let slow = Arc::new(Echo::named("slow", Effect::Nothing, Duration::from_mins(5)));
    let toolbox = Toolbox::new(vec![Arc::clone(&slow) as Arc<dyn Tool>]);
    let stop = CancellationToken::new();
    let press = async {
        while slow.running.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        stop.cancel();
    };
    let person = Person::who_says(Approval::Allowed);
    let replies = vec![Reply::calls([call("a", "slow", "x")])];
    let running = run(
        Speaks::Responses,
        replies,
        &toolbox,
        &person,
        ToolLimits::default(),
        &stop,
    );
    let ((heard, _), ()) = tokio::join!(running, press);
    assert!(matches!(heard.end, Some((End::Stopped, _))), "{:?}", heard.end);
    assert_eq!(slow.running.load(Ordering::SeqCst), 0, "nothing runs on");
}

#[tokio::test]
async fn calls_that_come_as_words_are_calls_and_are_not_shown_as_words() {
    let json = r#"{"name": "echo", "arguments": {"text": "hi"}}"#;
    let forms = [
        vec![Beat::Text(json.into())],
        vec![
            Beat::Text("```json\n".into()),
            Beat::Text(json.into()),
            Beat::Text("\n```".into()),
        ],
        vec![Beat::Text("<tool_call>\n".into()), Beat::Text(json.into())],
        vec![Beat::Reasoning(format!("I call it: {json}"))],
    ];
    for beats in forms {
        let toolbox = Toolbox::new(vec![Arc::new(Echo::named(
            "echo",
            Effect::Nothing,
            Duration::ZERO,
        ))]);
        let person = Person::who_says(Approval::Allowed);
        let calling = Reply::Stream(beats.into_iter().chain(Reply::ending("stop", 20, 4, 5)).collect());
        let replies = vec![calling, Reply::words(&["It said hi."])];
        let speaks = Speaks::Chat(Dialect::LlamaServer);
        let (heard, requests) = run(
            speaks,
            replies,
            &toolbox,
            &person,
            ToolLimits::default(),
            &CancellationToken::new(),
        )
        .await;
        assert_eq!(texts(&heard.results[0]), [("hi", false)]);
        assert_eq!(heard.text, "It said hi.");
        assert_eq!(
            requests[1]["messages"][2]["tool_calls"][0]["function"]["name"],
            "echo"
        );
    }
    // What only looks like one is shown whole.
    let toolbox = Toolbox::new(vec![Arc::new(Echo::named(
        "echo",
        Effect::Nothing,
        Duration::ZERO,
    ))]);
    let person = Person::who_says(Approval::Allowed);
    let replies = vec![Reply::words(&["{\"a\"", ": 1}"])];
    let speaks = Speaks::Chat(Dialect::LlamaServer);
    let (heard, _) = run(
        speaks,
        replies,
        &toolbox,
        &person,
        ToolLimits::default(),
        &CancellationToken::new(),
    )
    .await;
    assert_eq!(heard.text, "{\"a\": 1}");
}

#[test]
fn tools_keep_their_order_and_a_small_window_gets_fewer() {
    let named = |name: &str| Arc::new(Echo::named(name, Effect::Nothing, Duration::ZERO)) as Arc<dyn Tool>;
    let one = Toolbox::new(vec![named("c"), named("a"), named("b")]);
    let two = Toolbox::new(vec![named("b"), named("c"), named("a"), named("a")]);
    assert_eq!(one.specs(), two.specs(), "whatever order they came in");
    let bytes = one.specs()[0].parameters.to_string().len() + one.specs()[0].description.len() + 1;
    let (kept, left_out) = one.within(2 * bytes);
    assert_eq!(kept.specs().len(), 2);
    assert_eq!(left_out, ["c"]);
}
