use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_app::App;
use plimsoll_os::jobs::{Ending, Job, Root};
use plimsoll_web::KeptFront;
use plimsoll_wire::{Event, Fault};
use serde_json::Value;
use tauri::State;
use tauri::ipc::Channel;

/// A listener notices its end at the next event; this is for one that hangs.
const LISTENER_END_S: u64 = 2;

/// What stands behind the window.
pub struct Desk {
    /// The fault with which the app did not start: then every call answers with it.
    app: Result<Arc<App>, Fault>,
    /// A lock instead of an owner: taken once, at the end.
    front: Mutex<Option<KeptFront>>,
    jobs: Mutex<Option<Root>>,
    /// A reloaded page listens anew; keeping its last listener would send everything twice. A lock instead of
    /// an owner: it is held for one assignment.
    listener: Mutex<Option<Job<()>>>,
}

impl Desk {
    #[must_use]
    pub fn new(app: Result<Arc<App>, Fault>, front: Option<KeptFront>) -> Self {
        Self {
            app,
            front: Mutex::new(front),
            jobs: Mutex::new(Some(Root::new())),
            listener: Mutex::new(None),
        }
    }

    fn app(&self) -> Result<&Arc<App>, Fault> {
        self.app.as_ref().map_err(Clone::clone)
    }

    fn listen(&self, to: Channel<Event>) -> Result<(), Fault> {
        let mut events = self.app()?.hear();
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(jobs) = jobs.as_ref() else { return Ok(()) };
        let listener = jobs.scope().start(|stop| async move {
            loop {
                let heard = tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    heard = events.next() => heard,
                };
                // A slow page hears `missed` in place of what it lost and reads the state again.
                let Some(event) = heard else { return };
                if to.send(event).is_err() {
                    return;
                }
            }
        });
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
        Ok(())
    }

    /// Ends front, app and listeners, in this order; the router ends with the app if it is ours.
    pub async fn close(&self) {
        let front = self.front.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(front) = front {
            front.end().await;
        }
        if let Ok(app) = &self.app {
            app.end().await;
        }
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(jobs) = jobs
            && jobs.end(Duration::from_secs(LISTENER_END_S)).await != Ending::AllEnded
        {
            tracing::warn!("a listener did not end in time");
        }
    }
}

/// The one way in: a call of the table in `plimsoll-app`, by its name.
#[tauri::command]
pub(crate) async fn call(desk: State<'_, Desk>, name: String, body: Value) -> Result<Value, Fault> {
    desk.app()?.call(&name, body).await
}

/// The one way out: events from now on. A channel, because Tauri's own events are not made for a stream of
/// words.
#[tauri::command]
pub(crate) async fn listen(desk: State<'_, Desk>, to: Channel<Event>) -> Result<(), Fault> {
    desk.listen(to)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use plimsoll_app::{App, Config};
    use plimsoll_os::Environment;
    use plimsoll_wire::{CreateConversation, RenameConversation};
    use tauri::ipc::{Channel, InvokeResponseBody};

    use super::Desk;

    fn channel() -> (Channel<plimsoll_wire::Event>, mpsc::Receiver<String>) {
        let (tell, heard) = mpsc::channel();
        let channel = Channel::new(move |body| {
            if let InvokeResponseBody::Json(json) = body {
                let _ = tell.send(json);
            }
            Ok(())
        });
        (channel, heard)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_page_that_listens_anew_hears_everything_once() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().to_str().unwrap();
        let environment =
            Environment::from_pairs([("PLIMSOLL_HOME", at), ("HF_HUB_CACHE", at), ("HOME", at)]);
        let app = App::start(Config::from(&environment).unwrap()).await.unwrap();
        let desk = Desk::new(Ok(app), None);

        let (first, heard_first) = channel();
        let (second, heard_second) = channel();
        desk.listen(first).unwrap();
        desk.listen(second).unwrap();
        let app = desk.app().unwrap();
        let id = app
            .ask(CreateConversation {
                model: None,
                settings: None,
            })
            .await
            .unwrap()
            .summary
            .id;
        app.ask(RenameConversation {
            id,
            title: "Tides".into(),
        })
        .await
        .unwrap();

        let limit = Duration::from_secs(10);
        let renamed =
            std::iter::from_fn(|| heard_second.recv_timeout(limit).ok()).find(|json| json.contains("Tides"));
        assert!(renamed.is_some_and(|json| json.contains(r#""type":"conversationChanged""#)));
        assert!(
            heard_first.try_iter().all(|json| !json.contains("Tides")),
            "the first listener was let go"
        );
        desk.close().await;
    }
}
