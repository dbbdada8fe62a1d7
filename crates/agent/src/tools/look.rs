//! Reading within the chosen folders.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_os::files;
use plimsoll_units::Bytes;
use serde_json::{Value, json};

use super::folders::Folders;
use super::{Effect, Tool, ToolError, number_of, text_of};
use crate::ToolSpec;

const ENTRIES_MAX: usize = 500;
const FILE_MAX: Bytes = Bytes::mib(4);
const LINES_MAX: usize = 400;
const HITS_MAX: usize = 100;
const FILES_SEARCHED_MAX: usize = 5_000;
const DEPTH_MAX: usize = 24;
/// What others made and nobody reads.
const PASSED_OVER: [&str; 4] = [".git", "node_modules", "target", ".venv"];

pub(super) struct List {
    spec: ToolSpec,
    folders: Arc<Folders>,
}

pub(super) struct Read {
    spec: ToolSpec,
    folders: Arc<Folders>,
}

pub(super) struct Search {
    spec: ToolSpec,
    folders: Arc<Folders>,
}

fn spec(name: &str, description: String, properties: &Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description,
        parameters: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }),
    }
}

impl List {
    pub(super) fn new(folders: Arc<Folders>) -> Self {
        let about = format!(
            "Lists a folder. Folders that may be used: {}.",
            folders.describe()
        );
        let properties = json!({"path": {"type": "string", "description": "Relative to the first folder, or absolute. Missing: the first folder."}});
        Self {
            spec: spec("list_files", about, &properties, &[]),
            folders,
        }
    }
}

impl Read {
    pub(super) fn new(folders: Arc<Folders>) -> Self {
        let about = format!("Reads a text file, at most {LINES_MAX} lines at a time.");
        let properties = json!({
            "path": {"type": "string"},
            "first_line": {"type": "integer", "description": "Counted from 1."},
        });
        Self {
            spec: spec("read_file", about, &properties, &["path"]),
            folders,
        }
    }
}

impl Search {
    pub(super) fn new(folders: Arc<Folders>) -> Self {
        let about =
            "Finds lines that contain a text, in all text files of a folder; upper and lower case are alike.";
        let properties = json!({"text": {"type": "string"}, "path": {"type": "string"}});
        Self {
            spec: spec("search_files", about.into(), &properties, &["text"]),
            folders,
        }
    }
}

fn path_or_first(arguments: &Value) -> Result<&str, ToolError> {
    if arguments["path"].is_null() {
        Ok("")
    } else {
        text_of(arguments, "path")
    }
}

impl Tool for List {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: &Value) -> Result<Effect, ToolError> {
        let path = self.folders.find(path_or_first(arguments)?)?;
        Ok(Effect::Reads { path })
    }

    fn run(&self, arguments: Value, _: Effect) -> BoxFuture<'_, Result<String, ToolError>> {
        async move { list(&self.folders.find(path_or_first(&arguments)?)?) }.boxed()
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: &Value) -> Result<Effect, ToolError> {
        let path = self.folders.find(text_of(arguments, "path")?)?;
        Ok(Effect::Reads { path })
    }

    fn run(&self, arguments: Value, _: Effect) -> BoxFuture<'_, Result<String, ToolError>> {
        async move {
            let path = self.folders.find(text_of(&arguments, "path")?)?;
            let first = number_of(&arguments, "first_line")?.unwrap_or(1).max(1);
            Ok(lines(&text_in(&path)?, first))
        }
        .boxed()
    }
}

impl Tool for Search {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: &Value) -> Result<Effect, ToolError> {
        text_of(arguments, "text")?;
        let path = self.folders.find(path_or_first(arguments)?)?;
        Ok(Effect::Reads { path })
    }

    fn run(&self, arguments: Value, _: Effect) -> BoxFuture<'_, Result<String, ToolError>> {
        async move {
            let text = text_of(&arguments, "text")?.to_lowercase();
            if text.is_empty() {
                return Err(ToolError::Arguments {
                    problem: "text is empty".into(),
                });
            }
            let path = self.folders.find(path_or_first(&arguments)?)?;
            let mut search = Searching {
                text: &text,
                folders: &self.folders,
                hits: Vec::new(),
                files: 0,
            };
            search.folder(&path, 0).await;
            Ok(search.report())
        }
        .boxed()
    }
}

