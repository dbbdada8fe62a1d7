//! The ways to models elsewhere: providers of the catalog and endpoints of the person's own, with their keys.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_agent::{Patience, Route, Sampling, list_models};
use plimsoll_catalog::{Catalog, Dialect, Protocol, Provider};
use plimsoll_os::Environment;
use plimsoll_os::keyring::{Kept, Keyring};
use plimsoll_units::{PicoDollars, Tokens};
use plimsoll_wire::{
    CloudModel, Fault, FaultCode, KeyFrom, KeyPlace, ProviderEntry, ProviderProtocol, Providers,
    SaveProvider, TokenPrices,
};
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::config::Config;
use crate::fault::{Failed, fault};
use crate::memo::Memo;
use crate::turns::ReadyModel;

/// The entry of the catalog that our own router speaks as.
const LOCAL_PROVIDER: &str = "llama-server";
const CONNECT_MAX: Duration = Duration::from_secs(15);
const NAME_CHARS_MAX: usize = 60;
const KEY_BYTES_MAX: usize = 4_096;

/// `@provider/model`: a model that is not on this disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CloudName<'a> {
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
}

impl<'a> CloudName<'a> {
    pub(crate) fn read(name: &'a str) -> Option<Self> {
        let (provider, model) = name.strip_prefix('@')?.split_once('/')?;
        (!provider.is_empty() && !model.is_empty()).then_some(Self { provider, model })
    }
}

/// What the person changed about providers, as it is kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KeptProviders {
    /// Endpoints of their own, and other addresses of known servers.
    own: Vec<OwnProvider>,
    /// What the picker offers, by provider.
    models: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnProvider {
    id: String,
    name: String,
    base_url: String,
    protocol: ProviderProtocol,
}

/// The route to a model that our own router has loaded.
pub(crate) fn local_route(url: &str, model: &str, key: Option<String>) -> Result<Route, Failed> {
    let provider = Catalog::packaged()
        .ok()
        .and_then(|catalog| catalog.provider(LOCAL_PROVIDER))
        .ok_or_else(|| fault(FaultCode::Internal, []))?;
    Ok(Route::new(provider, model, key).at(&format!("{}/v1", url.trim_end_matches('/'))))
}

pub(crate) struct Routes {
    catalog: &'static Catalog,
    environment: Environment,
    keyring: Keyring,
    memo: Memo,
    /// For what is on this machine: never through a proxy.
    near: reqwest::Client,
    /// For everybody else. Follows no redirect, because a key could go along.
    far: reqwest::Client,
}

