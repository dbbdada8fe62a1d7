//! A newer catalog from its publisher, and a file at the hub that is not what the catalog says.

use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_wire::{Event, FaultCode, Transferring};
use serde_json::{Value, json};

use crate::place::{Place, until};

const REPO: &str = "plimsoll/catalog";

fn bundle(serial: u64, models: &Value) -> Vec<u8> {
    serde_json::to_vec(&json!({ "schema": 1, "serial": serial, "issued": "2026-12-24", "models": models }))
        .unwrap()
}

/// A model whose one file nobody confirmed.
fn model(sha256: &str, bytes: u64) -> Value {
    json!({
        "id": "sloop-1b", "name": "Sloop 1B", "about": "A small boat.", "publisher": "Fleet",
        "licence": { "name": "MIT", "url": "https://example.org", "consent": false, "source": "test" },
        "parameters": 1_000_000_000_u64, "activeParameters": 1_000_000_000_u64, "contextTrained": 4096,
        "modalities": ["text"], "abilities": ["chat"],
        "quality": { "rank": 20, "reason": "A test.", "ratedAt": "2026-12-24" },
        "shape": { "architecture": "llama", "layers": 16, "embedding": 2048, "feedForward": 8192, "heads": 32,
                   "kvHeads": 8, "headDim": 64, "vocabulary": 128_256, "tiedEmbeddings": true, "source": "test" },
        "defaultQuant": "Q4_K_M",
        "variants": [{ "quant": "Q4_K_M", "files": [{
            "repo": "fleet/Sloop-GGUF", "revision": "main", "path": "sloop.gguf", "bytes": bytes, "sha256": sha256,
            "verified": false, "source": "test" }] }],
        "sources": {}
    })
}

struct Publisher {
    pair: minisign::KeyPair,
}

impl Publisher {
    fn publish(&self, hub: &FakeHub, bytes: &[u8]) {
        let signature = minisign::sign(Some(&self.pair.pk), &self.pair.sk, bytes, None, None).unwrap();
        let files = [
            ("catalog.json", FakeFile::lfs(bytes.to_vec())),
            (
                "catalog.json.minisig",
                FakeFile::lfs(signature.into_string().into_bytes()),
            ),
        ];
        let _ = hub.commit(REPO, &files);
    }
}

fn publisher() -> Publisher {
    Publisher {
        pair: minisign::KeyPair::generate_unencrypted_keypair().unwrap(),
    }
}

async fn place(hub: &FakeHub, publisher: &Publisher) -> Place {
    Place::with(&[
        ("HF_ENDPOINT", &hub.endpoint()),
        ("PLIMSOLL_CATALOG_REPO", REPO),
        ("PLIMSOLL_CATALOG_KEY", &publisher.pair.pk.to_base64()),
    ])
    .await
}

