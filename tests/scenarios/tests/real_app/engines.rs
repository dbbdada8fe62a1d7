//! The right engine, and what happens when it is not: archives of the real one on a server of ours.

use plimsoll_catalog::{Asset, AssetRole, Catalog, EngineRelease};
use plimsoll_os::files;
use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_testkit::real;
use plimsoll_units::Bytes;
use plimsoll_wire::{
    EngineList, Event, FaultCode, InstallEngine, ListEngines, ReadNewestEngines, RollBackEngine, Transfer,
    Transferring, UseEngine,
};
use serde_json::json;

use crate::room::{Room, SMOLLM2, next};
use crate::setup::pack;

fn name(tag: &str, backing: &str) -> String {
    let processor = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "x64"
    };
    format!("llama-{tag}-bin-ubuntu-{backing}{processor}.tar.gz")
}

fn asset(hub: &FakeHub, name: &str, archive: Vec<u8>) -> Asset {
    let bytes = Bytes(archive.len() as u64);
    let sha256 = FakeFile::lfs(archive.clone()).sha256().to_owned();
    Asset {
        name: name.to_owned(),
        url: hub.release(&format!("download/{name}"), archive),
        bytes,
        sha256,
        os: "linux".into(),
        arch: std::env::consts::ARCH.into(),
        backend: "cpu".into(),
        toolkit: None,
        role: AssetRole::Engine,
    }
}

fn catalog(assets: Vec<Asset>) -> &'static Catalog {
    let mut catalog = Catalog::packaged().unwrap().clone();
    catalog.engines = EngineRelease {
        tag: "b1".into(),
        version: "1".into(),
        assets,
    };
    // Tests are short-lived, and the app wants a catalog that lives as long as the program.
    Box::leak(Box::new(catalog))
}

/// Fetches and waits for the end.
async fn install(room: &Room, call: InstallEngine) -> Transfer {
    let mut heard = room.app.hear();
    let id = room.app.ask(call).await.unwrap().id;
    loop {
        if let Event::TransferMoved { transfer } = next(&mut heard).await
            && transfer.id == id
            && !matches!(transfer.state, Transferring::Running | Transferring::Checking)
        {
            return transfer;
        }
    }
}

async fn list(room: &Room) -> EngineList {
    room.app.ask(ListEngines {}).await.unwrap()
}

fn in_use(list: &EngineList) -> &str {
    let used = list.engines.iter().find(|engine| engine.in_use);
    used.map_or("", |engine| engine.id.as_str())
}

