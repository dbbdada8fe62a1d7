//! A home of its own for every test, with the real engine added and real models imported.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_app::{App, Config, Hearing, Stay};
use plimsoll_catalog::Catalog;
use plimsoll_os::Environment;
use plimsoll_testkit::real;
use plimsoll_wire::{
    AddEngine, ChatEnd, CreateConversation, Event, Fault, ImportModel, LibraryModel, LoadedModel,
    ModelStatus, ReadRouter, Router, StartTurn, StopTurn, TurnStats,
};
use tempfile::TempDir;

pub(crate) const SMOLLM2: &str = "smollm2-135m-instruct:Q4_1";
pub(crate) const QWEN: &str = "qwen2.5-coder-0.5b-instruct:Q4_K_M";

/// Longer than anything here takes on a slow machine; a test that waits this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// Of an answer that is waited for.
const ANSWER_CHARS: usize = 600;

pub(crate) struct Room {
    pub(crate) app: Arc<App>,
    home: Arc<TempDir>,
}

impl Room {
    pub(crate) async fn empty() -> Self {
        let home = Arc::new(tempfile::tempdir().unwrap());
        Self {
            app: start(home.path(), ("HF_HUB_OFFLINE", "1"), None).await,
            home,
        }
    }

    /// With a hub and a catalog of its own, and nothing on disk.
    pub(crate) async fn with_hub(endpoint: &str, catalog: &'static Catalog) -> Self {
        let home = Arc::new(tempfile::tempdir().unwrap());
        Self {
            app: start(home.path(), ("HF_ENDPOINT", endpoint), Some(catalog)).await,
            home,
        }
    }

    /// With a hub that lists releases of engines besides, in a home of somebody whose name is not ASCII.
    pub(crate) async fn with_releases(endpoint: &str, releases: &str, catalog: &'static Catalog) -> Self {
        let home = tempfile::Builder::new().prefix("Jürgen 静香 ").tempdir();
        let home = Arc::new(home.unwrap());
        let pairs = [("HF_ENDPOINT", endpoint), ("PLIMSOLL_ENGINE_RELEASES", releases)];
        Self {
            app: start_with(home.path(), &pairs, Some(catalog)).await,
            home,
        }
    }