impl Routes {
    pub(crate) fn new(config: &Config, memo: Memo, near: reqwest::Client) -> Result<Self, Failed> {
        let far = reqwest::Client::builder()
            .connect_timeout(CONNECT_MAX)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| {
                let mut fault = fault(FaultCode::Internal, []);
                fault.trace.push(error.to_string());
                fault
            })?;
        Ok(Self {
            catalog: config.catalog,
            environment: config.environment.clone(),
            keyring: config.keyring.clone(),
            memo,
            near,
            far,
        })
    }

    pub(crate) async fn list(&self) -> Result<Providers, Failed> {
        let kept = self.memo.providers().await?;
        let mut entries = Vec::new();
        for provider in self.all(&kept) {
            let (key, variable) = self.key_of(&provider).await;
            let chosen = kept.models.get(&provider.id).map_or(&[][..], Vec::as_slice);
            entries.push(ProviderEntry {
                models: chosen.iter().map(|model| cloud_model(&provider, model)).collect(),
                custom: self.catalog.provider(&provider.id).is_none(),
                protocol: told_protocol(provider.protocol),
                own_server: provider.own_server,
                key_optional: provider.key.optional,
                key: key.map_or(KeyFrom::Nowhere, |(_, from)| from),
                key_variable: variable,
                id: provider.id,
                name: provider.name,
                base_url: provider.base_url,
            });
        }
        Ok(Providers {
            providers: entries,
            keys_in: match self.keyring.place().await {
                Kept::System => KeyPlace::Keyring,
                Kept::Memory => KeyPlace::Memory,
            },
        })
    }

    pub(crate) async fn set_key(&self, id: &str, key: &str) -> Result<(), Failed> {
        let provider = self.find(id).await?;
        if key.is_empty() {
            self.keyring.remove(&provider.id).await;
        } else if key.len() > KEY_BYTES_MAX || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("key").into());
        } else {
            self.keyring.set(&provider.id, key).await;
        }
        Ok(())
    }

    /// Adds an endpoint, or moves a server of the person's own.
    pub(crate) async fn save(&self, call: SaveProvider) -> Result<(), Failed> {
        let base_url = address(&call.base_url)?;
        let name: String = call.name.trim().chars().take(NAME_CHARS_MAX).collect();
        if name.is_empty() {
            return Err(bad("name").into());
        }
        let mut kept = self.memo.providers().await?;
        let id = match call.id {
            Some(id) => {
                let known = self.find(&id).await?;
                // The address of a cloud is not the person's to change: its key would go elsewhere.
                if !known.own_server && self.catalog.provider(&id).is_some() {
                    return Err(bad("provider").into());
                }
                id
            }
            None => free_id(&kept),
        };
        kept.own.retain(|own| own.id != id);
        kept.own.push(OwnProvider {
            id,
            name,
            base_url,
            protocol: call.protocol,
        });
        Ok(self.memo.keep_providers(&kept).await?)
    }

    pub(crate) async fn remove(&self, id: &str) -> Result<(), Failed> {
        let mut kept = self.memo.providers().await?;
        kept.own.retain(|own| own.id != id);
        kept.models.remove(id);
        self.memo.keep_providers(&kept).await?;
        self.keyring.remove(id).await;
        Ok(())
    }

    pub(crate) async fn choose(&self, id: &str, models: Vec<String>) -> Result<(), Failed> {
        let provider = self.find(id).await?;
        let mut kept = self.memo.providers().await?;
        let mut seen = BTreeSet::new();
        let models: Vec<String> = models
            .into_iter()
            .map(|model| model.trim().to_owned())
            .filter(|model| !model.is_empty() && seen.insert(model.clone()))
            .collect();
        kept.models.insert(provider.id, models);
        Ok(self.memo.keep_providers(&kept).await?)
    }

    /// Asks the provider itself.
    pub(crate) async fn models(&self, id: &str) -> Result<Vec<String>, Failed> {
        let provider = self.find(id).await?;
        let route = self.route_to(&provider, "").await?;
        let client = self.client(&provider.base_url);
        Ok(list_models(client, &route).await?)
    }

    pub(crate) async fn route(&self, name: CloudName<'_>) -> Result<(Provider, Route), Failed> {
        let provider = self.find(name.provider).await?;
        let (key, _) = self.key_of(&provider).await;
        let route = Route::new(&provider, name.model, key.map(|(key, _)| key));
        Ok((provider, route))
    }

    pub(crate) async fn ready(&self, name: CloudName<'_>) -> Result<ReadyModel, Failed> {
        let provider = self.find(name.provider).await?;
        let route = self.route_to(&provider, name.model).await?;
        Ok(ReadyModel {
            slot: None,
            id: format!("@{}/{}", name.provider, name.model),
            http: self.client(&provider.base_url).clone(),
            by: provider.id.clone(),
            name: name.model.to_owned(),
            window: provider.model(name.model).and_then(|model| model.context),
            sampling: Sampling::default(),
            patience: Patience::CLOUD,
            route,
        })
    }

    /// Refused without the key that it needs: the provider would only say the same.
    async fn route_to(&self, provider: &Provider, model: &str) -> Result<Route, Failed> {
        let (key, _) = self.key_of(provider).await;
        if key.is_none() && !provider.key.optional {
            return Err(fault(FaultCode::RouteKey, [("provider", provider.name.as_str().into())]).into());
        }
        Ok(Route::new(provider, model, key.map(|(key, _)| key)))
    }

    async fn find(&self, id: &str) -> Result<Provider, Failed> {
        let kept = self.memo.providers().await?;
        let found = self.all(&kept).into_iter().find(|provider| provider.id == id);
        found.ok_or_else(|| fault(FaultCode::NotFound, [("provider", id.into())]).into())
    }

    /// Those of the catalog with the person's addresses, then the person's own.
    fn all(&self, kept: &KeptProviders) -> Vec<Provider> {
        let own = |id: &str| kept.own.iter().find(|own| own.id == id);
        let mut all: Vec<Provider> = self
            .catalog
            .providers
            .iter()
            // A form for the person's own, and the two other doors of one server.
            .filter(|provider| {
                !["custom", "llama-server-responses", "llama-server-messages"].contains(&provider.id.as_str())
            })
            .cloned()
            .map(|mut provider| {
                if let Some(own) = own(&provider.id) {
                    provider.base_url.clone_from(&own.base_url);
                }
                provider
            })
            .collect();
        for own in &kept.own {
            if self.catalog.provider(&own.id).is_none() {
                all.extend(self.own_provider(own));
            }
        }
        all
    }

    fn own_provider(&self, own: &OwnProvider) -> Option<Provider> {
        let form = match own.protocol {
            ProviderProtocol::OpenaiChat => "custom",
            ProviderProtocol::OpenaiResponses => "llama-server-responses",
            ProviderProtocol::AnthropicMessages => "llama-server-messages",
        };
        let mut provider = self.catalog.provider(form)?.clone();
        provider.id.clone_from(&own.id);
        provider.name.clone_from(&own.name);
        provider.base_url.clone_from(&own.base_url);
        provider.key.environment.clear();
        provider.own_server = Url::parse(&own.base_url).is_ok_and(|url| is_near(&url));
        Some(provider)
    }

    /// The key and where it comes from; and the variable that it is, or could be, read from.
    async fn key_of(&self, provider: &Provider) -> (Option<(String, KeyFrom)>, Option<String>) {
        let variables = &provider.key.environment;
        if let Some((key, kept)) = self.keyring.get(&provider.id).await {
            let from = match kept {
                Kept::System => KeyFrom::Keyring,
                Kept::Memory => KeyFrom::Memory,
            };
            return (Some((key, from)), variables.first().cloned());
        }
        let found = variables.iter().find_map(|name| {
            let key = self.environment.filled(name)?;
            Some((name.clone(), key.trim().to_owned()))
        });
        match found {
            Some((name, key)) => (Some((key, KeyFrom::Environment)), Some(name)),
            None => (None, variables.first().cloned()),
        }
    }

    fn client(&self, base_url: &str) -> &reqwest::Client {
        let loopback = Url::parse(base_url).is_ok_and(|url| is_loopback(&url));
        if loopback { &self.near } else { &self.far }
    }
}

