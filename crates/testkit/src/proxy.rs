//! A fake proxy: lets through what it knows the way to, or refuses; tunnels and forwards as real ones do.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Longer heads than this are no request of ours.
const HEAD_MAX: usize = 64 << 10;

#[derive(Debug, Default)]
struct Knows {
    /// Where a name leads to.
    ways: BTreeMap<String, SocketAddr>,
    /// The status that everybody gets instead.
    refuses: Option<u16>,
    asked: Vec<String>,
}

/// The running proxy. It stops when dropped.
#[derive(Debug)]
pub struct FakeProxy {
    at: SocketAddr,
    knows: Arc<Mutex<Knows>>,
    _stop: DropGuard,
}

impl FakeProxy {
    /// # Panics
    /// When no loopback port can be had.
    #[expect(
        clippy::disallowed_methods,
        reason = "all of it ends with the token of the fake"
    )]
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let at = listener.local_addr().expect("a bound socket");
        let knows = Arc::new(Mutex::new(Knows::default()));
        let stop = CancellationToken::new();
        let (for_all, until) = (Arc::clone(&knows), stop.clone());
        tokio::spawn(until.clone().run_until_cancelled_owned(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (knows, until) = (Arc::clone(&for_all), until.clone());
                tokio::spawn(until.run_until_cancelled_owned(async move {
                    // A client that goes away is no fault of the proxy.
                    let _ = serve(client, &knows).await;
                }));
            }
        }));
        Self {
            at,
            knows,
            _stop: stop.drop_guard(),
        }
    }

    /// What `HTTPS_PROXY` has to be.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    /// Whoever asks for this name gets there, whatever the port.
    ///
    /// # Panics
    /// When `to` is no `scheme://ADDRESS:PORT`.
    pub fn way(&self, name: &str, to: &str) {
        let to = to
            .rsplit('/')
            .next()
            .and_then(|at| at.replace("localhost", "127.0.0.1").parse().ok());
        self.knows()
            .ways
            .insert(name.to_owned(), to.expect("an address with a port"));
    }

    /// Everybody is refused with this status from now on.
    pub fn refuse(&self, status: u16) {
        self.knows().refuses = Some(status);
    }

    /// What was asked for so far, as it was asked: `CONNECT name:443`, `GET http://name/…`.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.knows().asked.clone()
    }

    fn knows(&self) -> std::sync::MutexGuard<'_, Knows> {
        self.knows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(mut client: TcpStream, knows: &Mutex<Knows>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_MAX {
        head.push(client.read_u8().await?);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut words = text.split_ascii_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let place = target.strip_prefix("http://").unwrap_or(target);
    let place = place.split('/').next().unwrap_or_default();
    let name = place.rsplit_once(':').map_or(place, |(name, _)| name).to_owned();
    let (refused, way) = {
        let mut knows = knows.lock().unwrap_or_else(PoisonError::into_inner);
        knows.asked.push(format!("{method} {target}"));
        (knows.refuses, knows.ways.get(&name).copied())
    };
    let status = refused.or(way.is_none().then_some(502));
    let (Some(way), None) = (way, status) else {
        let said = format!(
            "HTTP/1.1 {} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            status.unwrap_or(502)
        );
        return client.write_all(said.as_bytes()).await;
    };
    let mut server = TcpStream::connect(way).await?;
    if method == "CONNECT" {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    } else {
        // The server takes the whole address as well as its path.
        server.write_all(&head).await?;
    }
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}
