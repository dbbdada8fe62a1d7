//! Beats as bytes of one protocol.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::{Beat, Speaks, chat, messages, responses, schema};

/// What goes out, one after the other.
#[derive(Debug)]
pub(super) enum Out {
    Bytes(Bytes),
    /// Whoever has heard this may go.
    Last(Bytes),
    Pause(Duration),
    Hang,
    Cut,
}

/// The counts that a script holds, wherever it does: some protocols tell them first.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) prompt: u32,
    pub(super) cached: u32,
    pub(super) completion: u32,
}

pub(super) trait Encoder {
    /// The events for one beat that says something.
    fn beat(&mut self, beat: &Beat) -> Vec<Value>;
    /// One event as it stands in the stream.
    fn frame(&self, event: &Value) -> Bytes;
    /// What closes the stream, where that is no event.
    fn close(&mut self) -> Bytes;
}

/// # Panics
/// When the fake itself would say something that the real one's published types do not allow.
pub(super) fn encode(speaks: Speaks, beats: Vec<Beat>) -> Vec<Out> {
    let counts = beats
        .iter()
        .find_map(|beat| {
            let Beat::Usage {
                prompt,
                cached,
                completion,
            } = beat
            else {
                return None;
            };
            Some(Counts {
                prompt: *prompt,
                cached: *cached,
                completion: *completion,
            })
        })
        .unwrap_or_default();
    let mut encoder: Box<dyn Encoder> = match speaks {
        Speaks::Chat(_) => Box::new(chat::Chunks::default()),
        Speaks::Responses => Box::new(responses::Events::new(counts)),
        Speaks::Messages => Box::new(messages::Events::new(counts)),
    };
    let mut out = Vec::new();
    for beat in beats {
        match beat {
            Beat::Pause(time) => out.push(Out::Pause(time)),
            Beat::Hang => out.push(Out::Hang),
            Beat::Cut => out.push(Out::Cut),
            Beat::Raw(bytes) => out.push(Out::Bytes(Bytes::from(bytes))),
            Beat::Done => {
                let events = frames(&mut *encoder, speaks, &Beat::Done);
                out.extend(events.into_iter().map(Out::Bytes));
                out.push(Out::Last(encoder.close()));
            }
            beat @ (Beat::Text(_)
            | Beat::Reasoning(_)
            | Beat::Thought { .. }
            | Beat::Call { .. }
            | Beat::Progress { .. }
            | Beat::Finish(_)
            | Beat::Usage { .. }
            | Beat::NoUsage
            | Beat::Error(_)) => {
                out.extend(frames(&mut *encoder, speaks, &beat).into_iter().map(Out::Bytes));
            }
        }
    }
    out
}

fn frames(encoder: &mut dyn Encoder, speaks: Speaks, beat: &Beat) -> Vec<Bytes> {
    let events = encoder.beat(beat);
    for event in &events {
        // An error has its own form everywhere.
        if !matches!(beat, Beat::Error(_)) {
            schema::check_event(speaks, event);
        }
    }
    events.iter().map(|event| encoder.frame(event)).collect()
}

/// `text` in pieces of some letters, as a stream brings them.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|chunk| chunk.iter().collect()).collect()
}

pub(super) fn data(event: &Value) -> Bytes {
    Bytes::from(format!("data: {event}\n\n"))
}

pub(super) fn named(event: &Value) -> Bytes {
    let name = event["type"].as_str().unwrap_or("message");
    Bytes::from(format!("event: {name}\ndata: {event}\n\n"))
}
