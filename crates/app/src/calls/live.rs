//! The live state as a whole, the one click, and what a person can change.

use std::sync::Arc;

use plimsoll_engine::RouterState;
use plimsoll_hub::TokenOrigin;
use plimsoll_wire::{
    Done, Endpoint, Event, HubSite, OpenEndpoint, ReadEndpoint, ReadHub, ReadSettings, ReadStatus,
    SetHubToken, Settings, Setup, StartSetup, Status, StopSetup, TokenFrom, WatchStatus, WriteSettings,
};

use crate::app::App;
use crate::fault::Failed;
use crate::machine::{Freshness, RamSpeed};

pub(super) async fn read_status(app: Arc<App>, _: ReadStatus) -> Result<Status, Failed> {
    Ok(Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        router: app.router.read(),
        setup: app.setup.read(),
        sample: app.sampler.last(),
        transfers: app.transfers.list(),
        running: app.turns.running(),
        endpoint_uses: app.endpoint.uses(),
        first_start: !app.memo.is_set_up().await?,
        default_model: app.models.default_model().await?,
    })
}

pub(super) async fn watch_status(app: Arc<App>, call: WatchStatus) -> Result<Done, Failed> {
    if call.on {
        let machine = app.machine.read(Freshness::Known, RamSpeed::AsKnown).await?;
        app.sampler.look(&machine, &app.memo.settings().await?).await;
    } else {
        app.sampler.look_away().await;
    }
    Ok(Done {})
}

pub(super) async fn start_setup(app: Arc<App>, call: StartSetup) -> Result<Setup, Failed> {
    app.setup
        .start(&app, &call.model, &call.quant, call.licence_accepted)
        .await
}

pub(super) async fn stop_setup(app: Arc<App>, _: StopSetup) -> Result<Done, Failed> {
    app.setup.stop();
    Ok(Done {})
}

pub(super) async fn read_settings(app: Arc<App>, _: ReadSettings) -> Result<Settings, Failed> {
    Ok(app.memo.settings().await?)
}

pub(super) async fn write_settings(app: Arc<App>, call: WriteSettings) -> Result<Settings, Failed> {
    let settings = app.memo.change_settings(call.settings).await?;
    app.sampler.set_every(&settings).await;
    app.apply_keeping(&settings).await;
    app.bus.tell(Event::SettingsChanged);
    Ok(settings)
}

/// Our own front, or the one of the process that owns the router.
pub(super) async fn read_endpoint(app: Arc<App>, _: ReadEndpoint) -> Result<Endpoint, Failed> {
    let key = app.endpoint.key().to_owned();
    if app.memo.settings().await?.endpoint == Some(false) {
        return Ok(Endpoint {
            url: None,
            key,
            fault: None,
        });
    }
    if let Some(url) = app.endpoint.url() {
        return Ok(Endpoint {
            url: Some(url),
            key,
            fault: None,
        });
    }
    let state = app.router.desk.state();
    let front = match &*state.borrow() {
        RouterState::Ready(ready) => ready.front.clone(),
        RouterState::Off
        | RouterState::Starting
        | RouterState::Waiting { .. }
        | RouterState::Failed { .. } => None,
    };
    Ok(match front {
        Some(front) => Endpoint {
            url: Some(front.url),
            key: front.key,
            fault: None,
        },
        None => Endpoint {
            url: None,
            key,
            fault: app.endpoint.fault(),
        },
    })
}

pub(super) async fn open_endpoint(app: Arc<App>, _: OpenEndpoint) -> Result<Done, Failed> {
    app.endpoint.ask_again();
    Ok(Done {})
}

pub(super) async fn read_hub(app: Arc<App>, _: ReadHub) -> Result<HubSite, Failed> {
    Ok(hub_site(&app))
}

pub(super) async fn set_hub_token(app: Arc<App>, call: SetHubToken) -> Result<HubSite, Failed> {
    app.models.hub().set_token(&call.token)?;
    app.bus.tell(Event::SettingsChanged);
    Ok(hub_site(&app))
}

fn hub_site(app: &App) -> HubSite {
    let hub = app.models.hub();
    let config = hub.config();
    HubSite {
        url: config.endpoint.to_string().trim_end_matches('/').to_owned(),
        offline: config.offline,
        token: match hub.token_origin() {
            TokenOrigin::Nowhere => TokenFrom::Nowhere,
            TokenOrigin::Environment => TokenFrom::Environment,
            TokenOrigin::File => TokenFrom::File,
        },
        token_file: config.token_file.as_ref().map(|path| path.display().to_string()),
    }
}
