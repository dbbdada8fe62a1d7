use crate::place::{Place, shape, text};

#[test]
fn the_reply_is_the_contracts_machine() {
    let machine = Place::fresh().run(&["probe", "--json"]).reply();
    // What the tester's machine is differs; that every number is there and has a source does not.
    let mut shown = shape(&machine);
    for differs in ["devices", "notes"] {
        shown.as_object_mut().unwrap().remove(differs).unwrap();
    }
    insta::assert_json_snapshot!(shown);
    assert!(
        machine["memory"]["totalBytes"].as_u64().unwrap()
            >= machine["memory"]["availableBytes"].as_u64().unwrap()
    );
    assert!(["discrete", "unified", "cpuOnly"].contains(&machine["class"].as_str().unwrap()));
    for device in machine["devices"].as_array().unwrap() {
        assert!(!device["source"].as_str().unwrap().is_empty(), "{device}");
    }
}

#[test]
fn a_person_gets_one_line_first() {
    let ran = Place::fresh().run(&["probe"]);
    let first = ran.shown().lines().next().unwrap();
    assert!(first.contains("RAM"), "{first}");
}

#[test]
fn what_was_recorded_is_judged_the_same_elsewhere() {
    let place = Place::fresh();
    let file = place.path("facts.json");
    let here = place.run(&["probe", "--record", text(&file), "--json"]).reply();
    let there = place.run(&["probe", "--facts", text(&file), "--json"]).reply();
    for part in ["cpu", "os", "devices", "class", "notes"] {
        assert_eq!(here[part], there[part], "{part}");
    }
    assert_eq!(here["memory"]["totalBytes"], there["memory"]["totalBytes"]);
    let facts = plimsoll_os::files::read_up_to(&file, plimsoll_units::Bytes::mib(4)).unwrap();
    let both = place.file("list.json", [b"[", &facts[..], b",", &facts[..], b"]"].concat());
    assert_eq!(
        place.run(&["probe", "--facts", text(&both), "--json"]).reply(),
        serde_json::json!([there, there])
    );
}

#[test]
fn facts_that_are_none() {
    let place = Place::fresh();
    let file = place.file("facts.json", "[1]");
    let fault = place.run(&["probe", "--facts", text(&file), "--json"]).fault();
    assert_eq!(
        (&fault["code"], fault["params"]["path"].as_str()),
        (&"machineFileBad".into(), file.to_str())
    );
    assert_eq!(
        place.run(&["probe", "--facts", "nowhere", "--json"]).fault()["code"],
        "readFailed"
    );
    assert_eq!(place.run(&["probe", "--facts", "a", "--record", "b"]).code, 2);
}
