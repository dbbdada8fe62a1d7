use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_app::Hearing;
use plimsoll_catalog::{Asset, AssetRole, Catalog, EngineRelease};
use plimsoll_testkit::hub::{At, FakeFile, FakeHub, Fault};
use plimsoll_testkit::real;
use plimsoll_units::Bytes;
use plimsoll_wire::{
    Event, FaultCode, ListEngines, Param, ReadStatus, Setup, StartSetup, StepName, StepState, StopSetup,
};

use crate::room::{Room, SMOLLM2, next};

/// A hub with the real model, a release with the real engine, and a catalog that points at them.
struct Shore {
    hub: FakeHub,
    catalog: &'static Catalog,
    bytes: u64,
}

impl Shore {
    async fn start() -> Self {
        let hub = FakeHub::start().await;
        let archive = pack(&real::engine_dir(), "");
        let engine_bytes = archive.len() as u64;
        let sha256 = FakeFile::lfs(archive.clone()).sha256().to_owned();
        // Named as releases are: what it is for is read from its name.
        let system = if cfg!(target_os = "macos") {
            "macos"
        } else {
            "ubuntu"
        };
        let processor = if cfg!(target_arch = "aarch64") {
            "arm64"
        } else {
            "x64"
        };
        let name = format!("llama-b1-bin-{system}-{processor}.tar.gz");
        let url = hub.release(&format!("download/b1/{name}"), archive);
        let mut catalog = Catalog::packaged().unwrap().clone();
        catalog.engines = EngineRelease {
            tag: "b1".into(),
            version: "1".into(),
            assets: vec![Asset {
                name,
                url,
                bytes: Bytes(engine_bytes),
                sha256,
                os: std::env::consts::OS.into(),
                arch: std::env::consts::ARCH.into(),
                backend: "cpu".into(),
                toolkit: None,
                role: AssetRole::Engine,
            }],
        };
        let (_, variant) = catalog.find(SMOLLM2).unwrap();
        let file = &variant.files[0];
        let (repo, path, revision) = (file.repo.clone(), file.path.clone(), file.revision.clone());
        let bytes = variant.bytes();
        let model = std::fs::read(real::model(real::SMOLLM2)).unwrap();
        assert_eq!(model.len() as u64, bytes.0, "the catalog means this very file");
        hub.commit_as(&repo, &revision, &[(&path, FakeFile::lfs(model))]);
        // Tests are short-lived, and the app wants a catalog that lives as long as the program.
        let catalog = Box::leak(Box::new(catalog));
        Self {
            hub,
            catalog,
            bytes: engine_bytes + bytes.0,
        }
    }

    async fn room(&self) -> Room {
        Room::with_hub(&self.hub.endpoint(), self.catalog).await
    }
}

/// The files of a folder as releases are packed.
pub(crate) fn pack(folder: &Path, leave_out: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::none()));
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        // The linker asks for `libx.so.0`; its other two names would only make the test slower.
        let other_names = Path::new(&name).extension().is_some_and(|end| end == "so")
            && folder.join(format!("{name}.0")).exists();
        let left_out = !leave_out.is_empty() && name.contains(leave_out);
        if !left_out && !other_names && !name.contains(".so.0.") && !name.contains(".so.1.") {
            tar.append_path_with_name(entry.path(), format!("llama-b1/{name}"))
                .unwrap();
        }
    }
    // As long as the archives with a GPU's backend are, whatever this engine holds: engine and model end together.
    let filler = vec![0; 96 << 20];
    let mut header = tar::Header::new_gnu();
    header.set_size(filler.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "llama-b1/libfiller.so", filler.as_slice())
        .unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

async fn start(room: &Room) -> Setup {
    let call = StartSetup {
        model: "smollm2-135m-instruct".into(),
        quant: "Q4_1".into(),
        licence_accepted: false,
    };
    room.app.ask(call).await.unwrap()
}

async fn moved(heard: &mut Hearing) -> Setup {
    loop {
        if let Event::SetupMoved { setup } = next(heard).await {
            return setup;
        }
    }
}

/// Every state until the end, the end last.
async fn to_the_end(heard: &mut Hearing) -> Vec<Setup> {
    let mut all = vec![moved(heard).await];
    while all.last().is_some_and(|setup| setup.running) {
        all.push(moved(heard).await);
    }
    all
}

