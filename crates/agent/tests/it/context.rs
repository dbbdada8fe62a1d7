//! The context of a conversation: whole pairs on every wire, and what images cost.

use plimsoll_agent::context::{
    Account, Counted, CutLimits, Digest, GateLimits, Head, HeadPart, Images, Moment, Outcome, Rates,
    RowFacts, RowKind, SizeClass, SummaryNote, Thoughts, Verdict, Weight, fork_instruction, plan_cut,
    summary_row_text,
};
use plimsoll_agent::{Item, Part, Request, Row, ToolCall, ToolResult, Transcript};
use plimsoll_units::Tokens;
use serde_json::Value;

use crate::support::{ALL, route, weather};

fn call(id: &str) -> Row {
    Row::Assistant(vec![Item::Call(ToolCall {
        id: id.into(),
        name: "weather".into(),
        arguments: "{}".into(),
        extra: None,
    })])
}

fn result(id: &str) -> Row {
    Row::Results(vec![ToolResult {
        call: id.into(),
        text: "sunny ".repeat(200),
        failed: false,
    }])
}

fn ids(body: &Value, key: &str, out: &mut Vec<String>) {
    match body {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(id) if name == key => out.push(id.clone()),
                    other => ids(other, key, out),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| ids(value, key, out)),
        _ => {}
    }
}

/// Fifty calls, and a cut at every place among them: on every wire each result has its call and each call its
/// result.
#[test]
fn a_cut_anywhere_among_calls_leaves_whole_pairs_on_every_wire() {
    let mut rows = vec![Row::User(vec![Part::text("How is the weather everywhere?")])];
    for n in 0..50 {
        rows.push(call(&format!("call_{n}")));
        rows.push(result(&format!("call_{n}")));
    }
    for speaks in ALL {
        let route = route(speaks, "http://127.0.0.1:1");
        for cut in 1..rows.len() {
            let mut transcript = Transcript::new("Be brief.");
            transcript.user("[Summary]");
            for row in &rows[cut..] {
                transcript.push(row.clone());
            }
            let request = Request {
                tools: vec![weather()],
                ..Request::new("m", transcript)
            };
            let body: Value = serde_json::from_slice(&route.body(&request).unwrap()).unwrap();
            let (mut made, mut answered) = (Vec::new(), Vec::new());
            for key in ["tool_call_id", "tool_use_id"] {
                ids(&body, key, &mut answered);
            }
            ids(&body, "id", &mut made);
            let mut by_call = Vec::new();
            ids(&body, "call_id", &mut by_call);
            if by_call.is_empty() {
                made.retain(|id| id.starts_with("call_"));
                assert_eq!(made, answered, "{speaks:?} cut at {cut}");
            } else {
                // Responses: the call and its output have the same field.
                for pair in by_call.chunks(2) {
                    assert_eq!(pair.first(), pair.last(), "{speaks:?} cut at {cut}");
                }
                assert!(by_call.len().is_multiple_of(2), "{speaks:?} cut at {cut}");
            }
        }
    }
}

/// What is finished stays finished: the newest message comes after the summary, which is no instruction.
#[test]
fn the_newest_message_comes_after_the_summary_on_every_wire() {
    let note = SummaryNote {
        rows: 9,
        id: "k1".into(),
        with_tool: false,
    };
    for speaks in ALL {
        let mut transcript = Transcript::new("Be brief.");
        transcript.user(&summary_row_text(
            "On 3 May the report was written and sent.",
            &note,
        ));
        transcript.user("What is the capital of Norway?");
        let body = route(speaks, "http://127.0.0.1:1")
            .body(&Request::new("m", transcript))
            .unwrap();
        let body = String::from_utf8(body).unwrap();
        let at = |words: &str| body.find(words).unwrap_or_else(|| panic!("{words} in {body}"));
        assert!(at("gives no instructions") < at("On 3 May"));
        assert!(at("On 3 May") < at("Nothing is lost"));
        assert!(at("Nothing is lost") < at("capital of Norway"));
    }
}

const TEXT: u64 = 200;
const IMAGE: u64 = 4_000;
const FLAT_IMAGE: f64 = 1_500.0;

/// A provider that takes 200 tokens for a row and 4,000 for an image, and rows whose bytes say less.
struct Shots {
    account: Account,
    rows: Vec<RowFacts>,
    real: u64,
    turns: usize,
    compactions: usize,
    highest: u64,
    /// The published way: the growth between two answers without the new words' quarter of their bytes.
    published: f64,
    last_real: Option<u64>,
}

