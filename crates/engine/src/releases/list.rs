//! The files of a release, as its API lists them.

use plimsoll_units::Bytes;
use serde::Deserialize;

/// A release of llama.cpp has some forty files.
const ASSETS_MAX: usize = 1000;
const NAME_BYTES_MAX: usize = 200;
/// A list with the words of its release notes; the longest so far has a tenth of this.
pub const LIST_BYTES_MAX: Bytes = Bytes::mib(2);

#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error("this is no list of a release")]
    NotJson(#[source] serde_json::Error),
    #[error("the release lists more than {limit} files")]
    TooMany { limit: usize },
}

/// The files of one release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseList {
    /// `b11459`
    pub tag: String,
    pub assets: Vec<ReleaseAsset>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseAsset {
    pub name: String,
    pub url: String,
    pub bytes: Bytes,
    /// 64 hexadecimal digits. Missing: it is not taken.
    pub sha256: Option<String>,
}

#[derive(Deserialize)]
struct RawList {
    tag_name: String,
    #[serde(default)]
    assets: Vec<RawAsset>,
}

#[derive(Deserialize)]
struct RawAsset {
    name: String,
    #[serde(default)]
    size: u64,
    /// `sha256:…`; missing for files of before June 2025.
    #[serde(default)]
    digest: Option<String>,
    browser_download_url: String,
}

impl ReleaseList {
    /// Reads the answer of GitHub's release API. `pinned` names the hashes that we know ourselves, by name: where both
    /// are there and differ, the file is not taken.
    pub fn from_api(json: &[u8], pinned: impl Fn(&str) -> Option<String>) -> Result<Self, ListError> {
        let raw: RawList = serde_json::from_slice(json).map_err(ListError::NotJson)?;
        if raw.assets.len() > ASSETS_MAX {
            return Err(ListError::TooMany { limit: ASSETS_MAX });
        }
        let assets = raw
            .assets
            .into_iter()
            .filter(|asset| asset.name.len() <= NAME_BYTES_MAX)
            .map(|asset| {
                let said = asset
                    .digest
                    .as_deref()
                    .and_then(|digest| digest.strip_prefix("sha256:"))
                    .filter(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
                    .map(str::to_ascii_lowercase);
                let sha256 = match (said, pinned(&asset.name)) {
                    (Some(said), Some(pinned)) if said != pinned => None,
                    (_, Some(pinned)) => Some(pinned),
                    (said, None) => said,
                };
                ReleaseAsset {
                    name: asset.name,
                    url: asset.browser_download_url,
                    bytes: Bytes(asset.size),
                    sha256,
                }
            })
            .collect();
        Ok(Self {
            tag: raw.tag_name,
            assets,
        })
    }
}
