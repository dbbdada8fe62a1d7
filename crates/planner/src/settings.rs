use plimsoll_units::Bytes;

use crate::memory::{CacheType, Load};

/// What llama-server is started with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// All slots together.
    pub context: u32,
    pub slots: u32,
    pub key_type: CacheType,
    pub value_type: CacheType,
    pub batch: u32,
    pub ubatch: u32,
    pub cache_ram: Bytes,
    /// Earlier states kept per slot; only models with a sliding window have any.
    pub checkpoints: Option<u32>,
    /// Layers on devices, the output counted as one more.
    pub gpu_layers: u32,
    /// Shares of the devices in llama.cpp's order; empty when one device or none is used.
    pub tensor_split: Vec<f64>,
    /// Layers whose experts stay on the host.
    pub host_expert_layers: u32,
    pub load_mode: LoadMode,
    pub devices: DeviceUse,
    pub draft: Option<DraftUse>,
}

/// How the weights come into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadMode {
    /// Read into memory of the process: right when they end up as copies anyway, because pages of a mapped file
    /// would stay resident beside them.
    Read,
    /// Mapped from the file.
    Map,
}

/// Who guesses ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftUse {
    /// Layers in the model's own file.
    Own,
    /// A model in a file of its own, which whoever starts the engine names.
    Model,
}

/// Which devices llama.cpp may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceUse {
    /// None, also not for large batches.
    None,
    /// Only the one with this number in llama.cpp's order.
    One(u32),
    All,
}

impl Settings {
    pub(crate) fn of(load: &Load, devices: DeviceUse, load_mode: LoadMode) -> Self {
        Self {
            context: load.context,
            slots: load.slots,
            key_type: load.key_type,
            value_type: load.value_type,
            batch: load.batch,
            ubatch: load.ubatch,
            cache_ram: Bytes::ZERO,
            checkpoints: None,
            gpu_layers: load.gpu_layers,
            tensor_split: load.tensor_split.clone(),
            host_expert_layers: load.host_experts,
            load_mode,
            devices,
            draft: None,
        }
    }

    /// The settings as entries of a llama-server preset: long option names without dashes. Everything that decides
    /// about memory is said, so that the engine has nothing left to fit.
    #[must_use]
    pub fn preset(&self) -> Vec<(&'static str, String)> {
        let mut out = vec![
            ("ctx-size", self.context.to_string()),
            ("parallel", self.slots.to_string()),
            ("batch-size", self.batch.to_string()),
            ("ubatch-size", self.ubatch.to_string()),
            ("cache-type-k", self.key_type.to_string()),
            ("cache-type-v", self.value_type.to_string()),
            ("flash-attn", "on".to_owned()),
            ("n-gpu-layers", self.gpu_layers.to_string()),
            ("cache-ram", (self.cache_ram.0 >> 20).to_string()),
            ("fit", "off".to_owned()),
            (
                "load-mode",
                match self.load_mode {
                    LoadMode::Read => "none",
                    LoadMode::Map => "mmap",
                }
                .to_owned(),
            ),
            // Copies in the processor's own order are in the plan where it makes some.
            ("repack", "true".to_owned()),
            ("ctx-checkpoints", self.checkpoints.unwrap_or(0).to_string()),
        ];
        if self.slots > 1 {
            out.push(("kv-unified", "true".to_owned()));
        }
        match self.devices {
            DeviceUse::None => out.push(("device", "none".to_owned())),
            DeviceUse::One(0) => out.push(("split-mode", "none".to_owned())),
            DeviceUse::One(number) => {
                out.extend([
                    ("split-mode", "none".to_owned()),
                    ("main-gpu", number.to_string()),
                ]);
            }
            DeviceUse::All => {}
        }
        if !self.tensor_split.is_empty() {
            let shares: Vec<String> = self.tensor_split.iter().map(ToString::to_string).collect();
            out.push(("tensor-split", shares.join(",")));
        }
        if self.host_expert_layers > 0 {
            out.push(("n-cpu-moe", self.host_expert_layers.to_string()));
        }
        // The file of a model is named by whoever starts the engine.
        if let Some(draft) = self.draft {
            let layers = if self.gpu_layers == 0 { "0" } else { "all" };
            let kind = match draft {
                DraftUse::Own => "draft-mtp",
                DraftUse::Model => "draft-simple",
            };
            out.extend([
                ("spec-type", kind.to_owned()),
                ("spec-draft-n-max", crate::draft::DRAFTED.to_string()),
                ("spec-draft-ngl", layers.to_owned()),
                ("spec-draft-type-k", "f16".to_owned()),
                ("spec-draft-type-v", "f16".to_owned()),
            ]);
        }
        out
    }

    /// The same for a command line.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        self.preset()
            .into_iter()
            .flat_map(|(name, value)| {
                let name = format!("--{name}");
                // A switch takes no value.
                if value == "true" {
                    vec![name]
                } else {
                    vec![name, value]
                }
            })
            .collect()
    }
}
