//! Which crate may lean on which. Reading the tables is reading the architecture.

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, Metadata};

const BELOW_APP: &[&str] = &[
    "units", "os", "gguf", "hardware", "catalog", "planner", "hub", "store", "engine", "agent", "wire",
];
const HOST: &[&str] = &["app", "wire", "units", "os", "web"];

/// Lower layers never use higher ones. Names without `plimsoll-`.
const MAY_USE: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("os", &["units"]),
    ("wire", &[]),
    ("gguf", &["units"]),
    ("hardware", &["units", "os"]),
    ("catalog", &["units"]),
    ("planner", &["units", "gguf", "hardware", "catalog"]),
    ("hub", &["units", "os", "gguf", "catalog"]),
    ("store", &["units", "os"]),
    (
        "engine",
        &["units", "os", "gguf", "hardware", "catalog", "planner", "hub"],
    ),
    // Defines the traits it needs; `app` fits engine and store to them.
    ("agent", &["units", "os", "catalog"]),
    // The only place where wire types meet the domain.
    ("app", BELOW_APP),
    ("web", &["app", "wire", "units", "os"]),
    ("cli", HOST),
    ("desktop", HOST),
    ("testkit", &["units"]),
    ("scenarios", &[]),
    ("x", &["wire", "os"]),
];

/// What a crate's tests may use besides the above. Everybody may use testkit.
const TESTS_MAY_USE: &[(&str, &[&str])] = &[
    ("scenarios", &["app", "os", "wire", "web", "units", "catalog"]),
    // Every note of the machine has a sentence in the terminal; what the catalog pinned is refused when it differs.
    ("cli", &["hardware", "catalog"]),
    // What a killed transfer left is proved with the real ledger.
    ("hub", &["store"]),
];

/// Outside crates that have exactly one home (or few), so that what they bring stays behind one door.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("tauri", &["desktop"]),
    ("tauri-build", &["desktop"]),
    ("wry", &["desktop"]),
    ("tao", &["desktop"]),
    ("rusqlite", &["store"]),
    ("rusqlite_migration", &["store"]),
    ("hf-hub", &["hub"]),
    ("axum", &["web", "testkit"]),
    ("clap", &["cli", "x"]),
    ("nvml-wrapper", &["hardware"]),
    ("ash", &["hardware"]),
    ("windows", &["hardware"]),
    ("objc2-metal", &["hardware"]),
    ("sysinfo", &["os", "hardware"]),
    ("ts-rs", &["wire"]),
    ("rustix", &["os"]),
    ("libc", &["os", "scenarios"]),
    ("keyring", &["os"]),
];

/// The same for tests only: they play the person who presses Ctrl-C or kills a process.
const ONLY_IN_TESTS_OF: &[(&str, &[&str])] = &[("rustix", &["engine", "cli"])];

/// Crates that decide and do nothing: no runtime, no network, no database.
const PURE: &[&str] = &["units", "wire", "gguf", "catalog", "planner"];
const DOES_THINGS: &[&str] = &[
    "tokio",
    "tokio-util",
    "reqwest",
    "futures-util",
    "rusqlite",
    "hf-hub",
    "axum",
];

/// One crate of the workspace, as far as the layers care.
#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) uses: Vec<Use>,
}

#[derive(Debug)]
pub(crate) struct Use {
    pub(crate) name: String,
    pub(crate) tests_only: bool,
}

pub(crate) fn crates(metadata: &Metadata) -> Vec<Crate> {
    let uses = |package: &cargo_metadata::Package| {
        package
            .dependencies
            .iter()
            // What a build script uses does not reach the program.
            .filter(|dependency| dependency.kind != DependencyKind::Build)
            .map(|dependency| Use {
                name: dependency.name.clone(),
                tests_only: dependency.kind == DependencyKind::Development,
            })
            .collect()
    };
    metadata
        .workspace_packages()
        .into_iter()
        .map(|package| Crate {
            name: package.name.to_string(),
            uses: uses(package),
        })
        .collect()
}

