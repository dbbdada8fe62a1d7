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

#[test]
fn a_persons_own_numbers_count_until_they_are_taken_back() {
    let place = Place::fresh();
    let found = place.run(&["probe", "--json"]).reply();
    // Half of what is there: what other programs hold at the moment must fit, or nothing is left to plan with.
    let half = (found["memory"]["totalBytes"].as_u64().unwrap() >> 31).max(3);
    let memory = format!("memory={half}GiB");
    let set = [
        "probe",
        "--set",
        &memory,
        "--set",
        "reserve=1GiB",
        "--set",
        "bandwidth=12GB/s",
        "--json",
    ];
    let changed = place.run(&set).reply();
    let memory = &changed["memory"];
    assert_eq!(
        (&memory["totalBytes"], &memory["source"]),
        (&(half << 30).into(), &"you".into())
    );
    assert_eq!(
        memory["reserveBytes"],
        serde_json::json!({ "value": 1_u64 << 30, "source": "you" })
    );
    assert_eq!(memory["bandwidthBytesPerS"]["value"], 12_000_000_000_u64);
    // The next command knows it, a person sees it, and a plan counts with it.
    let shown = place.run(&["probe"]);
    assert!(shown.shown().contains("set by you"), "{}", shown.shown());
    let pick = place.run(&["recommend", "--json"]).reply();
    let plan = &pick["pick"]["plan"]["memory"]["host"];
    assert!(
        plan["budgetBytes"].as_u64().unwrap() <= (half - 1) << 30,
        "{plan}"
    );
    let back = place.run(&["probe", "--unset", "all", "--json"]).reply();
    assert_eq!(back["memory"]["totalBytes"], found["memory"]["totalBytes"]);
    assert_eq!(back["memory"]["source"], found["memory"]["source"]);
}

#[test]
fn a_number_that_cannot_be_is_refused() {
    let place = Place::fresh();
    assert_eq!(place.run(&["probe", "--set", "memory=16"]).code, 2);
    assert_eq!(place.run(&["probe", "--unset", "everything"]).code, 2);
    let fault = place.run(&["probe", "--set", "memory=0GiB", "--json"]).fault();
    assert_eq!(fault["code"], "badRequest");
    let fault = place
        .run(&["probe", "--set", "nothing.ignored=yes", "--json"])
        .fault();
    assert_eq!(fault["params"]["value"], "nothing");
}
