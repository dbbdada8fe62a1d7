use std::sync::Arc;

use plimsoll_os::clock;
use plimsoll_units::Tokens;
use plimsoll_wire::{
    Archive, CompactNow, CompactionDone, ContextView, CutPreview, ExpandCompaction, FaultCode,
    PlanCompaction, ReadContext, Replay, ReportContext, SearchArchive, SetCompactionMode, UndoCompaction,
};

use crate::app::App;
use crate::context::{self, Terms, view};
use crate::fault::{Failed, fault};

pub(super) async fn read_context(app: Arc<App>, call: ReadContext) -> Result<ContextView, Failed> {
    context_view(&app, &call.conversation).await
}

async fn context_view(app: &Arc<App>, conversation: &str) -> Result<ContextView, Failed> {
    let opened = app.store.open_conversation(conversation, clock::now_s()).await?;
    let all = app.store.compactions(conversation).await?;
    let live = app.streaming.contexts.of(conversation).await?;
    // While an answer is written its turn has the account.
    let Ok(mut live) = live.try_lock() else {
        return Ok(view::busy(conversation, &opened, &all));
    };
    if opened.running.is_none() {
        live.set_policy(app.policy_of(opened.conversation.model.as_deref()).await);
        live.set_rows(context::named_rows(&opened.messages));
    }
    Ok(view::view(&mut live, &opened, &all))
}

pub(super) async fn plan_compaction(app: Arc<App>, call: PlanCompaction) -> Result<CutPreview, Failed> {
    let live = idle(&app, &call.conversation).await?;
    let live = live.lock().await;
    Ok(view::preview(&live))
}

pub(super) async fn compact_now(app: Arc<App>, call: CompactNow) -> Result<CompactionDone, Failed> {
    let live = idle(&app, &call.conversation).await?;
    let contexts = &app.streaming.contexts;
    contexts.stop_idle().await;
    let model = app.store.conversation(&call.conversation).await?.model;
    let model = model.ok_or_else(|| fault(FaultCode::UnknownModel, []))?;
    let ready = app.ready_model(&model, &call.conversation).await?;
    let summariser = app.streaming.summariser(&ready);
    let outcome = {
        let mut live = live.lock().await;
        let terms = Terms::of(
            &ready,
            ready.sampling.reply_max,
            live.terms().map_or(Tokens(0), |terms| terms.tool_result),
        );
        let rates = contexts.rates(&terms).await;
        live.set_terms(terms, rates);
        live.unblock();
        let outcome = context::compact(contexts, &summariser, &mut live).await;
        live.save(&app.store).await;
        outcome
    };
    Ok(CompactionDone {
        outcome,
        context: context_view(&app, &call.conversation).await?,
    })
}

pub(super) async fn undo_compaction(app: Arc<App>, call: UndoCompaction) -> Result<ContextView, Failed> {
    let live = idle(&app, &call.conversation).await?;
    let undone = app
        .store
        .undo_compaction(&call.conversation, &call.id, clock::now_s())
        .await?;
    if undone == 0 {
        return Err(fault(FaultCode::NotFound, [("compaction", call.id.as_str().into())]).into());
    }
    {
        let mut live = live.lock().await;
        live.load_compactions(&app.store).await?;
        live.unblock();
        live.save(&app.store).await;
    }
    app.streaming.contexts.tell(&call.conversation, false);
    context_view(&app, &call.conversation).await
}

pub(super) async fn set_compaction_mode(
    app: Arc<App>,
    call: SetCompactionMode,
) -> Result<ContextView, Failed> {
    // A conversation that is not there has no mode.
    app.store.conversation(&call.conversation).await?;
    let mode = context::mode_name(call.mode);
    app.store.keep_context_mode(&call.conversation, &mode).await?;
    let live = app.streaming.contexts.of(&call.conversation).await?;
    live.lock().await.set_mode(call.mode);
    app.streaming.contexts.tell(&call.conversation, false);
    context_view(&app, &call.conversation).await
}

pub(super) async fn expand_compaction(app: Arc<App>, call: ExpandCompaction) -> Result<Archive, Failed> {
    let opened = app
        .store
        .open_conversation(&call.conversation, clock::now_s())
        .await?;
    let all = app.store.compactions(&call.conversation).await?;
    let rows = context::named_rows(&opened.messages);
    view::expand(&rows, &all, &call.id)
        .ok_or_else(|| fault(FaultCode::NotFound, [("compaction", call.id.as_str().into())]).into())
}

pub(super) async fn search_archive(app: Arc<App>, call: SearchArchive) -> Result<Archive, Failed> {
    let opened = app
        .store
        .open_conversation(&call.conversation, clock::now_s())
        .await?;
    let all = app.store.compactions(&call.conversation).await?;
    let rows = context::named_rows(&opened.messages);
    Ok(view::search(&rows, &all, &call.words))
}

pub(super) async fn report_context(app: Arc<App>, call: ReportContext) -> Result<Replay, Failed> {
    let live = app.streaming.contexts.of(&call.conversation).await?;
    // What is not in the store yet belongs to it.
    if let Ok(mut live) = live.try_lock() {
        live.save(&app.store).await;
    }
    let steps = app.store.context_steps(&call.conversation).await?;
    Ok(Replay {
        schema: 1,
        about: String::new(),
        steps: steps
            .iter()
            .filter_map(|step| serde_json::from_str(step).ok())
            .collect(),
    })
}

/// The account of a conversation that nobody answers in now.
async fn idle(app: &Arc<App>, conversation: &str) -> Result<context::Shared, Failed> {
    let opened = app.store.open_conversation(conversation, clock::now_s()).await?;
    if opened.running.is_some() {
        return Err(fault(FaultCode::Busy, [("conversation", conversation.into())]).into());
    }
    let shared = app.streaming.contexts.of(conversation).await?;
    let mut live = shared.lock().await;
    live.set_policy(app.policy_of(opened.conversation.model.as_deref()).await);
    live.set_rows(context::named_rows(&opened.messages));
    drop(live);
    Ok(shared)
}
