use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Effect, Tool, ToolError};
use crate::ToolSpec;

/// What time it is: no model knows.
pub(super) struct Clock {
    spec: ToolSpec,
    now_s: fn() -> i64,
}

impl Clock {
    pub(super) fn new(now_s: fn() -> i64) -> Self {
        Self {
            spec: ToolSpec {
                name: "current_time".into(),
                description: "The current date, weekday and time, in UTC.".into(),
                parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
            },
            now_s,
        }
    }
}

impl Tool for Clock {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, _: &Value) -> Result<Effect, ToolError> {
        Ok(Effect::Nothing)
    }

    fn run(&self, _: Value, _: Effect) -> BoxFuture<'_, Result<String, ToolError>> {
        async move {
            let now =
                OffsetDateTime::from_unix_timestamp((self.now_s)()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
            // Every time within the calendar has this form.
            let text = now.format(&Rfc3339).unwrap_or_default();
            Ok(format!("{}, {text}", now.weekday()))
        }
        .boxed()
    }
}
