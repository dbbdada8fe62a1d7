//! An app in a folder of its own, and its replies with everything that differs between two runs taken out.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_app::{App, Config, Hearing};
use plimsoll_os::Environment;
use plimsoll_wire::{Event, Fault};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Place {
    pub(crate) app: Arc<App>,
    folder: TempDir,
    environment: Environment,
}

impl Place {
    /// Without a hub: nothing here reaches the network.
    pub(crate) async fn offline() -> Self {
        Self::start(&[("HF_HUB_OFFLINE", "1")]).await
    }

    pub(crate) async fn with_hub(endpoint: &str) -> Self {
        Self::start(&[("HF_ENDPOINT", endpoint)]).await
    }

    pub(crate) async fn with(more: &[(&str, &str)]) -> Self {
        Self::start(more).await
    }

    async fn start(more: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let mut pairs = vec![
            ("PLIMSOLL_HOME".to_owned(), at("home")),
            ("HF_HUB_CACHE".to_owned(), at("hub")),
            ("HOME".to_owned(), at("person")),
        ];
        pairs.extend(
            more.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let environment = Environment::from_pairs(pairs);
        let app = App::start(Config::from(&environment).unwrap()).await.unwrap();
        Self {
            app,
            folder,
            environment,
        }
    }

    /// Ends the app and starts another on the same home.
    pub(crate) async fn restart(&mut self) {
        self.app.end().await;
        self.app = App::start(Config::from(&self.environment).unwrap())
            .await
            .unwrap();
    }

    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.folder.path().join(name);
        plimsoll_os::files::replace(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A file in folders that need not be there.
    pub(crate) fn deep_file(&self, path: &str, bytes: &[u8]) -> String {
        let at = self.folder.path().join(path);
        plimsoll_os::files::create_dir(at.parent().unwrap()).unwrap();
        self.file(path, bytes)
    }

    pub(crate) async fn call(&self, name: &str, body: Value) -> Value {
        self.app
            .call(name, body)
            .await
            .unwrap_or_else(|fault| panic!("{name}: {fault:?}"))
    }

    pub(crate) async fn fault(&self, name: &str, body: Value) -> Fault {
        self.app.call(name, body).await.expect_err("a fault")
    }

    /// The reply without what differs from run to run and from machine to machine.
    pub(crate) async fn shown(&self, name: &str, body: Value) -> String {
        let mut reply = self.call(name, body).await;
        self.settle(&mut reply);
        serde_json::to_string_pretty(&reply).unwrap()
    }

    /// The fault as the page would get it.
    pub(crate) async fn shown_fault(&self, name: &str, body: Value) -> String {
        let mut fault = serde_json::to_value(self.fault(name, body).await).unwrap();
        fault.as_object_mut().unwrap().remove("trace");
        self.settle(&mut fault);
        fault.to_string()
    }

    fn settle(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match (name.as_str(), &value) {
                        ("id" | "turn" | "conversation" | "running" | "parent", Value::String(id))
                            if is_uuid(id) =>
                        {
                            *value = json!("<id>");
                        }
                        (name, Value::Number(_)) if name.ends_with("At") => *value = json!("<time>"),
                        ("freeBytes" | "free", Value::Number(_)) => *value = json!("<bytes>"),
                        ("version", _) => *value = json!("<version>"),
                        ("plan", _) => *value = json!("<plan>"),
                        _ => self.settle(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.settle(item)),
            Value::String(text) => {
                *text = text.replace(self.folder.path().to_str().unwrap(), "<place>");
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4
}

pub(crate) async fn next(heard: &mut Hearing) -> Event {
    let waiting = tokio::time::timeout(Duration::from_secs(30), heard.next());
    waiting.await.expect("something happens").expect("the app lives")
}

/// Waits for the event that `wanted` finds something in.
pub(crate) async fn until<T>(heard: &mut Hearing, wanted: impl Fn(Event) -> Option<T>) -> T {
    loop {
        if let Some(found) = wanted(next(heard).await) {
            return found;
        }
    }
}
