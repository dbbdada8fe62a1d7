use plimsoll_testkit::TinyGguf;

use crate::place::{Place, text};

#[test]
fn nothing_asked_is_no_question() {
    let place = Place::fresh();
    for typed in [&["chat", "--json"][..], &["chat", "--json", "   "]] {
        assert_eq!(place.run(typed).fault()["code"], "badRequest", "{typed:?}");
    }
    assert_eq!(
        place.run_with_input(&["chat", "--json"], " \n\n").fault()["code"],
        "badRequest"
    );
}

#[test]
fn without_an_engine_or_a_model_the_way_there_is_told() {
    let place = Place::fresh();
    let no_model = place.run(&["chat", "hello"]);
    assert_eq!(no_model.code, 1, "{no_model:?}");
    assert!(no_model.err.contains("  > "), "{}", no_model.err);

    let file = place.file("a model.gguf", TinyGguf::llama().bytes());
    let id = place.run(&["import", text(&file), "--json"]).reply()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    for typed in [
        &["chat", "--model", &id, "--json", "hello"][..],
        &["ask", "--check", "--model", &id, "--json"],
        &["serve", &id, "--json"],
        &["serve", "--json"],
    ] {
        let ran = place.run(typed);
        assert_eq!(ran.code, 1, "{typed:?}: {ran:?}");
        let last = ran.err.lines().last().unwrap_or_default();
        let fault: serde_json::Value =
            serde_json::from_str(last).unwrap_or_else(|why| panic!("{why}: {ran:?}"));
        assert_eq!(fault["code"], "noEngine", "{typed:?}: {ran:?}");
    }
}
