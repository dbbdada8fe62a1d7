//! Equal requests are equal bytes, and what is stable stays a prefix.

use plimsoll_agent::{
    Item, Part, Reasoning, Request, Route, Row, Seal, ToolCall, ToolResult, ToolSpec, Transcript,
};
use plimsoll_catalog::CacheMapping;
use plimsoll_testkit::provider::Speaks;
use serde_json::{Value, json};

use crate::support::{ALL, image, provider_id, route, weather};

fn call(id: &str) -> Item {
    Item::Call(ToolCall {
        id: id.into(),
        name: "weather".into(),
        arguments: r#"{"unit": "c",  "city":"Kiel"}"#.into(),
        extra: None,
    })
}

fn result(id: &str) -> Row {
    Row::Results(vec![ToolResult {
        call: id.into(),
        text: "sunny".into(),
        failed: false,
    }])
}

fn sealed(speaks: Speaks) -> Item {
    Item::Reasoning(Reasoning {
        text: "hm".into(),
        by: format!("{}/m", provider_id(speaks)),
        seal: Some(match speaks {
            Speaks::Responses => Seal::Encrypted {
                id: "rs_1".into(),
                content: "xxx".into(),
            },
            Speaks::Chat(_) | Speaks::Messages => Seal::Signature {
                signature: "xxx".into(),
            },
        }),
    })
}

fn rows(speaks: Speaks) -> Vec<Row> {
    vec![
        Row::User(vec![Part::text("How is the weather?"), Part::Image(image())]),
        Row::Assistant(vec![sealed(speaks), Item::text("I look."), call("a")]),
        result("a"),
        Row::Assistant(vec![Item::text("Sunny.")]),
        Row::User(vec![Part::text("And tomorrow?")]),
    ]
}

fn request(rows: Vec<Row>, clock: Option<&str>) -> Request {
    let mut transcript = Transcript::new("Be brief.");
    for row in rows {
        transcript.push(row);
    }
    if let Some(clock) = clock {
        transcript.begin_dynamic().unwrap();
        transcript.user(clock);
    }
    Request {
        tools: vec![weather()],
        cache_key: Some("root".into()),
        ..Request::new("m", transcript)
    }
}

fn body(route: &Route, request: &Request) -> String {
    String::from_utf8(route.body(request).unwrap()).unwrap()
}

fn common(one: &str, two: &str) -> usize {
    one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b).count()
}

fn marked(speaks: Speaks) -> Route {
    let mut route = route(speaks, "http://127.0.0.1:1");
    if matches!(speaks, Speaks::Responses) || provider_id(speaks) == "openai-chat" {
        route.dialect.cache = CacheMapping::OpenaiBreakpoints;
    }
    route
}

/// The committed bytes: whoever renders this conversation on whatever day in whatever process gets these.
#[test]
fn the_bytes_of_a_conversation_are_these() {
    for speaks in ALL {
        let sent = body(&marked(speaks), &request(rows(speaks), Some("It is noon.")));
        insta::assert_snapshot!(format!("{}", provider_id(speaks)), sent);
    }
}

#[test]
fn a_restart_changes_no_byte() {
    for speaks in ALL {
        let before = body(&marked(speaks), &request(rows(speaks), None));
        let kept: Vec<String> = rows(speaks)
            .iter()
            .map(|row| serde_json::to_string(row).unwrap())
            .collect();
        let restored = kept
            .iter()
            .map(|row| serde_json::from_str(row).unwrap())
            .collect();
        assert_eq!(
            body(&marked(speaks), &request(restored, None)),
            before,
            "{speaks:?}"
        );
    }
}

#[test]
fn a_schema_in_another_order_changes_no_byte() {
    let reordered = ToolSpec {
        parameters: json!({
            "required": ["city"],
            "properties": {"unit": {"enum": ["c", "a"], "type": "string"}, "city": {"type": "string"}},
            "type": "object",
        }),
        ..weather()
    };
    for speaks in ALL {
        let mut other = request(rows(speaks), None);
        other.tools = vec![reordered.clone()];
        assert_eq!(
            body(&marked(speaks), &other),
            body(&marked(speaks), &request(rows(speaks), None))
        );
    }
}

#[test]
fn another_clock_changes_nothing_before_the_marker() {
    for speaks in ALL {
        let noon = body(&marked(speaks), &request(rows(speaks), Some("It is noon.")));
        let night = body(&marked(speaks), &request(rows(speaks), Some("It is night.")));
        let same = common(&noon, &night);
        let clock = noon.find("It is noon.").unwrap();
        assert!(same >= clock, "{speaks:?}: {same} bytes of {clock}");
        assert!(
            noon[..clock].contains("And tomorrow?"),
            "{speaks:?}: the question is before it"
        );
    }
}

/// The next turn's request begins with this one's, up to the question, wherever no mark moves.
#[test]
fn a_turn_later_the_bytes_are_still_a_prefix() {
    for speaks in ALL {
        let mut at = marked(speaks);
        at.dialect.cache = CacheMapping::None;
        let now = body(&at, &request(rows(speaks), None));
        let mut later = rows(speaks);
        later.push(Row::Assistant(vec![Item::text("Rain.")]));
        later.push(Row::User(vec![Part::text("Oh.")]));
        let later = body(&at, &request(later, None));
        let question = now.find("And tomorrow?").unwrap();
        assert!(common(&now, &later) > question, "{speaks:?}");
    }
}

