//! The JSON interface: search, repositories, trees.

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};

use super::answer::bare;
use super::repo::{Commit, FakeFile, Repo, Storage};
use super::serve::{Asked, Shared, decode, find, json_answer};

/// The hub gives no more on one page.
const PAGE_MAX: usize = 1000;

/// Repositories by words in their names, the most fetched first.
pub(super) fn search(shared: &Shared, query: &str) -> Response<Body> {
    let value = |name: &str| {
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .and_then(|(_, value)| decode(&value.replace('+', " ")))
    };
    let words = value("search").unwrap_or_default().to_lowercase();
    let limit = value("limit")
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(PAGE_MAX);
    if limit > PAGE_MAX {
        shared.complain(format!("a search for {limit} repositories"));
    }
    let tag = value("filter");
    let full = value("full").as_deref() == Some("true");
    if value("sort").is_some_and(|sort| sort != "downloads") {
        shared.complain("this fake sorts by downloads only");
    }
    let repos = shared.repos();
    let mut found: Vec<(&str, &Repo, &Commit)> = repos
        .all()
        .filter_map(|(name, repo)| Some((name, repo, repo.commits.last()?)))
        .filter(|(name, ..)| {
            words
                .split_whitespace()
                .all(|word| name.to_lowercase().contains(word))
        })
        .filter(|(_, repo, commit)| {
            tag.as_deref()
                .is_none_or(|tag| tags(repo, commit).iter().any(|one| one == tag))
        })
        .collect();
    found.sort_by_key(|(_, repo, _)| std::cmp::Reverse(repo.facts.downloads));
    let page = found.into_iter().take(limit.min(PAGE_MAX));
    json_answer(&Value::Array(
        page.map(|(name, repo, commit)| described(name, repo, commit, full))
            .collect(),
    ))
}

fn tags(repo: &Repo, commit: &Commit) -> Vec<String> {
    let gguf = commit.files.keys().any(|path| {
        std::path::Path::new(path)
            .extension()
            .is_some_and(|ending| ending == "gguf")
    });
    let licence = repo.facts.licence.as_ref().map(|name| format!("license:{name}"));
    gguf.then(|| "gguf".to_owned())
        .into_iter()
        .chain(["endpoints_compatible".to_owned(), "region:us".to_owned()])
        .chain(licence)
        .collect()
}

/// As the hub describes a repository in a search and by itself; files only when all is asked for.
fn described(name: &str, repo: &Repo, commit: &Commit, full: bool) -> Value {
    let mut about = json!({
        "_id": "0123456789abcdef01234567",
        "id": name,
        "modelId": name,
        "private": false,
        "downloads": repo.facts.downloads,
        "likes": repo.facts.likes,
        "tags": tags(repo, commit),
        "pipeline_tag": "text-generation",
        "createdAt": "2025-03-01T10:00:00.000Z",
    });
    if full {
        let gated = repo.gate.is_some() || repo.terms.is_some();
        about["author"] = json!(name.split('/').next());
        about["sha"] = json!(commit.id);
        about["lastModified"] = json!("2026-01-31T08:15:00.000Z");
        about["gated"] = if gated { json!("manual") } else { json!(false) };
        about["siblings"] = commit
            .files
            .keys()
            .map(|path| json!({ "rfilename": path }))
            .collect();
    }
    about
}

pub(super) fn about(shared: &Shared, repo: &str, rest: &[&str], headers: &HeaderMap) -> Response<Body> {
    let (what, revision) = match rest {
        [] => ("revision", "main"),
        [what, revision, ..] => (*what, *revision),
        [_] => return bare(StatusCode::NOT_FOUND),
    };
    let commit = match find(shared, repo, revision, headers, Asked::About) {
        Ok(commit) => commit,
        Err(refused) => return *refused,
    };
    match what {
        "revision" => {
            let repos = shared.repos();
            json_answer(
                &repos
                    .get(repo)
                    .map_or(Value::Null, |found| described(repo, found, &commit, true)),
            )
        }
        "tree" => json_answer(&Value::Array(
            commit
                .files
                .iter()
                .map(|(path, file)| tree_entry(path, file))
                .collect(),
        )),
        _ => bare(StatusCode::NOT_FOUND),
    }
}

fn tree_entry(path: &str, file: &FakeFile) -> Value {
    let mut entry = json!({ "type": "file", "oid": file.oid, "size": file.len(), "path": path });
    if file.storage != Storage::Plain {
        entry["lfs"] = json!({ "oid": file.sha256, "size": file.len(), "pointerSize": 135 });
    }
    if file.storage == Storage::Xet {
        entry["xetHash"] = json!(file.sha256);
    }
    entry
}
