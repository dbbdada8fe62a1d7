//! What the app itself remembers between runs, beside conversations: each under one name in the store.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_hardware::Overrides;
use plimsoll_store::{Store, StoreError};
use plimsoll_wire::{ChatSettings, Settings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::models::KnownHashes;
use crate::moving::MovePlan;
use crate::routes::KeptProviders;

const SETTINGS: &str = "settings";
const BANDWIDTH: &str = "memo.bandwidth";
const MACHINE: &str = "machine.overrides";
const LAST_MODEL: &str = "memo.lastModel";
const SET_UP: &str = "memo.setUp";
const DAMAGED: &str = "memo.damagedModels";
const PROVIDERS: &str = "providers";
const MODEL_SETTINGS: &str = "memo.modelSettings";
const LICENCES: &str = "memo.licencesAccepted";
const MODEL_FOLDERS: &str = "memo.modelFolders";
const HASHES: &str = "memo.hashes";
const LIBRARY: &str = "memo.libraryFolder";
const MOVE: &str = "memo.libraryMove";
const IGNORED_SERVERS: &str = "memo.ignoredServers";

/// The measured memory bandwidth of the machine that is named. Records of before the last three fields were
/// kept whatever else the machine did, so they count as disturbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bandwidth {
    pub(crate) machine: String,
    pub(crate) bytes_per_s: u64,
    /// Nothing else was seen to keep the machine busy.
    #[serde(default)]
    pub(crate) quiet: bool,
    /// Two quiet measurements with time between them agreed.
    #[serde(default)]
    pub(crate) settled: bool,
    #[serde(default)]
    pub(crate) measured_at: i64,
}

impl Bandwidth {
    /// Whatever disturbed one measurement is over by then, as a rule.
    const AGAIN_AFTER_S: i64 = 10 * 60;
    /// Measurements of a quiet machine differ by less.
    const AGREES_PERCENT: u64 = 85;

    /// Whether it is worth measuring again.
    pub(crate) fn is_due(&self, now_s: i64) -> bool {
        // A clock that was set back must not keep a wrong figure for years.
        let age = now_s.saturating_sub(self.measured_at);
        !self.settled && !(0..Self::AGAIN_AFTER_S).contains(&age)
    }

    /// What is believed after this measurement, given the one before. Whatever disturbs makes the figure too
    /// low and nothing makes it too high, so the larger one counts. That the processors were quiet is not
    /// enough to believe the first: the bus of a virtual machine is shared with neighbours it does not see.
    pub(crate) fn after(self, before: Option<&Self>) -> Self {
        let Some(before) = before.filter(|before| before.machine == self.machine) else {
            return self;
        };
        let (low, high) = if self.bytes_per_s < before.bytes_per_s {
            (self.bytes_per_s, before.bytes_per_s)
        } else {
            (before.bytes_per_s, self.bytes_per_s)
        };
        let agree = u128::from(low) * 100 >= u128::from(high) * u128::from(Self::AGREES_PERCENT);
        Self {
            bytes_per_s: high,
            settled: before.settled || (self.quiet && before.quiet && agree),
            ..self
        }
    }
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
            sample_every_ms: change.sample_every_ms.or(old.sample_every_ms),
            titles: change.titles.or(old.titles),
            idle_minutes: change.idle_minutes.or(old.idle_minutes),
            release_on_sleep: change.release_on_sleep.or(old.release_on_sleep),
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

    /// What the person says about the machine.
    pub(crate) async fn machine_overrides(&self) -> Result<Overrides, StoreError> {
        Ok(self.get(MACHINE).await?.unwrap_or_default())
    }

