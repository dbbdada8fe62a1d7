//! The list of engines, with the real one and with programs that fail in the ways of real ones.
#![expect(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

mod common;

use std::path::Path;

use common::{Home, engines_in};
use plimsoll_engine::{EngineError, Origin, Step};
use plimsoll_os::files;
use plimsoll_testkit::real;
use plimsoll_units::Bytes;

#[tokio::test]
async fn the_real_engine_is_added_checked_used_and_forgotten() {
    let home = Home::empty();
    assert!(matches!(home.engines.in_use(), Err(EngineError::NoEngine)));
    assert!(home.engines.list().unwrap().is_empty());

    let engine = home.engines.add(&real::engine_dir()).await.unwrap();
    assert!(!engine.version.is_empty());
    assert!(
        engine.backends.iter().any(|name| name == "cpu"),
        "{:?}",
        engine.backends
    );
    assert_eq!(engine.origin, Origin::Added);
    assert!(engine.abilities.knows("--models-preset") && !engine.abilities.knows("--no-such-thing"));
    assert_eq!(home.engines.in_use().unwrap(), engine, "the first one is used");

    // By its binary it is the same, also for another process that reads the list.
    let again = engines_in(home.path()).add(&engine.binary).await.unwrap();
    assert_eq!(again, engine);
    assert_eq!(home.engines.list().unwrap().len(), 1);

    let check = home.engines.check(&engine.id).await.unwrap();
    assert!(check.passed(), "{check:?}");
    let steps: Vec<Step> = check.steps.iter().map(|step| step.step).collect();
    assert_eq!(
        steps,
        [Step::Files, Step::Version, Step::Abilities, Step::Devices]
    );

    assert!(matches!(
        home.engines.choose("none").await,
        Err(EngineError::UnknownEngine { .. })
    ));
    home.engines.remove(&engine.id).await.unwrap();
    assert!(engine.binary.is_file(), "what the person added stays where it is");
    assert!(matches!(home.engines.in_use(), Err(EngineError::NoEngine)));
}

#[tokio::test]
async fn all_missing_libraries_are_named() {
    let home = Home::empty();
    let folder = home.path().join("bare");
    files::create_dir(&folder).unwrap();
    files::link_or_copy(
        &real::engine_dir().join("llama-server"),
        &folder.join("llama-server"),
    )
    .unwrap();
    let error = home.engines.add(&folder).await.unwrap_err();
    let EngineError::EngineIncomplete { missing, .. } = &error else {
        panic!("{error:?}")
    };
    assert!(missing.iter().any(|name| name.contains("llama")), "{missing:?}");
    assert!(home.engines.list().unwrap().is_empty(), "what failed is not kept");
}

#[cfg(unix)]
#[tokio::test]
async fn programs_that_fail_are_told_apart() {
    let home = Home::empty();
    let add = async |name: &str, script: &str| {
        let folder = home.path().join(name);
        put(&folder, script);
        home.engines.add(&folder).await.unwrap_err()
    };
    let error = add("old-cpu", "#!/bin/sh\nkill -ILL $$\n").await;
    assert!(
        matches!(error, EngineError::IllegalInstruction { .. }),
        "{error:?}"
    );
    let error = add("no-version", "#!/bin/sh\necho hello\n").await;
    assert!(
        matches!(
            error,
            EngineError::EngineCheckFailed {
                step: Step::Version,
                ..
            }
        ),
        "{error:?}"
    );
    let error = add(
        "too-old",
        "#!/bin/sh\necho 'version: 1 (abc)'\necho '--host HOST  x'\n",
    )
    .await;
    let EngineError::EngineCheckFailed {
        step: Step::Abilities,
        output,
    } = &error
    else {
        panic!("{error:?}")
    };
    assert!(output.contains("--models-preset"), "{output}");
    let error = add("crash", "#!/bin/sh\necho boom >&2\nexit 3\n").await;
    let EngineError::EngineCheckFailed {
        step: Step::Version,
        output,
    } = &error
    else {
        panic!("{error:?}")
    };
    assert!(output.contains('3') && output.contains("boom"), "{output}");
    let error = home.engines.add(&home.path().join("nowhere")).await.unwrap_err();
    assert!(matches!(error, EngineError::NoServerThere { .. }), "{error:?}");
    let folder = home.path().join("no-program");
    files::create_dir(&folder).unwrap();
    files::replace(&folder.join("llama-server"), b"not for running").unwrap();
    let error = home.engines.add(&folder).await.unwrap_err();
    assert!(matches!(error, EngineError::Child(_)), "{error:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_check_tells_what_became_of_an_engine() {
    let home = Home::empty();
    let folder = home.path().join("copy");
    let real = real::engine_dir().join("llama-server");
    put(&folder, &format!("#!/bin/sh\nexec '{}' \"$@\"\n", real.display()));
    let engine = home.engines.add(&folder).await.unwrap();
    files::remove_tree(&folder).unwrap();
    put(&folder, "#!/bin/sh\nexit 1\n");
    let check = home.engines.check(&engine.id).await.unwrap();
    assert!(!check.passed());
    let last = check.steps.last().unwrap();
    assert_eq!((last.step, last.passed), (Step::Version, false));
    files::remove_tree(&folder).unwrap();
    let check = home.engines.check(&engine.id).await.unwrap();
    assert_eq!(check.steps.len(), 1);
    assert!(check.steps[0].detail.contains("llama-server"), "{check:?}");
}

#[tokio::test]
async fn a_list_from_a_newer_version_is_left_alone() {
    let home = Home::empty();
    let index = home.path().join("engines").join("index.json");
    files::create_dir(index.parent().unwrap()).unwrap();
    let newer = br#"{"schema": 99, "inUse": null, "engines": []}"#;
    files::replace(&index, newer).unwrap();
    assert!(matches!(
        home.engines.add(&real::engine_dir()).await,
        Err(EngineError::IndexTooNew { schema: 99, .. })
    ));
    assert_eq!(std::fs::read(&index).unwrap(), newer);
    files::replace(&index, b"{").unwrap();
    assert!(matches!(
        home.engines.list(),
        Err(EngineError::IndexBroken { .. })
    ));
}

#[cfg(unix)]
fn put(folder: &Path, script: &str) {
    files::create_dir(folder).unwrap();
    files::write_new(
        &folder.join("llama-server"),
        &mut script.as_bytes(),
        Bytes::mib(1),
        files::Run::Yes,
    )
    .unwrap();
}
