//! Repositories with GGUF files at the hub, by name, and what they hold.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use plimsoll_units::Bytes;
use serde_json::Value;

use crate::http::host_of;
use crate::layout::is_gguf;
use crate::library::{is_companion, is_projector, parts_of, split};
use crate::listing::{ApiSetup, LISTING_TIME_MAX};
use crate::{Hub, HubError, Listed, Listing, RepoId};

/// More than anybody reads.
pub const SEARCH_MAX: usize = 50;
/// A search is words, not a text.
const WORDS_MAX: usize = 200;

/// Whether the terms of a repository have to be accepted on the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gate {
    #[default]
    Open,
    /// Whoever accepts is let in at once.
    Automatic,
    /// The owner lets people in one by one.
    Manual,
}

impl Gate {
    pub(crate) fn of(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null | Value::Bool(false)) => Self::Open,
            Some(Value::String(how)) if how == "auto" => Self::Automatic,
            Some(_) => Self::Manual,
        }
    }
}

/// A repository that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoHit {
    pub repo: RepoId,
    /// Of the last thirty days.
    pub downloads: u64,
    pub likes: u64,
    pub gate: Gate,
    /// By its tag: `apache-2.0`, `llama3.1`.
    pub licence: Option<String>,
    /// The day of the last change, `YYYY-MM-DD`.
    pub changed: Option<String>,
    /// What its files are called by, as far as their names say it.
    pub quants: Vec<String>,
}

/// One quantisation in a repository: a file, or all parts of a split one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoVariant {
    /// Of the first part.
    pub path: String,
    /// As the name says it.
    pub quant: Option<String>,
    pub files: Vec<Listed>,
    /// Names of parts that the repository should have and has not.
    pub missing: Vec<String>,
    pub bytes: Bytes,
    /// The projector that goes with it.
    pub projector: Option<Listed>,
}

impl Hub {
    /// Repositories that hold GGUF files and go by these words, the most fetched first. What has a name that
    /// could not be a folder is left out.
    pub async fn search(&self, words: &str, limit: usize) -> Result<Vec<RepoHit>, HubError> {
        if self.config().offline {
            return Err(HubError::Offline);
        }
        let words: String = words.trim().chars().take(WORDS_MAX).collect();
        let found = tokio::time::timeout(
            LISTING_TIME_MAX,
            self.search_slowly(&words, limit.min(SEARCH_MAX)),
        );
        found.await.unwrap_or_else(|_| {
            Err(HubError::Stalled {
                host: host_of(&self.config().endpoint),
                file: words.clone(),
                after: LISTING_TIME_MAX,
            })
        })
    }

    async fn search_slowly(&self, words: &str, limit: usize) -> Result<Vec<RepoHit>, HubError> {
        let failed = |error| self.api_error(words, "main", error);
        let client = self.api_client().map_err(|error| match error {
            ApiSetup::Own(error) => error,
            ApiSetup::Theirs(error) => failed(error),
        })?;
        let found = client
            .list_models()
            .search(words)
            .filter("gguf")
            .sort("downloads")
            .full(true)
            .limit(limit)
            .send()
            .map_err(failed)?;
        let mut found = std::pin::pin!(found);
        let mut hits = Vec::new();
        while let Some(about) = found.next().await {
            let about = about.map_err(failed)?;
            let Ok(repo) = about.id.parse::<RepoId>() else {
                continue;
            };
            let names = about
                .siblings
                .iter()
                .flatten()
                .map(|file| file.rfilename.as_str());
            let quants: BTreeSet<String> = names
                .filter(|name| is_gguf(name) && !is_companion(split(name).1))
                .filter_map(quant_of)
                .collect();
            let licence = about
                .tags
                .iter()
                .flatten()
                .find_map(|tag| tag.strip_prefix("license:"));
            hits.push(RepoHit {
                repo,
                downloads: about.downloads.unwrap_or_default(),
                likes: about.likes.unwrap_or_default(),
                gate: Gate::of(about.gated.as_ref()),
                licence: licence.map(short),
                changed: about
                    .last_modified
                    .as_deref()
                    .and_then(|time| time.get(..10))
                    .map(short),
                quants: quants.into_iter().collect(),
            });
        }
        Ok(hits)
    }
}

