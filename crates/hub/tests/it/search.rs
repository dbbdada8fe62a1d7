//! Repositories by name, their variants, and headers read by range.

use plimsoll_gguf::{Header, Limits};
use plimsoll_hub::{Gate, HubError, RemoteHeader, RepoHit, RepoVariant};
use plimsoll_testkit::hub::{At, FakeFile, Fault, RepoFacts};
use plimsoll_testkit::{GgufValue, TinyGguf};
use plimsoll_units::Bytes;

use crate::support::{Bench, REPO, noise};

fn facts(downloads: u64, licence: &str) -> RepoFacts {
    RepoFacts {
        downloads,
        likes: downloads / 10,
        licence: Some(licence.to_owned()),
    }
}

/// A model whose tokenizer takes most of a long header, as real ones do.
fn wordy(quant: u32, size: Bytes) -> TinyGguf {
    let words = (0..60_000)
        .map(|number| format!("word number {number}"))
        .collect();
    TinyGguf::llama()
        .with("general.file_type", GgufValue::U32(quant))
        .with("tokenizer.ggml.tokens", GgufValue::Texts(words))
        .padded(size)
}

async fn variants(bench: &Bench) -> (plimsoll_hub::Listing, Vec<RepoVariant>) {
    let listing = bench.hub().list(&REPO.parse().unwrap(), "main").await.unwrap();
    let variants = listing.variants();
    (listing, variants)
}

