use std::str::FromStr;

use plimsoll_units::Bytes;

use crate::memory::{CacheType, Outputs};
use crate::{Draft, Projector};

/// What a person asks of a plan; everything that is `None` is chosen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wishes {
    pub goal: Goal,
    pub context: Option<u32>,
    /// Conversations that are answered at once; one, when nothing is said.
    pub slots: Option<u32>,
    /// Several slots where they cost nothing that the goal is about; of no effect beside a number.
    pub choose_slots: bool,
    pub kv: Option<CacheType>,
    pub batch: Option<u32>,
    pub ubatch: Option<u32>,
    /// For the prompt cache.
    pub cache_ram: Option<Bytes>,
    pub outputs: Option<Outputs>,
    /// Layers on devices, the output counted as one more; more than there are means all.
    pub gpu_layers: Option<u32>,
    pub tensor_split: Option<Vec<f64>>,
    pub host_experts: Option<u32>,
    /// For pictures.
    pub projector: Option<Projector>,
    /// Guesses ahead. One that does not suit the model is left out, and the settings then name none.
    pub draft: Option<Draft>,
    /// Length of the prompt that the time to the first token is told for.
    pub prompt_tokens: Option<u32>,
}

/// What matters most where not everything can be had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Goal {
    /// A context to work with, then speed.
    #[default]
    Balanced,
    /// As long a context as there is room for, wherever the weights then are.
    LongestContext,
    /// As much as possible on devices, with no more context than a conversation needs.
    Fastest,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no goal; balanced, longestContext and fastest are")]
pub struct UnknownGoal(String);

impl FromStr for Goal {
    type Err = UnknownGoal;
    fn from_str(text: &str) -> Result<Self, UnknownGoal> {
        match text {
            "balanced" => Ok(Self::Balanced),
            "longestContext" => Ok(Self::LongestContext),
            "fastest" => Ok(Self::Fastest),
            _ => Err(UnknownGoal(text.chars().take(40).collect())),
        }
    }
}

/// A plan that cannot be made, because what is asked makes no sense. That a model does not fit is no error: the
/// plan says so.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    #[error("{field} is {value}; it is from {least} to {most}")]
    OutOfRange {
        field: &'static str,
        value: f64,
        least: f64,
        most: f64,
    },
}

const SLOTS_MAX: u32 = 256;
const BATCH_MAX: u32 = 1 << 16;
const CONTEXT_MAX: u32 = 1 << 27;
const PROMPT_MAX: u32 = 1 << 24;
const DEVICES_MAX: usize = 16;

impl Wishes {
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        let numbers = [
            ("context", self.context, 1, CONTEXT_MAX),
            ("slots", self.slots, 1, SLOTS_MAX),
            ("batch", self.batch, 1, BATCH_MAX),
            ("ubatch", self.ubatch, 1, BATCH_MAX),
            ("promptTokens", self.prompt_tokens, 1, PROMPT_MAX),
        ];
        for (field, value, least, most) in numbers {
            if let Some(value) = value
                && !(least..=most).contains(&value)
            {
                let (value, least, most) = (value.into(), least.into(), most.into());
                return Err(PlanError::OutOfRange {
                    field,
                    value,
                    least,
                    most,
                });
            }
        }
        let shares = self.tensor_split.as_deref().unwrap_or_default();
        let out_of_range = |value, most| {
            Err(PlanError::OutOfRange {
                field: "tensorSplit",
                value,
                least: 0.0,
                most,
            })
        };
        if shares.len() > DEVICES_MAX {
            #[expect(clippy::cast_precision_loss, reason = "a small count")]
            return out_of_range(shares.len() as f64, DEVICES_MAX as f64);
        }
        match shares.iter().find(|share| !(0.0..=1e9).contains(*share)) {
            Some(&share) => out_of_range(share, 1e9),
            None => Ok(()),
        }
    }
}
