//! HTTP by hand: a library would not let us send two `Host` headers or leave in the middle of an answer.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Long enough for a busy machine; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .unwrap_or_else(|_| panic!("{what} did not happen"))
}

/// An answer as far as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find_map(|(found, value)| (found == name).then_some(value.as_str()))
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {}", self.body))
    }
}

pub(crate) struct Talk {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Talk {
    /// Sends the head (its lines without the end) and the body.
    pub(crate) async fn start(port: u16, head: &[&str], body: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("\r\ncontent-length: {}", body.len())
        };
        let text = format!("{}{length}\r\n\r\n{body}", head.join("\r\n"));
        stream.write_all(text.as_bytes()).await.unwrap();
        Self {
            stream,
            read: Vec::new(),
        }
    }

    /// Reads until the text has come; what else came before stays in the buffer.
    pub(crate) async fn hear(&mut self, text: &str) {
        soon(text, async {
            while !String::from_utf8_lossy(&self.read).contains(text) {
                assert!(
                    self.more().await,
                    "closed before {text:?}: {}",
                    String::from_utf8_lossy(&self.read)
                );
            }
        })
        .await;
    }

    pub(crate) fn read_so_far(&self) -> String {
        String::from_utf8_lossy(&self.read).into_owned()
    }

    pub(crate) async fn until_the_end(mut self) -> String {
        soon("the end of the connection", async { while self.more().await {} }).await;
        String::from_utf8_lossy(&self.read).into_owned()
    }

    async fn more(&mut self) -> bool {
        self.stream.read_buf(&mut self.read).await.is_ok_and(|n| n > 0)
    }
}

/// One request with `Connection: close`.
pub(crate) async fn ask(port: u16, head: &[&str], body: &str) -> Answer {
    let mut lines = head.to_vec();
    lines.push("connection: close");
    let text = Talk::start(port, &lines, body).await.until_the_end().await;
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no head: {text:?}"));
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|code| code.parse().ok())
        .unwrap();
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    Answer {
        status,
        headers,
        body: body.to_owned(),
    }
}