async fn ids(place: &Place) -> Vec<String> {
    let listed = place.call("models/list", json!({})).await;
    let models = listed["catalog"].as_array().unwrap();
    models
        .iter()
        .map(|model| model["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_newer_signed_catalog_is_used_from_the_next_start_on_and_an_older_one_never() {
    let hub = FakeHub::start().await;
    let publisher = publisher();
    publisher.publish(&hub, &bundle(7, &json!([model(&"0".repeat(64), 10)])));
    let mut place = place(&hub, &publisher).await;
    let reply = place.call("models/refresh", json!({})).await;
    assert_eq!((&reply["newer"], &reply["serial"]), (&json!(true), &json!(7)));
    assert!(
        ids(&place).await.contains(&"gpt-oss-20b".to_owned()),
        "not under the feet of a running app"
    );
    place.restart().await;
    assert_eq!(ids(&place).await, ["sloop-1b"]);

    publisher.publish(&hub, &bundle(6, &json!([model(&"1".repeat(64), 10)])));
    let reply = place.call("models/refresh", json!({})).await;
    assert_eq!((&reply["newer"], &reply["serial"]), (&json!(false), &json!(7)));
}

#[tokio::test]
async fn a_catalog_of_somebody_else_is_refused_and_the_packaged_one_stands() {
    let hub = FakeHub::start().await;
    publisher().publish(&hub, &bundle(7, &json!([model(&"0".repeat(64), 10)])));
    let mut place = place(&hub, &publisher()).await;
    let fault = place.fault("models/refresh", json!({})).await;
    assert_eq!(fault.code, FaultCode::HashMismatch);
    place.restart().await;
    assert!(ids(&place).await.len() >= 60);
    // Without a publisher there is nobody to ask.
    let alone = Place::with_hub(&hub.endpoint()).await;
    assert_eq!(
        alone.fault("models/refresh", json!({})).await.code,
        FaultCode::NotFound
    );
}

#[tokio::test]
async fn a_file_that_is_not_what_an_unconfirmed_entry_says_is_told_before_it_comes() {
    let hub = FakeHub::start().await;
    let publisher = publisher();
    publisher.publish(&hub, &bundle(1, &json!([model(&"0".repeat(64), 10)])));
    let mut place = place(&hub, &publisher).await;
    let _ = place.call("models/refresh", json!({})).await;
    place.restart().await;
    let bytes = plimsoll_testkit::TinyGguf::llama().bytes();
    let _ = hub.commit("fleet/Sloop-GGUF", &[("sloop.gguf", FakeFile::lfs(bytes))]);
    let mut heard = place.app.hear();
    let _ = place.call("models/pull", json!({ "model": "sloop-1b" })).await;
    let told_first = std::cell::Cell::new(None);
    let done = until(&mut heard, |event| match event {
        Event::TransferMoved { transfer } => {
            if !transfer.notes.is_empty() && told_first.get().is_none() {
                told_first.set(Some(transfer.done_bytes));
            }
            (transfer.state == Transferring::Done).then_some(transfer)
        }
        _ => None,
    })
    .await;
    assert_eq!(told_first.get(), Some(0), "before the first byte");
    assert_eq!(done.notes[0].code, "catalogDiffers");
    assert_eq!(json!(done.notes[0].params["expected"]), json!("0".repeat(12)));
}

/// The same model with eyes.
fn lookout(projector: &str) -> Value {
    let mut model = model(&"0".repeat(64), 10);
    model["id"] = json!("lookout-1b");
    model["modalities"] = json!(["text", "image"]);
    model["abilities"] = json!(["chat", "vision"]);
    model["projectors"] = json!([{ "quant": "F16", "file": {
        "repo": "fleet/Sloop-GGUF", "revision": "main", "path": projector, "bytes": 5, "verified": false, "source": "test" } }]);
    model
}

async fn pulled(hub: &FakeHub, catalog: &Value) -> (Place, plimsoll_wire::Transfer) {
    let publisher = publisher();
    publisher.publish(hub, &bundle(1, catalog));
    let mut place = place(hub, &publisher).await;
    let _ = place.call("models/refresh", json!({})).await;
    place.restart().await;
    let model = plimsoll_testkit::TinyGguf::llama().bytes();
    let projector = plimsoll_testkit::TinyGguf::projector(64, 224).bytes();
    let files = [
        ("sloop.gguf", FakeFile::lfs(model)),
        ("mmproj-F16.gguf", FakeFile::lfs(projector)),
    ];
    let _ = hub.commit("fleet/Sloop-GGUF", &files);
    let mut heard = place.app.hear();
    let _ = place.call("models/pull", json!({ "model": "lookout-1b" })).await;
    let done = until(&mut heard, |event| match event {
        Event::TransferMoved { transfer } => (transfer.state == Transferring::Done).then_some(transfer),
        _ => None,
    })
    .await;
    (place, done)
}

#[tokio::test]
async fn a_model_that_sees_brings_the_projector_that_the_catalog_names() {
    let hub = FakeHub::start().await;
    let (place, done) = pulled(&hub, &json!([lookout("mmproj-F16.gguf")])).await;
    let model = plimsoll_testkit::TinyGguf::llama().bytes().len();
    let projector = plimsoll_testkit::TinyGguf::projector(64, 224).bytes().len();
    assert_eq!(done.total_bytes, (model + projector) as u64, "one bar over both");
    let listed = place.call("models/list", json!({})).await;
    let plan = &listed["models"][0]["plan"];
    assert!(
        plan["memory"]["host"]["projectorBytes"].as_u64().unwrap() > projector as u64,
        "{plan}"
    );
    let arguments = plan["settings"]["arguments"].as_array().unwrap();
    assert!(arguments.contains(&json!("--mmproj")), "{arguments:?}");
}

#[tokio::test]
async fn a_projector_that_the_hub_does_not_have_keeps_no_model_away() {
    let hub = FakeHub::start().await;
    let (place, done) = pulled(&hub, &json!([lookout("mmproj-gone.gguf")])).await;
    let codes: Vec<&str> = done.notes.iter().map(|note| note.code.as_str()).collect();
    assert!(codes.contains(&"projectorMissing"), "{codes:?}");
    let listed = place.call("models/list", json!({})).await;
    assert_eq!(listed["models"][0]["state"], json!("ready"), "{listed}");
}
