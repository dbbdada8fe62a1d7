use plimsoll_testkit::TinyGguf;
use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_wire::{Event, FaultCode, Transfer, Transferring};
use serde_json::{Value, json};

use crate::place::{Place, until};

const REPO: &str = "fleet/Tiny-GGUF";
const ID: &str = "fleet/Tiny-GGUF/tiny.gguf";

fn tiny() -> Vec<u8> {
    TinyGguf::llama().named("Tiny Boat").bytes()
}

async fn hub_with_tiny() -> FakeHub {
    let hub = FakeHub::start().await;
    let _ = hub.commit(REPO, &[("tiny.gguf", FakeFile::lfs(tiny()))]);
    hub
}

/// Pulls and waits for the transfer's end.
async fn pull(place: &Place) -> Transfer {
    let mut heard = place.app.hear();
    let id = place
        .call("models/pull", json!({"model": format!("hf:{ID}")}))
        .await["id"]
        .clone();
    until(&mut heard, |event| match event {
        Event::TransferMoved { transfer }
            if json!(transfer.id) == id
                && !matches!(transfer.state, Transferring::Running | Transferring::Checking) =>
        {
            Some(transfer)
        }
        _ => None,
    })
    .await
}

async fn listed(place: &Place) -> Vec<Value> {
    place.call("models/list", json!({})).await["models"]
        .as_array()
        .unwrap()
        .clone()
}

#[tokio::test]
async fn a_pulled_model_is_listed_verified_repaired_and_removed() {
    let hub = hub_with_tiny().await;
    let place = Place::with_hub(&hub.endpoint()).await;
    let done = pull(&place).await;
    assert_eq!(
        (done.state, done.done_bytes),
        (Transferring::Done, done.total_bytes)
    );
    let model = &listed(&place).await[0];
    assert_eq!(
        (&model["id"], &model["name"], &model["state"]),
        (&json!(ID), &json!("Tiny Boat"), &json!("ready"))
    );
    assert_eq!(model["plan"]["verdict"], json!("fits"));
    assert_eq!(model["chat"], json!(false), "it has no chat template");

    // The bytes themselves, not the pointer to them.
    let path = std::fs::canonicalize(model["path"].as_str().unwrap()).unwrap();
    let mut bytes = tiny();
    *bytes.last_mut().unwrap() ^= 1;
    plimsoll_os::files::replace(&path, &bytes).unwrap();
    let verified = place.call("models/verify", json!({"id": ID})).await;
    assert_eq!(
        verified,
        json!({"id": ID, "damaged": ["tiny.gguf"], "unpinned": []})
    );
    assert_eq!(listed(&place).await[0]["state"], json!("damaged"));
    let refused = place.fault("router/load", json!({"model": ID})).await;
    assert_eq!(
        refused.code,
        FaultCode::HashMismatch,
        "a damaged model is not started"
    );

    assert_eq!(pull(&place).await.state, Transferring::Done);
    assert_eq!(listed(&place).await[0]["state"], json!("ready"));
    assert_eq!(
        place.call("models/verify", json!({"id": ID})).await["damaged"],
        json!([])
    );

    let freed = place.call("models/remove", json!({"id": ID})).await["freedBytes"]
        .as_u64()
        .unwrap();
    assert_eq!(freed, tiny().len() as u64);
    assert!(listed(&place).await.is_empty());
    assert_eq!(
        place.call("status/read", json!({})).await["transfers"],
        json!([]),
        "and forgotten"
    );
}

#[tokio::test]
async fn a_hub_that_is_down_is_a_fault_and_the_next_try_works() {
    let hub = hub_with_tiny().await;
    let place = Place::with_hub(&hub.endpoint()).await;
    hub.always(
        plimsoll_testkit::hub::At::Head,
        plimsoll_testkit::hub::Fault::Status(404),
    );
    let failed = pull(&place).await;
    assert_eq!(failed.state, Transferring::Failed);
    assert_eq!(failed.fault.map(|fault| fault.code), Some(FaultCode::HubNotFound));
    hub.heal();
    assert_eq!(pull(&place).await.state, Transferring::Done);
}

#[tokio::test]
async fn a_licence_is_shown_before_a_byte_is_fetched() {
    let hub = hub_with_tiny().await;
    let place = Place::with_hub(&hub.endpoint()).await;
    let gemma = json!({"model": "gemma-3-270m"});
    insta::assert_snapshot!(place.shown_fault("models/pull", gemma.clone()).await, @r#"{"code":"licenceNotAccepted","fixes":["acceptLicence","chooseOtherModel"],"params":{"licence":"Gemma Terms of Use","model":"gemma-3-270m:Q4_K_M","url":"https://ai.google.dev/gemma/terms"}}"#);
    let setup = json!({"model": "gemma-3-270m", "quant": "Q4_K_M"});
    assert_eq!(
        place.fault("setup/start", setup).await.code,
        FaultCode::LicenceNotAccepted
    );
    assert!(hub.seen().is_empty(), "nothing was asked of the hub");
    let mut accepted = gemma.clone();
    accepted["licenceAccepted"] = json!(true);
    place.call("models/pull", accepted).await;
    let library = place.call("models/list", json!({})).await;
    let entry = library["catalog"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["id"] == "gemma-3-270m")
        .unwrap();
    assert_eq!(
        entry["licence"]["accepted"],
        json!(true),
        "a consent is remembered"
    );
    place.call("models/pull", gemma).await;
    place.app.end().await;
    // This fake does not have the file; that we came so far is the point.
    let _ = hub.complaints();
}

#[tokio::test]
async fn what_is_no_model_is_refused_with_a_reason() {
    let place = Place::offline().await;
    let whole = tiny();
    let cut = place.file("cut.gguf", &whole[..whole.len() - 100]);
    let text = place.file("notes.gguf", b"These are notes.");
    let mut absurd = whole[..16].to_vec();
    absurd[8..16].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    absurd.extend_from_slice(&[0; 64]);
    let absurd = place.file("absurd.gguf", &absurd);
    for (call, field) in [("models/import", "path"), ("plan/make", "model")] {
        for (path, code) in [
            (&text, FaultCode::NotGguf),
            (&cut, FaultCode::GgufCut),
            (&absurd, FaultCode::GgufTooLarge),
            (&"/nowhere/at/all.gguf".to_owned(), FaultCode::ModelFileMissing),
        ] {
            let fault = place.fault(call, json!({ field: path })).await;
            assert_eq!(fault.code, code, "{call} {path}: {fault:?}");
            assert!(!fault.fixes.is_empty());
        }
    }
    assert!(listed(&place).await.is_empty());
}

#[tokio::test]
async fn an_imported_model_is_there_at_once_and_stays_the_persons_own() {
    let place = Place::offline().await;
    let path = place.file("My model ü.gguf", &tiny());
    insta::assert_snapshot!(place.shown("models/import", json!({ "path": path })).await, @r#"
{
  "architecture": "llama",
  "bytes": 315104,
  "chat": false,
  "freesBytes": 0,
  "id": "local/My-model/My model ü.gguf",
  "name": "Tiny Boat",
  "path": "<place>/hub/models--local--My-model/snapshots/5e9066f14db1d8106b832c6b3018aa008bdd511c/My model ü.gguf",
  "plan": "<plan>",
  "quant": "F32",
  "state": "ready"
}
"#);
    let id = listed(&place).await[0]["id"].clone();
    place.call("models/remove", json!({ "id": id })).await;
    assert!(std::path::Path::new(&path).is_file());
    assert_eq!(
        place.fault("models/remove", json!({ "id": id })).await.code,
        FaultCode::UnknownModel
    );
}
