//! Headers of real models, read by range from the fake hub. Needs what `scripts/test` fetches.

use plimsoll_gguf::{Header, Limits};
use plimsoll_hub::{Hub, HubConfig};
use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_testkit::real;
use plimsoll_units::Bytes;

#[tokio::test]
async fn real_headers_are_what_the_file_on_disk_says_and_cost_some_hundred_kilobytes() {
    for name in [real::SMOLLM2, real::QWEN_CODER, real::GEMMA3] {
        let path = real::model(name);
        let fake = FakeHub::start().await;
        let _ = fake.commit(
            "org/real-GGUF",
            &[(name, FakeFile::lfs(std::fs::read(&path).unwrap()))],
        );
        let cache = tempfile::tempdir().unwrap();
        let mut config = HubConfig::new(cache.path().to_owned()).unwrap();
        config.set_endpoint(&fake.endpoint()).unwrap();
        let hub = Hub::new(config);
        let listing = hub.list(&"org/real-GGUF".parse().unwrap(), "main").await.unwrap();
        let variants = listing.variants();
        let first = hub.header(&listing, &variants[0], None).await.unwrap();
        let whole = Header::read_file(&path, &Limits::default()).unwrap();
        // Whatever is said is what the file says; what is left out are words, and what stands between them.
        for (key, value) in first.header.metadata.iter() {
            assert_eq!(Some(value), whole.metadata.get(key), "{name}: {key}");
        }
        let needless = |key: &str| key.starts_with("tokenizer.");
        for (key, _) in whole.metadata.iter().filter(|(key, _)| !needless(key)) {
            assert!(first.header.metadata.get(key).is_some(), "{name}: {key}");
        }
        assert!(
            first.header.metadata.get("tokenizer.ggml.tokens").is_some(),
            "{name}: how many words"
        );
        assert_eq!(first.header.tensors, whole.tensors, "{name}");
        assert_eq!(first.header.data_offset, whole.data_offset, "{name}");
        assert!(first.fetched < Bytes::kib(512), "{name}: {}", first.fetched);
        let second = hub
            .header(&listing, &variants[0], first.sibling.as_ref())
            .await
            .unwrap();
        // Some files name their mix of types behind the words; then the tensors tell it.
        let said = |header: &Header| -> Vec<(String, String)> {
            let entries = header
                .metadata
                .iter()
                .filter(|(key, _)| *key != "general.file_type");
            entries
                .map(|(key, value)| (key.to_owned(), format!("{value:?}")))
                .collect()
        };
        assert_eq!(said(&second.header), said(&first.header), "{name}");
        assert_eq!(second.header.tensors, whole.tensors, "{name}");
        assert_eq!(
            (second.header.data_offset, second.header.file_bytes),
            (whole.data_offset, whole.file_bytes),
            "{name}"
        );
        assert!(second.fetched < Bytes::kib(128), "{name}: {}", second.fetched);
        println!(
            "{name}: {} alone, {} beside another",
            first.fetched, second.fetched
        );
    }
}
