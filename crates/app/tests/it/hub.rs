//! What the hub has, and what it would do here, before anything of it is fetched.

use plimsoll_testkit::TinyGguf;
use plimsoll_testkit::hub::{At, FakeFile, FakeHub, RepoFacts};
use plimsoll_units::Bytes;
use plimsoll_wire::{Event, FaultCode, Transferring};
use serde_json::{Value, json};

use crate::place::{Place, until};

const REPO: &str = "fleet/Boat-4B-GGUF";

async fn hub() -> FakeHub {
    let hub = FakeHub::start().await;
    let small = TinyGguf::llama().named("Boat").padded(Bytes::mib(3)).bytes();
    let large = TinyGguf::llama().named("Boat").padded(Bytes::mib(6)).bytes();
    let splits = TinyGguf::llama().padded(Bytes::mib(9)).splits("Boat-4B-BF16", 2);
    let mut files = vec![
        ("Boat-4B-Q4_K_M.gguf", FakeFile::lfs(small)),
        ("Boat-4B-Q8_0.gguf", FakeFile::xet(large)),
        ("mmproj-F16.gguf", FakeFile::lfs(vec![5; 70_000])),
        ("broken-Q2_K.gguf", FakeFile::lfs(vec![7; 90_000])),
    ];
    files.extend(
        splits
            .iter()
            .map(|(name, bytes)| (name.as_str(), FakeFile::lfs(bytes.clone()))),
    );
    let _ = hub.commit(REPO, &files);
    let facts = RepoFacts {
        downloads: 1_234,
        likes: 5,
        licence: Some("apache-2.0".into()),
    };
    hub.tell(REPO, facts);
    hub
}

