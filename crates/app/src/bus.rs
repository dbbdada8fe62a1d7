use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use plimsoll_wire::Event;
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;

/// How many events a listener may be behind before it misses some.
const EVENTS_BEHIND_MAX: usize = 1024;

/// One stream of events out, to everyone who listens.
#[derive(Clone)]
pub(crate) struct Bus(broadcast::Sender<Event>);

impl Bus {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(EVENTS_BEHIND_MAX))
    }

    pub(crate) fn tell(&self, event: Event) {
        // Nobody listening is no error: the next page reads the status first.
        let _ = self.0.send(event);
    }

    pub(crate) fn is_heard(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub(crate) fn hear(&self) -> Hearing {
        Hearing(BroadcastStream::new(self.0.subscribe()))
    }
}

/// What happens from now on. A listener that falls behind gets one [`Event::Missed`] in place of what it
/// lost, and goes on.
pub struct Hearing(BroadcastStream<Event>);

impl Hearing {
    /// The next event; `None` when the app has ended.
    pub async fn next(&mut self) -> Option<Event> {
        StreamExt::next(self).await
    }
}

impl Stream for Hearing {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.poll_next_unpin(cx).map(|heard| {
            heard.map(|event| match event {
                Ok(event) => event,
                Err(BroadcastStreamRecvError::Lagged(_)) => Event::Missed,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::Event;

    use super::{Bus, EVENTS_BEHIND_MAX};

    #[tokio::test]
    async fn a_slow_listener_hears_that_it_missed_something_and_goes_on() {
        let bus = Bus::new();
        let mut hearing = bus.hear();
        for _ in 0..=EVENTS_BEHIND_MAX {
            bus.tell(Event::LibraryChanged);
        }
        assert_eq!(hearing.next().await, Some(Event::Missed));
        for _ in 0..EVENTS_BEHIND_MAX {
            assert_eq!(hearing.next().await, Some(Event::LibraryChanged));
        }
        drop(bus);
        assert_eq!(hearing.next().await, None, "the app is gone");
    }
}
