use plimsoll_os::environment::Environment;
use plimsoll_wire::{Answered, Fault, Library, Machine, Plan};
use serde_json::{Value, json};

use super::*;
use crate::out::{Detail, Form};

fn out(pairs: &[(&str, &str)], detail: Detail) -> Out {
    Out::new(
        &Environment::from_pairs(pairs.iter().copied()),
        Form::Person,
        detail,
    )
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn need(weights: u64, line: u64) -> Value {
    json!({
        "weightsBytes": weights, "contextBytes": 384 << 20, "computeBytes": 300 << 20, "projectorBytes": 0,
        "overheadBytes": 140 << 20,
        "overheadParts": [{ "code": "repack", "bytes": 90 << 20 }, { "code": "process", "bytes": 50 << 20 }],
        "totalBytes": weights + (824 << 20), "budgetBytes": line,
    })
}

fn a_plan(verdict: &str, line: u64) -> Plan {
    from(json!({
        "model": { "id": "qwen2.5-coder-0.5b-instruct", "quant": "Q4_K_M", "architecture": "qwen2",
                   "parameters": 494_032_768, "activeParameters": 494_032_768, "fileBytes": 491_400_064,
                   "contextTrained": 32768 },
        "settings": { "context": 32768, "slots": 1, "kvTypeK": "f16", "kvTypeV": "f16", "batch": 512, "ubatch": 512,
                      "cacheRamMib": 512, "flashAttention": true, "gpuLayers": 0, "tensorSplit": [],
                      "hostExpertLayers": 0, "arguments": ["-c", "32768", "-np", "1"] },
        "verdict": verdict, "why": [{ "code": "fromTheFuture", "params": { "size": 3 } }],
        "memory": { "devices": [], "host": need(463 << 20, line), "lowBytes": 1 << 30, "highBytes": 3 << 29 },
        "speed": { "decodeTps": { "low": 22.0, "mid": 28.0, "high": 34.0 },
                   "prefillTps": { "low": 150.0, "mid": 200.0, "high": 260.0 },
                   "firstTokenS": { "promptTokens": 512, "low": 2.0, "mid": 2.6, "high": 3.4 }, "basis": "table" },
    }))
}

fn a_machine() -> Machine {
    from(json!({
        "os": { "name": "linux", "version": "6.1", "arch": "x86_64" },
        "cpu": { "name": "Test\u{1b}[2J CPU", "physicalCores": 2, "logicalCores": 4, "features": ["avx2", "fma"] },
        "memory": { "totalBytes": 24_u64 << 30, "availableBytes": 21_u64 << 30, "source": "/proc/meminfo",
                    "bandwidthBytesPerS": { "value": 40_000_000_000_u64, "source": "measured" } },
        "devices": [{ "id": "GPU0", "name": "Card", "kind": "discrete", "totalBytes": 8_u64 << 30, "source": "nvml" }],
        "class": "discrete",
        "notes": [{ "code": "cgroupLimit", "params": { "limitBytes": 24_u64 << 30, "machineBytes": 64_u64 << 30 } }],
    }))
}

#[test]
fn a_plan_that_fits() {
    let shown = plan(
        &out(&[("LANG", "C.UTF-8")], Detail::Short),
        &a_plan("fits", 14 << 30),
    );
    insta::assert_snapshot!(plain(&shown));
}

#[test]
fn a_plan_above_the_line_in_german_without_unicode() {
    let shown = plan(
        &out(&[("LANG", "de_DE")], Detail::Short),
        &a_plan("tooBig", 1 << 30),
    );
    insta::assert_snapshot!(plain(&shown));
}

#[test]
fn a_machine_with_its_sources() {
    let shown = machine(&out(&[("LANG", "C.UTF-8")], Detail::Short), &a_machine());
    insta::assert_snapshot!(plain(&shown));
    assert!(
        !plain(&shown).contains('\u{1b}'),
        "a name cannot clear the screen"
    );
}

#[test]
fn an_empty_library_says_what_to_do() {
    let library: Library = from(
        json!({ "models": [], "catalog": [], "folder": "/models", "usedBytes": 0, "freeBytes": 5_u64 << 30 }),
    );
    let shown = models(&out(&[], Detail::Short), &library);
    assert!(
        shown.contains("plimsoll recommend") && shown.contains("5 GB free"),
        "{shown}"
    );
}

#[test]
fn a_check_names_every_part_of_the_memory() {
    let seen: Answered = from(json!({
        "machine": a_machine(), "plan": a_plan("fits", 14 << 30), "question": "Why?", "answer": " Because.\n",
        "end": "complete",
        "stats": { "route": "local", "model": "m", "decodeTps": 27.4, "firstTokenMs": 412.0, "promptTokens": 31,
                   "completionTokens": 12, "window": 32768 },
        "proof": { "planned": { "devices": [], "host": need(463 << 20, 14 << 30), "lowBytes": 1, "highBytes": 2 },
                   "plannedBytes": 1287_u64 << 20, "residentBytes": 1250_u64 << 20, "firstTokenMs": 90.0, "decodeTps": 28.0,
                   "parts": [{ "code": "weights", "plannedBytes": 463 << 20, "reportedBytes": 463 << 20 },
                             { "code": "promptCache", "plannedBytes": 90 << 20 }] },
    }));
    insta::assert_snapshot!(plain(&answered(
        &out(&[("LANG", "C.UTF-8")], Detail::Short),
        &seen
    )));
}

#[test]
fn a_fault_in_full_keeps_its_causes_apart() {
    let fault: Fault = from(json!({
        "code": "diskFull", "params": { "needed": 5_u64 << 30, "free": 1 << 30, "path": "/models" },
        "trace": ["writing", "no space left"], "fixes": ["freeSpace", "retry"],
    }));
    insta::assert_snapshot!(plain(&super::fault(&out(&[], Detail::Short), &fault)), @"
    Fault: The disk is full: 5 GB are needed, 1 GB are free
      Nothing is damaged. It goes on from here once there is room in /models.
      > Free some space, then run the command again
      > Try again
    ");
    let full = plain(&super::fault(&out(&[], Detail::Full), &fault));
    assert!(
        full.contains("code: diskFull") && full.contains("cause: no space left"),
        "{full}"
    );
}
