//! One conversation over any route: what is sent, what streams back, how a turn ends, what it took.
//!
//! A [`Route`] leads to a model over one of three protocols, in the dialect that its entry in the catalog
//! names; [`RouteModel`] asks there. A [`Turn`] asks a [`ChatModel`] and always ends with exactly one
//! [`TurnEvent::End`], whatever happened. Requests and answers have one form of their own ([`Transcript`],
//! [`Item`]), which the adapters turn into bytes: an equal request is equal bytes, over restarts and processes.
//!
//! Never stores anything, never starts an engine, never sends a request again without telling it. Numbers
//! that a server did not give are `None`, never 0. What is sent for a row depends on that row alone, so that
//! a growing conversation keeps its prefix and the server's cache keeps its worth.

pub mod context;
mod error;
mod model;
mod request;
mod route;
mod sorted;
mod tools;
mod transcript;
mod turn;
mod usage;

pub use error::{ModelError, Refusal, Unsendable};
pub use model::{Answer, ChatModel, FinishReason, Piece, Pieces};
pub use request::{Effort, Format, Request, Sampling, Thinking, ToolChoice, ToolSpec};
pub use route::{Limits, Route, RouteModel, list_models};
pub use tools::{Approval, Approver, Effect, Tool, ToolError, ToolLimits, Toolbox, TurnTools};
pub use transcript::{
    Extra, Image, ImageFormat, Item, Losses, Part, Reasoning, Row, SYSTEM_PROMPT, Seal, SecondMarker,
    ToolCall, ToolResult, Transcript, losses,
};
pub use turn::{End, Patience, Turn, TurnEvent, TurnFigures};
pub use usage::{Cost, Speed, Usage};
