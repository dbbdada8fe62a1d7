//! Servers of other programs on this computer: a llama-server of the person's own, Ollama, LM Studio. Found by their
//! processes and by their ports, asked what they are and what they serve, and left alone: nothing here changes or ends
//! them.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use plimsoll_os::process;
use plimsoll_units::Bytes;
use serde_json::Value;

/// What answers on loopback answers at once, or is busy: then it is asked again with the next look.
const ANSWER_MAX: Duration = Duration::from_secs(2);
const BODY_MAX: usize = 4 << 20;
/// Models of one server that are told.
const MODELS_MAX: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Other {
    LlamaServer,
    Ollama,
    LmStudio,
}

impl Other {
    const fn usual_port(self) -> u16 {
        match self {
            Self::LlamaServer => 8080,
            Self::Ollama => 11434,
            Self::LmStudio => 1234,
        }
    }

    /// By the name of its program, without its path and ending.
    fn of_program(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "llama-server" => Some(Self::LlamaServer),
            "ollama" => Some(Self::Ollama),
            "lm studio" | "lm-studio" | "lmstudio" | "llmster" => Some(Self::LmStudio),
            _ => None,
        }
    }
}

/// A server that is not ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherServer {
    pub kind: Other,
    pub port: u16,
    /// Missing where its process cannot be seen, as in a container.
    pub pid: Option<u32>,
    /// What it and its children hold in the RAM.
    pub memory: Option<Bytes>,
    /// What it says to hold on devices.
    pub on_devices: Option<Bytes>,
    /// What it serves, in its own names.
    pub models: Vec<String>,
    /// It wants a key that we do not have.
    pub wants_key: bool,
}

/// A place to look at: a process that was seen, or a usual port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sight {
    pid: Option<u32>,
    kind: Other,
}

/// Looks for them. `ours` are the processes of our router, `also` more ports that somebody named for a kind.
pub async fn other_servers(http: &reqwest::Client, ours: &[u32], also: &[(Other, u16)]) -> Vec<OtherServer> {
    let mut sights: BTreeMap<u16, Sight> = BTreeMap::new();
    for (port, sight) in seen_processes(ours) {
        sights.entry(port).or_insert(sight);
    }
    let usual = [Other::LlamaServer, Other::Ollama, Other::LmStudio];
    let usual = usual.map(|kind| (kind, kind.usual_port()));
    for &(kind, port) in usual.iter().chain(also) {
        sights.entry(port).or_insert(Sight { pid: None, kind });
    }
    let asked = sights
        .into_iter()
        .map(|(port, sight)| async move { ask(http, port, sight).await });
    let found: Vec<Option<OtherServer>> = futures_util::future::join_all(asked).await;
    found.into_iter().flatten().collect()
}

/// By port. A server's own children are no servers of their own.
fn seen_processes(ours: &[u32]) -> Vec<(u16, Sight)> {
    let mut seen: Vec<(u32, Other)> = Vec::new();
    for pid in process::all() {
        let program = process::executable(pid).filter(|_| !ours.contains(&pid));
        let name = program.as_deref().and_then(|at| at.file_stem()?.to_str());
        if let Some(kind) = name.and_then(Other::of_program) {
            seen.push((pid, kind));
        }
    }
    let below: Vec<u32> = seen
        .iter()
        .flat_map(|(pid, _)| process::descendants(*pid))
        .collect();
    seen.retain(|(pid, _)| !below.contains(pid));
    seen.into_iter()
        .map(|(pid, kind)| {
            let port = port_in(&process::arguments(pid)).unwrap_or(kind.usual_port());
            (port, Sight { pid: Some(pid), kind })
        })
        .collect()
}

/// `--port N` or `--port=N`; the last one counts, as it does for the programs.
fn port_in(words: &[String]) -> Option<u16> {
    let apart = words
        .windows(2)
        .filter(|two| two[0] == "--port")
        .map(|two| two[1].as_str());
    let joined = words.iter().filter_map(|word| word.strip_prefix("--port="));
    apart
        .chain(joined)
        .filter_map(|port| port.parse().ok())
        .next_back()
}

async fn ask(http: &reqwest::Client, port: u16, sight: Sight) -> Option<OtherServer> {
    let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let mut server = OtherServer {
        kind: sight.kind,
        port,
        pid: sight.pid,
        memory: sight.pid.map(memory_of),
        on_devices: None,
        models: Vec::new(),
        wants_key: false,
    };
    match sight.kind {
        Other::LlamaServer => {
            let said = get(http, &at("/v1/models")).await?;
            // At a usual port anybody may answer.
            if sight.pid.is_none() && !said.is_llama {
                return None;
            }
            let health = get(http, &at("/slots")).await;
            server.wants_key = said.status == 401 || health.is_some_and(|health| health.status == 401);
            server.models = names(&said.body["data"], "id");
        }
        Other::Ollama => {
            let tags = get(http, &at("/api/tags"))
                .await
                .filter(|said| said.status == 200)?;
            tags.body["models"].as_array()?;
            server.models = names(&tags.body["models"], "name");
            let loaded = get(http, &at("/api/ps")).await;
            server.on_devices = loaded.map(|loaded| {
                let models = loaded.body["models"].as_array().cloned().unwrap_or_default();
                let each = models.iter().filter_map(|model| model["size_vram"].as_u64());
                each.map(Bytes).sum()
            });
        }
        Other::LmStudio => {
            // Its own address tells it from others that answer in the common form.
            let said = get(http, &at("/api/v0/models")).await?;
            server.wants_key = said.status == 401;
            if said.status != 200 && !server.wants_key {
                return None;
            }
            server.models = names(&said.body["data"], "id");
        }
    }
    Some(server)
}

