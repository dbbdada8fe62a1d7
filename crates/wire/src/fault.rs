use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A value inside a reason or a fault. Sizes are whole bytes, times whole seconds or milliseconds as the
/// parameter's name says; the language file formats them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum Param {
    Whole(u64),
    Number(f64),
    Text(String),
}

impl From<u64> for Param {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}
impl From<u32> for Param {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}
impl From<f64> for Param {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}
impl From<String> for Param {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}
impl From<&str> for Param {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

pub type Params = BTreeMap<String, Param>;

/// One sentence of an explanation, before it has a language: `reason.<code>` in the language files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    pub code: String,
    #[serde(default)]
    pub params: Params,
}

/// What went wrong, in one closed list. Every code has a text in every language (the page does not compile
/// otherwise) and at least one way on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum FaultCode {
    // asking
    BadRequest,
    UnknownCall,
    NotAllowed,
    NotFound,
    Busy,
    // model files
    NotGguf,
    GgufCut,
    GgufTooLarge,
    GgufBad,
    ModelFileMissing,
    /// Another program keeps it: it is used in place and never changed.
    ModelNotOurs,
    UnknownModel,
    UnknownArchitecture,
    // plan
    MachineFileBad,
    DoesNotFit,
    ContextTooLong,
    // disk
    DiskFull,
    ReadFailed,
    WriteFailed,
    UnsafeName,
    /// No folder, or one that cannot be read.
    FolderUnusable,
    /// The library's folder was chosen and is not there.
    LibraryGone,
    // hub
    HubUnreachable,
    HubRefused,
    HubNeedsToken,
    HubNotFound,
    HubOffline,
    HubTooManyRequests,
    /// The account or the address has used up what the hub gives.
    HubQuota,
    /// The commit that was asked for is no longer there.
    HubRevisionGone,
    /// The hub has another file under this name than the one that was pinned.
    HubChanged,
    /// Somebody else's certificate, or one that the system does not trust.
    HubCertificate,
    /// The proxy does not answer or refuses.
    HubProxy,
    HashMismatch,
    TransferStalled,
    LicenceNotAccepted,
    // engine
    NoEngine,
    EngineIncomplete,
    EngineCheckFailed,
    EngineUnknownAsset,
    PortTaken,
    RouterFailed,
    RouterGone,
    LoadFailed,
    OutOfMemory,
    ModelCrashed,
    IllegalInstruction,
    GpuDriver,
    GpuUnsupported,
    DeviceLost,
    EngineTooOld,
    // talking to a model
    ContextExceeded,
    RouteUnreachable,
    RouteRefused,
    RouteBroken,
    /// The provider's key is missing, wrong, or not allowed this.
    RouteKey,
    /// What was paid for is used up.
    RouteQuota,
    /// Too much at once; `seconds` as the provider says.
    RouteRate,
    /// The provider has too much to do.
    RouteOverloaded,
    /// It will not answer this for what it is about.
    RouteContent,
    /// The provider has no such model.
    RouteModel,
    /// This route has no way to say what was asked.
    RouteCannot,
    NoVision,
    /// A document that is no conversation, or one of a newer version.
    ConversationBad,
    // our own data
    StoreFailed,
    StoreTooNew,
    Internal,
}

/// A way on that the page can offer as a button and the terminal as a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Fix {
    Retry,
    ChooseOtherModel,
    ChooseSmallerContext,
    DownloadAgain,
    FreeSpace,
    AddEngine,
    ReinstallEngine,
    CheckConnection,
    SetToken,
    /// The key of a provider.
    SetKey,
    AcceptLicence,
    ImportFile,
    NewConversation,
    UpdateApp,
    ReportBug,
}

/// An error that explains itself: a code, its parameters, the chain of causes for a details fold (never for
/// a headline), and what the person can do now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    pub code: FaultCode,
    #[serde(default)]
    pub params: Params,
    #[serde(default)]
    pub trace: Vec<String>,
    #[serde(default)]
    pub fixes: Vec<Fix>,
}
