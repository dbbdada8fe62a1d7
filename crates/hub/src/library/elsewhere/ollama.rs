//! Ollama's store: `manifests/HOST/NAMESPACE/MODEL/TAG` name layers by their sha256, `blobs/sha256-…` holds them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_os::files;
use plimsoll_units::Bytes;
use serde_json::Value;

use super::walk::Walk;
use super::{Found, FoundFile, FoundState, OddReason, Place, Source};
use crate::Etag;

/// The largest have some kilobytes.
const MANIFEST_MAX: Bytes = Bytes::mib(1);
const LAYERS_MAX: usize = 256;
/// Left out of names: what `ollama list` leaves out.
const OWN_HOST: &str = "registry.ollama.ai";
const OWN_NAMESPACE: &str = "library";

const MODEL: &str = "application/vnd.ollama.image.model";
const PROJECTOR: &str = "application/vnd.ollama.image.projector";
const ADAPTER: &str = "application/vnd.ollama.image.adapter";

/// A layer that is a file of a model.
struct Layer {
    sha256: String,
    bytes: Bytes,
}

/// What a manifest says, as far as it matters here.
struct Manifest {
    model: Layer,
    projectors: Vec<Layer>,
}

pub(super) fn models(source: &Source, walk: &mut Walk<'_>) -> Vec<Found> {
    let root = source.folder.join("manifests");
    if !root.is_dir() {
        return Vec::new();
    }
    let mut by_content: BTreeMap<Vec<String>, Found> = BTreeMap::new();
    for (at, path) in walk.files(&root, &|_| true) {
        let Some(name) = name_of(&path) else {
            continue;
        };
        let manifest = files::read_up_to(&at, MANIFEST_MAX)
            .map_err(|_| OddReason::Manifest("it cannot be read, or is too large"))
            .and_then(|bytes| read(&bytes));
        let manifest = match manifest {
            Ok(manifest) => manifest,
            Err(why) => {
                walk.odd(&at, why);
                continue;
            }
        };
        let content: Vec<String> = std::iter::once(&manifest.model)
            .chain(&manifest.projectors)
            .map(|layer| layer.sha256.clone())
            .collect();
        let found = found(source, &name, &manifest);
        match by_content.get(&content) {
            // One model under several tags goes by the one that says most.
            Some(known) if !says_more(&found.path, &known.path) => {}
            Some(_) | None => drop(by_content.insert(content, found)),
        }
    }
    by_content.into_values().collect()
}

fn found(source: &Source, name: &str, manifest: &Manifest) -> Found {
    let model = file(&source.folder, name, &manifest.model);
    let projectors = manifest
        .projectors
        .iter()
        .filter_map(|layer| file(&source.folder, name, layer));
    let missing = match &model {
        Some(_) => Vec::new(),
        None => vec![format!("sha256-{}", manifest.model.sha256)],
    };
    Found {
        id: format!("{}:{name}", source.keeper),
        place: Place::Elsewhere {
            source: source.clone(),
            likely: None,
        },
        path: name.to_owned(),
        bytes: model.as_ref().map_or(Bytes::ZERO, |file| file.bytes),
        state: if model.is_some() {
            FoundState::Ready
        } else {
            FoundState::Incomplete
        },
        projectors: projectors.collect(),
        files: model.into_iter().collect(),
        missing,
    }
}

/// The blob, if it is all there: Ollama fills a blob under another name first.
fn file(folder: &Path, name: &str, layer: &Layer) -> Option<FoundFile> {
    // Before 0.1.32 with a colon.
    let at: PathBuf = [
        format!("sha256-{}", layer.sha256),
        format!("sha256:{}", layer.sha256),
    ]
    .iter()
    .map(|blob| folder.join("blobs").join(blob))
    .find(|at| std::fs::metadata(at).is_ok_and(|about| about.is_file() && about.len() == layer.bytes.0))?;
    Some(FoundFile {
        at,
        path: name.to_owned(),
        bytes: layer.bytes,
        etag: Etag::parse(&layer.sha256),
    })
}

fn read(bytes: &[u8]) -> Result<Manifest, OddReason> {
    let manifest: Value = serde_json::from_slice(bytes).map_err(|_| OddReason::Manifest("it is no JSON"))?;
    let layers = manifest
        .get("layers")
        .and_then(Value::as_array)
        .ok_or(OddReason::Manifest("it names no layers"))?;
    if layers.len() > LAYERS_MAX {
        return Err(OddReason::Manifest("it names too many layers"));
    }
    let of = |kind: &str| -> Result<Vec<Layer>, OddReason> {
        layers
            .iter()
            .filter(|layer| layer.get("mediaType").and_then(Value::as_str) == Some(kind))
            .map(|layer| layer_of(layer).ok_or(OddReason::Manifest("a layer has no digest or size")))
            .collect()
    };
    let mut models = of(MODEL)?;
    if !of(ADAPTER)?.is_empty() {
        return Err(OddReason::Unusable("an adapter changes the model"));
    }
    let (Some(model), true) = (models.pop(), models.is_empty()) else {
        return Err(OddReason::Unusable("no model layer, or several"));
    };
    Ok(Manifest {
        model,
        projectors: of(PROJECTOR)?,
    })
}

