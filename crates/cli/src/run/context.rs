use plimsoll_os::files;
use plimsoll_wire::{
    CompactNow, CompactionMode, CompactionOutcome, ConversationSummary, ExpandCompaction, ListConversations,
    PlanCompaction, ReadContext, ReportContext, SearchArchive, SetCompactionMode, UndoCompaction,
};

use super::Session;
use crate::args::{ContextArgs, ContextMode};
use crate::failure::{Failure, unwritable};
use crate::show;

/// What a conversation's context is, and what can be done about it.
pub(super) async fn context(session: &Session, args: ContextArgs) -> Result<(), Failure> {
    let Some(conversation) = conversation(session, args.conversation.clone()).await? else {
        session.out.note(session.out.lang.text("context.none"));
        return Err(Failure::Told);
    };
    let out = &session.out;
    if let Some(path) = &args.report {
        let replay = session.ask(ReportContext { conversation }).await?;
        let bytes = serde_json::to_vec_pretty(&replay).unwrap_or_default();
        return files::replace(path, &bytes).map_err(|error| unwritable(path, &error));
    }
    if let Some(words) = args.search {
        let found = session.ask(SearchArchive { conversation, words }).await?;
        out.answer(&found, show::archive);
        return Ok(());
    }
    if let Some(id) = args.show {
        let rows = session.ask(ExpandCompaction { conversation, id }).await?;
        out.answer(&rows, show::archive);
        return Ok(());
    }
    if args.plan {
        let preview = session.ask(PlanCompaction { conversation }).await?;
        out.answer(&preview, show::preview);
        return Ok(());
    }
    if args.compact {
        let done = session.ask(CompactNow { conversation }).await?;
        out.answer(&done, show::compacted);
        return match done.outcome {
            CompactionOutcome::Committed | CompactionOutcome::NoOp => Ok(()),
            CompactionOutcome::DiscardedStale
            | CompactionOutcome::RejectedLarger
            | CompactionOutcome::TimedOut
            | CompactionOutcome::Cancelled
            | CompactionOutcome::ProviderError
            | CompactionOutcome::Busy => Err(Failure::Told),
        };
    }
    let view = if let Some(id) = args.undo {
        session.ask(UndoCompaction { conversation, id }).await?
    } else if let Some(mode) = args.mode {
        let mode = match mode {
            ContextMode::Automatic => CompactionMode::Automatic,
            ContextMode::Manual => CompactionMode::Manual,
            ContextMode::Off => CompactionMode::Off,
        };
        session.ask(SetCompactionMode { conversation, mode }).await?
    } else {
        session.ask(ReadContext { conversation }).await?
    };
    out.answer(&view, show::context);
    Ok(())
}

/// The one that is named, else the one that was changed last.
async fn conversation(session: &Session, named: Option<String>) -> Result<Option<String>, Failure> {
    if named.is_some() {
        return Ok(named);
    }
    let all = session
        .ask(ListConversations { trash: false })
        .await?
        .conversations;
    let newest = all
        .into_iter()
        .max_by_key(|one: &ConversationSummary| one.updated_at);
    Ok(newest.map(|one| one.id))
}