fn trouble(path: &Path, problem: &impl ToString) -> ToolError {
    ToolError::File {
        path: path.display().to_string(),
        problem: problem.to_string(),
    }
}

fn list(path: &Path) -> Result<String, ToolError> {
    let mut entries: Vec<String> = std::fs::read_dir(path)
        .map_err(|error| trouble(path, &error))?
        .flatten()
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.metadata() {
                Ok(about) if about.is_dir() => format!("{name}/"),
                Ok(about) => format!("{name} ({} bytes)", about.len()),
                Err(_) => name,
            }
        })
        .collect();
    entries.sort_unstable();
    let more = entries.len().saturating_sub(ENTRIES_MAX);
    entries.truncate(ENTRIES_MAX);
    if more > 0 {
        entries.push(format!("[{more} more are not listed]"));
    }
    Ok(if entries.is_empty() {
        "[The folder is empty.]".into()
    } else {
        entries.join("\n")
    })
}

pub(super) fn text_in(path: &Path) -> Result<String, ToolError> {
    let bytes = files::read_up_to(path, FILE_MAX).map_err(|error| trouble(path, &error))?;
    String::from_utf8(bytes).map_err(|_| trouble(path, &"it is no text file"))
}

fn lines(text: &str, first: usize) -> String {
    let total = text.lines().count();
    let shown: Vec<&str> = text.lines().skip(first - 1).take(LINES_MAX).collect();
    let last = first - 1 + shown.len();
    let mut out = shown.join("\n");
    if first > 1 || last < total {
        // Writing into a String cannot fail.
        let _ = write!(out, "\n[Lines {first} to {last} of {total}.]");
    }
    out
}

struct Searching<'a> {
    text: &'a str,
    folders: &'a Folders,
    hits: Vec<String>,
    files: usize,
}

impl Searching<'_> {
    fn is_full(&self) -> bool {
        self.hits.len() >= HITS_MAX || self.files >= FILES_SEARCHED_MAX
    }

    fn folder<'a>(&'a mut self, path: &'a Path, depth: usize) -> BoxFuture<'a, ()> {
        async move {
            // Between folders somebody may have pressed stop.
            tokio::task::yield_now().await;
            let Ok(entries) = std::fs::read_dir(path) else {
                return;
            };
            let mut entries: Vec<_> = entries.flatten().collect();
            entries.sort_by_key(std::fs::DirEntry::file_name);
            for entry in entries {
                if self.is_full() {
                    return;
                }
                // A link may lead outside: it is not followed.
                let Ok(kind) = entry.file_type() else { continue };
                let name = entry.file_name();
                if kind.is_dir() && depth < DEPTH_MAX && !PASSED_OVER.iter().any(|over| name == *over) {
                    self.folder(&entry.path(), depth + 1).await;
                } else if kind.is_file() {
                    self.file(&entry.path());
                }
            }
        }
        .boxed()
    }

    fn file(&mut self, path: &Path) {
        self.files += 1;
        let Ok(text) = text_in(path) else { return };
        for (number, line) in text.lines().enumerate() {
            if self.hits.len() >= HITS_MAX {
                return;
            }
            if line.to_lowercase().contains(self.text) {
                let line: String = line.trim().chars().take(200).collect();
                self.hits
                    .push(format!("{}:{}: {line}", self.folders.short(path), number + 1));
            }
        }
    }

    fn report(self) -> String {
        if self.hits.is_empty() {
            return format!("[Nothing found in {} files.]", self.files);
        }
        let full = self.is_full();
        let mut report = self.hits.join("\n");
        if full {
            report.push_str("\n[There may be more: the search stopped at its limit.]");
        }
        report
    }
}
