//! Which engine this machine gets, and bringing it.

use std::sync::Arc;

use plimsoll_catalog::{Asset, Catalog};
use plimsoll_engine::{Engines, Release};
use plimsoll_hardware::{Backend, DeviceKind, Machine};
use plimsoll_hub::{Archive, Hub, Watcher};
use plimsoll_os::jobs::Scope;
use plimsoll_units::Bytes;
use plimsoll_wire::{EngineList, FaultCode};
use tokio_util::sync::CancellationToken;

use crate::fault::{Failed, fault};
use crate::to_wire;
use crate::transfers::Brought;

/// A pinned build that can run here.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) flavour: String,
    pub(crate) release: Release,
}

impl Choice {
    pub(crate) fn bytes(&self) -> Bytes {
        self.release.archives.iter().map(|archive| archive.bytes).sum()
    }
}

pub(crate) struct EngineShelf {
    pub(crate) kept: Engines,
    catalog: &'static Catalog,
    hub: Hub,
    jobs: Scope,
}

impl EngineShelf {
    pub(crate) fn new(kept: Engines, catalog: &'static Catalog, hub: Hub, jobs: Scope) -> Self {
        Self {
            kept,
            catalog,
            hub,
            jobs,
        }
    }

    pub(crate) fn list(&self, machine: &Machine) -> Result<EngineList, Failed> {
        let in_use = self.kept.chosen()?;
        let engines = self.kept.list()?;
        Ok(EngineList {
            engines: engines
                .iter()
                .map(|engine| to_wire::engine_build(engine, in_use.as_deref()))
                .collect(),
            available: choices(self.catalog, machine)
                .into_iter()
                .map(|choice| choice.flavour)
                .collect(),
        })
    }

    /// The named flavour, or the best for this machine.
    pub(crate) fn choice(&self, machine: &Machine, flavour: Option<&str>) -> Result<Choice, Failed> {
        let wanted =
            |choice: &Choice| flavour.is_none_or(|flavour| choice.flavour.eq_ignore_ascii_case(flavour));
        choices(self.catalog, machine)
            .into_iter()
            .find(wanted)
            .ok_or_else(|| {
                let params = [
                    ("flavour", flavour.unwrap_or_default().into()),
                    ("os", machine.os.name.as_str().into()),
                    ("arch", machine.os.arch.as_str().into()),
                ];
                fault(FaultCode::EngineUnknownAsset, params).into()
            })
    }

    /// The build with this id, if it still is one that can run here.
    pub(crate) fn choice_of(&self, machine: &Machine, id: &str) -> Option<Choice> {
        choices(self.catalog, machine)
            .into_iter()
            .find(|choice| choice.release.id == id)
    }

    pub(crate) async fn install(
        &self,
        choice: &Choice,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Brought, Failed> {
        let installed = self
            .kept
            .install(&choice.release, &self.hub, watcher, &self.jobs, stop)
            .await?;
        Ok(if installed.is_some() {
            Brought::All
        } else {
            Brought::Stopped
        })
    }
}

/// The pinned builds that can run on this machine, best first: those that drive one of its devices, then the
/// plain one. A Vulkan build runs on the processor where there is no device, so it stands in for a plain one.
fn choices(catalog: &Catalog, machine: &Machine) -> Vec<Choice> {
    let release = &catalog.engines;
    let mut ranked: Vec<(u8, &Asset)> = release
        .for_platform(&machine.os.name, &machine.os.arch)
        .filter_map(|asset| Some((rank(asset, machine)?, asset)))
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked
        .into_iter()
        .map(|(_, engine)| {
            let flavour = match &engine.toolkit {
                Some(toolkit) => format!("{}-{toolkit}", engine.backend),
                None => engine.backend.clone(),
            };
            let archives = [Some(engine), release.runtime_of(engine)]
                .into_iter()
                .flatten()
                .map(archive);
            let id = format!("{}-{flavour}", release.tag);
            Choice {
                flavour,
                release: Release {
                    id,
                    archives: archives.collect(),
                },
            }
        })
        .collect()
}

fn archive(asset: &Asset) -> Archive {
    Archive {
        url: asset.url.clone(),
        bytes: asset.bytes,
        sha256: asset.sha256.clone(),
    }
}

/// Lower is better; `None` for a build that would find nothing to run on.
fn rank(asset: &Asset, machine: &Machine) -> Option<u8> {
    // A device whose size nobody told needs its build as well: the engine tells the size then.
    let has = |backend| {
        machine
            .devices
            .iter()
            .filter(|device| device.kind != DeviceKind::Integrated)
            .any(|device| device.backends.contains(&backend))
    };
    match asset.backend.as_str() {
        "metal" => Some(0),
        "vulkan" if has(Backend::Vulkan) => Some(0),
        "cuda" if has(Backend::Cuda) => Some(1),
        "cpu" => Some(2),
        "vulkan" => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_catalog::Catalog;
    use plimsoll_hardware::Machine;
    use serde_json::json;

    use super::choices;

    fn flavours(os: &str, arch: &str, devices: &serde_json::Value) -> Vec<String> {
        let machine = json!({
            "os": {"name": os, "version": "1", "arch": arch},
            "memory": {"totalBytes": 16u64 << 30},
            "devices": devices,
        });
        let machine = Machine::from_json(machine.to_string().as_bytes()).unwrap();
        let catalog = Catalog::packaged().unwrap();
        choices(catalog, &machine)
            .into_iter()
            .map(|choice| choice.flavour)
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
}
