use plimsoll_units::Bytes;
use serde::Deserialize;

use crate::CatalogError;

/// One model, with everything that is needed to plan it without a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Lower case, stable for ever.
    pub id: String,
    pub name: String,
    /// One plain sentence.
    pub about: String,
    pub publisher: String,
    pub licence: Licence,
    pub parameters: u64,
    /// Parameters that one token touches; equal to `parameters` for a dense model.
    pub active_parameters: u64,
    pub context_trained: u32,
    pub abilities: Vec<Ability>,
    pub quality: Quality,
    pub shape: ShapeFacts,
    /// The quantisation meant when none is named.
    pub default_quant: String,
    pub variants: Vec<Variant>,
    #[serde(default)]
    pub sampling: Option<Sampling>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Licence {
    pub name: String,
    pub url: String,
    /// The person has to agree before the download.
    pub consent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ability {
    Chat,
    Tools,
    Vision,
    Reasoning,
    Code,
    /// Continues text; has no chat template.
    Base,
}

impl Ability {
    /// The word used in the data and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Tools => "tools",
            Self::Vision => "vision",
            Self::Reasoning => "reasoning",
            Self::Code => "code",
            Self::Base => "base",
        }
    }
}

/// Our own editorial rank, 0 to 100, comparable within this catalog only. See `catalog/README.md`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    pub rank: u8,
    pub reason: String,
    pub rated_at: String,
}

/// The architecture in numbers, as the GGUF header would give them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShapeFacts {
    /// `general.architecture`.
    pub architecture: String,
    pub layers: u32,
    pub embedding: u32,
    pub feed_forward: u32,
    pub heads: u32,
    pub kv_heads: u32,
    pub head_dim: u32,
    pub vocabulary: u32,
    pub tied_embeddings: bool,
    #[serde(default)]
    pub experts: Option<u32>,
    #[serde(default)]
    pub experts_used: Option<u32>,
    #[serde(default)]
    pub expert_feed_forward: Option<u32>,
    /// Tokens in the window of a sliding layer.
    #[serde(default)]
    pub sliding_window: Option<u32>,
    /// Every n-th layer sees everything.
    #[serde(default)]
    pub sliding_window_period: Option<u32>,
    #[serde(default)]
    pub full_attention_layers: Option<u32>,
    pub source: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Variant {
    pub quant: String,
    /// In the order of a split set.
    pub files: Vec<File>,
}

impl Variant {
    /// Of all files together.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct File {
    /// `owner/name` on the hub.
    pub repo: String,
    /// A commit, or `main` where none is pinned.
    pub revision: String,
    pub path: String,
    pub bytes: Bytes,
    /// 64 hexadecimal digits.
    pub sha256: String,
    /// Size, hash and revision are pinned by a project that checked them; else compare with the hub first.
    pub verified: bool,
    pub source: String,
}

/// The publisher's advice.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sampling {
    #[serde(default)]
    pub temperature: Option<f64>,
    #[serde(default)]
    pub top_p: Option<f64>,
    #[serde(default)]
    pub top_k: Option<u32>,
    #[serde(default)]
    pub min_p: Option<f64>,
    pub source: String,
}

impl Model {
    #[must_use]
    pub fn can(&self, ability: Ability) -> bool {
        self.abilities.contains(&ability)
    }

    /// The named variant, or the default one.
    #[must_use]
    pub fn variant(&self, quant: Option<&str>) -> Option<&Variant> {
        let wanted = quant.unwrap_or(&self.default_quant);
        self.variants
            .iter()
            .find(|variant| variant.quant.eq_ignore_ascii_case(wanted))
    }

    pub(crate) fn check(&self, file: &str) -> Result<(), CatalogError> {
        let complain = |problem| {
            Err(CatalogError::Entry {
                file: file.into(),
                entry: self.id.clone(),
                problem,
            })
        };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        if self.id.is_empty() || !self.id.chars().all(plain) {
            return complain("an id is lower case letters, digits, - and .");
        }
        if self.quality.rank > 100 {
            return complain("a quality rank is 0 to 100");
        }
        let shape = &self.shape;
        if shape.layers == 0 || shape.embedding == 0 || shape.heads == 0 || shape.vocabulary == 0 {
            return complain("the shape has a zero");
        }
        if self.variant(None).is_none() {
            return complain("the default quant is not among the variants");
        }
        for variant in &self.variants {
            if variant.files.is_empty() {
                return complain("a variant without files");
            }
            for one in &variant.files {
                if one.bytes == Bytes::ZERO {
                    return complain("a file without a size");
                }
                if one.sha256.len() != 64 || !one.sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
                    return complain("a sha256 is 64 hexadecimal digits");
                }
                if one.repo.split('/').count() != 2 {
                    return complain("a repository is owner/name");
                }
                if one.source.is_empty() {
                    return complain("a file without a source");
                }
            }
        }
        Ok(())
    }
}
