//! What every file of the tree must keep to: size, no stubs, purity, doors that only one folder may open.

use std::io;
use std::path::{Path, PathBuf};

const LINES_WARN: usize = 500;
const LINES_MAX: usize = 800;
/// Bigger than any source file may be; data files are not read.
const FILE_BYTES_MAX: u64 = 4 << 20;

const SKIP_FOLDERS: &[&str] = &["target", "node_modules", "dist", "gen", "shots", ".git", "shared"];
const SOURCES: &[&str] = &["rs", "ts", "tsx", "mjs", "css", "py", "ps1", "sh"];

/// Words that say "not done yet". Written in two halves, so that this file does not accuse itself.
const STUBS: &[(&str, &str)] = &[
    ("rs", concat!("to", "do!(")),
    ("rs", concat!("unimple", "mented!(")),
    ("rs", concat!("#[ign", "ore")),
    ("ts", concat!(".on", "ly(")),
    ("ts", concat!(".sk", "ip(")),
    ("ts", concat!(".to", "do(")),
    ("", concat!("TO", "DO")),
    ("", concat!("FIX", "ME")),
];

/// A test binary that is started by one of its own tests, as a process to kill, is no stub.
const HELPER: &str = concat!("#[ign", "ore = \"started by ");

/// Folders that judge and do nothing; facts come in as arguments.
const PURE_FOLDERS: &[&str] = &[
    "crates/units/src",
    "crates/wire/src",
    "crates/planner/src",
    "crates/hardware/src/judge",
];
const IMPURE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "Instant::now",
    "SystemTime",
    "tokio::",
];

/// A source file: its path from the root with `/`, and its text.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What fails the check, and what is only worth saying.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    pub(crate) wrong: Vec<String>,
    pub(crate) worth_saying: Vec<String>,
}

/// Every source file below `root`, in order of path.
pub(crate) fn read(root: &Path) -> io::Result<Vec<Source>> {
    let mut out = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if !SKIP_FOLDERS.contains(&entry.file_name().to_string_lossy().as_ref()) {
                    folders.push(path);
                }
            } else if kind.is_file() && is_source(&path) && entry.metadata()?.len() <= FILE_BYTES_MAX {
                let text = std::fs::read_to_string(&path)?;
                out.push(Source {
                    path: from_root(root, &path),
                    text,
                });
            }
        }
    }
    out.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(out)
}

fn from_root(root: &Path, path: &Path) -> String {
    let inside: PathBuf = path.strip_prefix(root).unwrap_or(path).to_path_buf();
    inside
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

/// Scripts without a suffix count as well.
fn is_source(path: &Path) -> bool {
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some(suffix) => SOURCES.contains(&suffix),
        None => path
            .parent()
            .and_then(Path::file_name)
            .is_some_and(|folder| folder == "scripts" || folder == ".ci"),
    }
}

pub(crate) fn check(sources: &[Source]) -> Findings {
    let mut out = Findings::default();
    for source in sources {
        size(source, &mut out);
        stubs(source, &mut out.wrong);
        purity(source, &mut out.wrong);
        doors(source, &mut out.wrong);
        if source.path.ends_with("src/lib.rs") && !source.text.starts_with("//!") {
            out.wrong.push(format!(
                "{}: does not open with what the crate is for",
                source.path
            ));
        }
    }
    out
}

fn is_test(path: &str) -> bool {
    path.starts_with("tests/")
        || path.contains("/tests/")
        || path.contains(".test.")
        || path.ends_with("/tests.rs")
}

/// The part of a Rust file before its inline tests, which stand last.
fn without_tests(source: &Source) -> &str {
    match source.text.find("#[cfg(test)]\nmod ") {
        Some(end) if suffix(&source.path) == "rs" => &source.text[..end],
        _ => &source.text,
    }
}

fn size(source: &Source, out: &mut Findings) {
    // Generated from crates/wire, never edited.
    if is_test(&source.path) || source.path == "ui/src/wire/wire.ts" {
        return;
    }
    let lines = without_tests(source).lines().count();
    if lines > LINES_MAX {
        out.wrong.push(format!(
            "{}: {lines} lines without tests, {LINES_MAX} are the limit",
            source.path
        ));
    } else if lines > LINES_WARN {
        out.worth_saying.push(format!(
            "{}: {lines} lines without tests, aim below {LINES_WARN}",
            source.path
        ));
    }
}

fn suffix(path: &str) -> &str {
    match path.rsplit_once('.').map_or("", |(_, suffix)| suffix) {
        "tsx" | "mjs" => "ts",
        other => other,
    }
}

fn stubs(source: &Source, wrong: &mut Vec<String>) {
    for (number, line) in source.text.lines().enumerate() {
        for (language, word) in STUBS {
            let here = (language.is_empty() || *language == suffix(&source.path)) && line.contains(word);
            if here && !line.contains(HELPER) {
                wrong.push(format!(
                    "{}:{}: {word}: finish it, or leave it out",
                    source.path,
                    number + 1
                ));
            }
        }
    }
}

