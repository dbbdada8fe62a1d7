use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{Bandwidth, CatalogError, EngineRelease, File, Model, Provider, Variant};

/// The catalog's files, as (name, text).
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("models/", $name), include_str!(concat!("../models/", $name)))),*]
    };
}
const MODELS: &[(&str, &str)] = files![
    "deepseek.json",
    "gemma3.json",
    "gemma4.json",
    "glm.json",
    "gpt-oss.json",
    "granite.json",
    "kimi.json",
    "lfm.json",
    "llama.json",
    "minimax.json",
    "ministral.json",
    "mistral.json",
    "nemotron.json",
    "olmo.json",
    "phi.json",
    "qwen2.5-coder.json",
    "qwen2.5.json",
    "qwen3.5.json",
    "qwen3.6.json",
    "qwen3.8.json",
    "qwen3.json",
    "qwen3moe.json",
    "qwen3next.json",
    "qwen3vl.json",
    "seed-oss.json",
    "smollm2.json",
];
const ENGINES: (&str, &str) = (
    "engines/llama.cpp.json",
    include_str!("../engines/llama.cpp.json"),
);
const DEVICES: (&str, &str) = (
    "devices/bandwidth.json",
    include_str!("../devices/bandwidth.json"),
);
const PROVIDERS: (&str, &str) = (
    "providers/providers.json",
    include_str!("../providers/providers.json"),
);

/// Everything Plimsoll knows without asking anybody.
#[derive(Debug, Clone)]
pub struct Catalog {
    models: Vec<Model>,
    pub engines: EngineRelease,
    pub bandwidth: Bandwidth,
    /// Who else than this computer can answer.
    pub providers: Vec<Provider>,
}

#[derive(Deserialize)]
struct ModelFile {
    models: Vec<Model>,
}

#[derive(Deserialize)]
struct ProviderFile {
    providers: Vec<Provider>,
}

impl Catalog {
    /// The catalog inside this binary, read and checked once.
    ///
    /// # Errors
    /// Only when the packaged files are broken, which a test forbids.
    pub fn packaged() -> Result<&'static Self, &'static CatalogError> {
        static PACKAGED: OnceLock<Result<Catalog, CatalogError>> = OnceLock::new();
        PACKAGED
            .get_or_init(|| Self::parse(MODELS, ENGINES, DEVICES, PROVIDERS))
            .as_ref()
    }

    fn parse(
        models: &[(&str, &str)],
        engines: (&str, &str),
        devices: (&str, &str),
        providers: (&str, &str),
    ) -> Result<Self, CatalogError> {
        let mut all = Vec::new();
        let mut ids = BTreeSet::new();
        for &(file, text) in models {
            for model in read::<ModelFile>(file, text)?.models {
                model.check(file)?;
                if !ids.insert(model.id.clone()) {
                    let problem = "the id is taken";
                    return Err(CatalogError::Entry {
                        file: file.into(),
                        entry: model.id,
                        problem,
                    });
                }
                all.push(model);
            }
        }
        let release: EngineRelease = read(engines.0, engines.1)?;
        release.check(engines.0)?;
        Ok(Self {
            models: all,
            engines: release,
            bandwidth: read(devices.0, devices.1)?,
            providers: read_providers(providers)?,
        })
    }

    #[must_use]
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.id == id)
    }

    /// The same engines and devices with other models.
    pub(crate) fn with_models(&self, models: Vec<Model>) -> Self {
        Self {
            models,
            engines: self.engines.clone(),
            bandwidth: self.bandwidth.clone(),
            providers: self.providers.clone(),
        }
    }

    pub fn models(&self) -> impl Iterator<Item = &Model> {
        self.models.iter()
    }

    #[must_use]
    pub fn model(&self, id: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.id.eq_ignore_ascii_case(id))
    }

    /// `id` or `id:QUANT`.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<(&Model, &Variant)> {
        let (id, quant) = match id.split_once(':') {
            Some((id, quant)) => (id, Some(quant)),
            None => (id, None),
        };
        let model = self.model(id)?;
        Some((model, model.variant(quant)?))
    }

    /// The file with this hash (any case).
    #[must_use]
    pub fn by_sha256(&self, hash: &str) -> Option<(&Model, &Variant, &File)> {
        self.files().find(|(_, _, file)| {
            file.sha256
                .as_deref()
                .is_some_and(|own| own.eq_ignore_ascii_case(hash))
        })
    }

    /// The file at a place on the hub, whatever its revision.
    #[must_use]
    pub fn by_place(&self, repo: &str, path: &str) -> Option<(&Model, &Variant, &File)> {
        self.files()
            .find(|(_, _, file)| file.repo == repo && file.path == path)
    }

    fn files(&self) -> impl Iterator<Item = (&Model, &Variant, &File)> {
        self.models.iter().flat_map(|model| {
            model
                .variants
                .iter()
                .flat_map(move |variant| variant.files.iter().map(move |file| (model, variant, file)))
        })
    }
}

fn read_providers((file, text): (&str, &str)) -> Result<Vec<Provider>, CatalogError> {
    let providers = read::<ProviderFile>(file, text)?.providers;
    let mut ids = BTreeSet::new();
    for provider in &providers {
        let taken = (!ids.insert(provider.id.as_str())).then_some("the id is taken");
        if let Some(problem) = provider.problem().or(taken) {
            return Err(CatalogError::Entry {
                file: file.into(),
                entry: provider.id.clone(),
                problem,
            });
        }
    }
    Ok(providers)
}

fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, CatalogError> {
    serde_json::from_str(text).map_err(|source| CatalogError::Syntax {
        file: file.into(),
        source,
    })
}
