use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use plimsoll_os::Environment;
use plimsoll_os::files::AppendLog;
use plimsoll_units::Bytes;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

const LOG_BYTES_MAX: Bytes = Bytes::mib(4);

/// Lines go to `logs/desktop.log` in our home. `PLIMSOLL_LOG` chooses what is worth a line (`debug`,
/// `plimsoll_engine=trace`, …). Without a log the app works all the same.
pub(crate) fn start(home: &Path, environment: &Environment) {
    let Ok(log) = AppendLog::open(&home.join("logs").join("desktop.log"), LOG_BYTES_MAX) else {
        return;
    };
    let wanted = environment.filled("PLIMSOLL_LOG").unwrap_or("info");
    let filter = EnvFilter::try_new(wanted).unwrap_or_else(|_| EnvFilter::new("info"));
    // A second start in one process (a test) keeps the first log.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Lines(Mutex::new(log)))
        .try_init();
}

/// One writer for all threads. A lock, because a log line has no owner task: it comes from anywhere, also from
/// a panic, and is held for one write.
struct Lines(Mutex<AppendLog>);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;
    fn make_writer(&'a self) -> Self::Writer {
        Line(&self.0)
    }
}

struct Line<'a>(&'a Mutex<AppendLog>);

impl io::Write for Line<'_> {
    /// The subscriber hands over whole lines, each with its line break.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.line(line).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
