//! Models that come, go or change without us: another program fetched one, a disk was taken out.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_wire::Event;

use crate::App;
use crate::models::OnDisk;

/// A look costs some milliseconds of reading folders.
const EVERY: Duration = Duration::from_secs(15);

/// What tells one state of the shelf from another.
fn print(models: &[OnDisk]) -> Vec<(String, u64, bool)> {
    models
        .iter()
        .map(|model| (model.id.clone(), model.found.bytes.0, model.is_ready()))
        .collect()
}

impl App {
    /// Tells when the models on disk are no longer what they were. For programs that stay.
    pub fn watch_library(self: &Arc<Self>) {
        let app = Arc::clone(self);
        self.jobs.keep(|stop| async move {
            let mut before = None;
            loop {
                // A look that fails is told to whoever asks for the list.
                let now = app.models.on_disk().await.map(|models| print(&models)).ok();
                if before.is_some() && now.is_some() && now != before {
                    app.bus.tell(Event::LibraryChanged);
                }
                before = now.or(before);
                tokio::select! { biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(EVERY) => {}
                }
            }
        });
    }
}