fn purity(source: &Source, wrong: &mut Vec<String>) {
    if !PURE_FOLDERS.iter().any(|folder| source.path.starts_with(folder)) {
        return;
    }
    for word in IMPURE {
        if without_tests(source)
            .lines()
            .any(|line| !line.trim_start().starts_with("//") && line.contains(word))
        {
            wrong.push(format!(
                "{}: uses {word}, but judges only what it is given",
                source.path
            ));
        }
    }
}

/// The page reaches the desktop shell through one folder.
fn doors(source: &Source, wrong: &mut Vec<String>) {
    if source.path.starts_with("ui/src/")
        && !source.path.starts_with("ui/src/host/")
        && source.text.contains(concat!("@tauri", "-apps/"))
    {
        wrong.push(format!("{}: only ui/src/host may talk to Tauri", source.path));
    }
}

/// Every crate takes the workspace's lints and has its entry in ARCHITECTURE.md.
pub(crate) fn check_crate(folder: &str, manifest: &str, architecture: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if !manifest.contains("[lints]\nworkspace = true") {
        wrong.push(format!(
            "{folder}/Cargo.toml: does not take the workspace's lints"
        ));
    }
    if !architecture
        .lines()
        .any(|line| line.starts_with("### ") && line.contains(&format!("`{folder}`")))
    {
        wrong.push(format!("ARCHITECTURE.md: has no entry for {folder}"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::{Findings, Source, check, check_crate};

    fn found(path: &str, text: &str) -> Findings {
        check(&[Source {
            path: path.to_owned(),
            text: text.to_owned(),
        }])
    }

    fn wrong(path: &str, text: &str) -> String {
        let found = found(path, text);
        assert_eq!(found.wrong.len(), 1, "{found:?}");
        found.wrong[0].clone()
    }

    #[test]
    fn files_are_measured_without_their_tests() {
        let line = "const A: u8 = 1;\n";
        assert_eq!(
            found("crates/hub/src/a.rs", &line.repeat(500)),
            Findings::default()
        );
        assert_eq!(
            found("crates/hub/src/a.rs", &line.repeat(501)).worth_saying.len(),
            1
        );
        assert!(wrong("crates/hub/src/a.rs", &line.repeat(801)).contains("801 lines"));
        let tested = format!(
            "{}#[cfg(test)]\nmod tests {{\n{}}}\n",
            line.repeat(400),
            line.repeat(600)
        );
        assert_eq!(found("crates/hub/src/a.rs", &tested), Findings::default());
        assert_eq!(found("ui/src/a.test.ts", &line.repeat(900)), Findings::default());
        assert!(wrong("scripts/long", &line.repeat(801)).contains("801 lines"));
    }

    #[test]
    fn stubs_are_named_with_their_line() {
        assert!(
            wrong("crates/hub/src/a.rs", concat!("fn a() {\n    to", "do!()\n}\n"))
                .starts_with("crates/hub/src/a.rs:2")
        );
        assert!(wrong("crates/hub/src/a.rs", concat!("#[ign", "ore]\n")).contains("finish it"));
        let helper = concat!("#[ign", "ore = \"started by the_test_below\"]\n");
        assert_eq!(found("crates/hub/tests/it/a.rs", helper), Findings::default());
        assert!(wrong("ui/src/a.test.tsx", concat!("it.on", "ly(\"x\")\n")).contains("a.test.tsx:1"));
        assert!(wrong("scripts/run", concat!("# TO", "DO later\n")).contains("scripts/run:1"));
        assert_eq!(
            found("crates/hub/src/a.rs", concat!("iter.sk", "ip(1);\n")),
            Findings::default()
        );
    }

    #[test]
    fn pure_folders_stay_pure() {
        assert!(wrong("crates/planner/src/a.rs", "use std::fs;\n").contains("std::fs"));
        assert_eq!(
            found("crates/planner/src/a.rs", "// not std::fs\n"),
            Findings::default()
        );
        assert_eq!(found("crates/os/src/a.rs", "use std::fs;\n"), Findings::default());
    }

    #[test]
    fn only_the_host_folder_talks_to_the_shell() {
        let text = concat!("import { invoke } from \"@tauri", "-apps/api/core\";\n");
        assert!(wrong("ui/src/features/chat.tsx", text).contains("ui/src/host"));
        assert_eq!(found("ui/src/host/tauri.ts", text), Findings::default());
    }

    #[test]
    fn a_crate_says_what_it_is_for() {
        assert!(wrong("crates/hub/src/lib.rs", "mod a;\n").contains("what the crate is for"));
        let good = "[lints]\nworkspace = true\n";
        assert!(check_crate("crates/hub", good, "### `crates/hub`\n").is_empty());
        assert_eq!(check_crate("crates/hub", "", "about `crates/hub`\n").len(), 2);
    }
}
