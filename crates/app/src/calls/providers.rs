//! Who else can answer.

use std::sync::Arc;

use plimsoll_agent::SYSTEM_PROMPT;
use plimsoll_os::clock;
use plimsoll_wire::{
    ChooseProviderModels, Event, ListProviderModels, ListProviders, ProviderModels, Providers, ReadLosses,
    RemoveProvider, RouteLosses, SaveProvider, SetProviderKey,
};

use crate::app::App;
use crate::fault::Failed;
use crate::routes::{CloudName, local_route};
use crate::turns::whole_transcript;

pub(super) async fn list_providers(app: Arc<App>, _: ListProviders) -> Result<Providers, Failed> {
    app.routes.list().await
}

pub(super) async fn set_provider_key(app: Arc<App>, call: SetProviderKey) -> Result<Providers, Failed> {
    app.routes.set_key(&call.id, call.key.trim()).await?;
    changed(app).await
}

pub(super) async fn save_provider(app: Arc<App>, call: SaveProvider) -> Result<Providers, Failed> {
    app.routes.save(call).await?;
    changed(app).await
}

pub(super) async fn remove_provider(app: Arc<App>, call: RemoveProvider) -> Result<Providers, Failed> {
    app.routes.remove(&call.id).await?;
    changed(app).await
}

pub(super) async fn list_provider_models(
    app: Arc<App>,
    call: ListProviderModels,
) -> Result<ProviderModels, Failed> {
    Ok(ProviderModels {
        models: app.routes.models(&call.id).await?,
    })
}

pub(super) async fn choose_provider_models(
    app: Arc<App>,
    call: ChooseProviderModels,
) -> Result<Providers, Failed> {
    app.routes.choose(&call.id, call.models).await?;
    changed(app).await
}

pub(super) async fn read_losses(app: Arc<App>, call: ReadLosses) -> Result<RouteLosses, Failed> {
    let opened = app
        .store
        .open_conversation(&call.conversation, clock::now_s())
        .await?;
    let transcript = whole_transcript(SYSTEM_PROMPT, &opened.messages);
    let (route, model, leaves) = match CloudName::read(&call.model) {
        Some(name) => {
            let (provider, route) = app.routes.route(name).await?;
            (route, name.model.to_owned(), !provider.own_server)
        }
        None => (
            local_route("http://127.0.0.1", &call.model, None)?,
            call.model,
            false,
        ),
    };
    let losses = route.losses(&transcript, &model);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(RouteLosses {
        images: count(losses.images),
        thoughts: count(losses.thoughts),
        calls: count(losses.calls),
        leaves,
    })
}

async fn changed(app: Arc<App>) -> Result<Providers, Failed> {
    app.bus.tell(Event::SettingsChanged);
    app.routes.list().await
}
