//! What guesses tokens ahead for the model to check together: layers of its own, or a small model beside it.

use plimsoll_units::Bytes;

use crate::Shape;
use crate::memory::{CacheType, HostCpu, Kinds, Layout, Load, Outputs, Pool, Release};
use crate::settings::DraftUse;

/// Who drafts.
#[derive(Debug, Clone, PartialEq)]
pub enum Draft {
    /// The drafting layers that the model's file brings (MTP, `nextn`).
    Own,
    /// A small model of the same vocabulary.
    Model(Box<Shape>),
}

/// Tokens that are drafted at once: llama-server's own figure (`--spec-draft-n-max`).
pub(crate) const DRAFTED: u32 = 3;
/// llama-server takes drafts whose vocabulary is off by so many words (`SPEC_VOCAB_MAX_SIZE_DIFFERENCE`).
const VOCABULARIES_DIFFER: u32 = 128;

impl Draft {
    pub(crate) const fn kind(&self) -> DraftUse {
        match self {
            Self::Own => DraftUse::Own,
            Self::Model(_) => DraftUse::Model,
        }
    }

    /// Whether the model can be drafted for like this.
    pub(crate) fn suits(&self, shape: &Shape) -> bool {
        match self {
            Self::Own => !shape.drafting.is_empty(),
            Self::Model(draft) => draft.vocabulary.abs_diff(shape.vocabulary) <= VOCABULARIES_DIFFER,
        }
    }

    /// States that recurrent layers keep to go back to: only drafts that read the model's own rows ask for them.
    pub(crate) fn rollback(&self, shape: &Shape) -> u32 {
        match self {
            Self::Own if shape.layers.iter().any(|layer| layer.stateful) => DRAFTED,
            Self::Own | Self::Model(_) => 0,
        }
    }

    /// What it needs in each pool, the host last. Its cache has the model's cells, in half precision. The work of
    /// drafting layers is taken to be that of the same layers in a graph of their own.
    pub(crate) fn needs(
        &self,
        shape: &Shape,
        load: &Load,
        pools: &[Pool],
        cpu: HostCpu,
        release: Release,
    ) -> Vec<Kinds> {
        let used = if load.gpu_layers == 0 { &[] } else { pools };
        let load = Load {
            key_type: CacheType::F16,
            value_type: CacheType::F16,
            outputs: Outputs::Server,
            gpu_layers: u32::MAX,
            tensor_split: Vec::new(),
            host_experts: 0,
            rollback: 0,
            ..load.clone()
        };
        let mut out = vec![Kinds::default(); pools.len() + 1];
        match self {
            Self::Model(draft) => {
                let breakdown = Layout::of(draft, &load, used, cpu, release).complete();
                for (kinds, told) in out.iter_mut().zip(breakdown.devices) {
                    *kinds = told;
                }
                // What the processor copies lies on the host as well.
                out[pools.len()] = Kinds {
                    weights: breakdown.host.weights.plus(breakdown.repacked),
                    ..breakdown.host
                };
            }
            Self::Own => {
                // They follow the last of the model's layers, wherever that is.
                let last = used.last().map_or(&[][..], std::slice::from_ref);
                let at = used.len().checked_sub(1).unwrap_or(pools.len());
                let head = shape.drafting_only();
                let breakdown = Layout::of(&head, &load, last, cpu, release).complete();
                let weights = head
                    .layers
                    .iter()
                    .flat_map(|layer| &layer.weights)
                    .map(|weight| weight.bytes);
                let mine = breakdown.devices.first().copied().unwrap_or(breakdown.host);
                out[pools.len()].compute = breakdown.host.compute;
                // Embedding and output are the model's own.
                out[at] = Kinds {
                    weights: weights.sum::<Bytes>(),
                    ..mine
                };
            }
        }
        out
    }
}