/// What is wrong, one line each; nothing when all is well.
pub(crate) fn complaints(crates: &[Crate]) -> Vec<String> {
    let may_use: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let tests_may_use: BTreeMap<_, _> = TESTS_MAY_USE.iter().copied().collect();
    let only_in: BTreeMap<_, _> = ONLY_IN.iter().copied().collect();
    let only_in_tests_of: BTreeMap<_, _> = ONLY_IN_TESTS_OF.iter().copied().collect();
    let mut out = Vec::new();
    for one in crates {
        let Some(short) = one.name.strip_prefix("plimsoll-") else {
            out.push(format!("{}: a crate of ours is called plimsoll-…", one.name));
            continue;
        };
        let Some(allowed) = may_use.get(short) else {
            out.push(format!(
                "{} is missing from the table of layers (scripts/x/src/layers.rs)",
                one.name
            ));
            continue;
        };
        for used in &one.uses {
            let fine = if let Some(ours) = used.name.strip_prefix("plimsoll-") {
                allowed.contains(&ours)
                    || (used.tests_only
                        && (ours == "testkit"
                            || tests_may_use.get(short).is_some_and(|more| more.contains(&ours))))
            } else {
                let name = used.name.as_str();
                let at_home = only_in.get(name).is_none_or(|homes| homes.contains(&short));
                let tests_may = used.tests_only
                    && only_in_tests_of
                        .get(name)
                        .is_some_and(|homes| homes.contains(&short));
                (at_home || tests_may)
                    && (used.tests_only || !PURE.contains(&short) || !DOES_THINGS.contains(&name))
            };
            if !fine {
                let place = if used.tests_only { " in its tests" } else { "" };
                out.push(format!("{} may not use {}{place}", one.name, used.name));
            }
        }
    }
    for (short, _) in MAY_USE {
        if !crates
            .iter()
            .any(|one| one.name.strip_prefix("plimsoll-") == Some(short))
        {
            out.push(format!(
                "plimsoll-{short} is in the table of layers, but not in the workspace"
            ));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Crate, MAY_USE, Use, complaints};

    /// A workspace without sin, in which `name` also uses `used`.
    fn workspace_where(name: &str, used: &str, tests_only: bool) -> Vec<Crate> {
        let mut crates: Vec<_> = MAY_USE
            .iter()
            .map(|(short, _)| Crate {
                name: format!("plimsoll-{short}"),
                uses: Vec::new(),
            })
            .collect();
        let sin = Use {
            name: used.to_owned(),
            tests_only,
        };
        match crates.iter_mut().find(|one| one.name == name) {
            Some(one) => one.uses.push(sin),
            None => crates.push(Crate {
                name: name.to_owned(),
                uses: vec![sin],
            }),
        }
        crates
    }

    #[test]
    fn the_table_never_points_upwards() {
        for (place, (name, uses)) in MAY_USE.iter().enumerate() {
            for used in *uses {
                let below = MAY_USE.iter().position(|(other, _)| other == used);
                assert!(
                    below.is_some_and(|below| below < place),
                    "{name} may use {used}, which is not below it"
                );
            }
        }
    }

    #[test]
    fn what_the_table_allows_passes() {
        assert!(complaints(&workspace_where("plimsoll-planner", "plimsoll-gguf", false)).is_empty());
        assert!(complaints(&workspace_where("plimsoll-planner", "plimsoll-testkit", true)).is_empty());
        assert!(complaints(&workspace_where("plimsoll-desktop", "tauri", false)).is_empty());
        assert!(complaints(&workspace_where("plimsoll-hub", "tokio", false)).is_empty());
        assert!(complaints(&workspace_where("plimsoll-engine", "rustix", true)).is_empty());
    }

    #[test]
    fn sinners_are_named() {
        for (name, used, tests_only, want) in [
            (
                "plimsoll-units",
                "plimsoll-os",
                false,
                "plimsoll-units may not use plimsoll-os",
            ),
            (
                "plimsoll-planner",
                "plimsoll-os",
                false,
                "plimsoll-planner may not use plimsoll-os",
            ),
            (
                "plimsoll-engine",
                "plimsoll-wire",
                false,
                "plimsoll-engine may not use plimsoll-wire",
            ),
            ("plimsoll-app", "tauri", false, "plimsoll-app may not use tauri"),
            (
                "plimsoll-app",
                "tauri",
                true,
                "plimsoll-app may not use tauri in its tests",
            ),
            (
                "plimsoll-engine",
                "rustix",
                false,
                "plimsoll-engine may not use rustix",
            ),
            (
                "plimsoll-planner",
                "tokio",
                false,
                "plimsoll-planner may not use tokio",
            ),
            (
                "plimsoll-app",
                "rusqlite",
                false,
                "plimsoll-app may not use rusqlite",
            ),
            (
                "plimsoll-hub",
                "plimsoll-testkit",
                false,
                "plimsoll-hub may not use plimsoll-testkit",
            ),
            (
                "plimsoll-hub",
                "plimsoll-app",
                true,
                "plimsoll-hub may not use plimsoll-app in its tests",
            ),
            (
                "plimsoll-new",
                "plimsoll-units",
                false,
                "plimsoll-new is missing from the table of layers (scripts/x/src/layers.rs)",
            ),
            (
                "stranger",
                "plimsoll-units",
                false,
                "stranger: a crate of ours is called plimsoll-…",
            ),
        ] {
            assert_eq!(complaints(&workspace_where(name, used, tests_only)), [want]);
        }
    }

    #[test]
    fn a_row_without_a_crate_is_named() {
        let mut crates = workspace_where("plimsoll-hub", "tokio", false);
        crates.retain(|one| one.name != "plimsoll-store");
        assert_eq!(
            complaints(&crates),
            ["plimsoll-store is in the table of layers, but not in the workspace"]
        );
    }
}
