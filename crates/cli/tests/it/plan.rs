use plimsoll_testkit::{GgufValue, TinyGguf};
use serde_json::{Value, json};

use crate::place::{Place, shape, text};

const MACHINE: &str = r#"{
  "os": { "name": "linux", "arch": "x86_64" },
  "cpu": { "name": "Test CPU", "physicalCores": 4, "logicalCores": 8 },
  "memory": { "totalBytes": 17179869184, "availableBytes": 12884901888,
              "bandwidthBytesPerS": { "value": 40000000000, "source": "test" } },
  "devices": []
}"#;

struct Desk {
    place: Place,
    model: String,
    machine: String,
}

fn desk() -> Desk {
    let place = Place::fresh();
    let model = place.file("tiny model.gguf", TinyGguf::llama().bytes());
    let machine = place.file("machine.json", MACHINE);
    Desk {
        model: text(&model).to_owned(),
        machine: text(&machine).to_owned(),
        place,
    }
}

impl Desk {
    fn plan(&self, more: &[&str]) -> Value {
        let mut typed = vec!["plan", &self.model, "--machine", &self.machine, "--json"];
        typed.extend(more);
        self.place.run(&typed).reply()
    }
}

#[test]
fn the_reply_is_the_contracts_plan() {
    let desk = desk();
    let plan = desk.plan(&["--context", "128"]);
    let mut shown = shape(&plan);
    // Reasons carry what they need.
    shown["why"] = json!([]);
    insta::assert_json_snapshot!(shown);
    assert_eq!(plan["model"]["id"], desk.model.as_str());
    assert_eq!(
        (&plan["model"]["architecture"], &plan["model"]["contextTrained"]),
        (&json!("llama"), &json!(512))
    );
    assert_eq!(
        (&plan["verdict"], &plan["settings"]["context"]),
        (&json!("fits"), &json!(128))
    );
    let host = &plan["memory"]["host"];
    let part = |name: &str| host[name].as_u64().unwrap();
    let parts = [
        "weightsBytes",
        "contextBytes",
        "computeBytes",
        "projectorBytes",
        "overheadBytes",
    ]
    .map(part);
    assert_eq!(
        parts.iter().sum::<u64>(),
        part("totalBytes"),
        "the parts are the whole"
    );
}

