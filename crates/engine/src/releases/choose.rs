//! The builds of a release that this machine could use, best first, each with its reason.

use plimsoll_hardware::{Backend, Machine};
use plimsoll_hub::Archive;

use super::asset::{AssetName, Backing, Build, Toolkit};
use super::fit::{self, Misfit, Rank, Why};
use super::list::{ReleaseAsset, ReleaseList};
use crate::engines::Release;

/// A build that can run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// `cuda-13.4`
    pub flavour: String,
    pub why: Why,
    /// The engine, and what must lie beside it.
    pub release: Release,
    /// It computes with a GPU that plans are made for.
    pub on_gpu: bool,
}

/// A build for this platform that is not offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    pub name: String,
    pub why: Misfit,
}

/// All that a release has for this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    pub tag: String,
    /// Best first.
    pub offers: Vec<Offer>,
    pub passed: Vec<Passed>,
    /// The machine has a GPU that a build could compute with.
    pub has_gpu: bool,
}

/// Why nothing is taken without being asked for by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoChoice {
    /// The release has no build for this system and processor, or has not got its files yet.
    NothingForPlatform,
    /// There is a GPU, only builds for the processor are known, and among the others are names that no rule knows: a
    /// renamed build is more likely than none.
    OnlyUnknown { names: Vec<String> },
}

impl Choices {
    /// The builds to try in turn, without being asked for one. Never the processor's because a name did not match.
    pub fn to_try(&self) -> Result<&[Offer], NoChoice> {
        if self.offers.is_empty() {
            return Err(self
                .unknown()
                .map_or(NoChoice::NothingForPlatform, |names| NoChoice::OnlyUnknown {
                    names,
                }));
        }
        let on_gpu = self.offers.iter().any(|offer| offer.on_gpu);
        match self.unknown().filter(|_| self.has_gpu && !on_gpu) {
            Some(names) => Err(NoChoice::OnlyUnknown { names }),
            None => Ok(&self.offers),
        }
    }

    fn unknown(&self) -> Option<Vec<String>> {
        let names: Vec<String> = self
            .passed
            .iter()
            .filter(|passed| matches!(passed.why, Misfit::Unknown { .. }))
            .map(|passed| passed.name.clone())
            .collect();
        (!names.is_empty()).then_some(names)
    }
}

/// What of `list` this machine could use.
#[must_use]
pub fn choose(list: &ReleaseList, machine: &Machine) -> Choices {
    let (os, arch) = (machine.os.name.as_str(), machine.os.arch.as_str());
    let mut offers: Vec<(Rank, Option<Toolkit>, Offer)> = Vec::new();
    let mut passed = Vec::new();
    for asset in &list.assets {
        let AssetName::Engine(build) = AssetName::read(&asset.name) else {
            continue;
        };
        if !build.is_for(os, arch) {
            continue;
        }
        match offer(list, asset, &build, machine) {
            Ok((rank, offer)) => offers.push((rank, build.toolkit, offer)),
            Err(why) => passed.push(Passed {
                name: asset.name.clone(),
                why,
            }),
        }
    }
    // Of two toolkits that fit alike the newer one; where nothing is known of the driver, the one that asks less of it.
    offers.sort_by(|(rank, toolkit, _), (other_rank, other_toolkit, _)| {
        rank.cmp(other_rank).then_with(|| match *rank {
            fit::UNCERTAIN => toolkit.cmp(other_toolkit),
            _ => other_toolkit.cmp(toolkit),
        })
    });
    let has_gpu = os == "macos" && arch == "aarch64"
        || [Backend::Cuda, Backend::Rocm, Backend::Vulkan, Backend::Sycl]
            .into_iter()
            .any(|backend| fit::with(machine, backend).next().is_some());
    Choices {
        tag: list.tag.clone(),
        offers: offers.into_iter().map(|(_, _, offer)| offer).collect(),
        passed,
        has_gpu,
    }
}

fn offer(
    list: &ReleaseList,
    asset: &ReleaseAsset,
    build: &Build,
    machine: &Machine,
) -> Result<(Rank, Offer), Misfit> {
    let (rank, why) = fit::fit(build, machine)?;
    let mut archives = vec![archive(asset)?];
    if build.backing == Backing::Cuda {
        archives.push(archive(runtime_of(list, build)?)?);
    }
    let on_gpu = !matches!(why, Why::OnProcessor {} | Why::VulkanWithoutDevice {});
    let flavour = build.flavour();
    let release = Release {
        id: format!("{}-{flavour}", list.tag),
        archives,
    };
    Ok((
        rank,
        Offer {
            flavour,
            why,
            release,
            on_gpu,
        },
    ))
}

/// The libraries of the same toolkit, without which llama.cpp runs on the processor and says nothing.
fn runtime_of<'a>(list: &'a ReleaseList, build: &Build) -> Result<&'a ReleaseAsset, Misfit> {
    list.assets
        .iter()
        .find(|asset| {
            matches!(AssetName::read(&asset.name), AssetName::Runtime(runtime)
                if runtime.is_for(&build.os, &build.arch) && runtime.toolkit == build.toolkit)
        })
        .ok_or_else(|| Misfit::RuntimeMissing {
            toolkit: build.flavour(),
        })
}

fn archive(asset: &ReleaseAsset) -> Result<Archive, Misfit> {
    let sha256 = asset.sha256.clone().ok_or(Misfit::NoDigest {})?;
    Ok(Archive {
        url: asset.url.clone(),
        bytes: asset.bytes,
        sha256,
    })
}
