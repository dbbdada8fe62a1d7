//! A model's server without a model: an OpenAI-shaped `/v1/chat/completions` on loopback that plays scripted
//! answers and checks every request that it gets.
#![expect(
    clippy::missing_panics_doc,
    reason = "a broken expectation is a failed test, everywhere here"
)]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::watch;

const DONE: &[u8] = b"data: [DONE]\n\n";

/// One thing that the server does while it answers.
#[derive(Debug, Clone)]
pub enum Beat {
    Text(String),
    Reasoning(String),
    Progress {
        done: u32,
        total: u32,
    },
    /// The chunk with `finish_reason`.
    Finish(&'static str),
    /// The last chunk: no choices, usage and timings in the way of llama-server.
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
    /// `data: {"error": …}` in a stream that began with 200.
    Error(Value),
    /// These bytes, whatever they are.
    Raw(Vec<u8>),
    /// Closes the connection in the middle.
    Cut,
}

/// A scripted reply to one request.
#[derive(Debug, Clone)]
pub enum Reply {
    Stream(Vec<Beat>),
    /// A status and a body instead of a stream.
    Refuse(u16, Value),
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
        beats.push(Beat::Finish("stop"));
        let completion = u32::try_from(words.len()).expect("few words");
        beats.push(Beat::Usage {
            prompt: 20,
            cached: 4,
            completion,
        });
        beats.push(Beat::Done);
        Self::Stream(beats)
    }

    /// llama-server's answer to a request that does not fit.
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

#[derive(Default)]
struct Script {
    replies: VecDeque<Reply>,
    requests: Vec<Value>,
    complaints: Vec<String>,
}

#[derive(Clone)]
struct Stage {
    script: Arc<Mutex<Script>>,
    key: Option<String>,
    /// How many answers the client left before their end.
    left: Arc<watch::Sender<usize>>,
}

/// The running fake. Dropping it fails the test when a request was wrong, or when a scripted reply was never
/// asked for.
pub struct Provider {
    address: SocketAddr,
    stage: Stage,
    server: tokio::task::JoinHandle<()>,
}

impl Provider {
    /// Answers one request after another with these replies; one more request is a complaint.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start_with(replies, None).await
    }

    /// The same behind a key: a request without it gets 401, as llama-server answers.
    pub async fn start_with_key(replies: impl IntoIterator<Item = Reply>, key: &str) -> Self {
        Self::start_with(replies, Some(key.to_owned())).await
    }

    async fn start_with(replies: impl IntoIterator<Item = Reply>, key: Option<String>) -> Self {
        let script = Script {
            replies: replies.into_iter().collect(),
            ..Script::default()
        };
        let stage = Stage {
            script: Arc::new(Mutex::new(script)),
            key,
            left: Arc::new(watch::Sender::new(0)),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a loopback port");
        let address = listener.local_addr().expect("an address");
        let app = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(stage.clone());
        let serving = async move {
            axum::serve(listener, app)
                .await
                .expect("the fake provider serves");
        };
        #[expect(clippy::disallowed_methods, reason = "a test's own server, ended by Drop")]
        let server = tokio::spawn(serving);
        Self {
            address,
            stage,
            server,
        }
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bodies of all requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.stage
            .script
            .lock()
            .expect("no test panics here")
            .requests
            .clone()
    }

    /// The one request that was made.
    #[must_use]
    pub fn only_request(&self) -> Value {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "exactly one request was made");
        requests.remove(0)
    }

    /// Adds a reply to the script.
    pub fn then(&self, reply: Reply) {
        self.stage
            .script
            .lock()
            .expect("no test panics here")
            .replies
            .push_back(reply);
    }

    /// Waits until the client has left `count` answers before their end.
    pub async fn left(&self, count: usize) {
        let mut left = self.stage.left.subscribe();
        tokio::time::timeout(Duration::from_secs(20), left.wait_for(|left| *left >= count))
            .await
            .expect("the client closes its connection")
            .expect("the fake provider lives");
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
        if std::thread::panicking() {
            return;
        }
        let script = self.stage.script.lock().expect("no test panics here");
        assert!(
            script.complaints.is_empty(),
            "the real server would refuse this: {:?}",
            script.complaints
        );
        assert!(
            script.replies.is_empty(),
            "{} scripted replies were never asked for",
            script.replies.len()
        );
    }
}

