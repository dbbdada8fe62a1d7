use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_wire::{Call, Fault, FaultCode};
use serde_json::Value;

use crate::fault::{Failed, fault};

type ByValue<A> = Box<dyn Fn(Arc<A>, Value) -> BoxFuture<'static, Result<Value, Fault>> + Send + Sync>;
type ByType<A, C> =
    Box<dyn Fn(Arc<A>, C) -> BoxFuture<'static, Result<<C as Call>::Reply, Fault>> + Send + Sync>;

struct Entry<A> {
    by_value: ByValue<A>,
    /// A `ByType<A, C>`: hosts in the same process need no detour over JSON.
    by_type: Box<dyn Any + Send + Sync>,
}

/// Every call by its name. A body is a plain async function over the app; hosts only look it up.
pub(crate) struct Table<A> {
    entries: HashMap<&'static str, Entry<A>>,
    /// In order of registration, repeats included, so that a test can object to one.
    names: Vec<&'static str>,
}

impl<A: Send + Sync + 'static> Table<A> {
    pub(crate) fn new() -> Self {
        Self {
            entries: HashMap::new(),
            names: Vec::new(),
        }
    }

    pub(crate) fn on<C, F>(mut self, body: fn(Arc<A>, C) -> F) -> Self
    where
        C: Call,
        F: Future<Output = Result<C::Reply, Failed>> + Send + 'static,
    {
        let by_value: ByValue<A> = Box::new(move |app, raw| {
            async move {
                let call = serde_json::from_value(raw).map_err(|why| bad_request(C::NAME, &why))?;
                let reply = body(app, call).await?;
                serde_json::to_value(reply).map_err(|why| bad_request(C::NAME, &why))
            }
            .boxed()
        });
        let by_type: ByType<A, C> =
            Box::new(move |app, call| body(app, call).map(|reply| reply.map_err(Fault::from)).boxed());
        self.entries.insert(
            C::NAME,
            Entry {
                by_value,
                by_type: Box::new(by_type),
            },
        );
        self.names.push(C::NAME);
        self
    }

    pub(crate) async fn call(&self, app: Arc<A>, name: &str, body: Value) -> Result<Value, Fault> {
        match self.entries.get(name) {
            Some(entry) => (entry.by_value)(app, body).await,
            None => Err(unknown(name)),
        }
    }

    pub(crate) async fn ask<C: Call>(&self, app: Arc<A>, call: C) -> Result<C::Reply, Fault> {
        let entry = self
            .entries
            .get(C::NAME)
            .and_then(|entry| entry.by_type.downcast_ref::<ByType<A, C>>());
        match entry {
            Some(body) => body(app, call).await,
            None => Err(unknown(C::NAME)),
        }
    }

    #[cfg(test)]
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }
}

fn bad_request(call: &str, why: &serde_json::Error) -> Fault {
    let mut fault = fault(FaultCode::BadRequest, [("call", call.into())]);
    fault.trace.push(why.to_string());
    fault
}

fn unknown(call: &str) -> Fault {
    fault(FaultCode::UnknownCall, [("call", call.into())])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_wire::{Done, FaultCode, RemoveModel, Removed, StopSetup};
    use serde_json::json;

    use super::Table;
    use crate::fault::{Failed, fault};

    struct Room;

    async fn stop(_: Arc<Room>, _: StopSetup) -> Result<Done, Failed> {
        Ok(Done {})
    }
    async fn remove(_: Arc<Room>, call: RemoveModel) -> Result<Removed, Failed> {
        if call.id == "none" {
            Err(fault(FaultCode::NotFound, []).into())
        } else {
            Ok(Removed { freed_bytes: 7 })
        }
    }

    #[tokio::test]
    async fn one_body_answers_by_value_and_by_type() {
        let table = Table::new().on(stop).on(remove);
        let room = Arc::new(Room);
        let by_value = table
            .call(Arc::clone(&room), "models/remove", json!({"id": "x"}))
            .await;
        assert_eq!(by_value, Ok(json!({"freedBytes": 7})));
        let by_type = table.ask(Arc::clone(&room), RemoveModel { id: "x".into() }).await;
        assert_eq!(by_type, Ok(Removed { freed_bytes: 7 }));
        let refused = table
            .ask(room, RemoveModel { id: "none".into() })
            .await
            .map_err(|fault| fault.code);
        assert_eq!(refused, Err(FaultCode::NotFound));
    }

    #[tokio::test]
    async fn what_is_not_a_call_is_a_fault() {
        let table = Table::new().on(remove);
        let code = |reply: Result<_, plimsoll_wire::Fault>| reply.map_err(|fault| fault.code);
        let unknown = table.call(Arc::new(Room), "models/eat", json!({})).await;
        assert_eq!(code(unknown), Err(FaultCode::UnknownCall));
        let bad = table
            .call(Arc::new(Room), "models/remove", json!({"id": 3}))
            .await;
        assert_eq!(code(bad), Err(FaultCode::BadRequest));
    }
}
