//! Servers of other programs on this computer: shown with what they hold, used as a route or ignored, never ended.

use std::collections::BTreeSet;
use std::sync::Arc;

use plimsoll_engine::{Other, OtherServer, RouterState, other_servers};
use plimsoll_os::{Environment, process};
use plimsoll_wire::{
    Event, FaultCode, FindServers, ForeignServer, ForeignServers, IgnoreServer, ProviderProtocol,
    SaveProvider, ServerKind, UseServer,
};

use crate::app::App;
use crate::fault::{Failed, fault};

/// Where Ollama's own environment says that it listens.
const OLLAMA_HOST: &str = "OLLAMA_HOST";

pub(super) async fn find_servers(app: Arc<App>, _: FindServers) -> Result<ForeignServers, Failed> {
    found(&app).await
}

/// Its address becomes that of its provider, and its models those that the picker offers.
pub(super) async fn use_server(app: Arc<App>, call: UseServer) -> Result<ForeignServers, Failed> {
    let server = seen(&app)
        .await
        .into_iter()
        .find(|server| id_of(server) == call.id)
        .ok_or_else(|| fault(FaultCode::BadRequest, [("what", "server".into())]))?;
    let (id, name) = provider_of(server.kind);
    app.routes
        .save(SaveProvider {
            id: Some(id.to_owned()),
            name: name.to_owned(),
            base_url: url_of(server.port),
            protocol: ProviderProtocol::OpenaiChat,
        })
        .await?;
    app.routes.choose(id, server.models).await?;
    let mut ignored = app.memo.ignored_servers().await?;
    if ignored.remove(&call.id) {
        app.memo.keep_ignored_servers(&ignored).await?;
    }
    app.bus.tell(Event::SettingsChanged);
    found(&app).await
}

pub(super) async fn ignore_server(app: Arc<App>, call: IgnoreServer) -> Result<ForeignServers, Failed> {
    let mut ignored = app.memo.ignored_servers().await?;
    if call.ignored {
        ignored.insert(call.id);
    } else {
        ignored.remove(&call.id);
    }
    app.memo.keep_ignored_servers(&ignored).await?;
    found(&app).await
}

async fn found(app: &App) -> Result<ForeignServers, Failed> {
    let ignored = app.memo.ignored_servers().await?;
    let providers = app.routes.list().await?.providers;
    let servers = seen(app).await.into_iter().map(|server| {
        let (provider, _) = provider_of(server.kind);
        let url = url_of(server.port);
        let used = providers
            .iter()
            .any(|entry| entry.id == provider && entry.base_url == url && !entry.models.is_empty());
        told(server, used, &ignored)
    });
    Ok(ForeignServers {
        servers: servers.collect(),
    })
}

fn told(server: OtherServer, used: bool, ignored: &BTreeSet<String>) -> ForeignServer {
    let id = id_of(&server);
    ForeignServer {
        kind: match server.kind {
            Other::LlamaServer => ServerKind::LlamaServer,
            Other::Ollama => ServerKind::Ollama,
            Other::LmStudio => ServerKind::LmStudio,
        },
        port: server.port,
        pid: server.pid,
        memory_bytes: server.memory.map(|bytes| bytes.0),
        device_bytes: server.on_devices.map(|bytes| bytes.0),
        models: server.models,
        wants_key: server.wants_key,
        used,
        ignored: ignored.contains(&id),
        id,
    }
}

async fn seen(app: &App) -> Vec<OtherServer> {
    let state = app.router.desk.state();
    let router = match &*state.borrow() {
        RouterState::Ready(ready) => Some(ready.pid),
        RouterState::Off
        | RouterState::Starting
        | RouterState::Waiting { .. }
        | RouterState::Failed { .. } => None,
    };
    let ours: Vec<u32> = router
        .map(|pid| process::descendants(pid).into_iter().chain([pid]).collect())
        .unwrap_or_default();
    let also: Vec<(Other, u16)> = ollama_port(&app.config().environment)
        .map(|port| (Other::Ollama, port))
        .into_iter()
        .collect();
    other_servers(&app.http, &ours, &also).await
}

/// `127.0.0.1:11500`, `http://localhost:11500`, or a port alone. Only what is on this computer.
fn ollama_port(environment: &Environment) -> Option<u16> {
    let said = environment.filled(OLLAMA_HOST)?;
    let said = said.rsplit_once("//").map_or(said, |(_, rest)| rest);
    let (host, port) = said.trim_end_matches('/').rsplit_once(':')?;
    let here = ["", "127.0.0.1", "localhost", "0.0.0.0"].contains(&host);
    port.parse().ok().filter(|_| here)
}

/// Kind and port: what the person names it by.
fn id_of(server: &OtherServer) -> String {
    format!("{}:{}", provider_of(server.kind).0, server.port)
}

fn url_of(port: u16) -> String {
    format!("http://127.0.0.1:{port}/v1")
}

const fn provider_of(kind: Other) -> (&'static str, &'static str) {
    match kind {
        Other::LlamaServer => ("llama-server", "llama.cpp"),
        Other::Ollama => ("ollama", "Ollama"),
        Other::LmStudio => ("lm-studio", "LM Studio"),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_os::Environment;

    use super::ollama_port;

    #[test]
    fn ollama_is_looked_for_where_its_environment_says() {
        let port = |said: &str| ollama_port(&Environment::from_pairs([("OLLAMA_HOST", said)]));
        assert_eq!(port("127.0.0.1:11500"), Some(11500));
        assert_eq!(port("http://localhost:11500/"), Some(11500));
        assert_eq!(port(":11500"), Some(11500));
        for elsewhere in ["", "10.0.0.7:11434", "example.org", "localhost:x"] {
            assert_eq!(port(elsewhere), None, "{elsewhere}");
        }
    }
}