impl Listing {
    /// The models of the repository: parts put together, projectors given to their models. Smallest first.
    #[must_use]
    pub fn variants(&self) -> Vec<RepoVariant> {
        let files: std::collections::BTreeMap<&str, &Listed> =
            self.gguf().map(|file| (file.path.as_str(), file)).collect();
        let projectors: Vec<&Listed> = files
            .values()
            .copied()
            .filter(|file| is_projector(split(&file.path).1))
            .collect();
        let mut done = BTreeSet::new();
        let mut variants = Vec::new();
        for file in files.values() {
            if is_companion(split(&file.path).1) {
                continue;
            }
            let paths = parts_of(&file.path);
            let Some(first) = paths.first().filter(|first| done.insert((*first).clone())) else {
                continue;
            };
            let (there, missing): (Vec<&String>, Vec<&String>) =
                paths.iter().partition(|path| files.contains_key(path.as_str()));
            let parts: Vec<Listed> = there
                .iter()
                .filter_map(|path| files.get(path.as_str()).map(|file| (*file).clone()))
                .collect();
            variants.push(RepoVariant {
                path: first.clone(),
                quant: quant_of(first),
                bytes: parts.iter().map(|file| file.bytes).sum(),
                files: parts,
                missing: missing.iter().map(|path| split(path).1.to_owned()).collect(),
                projector: projector_for(first, &projectors),
            });
        }
        variants.sort_by(|a, b| a.bytes.cmp(&b.bytes).then_with(|| a.path.cmp(&b.path)));
        variants
    }
}

/// The projector of a model's own folder, or of the top; of several precisions the one that most programs take.
fn projector_for(path: &str, projectors: &[&Listed]) -> Option<Listed> {
    let inside = split(path).0;
    let wish = |file: &&&Listed| {
        let (folder, name) = split(&file.path);
        let name = name.to_ascii_lowercase();
        let precision = if name.contains("bf16") {
            1
        } else if name.contains("f16") {
            0
        } else {
            2
        };
        (folder != inside, precision, file.bytes)
    };
    let serving = projectors
        .iter()
        .filter(|file| split(&file.path).0 == inside || split(&file.path).0.is_empty());
    serving.min_by_key(wish).map(|file| (*file).clone())
}

/// The quantisation that a path names: `Q4_K_M`, `UD-IQ2_XXS`, `BF16`. The file's own name counts before its
/// folders.
#[must_use]
pub fn quant_of(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.reverse();
    parts.into_iter().find_map(quant_in)
}

fn quant_in(name: &str) -> Option<String> {
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> = name.split(['-', '.', ' ']).collect();
    words.iter().enumerate().rev().find_map(|(number, word)| {
        // `MODEL_Q4_K_M` as well: everything from the first piece on that begins one.
        let starts = std::iter::once(0).chain(word.match_indices('_').map(|(at, _)| at + 1));
        let quant = starts
            .filter_map(|at| word.get(at..))
            .find(|rest| is_quant(rest))?;
        let dynamic = quant.len() == word.len() && number > 0 && words.get(number - 1) == Some(&"UD");
        Some(if dynamic {
            format!("UD-{quant}")
        } else {
            quant.to_owned()
        })
    })
}

fn is_quant(word: &str) -> bool {
    const PLAIN: [&str; 6] = ["F16", "BF16", "F32", "FP16", "MXFP4", "NVFP4"];
    if PLAIN.contains(&word) || word == "MXFP4_MOE" {
        return true;
    }
    let rest = ["IQ", "TQ", "Q"]
        .iter()
        .find_map(|start| word.strip_prefix(start));
    let Some((bits, rest)) = rest.and_then(|rest| rest.split_at_checked(1)) else {
        return false;
    };
    bits.bytes().all(|byte| byte.is_ascii_digit())
        && rest.starts_with('_')
        && rest.split('_').skip(1).all(|piece| {
            matches!(
                piece,
                "K" | "S" | "M" | "L" | "XS" | "XL" | "XXS" | "XXL" | "NL" | "P" | "0" | "1" | "4" | "8"
            )
        })
}

