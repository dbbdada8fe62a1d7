//! Every written conversation decides as its file says.

use std::path::PathBuf;

use plimsoll_wire::FaultCode;

use super::replay;

fn files() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/replay");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn every_file_decides_as_it_says() {
    let mut wrong = Vec::new();
    let mut expectations = 0;
    for file in files() {
        let bytes = std::fs::read(&file).unwrap();
        let report = replay(&bytes).unwrap_or_else(|fault| panic!("{}: {fault:?}", file.display()));
        expectations += String::from_utf8(bytes).unwrap().matches("\"expect\"").count();
        for line in report.lines.iter().filter(|line| !line.wrong.is_empty()) {
            wrong.push(format!(
                "{} step {} ({}): {:?}, read {:?}",
                file.file_name().unwrap().to_string_lossy(),
                line.step,
                line.does,
                line.wrong,
                line.reading
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(expectations > 60, "{expectations}");
}

#[test]
fn an_expectation_that_is_not_met_is_told() {
    let file = br#"{"schema": 1, "steps": [
        {"do": "route", "route": "r"}, {"do": "limits", "window": 1000},
        {"do": "rows", "rows": [{"id": "q", "kind": "user", "bytes": 400}]},
        {"do": "gate", "moment": "display", "expect": {"kind": "real", "tokens": 100, "within": 1}}
    ]}"#;
    let report = replay(file).unwrap();
    assert_eq!(report.wrong, 2);
    assert_eq!(
        report.lines[3].wrong,
        ["kind: Real, Some(Rough)", "tokens: 100, Some(104)"]
    );
}

#[test]
fn what_is_no_replay_is_a_fault() {
    for bytes in [
        &b"[]"[..],
        b"{\"schema\": 2, \"steps\": []}",
        b"{\"schema\": 1, \"steps\": [{\"do\": \"sink\"}]}",
    ] {
        assert_eq!(replay(bytes).unwrap_err().code, FaultCode::BadRequest);
    }
}
