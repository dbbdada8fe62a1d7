use std::time::Duration;

use futures_util::StreamExt;
use plimsoll_os::jobs::{Job, Scope};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::sighting::{Sightings, hear, read_list};

/// Before the stream is opened again: it ends when the router does, and then soon nobody listens at all.
const AGAIN_AFTER: Duration = Duration::from_millis(300);

/// Follows what the router says of its models, for as long as the job is held.
pub(super) fn listen_to(scope: &Scope, client: Client) -> (Job<()>, watch::Receiver<Sightings>) {
    let (tell, seen) = watch::channel(Sightings::new());
    let job = scope.start(|stop: CancellationToken| async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = listen(&client, &tell) => {}
        }
    });
    (job, seen)
}

async fn listen(client: &Client, tell: &watch::Sender<Sightings>) {
    loop {
        if let Ok(stream) = client.watch().await {
            // The list after the stream was opened: what happens between the two is heard twice, not lost.
            if let Ok(list) = client.models(false).await {
                tell.send_modify(|seen| read_list(seen, &list));
            }
            let mut stream = std::pin::pin!(stream);
            while let Some(message) = stream.next().await {
                tell.send_if_modified(|seen| hear(seen, &message));
            }
        }
        sleep(AGAIN_AFTER).await;
    }
}
