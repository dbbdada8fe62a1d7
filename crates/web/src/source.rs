//! What the two hosts need from the program, as small as it is, so that tests can script it.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use plimsoll_app::{App, Stay};
use plimsoll_wire::{Event, Fault, FaultCode, Fix, LibraryState, ListModels, Params, ReadSettings};
use serde_json::Value;

/// One door in and one stream out: what a page needs.
pub trait Calls: Send + Sync + 'static {
    fn call(&self, name: String, body: Value) -> BoxFuture<'static, Result<Value, Fault>>;
    fn hear(&self) -> BoxStream<'static, Event>;
}

/// A model that other apps may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Stable; what a request names.
    pub id: String,
    pub name: String,
}

/// Where a request for a loaded model goes.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// `http://127.0.0.1:PORT`, without a path.
    pub url: String,
    /// The router's own key. Never leaves this process except to the router.
    pub key: String,
    /// The router's name for the model.
    pub model: String,
    /// The slot that is for other programs, where conversations must be kept from being read anew.
    pub slot: Option<u32>,
}

/// While it lives, a request is shown as under way.
pub type Seen = Box<dyn Any + Send + Sync>;

/// What the front needs.
pub trait Routes: Send + Sync + 'static {
    /// The key that other apps must show.
    fn key(&self) -> String;
    fn models(&self) -> BoxFuture<'static, Result<Vec<Model>, Fault>>;
    /// Makes the model ready, which may take minutes, and says where it answers. `after`: how long it stays in
    /// memory when nobody uses it afterwards.
    fn target(&self, model: String, after: Stay) -> BoxFuture<'static, Result<Target, Fault>>;
    /// Something went wrong while the model was asked. Whether it did not answer a probe either, and the next
    /// [`Self::target`] loads it again.
    fn doubt(&self, model: String) -> BoxFuture<'static, bool>;
    /// A request for a model, by the name that it was given: shown to the person until this is dropped.
    fn under_way(&self, model: &str) -> Seen;
    /// Told when the front starts to listen (an address that ends in `/v1`) and when it stops.
    fn listening(&self, url: Option<String>);
}

/// The whole program behind both traits.
pub(crate) struct Behind(pub(crate) Arc<App>);

impl Calls for Behind {
    fn call(&self, name: String, body: Value) -> BoxFuture<'static, Result<Value, Fault>> {
        let app = Arc::clone(&self.0);
        Box::pin(async move { app.call(&name, body).await })
    }

    fn hear(&self) -> BoxStream<'static, Event> {
        Box::pin(self.0.hear())
    }
}

impl Routes for Behind {
    fn key(&self) -> String {
        self.0.endpoint_key().to_owned()
    }

    fn models(&self) -> BoxFuture<'static, Result<Vec<Model>, Fault>> {
        let app = Arc::clone(&self.0);
        Box::pin(async move {
            if app.ask(ReadSettings {}).await?.endpoint == Some(false) {
                return Err(switched_off());
            }
            let library = app.ask(ListModels {}).await?;
            let ready = library
                .models
                .into_iter()
                .filter(|model| model.state == LibraryState::Ready);
            Ok(ready
                .map(|model| Model {
                    id: model.id,
                    name: model.name,
                })
                .collect())
        })
    }

    fn target(&self, model: String, after: Stay) -> BoxFuture<'static, Result<Target, Fault>> {
        let app = Arc::clone(&self.0);
        Box::pin(async move {
            let target = app.router_target(&model, after).await?;
            Ok(Target {
                url: target.url,
                key: target.key,
                model: target.model,
                slot: target.slot,
            })
        })
    }

    fn under_way(&self, model: &str) -> Seen {
        Box::new(self.0.request_from_outside(model))
    }

    fn doubt(&self, model: String) -> BoxFuture<'static, bool> {
        let app = Arc::clone(&self.0);
        Box::pin(async move { app.doubt_model(&model).await })
    }

    fn listening(&self, url: Option<String>) {
        self.0.set_endpoint(url);
    }
}

/// The same word that the app has for a request while the endpoint is switched off.
fn switched_off() -> Fault {
    Fault {
        code: FaultCode::NotAllowed,
        params: Params::new(),
        trace: Vec::new(),
        fixes: vec![Fix::Retry],
    }
}
