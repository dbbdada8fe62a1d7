use crate::place::{Place, shape};

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
