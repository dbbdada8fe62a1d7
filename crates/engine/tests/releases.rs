//! Five lists of releases over time, for machines that people reported.
#![expect(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

use std::collections::BTreeMap;
use std::fmt::Write;

use plimsoll_engine::{AssetName, Backing, Misfit, NoChoice, ReleaseAsset, ReleaseList, choose};
use plimsoll_hardware::{Backend, Facts, Machine, judge};
use plimsoll_units::Bytes;
use serde_json::{Value, json};

/// Of `hardware`'s reports: every vendor, both generations of toolkits, cards that a driver lost, Macs, small GPUs.
const REPORTED: [&str; 20] = [
    "rtx4090-linux-580",
    "rtx4090-win-560",
    "2x4090-win-572",
    "rtx5090-epyc-linux",
    "v100-pcie-16",
    "gtx1050ti-i7-870-win",
    "dgx-spark-unsloth",
    "2xa100-80-mig",
    "nvml-mismatch-570",
    "7900xtx-rocm-smi",
    "6600xt-gfx1032",
    "mi300x-list",
    "strix-halo-rocm-124g",
    "strix-halo-rocm-win",
    "780m-windows",
    "arc-a770-linux",
    "iris-xe-win",
    "m4pro-24g",
    "snapdragon-x1p-laptop",
    "kvm-vm-llvmpipe",
];

fn lists() -> Vec<ReleaseList> {
    let text = include_str!("../fixtures/llama_releases.json");
    let lists: BTreeMap<String, Vec<String>> = serde_json::from_str(text).unwrap();
    let mut lists: Vec<ReleaseList> = lists
        .into_iter()
        .map(|(tag, names)| ReleaseList {
            assets: names.iter().map(|name| asset(name)).collect(),
            tag,
        })
        .collect();
    lists.sort_by_key(|list| list.tag[1..].parse::<u32>().unwrap());
    lists
}

fn asset(name: &str) -> ReleaseAsset {
    ReleaseAsset {
        name: name.to_owned(),
        url: format!("https://example.org/{name}"),
        bytes: Bytes::mib(30),
        sha256: Some("0".repeat(64)),
    }
}

fn machines() -> Vec<(String, Machine)> {
    let text = include_str!("../../hardware/tests/fixtures/reports.json");
    let reports: Vec<Value> = serde_json::from_str(text).unwrap();
    REPORTED
        .iter()
        .map(|id| {
            let report = reports.iter().find(|report| report["id"] == **id).unwrap();
            let mut machine = judge(&Facts::from_json(report.to_string().as_bytes()).unwrap());
            // Few people say what everybody has.
            if machine.os.arch.is_empty() {
                let arm = machine.os.name == "macos"
                    || machine.devices.iter().any(|device| device.name.contains("GB10"));
                if arm { "aarch64" } else { "x86_64" }.clone_into(&mut machine.os.arch);
            }
            ((*id).to_owned(), machine)
        })
        .collect()
}