    /// Ends the app and starts another on the same home.
    pub(crate) async fn restart_with_hub(&mut self, endpoint: &str, catalog: &'static Catalog) {
        self.app.end().await;
        self.app = start(self.home.path(), ("HF_ENDPOINT", endpoint), Some(catalog)).await;
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// With the engine in use and `SmolLM2` in the library.
    pub(crate) async fn with_engine() -> Self {
        let room = Self::empty().await;
        room.add_engine().await;
        room.import(real::SMOLLM2).await;
        room
    }

    /// Another process of ours would see the same: a second app on the same home.
    pub(crate) async fn beside(&self) -> Self {
        Self {
            app: start(self.home.path(), ("HF_HUB_OFFLINE", "1"), None).await,
            home: Arc::clone(&self.home),
        }
    }

    pub(crate) async fn add_engine(&self) {
        let path = real::engine_dir().to_str().unwrap().to_owned();
        let engines = self.app.ask(AddEngine { path }).await.unwrap().engines;
        assert!(
            engines
                .iter()
                .any(|engine| engine.in_use && engine.fault.is_none()),
            "{engines:?}"
        );
    }

    pub(crate) async fn import(&self, file: &str) -> LibraryModel {
        let path = real::model(file).to_str().unwrap().to_owned();
        self.app.ask(ImportModel { path }).await.unwrap()
    }

    pub(crate) async fn conversation(&self, model: &str) -> String {
        let call = CreateConversation {
            model: Some(model.to_owned()),
            settings: None,
        };
        self.app.ask(call).await.unwrap().summary.id
    }

    /// Asks and listens until the answer has ended.
    pub(crate) async fn say(&self, conversation: &str, text: &str) -> Answer {
        let mut heard = self.app.hear();
        let turn = self.start_turn(conversation, text).await.unwrap();
        let mut answer = Answer::default();
        let mut long = false;
        while answer.end.is_none() {
            answer.hear(&turn, next(&mut heard).await);
            if answer.text.len() > ANSWER_CHARS && !long {
                // A model as small as these may never come to an end by itself.
                long = true;
                let conversation = conversation.to_owned();
                self.app.ask(StopTurn { conversation }).await.unwrap();
            }
        }
        answer
    }

    pub(crate) async fn start_turn(&self, conversation: &str, text: &str) -> Result<String, Fault> {
        let call = StartTurn {
            conversation: conversation.to_owned(),
            text: text.to_owned(),
            model: None,
            instead: None,
        };
        Ok(self.app.ask(call).await?.id)
    }

    pub(crate) async fn router(&self) -> Router {
        self.app.ask(ReadRouter {}).await.unwrap()
    }

    /// The model as the router shows it now.
    pub(crate) async fn loaded(&self, id: &str) -> Option<LoadedModel> {
        match self.router().await {
            Router::Ready { models, .. } => models.into_iter().find(|model| model.id == id),
            Router::Off | Router::Starting | Router::Waiting { .. } | Router::Failed { .. } => None,
        }
    }

    pub(crate) async fn is_ready(&self, id: &str) -> bool {
        self.loaded(id)
            .await
            .is_some_and(|model| model.status == ModelStatus::Ready)
    }

    /// What the router itself says of the model's slots.
    pub(crate) async fn busy_slots(&self, id: &str) -> usize {
        let target = self.app.router_target(id, Stay::Usual).await.unwrap();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let asked = client
            .get(format!("{}/slots", target.url))
            .bearer_auth(&target.key);
        let slots: serde_json::Value = asked
            .query(&[("model", &target.model)])
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        slots
            .as_array()
            .unwrap()
            .iter()
            .filter(|slot| slot["is_processing"] == true)
            .count()
    }
}

async fn start(home: &Path, hub: (&str, &str), catalog: Option<&'static Catalog>) -> Arc<App> {
    start_with(home, &[hub], catalog).await
}

async fn start_with(home: &Path, told: &[(&str, &str)], catalog: Option<&'static Catalog>) -> Arc<App> {
    let at = |name: &str| home.join(name).to_str().unwrap().to_owned();
    let path = std::env::split_paths("/usr/bin:/bin").next().unwrap();
    let places = [
        ("PLIMSOLL_HOME", at("home")),
        ("HF_HUB_CACHE", at("hub")),
        ("HOME", at("person")),
        ("PATH", path.to_str().unwrap().to_owned()),
    ];
    let told = told.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let environment = Environment::from_pairs(places.into_iter().chain(told));
    let mut config = Config::from(&environment).unwrap();
    if let Some(catalog) = catalog {
        config = config.with_catalog(catalog);
    }
    App::start(config).await.unwrap()
}

/// An answer as a page would have seen it.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) read: Vec<(u32, u32)>,
    pub(crate) end: Option<ChatEnd>,
    pub(crate) stats: Option<TurnStats>,
    pub(crate) fault: Option<Fault>,
}

impl Answer {
    fn hear(&mut self, turn: &str, event: Event) {
        match event {
            Event::TextAdded { turn: of, text, .. } if of == turn => self.text += &text,
            Event::PromptRead {
                turn: of,
                done,
                total,
                ..
            } if of == turn => self.read.push((done, total)),
            Event::TurnEnded {
                turn: of,
                end,
                stats,
                fault,
                ..
            } if of == turn => {
                (self.end, self.stats, self.fault) = (Some(end), stats, fault);
            }
            _ => {}
        }
    }

    /// It was answered, to the end or as far as was waited for.
    pub(crate) fn went_well(&self) -> bool {
        self.fault.is_none()
            && !self.text.is_empty()
            && matches!(self.end, Some(ChatEnd::Complete | ChatEnd::Stopped))
    }
}

pub(crate) async fn next(heard: &mut Hearing) -> Event {
    tokio::time::timeout(PATIENCE, heard.next())
        .await
        .expect("something happens")
        .expect("the app lives")
}
