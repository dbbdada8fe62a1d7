//! Programs that keep GGUF files under their own names: LM Studio, llama.cpp, Jan, `GPT4All`, and folders of people.

use std::path::Path;

use plimsoll_os::files;
use plimsoll_units::Bytes;
use serde_json::Value;
use url::Url;

use super::walk::Walk;
use super::{Found, Keeper, Place, Source};
use crate::RepoId;
use crate::layout::is_gguf;
use crate::library::group::{Entry, Group, Serves, group, split};

/// llama.cpp's note beside a file is some lines long.
const NOTE_MAX: Bytes = Bytes::kib(64);

pub(super) fn models(source: &Source, walk: &mut Walk<'_>) -> Vec<Found> {
    let entries: Vec<Entry> = walk
        .files(&source.folder, &|path| is_gguf(split(path).1))
        .into_iter()
        .map(|(at, path)| Entry::of(at, path))
        .collect();
    let serves = match source.keeper {
        Keeper::LlamaCpp => Serves::Prefix,
        Keeper::LmStudio | Keeper::Ollama | Keeper::Jan | Keeper::Gpt4All | Keeper::Folder => Serves::Folder,
    };
    group(&entries, serves)
        .into_iter()
        .map(|group| found(source, group))
        .collect()
}

fn found(source: &Source, group: Group) -> Found {
    let likely = match source.keeper {
        Keeper::LmStudio => by_folders(&group.path),
        Keeper::LlamaCpp => group.files.first().and_then(|file| by_note(&file.at)),
        Keeper::Ollama | Keeper::Jan | Keeper::Gpt4All | Keeper::Folder => None,
    };
    let id = match source.keeper {
        // Two folders of a person may hold the same names.
        Keeper::Folder => format!("{}:{}", source.keeper, source.folder.join(&group.path).display()),
        Keeper::LmStudio | Keeper::Ollama | Keeper::LlamaCpp | Keeper::Jan | Keeper::Gpt4All => {
            format!("{}:{}", source.keeper, group.path)
        }
    };
    Found {
        id,
        place: Place::Elsewhere {
            source: source.clone(),
            likely,
        },
        path: group.path,
        files: group.files,
        missing: group.missing,
        projectors: group.projectors,
        bytes: group.bytes,
        state: group.state,
    }
}

/// LM Studio's folders are `publisher/repository/file`, as at the hub.
fn by_folders(path: &str) -> Option<(RepoId, String)> {
    let (owner, rest) = path.split_once('/')?;
    let (name, file) = rest.split_once('/')?;
    Some((format!("{owner}/{name}").parse().ok()?, file.to_owned()))
}

/// llama.cpp's flat names do not tell where owner, repository and file part; older versions of it wrote the
/// address down beside the file.
fn by_note(at: &Path) -> Option<(RepoId, String)> {
    let mut name = at.file_name()?.to_owned();
    name.push(".json");
    let note = files::read_up_to(&at.with_file_name(name), NOTE_MAX).ok()?;
    let note: Value = serde_json::from_slice(&note).ok()?;
    let url = Url::parse(note.get("url")?.as_str()?).ok()?;
    let mut segments = url.path_segments()?;
    let repo = format!("{}/{}", segments.next()?, segments.next()?)
        .parse()
        .ok()?;
    if segments.next()? != "resolve" {
        return None;
    }
    segments.next()?;
    let path: Vec<&str> = segments.collect();
    (!path.is_empty()).then(|| (repo, path.join("/")))
}
