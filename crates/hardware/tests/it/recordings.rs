use std::path::Path;

use plimsoll_hardware::{Facts, Machine, judge};

/// All recordings with their names, sorted.
pub(crate) fn all() -> Vec<(String, Facts)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/machines");
    let mut all: Vec<(String, Facts)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let facts = Facts::from_json(&std::fs::read(path).unwrap()).unwrap();
            (name, facts)
        })
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(all.len() > 20, "the recordings are there");
    all
}

pub(crate) fn machine(name: &str) -> Machine {
    let found = all().into_iter().find(|(other, _)| other == name);
    judge(&found.unwrap_or_else(|| panic!("no recording {name}")).1)
}
