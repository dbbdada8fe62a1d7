//! What the hub and the network say instead of a file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_hub::{Absent, Hub, HubError, Note, Pause, Pin, Token, Unwatched, Wanted};
use plimsoll_testkit::hub::{At, FakeHub, Fault};
use tokio_util::sync::CancellationToken;

use crate::support::{FILE, REPO, assert_published, bench_with_file, done};

#[tokio::test]
async fn a_server_that_stays_silent_is_named() {
    let (bench, _) = bench_with_file().await;
    bench.fake.always(At::Data, Fault::NoAnswer);
    let set = bench.set(FILE).await.unwrap();
    let mut config = bench.config();
    config.patience.stall = Duration::from_millis(30);
    let refused = Hub::new(config)
        .fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
        .await
        .unwrap_err();
    assert!(matches!(refused, HubError::Stalled { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_is_asked_too_often_is_left_alone_as_long_as_it_says() {
    let (bench, file) = bench_with_file().await;
    bench.fake.next(At::Data, Fault::TooMany(Some(1)));
    let set = bench.set(FILE).await.unwrap();
    let before = Instant::now();
    let (fetched, watch) = bench.fetch(&set).await;
    let (paths, _) = done(fetched);
    assert_published(&bench, &file, &paths);
    assert!(
        before.elapsed() >= Duration::from_secs(1),
        "it came back too early"
    );
    let notes = watch.notes.lock().unwrap().clone();
    let paused = notes.iter().any(|note| {
        matches!(
            note,
            Note::Paused {
                pause: Pause::TooManyRequests(_),
                ..
            }
        )
    });
    assert!(paused, "{notes:?}");

    bench.fake.always(At::Head, Fault::TooMany(Some(3600)));
    let refused = bench.set(FILE).await.unwrap_err();
    let told = Some(Duration::from_hours(1));
    assert!(
        matches!(refused, HubError::TooManyRequests { retry_after, .. } if retry_after == told),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_failing_server_is_asked_again() {
    let (bench, file) = bench_with_file().await;
    bench.fake.next(At::Head, Fault::Status(502));
    bench.fake.next(At::Resolve, Fault::Status(503));
    bench.fake.next(At::Data, Fault::Status(500));
    bench.fake.next(At::Data, Fault::TooMany(None));
    let set = bench.set(FILE).await.unwrap();
    let (paths, _) = done(bench.fetch(&set).await.0);
    assert_published(&bench, &file, &paths);

    bench.fake.always(At::Head, Fault::Status(503));
    let refused = bench.set(FILE).await.unwrap_err();
    assert!(
        matches!(refused, HubError::Refused { status: 503, .. }) && refused.is_passing(),
        "{refused:?}"
    );
}

#[tokio::test]
async fn an_expired_link_is_replaced_by_a_new_one() {
    let (bench, file) = bench_with_file().await;
    let set = bench.set(FILE).await.unwrap();
    bench.fake.next(At::Data, Fault::Status(403));
    let (paths, _) = done(bench.fetch(&set).await.0);
    assert_published(&bench, &file, &paths);
    assert_eq!(
        bench.fake.seen_at(At::Resolve).len(),
        2,
        "the hub was asked for a new link"
    );
}

#[tokio::test]
async fn a_gated_repository_says_what_to_do_and_opens_with_a_token() {
    let (bench, file) = bench_with_file().await;
    bench.fake.gate(REPO, "hf_right");
    for (token, status) in [(None, 401), (Token::new("hf_wrong"), 403)] {
        let mut config = bench.config();
        config.token = token;
        let refused = Hub::new(config)
            .file_set(&format!("{REPO}/{FILE}").parse().unwrap())
            .await
            .unwrap_err();
        assert!(
            matches!(&refused, HubError::NeedsToken { repo, status: s } if repo == REPO && *s == status),
            "{refused:?}"
        );
    }
    let mut config = bench.config();
    config.token = Token::new("hf_right");
    let hub = Hub::new(config);
    let set = hub
        .file_set(&format!("{REPO}/{FILE}").parse().unwrap())
        .await
        .unwrap();
    let (paths, _) = done(
        hub.fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    );
    assert_published(&bench, &file, &paths);
    assert!(
        bench.fake.seen_at(At::Data).iter().all(|seen| !seen.token),
        "the CDN got the token"
    );
}

#[tokio::test]
async fn what_is_not_there_is_told_apart() {
    let (bench, _) = bench_with_file().await;
    for (address, what) in [
        (format!("{REPO}/other.gguf"), Absent::File),
        (format!("{REPO}/{FILE}@no-such-branch"), Absent::Revision),
        (format!("org/nothing/{FILE}"), Absent::Repository),
    ] {
        let refused = bench.hub().file_set(&address.parse().unwrap()).await.unwrap_err();
        assert!(
            matches!(&refused, HubError::NotFound { what: found, .. } if *found == what),
            "{address}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn a_hub_without_its_headers_is_not_believed() {
    let (bench, _) = bench_with_file().await;
    bench.fake.next(At::Head, Fault::NoMetadata);
    let refused = bench.set(FILE).await.unwrap_err();
    assert!(matches!(refused, HubError::BadAnswer { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_hub_that_is_down_is_named_and_a_retry_works() {
    let (bench, file) = bench_with_file().await;
    bench.fake.down();
    let refused = bench.set(FILE).await.unwrap_err();
    assert!(
        matches!(&refused, HubError::Unreachable { host, .. } if host == "127.0.0.1"),
        "{refused:?}"
    );
    assert!(refused.is_passing());
    bench.fake.up().await;
    let set = bench.set(FILE).await.unwrap();
    let (paths, _) = done(bench.fetch(&set).await.0);
    assert_published(&bench, &file, &paths);
}

#[tokio::test]
async fn nothing_is_asked_when_offline() {
    let (bench, _) = bench_with_file().await;
    let mut config = bench.config();
    config.offline = true;
    let hub = Hub::new(config);
    let address = format!("{REPO}/{FILE}").parse().unwrap();
    assert!(matches!(hub.file_set(&address).await, Err(HubError::Offline)));
    let listed = hub.list(&REPO.parse().unwrap(), "main").await;
    assert!(matches!(listed, Err(HubError::Offline)));
    assert_eq!(bench.fake.seen().len(), 0);
}

#[tokio::test]
async fn loopback_is_reached_past_every_proxy() {
    let (bench, file) = bench_with_file().await;
    let mut config = bench.config();
    // Nobody listens there: a request that went through it would fail.
    let nowhere = Some("http://127.0.0.1:9".to_owned());
    config.proxies = plimsoll_hub::Proxies::Given {
        https: nowhere.clone(),
        http: nowhere,
        except: None,
    };
    let hub = Hub::new(config);
    let set = hub
        .file_set(&format!("{REPO}/{FILE}").parse().unwrap())
        .await
        .unwrap();
    let (paths, _) = done(
        hub.fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    );
    assert_published(&bench, &file, &paths);
}

#[tokio::test]
async fn everybody_else_is_reached_through_the_proxy() {
    // The fake stands in for a proxy: it hears the full address of somebody who does not exist.
    let fake = FakeHub::start().await;
    let cache = tempfile::tempdir().unwrap();
    let mut config = crate::support::config("http://hub.invalid", cache.path());
    config.proxies = plimsoll_hub::Proxies::Given {
        https: None,
        http: Some(fake.endpoint()),
        except: None,
    };
    let refused = Hub::new(config)
        .file_set(&format!("{REPO}/{FILE}").parse().unwrap())
        .await
        .unwrap_err();
    assert!(
        matches!(refused, HubError::NotFound { .. }),
        "the proxy answered: {refused:?}"
    );
    assert_eq!(fake.seen_at(At::Head).len(), 1);
}

#[tokio::test]
async fn a_pinned_file_needs_no_question_and_is_refused_like_any_other() {
    let (bench, file) = bench_with_file().await;
    let known = bench.set(FILE).await.unwrap();
    let pin = Pin {
        bytes: Some(known.bytes()),
        sha256: Some(file.sha256().to_owned()),
    };
    let address = format!("{REPO}/{FILE}@{}", known.files[0].commit)
        .parse()
        .unwrap();
    let wanted = [Wanted {
        address,
        pin: Some(pin),
    }];
    let never = CancellationToken::new();
    bench.fake.gate(REPO, "hf_right");
    let set = bench.hub().file_set_of(&wanted).await.unwrap();
    let refused = bench
        .hub()
        .fetch(&set, Arc::new(Unwatched), &never)
        .await
        .unwrap_err();
    assert!(
        matches!(refused, HubError::NeedsToken { status: 401, .. }),
        "{refused:?}"
    );

    let mut config = bench.config();
    config.token = Token::new("hf_right");
    done(
        Hub::new(config.clone())
            .fetch(&set, Arc::new(Unwatched), &never)
            .await,
    );
    bench.fake.down();
    config.offline = true;
    let offline = Hub::new(config);
    let set = offline.file_set_of(&wanted).await.unwrap();
    let (paths, traffic) = done(offline.fetch(&set, Arc::new(Unwatched), &never).await);
    assert_eq!(traffic.connections, 0, "what is on disk needs no hub");
    assert_published(&bench, &file, &paths);
}
