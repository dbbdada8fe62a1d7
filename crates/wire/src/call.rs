use serde::{Deserialize, Serialize, de::DeserializeOwned};
use ts_rs::TS;

use crate::{
    Anchor, Archive, BenchReply, CatalogReply, ChatSettings, ChatSettingsReply, Check, CompactionDone,
    CompactionMode, ContextView, Conversation, ConversationSummary, CutPreview, Duplicates, Emptied,
    Endpoint, EngineList, Exported, Folders, ForeignServers, FoundConversations, HubFit, HubSearch, HubSite,
    HubVariants, Library, LibraryModel, Machine, MachineDetails, MachineOverrides, MarkdownWords,
    NewestEngines, Plan, PlanWishes, ProviderModels, ProviderProtocol, Providers, Recommendation, Replay,
    RouteLosses, Router, Settings, Setup, Status, ToolAnswer, ToolSettings, VerifyReply,
};

/// One question with one answer. The body is a plain async function in `plimsoll-app`; hosts look it up by
/// name.
pub trait Call: DeserializeOwned + Send + 'static {
    const NAME: &'static str;
    type Reply: Serialize;
}

/// The name of a call and the TypeScript names of its two types, for the generated file and the tidy test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallInfo {
    pub name: &'static str,
    pub body: String,
    pub reply: String,
}

