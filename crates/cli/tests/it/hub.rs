//! What the line and the hub can do wrong, as it is told in a terminal: each with a code and a way on of its own.
//! And what the environment says of proxies and certificates.

use plimsoll_testkit::hub::{At, FakeFile, FakeHub, Fault};
use plimsoll_testkit::{Authority, FakeProxy, TinyGguf};
use serde_json::Value;

use crate::place::{Place, Ran};

const MODEL: &str = "hf:org/model-GGUF/model-Q4_K_M.gguf";
const REPO: &str = "org/model-GGUF";
const FILE: &str = "model-Q4_K_M.gguf";

fn pull(place: &Place, endpoint: &str, typed: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = place.command(&[&["pull"], typed].concat());
    command.env("HF_ENDPOINT", endpoint).env("HF_HUB_OFFLINE", "0");
    command.envs(environment.iter().copied());
    Ran::of(command)
}

async fn hub() -> FakeHub {
    let hub = FakeHub::start().await;
    let _ = hub.commit(REPO, &[(FILE, FakeFile::lfs(TinyGguf::llama().bytes()))]);
    hub
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_has_its_own_code_and_a_way_on() {
    let (place, hub) = (Place::fresh(), hub().await);
    let _ = hub.commit("org/gated-GGUF", &[(FILE, FakeFile::lfs(vec![1; 100]))]);
    hub.gate("org/gated-GGUF", "hf_right");
    let failing = |at: Option<(At, Fault)>, typed: &str| {
        hub.heal();
        if let Some((at, fault)) = at {
            hub.always(at, fault);
        }
        let ran = pull(&place, &hub.endpoint(), &[typed, "--json"], &[]);
        hub.heal();
        ran.fault()
    };
    let gone = format!("{MODEL}@{}", "0".repeat(40));
    let cases = [
        (None, "hf:org/gated-GGUF/model-Q4_K_M.gguf", "hubNeedsToken"),
        (None, "hf:org/model-GGUF/other.gguf", "hubNotFound"),
        (None, "hf:org/nothing/model.gguf", "hubNotFound"),
        (None, gone.as_str(), "hubRevisionGone"),
        (Some((At::Head, Fault::Status(402))), MODEL, "hubQuota"),
        (
            Some((At::Head, Fault::TooMany(Some(3600)))),
            MODEL,
            "hubTooManyRequests",
        ),
        (Some((At::Head, Fault::Status(418))), MODEL, "hubRefused"),
        (Some((At::Head, Fault::NoMetadata)), MODEL, "hubRefused"),
        (Some((At::Head, Fault::Claims(1 << 60))), MODEL, "diskFull"),
        (Some((At::Data, Fault::WrongByteAt(9))), MODEL, "hashMismatch"),
    ];
    for (fault, typed, code) in cases {
        let told = failing(fault, typed);
        assert_eq!(told["code"], code, "{fault:?} {typed}: {told}");
    }
    let told = failing(Some((At::Head, Fault::TooMany(Some(3600)))), MODEL);
    assert_eq!(told["params"]["seconds"], 3600, "{told}");
    let told = failing(Some((At::Head, Fault::Claims(1 << 60))), MODEL);
    assert!(
        told["params"]["needed"].as_u64().unwrap() >= 1 << 60 && told["params"]["free"].is_u64(),
        "{told}"
    );
    assert_eq!(
        place.run(&["models", "--json"]).reply()["models"],
        serde_json::json!([]),
        "nothing of all this is usable"
    );

    let shown = pull(
        &place,
        &hub.endpoint(),
        &["hf:org/gated-GGUF/model-Q4_K_M.gguf"],
        &[],
    );
    assert!(shown.err.contains("  > ") && shown.code == 1, "{shown:?}");
    let offline = place.run(&["pull", MODEL, "--json"]).fault();
    assert_eq!(offline["code"], "hubOffline");

    // And once nothing is wrong it comes.
    let pulled = pull(&place, &hub.endpoint(), &[MODEL, "--json"], &[]);
    assert!(pulled.shown().contains("\"done\""), "{pulled:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_what_the_catalog_pinned_is_told_before_its_first_byte() {
    let (place, hub) = (Place::fresh(), FakeHub::start().await);
    let catalog = plimsoll_catalog::Catalog::packaged().unwrap();
    let (_, variant) = catalog.find("smollm2-135m-instruct:Q4_1").unwrap();
    let file = &variant.files[0];
    let typed = ["smollm2-135m-instruct:Q4_1", "--json"];

    hub.commit_as(
        &file.repo,
        &file.revision,
        &[(&file.path, FakeFile::lfs(TinyGguf::llama().bytes()))],
    );
    let changed = pull(&place, &hub.endpoint(), &typed, &[]).fault();
    assert_eq!(changed["code"], "hubChanged", "{changed}");
    assert_eq!(hub.sent(), 0);

    // Replaced since, and the commit that the catalog means is gone with its history.
    hub.commit_as(
        &file.repo,
        &"1".repeat(40),
        &[(&file.path, FakeFile::lfs(vec![0; 100]))],
    );
    let kept = pull(&place, &hub.endpoint(), &typed, &[]).fault();
    assert_eq!(
        kept["code"], "hubChanged",
        "the pinned commit is what counts: {kept}"
    );
    let other = FakeHub::start().await;
    let _ = other.commit(&file.repo, &[(&file.path, FakeFile::lfs(vec![0; 100]))]);
    let gone = pull(&place, &other.endpoint(), &typed, &[]).fault();
    assert_eq!(gone["code"], "hubRevisionGone", "{gone}");
    assert_eq!(hub.sent() + other.sent(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_company_that_vouches_for_the_hub_has_to_be_known_to_the_system() {
    let (place, authority) = (Place::fresh(), Authority::new());
    let hub = FakeHub::start_tls(&authority, &[]).await;
    let _ = hub.commit(REPO, &[(FILE, FakeFile::lfs(TinyGguf::llama().bytes()))]);
    let unknown = pull(&place, &hub.endpoint(), &[MODEL, "--json"], &[]).fault();
    assert_eq!(unknown["code"], "hubCertificate", "{unknown}");

    let store = place.file("company.pem", authority.pem());
    let known = [("SSL_CERT_FILE", store.to_str().unwrap())];
    let pulled = pull(&place, &hub.endpoint(), &[MODEL, "--json"], &known);
    assert!(pulled.shown().contains("\"done\""), "{pulled:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn https_goes_through_the_proxy_of_the_environment_and_this_machine_never() {
    let (place, authority) = (Place::fresh(), Authority::new());
    let hub = FakeHub::start_tls(&authority, &["hub.test"]).await;
    let _ = hub.commit(REPO, &[(FILE, FakeFile::lfs(TinyGguf::llama().bytes()))]);
    let proxy = FakeProxy::start().await;
    proxy.way("hub.test", &hub.endpoint());
    let store = place.file("company.pem", authority.pem());
    let url = proxy.url();
    let environment = [
        ("SSL_CERT_FILE", store.to_str().unwrap()),
        ("HTTPS_PROXY", url.as_str()),
        ("HTTP_PROXY", url.as_str()),
    ];
    let pulled = pull(&place, "https://hub.test", &[MODEL, "--json"], &environment);
    assert!(pulled.shown().contains("\"done\""), "{pulled:?}");
    let asked = proxy.asked();
    assert!(!asked.is_empty(), "it went another way");
    assert!(
        asked.iter().all(|asked| asked == "CONNECT hub.test:443"),
        "the CDN of this test is on this machine: {asked:?}"
    );

    proxy.refuse(403);
    let refused = pull(
        &Place::fresh(),
        "https://hub.test",
        &[MODEL, "--json"],
        &environment,
    )
    .fault();
    assert_eq!(refused["code"], "hubProxy", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_and_a_home_of_the_hubs_own_tools_are_used() {
    let (place, hub) = (Place::fresh(), hub().await);
    hub.gate(REPO, "hf_right");
    let by_name = pull(
        &place,
        &hub.endpoint(),
        &[MODEL, "--json"],
        &[("HF_TOKEN", "hf_right")],
    );
    assert!(by_name.shown().contains("\"done\""), "{by_name:?}");

    let other = Place::fresh();
    other.file("hf-home/token", "hf_right\n");
    let home = other.path("hf-home");
    let mut command = other.command(&["pull", MODEL, "--json"]);
    command
        .env("HF_ENDPOINT", hub.endpoint())
        .env("HF_HUB_OFFLINE", "0")
        .env("HF_HOME", &home)
        .env_remove("HF_HUB_CACHE");
    let by_home = Ran::of(command);
    assert!(by_home.shown().contains("\"done\""), "{by_home:?}");
    assert!(home.join("hub/models--org--model-GGUF/snapshots").is_dir());
    let lines: Vec<Value> = by_home
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.last().unwrap()["type"], "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_nobody_answers_for_is_told() {
    let (place, hub) = (Place::fresh(), hub().await);
    hub.down();
    let fault = pull(&place, &hub.endpoint(), &[MODEL, "--json"], &[]).fault();
    assert_eq!(fault["code"], "hubUnreachable");
    assert_eq!(
        fault["fixes"],
        serde_json::json!(["checkConnection"]),
        "one way on, not two that do the same"
    );
}