fn cloud_model(provider: &Provider, model: &str) -> CloudModel {
    let Dialect { images, tools, .. } = provider.dialect_of(model);
    let known = provider.model(model);
    let per_million = |price: PicoDollars| price.times(Tokens(1_000_000)).map(PicoDollars::dollars);
    CloudModel {
        id: format!("@{}/{model}", provider.id),
        name: model.to_owned(),
        context: known.and_then(|model| model.context).map(|tokens| tokens.0),
        images,
        tools,
        prices: known.and_then(|model| model.prices.as_ref()).and_then(|prices| {
            Some(TokenPrices {
                input: per_million(prices.input)?,
                cached: prices.cached.and_then(per_million),
                output: per_million(prices.output)?,
                checked: prices.checked.clone(),
                source: prices.source.clone(),
            })
        }),
    }
}

fn told_protocol(protocol: Protocol) -> ProviderProtocol {
    match protocol {
        Protocol::OpenaiChat => ProviderProtocol::OpenaiChat,
        Protocol::OpenaiResponses => ProviderProtocol::OpenaiResponses,
        Protocol::AnthropicMessages => ProviderProtocol::AnthropicMessages,
    }
}

fn free_id(kept: &KeptProviders) -> String {
    let taken = |id: &String| kept.own.iter().any(|own| own.id == *id);
    // One number more than there are ids is always free.
    (1..=kept.own.len() + 1)
        .map(|n| format!("own-{n}"))
        .find(|id| !taken(id))
        .unwrap_or_default()
}

/// An address that a key may be sent to: over https, or in plain text within the person's own four walls.
fn address(text: &str) -> Result<String, Fault> {
    let text = text.trim().trim_end_matches('/');
    let url = Url::parse(text).map_err(|_| bad("address"))?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let allowed = match url.scheme() {
        "https" => url.has_host(),
        "http" => is_near(&url),
        _ => false,
    };
    if plain && allowed {
        Ok(text.to_owned())
    } else {
        Err(bad("address"))
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// On this machine or in the person's own network.
fn is_near(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            // A parsed URL's name is in lower case.
            let end = name.rsplit_once('.').map(|(_, end)| end);
            matches!(end, None | Some("local" | "lan"))
        }
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_private() || address.is_link_local(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unique_local(),
        None => false,
    }
}

fn bad(what: &str) -> Fault {
    fault(FaultCode::BadRequest, [("what", what.into())])
}

#[cfg(test)]
mod tests {
    use super::{CloudName, address};

    #[test]
    fn a_cloud_name_is_told_from_a_model_on_disk() {
        let name = CloudName::read("@openrouter/openai/gpt-oss-20b:free").unwrap();
        assert_eq!(
            (name.provider, name.model),
            ("openrouter", "openai/gpt-oss-20b:free")
        );
        for other in ["smollm2-135m:Q4_1", "openai/gpt", "@openai", "@/x", "@openai/"] {
            assert_eq!(CloudName::read(other), None, "{other}");
        }
    }

    #[test]
    fn a_key_goes_over_https_or_stays_near() {
        for good in [
            "https://api.example.com/v1/",
            "http://localhost:8000/v1",
            "http://192.168.1.7:8000/v1",
            "http://box.local/v1",
            "http://[::1]:8080/v1",
        ] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in [
            "http://api.example.com/v1",
            "ftp://x/",
            "https://user:secret@example.com/v1",
            "https://example.com/v1?key=x",
            "example.com",
            "http://8.8.8.8/v1",
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
        assert_eq!(address(" https://x.org/v1/ ").unwrap(), "https://x.org/v1");
    }
}