macro_rules! calls {
    ($($(#[$about:meta])* $name:literal $body:ident { $($(#[$field_about:meta])* $field:ident: $type:ty),* $(,)? } -> $reply:ty;)*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
            #[serde(rename_all = "camelCase")]
            pub struct $body { $($(#[$field_about])* pub $field: $type),* }
            impl Call for $body {
                const NAME: &'static str = $name;
                type Reply = $reply;
            }
        )*
        /// The name of every call there is, in order of declaration.
        pub const CALL_NAMES: &[&str] = &[$($name),*];

        /// The same with the names of the types.
        #[must_use]
        pub fn call_list(config: &ts_rs::Config) -> Vec<CallInfo> {
            vec![$(CallInfo { name: $name, body: <$body as TS>::name(config), reply: <$reply as TS>::name(config) }),*]
        }
        pub(crate) fn call_bodies(config: &ts_rs::Config) -> Vec<String> {
            vec![$(<$body as TS>::decl(config)),*]
        }
    };
}

/// The reply of a call that has nothing to say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Done {}

/// The id of something that was started or made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Conversations {
    pub conversations: Vec<ConversationSummary>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    pub freed_bytes: u64,
}

calls! {
    /// The live state, all of it.
    "status/read" ReadStatus {} -> Status;
    /// Someone looks at the status bar (or no longer does): the sampler sleeps when nobody looks.
    "status/watch" WatchStatus { on: bool } -> Done;
    "machine/read" ReadMachine {
        /// Probe again instead of giving the last answer.
        #[serde(default)]
        fresh: bool,
        /// Measure the speed of the RAM as well when it is not known yet: a third of a second of all processors.
        #[serde(default)]
        #[ts(as = "Option<bool>", optional)]
        measure: bool
    } -> Machine;
    /// The same beside what was found and what the person changed.
    "machine/details" ReadMachineDetails {
        #[serde(default)]
        fresh: bool,
        #[serde(default)]
        #[ts(as = "Option<bool>", optional)]
        measure: bool
    } -> MachineDetails;
    /// Replaces everything that the person said about the machine; with nothing in it all is as found again.
    "machine/override" OverrideMachine { overrides: MachineOverrides } -> MachineDetails;
    /// A plan for a library or catalog id (`id[:quant]`) or a GGUF path, on this machine.
    "plan/make" MakePlan {
        model: String,
        #[serde(default)]
        wishes: PlanWishes,
        /// Another machine than this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        machine: Option<Machine>,
        /// Measured runs of that machine; the speed is predicted from them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        anchors: Option<Vec<Anchor>>
    } -> Plan;
    "plan/recommend" Recommend {
        /// Another machine than this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        machine: Option<Machine>
    } -> Recommendation;
    "setup/start" StartSetup {
        /// Catalog or library id.
        model: String,
        quant: String,
        /// The person accepted the licence that was shown.
        #[serde(default)]
        licence_accepted: bool
    } -> Setup;
    "setup/stop" StopSetup {} -> Done;
    "models/list" ListModels {} -> Library;
    /// One model of the library, with a plan for what is known of this machine: nothing is measured for it.
    "models/read" ReadModel { model: String } -> LibraryModel;
    /// Fetches a newer catalog from its publisher, signed; used from the next start on.
    "models/refresh" RefreshCatalog {} -> CatalogReply;
    /// Starts a download; progress comes as `transferMoved`. `id[:quant]` or `hf:ORG/REPO/FILE`.
    "models/pull" PullModel { model: String, #[serde(default)] licence_accepted: bool } -> Started;
    /// Stops it and keeps what came.
    "models/stopPull" StopPull { id: String } -> Done;
    /// Stops it, throws away what came, and forgets it.
    "models/cancelPull" CancelPull { id: String } -> Removed;
    "models/import" ImportModel { path: String } -> LibraryModel;
    "models/verify" VerifyModel { id: String } -> VerifyReply;
    "models/remove" RemoveModel { id: String } -> Removed;
    /// What lies on this computer more than once. With `compare`, files of equal size are hashed in the background;
    /// progress comes as `compared`.
    "models/duplicates" FindDuplicates { #[serde(default)] compare: bool } -> Duplicates;
    "models/stopComparing" StopComparing {} -> Duplicates;
    "folders/read" ReadFolders {} -> Folders;
    /// Lists the models of a folder, read only.
    "folders/add" AddFolder { path: String } -> Folders;
    "folders/remove" RemoveFolder { path: String } -> Folders;
    /// Moves the library to another folder, also on another disk; progress comes as `transferMoved` of
    /// `moveLibrary`. `models/stopPull` lets it stand still, `models/cancelPull` takes it back.
    "folders/move" MoveLibrary { path: String } -> Started;
    /// GGUF repositories at the hub whose names hold all words.
    "hub/search" SearchHub { words: String } -> HubSearch;
    "hub/variants" ListVariants { repo: String } -> HubVariants;
    /// What one file would do on this machine, from its header, which is read by range.
    "hub/fit" FitVariant { repo: String, path: String } -> HubFit;
    "engines/list" ListEngines {} -> EngineList;
    "engines/add" AddEngine { path: String } -> EngineList;
    "engines/use" UseEngine { id: String } -> EngineList;
    /// Asks for the newest official release; nothing is fetched.
    "engines/newest" ReadNewestEngines {} -> NewestEngines;
    /// Back to the engine that was in use before.
    "engines/rollBack" RollBackEngine {} -> EngineList;
    "engines/remove" RemoveEngine { id: String } -> EngineList;
    "engines/check" CheckEngine { id: String } -> Check;
    /// Fetches the pinned official build for this machine, or the named flavour; `newest`: of the release that
    /// `engines/newest` named, in place of the engine in use.
    "engines/install" InstallEngine { #[serde(default)] #[ts(optional)] flavour: Option<String>, #[serde(default)] #[ts(optional)] newest: Option<bool> } -> Started;
    "router/read" ReadRouter {} -> Router;
    /// Makes the model ready (starting engine and router if needed); progress comes as `routerChanged`.
    "router/load" LoadModel { model: String, #[serde(default)] wishes: PlanWishes } -> Router;
    /// Measures the speed of a model on this machine, for the next plans. Loads it when it is not loaded.
    "bench/run" RunBench { model: String } -> BenchReply;
    "router/unload" UnloadModel { model: String } -> Router;
    "router/stop" StopRouter {} -> Router;
    "conversations/list" ListConversations { #[serde(default)] trash: bool } -> Conversations;
    "conversations/open" OpenConversation { id: String } -> Conversation;
    "conversations/create" CreateConversation {
        #[serde(default)]
        #[ts(optional)]
        model: Option<String>,
        #[serde(default)]
        #[ts(optional)]
        settings: Option<ChatSettings>
    } -> Conversation;
    "conversations/rename" RenameConversation { id: String, title: String } -> Done;
    /// To the trash; `conversations/restore` takes it back.
    "conversations/delete" DeleteConversation { id: String } -> Done;
    "conversations/restore" RestoreConversation { id: String } -> Done;
    /// Removes for good what lies in the trash.
    "conversations/emptyTrash" EmptyTrash {} -> Emptied;
    /// Conversations that hold all of these words, in their title or in one message; the latest change first.
    "conversations/search" SearchConversations { words: String, #[serde(default)] trash: bool } -> FoundConversations;
    /// Shows the branch that a message is on, to its newest end.
    "conversations/show" ShowBranch { conversation: String, message: String } -> Conversation;
    /// How this conversation is asked with a model, or a new one where there is no `id`.
    "conversations/settings" ReadChatSettings { #[serde(default)] #[ts(optional)] id: Option<String>, model: String } -> ChatSettingsReply;
    /// How the models of this conversation are asked from now on, all of it.
    "conversations/setSettings" SetChatSettings { id: String, settings: ChatSettings } -> Done;
    /// What holds for every conversation with this model that says nothing else.
    "models/setSettings" SetModelSettings { model: String, settings: ChatSettings } -> Done;
    /// With `words` as Markdown, without as a document that `conversations/import` reads. With `save` it is written
    /// into the person's folder for downloads.
    "conversations/export" ExportConversation {
        id: String,
        #[serde(default)]
        #[ts(optional)]
        words: Option<MarkdownWords>,
        #[serde(default)]
        save: bool
    } -> Exported;
    /// Makes a conversation from a document. What its tools were allowed elsewhere is not taken along.
    "conversations/import" ImportConversation { text: String } -> Conversation;
    /// Adds a message and starts the answer. Returns the turn's id at once; the answer comes as events.
    "turn/start" StartTurn {
        conversation: String,
        text: String,
        /// Missing: the conversation's model, else the default model.
        #[serde(default)]
        #[ts(optional)]
        model: Option<String>,
        /// The message of the person's whose place this one takes. That one stays with all that followed, on a
        /// branch that is not shown.
        #[serde(default)]
        #[ts(optional)]
        instead: Option<String>
    } -> Started;
    /// Answers a question once more. The answer that it had stays in the store, on a branch that is not shown.
    "turn/again" AnswerAgain {
        conversation: String,
        /// The question, or an answer to it. Missing: the last question that is shown.
        #[serde(default)]
        #[ts(optional)]
        message: Option<String>,
        /// Missing: the conversation's model, else the default model.
        #[serde(default)]
        #[ts(optional)]
        model: Option<String>
    } -> Started;
    /// What the models of this conversation may do besides talking.
    "conversations/setTools" SetTools { id: String, tools: ToolSettings } -> Done;
    /// The person's word on a call that waits. Nothing happens when it no longer does.
    "tools/answer" AnswerTool { conversation: String, call: String, answer: ToolAnswer } -> Done;
    "turn/stop" StopTurn { conversation: String } -> Done;
    /// How full it is, and what was done about it.
    "context/read" ReadContext { conversation: String } -> ContextView;
    /// What a compaction would do now.
    "context/plan" PlanCompaction { conversation: String } -> CutPreview;
    /// Compacts now, whatever the gates say. The model is made ready for it where a summary has to be written.
    "context/compact" CompactNow { conversation: String } -> CompactionDone;
    /// Takes a compaction back, with those that were made on top of it.
    "context/undo" UndoCompaction { conversation: String, id: String } -> ContextView;
    "context/setMode" SetCompactionMode { conversation: String, mode: CompactionMode } -> ContextView;
    /// What a compaction stands for, word for word.
    "context/expand" ExpandCompaction { conversation: String, id: String } -> Archive;
    /// Rows of the conversation that hold all of these words, whatever stands for them now.
    "context/search" SearchArchive { conversation: String, words: String } -> Archive;
    /// What decided, without a word of the conversation: a file for `plimsoll replay`.
    "context/report" ReportContext { conversation: String } -> Replay;
    "providers/list" ListProviders {} -> Providers;
    /// Keeps a provider's key in the keyring; an empty one removes it.
    "providers/setKey" SetProviderKey { id: String, key: String } -> Providers;
    /// Adds an endpoint, or changes the address of one that the person runs.
    "providers/save" SaveProvider {
        /// Missing: a new one.
        #[serde(default)]
        #[ts(optional)]
        id: Option<String>,
        name: String,
        base_url: String,
        protocol: ProviderProtocol
    } -> Providers;
    /// Forgets an endpoint that the person added, and its key.
    "providers/remove" RemoveProvider { id: String } -> Providers;
    /// Asks the provider for its models: the test whether address and key are right.
    "providers/models" ListProviderModels { id: String } -> ProviderModels;
    /// The models that the picker offers.
    "providers/choose" ChooseProviderModels { id: String, models: Vec<String> } -> Providers;
    /// What would be lost if this conversation were answered by that model from here on.
    "routes/losses" ReadLosses { conversation: String, model: String } -> RouteLosses;
    /// Servers of other programs on this computer: found, shown, never changed or ended.
    "servers/find" FindServers {} -> ForeignServers;
    /// Makes its models answer here.
    "servers/use" UseServer { id: String } -> ForeignServers;
    "servers/ignore" IgnoreServer { id: String, ignored: bool } -> ForeignServers;
    "settings/read" ReadSettings {} -> Settings;
    "settings/write" WriteSettings { settings: Settings } -> Settings;
    "endpoint/read" ReadEndpoint {} -> Endpoint;
    /// Tries again to listen for other apps where it failed; how it went is told by `settingsChanged`.
    "endpoint/open" OpenEndpoint {} -> Done;
    "hub/read" ReadHub {} -> HubSite;
    /// Keeps the token in the file that the hub's own tools use and asks with it from now on; an empty one removes it.
    "hub/setToken" SetHubToken { token: String } -> HubSite;
}