const ANY: InstallEngine = InstallEngine {
    flavour: None,
    newest: None,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_does_not_work_here_is_skipped_and_it_is_said() {
    let hub = FakeHub::start().await;
    let broken = pack(&real::engine_dir(), "libmtmd");
    let whole = pack(&real::engine_dir(), "");
    let catalog = catalog(vec![
        asset(&hub, &name("b1", "vulkan-"), whole),
        asset(&hub, &name("b1", ""), broken),
    ]);
    let room = Room::with_hub(&hub.endpoint(), catalog).await;
    assert_eq!(list(&room).await.available, ["cpu", "vulkan"], "no card here");
    let ended = install(&room, ANY).await;
    assert_eq!(ended.state, Transferring::Done, "{ended:?}");
    let after = list(&room).await;
    let [engine] = after.engines.as_slice() else {
        panic!("one is kept: {after:?}")
    };
    assert!(engine.id == "b1-vulkan" && engine.in_use, "{engine:?}");
    let [skipped] = engine.instead_of.as_slice() else {
        panic!("what was tried first is said: {engine:?}")
    };
    assert_eq!(skipped.flavour, "cpu");
    assert!(skipped.problem.contains("libmtmd"), "{skipped:?}");

    // A file that vanishes is named.
    let library = std::path::Path::new(&engine.folder).join("libllama.so.0");
    files::remove_file(&library).unwrap();
    let fault = list(&room).await.engines[0].fault.clone().unwrap();
    assert_eq!(fault.code, FaultCode::EngineIncomplete);
    assert_eq!(fault.params["file"], "libllama.so.0".into(), "{fault:?}");
    room.app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_release_is_offered_tested_taken_and_taken_back() {
    let hub = FakeHub::start().await;
    let whole = pack(&real::engine_dir(), "");
    let pinned = catalog(vec![asset(&hub, &name("b1", ""), whole.clone())]);
    let newer = asset(&hub, &name("b2", ""), whole);
    let file = |asset: &Asset, digest: Option<String>| json!({"name": asset.name, "size": asset.bytes.0, "digest": digest, "browser_download_url": asset.url});
    let listed = json!({
        "tag_name": "b2",
        "assets": [
            file(&newer, Some(format!("sha256:{}", newer.sha256))),
            // Nobody names its hash.
            file(&Asset { name: name("b2", "vulkan-"), ..newer.clone() }, None),
        ],
    });
    let releases = hub.release("latest.json", listed.to_string().into_bytes());
    let room = Room::with_releases(&hub.endpoint(), &releases, pinned).await;
    install(&room, ANY).await;
    assert_eq!(in_use(&list(&room).await), "b1-cpu");

    let newest = room.app.ask(ReadNewestEngines {}).await.unwrap();
    assert_eq!((newest.tag.as_str(), newest.in_use), ("b2", false));
    assert_eq!(newest.offers[0].flavour, "cpu");
    assert_eq!(newest.passed[0].why.code, "noDigest");
    assert_eq!(in_use(&list(&room).await), "b1-cpu", "offered, not forced");
    let take = InstallEngine {
        flavour: None,
        newest: Some(true),
    };
    let ended = install(&room, take).await;
    assert_eq!(ended.state, Transferring::Done, "{ended:?}");
    let after = list(&room).await;
    assert_eq!(
        (in_use(&after), after.previous.as_deref()),
        ("b2-cpu", Some("b1-cpu"))
    );

    // One step back, and the old one answers; all of this lies below a name that is not ASCII.
    let back = room.app.ask(RollBackEngine {}).await.unwrap();
    assert_eq!(in_use(&back), "b1-cpu");
    room.import(real::SMOLLM2).await;
    let conversation = room.conversation(SMOLLM2).await;
    let answer = room.say(&conversation, "Hello.").await;
    assert!(answer.went_well(), "{answer:?}");
    let call = UseEngine { id: "b2-cpu".into() };
    assert_eq!(in_use(&room.app.ask(call).await.unwrap()), "b2-cpu");
    room.app.end().await;
}

/// A list in which every name is new to us is a fault that names them.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_nobody_understands_is_a_fault_and_not_a_download() {
    let hub = FakeHub::start().await;
    let listed = json!({
        "tag_name": "b9",
        "assets": [{"name": "llama-b9-bin-ubuntu-warp-x64.tar.gz", "size": 1, "digest": format!("sha256:{}", "a".repeat(64)),
                    "browser_download_url": "http://127.0.0.1:9/x"}],
    });
    let releases = hub.release("latest.json", listed.to_string().into_bytes());
    let room = Room::with_releases(&hub.endpoint(), &releases, catalog(Vec::new())).await;
    let fault = room.app.ask(ReadNewestEngines {}).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::EngineUnknownAsset);
    if cfg!(target_arch = "x86_64") {
        assert_eq!(
            fault.params["files"],
            "llama-b9-bin-ubuntu-warp-x64.tar.gz".into(),
            "{fault:?}"
        );
    }
    assert!(!fault.fixes.is_empty());
    let taken = room
        .app
        .ask(InstallEngine {
            flavour: None,
            newest: Some(true),
        })
        .await;
    assert_eq!(taken.unwrap_err().code, FaultCode::EngineUnknownAsset);
    room.app.end().await;
}