fn state(setup: &Setup, name: StepName) -> StepState {
    setup.steps.iter().find(|step| step.name == name).unwrap().state
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_and_model_have_to_fit_together_before_either_begins() {
    let shore = Shore::start().await;
    let mut catalog = shore.catalog.clone();
    let large = Bytes(1 << 50);
    catalog.engines.assets[0].bytes = large;
    let room = Room::with_hub(&shore.hub.endpoint(), Box::leak(Box::new(catalog))).await;
    let mut heard = room.app.hear();
    start(&room).await;
    let ended = to_the_end(&mut heard).await.pop().unwrap();
    let fault = ended.fault.clone().unwrap();
    assert_eq!(fault.code, FaultCode::DiskFull, "{fault:?}");
    let needed = fault.params["needed"].clone();
    let (_, variant) = shore.catalog.find(SMOLLM2).unwrap();
    assert!(
        matches!(needed, Param::Whole(needed) if needed > large.plus(variant.bytes()).0),
        "{fault:?}"
    );
    assert_eq!(shore.hub.sent(), 0, "neither of them");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_one_click_fetches_both_at_once_goes_on_after_a_stop_and_ends_in_a_chat() {
    let shore = Shore::start().await;
    shore.hub.pace(Some((256 << 10, Duration::from_millis(4))));
    let mut room = shore.room().await;
    let mut heard = room.app.hear();
    let begun = start(&room).await;
    assert_eq!(
        (begun.done_bytes, begun.total_bytes),
        (0, shore.bytes),
        "one bar for engine and model"
    );

    let stopped_at = loop {
        let setup = moved(&mut heard).await;
        let both = [StepName::Engine, StepName::Model].map(|name| state(&setup, name));
        if both == [StepState::Running; 2] && setup.done_bytes > shore.bytes / 5 {
            break setup.done_bytes;
        }
        assert!(setup.running, "{setup:?}");
    };
    room.app.ask(StopSetup {}).await.unwrap();
    let stopped = to_the_end(&mut heard).await.pop().unwrap();
    assert!(!stopped.done && stopped.fault.is_none(), "{stopped:?}");
    assert_eq!(state(&stopped, StepName::Model), StepState::Stopped);
    assert_eq!(state(&stopped, StepName::Start), StepState::Waiting);

    // A new run of the program goes on from what is on the disk.
    room.restart_with_hub(&shore.hub.endpoint(), shore.catalog).await;
    shore.hub.pace(None);
    let mut heard = room.app.hear();
    start(&room).await;
    let moves = to_the_end(&mut heard).await;
    let ended = moves.last().unwrap();
    assert!(ended.done && ended.fault.is_none(), "{ended:?}");
    let first = moves.iter().find(|setup| setup.done_bytes > 0).unwrap();
    assert!(
        first.done_bytes >= stopped_at / 2,
        "went on, did not begin anew: {first:?}"
    );
    assert!(
        moves.iter().all(|setup| setup.total_bytes == shore.bytes),
        "the bar keeps its length"
    );
    assert!(
        shore.hub.sent() < shore.bytes + (16 << 20),
        "{} of {}",
        shore.hub.sent(),
        shore.bytes
    );

    let engines = room.app.ask(ListEngines {}).await.unwrap().engines;
    assert_eq!(
        (engines.len(), engines[0].origin.as_str(), engines[0].in_use),
        (1, "release", true)
    );
    let status = room.app.ask(ReadStatus {}).await.unwrap();
    assert!(!status.first_start);
    assert_eq!(status.default_model.as_deref(), Some(SMOLLM2));
    let conversation = room.conversation(SMOLLM2).await;
    let answer = room.say(&conversation, "Hello.").await;
    assert!(answer.went_well(), "{answer:?}");
    room.app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_fails_says_why_and_the_next_click_goes_on() {
    let shore = Shore::start().await;
    let room = shore.room().await;
    shore.hub.always(At::Resolve, Fault::Status(404));
    let mut heard = room.app.hear();
    start(&room).await;
    let failed = to_the_end(&mut heard).await.pop().unwrap();
    assert_eq!(state(&failed, StepName::Model), StepState::Failed);
    let fault = failed.fault.unwrap();
    assert_eq!(fault.code, FaultCode::HubNotFound, "{fault:?}");
    assert!(!fault.fixes.is_empty());

    shore.hub.heal();
    start(&room).await;
    let ended = to_the_end(&mut heard).await.pop().unwrap();
    assert!(ended.done, "{ended:?}");
    room.app.end().await;
}