fn memory_of(pid: u32) -> Bytes {
    let all = process::descendants(pid).into_iter().chain([pid]);
    all.filter_map(process::resident_bytes).sum()
}

fn names(list: &Value, field: &str) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .filter_map(|model| model[field].as_str())
        .take(MODELS_MAX)
        .map(str::to_owned)
        .collect()
}

struct SaidByOther {
    status: u16,
    is_llama: bool,
    body: Value,
}

async fn get(http: &reqwest::Client, url: &str) -> Option<SaidByOther> {
    let answer = async {
        let answer = http.get(url).send().await.ok()?;
        let status = answer.status().as_u16();
        let server = answer.headers().get(reqwest::header::SERVER);
        let is_llama = server.is_some_and(|server| server.as_bytes().starts_with(b"llama.cpp"));
        let mut body = Vec::new();
        let mut pieces = answer.bytes_stream();
        while let Some(piece) = pieces.next().await {
            body.extend_from_slice(&piece.ok()?);
            if body.len() > BODY_MAX {
                return None;
            }
        }
        let body = serde_json::from_slice(&body).unwrap_or_default();
        Some(SaidByOther {
            status,
            is_llama,
            body,
        })
    };
    tokio::time::timeout(ANSWER_MAX, answer).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers each path with a status, a header and a body; 404 elsewhere. Gives its port.
    async fn server(answers: &'static [(&'static str, u16, &'static str, &'static str)]) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let mut asked = vec![0; 4096];
                let read = connection.read(&mut asked).await.unwrap_or_default();
                let asked = String::from_utf8_lossy(&asked[..read]).into_owned();
                let path = asked.split(' ').nth(1).unwrap_or_default().to_owned();
                let found = answers.iter().find(|(at, ..)| *at == path);
                let (status, header, body) = found
                    .map_or((404, "x: y", "{}"), |(_, status, header, body)| {
                        (*status, *header, *body)
                    });
                let text = format!(
                    "HTTP/1.1 {status} X\r\n{header}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = connection.write_all(text.as_bytes()).await;
            }
        });
        port
    }

    async fn look(kind: Other, port: u16) -> Option<OtherServer> {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        ask(&http, port, Sight { pid: None, kind }).await
    }

    #[tokio::test]
    async fn each_is_known_by_its_own_words() {
        let ollama = server(&[
            ("/api/tags", 200, "x: y", r#"{"models":[{"name":"llama3.2:3b"}]}"#),
            (
                "/api/ps",
                200,
                "x: y",
                r#"{"models":[{"size_vram":4000},{"size_vram":96}]}"#,
            ),
        ])
        .await;
        let found = look(Other::Ollama, ollama).await.unwrap();
        assert_eq!(
            (found.models, found.on_devices),
            (vec!["llama3.2:3b".to_owned()], Some(Bytes(4096)))
        );
        let studio = server(&[("/api/v0/models", 200, "x: y", r#"{"data":[{"id":"qwen3"}]}"#)]).await;
        assert_eq!(look(Other::LmStudio, studio).await.unwrap().models, ["qwen3"]);
        let llama = server(&[
            (
                "/v1/models",
                200,
                "server: llama.cpp",
                r#"{"data":[{"id":"a"},{"id":"b"}]}"#,
            ),
            ("/slots", 401, "server: llama.cpp", "{}"),
        ])
        .await;
        let found = look(Other::LlamaServer, llama).await.unwrap();
        assert!(found.wants_key, "the list needs none, work does");
        assert_eq!(found.models, ["a", "b"]);
    }

    #[tokio::test]
    async fn what_else_answers_at_a_usual_port_is_none_of_them() {
        let page = server(&[("/v1/models", 200, "server: nginx", "<html>")]).await;
        for kind in [Other::LlamaServer, Other::Ollama, Other::LmStudio] {
            assert_eq!(look(kind, page).await, None, "{kind:?}");
            assert_eq!(look(kind, 1).await, None, "nobody listens");
        }
    }

    #[test]
    fn the_port_is_the_one_the_program_takes() {
        let port = |words: &str| port_in(&words.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(port("llama-server -m x --port 9000"), Some(9000));
        assert_eq!(port("llama-server --port=9000 -m x"), Some(9000));
        assert_eq!(port("llama-server -m x"), None);
        assert_eq!(port("llama-server --port"), None);
    }
}
