//! Headers of real models, read by range from the fake hub. Needs what `scripts/test` fetches.

use plimsoll_gguf::{Header, Limits};
use plimsoll_hub::{Hub, HubConfig};
use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_testkit::real;
use plimsoll_units::Bytes;

#[tokio::test]
async fn real_headers_are_what_the_file_on_disk_says_and_cost_a_fraction_of_it() {
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
        assert_eq!(first.header, whole, "{name}");
        // The words of its tokenizer, and little more.
        assert!(
            first.fetched < whole.data_offset.plus(Bytes::mib(2)),
            "{name}: {}",
            first.fetched
        );
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
        assert_eq!(said(&second.header), said(&whole), "{name}");
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
