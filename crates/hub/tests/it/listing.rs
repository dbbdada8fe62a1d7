use plimsoll_hub::{Absent, Gate, Hub, HubError, Token};
use plimsoll_testkit::hub::{At, FakeFile, Fault};
use plimsoll_units::Bytes;

use crate::support::{Bench, REPO};

#[tokio::test]
async fn a_repository_is_listed_with_sizes_at_its_commit() {
    let bench = Bench::new().await;
    let commit = bench.fake.commit(
        REPO,
        &[
            ("README.md", FakeFile::plain("hello")),
            ("m-Q4_K_M.gguf", FakeFile::lfs(vec![1; 1000])),
            ("q8/m-Q8_0.gguf", FakeFile::xet(vec![2; 2000])),
            ("../../outside.gguf", FakeFile::lfs(vec![3; 10])),
        ],
    );
    let listing = bench.hub().list(&REPO.parse().unwrap(), "main").await.unwrap();
    assert_eq!(
        (listing.commit.as_str(), listing.gate),
        (commit.as_str(), Gate::Open)
    );
    let found: Vec<(&str, Bytes)> = listing
        .gguf()
        .map(|file| (file.path.as_str(), file.bytes))
        .collect();
    assert_eq!(
        found,
        [("m-Q4_K_M.gguf", Bytes(1000)), ("q8/m-Q8_0.gguf", Bytes(2000))],
        "and nothing unsafe"
    );
}

#[tokio::test]
async fn faults_of_the_listing_have_their_own_names() {
    let bench = Bench::new().await;
    let _ = bench.fake.commit(REPO, &[("m.gguf", FakeFile::lfs(vec![1; 10]))]);
    bench.fake.gate("org/gated", "hf_right");
    let hub = bench.hub();
    let list =
        async |repo: &str, revision: &str| hub.list(&repo.parse().unwrap(), revision).await.unwrap_err();

    let missing = list("org/nothing", "main").await;
    assert!(
        matches!(
            missing,
            HubError::NotFound {
                what: Absent::Repository,
                ..
            }
        ),
        "{missing:?}"
    );
    let missing = list(REPO, "no-such-branch").await;
    assert!(
        matches!(
            missing,
            HubError::NotFound {
                what: Absent::Revision,
                ..
            }
        ),
        "{missing:?}"
    );
    let gated = list("org/gated", "main").await;
    assert!(
        matches!(gated, HubError::NeedsToken { status: 401, .. }),
        "{gated:?}"
    );
    bench.fake.always(At::Api, Fault::Status(418));
    let refused = list(REPO, "main").await;
    assert!(
        matches!(refused, HubError::Refused { status: 418, .. }),
        "{refused:?}"
    );
    bench.fake.down();
    let gone = list(REPO, "main").await;
    assert!(matches!(gone, HubError::Unreachable { .. }), "{gone:?}");
}

#[tokio::test]
async fn only_the_configured_token_is_sent() {
    let bench = Bench::new().await;
    let _ = bench.fake.commit(REPO, &[("m.gguf", FakeFile::lfs(vec![1; 10]))]);
    bench.hub().list(&REPO.parse().unwrap(), "main").await.unwrap();
    assert!(
        bench.fake.seen_at(At::Api).iter().all(|seen| !seen.token),
        "none was configured"
    );
    let mut config = bench.config();
    config.token = Token::new("hf_mine");
    Hub::new(config)
        .list(&REPO.parse().unwrap(), "main")
        .await
        .unwrap();
    assert!(bench.fake.seen_at(At::Api).iter().any(|seen| seen.token));
}
