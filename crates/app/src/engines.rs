//! Which engine this machine gets, and bringing it.

use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_catalog::Catalog;
use plimsoll_engine::{
    Choices, Engine, EngineError, Engines, LIST_BYTES_MAX, NoChoice, Offer, Passed, ReleaseAsset,
    ReleaseList, Skipped, Step, choose,
};
use plimsoll_hardware::{Machine, is_software_rasteriser};
use plimsoll_hub::{Hub, Watcher};
use plimsoll_os::Environment;
use plimsoll_os::jobs::Scope;
use plimsoll_units::Bytes;
use plimsoll_wire::{EngineList, EngineOffer, EnginePassed, FaultCode, NewestEngines};
use tokio_util::sync::CancellationToken;

use crate::fault::{Failed, fault};
use crate::to_wire;
use crate::transfers::Brought;

/// Another place that lists the newest release, in the form of GitHub's API: a mirror.
const RELEASES: &str = "PLIMSOLL_ENGINE_RELEASES";
const RELEASES_URL: &str = "https://api.github.com/repos/ggml-org/llama.cpp/releases/latest";

/// A build that can run here.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) offer: Offer,
    /// What is tried when it does not work here; nothing where the person named it.
    then: Vec<Offer>,
    /// The person wants it instead of the engine in use, once it has passed.
    replaces: bool,
}

impl Choice {
    pub(crate) fn id(&self) -> &str {
        &self.offer.release.id
    }

    pub(crate) fn bytes(&self) -> Bytes {
        bytes(&self.offer)
    }
}

fn bytes(offer: &Offer) -> Bytes {
    offer.release.archives.iter().map(|archive| archive.bytes).sum()
}

pub(crate) struct EngineShelf {
    pub(crate) kept: Engines,
    catalog: &'static Catalog,
    hub: Hub,
    jobs: Scope,
    /// Where the newest release is listed.
    releases: String,
    /// The newest release as it was listed last. A lock, not an owner: held for a copy or an assignment.
    newest: Mutex<Option<ReleaseList>>,
}

impl EngineShelf {
    pub(crate) fn new(
        kept: Engines,
        catalog: &'static Catalog,
        hub: Hub,
        jobs: Scope,
        environment: &Environment,
    ) -> Self {
        Self {
            releases: environment.filled(RELEASES).unwrap_or(RELEASES_URL).to_owned(),
            newest: Mutex::new(None),
            kept,
            catalog,
            hub,
            jobs,
        }
    }

    pub(crate) fn list(&self, machine: &Machine) -> Result<EngineList, Failed> {
        let in_use = self.kept.chosen()?;
        let engines = self.kept.list()?;
        let Choices { offers, passed, .. } = choices(self.catalog, machine);
        Ok(EngineList {
            engines: engines
                .iter()
                .map(|engine| to_wire::engine_build(engine, in_use.as_deref()))
                .collect(),
            previous: self.kept.previous()?,
            available: offers.iter().map(|offer| offer.flavour.clone()).collect(),
            offers: self::offers(&offers),
            passed: self::passed(&passed),
        })
    }

    /// The named flavour, or the best for this machine with those that are tried after it.
    pub(crate) fn choice(&self, machine: &Machine, flavour: Option<&str>) -> Result<Choice, Failed> {
        choice(&choices(self.catalog, machine), machine, flavour)
    }

    /// Asks for the newest official release and what it has for this machine. Nothing is fetched.
    pub(crate) async fn newest(&self, machine: &Machine) -> Result<NewestEngines, Failed> {
        let json = self.hub.read_url(&self.releases, LIST_BYTES_MAX).await?;
        let pinned = |name: &str| {
            let known = self
                .catalog
                .engines
                .assets
                .iter()
                .find(|asset| asset.name == name);
            known.map(|asset| asset.sha256.clone())
        };
        let list = ReleaseList::from_api(&json, pinned).map_err(|error| {
            let mut fault = fault(FaultCode::EngineUnknownAsset, []);
            fault.trace.push(error.to_string());
            fault
        })?;
        let choices = choose(&list, machine);
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(list);
        // A list that nothing is taken from is explained.
        choice(&choices, machine, None)?;
        let here = format!("{}-", choices.tag);
        Ok(NewestEngines {
            in_use: self.kept.chosen()?.is_some_and(|id| id.starts_with(&here)),
            offers: offers(&choices.offers),
            passed: passed(&choices.passed),
            tag: choices.tag,
        })
    }

