//! What a model can do besides talking, within what the person allowed.

mod calculate;
mod clock;
mod fetch;
mod folders;
mod look;
pub(crate) mod repair;
mod work;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::{ToolCall, ToolSpec};

pub use work::{ToolLimits, TurnTools};

/// Something a model can call.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// What a call would do. Nothing is done yet: the person sees this first.
    fn plan(&self, arguments: &Value) -> Result<Effect, ToolError>;

    /// Does what was planned. Dropping the future stops the work.
    fn run(&self, arguments: Value, planned: Effect) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// What a call does to the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Thinks only.
    Nothing,
    /// Reads within the chosen folders.
    Reads { path: PathBuf },
    /// Changes a file within the chosen folders. `before`: missing for a new one.
    Writes {
        path: PathBuf,
        before: Option<String>,
        after: String,
    },
    /// Asks somebody on the network.
    Fetches { url: String },
}

impl Effect {
    /// Done without asking: it changes nothing and tells nobody.
    #[must_use]
    pub const fn is_harmless(&self) -> bool {
        match self {
            Self::Nothing | Self::Reads { .. } => true,
            Self::Writes { .. } | Self::Fetches { .. } => false,
        }
    }
}

/// Why a call was not done. The model reads it and may do better.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    #[error("there is no tool {name}; there are: {known}")]
    Unknown { name: String, known: String },
    #[error("the arguments are wrong: {problem}")]
    Arguments { problem: String },
    #[error("{path} is outside the folders that may be used: {folders}")]
    Outside { path: String, folders: String },
    #[error("{path}: {problem}")]
    File { path: String, problem: String },
    #[error("{url}: {problem}")]
    Fetch { url: String, problem: String },
    #[error("the person did not allow it")]
    NotAllowed,
    #[error("it took longer than {seconds} s")]
    TooSlow { seconds: u64 },
}

/// Who decides whether a call is done.
pub trait Approver: Send + Sync {
    /// Waits for the person, for as long as they need.
    fn ask<'a>(&'a self, call: &'a ToolCall, effect: &'a Effect) -> BoxFuture<'a, Approval>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    Allowed,
    Refused,
}

/// The tools of a conversation. Their order is kept as it was when the conversation began: sorted by name, and
/// what comes later goes to the end.
#[derive(Clone)]
pub struct Toolbox(Vec<Arc<dyn Tool>>);

impl Toolbox {
    /// The tools that come with the program. `folders`: where files may be read and written; none, no file tools.
    #[must_use]
    pub fn packaged(folders: Vec<PathBuf>, now_s: fn() -> i64) -> Self {
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(calculate::Calculate::new()),
            Arc::new(clock::Clock::new(now_s)),
        ];
        if let Ok(fetch) = fetch::Fetch::new(fetch::is_public) {
            tools.push(Arc::new(fetch));
        }
        if let Some(folders) = folders::Folders::new(folders) {
            let folders = Arc::new(folders);
            tools.push(Arc::new(look::List::new(Arc::clone(&folders))));
            tools.push(Arc::new(look::Read::new(Arc::clone(&folders))));
            tools.push(Arc::new(look::Search::new(Arc::clone(&folders))));
            tools.push(Arc::new(write::Edit::new(Arc::clone(&folders))));
            tools.push(Arc::new(write::Write::new(folders)));
        }
        Self::new(tools)
    }

    #[must_use]
    pub fn new(mut tools: Vec<Arc<dyn Tool>>) -> Self {
        tools.sort_by(|one, other| one.spec().name.cmp(&other.spec().name));
        tools.dedup_by(|one, other| one.spec().name == other.spec().name);
        Self(tools)
    }

    /// In the order in which they are sent.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.0.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// Only as many as a small window can carry, in their order. Says which were left out.
    #[must_use]
    pub fn within(self, bytes_max: usize) -> (Self, Vec<String>) {
        let mut room = bytes_max;
        let mut left_out = Vec::new();
        let mut kept = Vec::new();
        for tool in self.0 {
            let spec = tool.spec();
            let bytes = spec.name.len() + spec.description.len() + spec.parameters.to_string().len();
            if bytes <= room {
                room -= bytes;
                kept.push(tool);
            } else {
                left_out.push(spec.name.clone());
            }
        }
        (Self(kept), left_out)
    }

    fn find(&self, name: &str) -> Result<&dyn Tool, ToolError> {
        let found = self.0.iter().find(|tool| tool.spec().name == name);
        found.map(AsRef::as_ref).ok_or_else(|| ToolError::Unknown {
            name: name.to_owned(),
            known: self
                .0
                .iter()
                .map(|tool| tool.spec().name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        })
    }
}

/// A text argument that has to be there.
fn text_of<'a>(arguments: &'a Value, name: &str) -> Result<&'a str, ToolError> {
    arguments[name].as_str().ok_or_else(|| ToolError::Arguments {
        problem: format!("{name} has to be a text"),
    })
}

/// A number argument that may be left out.
fn number_of(arguments: &Value, name: &str) -> Result<Option<usize>, ToolError> {
    match &arguments[name] {
        Value::Null => Ok(None),
        value @ (Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
            .map(Some)
            .ok_or_else(|| ToolError::Arguments {
                problem: format!("{name} has to be a whole number"),
            }),
    }
}
