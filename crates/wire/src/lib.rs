//! What crosses the border: calls, replies, events and fault codes.
//!
//! The page, the terminal's `--json` output and the HTTP host all speak these types, so a change here is a
//! change of contract: the snapshots and the committed TypeScript say so. Names are camelCase, ids are
//! strings, times are whole seconds since 1970 in fields called `*_at`, sizes are bytes.
//!
//! Holds no behaviour and no English sentence: the language files turn codes into words.

mod call;
mod chat;
mod context;
mod conversation;
mod engine;
mod event;
mod fault;
mod library;
mod machine;
mod plan;
mod provider;
mod replay;
mod search;
mod server;
mod setup;
mod status;
mod tool;
mod typescript;

pub use call::*;
pub use chat::{
    Answered, ChatEnd, Conversation, ConversationSummary, Cost, CostBy, Message, Role, TurnStats,
};
pub use context::{
    Archive, ArchiveRow, CompactionDone, CompactionLine, CompactionMode, CompactionOutcome, ContextReading,
    ContextView, CutPreview, GateDecision, GateMoment, GateReason, GateVerdict, ReadingKind,
};
pub use conversation::{
    Branch, ChatSetting, ChatSettings, ChatSettingsReply, Emptied, Exported, FoundConversation,
    FoundConversations, MarkdownWords, Snip, ThinkingChoice, ThinkingWish,
};
pub use engine::{
    BenchReply, Check, CheckStep, EngineBuild, EngineList, EngineOffer, EnginePassed, LoadStage, LoadedModel,
    ModelStatus, NewestEngines, Proof, ProofLayers, ProofPart, ProofPool, Router, Served, SkippedEngine,
};
pub use event::Event;
pub use fault::{Fault, FaultCode, Fix, Param, Params, Reason};
pub use library::{
    CatalogReply, Comparing, Duplicate, DuplicateCopy, Duplicates, Folders, Keeper, Library, LibraryModel,
    LibraryState, Licence, ModelEntry, OtherFolder, PullLine, Variant, VariantState, VerifyReply,
};
pub use machine::{
    Class, Cpu, Device, DeviceKind, DeviceOverride, Machine, MachineDetails, MachineOverrides, Memory, Os,
    Sourced,
};
pub use plan::{
    Alternative, Anchor, DeviceMemory, FirstToken, MemoryNeed, OverheadPart, Pick, Plan, PlanMemory,
    PlanModel, PlanSettings, PlanSpeed, PlanWishes, Range, Recommendation, Rejected, SpeedBasis, Turn,
    Verdict,
};
pub use provider::{
    CloudModel, KeyFrom, KeyPlace, ProviderEntry, ProviderModels, ProviderProtocol, Providers, RouteLosses,
    TokenPrices,
};
pub use replay::{
    CutNote, CutPlan, FloorReport, Replay, ReplayExpected, ReplayFact, ReplayHeard, ReplayLine, ReplayPart,
    ReplayReport, ReplayResult, ReplayRow, ReplayRowKind, ReplayStep, ReplayThoughts, ReplayTool,
    ReplayUsage,
};
pub use search::{HubFit, HubGate, HubRepo, HubSearch, HubVariant, HubVariants};
pub use server::{ForeignServer, ForeignServers, ServerKind};
pub use setup::{Setup, SetupStep, StepName, StepState};
pub use status::{
    DeviceUse, Endpoint, EndpointUse, HubSite, Sample, Settings, Status, TokenFrom, Transfer, TransferFile,
    Transferring,
};
pub use tool::{ToolAnswer, ToolEffect, ToolOutcome, ToolSettings, ToolUse};
pub use typescript::typescript;