/// Words of strangers are cut to what a list can show.
pub(crate) fn short(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control())
        .take(60)
        .collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_units::Bytes;
    use proptest::prelude::*;
    use serde_json::json;

    use super::{Gate, quant_of};
    use crate::{Listed, Listing};

    #[test]
    fn names_say_their_quantisation() {
        for (path, quant) in [
            ("Qwen3-4B-Q4_K_M.gguf", Some("Q4_K_M")),
            ("Qwen3-4B-UD-Q4_K_XL.gguf", Some("UD-Q4_K_XL")),
            ("gemma-3-4b-it-q8_0.gguf", Some("Q8_0")),
            ("BF16/model-00001-of-00002.gguf", Some("BF16")),
            (
                "UD-IQ1_S/DeepSeek-R1-UD-IQ1_S-00001-of-00003.gguf",
                Some("UD-IQ1_S"),
            ),
            ("gpt-oss-20b-mxfp4.gguf", Some("MXFP4")),
            ("gpt-oss-20b-MXFP4_MOE.gguf", Some("MXFP4_MOE")),
            ("llama_2_7b_chat.Q5_K_S.gguf", Some("Q5_K_S")),
            ("tinyllama_Q4_0.gguf", Some("Q4_0")),
            ("model-Q4_0_4_4.gguf", Some("Q4_0_4_4")),
            ("phi-2.TQ1_0.gguf", Some("TQ1_0")),
            ("Qwen3-4B.gguf", None),
            ("model.Q.gguf", None),
            ("Q4km.gguf", None),
        ] {
            assert_eq!(quant_of(path).as_deref(), quant, "{path}");
        }
    }

    #[test]
    fn gates_are_read_in_every_form() {
        for (value, gate) in [
            (json!(false), Gate::Open),
            (json!(null), Gate::Open),
            (json!("auto"), Gate::Automatic),
            (json!("manual"), Gate::Manual),
            (json!(true), Gate::Manual),
        ] {
            assert_eq!(Gate::of(Some(&value)), gate, "{value}");
        }
    }

    fn listing(files: &[(&str, u64)]) -> Listing {
        Listing {
            repo: "org/m".parse().unwrap(),
            commit: "c".repeat(40),
            gate: Gate::Open,
            licence: None,
            files: files
                .iter()
                .map(|(path, bytes)| Listed {
                    path: (*path).to_owned(),
                    bytes: Bytes(*bytes),
                })
                .collect(),
        }
    }

    #[test]
    fn parts_are_put_together_and_projectors_go_to_their_models() {
        let variants = listing(&[
            ("README.md", 1),
            ("imatrix.gguf", 5),
            ("m-Q4_K_M.gguf", 40),
            ("mmproj-BF16.gguf", 8),
            ("mmproj-F16.gguf", 8),
            ("mmproj-F32.gguf", 16),
            ("BF16/m-BF16-00001-of-00003.gguf", 50),
            ("BF16/m-BF16-00003-of-00003.gguf", 50),
        ])
        .variants();
        let shown: Vec<_> = variants
            .iter()
            .map(|variant| {
                let projector = variant.projector.as_ref().map(|file| file.path.as_str());
                (
                    variant.path.as_str(),
                    variant.bytes.0,
                    variant.missing.len(),
                    projector,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("m-Q4_K_M.gguf", 40, 0, Some("mmproj-F16.gguf")),
                ("BF16/m-BF16-00001-of-00003.gguf", 100, 1, Some("mmproj-F16.gguf"))
            ]
        );
    }

    proptest! {
        #[test]
        fn every_model_file_is_in_one_variant(names in proptest::collection::vec("[a-c]{1,2}(-0000[1-3]-of-0000[1-3])?(-mmproj)?\\.gguf", 0..12)) {
            let files: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 7)).collect();
            let variants = listing(&files).variants();
            let wanted: std::collections::BTreeSet<&str> =
                names.iter().map(String::as_str).filter(|name| !name.contains("mmproj")).collect();
            let mut got: Vec<&str> = variants
                .iter()
                .flat_map(|variant| &variant.files)
                .map(|file| file.path.as_str())
                .collect();
            got.sort_unstable();
            prop_assert_eq!(got, wanted.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn no_name_is_too_strange(path in "\\PC{0,60}") {
            let _ = quant_of(&path);
        }
    }
}