    /// Of the release that [`EngineShelf::newest`] listed.
    pub(crate) fn newest_choice(&self, machine: &Machine, flavour: Option<&str>) -> Result<Choice, Failed> {
        let list = self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let list = list.ok_or_else(|| fault(FaultCode::NotFound, [("setting", RELEASES.into())]))?;
        let mut choice = choice(&choose(&list, machine), machine, flavour)?;
        choice.replaces = true;
        Ok(choice)
    }

    /// The build with this id, if it still is one that can run here.
    pub(crate) fn choice_of(&self, machine: &Machine, id: &str) -> Option<Choice> {
        let mut offers = choices(self.catalog, machine).offers;
        let at = offers.iter().position(|offer| offer.release.id == id)?;
        let then = offers.split_off(at + 1);
        Some(Choice {
            offer: offers.pop()?,
            then,
            replaces: false,
        })
    }

    /// The choice, or the next that works here; what did not work is remembered beside the one that does.
    pub(crate) async fn install(
        &self,
        choice: &Choice,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Brought, Failed> {
        let mut skipped = Vec::new();
        let mut left = choice.then.iter();
        let mut offer = &choice.offer;
        loop {
            match self.try_one(offer, Arc::clone(&watcher), stop).await {
                Ok(None) => return Ok(Brought::Stopped),
                Ok(Some(engine)) => {
                    if !skipped.is_empty() {
                        self.kept.keep_skipped(&engine.id, skipped).await?;
                    }
                    if choice.replaces {
                        self.kept.choose(&engine.id).await?;
                    }
                    return Ok(Brought::All);
                }
                Err(error) => {
                    let next = left.next().filter(|_| error.is_of_the_build());
                    let Some(next) = next else {
                        return Err(error.into());
                    };
                    tracing::warn!(%error, flavour = offer.flavour, "this engine does not work here");
                    skipped.push(Skipped {
                        flavour: offer.flavour.clone(),
                        problem: error.to_string(),
                    });
                    offer = next;
                }
            }
        }
    }

    async fn try_one(
        &self,
        offer: &Offer,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Option<Engine>, EngineError> {
        let installed = self
            .kept
            .install(&offer.release, &self.hub, watcher, &self.jobs, stop)
            .await?;
        let Some(engine) = installed else { return Ok(None) };
        let passed = if offer.on_gpu && !lists_a_gpu(&engine.devices) {
            Err(EngineError::EngineCheckFailed {
                step: Step::Devices,
                output: "it lists no device beside the processor".to_owned(),
            })
        } else {
            self.kept.try_out(&engine.id, offer.on_gpu).await
        };
        match passed {
            Ok(()) => Ok(Some(engine)),
            Err(error) => {
                self.kept.remove(&engine.id).await?;
                Err(error)
            }
        }
    }
}

fn offers(offers: &[Offer]) -> Vec<EngineOffer> {
    let offer = |offer: &Offer| EngineOffer {
        flavour: offer.flavour.clone(),
        why: to_wire::reason(&offer.why),
        bytes: bytes(offer).0,
    };
    offers.iter().map(offer).collect()
}

fn passed(passed: &[Passed]) -> Vec<EnginePassed> {
    let one = |Passed { name, why }: &Passed| EnginePassed {
        name: name.clone(),
        why: to_wire::reason(why),
    };
    passed.iter().map(one).collect()
}

/// A program that draws with the processor is listed like a device.
fn lists_a_gpu(devices: &[String]) -> bool {
    devices.iter().any(|device| !is_software_rasteriser(device))
}

/// The pinned builds that this machine could use.
fn choices(catalog: &Catalog, machine: &Machine) -> Choices {
    let release = &catalog.engines;
    let assets = release.assets.iter().map(|asset| ReleaseAsset {
        name: asset.name.clone(),
        url: asset.url.clone(),
        bytes: asset.bytes,
        sha256: Some(asset.sha256.clone()),
    });
    let list = ReleaseList {
        tag: release.tag.clone(),
        assets: assets.collect(),
    };
    choose(&list, machine)
}

fn choice(choices: &Choices, machine: &Machine, flavour: Option<&str>) -> Result<Choice, Failed> {
    let none = |files: Vec<String>, why: Option<&Passed>| {
        let params = [
            ("flavour", flavour.unwrap_or_default().into()),
            ("os", machine.os.name.as_str().into()),
            ("arch", machine.os.arch.as_str().into()),
        ];
        let mut fault = fault(FaultCode::EngineUnknownAsset, params);
        if !files.is_empty() {
            fault.params.insert("files".to_owned(), files.join(", ").into());
        }
        if let Some(Passed { name, why }) = why {
            fault.trace.push(format!("{name}: {why:?}"));
        }
        Failed::from(fault)
    };
    if let Some(flavour) = flavour {
        let named = |offer: &&Offer| offer.flavour.eq_ignore_ascii_case(flavour);
        let offer = choices.offers.iter().find(named).cloned();
        let passed = || {
            let word = format!("-{}-", flavour.to_ascii_lowercase());
            choices.passed.iter().find(|passed| passed.name.contains(&word))
        };
        let then = Vec::new();
        return offer
            .map(|offer| Choice {
                offer,
                then,
                replaces: false,
            })
            .ok_or_else(|| none(Vec::new(), passed()));
    }
    match choices.to_try() {
        Ok([offer, then @ ..]) => Ok(Choice {
            offer: offer.clone(),
            then: then.to_vec(),
            replaces: false,
        }),
        Ok([]) | Err(NoChoice::NothingForPlatform) => Err(none(Vec::new(), choices.passed.first())),
        Err(NoChoice::OnlyUnknown { names }) => Err(none(names, None)),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_catalog::Catalog;
    use plimsoll_hardware::Machine;
    use serde_json::json;

    use super::{choice, choices, lists_a_gpu};

    fn flavours(os: &str, arch: &str, devices: &serde_json::Value) -> Vec<String> {
        let machine = json!({
            "os": {"name": os, "version": "1", "arch": arch},
            "memory": {"totalBytes": 16u64 << 30},
            "devices": devices,
        });
        let machine = Machine::from_json(machine.to_string().as_bytes()).unwrap();
        let catalog = Catalog::packaged().unwrap();
        choices(catalog, &machine)
            .offers
            .into_iter()
            .map(|offer| offer.flavour)
            .collect()
    }

    fn card(backends: &[&str]) -> serde_json::Value {
        json!([{"id": "d0", "name": "Card", "kind": "discrete", "backends": backends, "totalBytes": 8u64 << 30}])
    }

    #[test]
    fn a_card_gets_a_build_that_drives_it() {
        assert_eq!(
            flavours("linux", "x86_64", &card(&["vulkan", "rocm"])),
            ["vulkan"],
            "AMD, never the CPU build"
        );
        assert_eq!(
            flavours("linux", "x86_64", &card(&["cuda", "vulkan"]))[0],
            "vulkan"
        );
        assert_eq!(
            flavours("windows", "x86_64", &card(&["vulkan"])),
            ["vulkan", "cpu"]
        );
    }

    #[test]
    fn without_a_card_no_card_is_claimed() {
        assert_eq!(flavours("windows", "x86_64", &json!([])), ["cpu", "vulkan"]);
        assert_eq!(
            flavours("linux", "x86_64", &json!([])),
            ["vulkan"],
            "it runs on the processor, too"
        );
        assert_eq!(flavours("macos", "aarch64", &json!([])), ["metal"]);
        assert!(flavours("plan9", "x86_64", &json!([])).is_empty());
    }

    #[test]
    fn what_is_asked_for_by_name_is_refused_with_its_reason() {
        let machine = json!({
            "os": {"name": "linux", "version": "1", "arch": "x86_64"},
            "memory": {"totalBytes": 16u64 << 30},
            "devices": card(&["vulkan", "rocm"]),
        });
        let machine = Machine::from_json(machine.to_string().as_bytes()).unwrap();
        let choices = choices(Catalog::packaged().unwrap(), &machine);
        assert_eq!(
            choice(&choices, &machine, Some("Vulkan")).unwrap().offer.flavour,
            "vulkan"
        );
        let refused = choice(&choices, &machine, Some("cuda-13.4")).unwrap_err();
        let fault = plimsoll_wire::Fault::from(refused);
        assert_eq!(fault.code, plimsoll_wire::FaultCode::EngineUnknownAsset);
        assert!(
            fault.trace.iter().any(|why| why.contains("NoDevice")),
            "{fault:?}"
        );
    }

    #[test]
    fn a_processor_that_draws_is_no_device() {
        let said =
            |devices: &[&str]| lists_a_gpu(&devices.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(!said(&[]));
        assert!(!said(&[
            "Vulkan0: llvmpipe (LLVM 15.0.6, 256 bits) (31000 MiB, 31000 MiB free)"
        ]));
        assert!(said(&["CUDA0: NVIDIA L4 (22500 MiB, 22000 MiB free)"]));
    }
}