#[test]
fn a_person_gets_verdict_gauge_and_reasons() {
    let desk = desk();
    let ran = desk.place.run(&[
        "plan",
        &desk.model,
        "--machine",
        &desk.machine,
        "--context",
        "128",
    ]);
    let shown = ran.shown();
    assert!(
        shown.starts_with(&format!("{} F32\nllama, ", desk.model)),
        "{shown}"
    );
    for part in [
        "\nIt fits. Context 128 tokens",
        "\n  - ",
        "\n╺█",
        "┃",
        "█ weights ",
        "Writes about ",
        "\nllama-server ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let longest = shown
        .lines()
        .filter(|line| !line.starts_with("llama-server"))
        .map(|line| line.chars().count())
        .max();
    assert!(longest < Some(200), "{shown}");
}

#[test]
fn wishes_reach_the_planner() {
    let desk = desk();
    let of = |more: &[&str], part: &str| desk.plan(more).pointer(part).cloned().unwrap();
    assert_eq!(of(&["--context", "64"], "/settings/context"), 64);
    assert_eq!(of(&["--slots", "2", "--context", "128"], "/settings/slots"), 2);
    assert_eq!(of(&["--ubatch", "64"], "/settings/ubatch"), 64);
    assert_eq!(of(&["--cache-ram", "100"], "/settings/cacheRamMib"), 100);
    assert_eq!(of(&["--kv", "f16"], "/settings/kvTypeK"), "f16");
    assert_eq!(
        of(&["--prompt-tokens", "77"], "/speed/firstTokenS/promptTokens"),
        77
    );
}

#[test]
fn measured_runs_change_the_basis() {
    let desk = desk();
    let anchors = json!([{ "model": desk.model, "decodeTps": 500.0, "prefillTps": 2000.0 }]);
    let anchors = desk.place.file("anchors.json", anchors.to_string());
    assert_eq!(desk.plan(&[])["speed"]["basis"], "table");
    assert_eq!(
        desk.plan(&["--anchors", text(&anchors)])["speed"]["basis"],
        "measured"
    );
}

#[test]
fn files_that_are_no_model_are_named() {
    let desk = desk();
    let whole = TinyGguf::llama().bytes();
    let cut = &whole[..whole.len() / 2];
    let mut absurd = whole[..24].to_vec();
    absurd[8..16].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    let absurd_layers = TinyGguf::llama()
        .with("llama.block_count", GgufValue::U32(u32::MAX))
        .bytes();
    for (name, bytes, codes) in [
        (
            "text.gguf",
            b"just some text, longer than a header".as_slice(),
            &["notGguf"][..],
        ),
        ("empty.gguf", b"", &["ggufCut", "notGguf"]),
        ("cut.gguf", cut, &["ggufCut"]),
        ("absurd.gguf", &absurd, &["ggufTooLarge"]),
        ("layers.gguf", &absurd_layers, &["ggufBad", "ggufTooLarge"]),
    ] {
        let path = desk.place.file(name, bytes);
        let fault = desk
            .place
            .run(&["plan", text(&path), "--machine", &desk.machine, "--json"])
            .fault();
        assert!(
            codes.contains(&fault["code"].as_str().unwrap()),
            "{name}: {fault}"
        );
    }
    let missing = desk
        .place
        .run(&[
            "plan",
            "nowhere/missing.gguf",
            "--machine",
            &desk.machine,
            "--json",
        ])
        .fault();
    assert!(
        ["modelFileMissing", "unknownModel"].contains(&missing["code"].as_str().unwrap()),
        "{missing}"
    );
}

#[test]
fn a_fault_is_told_with_a_way_on() {
    let desk = desk();
    let path = desk
        .place
        .file("text.gguf", "just some text, longer than a header");
    let ran = desk.place.run(&["plan", text(&path), "--machine", &desk.machine]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.starts_with("Fault: This is not a GGUF file"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("\n  > "), "a way on: {}", ran.err);
    assert!(
        !ran.err.contains("cause:"),
        "causes only with --verbose: {}",
        ran.err
    );
    let verbose = desk
        .place
        .run(&["plan", text(&path), "--machine", &desk.machine, "--verbose"]);
    assert!(verbose.err.contains("code: notGguf"), "{}", verbose.err);
}

#[test]
fn a_machine_file_that_is_none() {
    let desk = desk();
    let plan = |file: &str| {
        desk.place
            .run(&["plan", &desk.model, "--machine", file, "--json"])
            .fault()
    };
    assert_eq!(plan("nowhere.json")["code"], "readFailed");
    for (name, bytes) in [
        ("no.json", "no JSON"),
        ("empty.json", "{}"),
        ("negative.json", r#"{"memory":{"totalBytes":-1}}"#),
        ("list.json", "[]"),
    ] {
        let path = desk.place.file(name, bytes);
        let fault = plan(text(&path));
        assert_eq!(fault["code"], "machineFileBad", "{name}: {fault}");
        assert_eq!(fault["params"]["path"], text(&path), "{name}");
    }
}

#[test]
fn a_recommendation_for_another_machine() {
    let desk = desk();
    let reply = desk
        .place
        .run(&["recommend", "--machine", &desk.machine, "--json"])
        .reply();
    assert!(reply["pick"]["plan"]["verdict"].is_string(), "{reply}");
    assert!(reply["why"].is_array() && reply["alternatives"].is_array() && reply["rejected"].is_array());
    let shown = desk.place.run(&["recommend", "--machine", &desk.machine]);
    assert!(
        shown.shown().contains(reply["pick"]["name"].as_str().unwrap()),
        "{}",
        shown.out
    );
}