/// Digest and size are a stranger's words, and the digest becomes a file name.
fn layer_of(layer: &Value) -> Option<Layer> {
    let digest = layer.get("digest")?.as_str()?;
    let sha256 = digest
        .strip_prefix("sha256:")
        .or_else(|| digest.strip_prefix("sha256-"))?;
    Etag::parse(sha256)?.sha256()?;
    let bytes = layer.get("size")?.as_u64().filter(|bytes| *bytes > 0)?;
    Some(Layer {
        sha256: sha256.to_owned(),
        bytes: Bytes(bytes),
    })
}

/// As `ollama list` says it; `None` for files that are no manifest.
fn name_of(path: &str) -> Option<String> {
    let (model, tag) = path.rsplit_once('/')?;
    let model = match model
        .strip_prefix(OWN_HOST)
        .and_then(|rest| rest.strip_prefix('/'))
    {
        Some(own) => own
            .strip_prefix(OWN_NAMESPACE)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(own),
        None => model,
    };
    (!model.is_empty() && model != OWN_HOST).then(|| format!("{model}:{tag}"))
}

/// `latest` says nothing.
fn says_more(one: &str, than: &str) -> bool {
    let key = |name: &str| (name.ends_with(":latest"), name.len(), name.to_owned());
    key(one) < key(than)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{name_of, read, says_more};

    #[test]
    fn names_are_those_of_ollamas_own_list() {
        for (path, name) in [
            ("registry.ollama.ai/library/qwen3/8b", Some("qwen3:8b")),
            ("registry.ollama.ai/ada/mine/latest", Some("ada/mine:latest")),
            (
                "hf.co/bartowski/X-GGUF/Q4_K_M",
                Some("hf.co/bartowski/X-GGUF:Q4_K_M"),
            ),
            ("stray", None),
        ] {
            assert_eq!(name_of(path).as_deref(), name);
        }
        assert!(says_more("qwen3:8b", "qwen3:latest") && !says_more("qwen3:latest", "qwen3:8b"));
    }

    #[test]
    fn manifests_that_make_no_sense_are_refused_with_a_reason() {
        let model = format!(
            r#"{{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{}","size":5}}"#,
            "a".repeat(64)
        );
        assert!(read(format!(r#"{{"layers":[{model}]}}"#).as_bytes()).is_ok());
        for bad in [
            String::new(),
            "[]".into(),
            r#"{"layers":{}}"#.into(),
            r#"{"layers":[]}"#.into(),
            format!(r#"{{"layers":[{model},{model}]}}"#),
            format!(r#"{{"layers":[{}]}}"#, model.replace("sha256:a", "sha256:../../")),
            format!(r#"{{"layers":[{}]}}"#, model.replace(":5", ":-1")),
            format!(r#"{{"layers":[{}]}}"#, model.replace(":5", ":\"5\"")),
            format!(
                r#"{{"layers":[{model},{}]}}"#,
                model.replace("image.model", "image.adapter")
            ),
        ] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    /// A manifest that somebody or something changed in any place.
    fn bent() -> impl Strategy<Value = Vec<u8>> {
        let good = format!(
            r#"{{"schemaVersion":2,"layers":[{{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{}","size":123456}},{{"mediaType":"application/vnd.ollama.image.projector","digest":"sha256:{}","size":9}}]}}"#,
            "0123456789abcdef".repeat(4),
            "f".repeat(64)
        )
        .into_bytes();
        let length = good.len();
        (
            proptest::collection::vec((0..length, any::<u8>()), 0..4),
            0..=length,
        )
            .prop_map(move |(changes, cut)| {
                let mut bytes = good.clone();
                for (at, byte) in changes {
                    if let Some(place) = bytes.get_mut(at) {
                        *place = byte;
                    }
                }
                bytes.truncate(cut.max(length / 2));
                bytes
            })
    }

    proptest! {
        #[test]
        fn no_manifest_names_a_file_outside_the_blobs(bytes in prop_oneof![bent(), proptest::collection::vec(any::<u8>(), 0..200)]) {
            if let Ok(manifest) = read(&bytes) {
                for layer in std::iter::once(&manifest.model).chain(&manifest.projectors) {
                    prop_assert!(layer.sha256.len() == 64 && layer.sha256.bytes().all(|b| b.is_ascii_hexdigit()));
                    prop_assert!(layer.bytes.0 > 0);
                }
            }
        }

        #[test]
        fn names_keep_their_tag(path in "[a-z./:]{0,40}|\\PC{0,20}") {
            if let Some(name) = name_of(&path) {
                let tag = path.rsplit('/').next().unwrap_or_default();
                let wanted = format!(":{tag}");
                prop_assert!(name.ends_with(&wanted) && name.len() > wanted.len());
            }
        }
    }
}
