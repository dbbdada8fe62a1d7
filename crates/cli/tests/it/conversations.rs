use crate::place::{Place, text};

const DOCUMENT: &str = r#"{
  "format": "plimsoll/conversation", "version": 1, "title": "Hulls", "createdAt": 5, "updatedAt": 6,
  "settings": {"instructions": "Be brief."}, "shown": "d",
  "messages": [
    {"id": "a", "role": "user", "text": "What is a hull?", "createdAt": 5},
    {"id": "b", "parent": "a", "role": "assistant", "text": "A body that floats.", "createdAt": 5, "end": "complete"},
    {"id": "c", "role": "user", "text": "What is a keel?", "createdAt": 6},
    {"id": "d", "parent": "c", "role": "assistant", "text": "A spine.", "createdAt": 6, "end": "stopped"}
  ]
}"#;

#[test]
fn a_conversation_comes_in_is_found_read_and_leaves_again() {
    let place = Place::fresh();
    assert_eq!(
        place.run(&["conversation", "list"]).shown(),
        "No conversations.\n"
    );
    let file = place.file("hulls.json", DOCUMENT);
    let id = place
        .run(&["conversation", "import", text(&file), "--json"])
        .reply()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let end = &id[id.len() - 8..];
    let listed = place.run(&["conversation", "list"]);
    assert!(
        listed.shown().contains(end) && listed.shown().contains("Hulls"),
        "{listed:?}"
    );

    // Words on a branch that is not shown are found; what is shown is read.
    let found = place.run(&["conversation", "search", "FLOATS", "body"]);
    assert!(
        found.shown().contains(end) && found.shown().contains("A body that floats."),
        "{found:?}"
    );
    let nothing = place.run(&["conversation", "search", "submarine"]);
    assert_eq!(nothing.shown(), "No conversation holds all of these words.\n");
    let shown = place.run(&["conversation", "show", "last"]);
    assert_eq!(
        shown.shown(),
        "# Hulls\n\n## You\n\nWhat is a keel?\n\n## Answer\n\nA spine.\n"
    );

    let out = place.path("out.json");
    place.run(&["conversation", "export", end, text(&out)]).shown();
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(written["messages"].as_array().unwrap().len(), 4);
    assert_eq!(written["settings"]["instructions"], "Be brief.");

    place.run(&["conversation", "delete", end]).shown();
    assert_eq!(
        place.run(&["conversation", "list"]).shown(),
        "No conversations.\n"
    );
    assert!(
        place
            .run(&["conversation", "search", "floats", "--trash"])
            .shown()
            .contains(end)
    );
    place.run(&["conversation", "restore", end]).shown();
    assert!(place.run(&["conversation", "list"]).shown().contains(end));
    place.run(&["conversation", "delete", end]).shown();
    assert_eq!(
        place.run(&["conversation", "empty-trash", "--yes"]).shown(),
        "1 conversations removed.\n"
    );
    assert_eq!(
        place.run(&["conversation", "show", end, "--json"]).fault()["code"],
        "notFound"
    );
}

#[test]
fn what_is_no_conversation_is_not_taken_in() {
    let place = Place::fresh();
    for (name, content) in [("a.json", "{}"), ("b.json", "[1"), ("c.txt", "hello")] {
        let file = place.file(name, content);
        let fault = place
            .run(&["conversation", "import", text(&file), "--json"])
            .fault();
        assert_eq!(fault["code"], "conversationBad", "{name}");
    }
    let missing = place
        .run(&["conversation", "import", "nowhere.json", "--json"])
        .fault();
    assert_eq!(missing["code"], "readFailed");
}
