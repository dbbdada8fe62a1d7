use std::collections::BTreeMap;

use plimsoll_store::{ContentMarks, Measurement, Part, Store, TransferRecord, TransferState};
use plimsoll_units::Bytes;
use serde_json::{Value, json};

use crate::fresh;

#[tokio::test]
async fn settings_are_kept_and_taken_back() {
    let (_folder, store) = fresh().await;
    assert_eq!(store.setting("theme").await.unwrap(), None);
    let change = |pairs: &[(&str, Value)]| -> BTreeMap<String, Value> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    };
    let first = change(&[("theme", json!("dark")), ("recent", json!(["a", {"b": 1}]))]);
    store.change_settings(first.clone()).await.unwrap();
    assert_eq!(store.settings().await.unwrap(), first);
    store
        .change_settings(change(&[("theme", Value::Null), ("recent", json!([]))]))
        .await
        .unwrap();
    assert_eq!(store.settings().await.unwrap(), change(&[("recent", json!([]))]));
    let path = store.path().to_owned();
    drop(store);
    assert_eq!(
        Store::open(&path, 9)
            .await
            .unwrap()
            .setting("recent")
            .await
            .unwrap(),
        Some(json!([]))
    );
}

#[tokio::test]
async fn several_settings_change_together_or_not_at_all() {
    let (_folder, store) = fresh().await;
    let too_large = json!("x".repeat(2 << 20));
    let changes = BTreeMap::from([("a".to_owned(), json!(1)), ("b".to_owned(), too_large)]);
    store.change_settings(changes).await.unwrap_err();
    assert_eq!(store.settings().await.unwrap(), BTreeMap::new());
}

#[tokio::test]
async fn measurements_come_latest_first_and_do_not_pile_up() {
    let (_folder, store) = fresh().await;
    let measured = |taken_at, kind: &str, model: &str| Measurement {
        taken_at,
        kind: kind.into(),
        model: model.into(),
        body: json!({"decodeTps": taken_at}),
    };
    for at in 0..510 {
        store
            .record_measurement(measured(at, "speed", "a"))
            .await
            .unwrap();
    }
    store
        .record_measurement(measured(1000, "speed", "b"))
        .await
        .unwrap();
    store
        .record_measurement(measured(1, "memory", "a"))
        .await
        .unwrap();
    let of_a = store.measurements("speed", Some("a")).await.unwrap();
    assert_eq!((of_a.len(), of_a[0].taken_at, of_a[499].taken_at), (500, 509, 10));
    let all = store.measurements("speed", None).await.unwrap();
    assert_eq!((all.len(), all[0].model.as_str()), (501, "b"));
    assert_eq!(
        store.measurements("memory", None).await.unwrap(),
        [measured(1, "memory", "a")]
    );
}

#[tokio::test]
async fn a_cancelled_transfer_is_still_cancelled_after_a_restart() {
    let (_folder, store) = fresh().await;
    let mut transfer = TransferRecord {
        id: "t1".into(),
        subject: "qwen2.5-coder-0.5b:Q4_K_M".into(),
        state: TransferState::Running,
        done: Bytes(10),
        total: Bytes(491_400_064),
        started_at: 1,
        updated_at: 2,
        body: json!({"files": ["a.gguf"]}),
        fault: None,
    };
    store.save_transfer(transfer.clone()).await.unwrap();
    transfer.state = TransferState::Cancelled;
    transfer.done = Bytes(1 << 40);
    transfer.updated_at = 3;
    transfer.fault = Some(json!({"code": "diskFull"}));
    store.save_transfer(transfer.clone()).await.unwrap();
    let path = store.path().to_owned();
    drop(store);
    let again = Store::open(&path, 4).await.unwrap();
    assert_eq!(again.transfers().await.unwrap(), [transfer]);
    again.forget_transfer("t1").await.unwrap();
    assert_eq!(again.transfers().await.unwrap(), []);
}

#[tokio::test]
async fn what_is_here_of_a_file_is_known_after_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.db");
    let mut part = Part {
        version: "abc 500".into(),
        ranges: vec![(Bytes(0), Bytes(10)), (Bytes(20), Bytes(1 << 40))],
        hashed: Bytes(7),
        hash: vec![1, 2, 3],
        marks: vec![4; 105],
    };
    let marks = ContentMarks {
        step: Bytes::mib(64),
        states: vec![9; 210],
    };
    {
        let store = Store::open(&path, 1).await.unwrap();
        assert_eq!(store.part("/cache/x").await.unwrap(), None);
        store.save_part("/cache/x", part.clone()).await.unwrap();
        part.ranges = vec![(Bytes(0), Bytes(30))];
        store.save_part("/cache/x", part.clone()).await.unwrap();
        store.save_content_marks("abc", marks.clone()).await.unwrap();
    }
    let store = Store::open(&path, 2).await.unwrap();
    assert_eq!(store.part("/cache/x").await.unwrap(), Some(part.clone()));
    assert_eq!(store.content_marks("abc").await.unwrap(), Some(marks));
    store.forget_part("/cache/x").await.unwrap();
    assert_eq!(store.part("/cache/x").await.unwrap(), None);
    part.ranges.clear();
    store.save_part("/cache/x", part.clone()).await.unwrap();
    assert_eq!(
        store.part("/cache/x").await.unwrap(),
        Some(part),
        "the ranges of before went with it"
    );
}
