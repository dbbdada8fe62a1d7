use std::fmt::Write as _;

use ts_rs::{Config, TS};

use crate::{
    call, chat, conversation, engine, event, fault, library, machine, plan, provider, search, setup, status,
    tool,
};

/// The whole contract as one TypeScript module. `cargo x gen` writes it to `ui/src/wire/wire.ts`;
/// `cargo x gen --check` compares. Byte counts are `number`: exact up to 8 PiB.
#[must_use]
#[expect(clippy::too_many_lines, reason = "one line a type")]
pub fn typescript() -> String {
    let config = Config::new().with_large_int("number");
    let mut out = String::from("// Generated from crates/wire by `cargo x gen`. Do not edit.\n\n");
    macro_rules! declare {
        ($($type:ty),* $(,)?) => { $(push(&mut out, &<$type as TS>::decl(&config));)* };
    }
    declare!(
        fault::Param,
        fault::Reason,
        fault::FaultCode,
        fault::Fix,
        fault::Fault,
        machine::Sourced,
        machine::Os,
        machine::Cpu,
        machine::Memory,
        machine::DeviceKind,
        machine::Device,
        machine::Class,
        machine::Machine,
        machine::DeviceOverride,
        machine::MachineOverrides,
        machine::MachineDetails,
        plan::PlanWishes,
        plan::Anchor,
        plan::PlanModel,
        plan::PlanSettings,
        plan::Verdict,
        plan::OverheadPart,
        plan::MemoryNeed,
        plan::DeviceMemory,
        plan::PlanMemory,
        plan::Range,
        plan::FirstToken,
        plan::Turn,
        plan::SpeedBasis,
        plan::PlanSpeed,
        plan::Plan,
        plan::Pick,
        plan::Alternative,
        plan::Rejected,
        plan::Recommendation,
        library::Licence,
        library::VariantState,
        library::Variant,
        library::ModelEntry,
        library::LibraryState,
        library::Keeper,
        library::LibraryModel,
        library::Library,
        library::CatalogReply,
        library::OtherFolder,
        library::Folders,
        library::DuplicateCopy,
        library::Duplicate,
        library::Comparing,
        library::Duplicates,
        search::HubGate,
        search::HubRepo,
        search::HubSearch,
        search::HubFit,
        search::HubVariant,
        search::HubVariants,
        library::PullLine,
        library::VerifyReply,
        engine::EngineBuild,
        engine::EngineList,
        engine::EngineOffer,
        engine::EnginePassed,
        engine::NewestEngines,
        engine::SkippedEngine,
        engine::CheckStep,
        engine::Check,
        engine::LoadStage,
        engine::ModelStatus,
        engine::ProofPart,
        engine::ProofPool,
        engine::ProofLayers,
        engine::Proof,
        engine::BenchReply,
        engine::LoadedModel,
        engine::Router,
        engine::Served,
        tool::ToolSettings,
        tool::ToolOutcome,
        tool::ToolUse,
        tool::ToolEffect,
        tool::ToolAnswer,
        chat::Role,
        chat::ChatEnd,
        chat::CostBy,
        chat::Cost,
        chat::TurnStats,
        conversation::Branch,
        conversation::ThinkingWish,
        conversation::ChatSettings,
        conversation::ChatSetting,
        conversation::ThinkingChoice,
        conversation::ChatSettingsReply,
        chat::Message,
        chat::ConversationSummary,
        conversation::Snip,
        conversation::FoundConversation,
        conversation::FoundConversations,
        conversation::MarkdownWords,
        conversation::Exported,
        conversation::Emptied,
        chat::Conversation,
        chat::Answered,
        provider::ProviderProtocol,
        provider::KeyFrom,
        provider::KeyPlace,
        provider::TokenPrices,
        provider::CloudModel,
        provider::ProviderEntry,
        provider::Providers,
        provider::ProviderModels,
        provider::RouteLosses,
        setup::StepName,
        setup::StepState,
        setup::SetupStep,
        setup::Setup,
        status::DeviceUse,
        status::Sample,
        status::TransferFile,
        status::Transferring,
        status::Transfer,
        status::Status,
        status::Settings,
        status::Endpoint,
        status::TokenFrom,
        status::HubSite,
        call::Done,
        call::Started,
        call::Conversations,
        call::Removed,
        event::Event,
    );
    for body in call::call_bodies(&config) {
        push(&mut out, &body);
    }
    out.push_str("/** Every call: what goes in and what comes back. */\nexport interface Calls {\n");
    for call in call::call_list(&config) {
        // Writing into a String cannot fail.
        let _ = writeln!(
            out,
            "  \"{}\": {{ body: {}; reply: {} }};",
            call.name, call.body, call.reply
        );
    }
    out.push_str("}\n");
    out
}

fn push(out: &mut String, declaration: &str) {
    out.push_str("export ");
    out.push_str(declaration);
    out.push_str("\n\n");
}
