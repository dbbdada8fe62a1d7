//! A fake Hugging Face hub: two real servers on loopback, the hub itself and the CDN it redirects to.
//!
//! It answers like the real one (resolve with `X-Linked-*` and `X-Repo-Commit`, signed links that expire,
//! repository info, trees, error codes), fails on demand, and complains about requests that the real one
//! would refuse. A complaint that nobody took fails the test when the hub is dropped.

mod answer;
mod api;
mod fault;
mod repo;
mod serve;
mod weather;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::tls::{Authority, TlsListener};
pub use fault::{At, Fault};
pub use repo::{FakeFile, RepoFacts};
use serve::Shared;
pub use weather::Weather;

/// One request, as the fake saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub at: At,
    pub method: String,
    pub path: String,
    pub range: Option<String>,
    pub if_range: Option<String>,
    /// The request carried an `Authorization` header.
    pub token: bool,
}

/// The running fake. It stops when dropped.
pub struct FakeHub {
    hub: SocketAddr,
    cdn: SocketAddr,
    shared: Arc<Shared>,
    running: Mutex<CancellationToken>,
    tls: Option<TlsAcceptor>,
}

impl std::fmt::Debug for FakeHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FakeHub")
            .field("endpoint", &self.endpoint())
            .finish_non_exhaustive()
    }
}

impl FakeHub {
    /// Starts both servers on free loopback ports.
    ///
    /// # Panics
    /// When no loopback port can be had.
    pub async fn start() -> Self {
        Self::start_with(None).await
    }

    /// The same by https, under `localhost`, `127.0.0.1` and these names; `authority` vouches for it.
    ///
    /// # Panics
    /// When no loopback port can be had.
    pub async fn start_tls(authority: &Authority, names: &[&str]) -> Self {
        Self::start_with(Some(authority.acceptor(names))).await
    }

    async fn start_with(tls: Option<TlsAcceptor>) -> Self {
        let hub = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let cdn = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let fake = Self {
            hub: hub.local_addr().expect("a bound socket"),
            cdn: cdn.local_addr().expect("a bound socket"),
            shared: Arc::new(Shared::default()),
            running: Mutex::new(CancellationToken::new()),
            tls,
        };
        fake.run(hub, cdn);
        fake
    }

    fn run(&self, hub: TcpListener, cdn: TcpListener) {
        let stop = CancellationToken::new();
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = stop.clone();
        let cdn_at = format!("{}://{}", self.scheme(), self.cdn);
        match &self.tls {
            None => self.shared.serve(hub, cdn, &cdn_at, &stop),
            Some(acceptor) => {
                let tls = |listener| TlsListener {
                    listener,
                    acceptor: acceptor.clone(),
                };
                self.shared.serve(tls(hub), tls(cdn), &cdn_at, &stop);
            }
        }
    }

    const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// What `HF_ENDPOINT` has to be.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("{}://{}", self.scheme(), self.hub)
    }

    /// Adds a commit on top of what `main` of this repository holds and returns its id.
    #[must_use = "the id is what the files are pinned by"]
    pub fn commit(&self, repo: &str, files: &[(&str, FakeFile)]) -> String {
        self.shared.repos().commit(repo, files)
    }

    /// As [`Self::commit`], with an id that is known beforehand: a catalog pins its files by it.
    pub fn commit_as(&self, repo: &str, id: &str, files: &[(&str, FakeFile)]) {
        let mut repos = self.shared.repos();
        repos.commit(repo, files);
        repos.rename_last(repo, id);
    }

    /// The repository answers only requests with this token.
    pub fn gate(&self, repo: &str, token: &str) {
        self.shared.repos().gate(repo, token);
    }

    /// The terms of this repository have to be accepted: its files answer only requests with this token, as at
    /// the real hub, where everybody sees their names.
    pub fn ask_terms(&self, repo: &str, token: &str) {
        self.shared.repos().set_terms(repo, token);
    }

    /// What the hub tells of a repository in a search.
    pub fn tell(&self, repo: &str, facts: RepoFacts) {
        self.shared.repos().set_facts(repo, facts);
    }

    /// Every question to the JSON interface is answered with exactly this from now on.
    pub fn say(&self, json: impl Into<Bytes>) {
        *self.shared.said.lock().unwrap_or_else(PoisonError::into_inner) = Some(json.into());
    }

    /// Hosts a file the way GitHub hosts release assets: the address redirects to the CDN, without an `ETag`
    /// of its own.
    #[must_use = "the address is the point"]
    pub fn release(&self, path: &str, bytes: impl Into<Bytes>) -> String {
        self.shared.repos().release(path, bytes.into());
        format!("{}/releases/{path}", self.endpoint())
    }

    /// The next request at this place fails so; several calls queue up.
    pub fn next(&self, at: At, fault: Fault) {
        self.shared.faults().next(at, fault);
    }

    /// Every request at this place fails so, until [`Self::heal`].
    pub fn always(&self, at: At, fault: Fault) {
        self.shared.faults().always(at, fault);
    }

    /// No more faults.
    pub fn heal(&self) {
        self.shared.faults().clear();
    }

    /// Signed links given out so far are refused with 403 from now on.
    pub fn expire_links(&self) {
        self.shared.expire_links();
    }

    /// Bodies leave in pieces of this size with a pause after each; `None` for as fast as it goes.
    pub fn pace(&self, pace: Option<(usize, Duration)>) {
        *self.shared.pace.lock().unwrap_or_else(PoisonError::into_inner) = pace;
    }

    /// The line to both servers from now on.
    pub fn weather(&self, weather: Weather) {
        self.shared.sky.set(weather);
    }

    /// The next answer that holds this byte of a file fails so.
    pub fn at_byte(&self, byte: u64, fault: Fault) {
        self.shared.faults().at_byte(byte, fault);
    }

    /// The most bodies that were on their way at once.
    pub fn busiest(&self) -> u64 {
        self.shared.sky.busiest()
    }

    /// Both ports refuse connections, and running answers break off.
    pub fn down(&self) {
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .cancel();
    }

    /// Back on the same ports.
    ///
    /// # Panics
    /// When somebody else took a port meanwhile.
    pub async fn up(&self) {
        let hub = TcpListener::bind(self.hub).await.expect("the same port");
        let cdn = TcpListener::bind(self.cdn).await.expect("the same port");
        self.run(hub, cdn);
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The requests at one place.
    pub fn seen_at(&self, at: At) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.at == at).collect()
    }

    /// Bytes of file content that left, over all answers.
    pub fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::Relaxed)
    }

    /// Takes what the fake did not like about our requests. What is left fails the test.
    #[must_use = "complaints that are taken have to be looked at"]
    pub fn complaints(&self) -> Vec<String> {
        std::mem::take(
            &mut self
                .shared
                .complaints
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

impl Drop for FakeHub {
    fn drop(&mut self) {
        self.down();
        let complaints = self.complaints();
        assert!(
            complaints.is_empty() || std::thread::panicking(),
            "a real hub would not have liked this:\n{}",
            complaints.join("\n")
        );
    }
}
