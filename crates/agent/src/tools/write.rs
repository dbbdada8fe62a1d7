//! Writing within the chosen folders.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_os::files;
use serde_json::{Value, json};

use super::folders::Folders;
use super::look::text_in;
use super::{Effect, Tool, ToolError, text_of};
use crate::ToolSpec;

pub(super) struct Write {
    spec: ToolSpec,
    folders: Arc<Folders>,
}

pub(super) struct Edit {
    spec: ToolSpec,
    folders: Arc<Folders>,
}

impl Write {
    pub(super) fn new(folders: Arc<Folders>) -> Self {
        Self {
            spec: ToolSpec {
                name: "write_file".into(),
                description: "Writes a whole text file, new or in place of the old one.".into(),
                parameters: json!({
                    "type": "object",
                    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                    "required": ["path", "content"],
                    "additionalProperties": false,
                }),
            },
            folders,
        }
    }
}

impl Edit {
    pub(super) fn new(folders: Arc<Folders>) -> Self {
        Self {
            spec: ToolSpec {
                name: "edit_file".into(),
                description:
                    "Replaces one piece of a text file. The old piece has to stand there exactly once.".into(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "path": {"type": "string"}, "old": {"type": "string"}, "new": {"type": "string"},
                    },
                    "required": ["path", "old", "new"],
                    "additionalProperties": false,
                }),
            },
            folders,
        }
    }
}

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: &Value) -> Result<Effect, ToolError> {
        let path = self.folders.place(text_of(arguments, "path")?)?;
        Ok(Effect::Writes {
            before: path.exists().then(|| text_in(&path)).transpose()?,
            after: text_of(arguments, "content")?.to_owned(),
            path,
        })
    }

    fn run(&self, _: Value, planned: Effect) -> BoxFuture<'_, Result<String, ToolError>> {
        async move { carry_out(planned) }.boxed()
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: &Value) -> Result<Effect, ToolError> {
        let path = self.folders.find(text_of(arguments, "path")?)?;
        let (old, new) = (text_of(arguments, "old")?, text_of(arguments, "new")?);
        let before = text_in(&path)?;
        match before.matches(old).count() {
            1 if !old.is_empty() => Ok(Effect::Writes {
                after: before.replacen(old, new, 1),
                before: Some(before),
                path,
            }),
            times => Err(ToolError::Arguments {
                problem: format!("the old piece stands there {times} times, not once"),
            }),
        }
    }

    fn run(&self, _: Value, planned: Effect) -> BoxFuture<'_, Result<String, ToolError>> {
        async move { carry_out(planned) }.boxed()
    }
}

/// Does what the person saw, and nothing else: a file that changed meanwhile is left as it is.
fn carry_out(planned: Effect) -> Result<String, ToolError> {
    let Effect::Writes { path, before, after } = planned else {
        return Ok(String::new());
    };
    let now = path.exists().then(|| text_in(&path)).transpose()?;
    if now != before {
        return Err(ToolError::File {
            path: path.display().to_string(),
            problem: "it has changed since this was planned; look at it again".into(),
        });
    }
    files::replace(&path, after.as_bytes()).map_err(|error| ToolError::File {
        path: path.display().to_string(),
        problem: error.to_string(),
    })?;
    Ok(format!("Written: {} bytes.", after.len()))
}
