use plimsoll_units::Bytes;
use serde::Deserialize;

use crate::CatalogError;

/// The pinned llama.cpp release.
#[derive(Debug, Clone, Deserialize)]
pub struct EngineRelease {
    pub tag: String,
    pub version: String,
    pub assets: Vec<Asset>,
}

/// One archive of a release, pinned by size and hash.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Asset {
    pub name: String,
    pub url: String,
    pub bytes: Bytes,
    pub sha256: String,
    /// `linux`, `macos` or `windows`.
    pub os: String,
    /// `x86_64` or `aarch64`.
    pub arch: String,
    /// `cuda`, `vulkan`, `metal` or `cpu`.
    pub backend: String,
    /// CUDA toolkit version, where it matters.
    #[serde(default)]
    pub toolkit: Option<String>,
    pub role: AssetRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AssetRole {
    /// Holds llama-server.
    Engine,
    /// CUDA's own libraries: without them beside llama-server it silently runs on the CPU.
    Runtime,
}

impl EngineRelease {
    /// Builds for a platform, in the order of the file (accelerated before plain).
    pub fn for_platform<'a>(&'a self, os: &'a str, arch: &'a str) -> impl Iterator<Item = &'a Asset> {
        self.assets
            .iter()
            .filter(move |asset| asset.role == AssetRole::Engine && asset.os == os && asset.arch == arch)
    }

    /// The runtime archive that must lie beside `engine`, if it needs one.
    #[must_use]
    pub fn runtime_of(&self, engine: &Asset) -> Option<&Asset> {
        self.assets.iter().find(|asset| {
            asset.role == AssetRole::Runtime
                && asset.os == engine.os
                && asset.arch == engine.arch
                && asset.backend == engine.backend
                && asset.toolkit == engine.toolkit
        })
    }

    pub(crate) fn check(&self, file: &str) -> Result<(), CatalogError> {
        for asset in &self.assets {
            let complain = |problem| {
                Err(CatalogError::Entry {
                    file: file.into(),
                    entry: asset.name.clone(),
                    problem,
                })
            };
            if asset.bytes == Bytes::ZERO {
                return complain("an archive without a size");
            }
            if asset.sha256.len() != 64 || !asset.sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
                return complain("a sha256 is 64 hexadecimal digits");
            }
            if !asset.url.starts_with("https://") {
                return complain("an archive comes by https");
            }
        }
        Ok(())
    }
}