#[tokio::test]
async fn repositories_are_found_by_words_with_what_matters_about_them() {
    let bench = Bench::new().await;
    let file = || FakeFile::lfs(vec![1; 10]);
    let _ = bench.fake.commit(
        "org/Boat-4B-GGUF",
        &[
            ("Boat-4B-Q4_K_M.gguf", file()),
            ("Boat-4B-Q8_0.gguf", file()),
            ("mmproj-F16.gguf", file()),
        ],
    );
    let _ = bench
        .fake
        .commit("big/boat-70b-gguf", &[("BF16/boat-00001-of-00002.gguf", file())]);
    let _ = bench.fake.commit("org/Boat-4B", &[("model.safetensors", file())]);
    let _ = bench.fake.commit("org/Car-GGUF", &[("car.gguf", file())]);
    bench.fake.tell("org/Boat-4B-GGUF", facts(500, "apache-2.0"));
    bench.fake.tell("big/boat-70b-gguf", facts(9_000, "llama3.1"));
    bench.fake.ask_terms("big/boat-70b-gguf", "hf_right");
    let hits = bench.hub().search(" BOAT gguf ", 10).await.unwrap();
    let [first, second] = hits.as_slice() else {
        panic!("{hits:?}")
    };
    assert_eq!(
        (first.repo.as_str(), first.gate),
        ("big/boat-70b-gguf", Gate::Manual)
    );
    assert_eq!(first.quants, ["BF16"]);
    assert_eq!(
        *second,
        RepoHit {
            repo: "org/Boat-4B-GGUF".parse().unwrap(),
            downloads: 500,
            likes: 50,
            gate: Gate::Open,
            licence: Some("apache-2.0".into()),
            changed: Some("2026-01-31".into()),
            quants: vec!["Q4_K_M".into(), "Q8_0".into()],
        }
    );
    assert_eq!(bench.hub().search("boat", 1).await.unwrap().len(), 1);
    assert!(bench.hub().search("submarine", 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_search_fails_by_name_and_asks_nobody_when_it_must_not() {
    let bench = Bench::new().await;
    let mut config = bench.config();
    config.offline = true;
    let hub = bench.hub_with(config);
    assert!(matches!(hub.search("x", 5).await.unwrap_err(), HubError::Offline));
    assert!(bench.fake.seen().is_empty());
    bench.fake.always(At::Api, Fault::Status(418));
    let refused = bench.hub().search("x", 5).await.unwrap_err();
    assert!(
        matches!(refused, HubError::Refused { status: 418, .. }),
        "{refused:?}"
    );
    bench.fake.down();
    let gone = bench.hub().search("x", 5).await.unwrap_err();
    assert!(matches!(gone, HubError::Unreachable { .. }), "{gone:?}");
}

#[tokio::test]
async fn the_first_header_costs_a_few_looks_and_the_others_two_stretches() {
    let bench = Bench::new().await;
    let (small, large) = (wordy(15, Bytes::mib(8)).bytes(), wordy(7, Bytes::mib(16)).bytes());
    let _ = bench.fake.commit(
        REPO,
        &[
            ("m-Q4_K_M.gguf", FakeFile::lfs(small.clone())),
            ("m-Q8_0.gguf", FakeFile::xet(large.clone())),
        ],
    );
    let (listing, variants) = variants(&bench).await;
    let hub = bench.hub();
    let RemoteHeader {
        header,
        fetched,
        sibling,
    } = hub.header(&listing, &variants[0], None).await.unwrap();
    let whole = Header::read(small.as_slice(), Bytes(small.len() as u64), &Limits::default()).unwrap();
    assert_eq!(header, whole);
    assert!(fetched < Bytes::kib(512), "{fetched}");

    let sent = bench.fake.sent();
    let second = hub
        .header(&listing, &variants[1], sibling.as_ref())
        .await
        .unwrap();
    let whole = Header::read(large.as_slice(), Bytes(large.len() as u64), &Limits::default()).unwrap();
    assert_eq!(second.header, whole, "its own quantisation and sizes");
    assert!(second.fetched < Bytes::kib(200), "{}", second.fetched);
    assert!(bench.fake.sent() - sent < 200 << 10);
}

#[tokio::test]
async fn a_file_that_is_put_together_otherwise_is_read_whole() {
    let bench = Bench::new().await;
    let one = wordy(15, Bytes::mib(4));
    let other = TinyGguf::llama()
        .with("general.description", GgufValue::Text("x".repeat(100_000)))
        .padded(Bytes::mib(4));
    let _ = bench.fake.commit(
        REPO,
        &[
            ("a-Q4_0.gguf", FakeFile::lfs(one.bytes())),
            ("b-Q8_0.gguf", FakeFile::lfs(other.bytes())),
        ],
    );
    let (listing, mut variants) = variants(&bench).await;
    variants.sort_by(|a, b| a.path.cmp(&b.path));
    let hub = bench.hub();
    let sibling = hub.header(&listing, &variants[0], None).await.unwrap().sibling;
    let second = hub
        .header(&listing, &variants[1], sibling.as_ref())
        .await
        .unwrap();
    let bytes = other.bytes();
    let whole = Header::read(bytes.as_slice(), Bytes(bytes.len() as u64), &Limits::default()).unwrap();
    assert_eq!(second.header, whole);
}

#[tokio::test]
async fn a_split_set_is_read_from_all_its_parts() {
    let bench = Bench::new().await;
    let splits = TinyGguf::llama().padded(Bytes::mib(2)).splits("m-Q4_0", 3);
    let files: Vec<(&str, FakeFile)> = splits
        .iter()
        .map(|(name, bytes)| (name.as_str(), FakeFile::lfs(bytes.clone())))
        .collect();
    let _ = bench.fake.commit(REPO, &files);
    let (listing, variants) = variants(&bench).await;
    assert_eq!((variants.len(), variants[0].missing.len()), (1, 0));
    let read = bench.hub().header(&listing, &variants[0], None).await.unwrap();
    let total: u64 = splits.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    assert_eq!(read.header.file_bytes, Bytes(total));
    assert_eq!(read.header.tensors.last().unwrap().part, 2);
}

#[tokio::test]
async fn lines_that_break_and_servers_without_ranges_still_give_a_header() {
    let bench = Bench::new().await;
    let bytes = wordy(2, Bytes::mib(4)).bytes();
    let _ = bench
        .fake
        .commit(REPO, &[("m-Q4_0.gguf", FakeFile::lfs(bytes.clone()))]);
    let (listing, variants) = variants(&bench).await;
    let whole = Header::read(bytes.as_slice(), Bytes(bytes.len() as u64), &Limits::default()).unwrap();
    for fault in [
        Fault::CutAfter(300_000),
        Fault::IgnoreRange,
        Fault::Status(503),
        Fault::TooMany(Some(0)),
    ] {
        bench.fake.next(At::Data, fault);
        let read = bench.hub().header(&listing, &variants[0], None).await.unwrap();
        assert_eq!(read.header, whole, "{fault:?}");
    }
}

#[tokio::test]
async fn what_is_no_model_and_what_is_closed_is_said() {
    let bench = Bench::new().await;
    let _ = bench
        .fake
        .commit(REPO, &[("m.gguf", FakeFile::lfs(vec![7; 200_000]))]);
    let (listing, variants) = variants(&bench).await;
    let refused = bench
        .hub()
        .header(&listing, &variants[0], None)
        .await
        .unwrap_err();
    assert!(matches!(refused, HubError::Header { .. }), "{refused:?}");
    bench.fake.ask_terms(REPO, "hf_right");
    let (listing, variants) = self::variants(&bench).await;
    assert_eq!(listing.gate, Gate::Manual, "everybody sees what there is");
    let refused = bench
        .hub()
        .header(&listing, &variants[0], None)
        .await
        .unwrap_err();
    assert!(
        matches!(refused, HubError::NeedsToken { status: 401, .. }),
        "{refused:?}"
    );
}

/// What a hub, or something between us and it, may answer: the real form, changed in some places.
fn bent(good: &str, seed: u64) -> Vec<u8> {
    const PIECES: [&[u8]; 12] = [
        b"null",
        b"-1",
        b"1e999",
        b"\"../../x.gguf\"",
        b"\"/etc/passwd\"",
        b"[]",
        b"{}",
        b"\"\\u0000\"",
        b"}",
        b"\"",
        b"18446744073709551616",
        b"true",
    ];
    let mut bytes = good.as_bytes().to_vec();
    let mut numbers = noise(32, seed).into_iter().map(usize::from);
    let mut next = move || numbers.next().unwrap() * 256 + numbers.next().unwrap();
    for _ in 0..=next() % 3 {
        let at = next() % bytes.len();
        let piece = PIECES[next() % PIECES.len()];
        match next() % 3 {
            0 => bytes.truncate(at.max(1)),
            1 => drop(bytes.splice(at..at, piece.iter().copied())),
            _ => {
                // A whole value for another.
                let end = bytes[at..].iter().position(|byte| b",]}".contains(byte));
                let start = bytes[..at].iter().rposition(|byte| b":[".contains(byte));
                if let (Some(end), Some(start)) = (end, start) {
                    drop(bytes.splice(start + 1..at + end, piece.iter().copied()));
                }
            }
        }
    }
    bytes
}

#[tokio::test]
async fn answers_that_make_no_sense_are_errors_and_no_name_leads_astray() {
    let bench = Bench::new().await;
    let commit = bench.fake.commit(
        REPO,
        &[
            ("m-Q4_0.gguf", FakeFile::lfs(vec![1; 10])),
            ("mmproj.gguf", FakeFile::xet(vec![2; 9])),
        ],
    );
    let search = format!(
        r#"[{{"_id":"1","id":"{REPO}","downloads":7,"likes":1,"gated":false,"tags":["gguf","license:mit"],"lastModified":"2026-01-31T08:15:00.000Z","siblings":[{{"rfilename":"m-Q4_0.gguf"}}]}}]"#
    );
    let about = format!(
        r#"{{"_id":"1","id":"{REPO}","sha":"{commit}","gated":"auto","tags":["license:mit"],"siblings":[]}}"#
    );
    let tree = r#"[{"type":"file","oid":"0123456789","size":10,"path":"m-Q4_0.gguf","lfs":{"oid":"a","size":10,"pointerSize":135}},{"type":"directory","oid":"1","size":0,"path":"d"}]"#;
    let hub = bench.hub();
    let repo = REPO.parse().unwrap();
    let (mut good, mut bad) = (0, 0);
    for seed in 0..72 {
        let document = [search.as_str(), about.as_str(), tree][usize::try_from(seed).unwrap() % 3];
        // As it should be, now and then: the test itself must understand what is good.
        let answer = if seed % 6 == 0 {
            document.as_bytes().to_vec()
        } else {
            bent(document, seed)
        };
        bench.fake.say(answer);
        match hub.search("x", 10).await {
            Ok(hits) => good += hits.len(),
            Err(_) => bad += 1,
        }
        if let Ok(listing) = hub.list(&repo, "main").await {
            for file in &listing.files {
                assert!(plimsoll_os::names::safe_relative(&file.path).is_ok(), "{file:?}");
            }
            let _ = listing.variants();
        }
    }
    assert!(
        good >= 12 && bad >= 30,
        "{good} answers were understood, {bad} were not"
    );
}
