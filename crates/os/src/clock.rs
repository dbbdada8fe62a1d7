//! The only reader of the wall clock. Everything else takes `now` as an argument.

use std::time::{Duration, SystemTime};

/// Whole seconds since 1970.
#[must_use]
pub fn now_s() -> i64 {
    i64::try_from(since_1970().as_secs()).unwrap_or(i64::MAX)
}

/// Whole milliseconds since 1970.
#[must_use]
pub fn now_ms() -> i64 {
    i64::try_from(since_1970().as_millis()).unwrap_or(i64::MAX)
}

/// How long the calling thread was on a processor so far, where the system tells: less than the time that
/// passed when others wanted it too.
#[must_use]
pub fn thread_time() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Some(Duration::new(
            u64::try_from(spent.tv_sec).ok()?,
            u32::try_from(spent.tv_nsec).ok()?,
        ))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[expect(clippy::disallowed_methods, reason = "this is the home of the clock")]
fn since_1970() -> Duration {
    // A clock set before 1970 is a broken clock; zero keeps times ordered and is visible as 1970.
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}
