use crate::place::{Place, text};

const FILE: &str = r#"{"schema": 1, "about": "A short talk", "steps": [
    {"do": "route", "route": "r"},
    {"do": "limits", "window": 128000, "threshold": 40000},
    {"do": "rows", "rows": [{"id": "q", "kind": "user", "bytes": 180000}]},
    {"do": "gate", "moment": "beforeTurn", "expect": {"verdict": "wait"}}
]}"#;

#[test]
fn a_written_conversation_is_played_for_programs_and_for_people() {
    let place = Place::fresh();
    let file = place.file("talk.json", FILE);
    let report = place.run(&["replay", text(&file), "--json"]).reply();
    assert_eq!(report["lines"][3]["decision"]["reason"], "roughWaits");
    assert_eq!(report["wrong"], 0);
    let ran = place.run(&["replay", text(&file)]);
    let shown = ran.shown();
    assert!(
        shown.contains("A short talk") && shown.contains("45,004 ± 22,502"),
        "{shown}"
    );
    assert!(shown.contains("an estimate alone never compacts"), "{shown}");
}

#[test]
fn what_decides_otherwise_ends_with_1() {
    let place = Place::fresh();
    let file = place.file("talk.json", FILE.replace("\"wait\"", "\"compact\""));
    let ran = place.run(&["replay", text(&file)]);
    assert_eq!(ran.code, 1);
    let broken = place.file("broken.json", "{}");
    assert_eq!(
        place.run(&["replay", text(&broken), "--json"]).fault()["code"],
        "badRequest"
    );
}

#[test]
fn where_nothing_was_said_there_is_no_context() {
    let place = Place::fresh();
    let ran = place.run(&["context"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("There is no conversation yet"), "{ran:?}");
    assert_eq!(
        place.run(&["context", "--plan", "--compact"]).code,
        2,
        "one thing at a time"
    );
    let fault = place.run(&["context", "no-such-id", "--json"]).fault();
    assert_eq!(fault["code"], "notFound");
}
