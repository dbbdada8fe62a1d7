//! What lies elsewhere, what lies here twice, and what the hub has, from the terminal.

use std::process::Stdio;
use std::time::Duration;

use plimsoll_testkit::TinyGguf;
use plimsoll_units::Bytes;

use crate::place::{Place, Ran, text};

#[test]
fn a_folder_is_listed_and_forgotten_and_stays_as_it_is() {
    let place = Place::fresh();
    let file = place.file("mine/a model.gguf", TinyGguf::llama().bytes());
    let folder = file.parent().unwrap();
    let added = place.run(&["folder", "add", text(folder), "--json"]).reply();
    assert_eq!(added["others"][0]["models"], 1);
    let shown = place.run(&["folder", "list"]);
    assert!(shown.shown().contains(text(folder)), "{}", shown.out);
    let id = format!("folder:{}", file.display());
    let models = place.run(&["models", "--json"]).reply();
    assert_eq!(
        (&models["models"][0]["id"], &models["models"][0]["keeper"]),
        (&id.as_str().into(), &"folder".into())
    );
    let plan = place.run(&["plan", &id, "--json"]).reply();
    assert_eq!(plan["model"]["architecture"], "llama");
    assert_eq!(
        place.run(&["remove", &id, "--json"]).fault()["code"],
        "modelNotOurs"
    );
    assert!(file.exists());
    let left = place.run(&["folder", "remove", text(folder), "--json"]).reply();
    assert_eq!(left["others"], serde_json::json!([]));
    assert_eq!(
        place.run(&["folder", "add", "nowhere", "--json"]).fault()["code"],
        "folderUnusable"
    );
}

#[test]
fn folders_of_the_environment_are_listed() {
    let place = Place::fresh();
    let file = place.file("theirs/x.gguf", TinyGguf::llama().bytes());
    let mut command = place.command(&["models", "--json"]);
    command.env("PLIMSOLL_MODEL_FOLDERS", file.parent().unwrap());
    let models = crate::place::Ran::of(command).reply();
    assert_eq!(models["models"][0]["keeper"], "folder");
}

#[test]
fn copies_are_compared_on_request() {
    let place = Place::fresh();
    let bytes = TinyGguf::llama().bytes();
    place.file("one/a.gguf", &bytes);
    place.file("two/b.gguf", &bytes);
    for folder in ["one", "two"] {
        place
            .run(&["folder", "add", text(&place.path(folder)), "--json"])
            .reply();
    }
    let open = place.run(&["duplicates", "--json"]).reply();
    assert_eq!(
        (&open["openFiles"], &open["same"]),
        (&2.into(), &serde_json::json!([]))
    );
    let compared = place.run(&["duplicates", "--compare", "--json"]).reply();
    assert_eq!(compared["savableBytes"], bytes.len());
    let shown = place.run(&["duplicates"]);
    assert!(shown.shown().contains("b.gguf"), "{}", shown.out);
}

#[test]
fn without_a_hub_a_search_says_so() {
    let place = Place::fresh();
    assert_eq!(
        place.run(&["search", "qwen", "--json"]).fault()["code"],
        "hubOffline"
    );
    assert_eq!(
        place.run(&["search", "org/repo", "--json"]).fault()["code"],
        "hubOffline"
    );
}

#[test]
fn a_move_that_is_killed_again_and_again_loses_nothing() {
    let place = Place::fresh();
    let mut ids = Vec::new();
    for name in ["one", "two", "three"] {
        let bytes = TinyGguf::llama().named(name).padded(Bytes::mib(24)).bytes();
        let file = place.file(&format!("{name}.gguf"), bytes);
        let model = place.run(&["import", text(&file), "--json"]).reply();
        ids.push(model["id"].as_str().unwrap().to_owned());
        plimsoll_os::files::remove_file(&file).unwrap();
    }
    ids.sort();
    // Another volume where there is one.
    let shared = std::path::Path::new("/dev/shm");
    let here = place.path(".");
    let volume = if shared.is_dir() { shared } else { &here };
    let other = tempfile::Builder::new()
        .prefix("plimsoll-move")
        .tempdir_in(volume)
        .unwrap();
    let to = other.path().join("models");
    let listed = || {
        let library = place.run(&["models", "--json"]).reply();
        let models = library["models"].as_array().unwrap();
        let mut ids: Vec<String> = models
            .iter()
            .map(|model| model["id"].as_str().unwrap().to_owned())
            .collect();
        assert!(models.iter().all(|model| model["state"] == "ready"), "{library}");
        ids.sort();
        ids
    };
    let mut killed = 0;
    for pause in [60, 110, 160, 210, 260, 310, 360, 420] {
        let mut command = place.command(&["folder", "move", text(&to), "--json"]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        let ended = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(listed(), ids, "after {pause} ms");
        killed += usize::from(!ended);
        if ended {
            break;
        }
    }
    assert!(killed > 0, "nothing was killed in the middle");
    // The last one may have come to its end.
    if place.run(&["folder", "list", "--json"]).reply()["library"] != text(&to) {
        let moved = Ran::of(place.command(&["folder", "move", text(&to), "--json"]));
        assert_eq!(moved.code, 0, "{moved:?}");
    }
    let folders = place.run(&["folder", "list", "--json"]).reply();
    assert_eq!(folders["library"], text(&to));
    assert!(
        folders["movingTo"].is_null() && folders["missing"] == false,
        "{folders}"
    );
    assert_eq!(listed(), ids);
    for id in &ids {
        assert_eq!(
            place.run(&["verify", id, "--json"]).reply()["damaged"],
            serde_json::json!([])
        );
    }
    let left = std::fs::read_dir(place.path("hub")).unwrap().flatten();
    let left: Vec<_> = left
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("models--"))
        .collect();
    assert!(left.is_empty(), "{left:?}");

    // The disk is taken out: nothing is put where it should be.
    let away = other.path().join("away");
    #[expect(
        clippy::disallowed_methods,
        reason = "the test is the person who takes the disk out"
    )]
    std::fs::rename(&to, &away).unwrap();
    let gone = place.run(&["folder", "list", "--json"]).reply();
    assert_eq!(gone["missing"], true);
    let file = place.file("late.gguf", TinyGguf::llama().bytes());
    assert_eq!(
        place.run(&["import", text(&file), "--json"]).fault()["code"],
        "libraryGone"
    );
    assert!(!to.exists());
    #[expect(clippy::disallowed_methods, reason = "and puts it in again")]
    std::fs::rename(&away, &to).unwrap();
    assert_eq!(listed(), ids);
}