    pub(crate) async fn keep_machine_overrides(&self, overrides: &Overrides) -> Result<(), StoreError> {
        self.set(MACHINE, overrides).await
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

    /// What the person changed about providers.
    pub(crate) async fn providers(&self) -> Result<KeptProviders, StoreError> {
        Ok(self.get(PROVIDERS).await?.unwrap_or_default())
    }

    pub(crate) async fn keep_providers(&self, kept: &KeptProviders) -> Result<(), StoreError> {
        self.set(PROVIDERS, kept).await
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

    /// How a model is asked in every conversation that says nothing else.
    pub(crate) async fn model_settings(&self, model: &str) -> Result<ChatSettings, StoreError> {
        let all: Option<BTreeMap<String, ChatSettings>> = self.get(MODEL_SETTINGS).await?;
        Ok(all.and_then(|mut all| all.remove(model)).unwrap_or_default())
    }

    pub(crate) async fn keep_model_settings(
        &self,
        model: &str,
        settings: ChatSettings,
    ) -> Result<(), StoreError> {
        let all: Option<BTreeMap<String, ChatSettings>> = self.get(MODEL_SETTINGS).await?;
        let mut all = all.unwrap_or_default();
        if settings == ChatSettings::default() {
            all.remove(model);
        } else {
            all.insert(model.to_owned(), settings);
        }
        self.set(MODEL_SETTINGS, &all).await
    }

    /// Folders whose models are listed beside the library's, in the order they were named.
    pub(crate) async fn model_folders(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.get(MODEL_FOLDERS).await?.unwrap_or_default())
    }

    pub(crate) async fn change_model_folders(
        &self,
        change: impl FnOnce(&mut Vec<String>),
    ) -> Result<(), StoreError> {
        let mut all = self.model_folders().await?;
        change(&mut all);
        self.set(MODEL_FOLDERS, &all).await
    }

    /// The library's folder where one was chosen.
    pub(crate) async fn library_folder(&self) -> Result<Option<String>, StoreError> {
        Ok(self.get::<Option<String>>(LIBRARY).await?.flatten())
    }

    /// `None`: the usual one.
    pub(crate) async fn keep_library_folder(&self, folder: Option<&str>) -> Result<(), StoreError> {
        self.set(LIBRARY, &folder).await
    }

    /// The move of the library that is not finished.
    pub(crate) async fn library_move(&self) -> Result<Option<MovePlan>, StoreError> {
        Ok(self.get::<Option<MovePlan>>(MOVE).await?.flatten())
    }

    pub(crate) async fn keep_library_move(&self, plan: Option<&MovePlan>) -> Result<(), StoreError> {
        self.set(MOVE, &plan).await
    }

    /// Servers of other programs that the person does not want to hear of.
    pub(crate) async fn ignored_servers(&self) -> Result<BTreeSet<String>, StoreError> {
        Ok(self.get(IGNORED_SERVERS).await?.unwrap_or_default())
    }

    pub(crate) async fn keep_ignored_servers(&self, ignored: &BTreeSet<String>) -> Result<(), StoreError> {
        self.set(IGNORED_SERVERS, ignored).await
    }

    /// Hashes of files outside the library, which took minutes to make.
    pub(crate) async fn hashes(&self) -> Result<KnownHashes, StoreError> {
        Ok(self.get(HASHES).await?.unwrap_or_default())
    }

    pub(crate) async fn change_hashes(
        &self,
        change: impl FnOnce(&mut KnownHashes),
    ) -> Result<(), StoreError> {
        let mut all = self.hashes().await?;
        change(&mut all);
        self.set(HASHES, &all).await
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

    use super::{Bandwidth, Memo};

    fn measured(gb_per_s: u64, quiet: bool, at: i64) -> Bandwidth {
        Bandwidth {
            machine: "one".into(),
            bytes_per_s: gb_per_s * 1_000_000_000,
            quiet,
            settled: false,
            measured_at: at,
        }
    }

    #[test]
    fn a_bandwidth_of_a_busy_moment_is_measured_again_and_does_not_stay() {
        let busy = measured(5, false, 1_000);
        assert!(!busy.is_due(1_030), "used for what was asked just now");
        assert!(
            busy.is_due(1_600) && busy.is_due(10),
            "also after the clock was set back"
        );
        let first = measured(20, true, 1_600).after(Some(&busy));
        assert_eq!((first.bytes_per_s, first.settled), (20_000_000_000, false));
        // A neighbour that nobody sees: quiet, and yet too low.
        let low = measured(9, true, 3_000).after(Some(&first));
        assert_eq!((low.bytes_per_s, low.settled), (20_000_000_000, false));
        let settled = measured(19, true, 5_000).after(Some(&low));
        assert_eq!((settled.bytes_per_s, settled.settled), (20_000_000_000, true));
        assert!(!settled.is_due(9_999_999));
        let elsewhere = Bandwidth {
            machine: "two".into(),
            ..measured(7, true, 6_000)
        };
        assert_eq!(elsewhere.clone().after(Some(&settled)), elsewhere);
    }

    #[test]
    fn a_bandwidth_that_an_older_version_kept_is_not_believed_for_ever() {
        let old: Bandwidth = serde_json::from_str(r#"{"machine":"one","bytesPerS":4600000000}"#).unwrap();
        assert!(old.is_due(1_800_000_000));
        assert!(!measured(20, true, 1).after(Some(&old)).settled);
    }

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