#[tokio::test]
async fn a_search_shows_what_there_is() {
    let hub = hub().await;
    let place = Place::with_hub(&hub.endpoint()).await;
    insta::assert_snapshot!(place.shown("hub/search", json!({"words": "boat"})).await, @r#"
{
  "more": false,
  "repos": [
    {
      "changed": "2026-01-31",
      "downloads": 1234,
      "gate": "open",
      "id": "fleet/Boat-4B-GGUF",
      "licence": "apache-2.0",
      "likes": 5,
      "quants": [
        "BF16",
        "Q2_K",
        "Q4_K_M",
        "Q8_0"
      ]
    }
  ]
}
"#);
    assert_eq!(
        place.call("hub/search", json!({"words": "zeppelin"})).await,
        json!({"repos": [], "more": false})
    );
}

#[tokio::test]
async fn every_variant_is_judged_by_its_header_before_a_byte_of_weights_is_fetched() {
    let hub = hub().await;
    let place = Place::with_hub(&hub.endpoint()).await;
    let found = place.call("hub/variants", json!({"repo": REPO})).await;
    assert_eq!(
        (&found["gate"], &found["licence"]),
        (&json!("open"), &json!("apache-2.0"))
    );
    let variants = found["variants"].as_array().unwrap();
    let shown: Vec<_> = variants
        .iter()
        .map(|variant| {
            (
                variant["quant"].as_str().unwrap(),
                variant["files"].as_u64().unwrap(),
                variant["projectorBytes"].as_u64(),
                variant["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("Q2_K", 1, Some(70_000), "absent"),
            ("Q4_K_M", 1, Some(70_000), "absent"),
            ("Q8_0", 1, Some(70_000), "absent"),
            ("BF16", 2, Some(70_000), "absent")
        ]
    );
    let mut bytes = Vec::new();
    for variant in &variants[1..] {
        let fit = place
            .call("hub/fit", json!({"repo": REPO, "path": variant["path"]}))
            .await;
        assert_eq!(fit["plan"]["verdict"], json!("fits"), "{fit}");
        assert_eq!(fit["plan"]["model"]["fileBytes"], variant["bytes"]);
        let needs = |plan: &Value| plan["memory"]["host"]["totalBytes"].as_u64().unwrap();
        assert!(
            needs(&fit["withProjector"]) >= needs(&fit["plan"]) + 70_000,
            "{fit}"
        );
        bytes.push(fit["fetchedBytes"].as_u64().unwrap());
    }
    assert!(
        bytes.iter().all(|bytes| (1..400_000).contains(bytes)),
        "{bytes:?}"
    );
    assert!(hub.sent() < 2_000_000, "{} of 18 MiB", hub.sent());
    let again = place
        .call("hub/fit", json!({"repo": REPO, "path": variants[1]["path"]}))
        .await;
    assert_eq!(again["fetchedBytes"], json!(0), "read once");
    let fault = place
        .fault("hub/fit", json!({"repo": REPO, "path": "broken-Q2_K.gguf"}))
        .await;
    assert_eq!(fault.code, FaultCode::NotGguf);
    assert!(
        hub.seen_at(At::Data).iter().all(|seen| seen.range.is_some()),
        "never whole"
    );
}

#[tokio::test]
async fn a_variant_is_fetched_and_then_shown_as_here() {
    let hub = hub().await;
    let place = Place::with_hub(&hub.endpoint()).await;
    let id = format!("{REPO}/Boat-4B-Q4_K_M.gguf");
    let mut heard = place.app.hear();
    place.call("models/pull", json!({ "model": id })).await;
    until(&mut heard, |event| {
        matches!(event, Event::LibraryChanged).then_some(())
    })
    .await;
    let found = place.call("hub/variants", json!({"repo": REPO})).await;
    let states: Vec<_> = found["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["state"])
        .collect();
    assert_eq!(states, ["absent", "onDisk", "absent", "absent"]);
}

#[tokio::test]
async fn a_model_that_sees_comes_with_its_projector_in_one_transfer() {
    let hub = hub().await;
    let projector = TinyGguf::projector(64, 896).bytes();
    let size = projector.len() as u64;
    let model = TinyGguf::llama().named("Boat").padded(Bytes::mib(3)).bytes();
    let whole = model.len() as u64 + size;
    let repo = "fleet/Lookout-GGUF";
    let files = [
        ("lookout-Q4_K_M.gguf", FakeFile::lfs(model)),
        ("mmproj-F16.gguf", FakeFile::lfs(projector)),
    ];
    let _ = hub.commit(repo, &files);
    let place = Place::with_hub(&hub.endpoint()).await;
    let found = place.call("hub/variants", json!({"repo": repo})).await;
    let path = &found["variants"][0]["path"];
    let fit = place.call("hub/fit", json!({"repo": repo, "path": path})).await;
    // By its size the projector would work in a quarter of its weights; its header says that pictures of 896 points
    // take more than it has weights.
    let counted = fit["withProjector"]["memory"]["host"]["projectorBytes"]
        .as_u64()
        .unwrap();
    assert!(counted > 3 * size, "{counted} for a file of {size}");
    let again = place.call("hub/fit", json!({"repo": repo, "path": path})).await;
    assert_eq!(again["fetchedBytes"], json!(0), "read once");

    let mut heard = place.app.hear();
    let id = format!("{repo}/lookout-Q4_K_M.gguf");
    place.call("models/pull", json!({ "model": id })).await;
    let done = until(&mut heard, |event| match event {
        Event::TransferMoved { transfer } => (transfer.state == Transferring::Done).then_some(transfer),
        _ => None,
    })
    .await;
    assert_eq!(
        (done.done_bytes, done.total_bytes),
        (whole, whole),
        "one bar over both"
    );
    let plan = place.call("plan/make", json!({"model": id, "wishes": {}})).await;
    let beside = plan["memory"]["host"]["projectorBytes"].as_u64().unwrap();
    assert_eq!(
        beside, counted,
        "and the plan of what is here counts it as before"
    );
}

#[tokio::test]
async fn closed_missing_and_switched_off_are_said() {
    let hub = hub().await;
    hub.ask_terms(REPO, "hf_right");
    let place = Place::with_hub(&hub.endpoint()).await;
    let found = place.call("hub/variants", json!({"repo": REPO})).await;
    assert_eq!(found["gate"], json!("manual"));
    let path = found["variants"][1]["path"].clone();
    let closed = place.fault("hub/fit", json!({"repo": REPO, "path": path})).await;
    assert_eq!(closed.code, FaultCode::HubNeedsToken);
    place.call("hub/setToken", json!({"token": "hf_right"})).await;
    let fit = place.call("hub/fit", json!({"repo": REPO, "path": path})).await;
    assert_eq!(fit["plan"]["verdict"], json!("fits"), "a token opens it");

    let missing = place.fault("hub/variants", json!({"repo": "fleet/none"})).await;
    assert_eq!(missing.code, FaultCode::HubNotFound);
    let wrong = place.fault("hub/variants", json!({"repo": "../../etc"})).await;
    assert_eq!(wrong.code, FaultCode::UnknownModel);
    let unknown = place
        .fault("hub/fit", json!({"repo": REPO, "path": "no.gguf"}))
        .await;
    assert_eq!(unknown.code, FaultCode::UnknownModel);
    let offline = Place::offline().await;
    let fault = offline.fault("hub/search", json!({"words": "boat"})).await;
    assert_eq!(fault.code, FaultCode::HubOffline);
}
