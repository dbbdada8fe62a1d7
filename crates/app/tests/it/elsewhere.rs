//! Models of other programs and of named folders, and what lies here twice.

use plimsoll_os::files;
use plimsoll_testkit::TinyGguf;
use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_wire::{Event, FaultCode};
use serde_json::{Value, json};

use crate::place::{Place, until};

fn tiny() -> Vec<u8> {
    TinyGguf::llama().named("Tiny Boat").bytes()
}

async fn listed(place: &Place) -> Vec<Value> {
    place.call("models/list", json!({})).await["models"]
        .as_array()
        .unwrap()
        .clone()
}

/// What `ollama pull` leaves in a person's home.
fn ollama(place: &Place, bytes: &[u8]) -> String {
    let sha256 = FakeFile::lfs(bytes.to_vec()).sha256().to_owned();
    let blob = place.deep_file(&format!("person/.ollama/models/blobs/sha256-{sha256}"), bytes);
    place.deep_file(
        "person/.ollama/models/manifests/registry.ollama.ai/library/boat/tiny",
        format!(
            r#"{{"layers":[{{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{sha256}","size":{}}}]}}"#,
            bytes.len()
        )
        .as_bytes(),
    );
    blob
}

#[tokio::test]
async fn models_of_other_programs_are_listed_planned_and_left_alone() {
    let place = Place::offline().await;
    let blob = ollama(&place, &tiny());
    place.deep_file(
        "person/.lmstudio/models/fleet/Tiny-GGUF/tiny-F32.gguf",
        &TinyGguf::llama().bytes(),
    );
    let models = listed(&place).await;
    let shown: Vec<_> = models
        .iter()
        .map(|model| {
            (
                model["id"].as_str().unwrap(),
                model["keeper"].as_str(),
                model["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (
                "lmstudio:fleet/Tiny-GGUF/tiny-F32.gguf",
                Some("lmStudio"),
                "ready"
            ),
            ("ollama:boat:tiny", Some("ollama"), "ready")
        ]
    );
    assert_eq!(
        (&models[1]["name"], &models[1]["path"]),
        (&json!("Tiny Boat"), &json!(blob))
    );
    assert_eq!(models[1]["plan"]["verdict"], json!("fits"));
    let library = place.call("models/list", json!({})).await;
    assert_eq!(library["usedBytes"], json!(0), "they are not ours");
    let plan = place
        .call("plan/make", json!({"model": "ollama:boat:tiny"}))
        .await;
    assert_eq!(plan["model"]["architecture"], json!("llama"));

    let verified = place
        .call("models/verify", json!({"id": "ollama:boat:tiny"}))
        .await;
    assert_eq!(
        verified,
        json!({"id": "ollama:boat:tiny", "damaged": [], "unpinned": []})
    );
    let refused = place
        .fault("models/remove", json!({"id": "ollama:boat:tiny"}))
        .await;
    assert_eq!(refused.code, FaultCode::ModelNotOurs);
    assert!(!refused.fixes.is_empty());
    assert_eq!(std::fs::read(&blob).unwrap(), tiny());

    let folders = place.call("folders/read", json!({})).await;
    let keepers: Vec<_> = folders["others"]
        .as_array()
        .unwrap()
        .iter()
        .map(|other| &other["keeper"])
        .collect();
    assert_eq!(keepers, [&json!("lmStudio"), &json!("ollama")]);
}

#[tokio::test]
async fn a_folder_is_named_used_and_forgotten() {
    let mut place = Place::offline().await;
    let file = place.deep_file("mine/a model.gguf", &tiny());
    let folder = file.strip_suffix("/a model.gguf").unwrap().to_owned();
    let mut heard = place.app.hear();
    let folders = place.call("folders/add", json!({"path": folder})).await;
    until(&mut heard, |event| {
        matches!(event, Event::LibraryChanged).then_some(())
    })
    .await;
    assert_eq!(folders["others"][0]["models"], json!(1));
    let id = format!("folder:{file}");
    assert_eq!(listed(&place).await[0]["id"], json!(id));
    place.restart().await;
    assert_eq!(listed(&place).await[0]["id"], json!(id), "it is remembered");

    for wrong in ["/nowhere/at/all", file.as_str(), "", "hub"] {
        let refused = place.fault("folders/add", json!({"path": wrong})).await;
        assert_eq!(refused.code, FaultCode::FolderUnusable, "{wrong}");
    }
    files::remove_file(std::path::Path::new(&file)).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    place.restart().await;
    let folders = place.call("folders/read", json!({})).await;
    assert_eq!(
        folders["others"][0]["problems"][0]["code"],
        json!("folderGone"),
        "{folders}"
    );
    assert!(listed(&place).await.is_empty());

    place.call("folders/remove", json!({"path": folder})).await;
    assert_eq!(place.call("folders/read", json!({})).await["others"], json!([]));
    let refused = place.fault("folders/remove", json!({"path": folder})).await;
    assert_eq!(refused.code, FaultCode::NotFound);
}

#[tokio::test]
async fn a_file_of_the_right_name_and_another_length_is_not_the_catalogs_model() {
    let place = Place::offline().await;
    let catalog = plimsoll_catalog::Catalog::packaged().unwrap();
    let model = catalog.models().next().unwrap();
    let file = &model.variants[0].files[0];
    let path = format!("{}/{}", file.repo, file.path);
    place.deep_file(&format!("person/.lmstudio/models/{path}"), &tiny());
    let models = listed(&place).await;
    assert_eq!(models[0]["id"], json!(format!("lmstudio:{path}")));
    let library = place.call("models/list", json!({})).await;
    let entries = library["catalog"].as_array().unwrap();
    let entry = entries
        .iter()
        .find(|entry| entry["id"] == json!(model.id))
        .unwrap();
    assert_eq!(entry["variants"][0]["state"], json!("absent"));
}

#[tokio::test]
async fn copies_are_found_by_name_and_by_hash_with_what_they_cost() {
    let mut place = Place::offline().await;
    ollama(&place, &tiny());
    let copy = place.deep_file("person/.lmstudio/models/fleet/Tiny-GGUF/tiny.gguf", &tiny());
    let before = place.call("models/duplicates", json!({})).await;
    assert_eq!(
        (&before["same"], &before["openFiles"]),
        (&json!([]), &json!(1)),
        "{before}"
    );
    let mut heard = place.app.hear();
    place.call("models/duplicates", json!({"compare": true})).await;
    until(&mut heard, |event| {
        matches!(event, Event::LibraryChanged).then_some(())
    })
    .await;
    let after = place.call("models/duplicates", json!({})).await;
    let size = tiny().len();
    assert_eq!(
        (&after["savableBytes"], &after["openFiles"], &after["comparing"]),
        (&json!(size), &json!(0), &Value::Null)
    );
    let ids: Vec<_> = after["same"][0]["copies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|copy| &copy["model"])
        .collect();
    assert_eq!(
        ids,
        [
            &json!("lmstudio:fleet/Tiny-GGUF/tiny.gguf"),
            &json!("ollama:boat:tiny")
        ]
    );
    place.restart().await;
    let again = place.call("models/duplicates", json!({})).await;
    assert_eq!(again["savableBytes"], json!(size), "hashes are remembered");
    files::replace(
        std::path::Path::new(&copy),
        &TinyGguf::llama().named("Tiny Barge").bytes(),
    )
    .unwrap();
    let changed = place.call("models/duplicates", json!({})).await;
    assert_eq!(changed["same"], json!([]), "and not believed of another file");
}

#[tokio::test]
async fn a_split_model_with_a_part_missing_is_completed_by_one_click() {
    let hub = FakeHub::start().await;
    let splits = TinyGguf::llama().splits("tiny", 3);
    let files: Vec<(&str, FakeFile)> = splits
        .iter()
        .map(|(name, bytes)| (name.as_str(), FakeFile::lfs(bytes.clone())))
        .collect();
    let _ = hub.commit("fleet/Split-GGUF", &files);
    let place = Place::with_hub(&hub.endpoint()).await;
    let id = "fleet/Split-GGUF/tiny-00001-of-00003.gguf";
    let pull = async || {
        let mut heard = place.app.hear();
        place.call("models/pull", json!({ "model": id })).await;
        until(&mut heard, |event| {
            matches!(event, Event::LibraryChanged).then_some(())
        })
        .await;
    };
    pull().await;
    let model = listed(&place).await.remove(0);
    assert_eq!((&model["id"], &model["state"]), (&json!(id), &json!("ready")));
    let third = model["path"].as_str().unwrap().replace("00001-of", "00003-of");
    files::remove_file(&std::fs::canonicalize(third).unwrap()).unwrap();
    let model = listed(&place).await.remove(0);
    assert_eq!(
        (&model["state"], &model["missing"], &model["fault"]["code"]),
        (
            &json!("incomplete"),
            &json!(["tiny-00003-of-00003.gguf"]),
            &json!("modelFileMissing")
        )
    );
    let refused = place.fault("router/load", json!({ "model": id })).await;
    assert_eq!(refused.code, FaultCode::ModelFileMissing);
    let sent = hub.sent();
    pull().await;
    assert_eq!(
        hub.sent() - sent,
        splits[2].1.len() as u64,
        "only the part that was missing"
    );
    assert_eq!(listed(&place).await[0]["state"], json!("ready"));
}

#[tokio::test]
async fn a_library_is_moved_used_at_its_new_place_and_moved_back() {
    let mut place = Place::offline().await;
    let file = place.file("boat.gguf", &tiny());
    let id = place.call("models/import", json!({"path": file})).await["id"].clone();
    let usual = place.call("folders/read", json!({})).await["library"]
        .as_str()
        .unwrap()
        .to_owned();
    let there = place.deep_file("disk/marker", b"x").replace("/marker", "/models");
    let moved = async |place: &Place, to: &str| {
        let mut heard = place.app.hear();
        let started = place.call("folders/move", json!({"path": to})).await;
        assert_eq!(started["id"], json!("moveLibrary"));
        let ended = until(&mut heard, |event| match event {
            Event::TransferMoved { transfer }
                if transfer.id == "moveLibrary"
                    && !matches!(
                        transfer.state,
                        plimsoll_wire::Transferring::Running | plimsoll_wire::Transferring::Checking
                    ) =>
            {
                Some(transfer)
            }
            _ => None,
        })
        .await;
        assert_eq!(ended.state, plimsoll_wire::Transferring::Done, "{ended:?}");
    };
    moved(&place, &there).await;
    let models = listed(&place).await;
    assert_eq!(models[0]["id"], id);
    assert!(
        models[0]["path"].as_str().unwrap().starts_with(&there),
        "{models:?}"
    );
    place.restart().await;
    let folders = place.call("folders/read", json!({})).await;
    assert_eq!(
        (&folders["library"], &folders["missing"]),
        (&json!(there), &json!(false))
    );
    assert_eq!(listed(&place).await[0]["id"], id);
    assert_eq!(
        place.call("models/verify", json!({"id": id})).await["damaged"],
        json!([])
    );
    let refused = place.fault("folders/move", json!({"path": there})).await;
    assert_eq!(refused.code, FaultCode::FolderUnusable, "it is there already");
    moved(&place, &usual).await;
    assert_eq!(
        place.call("folders/read", json!({})).await["library"],
        json!(usual)
    );
    assert_eq!(listed(&place).await[0]["state"], json!("ready"));
}
