//! The planner against llama.cpp's own answers, against cases that broke others, and against chance.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod cases;
mod catalog;
mod choices;
mod drafts;
mod fit;
mod goals;
mod machines;
mod oracle;
mod pace;
mod picks;
mod properties;
mod settings;
mod slots;
mod variants;