/// Where the marks stand, as paths.
fn marks(value: &Value, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    walk(value, name, "", &mut found);
    found
}

fn walk(value: &Value, name: &str, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if fields.get(name).is_some_and(Value::is_object) {
                found.push(path.to_owned());
            }
            for (field, value) in fields {
                walk(value, name, &format!("{path}/{field}"), found);
            }
        }
        Value::Array(values) => {
            for (n, value) in values.iter().enumerate() {
                walk(value, name, &format!("{path}/{n}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

struct Shape {
    name: &'static str,
    system: &'static str,
    tools: bool,
    rows: Vec<Row>,
    dynamic: bool,
    /// Of Anthropic's marks.
    marks: &'static [&'static str],
    /// Of OpenAI's breakpoint on Responses; the instructions are item 0 where there are any.
    breakpoint: &'static [&'static str],
}

#[expect(clippy::too_many_lines, reason = "one line of data after the other")]
fn shapes() -> Vec<Shape> {
    let user = |text: &str| Row::User(vec![Part::text(text)]);
    let said = |text: &str| Row::Assistant(vec![Item::text(text)]);
    let thought = || sealed(Speaks::Messages);
    let shape = |name, rows, marks, breakpoint| Shape {
        name,
        system: "s",
        tools: false,
        rows,
        dynamic: false,
        marks,
        breakpoint,
    };
    vec![
        shape(
            "one question",
            vec![user("a")],
            &["/messages/0/content/0", "/system/0"],
            &["/input/1/content/0"],
        ),
        shape(
            "a conversation",
            vec![user("a"), said("b"), user("c")],
            &["/messages/2/content/0", "/system/0"],
            &["/input/3/content/0"],
        ),
        shape(
            "a tool-only turn",
            vec![user("a"), Row::Assistant(vec![call("x")]), result("x")],
            &["/messages/2/content/0", "/system/0"],
            &["/input/3/output/0"],
        ),
        shape(
            "two calls at once",
            vec![
                user("a"),
                Row::Assistant(vec![call("x"), call("y")]),
                result("x"),
                result("y"),
            ],
            &["/messages/2/content/1", "/system/0"],
            &["/input/5/output/0"],
        ),
        shape(
            "a call whose result never came",
            vec![user("a"), Row::Assistant(vec![call("x")])],
            &["/messages/2/content/0", "/system/0"],
            &["/input/3/output/0"],
        ),
        shape(
            "thoughts before a call",
            vec![user("a"), Row::Assistant(vec![thought(), call("x")]), result("x")],
            &["/messages/2/content/0", "/system/0"],
            &["/input/3/output/0"],
        ),
        shape(
            "a thinking-only turn",
            vec![user("a"), Row::Assistant(vec![thought()]), user("b")],
            &["/messages/0/content/0", "/system/0"],
            &["/input/1/content/0"],
        ),
        shape(
            "an image at the end",
            vec![Row::User(vec![Part::text("a"), Part::Image(image())])],
            &["/messages/0/content/1", "/system/0"],
            &["/input/1/content/0"],
        ),
        shape(
            "an image alone",
            vec![Row::User(vec![Part::Image(image())])],
            &["/messages/0/content/0", "/system/0"],
            &["/input/0/content/0"],
        ),
        Shape {
            dynamic: true,
            ..shape(
                "a clock after the question",
                vec![user("a")],
                &["/messages/0/content/0", "/system/0"],
                &["/input/1/content/0"],
            )
        },
        Shape {
            dynamic: true,
            ..shape(
                "a clock after an answer",
                vec![user("a"), said("b")],
                &["/messages/1/content/0", "/system/0"],
                &["/input/1/content/0"],
            )
        },
        Shape {
            system: "",
            tools: true,
            ..shape(
                "tools and no instructions",
                vec![user("a")],
                &["/messages/0/content/0", "/tools/0"],
                &["/input/0/content/0"],
            )
        },
        Shape {
            system: "",
            dynamic: true,
            ..shape("nothing that lasts", vec![], &[], &[])
        },
    ]
}

#[test]
fn cache_marks_land_on_the_right_block() {
    for Shape {
        name,
        system,
        tools,
        rows,
        dynamic,
        marks: expected,
        breakpoint,
    } in shapes()
    {
        let mut transcript = Transcript::new(system);
        for row in rows {
            transcript.push(row);
        }
        if dynamic {
            transcript.begin_dynamic().unwrap();
            transcript.user("It is noon.");
        }
        let request = Request {
            tools: if tools { vec![weather()] } else { Vec::new() },
            ..Request::new("m", transcript)
        };
        let sent: Value = serde_json::from_str(&body(&marked(Speaks::Messages), &request)).unwrap();
        let mut found = marks(&sent, "cache_control");
        found.sort();
        assert_eq!(found, expected, "{name}: {sent}");
        let sent: Value = serde_json::from_str(&body(&marked(Speaks::Responses), &request)).unwrap();
        assert_eq!(
            marks(&sent, "prompt_cache_breakpoint"),
            breakpoint,
            "{name}: {sent}"
        );
        assert_eq!(sent["prompt_cache_options"]["mode"], "explicit", "{name}");
    }
}