#[test]
fn five_lists_for_twenty_machines() {
    let lists = lists();
    let mut table = String::new();
    for (id, machine) in machines() {
        writeln!(
            table,
            "{id} ({} {}, {:?})",
            machine.os.name, machine.os.arch, machine.class
        )
        .unwrap();
        for list in &lists {
            let choices = choose(list, &machine);
            let offers: Vec<&str> = choices
                .offers
                .iter()
                .map(|offer| offer.flavour.as_str())
                .collect();
            let taken = match choices.to_try() {
                Ok(_) => offers.join(", "),
                Err(why) => format!("{why:?}"),
            };
            let code = |misfit: &Misfit| {
                serde_json::to_value(misfit).unwrap()["code"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            };
            let passed: Vec<String> = choices
                .passed
                .iter()
                .map(|passed| {
                    let words = passed.name.split("-bin-").nth(1).unwrap_or_default();
                    let words = words.trim_end_matches(".tar.gz").trim_end_matches(".zip");
                    format!("{words}: {}", code(&passed.why))
                })
                .collect();
            writeln!(table, "  {}: {taken} [{}]", list.tag, passed.join("; ")).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// `case 2`: never the processor's build for a machine with a GPU of AMD's or Intel's, and with one of NVIDIA's only where
/// each build for it is named with what it lacks.
#[test]
fn a_gpu_of_any_maker_gets_a_build_that_computes_with_it() {
    for (id, machine) in machines() {
        for list in lists() {
            let choices = choose(&list, &machine);
            if !choices.has_gpu || choices.to_try().is_err() {
                continue;
            }
            let first = &choices.offers[0];
            let explained = list
                .assets
                .iter()
                .filter(|asset| drives(&asset.name, &machine))
                .all(|asset| {
                    choices.passed.iter().any(|passed| {
                        passed.name == asset.name
                            && matches!(
                                passed.why,
                                Misfit::RuntimeMissing { .. } | Misfit::ArchitectureNotBuilt { .. }
                            )
                    })
                });
            assert!(first.on_gpu || explained, "{id} {}: {first:?}", list.tag);
        }
    }
}

/// Whether a file is a build for this system that computes with what one of the machine's devices is driven by.
fn drives(name: &str, machine: &Machine) -> bool {
    let AssetName::Engine(build) = AssetName::read(name) else {
        return false;
    };
    let backend = match build.backing {
        Backing::Cuda => Backend::Cuda,
        Backing::Rocm => Backend::Rocm,
        Backing::Vulkan => Backend::Vulkan,
        Backing::Metal => Backend::Metal,
        Backing::Sycl => Backend::Sycl,
        Backing::Cpu | Backing::OpenVino | Backing::OpenCl | Backing::Unknown(_) => return false,
    };
    build.is_for(&machine.os.name, &machine.os.arch)
        && machine
            .devices
            .iter()
            .any(|device| device.backends.contains(&backend))
}

fn nvidia(os: &str, driver: &str, cuda: &str) -> Machine {
    let machine = json!({
        "os": {"name": os, "version": "1", "arch": "x86_64"},
        "memory": {"totalBytes": 64u64 << 30},
        "devices": [{
            "id": "d0", "name": "NVIDIA GeForce RTX 4090", "vendor": "NVIDIA", "kind": "discrete",
            "backends": ["cuda", "vulkan"], "totalBytes": 24u64 << 30,
            "architecture": "8.9", "driverVersion": driver, "cudaVersion": cuda,
        }],
    });
    Machine::from_json(machine.to_string().as_bytes()).unwrap()
}

fn flavours(list: &ReleaseList, machine: &Machine) -> Vec<String> {
    choose(list, machine)
        .offers
        .into_iter()
        .map(|offer| offer.flavour)
        .collect()
}

#[test]
fn the_driver_decides_the_toolkit_and_brings_its_libraries() {
    let newest = lists().pop().unwrap();
    assert_eq!(
        flavours(&newest, &nvidia("windows", "617.42", "13.4"))[..3],
        ["cuda-13.4", "cuda-12.4", "vulkan"]
    );
    assert_eq!(
        flavours(&newest, &nvidia("windows", "572.70", "12.8"))[..2],
        ["cuda-12.4", "vulkan"],
        "too old for 13"
    );
    // Of the same line, but older than the toolkit: NVIDIA promises it, so it comes behind none but the sure ones.
    assert_eq!(
        flavours(&newest, &nvidia("linux", "580.65.06", "13.0"))[..2],
        ["cuda-12.8", "cuda-13.4"]
    );
    // `case 38`: too old for every toolkit.
    let old = nvidia("linux", "470.256.02", "11.4");
    assert_eq!(flavours(&newest, &old)[0], "vulkan");
    let too_old = choose(&newest, &old).passed;
    assert!(
        too_old.iter().any(
            |passed| matches!(&passed.why, Misfit::DriverTooOld { driver, needed }
            if driver == "470.256.02" && needed == "525.60.13")
        ),
        "{too_old:?}"
    );
    let first = &choose(&newest, &nvidia("linux", "620.10", "13.4")).offers[0];
    let names: Vec<&str> = first
        .release
        .archives
        .iter()
        .map(|archive| archive.url.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "llama-b11459-bin-ubuntu-cuda-13.4-x64.tar.gz",
            "cudart-llama-b11459-bin-ubuntu-cuda-13.4-x64.tar.gz"
        ]
    );
}

#[test]
fn without_its_libraries_a_cuda_build_is_not_taken() {
    let mut list = lists().pop().unwrap();
    list.assets.retain(|asset| !asset.name.starts_with("cudart"));
    let choices = choose(&list, &nvidia("linux", "620.10", "13.4"));
    assert_eq!(choices.offers[0].flavour, "vulkan");
    let missing = Misfit::RuntimeMissing {
        toolkit: "cuda-13.4".into(),
    };
    assert!(
        choices.passed.iter().any(|passed| passed.why == missing),
        "{:?}",
        choices.passed
    );
}

/// `case 37`: renamed builds are an explained fault, never the processor's build without a word.
#[test]
fn a_renamed_build_is_explained() {
    let machine = nvidia("linux", "620.10", "13.4");
    let list = |names: &[&str]| ReleaseList {
        tag: "b12000".into(),
        assets: names.iter().map(|name| asset(name)).collect(),
    };
    // The version of a toolkit is no rename.
    let moved = list(&[
        "llama-b12000-bin-ubuntu-cuda-13.9-x64.tar.gz",
        "cudart-llama-b12000-bin-ubuntu-cuda-13.9-x64.tar.gz",
    ]);
    assert_eq!(flavours(&moved, &machine), ["cuda-13.9"]);
    let renamed = list(&[
        "llama-b12000-bin-ubuntu-nvidia-14-x64.tar.gz",
        "llama-b12000-bin-ubuntu-vk-x64.tar.gz",
        "llama-b12000-bin-ubuntu-x64.tar.gz",
    ]);
    let NoChoice::OnlyUnknown { names } = choose(&renamed, &machine).to_try().unwrap_err() else {
        panic!("the names are what a person needs")
    };
    assert_eq!(names.len(), 2, "{names:?}");
    // Asked for by name it is there.
    assert_eq!(flavours(&renamed, &machine), ["cpu"]);
    let empty = choose(&list(&[]), &machine);
    assert_eq!(empty.to_try().unwrap_err(), NoChoice::NothingForPlatform);
}

/// `case 47`: a processor without AVX2 gets the build that it can run.
#[test]
fn a_processor_gets_a_build_that_it_can_run() {
    let list = ReleaseList {
        tag: "b4000".into(),
        assets: ["avx512", "avx2", "avx", "noavx"]
            .map(|kind| asset(&format!("llama-b4000-bin-win-{kind}-x64.zip")))
            .to_vec(),
    };
    let machine = |features: &[&str]| {
        let machine = json!({
            "os": {"name": "windows", "version": "10", "arch": "x86_64"},
            "cpu": {"name": "x", "physicalCores": 2, "logicalCores": 4, "features": features},
            "memory": {"totalBytes": 8u64 << 30},
        });
        Machine::from_json(machine.to_string().as_bytes()).unwrap()
    };
    assert_eq!(
        flavours(&list, &machine(&["avx2", "avx"])),
        ["cpu-avx2", "cpu-avx", "cpu-noavx"]
    );
    assert_eq!(flavours(&list, &machine(&[])), ["cpu-noavx"]);
    let lacking = Misfit::ProcessorLacks {
        feature: "avx2".into(),
    };
    assert!(
        choose(&list, &machine(&[]))
            .passed
            .iter()
            .any(|passed| passed.why == lacking)
    );
}

#[test]
fn a_file_without_a_hash_is_refused_unless_we_know_it() {
    let hash = "ab".repeat(32);
    let api = json!({
        "tag_name": "b12000",
        "assets": [
            {"name": "llama-b12000-bin-ubuntu-vulkan-x64.tar.gz", "size": 10, "digest": format!("sha256:{hash}"),
             "browser_download_url": "https://example.org/a"},
            {"name": "llama-b12000-bin-ubuntu-x64.tar.gz", "size": 10, "digest": null,
             "browser_download_url": "https://example.org/b"},
        ],
    });
    let machine = nvidia("linux", "620.10", "13.4");
    let read = |pinned: Option<&str>| {
        let pinned = |name: &str| pinned.filter(|_| name.contains("ubuntu-x64")).map(str::to_owned);
        ReleaseList::from_api(api.to_string().as_bytes(), pinned).unwrap()
    };
    let choices = choose(&read(None), &machine);
    assert_eq!(choices.offers[0].release.archives[0].sha256, hash);
    assert!(
        choices
            .passed
            .iter()
            .any(|passed| passed.why == Misfit::NoDigest {})
    );
    let known = "cd".repeat(32);
    assert_eq!(choose(&read(Some(&known)), &machine).offers.len(), 2);
    // What both name differently is nobody's.
    let both = ReleaseList::from_api(api.to_string().as_bytes(), |_| Some(known.clone())).unwrap();
    assert!(
        choose(&both, &machine)
            .offers
            .iter()
            .all(|offer| offer.flavour != "vulkan")
    );
    assert!(ReleaseList::from_api(b"[]", |_| None).is_err());
}
