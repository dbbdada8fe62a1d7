//! Who vouches for a hub, and the proxies on the way to it. What the environment says of both is tested with the
//! command itself.

use plimsoll_hub::{Hub, HubConfig, HubError, Proxies};
use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_testkit::{Authority, FakeProxy};

use crate::support::{FILE, REPO, config};

async fn hub(authority: &Authority) -> FakeHub {
    let hub = FakeHub::start_tls(authority, &["hub.test"]).await;
    let _ = hub.commit(REPO, &[(FILE, FakeFile::lfs(vec![7; 1000]))]);
    hub
}

fn through(proxy: &FakeProxy, endpoint: &str, except: Option<&str>) -> HubConfig {
    let mut config = config(endpoint, "cache".as_ref());
    config.proxies = Proxies::Given {
        https: Some(proxy.url()),
        http: Some(proxy.url()),
        except: except.map(str::to_owned),
    };
    config
}

async fn ask(config: HubConfig) -> Result<plimsoll_hub::FileSet, HubError> {
    Hub::new(config)
        .file_set(&format!("{REPO}/{FILE}").parse().unwrap())
        .await
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_told_at_once() {
    let hub = hub(&Authority::new()).await;
    let refused = ask(config(&hub.endpoint(), "cache".as_ref())).await.unwrap_err();
    assert!(
        matches!(&refused, HubError::Certificate { host, .. } if host == "127.0.0.1"),
        "{refused:?}"
    );
    assert!(!refused.is_passing(), "asking again does not make it valid");
    assert_eq!(hub.seen().len(), 0, "nothing was said to it");
}

#[tokio::test]
async fn the_proxy_is_not_blamed_for_the_certificate_behind_it() {
    let hub = hub(&Authority::new()).await;
    let proxy = FakeProxy::start().await;
    proxy.way("hub.test", &hub.endpoint());
    let refused = ask(through(&proxy, "https://hub.test", None)).await.unwrap_err();
    assert!(matches!(refused, HubError::Certificate { .. }), "{refused:?}");
    assert_eq!(proxy.asked(), ["CONNECT hub.test:443"]);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named() {
    let hub = hub(&Authority::new()).await;
    let proxy = FakeProxy::start().await;
    for status in [403, 407, 502] {
        proxy.refuse(status);
        let refused = ask(through(&proxy, "https://hub.test", None)).await.unwrap_err();
        assert!(
            matches!(&refused, HubError::Proxy { host, .. } if host == "hub.test"),
            "{status}: {refused:?}"
        );
        assert!(refused.is_passing());
    }
    drop(proxy);
    assert_eq!(hub.seen().len(), 0);
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let proxy = FakeProxy::start().await;
    let mut gone = through(&proxy, "https://hub.test", None);
    drop(proxy);
    gone.patience.fruitless_max = 2;
    let refused = ask(gone).await.unwrap_err();
    assert!(matches!(refused, HubError::Proxy { .. }), "{refused:?}");
}

/// Linux takes this address for its own machine, and we do not: somebody who is no loopback and answers.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn who_is_excepted_is_reached_past_the_proxy() {
    let hub = FakeHub::start().await;
    let _ = hub.commit(REPO, &[(FILE, FakeFile::lfs(vec![7; 1000]))]);
    let proxy = FakeProxy::start().await;
    proxy.way("0.0.0.0", &hub.endpoint());
    let endpoint = hub.endpoint().replace("127.0.0.1", "0.0.0.0");
    ask(through(&proxy, &endpoint, Some("example.com, 0.0.0.0")))
        .await
        .unwrap();
    assert!(proxy.asked().is_empty(), "{:?}", proxy.asked());
    ask(through(&proxy, &endpoint, Some("example.com")))
        .await
        .unwrap();
    assert_eq!(proxy.asked().len(), 1);
}

#[tokio::test]
async fn http_to_this_machine_never_goes_through_a_proxy() {
    let hub = FakeHub::start().await;
    let _ = hub.commit(REPO, &[(FILE, FakeFile::lfs(vec![7; 1000]))]);
    let proxy = FakeProxy::start().await;
    ask(through(&proxy, &hub.endpoint(), None)).await.unwrap();
    let secure = FakeHub::start_tls(&Authority::new(), &[]).await;
    ask(through(&proxy, &secure.endpoint(), None)).await.unwrap_err();
    assert!(proxy.asked().is_empty(), "{:?}", proxy.asked());
}
