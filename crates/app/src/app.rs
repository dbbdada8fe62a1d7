use std::sync::Arc;

use plimsoll_wire::{Call, Fault};
use serde_json::Value;

use crate::bus::{Bus, Hearing};
use crate::calls;
use crate::config::Config;
use crate::table::Table;

/// Where a request for a loaded model goes: for our loopback front only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterTarget {
    /// `http://127.0.0.1:PORT`, without a path.
    pub url: String,
    /// For `Authorization: Bearer`. Never shown to anyone.
    pub key: String,
    /// The name that the router knows the model by.
    pub model: String,
}

/// The whole program without a window.
pub struct App {
    config: Config,
    table: Table<App>,
    bus: Bus,
}

impl App {
    /// Opens our data and starts the owners; does not start the engine.
    pub async fn start(config: Config) -> Result<Arc<Self>, Fault> {
        Ok(Arc::new(Self {
            config,
            table: calls::table(),
            bus: Bus::new(),
        }))
    }

    /// One question with one answer, for hosts in the same process.
    pub async fn ask<C: Call>(self: &Arc<Self>, call: C) -> Result<C::Reply, Fault> {
        self.table.ask(Arc::clone(self), call).await
    }

    /// The same question as JSON.
    pub async fn call(self: &Arc<Self>, name: &str, body: Value) -> Result<Value, Fault> {
        self.table.call(Arc::clone(self), name, body).await
    }

    /// What happens from now on.
    pub fn hear(&self) -> Hearing {
        self.bus.hear()
    }

    /// Stops every job, unloads and ends the router if it is ours, and closes our data.
    pub async fn end(&self) {}

    /// Makes the model ready and says where requests for it go.
    pub async fn router_target(self: &Arc<Self>, _model: &str) -> Result<RouterTarget, Fault> {
        Err(crate::fault::fault(plimsoll_wire::FaultCode::NoEngine, []))
    }

    /// The front says where it listens (a URL that ends in `/v1`), or that it no longer does.
    pub fn set_endpoint(&self, _url: Option<String>) {}

    /// The key that outside clients must show to the front. Kept in our home, readable by its owner only.
    pub fn endpoint_key(&self) -> &str {
        ""
    }

    pub fn config(&self) -> &Config {
        &self.config
    }
}