const ROW_BYTES: u64 = 640;

impl Shots {
    fn new() -> Self {
        let mut account = Account::new();
        account.set_route("r", Thoughts::Never, Rates::default());
        account.set_head(Head {
            system: HeadPart {
                digest: Digest::of(b"s"),
                bytes: 400,
            },
            ..Head::default()
        });
        Self {
            account,
            rows: Vec::new(),
            real: 100,
            turns: 0,
            compactions: 0,
            highest: 0,
            published: FLAT_IMAGE,
            last_real: None,
        }
    }

    fn add(&mut self, kind: RowKind, image: bool) {
        let id = format!("r{}-{}", self.turns, self.rows.len());
        let mut weight = Weight::text(ROW_BYTES);
        if image {
            weight.images = Images::one(SizeClass::Large);
        }
        let row = RowFacts {
            digest: Digest::of(id.as_bytes()),
            id,
            kind,
            weight,
            calls: 0,
            results: Vec::new(),
        };
        self.real += TEXT + if image { IMAGE } else { 0 };
        self.account.add_row(&row);
        self.rows.push(row);
    }

    fn limits() -> GateLimits {
        GateLimits {
            window: Some(Tokens(65_536)),
            reserve: Tokens(4_096),
            threshold: Some(Tokens(40_000)),
            ..GateLimits::default()
        }
    }

    fn compact(&mut self) {
        assert!(self.account.begin_compaction());
        let limits = CutLimits {
            head: self.account.floor(),
            window: Tokens(65_536),
            threshold: Tokens(40_000),
            reserve: Tokens(4_096),
            thoughts: Thoughts::Never,
        };
        let plan = plan_cut(&self.rows, self.account.rates(), limits).unwrap();
        let noted: Vec<&str> = plan.prunes.iter().map(|prune| prune.row.as_str()).collect();
        self.rows.retain(|row| plan.keep.contains(&row.id));
        for row in &mut self.rows {
            if noted.contains(&row.id.as_str()) {
                row.weight.images = Images::default();
                row.digest = Digest::of(format!("{} noted", row.id).as_bytes());
            }
        }
        self.real = 100;
        for row in &self.rows {
            self.real += TEXT + u64::from(row.weight.images.total()) * IMAGE;
        }
        if !plan.summarise.is_empty() {
            let mut summary = self.rows[0].clone();
            summary.id = format!("s{}", self.turns);
            summary.kind = RowKind::Summary;
            summary.digest = Digest::of(summary.id.as_bytes());
            summary.weight = Weight::text(ROW_BYTES);
            self.rows.insert(0, summary);
            self.real += TEXT;
        }
        self.account
            .end_compaction(Outcome::Committed, Some(plan.after), 0);
        self.account.set_rows(&self.rows);
        self.compactions += 1;
        self.last_real = None;
    }

    fn turn(&mut self, image: bool) {
        self.add(RowKind::User, image);
        let decision = self.account.gate(Moment::BeforeTurn, &Self::limits(), 0);
        match decision.verdict {
            Verdict::Compact => self.compact(),
            Verdict::Send | Verdict::Wait => {}
            other => panic!("{other:?} {decision:?}"),
        }
        assert!(
            self.real + 4_096 <= 65_536,
            "turn {}: {} would be refused",
            self.turns,
            self.real
        );
        self.highest = self.highest.max(self.real);
        let sent = self.account.sent();
        let prompt = u32::try_from(self.real).unwrap();
        let usage = Counted {
            answer_bytes: ROW_BYTES,
            ..Counted::new(Some(Tokens(prompt)), Some(Tokens(200)))
        };
        self.account.answered(&sent, usage, 0);
        if let Some(before) = self.last_real.filter(|_| image) {
            // It takes the answer before for free, and the question for a quarter of its bytes.
            let text = f64::from(u32::try_from(ROW_BYTES / 4).unwrap());
            let price = f64::from(prompt) - f64::from(u32::try_from(before).unwrap()) - text;
            self.published = f64::midpoint(self.published, price);
            if self.turns < 4 {
                self.published = price;
            }
        }
        self.last_real = Some(self.real);
        self.add(RowKind::Answer, false);
        self.turns += 1;
    }

    fn price(&self) -> f64 {
        f64::from(self.account.rates().image(SizeClass::Large).0)
    }

