//! One listener and the job that serves it.

use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use plimsoll_os::jobs::{Job, Root};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::bind;
use crate::error::WebError;

/// How long answers that are under way may take to notice that we end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A port that is ours, before anything answers on it.
pub(crate) struct Listening {
    listener: TcpListener,
    pub(crate) port: u16,
    pub(crate) stop: CancellationToken,
    root: Root,
}

impl Listening {
    pub(crate) async fn on(port: u16) -> Result<Self, WebError> {
        let (listener, port) = bind::loopback(port).await?;
        let root = Root::new();
        Ok(Self {
            listener,
            port,
            stop: root.scope().token(),
            root,
        })
    }

    pub(crate) fn serve(self, router: Router) -> Serving {
        // Without it small pieces of a stream wait for each other.
        let listener = self.listener.tap_io(|connection| {
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "a connection keeps its delay");
            }
        });
        let job = self.root.scope().start(|stop| async move {
            let ended = stop.clone();
            let serving = axum::serve(listener, router)
                .with_graceful_shutdown(async move { ended.cancelled().await })
                .into_future();
            tokio::select! {
                served = serving => served.unwrap_or_else(|error| tracing::error!(%error, "the listener failed")),
                () = async { stop.cancelled().await; tokio::time::sleep(LAST_WORDS).await } => {}
            }
        });
        Serving {
            job,
            _root: self.root,
        }
    }
}

/// Answers until it is ended or dropped.
pub(crate) struct Serving {
    job: Job<()>,
    _root: Root,
}

impl Serving {
    pub(crate) async fn end(self) {
        if let Err(error) = self.job.stop().await {
            tracing::error!(%error, "serving ended badly");
        }
    }
}
