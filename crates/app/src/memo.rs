//! What the app itself remembers between runs, beside conversations: each under one name in the store.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_store::{Store, StoreError};
use plimsoll_wire::Settings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const SETTINGS: &str = "settings";
const BANDWIDTH: &str = "memo.bandwidth";
const LAST_MODEL: &str = "memo.lastModel";
const SET_UP: &str = "memo.setUp";
const DAMAGED: &str = "memo.damagedModels";
const LICENCES: &str = "memo.licencesAccepted";

/// The measured memory bandwidth of the machine that is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bandwidth {
    pub(crate) machine: String,
    pub(crate) bytes_per_s: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Memo(Store);

impl Memo {
    pub(crate) fn new(store: Store) -> Self {
        Self(store)
    }

    pub(crate) async fn settings(&self) -> Result<Settings, StoreError> {
        Ok(self.get(SETTINGS).await?.unwrap_or_default())
    }

    /// What is missing in `change` stays as it is.
    pub(crate) async fn change_settings(&self, change: Settings) -> Result<Settings, StoreError> {
        let old = self.settings().await?;
        let new = Settings {
            theme: change.theme.or(old.theme),
            language: change.language.or(old.language),
            density: change.density.or(old.density),
            status_bar: change.status_bar.or(old.status_bar),
            default_model: change.default_model.or(old.default_model),
            endpoint: change.endpoint.or(old.endpoint),
        };
        self.set(SETTINGS, &new).await?;
        Ok(new)
    }

    pub(crate) async fn bandwidth(&self) -> Result<Option<Bandwidth>, StoreError> {
        self.get(BANDWIDTH).await
    }

    pub(crate) async fn keep_bandwidth(&self, bandwidth: &Bandwidth) -> Result<(), StoreError> {
        self.set(BANDWIDTH, bandwidth).await
    }

    /// The model that was used last.
    pub(crate) async fn last_model(&self) -> Result<Option<String>, StoreError> {
        self.get(LAST_MODEL).await
    }

    pub(crate) async fn keep_last_model(&self, id: &str) -> Result<(), StoreError> {
        // Each turn says it, and a write would have each turn wait for the disk.
        if self.last_model().await?.as_deref() == Some(id) {
            return Ok(());
        }
        self.set(LAST_MODEL, &id).await
    }

    /// A model has answered here once.
    pub(crate) async fn is_set_up(&self) -> Result<bool, StoreError> {
        Ok(self.get(SET_UP).await?.unwrap_or_default())
    }

    pub(crate) async fn keep_set_up(&self) -> Result<(), StoreError> {
        self.set(SET_UP, &true).await
    }

    /// The licences, by name, that the person agreed to.
    pub(crate) async fn licences(&self) -> Result<BTreeSet<String>, StoreError> {
        Ok(self.get(LICENCES).await?.unwrap_or_default())
    }

    pub(crate) async fn accept_licence(&self, name: &str) -> Result<(), StoreError> {
        let mut all = self.licences().await?;
        if all.insert(name.to_owned()) {
            self.set(LICENCES, &all).await?;
        }
        Ok(())
    }

    /// The models whose bytes were found to be wrong.
    pub(crate) async fn damaged(&self) -> Result<BTreeSet<String>, StoreError> {
        Ok(self.get(DAMAGED).await?.unwrap_or_default())
    }

    pub(crate) async fn set_damaged(&self, id: &str, damaged: bool) -> Result<(), StoreError> {
        let mut all = self.damaged().await?;
        let changed = if damaged {
            all.insert(id.to_owned())
        } else {
            all.remove(id)
        };
        if changed {
            self.set(DAMAGED, &all).await
        } else {
            Ok(())
        }
    }

    /// A value that this version cannot read counts as never set.
    async fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let value = self.0.setting(name).await?;
        Ok(value.and_then(|value| serde_json::from_value(value).ok()))
    }

    async fn set(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        // Plain structs and words always have a JSON form.
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.0
            .change_settings(BTreeMap::from([(name.to_owned(), value)]))
            .await
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_store::Store;
    use plimsoll_wire::Settings;

    use super::Memo;

    #[tokio::test]
    async fn what_is_not_said_stays_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let memo = Memo::new(Store::open(&home.path().join("a.db"), 1).await.unwrap());
        let dark = Settings {
            theme: Some("dark".into()),
            ..Settings::default()
        };
        memo.change_settings(dark).await.unwrap();
        let both = memo
            .change_settings(Settings {
                endpoint: Some(false),
                ..Settings::default()
            })
            .await
            .unwrap();
        assert_eq!(
            (both.theme.as_deref(), both.endpoint),
            (Some("dark"), Some(false))
        );
        assert_eq!(memo.settings().await.unwrap(), both);
    }
}