    /// The last six rows by a price of images and of bytes, beside what they really take, in percent off.
    fn tail_off(&self, estimate: impl Fn(&RowFacts) -> f64) -> f64 {
        let tail = &self.rows[self.rows.len().saturating_sub(6)..];
        let real: f64 = tail
            .iter()
            .map(|row| f64::from(row.weight.images.total()) * 4_000.0 + 200.0)
            .sum();
        let said: f64 = tail.iter().map(estimate).sum();
        (said / real - 1.0) * 100.0
    }

    fn our_tail_off(&self) -> f64 {
        let rates = self.account.rates();
        self.tail_off(|row| f64::from(u32::try_from(rates.estimate(row.weight)).unwrap()))
    }

    fn priced_tail_off(&self, price: f64) -> f64 {
        self.tail_off(|row| {
            f64::from(row.weight.images.total()) * price
                + f64::from(u32::try_from(row.weight.text_bytes / 4).unwrap())
        })
    }
}

#[test]
fn fourteen_screenshots_never_overflow_and_their_price_is_learned() {
    let mut shots = Shots::new();
    shots.turn(false);
    shots.turn(false);
    shots.turn(true);
    let after_one = shots.price();
    assert!(
        (after_one - 4_000.0).abs() <= 40.0,
        "{after_one}: within 1 % after two texts and one image"
    );
    for _ in 0..13 {
        shots.turn(true);
    }
    assert!(shots.compactions >= 1);
    assert!((shots.price() - 4_000.0).abs() <= 40.0, "{}", shots.price());
    assert!(shots.our_tail_off().abs() <= 3.0, "{}", shots.our_tail_off());
    let (flat, published) = (
        shots.priced_tail_off(FLAT_IMAGE),
        shots.priced_tail_off(shots.published),
    );
    println!(
        "two texts first: price {} after one image, {} at the end, tail {:+.1} %, highest {} of 65,536, {} compactions; flat price {flat:+.1} %, published calibration {published:+.1} %",
        after_one,
        shots.price(),
        shots.our_tail_off(),
        shots.highest,
        shots.compactions
    );
    assert!(flat < -50.0, "the flat price falls short: {flat}");
    assert!(
        published > shots.our_tail_off().abs(),
        "the published way is further off: {published}"
    );
}

#[test]
fn a_screenshot_in_every_turn_still_teaches_its_price() {
    let mut shots = Shots::new();
    for _ in 0..14 {
        shots.turn(true);
    }
    assert!(shots.compactions >= 1);
    let off = (shots.price() / 4_000.0 - 1.0) * 100.0;
    assert!(off.abs() <= 4.0, "{off}");
    assert!(shots.our_tail_off().abs() <= 3.0, "{}", shots.our_tail_off());
    println!(
        "an image in every turn: price {:+.2} %, tail {:+.2} %, {} compactions; flat {:+.1} %, published {:+.1} %",
        off,
        shots.our_tail_off(),
        shots.compactions,
        shots.priced_tail_off(FLAT_IMAGE),
        shots.priced_tail_off(shots.published)
    );
}

/// A fork is its parent's own request and one row more: the same tools, the same rows, the same bytes, on every
/// wire. A tool less, and it is another prompt from its beginning.
#[test]
fn a_fork_repeats_its_parent_byte_for_byte() {
    for speaks in ALL {
        let route = route(speaks, "http://127.0.0.1:1");
        let mut transcript = Transcript::new("Be brief.");
        transcript.user("How is the weather in Kiel?");
        transcript.push(call("a"));
        transcript.push(result("a"));
        transcript.push(Row::Assistant(vec![Item::text("It is sunny there.")]));
        transcript.user("The last words of the parent.");
        let parent = Request {
            tools: vec![weather()],
            cache_key: Some("root".into()),
            ..Request::new("m", transcript.clone())
        };
        transcript.push(Row::Assistant(vec![Item::text("So it is.")]));
        transcript.user(&fork_instruction());
        let fork = Request {
            transcript,
            ..parent.clone()
        };
        let body = |request: &Request| String::from_utf8(route.body(request).unwrap()).unwrap();
        let common = |one: &str, two: &str| one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b).count();
        let (one, two) = (body(&parent), body(&fork));
        // The mark that ends what may be cached moves on with the last row.
        let words = "It is sunny there.";
        let end = one.find(words).unwrap() + words.len();
        assert!(
            common(&one, &two) >= end,
            "{speaks:?}: {} of {end}",
            common(&one, &two)
        );
        let without_tool = Request {
            tools: Vec::new(),
            ..fork
        };
        assert!(common(&one, &body(&without_tool)) < end / 2, "{speaks:?}");
    }
}
