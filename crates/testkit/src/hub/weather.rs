use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::sleep;

/// Shorter pauses than this are not worth a timer, whose own grain is a millisecond.
const GRAIN: Duration = Duration::from_millis(2);

/// What the line to the fake is like. The usual one is fast and near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weather {
    /// Bytes a second that one connection brings at most.
    pub each: Option<u64>,
    /// Bytes a second of all connections together.
    pub all: Option<u64>,
    /// Before every answer.
    pub delay: Duration,
}

/// The weather, and what is under way in it.
#[derive(Debug, Default)]
pub(super) struct Sky {
    weather: Mutex<Weather>,
    /// When the line that all share is free again.
    free: Mutex<Option<Instant>>,
    bodies: Arc<Bodies>,
}

#[derive(Debug, Default)]
struct Bodies {
    now: AtomicU64,
    most: AtomicU64,
}

/// One body on its way.
pub(super) struct Line {
    weather: Weather,
    free: Instant,
    bodies: Arc<Bodies>,
}

impl Sky {
    pub(super) fn set(&self, weather: Weather) {
        *self.weather.lock().unwrap_or_else(PoisonError::into_inner) = weather;
    }

    fn weather(&self) -> Weather {
        *self.weather.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self) -> MutexGuard<'_, Option<Instant>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn busiest(&self) -> u64 {
        self.bodies.most.load(Ordering::Relaxed)
    }

    pub(super) async fn delay(&self) {
        let delay = self.weather().delay;
        if !delay.is_zero() {
            sleep(delay).await;
        }
    }

    pub(super) fn line(&self) -> Line {
        let bodies = Arc::clone(&self.bodies);
        let now = bodies.now.fetch_add(1, Ordering::Relaxed) + 1;
        bodies.most.fetch_max(now, Ordering::Relaxed);
        Line {
            weather: self.weather(),
            free: Instant::now(),
            bodies,
        }
    }

    /// Waits until so many bytes may leave.
    pub(super) async fn wait_for(&self, line: &mut Line, bytes: u64) {
        let takes = |rate: u64| Duration::from_secs_f64(lossy(bytes) / lossy(rate.max(1)));
        let now = Instant::now();
        // What was missed by less than this is made up for.
        let late = now.checked_sub(GRAIN * 4).unwrap_or(now);
        let mut until = now;
        if let Some(each) = line.weather.each {
            line.free = line.free.max(late) + takes(each);
            until = until.max(line.free);
        }
        if let Some(all) = line.weather.all {
            let mut free = self.free();
            let next = free.map_or(now, |free| free.max(late)) + takes(all);
            *free = Some(next);
            until = until.max(next);
        }
        let pause = until.saturating_duration_since(now);
        if pause > GRAIN {
            sleep(pause).await;
        }
    }
}

impl Line {
    /// A slow line takes small pieces, or it would come in gusts.
    pub(super) fn piece(&self, usual: usize) -> usize {
        let slow = self
            .weather
            .each
            .map_or(usual, |each| usize::try_from(each / 100).unwrap_or(usual));
        slow.clamp(1 << 10, usual)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bodies.now.fetch_sub(1, Ordering::Relaxed);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a speed needs no more than 53 bits")]
fn lossy(number: u64) -> f64 {
    number as f64
}
