use plimsoll_testkit::TinyGguf;
use plimsoll_wire::FaultCode;
use serde_json::{Value, json};

use crate::place::Place;

fn laptop() -> Value {
    json!({
        "os": {"name": "linux", "version": "12", "arch": "x86_64"},
        "cpu": {"name": "Some", "physicalCores": 8, "logicalCores": 16, "features": ["avx2"]},
        "memory": {"totalBytes": 32u64 << 30, "bandwidthBytesPerS": {"value": 60_000_000_000u64, "source": "table"}},
        "devices": [{
            "id": "gpu0", "name": "GeForce RTX 3060", "vendor": "nvidia", "kind": "discrete",
            "backends": ["cuda", "vulkan"], "totalBytes": 12u64 << 30,
            "bandwidthBytesPerS": {"value": 360_000_000_000u64, "source": "table"},
        }],
    })
}

#[tokio::test]
async fn a_plan_for_another_machine_is_the_same_everywhere() {
    let place = Place::offline().await;
    let call = json!({"model": "qwen3-8b:Q4_K_M", "wishes": {"context": 8192}, "machine": laptop()});
    let plan = place.call("plan/make", call).await;
    assert_eq!(plan["model"]["id"], json!("qwen3-8b:Q4_K_M"));
    assert_eq!(plan["verdict"], json!("fits"));
    assert_eq!(plan["settings"]["context"], json!(8192));
    let device = &plan["memory"]["devices"][0];
    assert_eq!(device["id"], json!("gpu0"));
    for part in [
        "weightsBytes",
        "contextBytes",
        "computeBytes",
        "totalBytes",
        "budgetBytes",
    ] {
        assert!(device[part].as_u64().unwrap() > 0, "{part}");
    }
    let speed = &plan["speed"];
    assert_eq!(speed["basis"], json!("table"));
    assert!(speed["decodeTps"]["low"].as_f64() < speed["decodeTps"]["high"].as_f64());

    let anchored = json!({
        "model": "qwen3-8b:Q4_K_M", "machine": laptop(),
        "anchors": [{"model": "qwen3-8b:Q4_K_M", "decodeTps": 20.0}],
    });
    let anchored = place.call("plan/make", anchored).await;
    assert_eq!(anchored["speed"]["basis"], json!("measured"));
}

#[tokio::test]
async fn every_reason_has_a_code_and_the_pick_is_one_of_the_catalog() {
    let place = Place::offline().await;
    let recommended = place.call("plan/recommend", json!({"machine": laptop()})).await;
    let pick = &recommended["pick"];
    assert_eq!(pick["onDisk"], json!(false));
    assert!(
        pick["downloadBytes"].as_u64().unwrap() > 1 << 30,
        "a 12 GB card can carry more than a toy"
    );
    let reasons = [
        &recommended["why"],
        &pick["plan"]["why"],
        &recommended["rejected"],
    ];
    for reason in reasons.into_iter().flat_map(|list| list.as_array().unwrap()) {
        assert!(!reason["code"].as_str().unwrap().is_empty());
    }
    assert!(
        recommended["alternatives"]
            .as_array()
            .unwrap()
            .iter()
            .all(|other| other["model"].is_string())
    );
}

#[tokio::test]
async fn the_bandwidth_is_measured_when_a_plan_needs_it_and_then_known() {
    let speed = |machine: &Value| machine["memory"]["bandwidthBytesPerS"].clone();
    let mut place = Place::offline().await;
    let machine = place.call("machine/read", json!({})).await;
    assert!(machine["memory"]["totalBytes"].as_u64().unwrap() > 1 << 30);
    assert_eq!(speed(&machine), Value::Null, "nobody needed it yet");
    assert_eq!(
        place.call("machine/read", json!({})).await,
        machine,
        "the same answer, not another probe"
    );
    place.call("plan/recommend", json!({})).await;
    let measured = speed(&place.call("machine/read", json!({})).await);
    assert_eq!(measured["source"], json!("measured"));
    place.restart().await;
    let again = place.call("machine/read", json!({})).await;
    assert_eq!(speed(&again), measured, "kept, and not measured again at once");
}

#[tokio::test]
async fn the_bandwidth_is_measured_when_somebody_asks_for_it() {
    let place = Place::offline().await;
    let machine = place.call("machine/read", json!({"measure": true})).await;
    assert!(
        machine["memory"]["bandwidthBytesPerS"]["value"]
            .as_u64()
            .is_some()
    );
}

#[tokio::test]
async fn a_plan_of_a_file_needs_no_library() {
    let place = Place::offline().await;
    let path = place.file("Tiny.gguf", &TinyGguf::llama().bytes());
    let plan = place
        .call("plan/make", json!({"model": path, "machine": laptop()}))
        .await;
    assert_eq!(plan["model"]["id"], json!(path));
    assert_eq!(plan["model"]["architecture"], json!("llama"));
    assert!(
        plan["settings"]["arguments"]
            .as_array()
            .unwrap()
            .contains(&json!("--ctx-size"))
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let place = Place::offline().await;
    let with = |wishes: Value| json!({"model": "qwen3-8b", "wishes": wishes, "machine": laptop()});
    for wishes in [
        json!({"kv": "f8"}),
        json!({"context": 0}),
        json!({"outputs": "all"}),
    ] {
        let fault = place.fault("plan/make", with(wishes.clone())).await;
        assert_eq!(fault.code, FaultCode::BadRequest, "{wishes}");
    }
    let mut absurd = laptop();
    absurd["memory"]["totalBytes"] = json!(u64::MAX / 2);
    let fault = place.fault("plan/recommend", json!({"machine": absurd})).await;
    assert_eq!(fault.code, FaultCode::MachineFileBad);
    assert_eq!(
        place.fault("plan/make", json!({"model": "nothing"})).await.code,
        FaultCode::UnknownModel
    );
}
