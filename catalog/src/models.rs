use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{CatalogError, Draft, File, Projector, ShapeFacts, Variant};

/// One model, with everything that is needed to plan it without a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Lower case, stable for ever.
    pub id: String,
    pub name: String,
    /// One plain sentence.
    pub about: String,
    /// The same in other languages, by their two letters.
    #[serde(default)]
    pub about_in: BTreeMap<String, String>,
    pub publisher: String,
    pub licence: Licence,
    pub parameters: u64,
    /// Parameters that one token touches; equal to `parameters` for a dense model.
    pub active_parameters: u64,
    pub context_trained: u32,
    /// `text`, `image`, `audio`, `video`: what the model itself takes. What runs here is in `abilities`.
    #[serde(default)]
    pub modalities: Vec<String>,
    pub abilities: Vec<Ability>,
    pub quality: Quality,
    pub shape: ShapeFacts,
    /// The quantisation meant when none is named.
    pub default_quant: String,
    pub variants: Vec<Variant>,
    /// For pictures; the first is the one that we take.
    #[serde(default)]
    pub projectors: Vec<Projector>,
    /// The first is the one that we take.
    #[serde(default)]
    pub drafts: Vec<Draft>,
    /// The llama.cpp build that it needs, as far as that is known.
    #[serde(default)]
    pub engine: Option<EngineNeed>,
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// For other uses of the same model: without thinking, for code.
    #[serde(default)]
    pub other_sampling: Vec<Sampling>,
    /// Names of fields that nobody confirmed.
    #[serde(default)]
    pub unverified: Vec<String>,
}

/// The oldest llama.cpp build that is known to run a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EngineNeed {
    pub build: u32,
    pub kind: EngineNeedKind,
    pub source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EngineNeedKind {
    /// Older builds do not know the architecture.
    Minimum,
    /// It was seen working with this build; older ones may do.
    SeenWorking,
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

/// Our own editorial rank, 0 to 100, comparable within this catalog only. See `docs/quality-ranks.md`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quality {
    pub rank: u8,
    pub reason: String,
    /// `YYYY-MM-DD`.
    pub rated_at: String,
    /// Figures of others, each on its own scale: shown with their source, never used for the rank.
    #[serde(default)]
    pub quoted: Vec<Quoted>,
}

/// A figure that somebody else published.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Quoted {
    pub metric: String,
    pub value: String,
    pub date: String,
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
    #[serde(default)]
    pub presence_penalty: Option<f64>,
    #[serde(default)]
    pub repeat_penalty: Option<f64>,
    /// What it is for.
    #[serde(default)]
    pub note: Option<String>,
    /// `false` where nobody confirmed it.
    #[serde(default = "yes")]
    pub verified: bool,
    pub source: String,
}

const fn yes() -> bool {
    true
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
        if self.parameters == 0 || self.active_parameters == 0 || self.context_trained == 0 {
            return complain("parameters and context are at least 1");
        }
        if self.active_parameters > self.parameters {
            return complain("more active parameters than there are");
        }
        if self.quality.rank > 100 {
            return complain("a quality rank is 0 to 100");
        }
        let shape = &self.shape;
        let needed = [
            shape.layers,
            shape.embedding,
            shape.heads,
            shape.kv_heads,
            shape.head_dim,
            shape.vocabulary,
        ];
        if needed.contains(&0) || (shape.feed_forward == 0 && shape.experts.is_none()) {
            return complain("the shape has a zero");
        }
        // A refreshed file is a stranger's claim: what these numbers multiply to stays far below an overflow.
        if shape.layers > 1_000 || needed.iter().any(|&number| number > 1 << 24) {
            return complain("the shape is beyond any model");
        }
        if self.variant(None).is_none() {
            return complain("the default quant is not among the variants");
        }
        for variant in &self.variants {
            if variant.files.is_empty() {
                return complain("a variant without files");
            }
            if let Some(problem) = variant.files.iter().find_map(File::problem) {
                return complain(problem);
            }
        }
        let beside = self.projectors.iter().map(|projector| &projector.file);
        let mut beside = beside.chain(self.drafts.iter().map(|draft| &draft.file));
        if let Some(problem) = beside.find_map(File::problem) {
            return complain(problem);
        }
        if self.can(Ability::Vision) == self.projectors.is_empty() {
            return complain("vision and a projector come together");
        }
        Ok(())
    }
}