async fn answer(State(stage): State<Stage>, headers: HeaderMap, Json(request): Json<Value>) -> Response {
    if let Some(key) = &stage.key
        && headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            != Some(&format!("Bearer {key}"))
    {
        let error = json!({"code": 401, "message": "Invalid API Key", "type": "authentication_error"});
        return (StatusCode::UNAUTHORIZED, Json(json!({ "error": error }))).into_response();
    }
    let reply = {
        let mut script = stage.script.lock().expect("no test panics here");
        let complaints = complaints(&request);
        let wrong = !complaints.is_empty();
        script.complaints.extend(complaints);
        script.requests.push(request);
        if wrong {
            return (
                StatusCode::BAD_REQUEST,
                Json(json!({"error": {"message": "see the test's complaint"}})),
            )
                .into_response();
        }
        let reply = script.replies.pop_front();
        if reply.is_none() {
            script
                .complaints
                .push("one request more than was scripted".to_owned());
        }
        reply
    };
    match reply {
        Some(Reply::Stream(beats)) => {
            let watched = Watched {
                inner: play(beats).boxed(),
                left: Some(Arc::clone(&stage.left)),
            };
            (
                [(header::CONTENT_TYPE, "text/event-stream")],
                Body::from_stream(watched),
            )
                .into_response()
        }
        Some(Reply::Refuse(status, body)) => {
            (StatusCode::from_u16(status).expect("a status"), Json(body)).into_response()
        }
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// What is wrong with a request: the rules of the strictest chat templates, and our own about streaming.
fn complaints(request: &Value) -> Vec<String> {
    const KNOWN: [&str; 11] = [
        "model",
        "messages",
        "stream",
        "stream_options",
        "return_progress",
        "id_slot",
        "max_tokens",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
    ];
    let mut wrong = Vec::new();
    for name in request.as_object().into_iter().flat_map(|body| body.keys()) {
        if !KNOWN.contains(&name.as_str()) {
            wrong.push(format!("unknown field {name}"));
        }
    }
    if request["model"].as_str().is_none_or(str::is_empty) {
        wrong.push("no model".to_owned());
    }
    for (what, is) in [
        ("stream", &request["stream"]),
        (
            "stream_options.include_usage",
            &request["stream_options"]["include_usage"],
        ),
        ("return_progress", &request["return_progress"]),
    ] {
        if *is != true {
            wrong.push(format!("{what} is {is}"));
        }
    }
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let roles: Vec<&str> = messages
        .iter()
        .map(|message| message["role"].as_str().unwrap_or_default())
        .collect();
    let spoken = if roles.first() == Some(&"system") {
        &roles[1..]
    } else {
        &roles[..]
    };
    if spoken.is_empty()
        || spoken
            .iter()
            .enumerate()
            .any(|(n, role)| *role != ["user", "assistant"][n % 2])
    {
        wrong.push(format!(
            "roles must alternate, beginning with the user: {roles:?}"
        ));
    }
    if spoken.len().is_multiple_of(2) {
        wrong.push("the last message is not the user's".to_owned());
    }
    if messages
        .iter()
        .any(|message| message["content"].as_str().is_none_or(str::is_empty))
    {
        wrong.push("a message without content".to_owned());
    }
    wrong
}

fn play(beats: Vec<Beat>) -> impl Stream<Item = Result<Bytes, std::io::Error>> {
    stream::iter(beats).then(|beat| async {
        match beat {
            Beat::Text(text) => Ok(delta(&json!({ "content": text }))),
            Beat::Reasoning(text) => Ok(delta(&json!({ "reasoning_content": text }))),
            Beat::Progress { done, total } => Ok(data(&json!({
                "choices": [{"finish_reason": null, "index": 0, "delta": {"role": "assistant", "content": null}}],
                "prompt_progress": {"total": total, "cache": 0, "processed": done, "time_ms": 1},
            }))),
            Beat::Finish(reason) => {
                Ok(data(&json!({"choices": [{"finish_reason": reason, "index": 0, "delta": {}}]})))
            }
            Beat::Usage { prompt, cached, completion } => Ok(data(&json!({
                "choices": [],
                "usage": {
                    "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
                    "prompt_tokens_details": {"cached_tokens": cached},
                },
                "timings": {
                    "cache_n": cached, "prompt_n": prompt - cached, "predicted_n": completion,
                    "prompt_per_second": 400.0, "predicted_per_second": 25.0,
                },
            }))),
            Beat::NoUsage => Ok(data(&json!({
                "choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            }))),
            Beat::Done => Ok(Bytes::from_static(DONE)),
            Beat::Pause(time) => {
                tokio::time::sleep(time).await;
                Ok(Bytes::from_static(b":\n\n"))
            }
            Beat::Hang => std::future::pending().await,
            Beat::Error(error) => Ok(data(&json!({ "error": error }))),
            Beat::Raw(bytes) => Ok(Bytes::from(bytes)),
            Beat::Cut => {
                // Let the server flush what came before, as a real one would have.
                tokio::time::sleep(Duration::from_millis(50)).await;
                Err(std::io::Error::other("cut by the script"))
            }
        }
    })
}

fn delta(delta: &Value) -> Bytes {
    data(&json!({"choices": [{"finish_reason": null, "index": 0, "delta": delta}]}))
}

fn data(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

/// Sees whether a body was read to its end or left before.
struct Watched {
    inner: Pin<Box<dyn Stream<Item = Result<Bytes, std::io::Error>> + Send>>,
    left: Option<Arc<watch::Sender<usize>>>,
}

impl Stream for Watched {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.inner.poll_next_unpin(cx);
        match &next {
            Poll::Ready(None | Some(Err(_))) => self.left = None,
            // Whoever has heard the end may go.
            Poll::Ready(Some(Ok(bytes))) if bytes.as_ref() == DONE => self.left = None,
            Poll::Ready(Some(Ok(_))) | Poll::Pending => {}
        }
        next
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(left) = self.left.take() {
            left.send_modify(|left| *left += 1);
        }
    }
}
