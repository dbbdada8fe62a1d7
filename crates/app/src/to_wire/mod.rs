//! Domain values in the words of the contract. Plain functions: neither side may know the other.

mod chat;
mod engine;
mod findings;
mod library;
mod machine;
mod plan;

pub(crate) use chat::{
    branch, chat_end, conversation, conversation_summary, message, message_among, stored_end, tool_effect,
    tool_settings, turn_stats, usage_record,
};
pub(crate) use engine::{Planned, Plans, check, engine_build, host_libraries, router};
pub(crate) use library::{keeper, library_state, model_entry, odd};
pub(crate) use machine::{machine, machine_details, overrides_from, sample};
pub(crate) use plan::{plan, recommendation};

use plimsoll_wire::Reason;
use serde::Serialize;

/// The domain's reasons and notes serialise as `{code, params}` by themselves.
pub(crate) fn reason(told: &impl Serialize) -> Reason {
    let read = serde_json::to_value(told).and_then(serde_json::from_value);
    read.unwrap_or_else(|problem| {
        tracing::error!(%problem, "a reason without a code");
        Reason {
            code: "unknown".to_owned(),
            params: plimsoll_wire::Params::new(),
        }
    })
}
