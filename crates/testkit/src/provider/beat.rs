use std::time::Duration;

use serde_json::{Value, json};

/// One thing that the server does while it answers.
#[derive(Debug, Clone)]
pub enum Beat {
    Text(String),
    Reasoning(String),
    /// A whole thought with its seal: a signature, an encrypted item, or sealed details, as the protocol has it.
    Thought {
        text: String,
        seal: String,
    },
    /// A whole call, streamed in pieces.
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    Progress {
        done: u32,
        total: u32,
    },
    /// The reason to finish, by its name on Chat Completions.
    Finish(&'static str),
    /// The counts: no choices, usage and (llama-server) timings.
    Usage {
        prompt: u32,
        cached: u32,
        completion: u32,
    },
    /// The last chunk of a server that counts nothing.
    NoUsage,
    Done,
    Pause(Duration),
    /// Holds the answer back until the client goes away.
    Hang,
    /// An error in a stream that began with 200.
    Error(Value),
    /// These bytes, whatever they are.
    Raw(Vec<u8>),
    /// Closes the connection in the middle.
    Cut,
}

impl Beat {
    #[must_use]
    pub fn call(id: &str, name: &str, arguments: &Value) -> Self {
        Self::Call {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        }
    }
}

/// A scripted reply to one request.
#[derive(Debug, Clone)]
pub enum Reply {
    Stream(Vec<Beat>),
    /// A status and a body instead of a stream.
    Refuse(u16, Value),
    /// The same with a header.
    RefuseWith(u16, (&'static str, String), Value),
}

impl Reply {
    /// A whole good answer: progress, the words one by one, the finish, usage.
    #[must_use]
    pub fn words(words: &[&str]) -> Self {
        let mut beats = vec![
            Beat::Progress { done: 0, total: 20 },
            Beat::Progress { done: 20, total: 20 },
        ];
        beats.extend(words.iter().map(|word| Beat::Text((*word).to_owned())));
        let completion = u32::try_from(words.len()).expect("few words");
        beats.extend(Self::ending("stop", 20, 4, completion));
        Self::Stream(beats)
    }

    /// An answer that calls tools.
    #[must_use]
    pub fn calls(calls: impl IntoIterator<Item = Beat>) -> Self {
        let mut beats: Vec<Beat> = calls.into_iter().collect();
        beats.extend(Self::ending("tool_calls", 20, 4, 5));
        Self::Stream(beats)
    }

    /// The finish, the counts, and the end.
    #[must_use]
    pub fn ending(reason: &'static str, prompt: u32, cached: u32, completion: u32) -> [Beat; 3] {
        [
            Beat::Finish(reason),
            Beat::Usage {
                prompt,
                cached,
                completion,
            },
            Beat::Done,
        ]
    }

    /// llama-server's answer to a request that does not fit, on all of its protocols.
    #[must_use]
    pub fn overflow(prompt: u32, window: u32) -> Self {
        let error = json!({
            "code": 400,
            "message": format!("request ({prompt} tokens) exceeds the available context size ({window} tokens), try increasing it"),
            "type": "exceed_context_size_error",
            "n_prompt_tokens": prompt,
            "n_ctx": window,
        });
        Self::Refuse(400, json!({ "error": error }))
    }
}
