use std::sync::Arc;

use plimsoll_os::process::Resident;
use plimsoll_units::{Bytes, Tokens, TokensPerSecond};

use super::client::Target;
use super::place::Front;
use super::sighting::Progress;
use crate::error::Trouble;
use crate::log::Buffer;

/// The router as one of our processes sees it.
#[derive(Debug, Clone, Default)]
pub enum RouterState {
    #[default]
    Off,
    Starting,
    Ready(Ready),
    /// It died and will be started again.
    Waiting {
        crashes: u32,
        trouble: Trouble,
    },
    Failed {
        trouble: Trouble,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// The id of the engine.
    pub engine: String,
    pub pid: u32,
    /// This process owns it; else another of ours does.
    pub owned: bool,
    /// The endpoint for other apps that the owner offers, if it does.
    pub front: Option<Front>,
    pub models: Vec<ModelState>,
}

/// Two troubles are the same when they are the same event, not when they read the same.
fn same_trouble(one: &Trouble, other: &Trouble) -> bool {
    Arc::ptr_eq(one, other)
}

impl PartialEq for RouterState {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Off, Self::Off) | (Self::Starting, Self::Starting) => true,
            (Self::Ready(one), Self::Ready(other)) => one == other,
            (
                Self::Waiting {
                    crashes: n,
                    trouble: one,
                },
                Self::Waiting {
                    crashes: m,
                    trouble: other,
                },
            ) => n == m && same_trouble(one, other),
            (Self::Failed { trouble: one }, Self::Failed { trouble: other }) => same_trouble(one, other),
            (Self::Off | Self::Starting | Self::Ready(_) | Self::Waiting { .. } | Self::Failed { .. }, _) => {
                false
            }
        }
    }
}

impl PartialEq for ModelState {
    fn eq(&self, other: &Self) -> bool {
        let trouble = match (&self.trouble, &other.trouble) {
            (None, None) => true,
            (Some(one), Some(other)) => same_trouble(one, other),
            (Some(_), None) | (None, Some(_)) => false,
        };
        trouble
            && (
                &self.id,
                &self.name,
                self.status,
                &self.progress,
                self.context,
                self.port,
                &self.proof,
            ) == (
                &other.id,
                &other.name,
                other.status,
                &other.progress,
                other.context,
                other.port,
                &other.proof,
            )
    }
}

impl RouterState {
    #[must_use]
    pub fn model(&self, id: &str) -> Option<&ModelState> {
        match self {
            Self::Ready(ready) => ready.models.iter().find(|model| model.id == id),
            Self::Off | Self::Starting | Self::Waiting { .. } | Self::Failed { .. } => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelStatus {
    #[default]
    Unloaded,
    /// Waiting for its turn or loading.
    Loading,
    /// Loaded; the tiny generation that proves it is running.
    Proving,
    Ready,
    Failed,
}

#[derive(Debug, Clone)]
pub struct ModelState {
    pub id: String,
    pub name: String,
    pub status: ModelStatus,
    pub progress: Option<Progress>,
    /// The window of one slot.
    pub context: Option<Tokens>,
    /// Where its own process listens, while it is ready and this process knows it.
    pub port: Option<u16>,
    pub proof: Option<Proof>,
    pub trouble: Option<Trouble>,
}

/// What a loaded model is in truth, measured after its first words.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    pub planned: Bytes,
    /// Memory of the child that holds it; unknown where the child cannot be found.
    pub resident: Option<Resident>,
    /// What llama.cpp says it has allocated.
    pub buffers: Vec<Buffer>,
    /// Layers on devices, and all of them, the output counted as one; unknown where the engine does not say it.
    pub offloaded: Option<(u32, u32)>,
    pub first_token_ms: f64,
    /// Unknown when it said a single token.
    pub decode: Option<TokensPerSecond>,
    pub prefill: Option<TokensPerSecond>,
    /// How many tokens it said.
    pub tokens: u32,
}

/// A model that may be asked.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub target: Target,
    pub context: Option<Tokens>,
    /// Missing when another process loaded it and it is at work: then its work is the proof.
    pub proof: Option<Proof>,
}
