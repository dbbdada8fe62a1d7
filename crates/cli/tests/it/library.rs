use plimsoll_testkit::TinyGguf;

use crate::place::{Place, text};

#[test]
fn a_model_comes_in_is_checked_and_goes() {
    let place = Place::fresh();
    let file = place.file("a model.gguf", TinyGguf::llama().bytes());
    let model = place.run(&["import", text(&file), "--json"]).reply();
    let id = model["id"].as_str().unwrap();
    assert_eq!(
        (&model["state"], &model["architecture"]),
        (&"ready".into(), &"llama".into())
    );

    let library = place.run(&["models", "--json"]).reply();
    assert_eq!(library["models"][0]["id"], id);
    assert!(!library["catalog"].as_array().unwrap().is_empty());
    let shown = place.run(&["models"]);
    assert!(shown.shown().contains(id), "{}", shown.out);

    let plan = place.run(&["plan", id, "--json"]).reply();
    assert_eq!(plan["model"]["architecture"], "llama");

    let verified = place.run(&["verify", id, "--json"]).reply();
    assert_eq!(verified["damaged"], serde_json::json!([]));

    let removed = place.run(&["remove", id, "--json"]).reply();
    assert!(removed["freedBytes"].is_u64(), "{removed}");
    assert_eq!(
        place.run(&["models", "--json"]).reply()["models"],
        serde_json::json!([])
    );
    assert!(file.exists(), "the person's own file is theirs");
}

#[test]
fn what_is_no_model_does_not_come_in() {
    let place = Place::fresh();
    let file = place.file("text.gguf", "just some text, longer than a header");
    assert_eq!(
        place.run(&["import", text(&file), "--json"]).fault()["code"],
        "notGguf"
    );
    let missing = place.run(&["import", "nowhere.gguf", "--json"]).fault();
    assert!(
        ["modelFileMissing", "readFailed"].contains(&missing["code"].as_str().unwrap()),
        "{missing}"
    );
    assert_eq!(
        place.run(&["models", "--json"]).reply()["models"],
        serde_json::json!([])
    );
}

#[test]
fn a_name_that_is_nobodys() {
    let place = Place::fresh();
    for typed in [
        &["verify", "nobody", "--json"][..],
        &["remove", "nobody", "--json"],
        &["pull", "nobody", "--json"],
    ] {
        assert_eq!(place.run(typed).fault()["code"], "unknownModel", "{typed:?}");
    }
}

#[test]
fn without_a_hub_nothing_is_pulled_and_that_is_said() {
    let place = Place::fresh();
    let library = place.run(&["models", "--json"]).reply();
    let entry = library["catalog"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["licence"]["consent"] == false)
        .unwrap();
    let fault = place
        .run(&["pull", entry["id"].as_str().unwrap(), "--json"])
        .fault();
    assert_eq!(fault["code"], "hubOffline");
}
