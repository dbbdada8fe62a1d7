//! A front that is tried again when the person wants it.

use std::sync::Arc;

use plimsoll_app::App;
use plimsoll_os::jobs::{Job, Root};
use plimsoll_wire::Fault;

use super::Front;

/// A front for as long as the program runs. Where no port could be had the program works all the same: the app
/// knows why nobody listens, and each wish of the person is one more try.
pub struct KeptFront {
    /// Where it listens since the start.
    url: Option<String>,
    job: Job<()>,
    _root: Root,
}

impl KeptFront {
    pub async fn start(app: Arc<App>, port: u16) -> Self {
        let root = Root::new();
        let first = open(&app, port).await;
        let url = first.as_ref().map(Front::url);
        let job = root.scope().start(|stop| async move {
            let mut front = first;
            while front.is_none() {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = app.endpoint_wanted() => front = open(&app, port).await,
                }
            }
            stop.cancelled().await;
            if let Some(front) = front {
                front.end().await;
            }
        });
        Self {
            url,
            job,
            _root: root,
        }
    }

    /// What other apps call their base URL; nothing where it could not be opened at the start.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    pub async fn end(self) {
        if let Err(error) = self.job.stop().await {
            tracing::error!(%error, "the front ended badly");
        }
    }
}

async fn open(app: &Arc<App>, port: u16) -> Option<Front> {
    match Front::start(Arc::clone(app), port).await {
        Ok(front) => Some(front),
        Err(error) => {
            tracing::warn!(%error, "no endpoint for other programs");
            app.endpoint_failed(Fault::from(&error));
            None
        }
    }
}
