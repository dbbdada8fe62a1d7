//! Calls that a model made, done: each with its time, all of them at once, none without being allowed.

use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use serde_json::Value;

use super::{Approval, Approver, Effect, ToolError, Toolbox};
use crate::{ToolCall, ToolResult};

/// What the work on one question may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// How often the model may call and be answered. Then it has to answer with what it has.
    pub rounds_max: u32,
    /// Of one call.
    pub time_max: Duration,
    /// Of one result. What is longer is cut, and says so.
    pub result_bytes_max: usize,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            rounds_max: 16,
            time_max: Duration::from_mins(1),
            result_bytes_max: 32 << 10,
        }
    }
}

/// The tools of a turn and who allows their calls.
#[derive(Clone, Copy)]
pub struct TurnTools<'a> {
    pub toolbox: &'a Toolbox,
    pub approver: &'a dyn Approver,
    pub limits: ToolLimits,
}

/// A call that is understood, or why it is not.
type Planned = Result<(Value, Effect), ToolError>;

impl TurnTools<'_> {
    /// The result of every call, in their order. What needs the person is asked one after the other, the work
    /// itself is done side by side. Dropping this stops all of it.
    pub(crate) async fn all(&self, calls: &[ToolCall]) -> Vec<ToolResult> {
        let mut planned = Vec::with_capacity(calls.len());
        for call in calls {
            let plan = self.plan(call);
            let allowed = match plan {
                Ok((arguments, effect)) if effect.is_harmless() => Ok((arguments, effect)),
                Ok((arguments, effect)) => match self.approver.ask(call, &effect).await {
                    Approval::Allowed => Ok((arguments, effect)),
                    Approval::Refused => Err(ToolError::NotAllowed),
                },
                Err(error) => Err(error),
            };
            planned.push(allowed);
        }
        join_all(
            calls
                .iter()
                .zip(planned)
                .map(|(call, planned)| self.one(call, planned)),
        )
        .await
    }

    fn plan(&self, call: &ToolCall) -> Planned {
        let tool = self.toolbox.find(&call.name)?;
        let arguments: Value =
            serde_json::from_str(&call.arguments).map_err(|error| ToolError::Arguments {
                problem: format!("they are no JSON: {error}"),
            })?;
        if !arguments.is_object() {
            return Err(ToolError::Arguments {
                problem: "they are no JSON object".into(),
            });
        }
        let effect = tool.plan(&arguments)?;
        Ok((arguments, effect))
    }

    async fn one(&self, call: &ToolCall, planned: Planned) -> ToolResult {
        let done = match planned {
            Ok((arguments, effect)) => self.run(call, arguments, effect).await,
            Err(error) => Err(error),
        };
        let (text, failed) = match done {
            Ok(text) => (self.within(text), false),
            Err(error) => (error.to_string(), true),
        };
        ToolResult {
            call: call.id.clone(),
            text,
            failed,
        }
    }

    async fn run(&self, call: &ToolCall, arguments: Value, effect: Effect) -> Result<String, ToolError> {
        let tool = self.toolbox.find(&call.name)?;
        let running = AssertUnwindSafe(tool.run(arguments, effect)).catch_unwind();
        match tokio::time::timeout(self.limits.time_max, running).await {
            Ok(Ok(done)) => done,
            // A defect of one tool is no reason to lose the answer.
            Ok(Err(_)) => Err(ToolError::Arguments {
                problem: "the tool stopped on a defect".into(),
            }),
            Err(_) => Err(ToolError::TooSlow {
                seconds: self.limits.time_max.as_secs(),
            }),
        }
    }

    /// Never cut in silence.
    fn within(&self, mut text: String) -> String {
        let whole = text.len();
        if whole <= self.limits.result_bytes_max {
            return text;
        }
        text.truncate(text.floor_char_boundary(self.limits.result_bytes_max));
        let kept = text.len();
        // Writing into a String cannot fail.
        let _ = write!(text, "\n[Cut here: {kept} of {whole} bytes are shown.]");
        text
    }
}
