use std::io::Read;
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::files::AppendLog;

/// A longer line is cut into pieces of this size.
const LINE_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

/// A line of a child's output, or the news that some were lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Text {
        from: Stream,
        text: String,
    },
    /// So many lines were dropped here, because nobody read them in time. The log has them.
    Dropped(u64),
}

/// Where the output of one child goes.
pub(super) enum Sink {
    Lines(LineSink),
    /// The first bytes of each stream; the rest is drained and counted.
    Collect {
        limit: usize,
        out: Vec<u8>,
        err: Vec<u8>,
        cut: bool,
    },
}

pub(super) struct LineSink {
    pub(super) to: mpsc::Sender<Line>,
    pub(super) log: Option<AppendLog>,
    pub(super) dropped: u64,
}

impl LineSink {
    fn line(&mut self, from: Stream, bytes: &[u8]) {
        if let Some(log) = &mut self.log
            && let Err(error) = log.line(bytes)
        {
            // A full disk must not stop the child; the lines still reach the reader.
            tracing::warn!(%error, "the log of a child ends here");
            self.log = None;
        }
        if self.dropped > 0 && self.to.try_send(Line::Dropped(self.dropped)).is_ok() {
            self.dropped = 0;
        }
        let text = String::from_utf8_lossy(bytes).into_owned();
        if self.dropped > 0 || self.to.try_send(Line::Text { from, text }).is_err() {
            self.dropped += 1;
        }
    }
}

/// Reads one stream to its end. Runs on a thread of its own.
///
/// The sink is behind a lock, not with an owner task: its two writers are plain threads that must drain their
/// pipes even when no async runtime turns, and nothing is awaited while the lock is held.
pub(super) fn drain(from: Stream, mut pipe: impl Read, sink: &Mutex<Sink>) {
    let mut pending = Vec::new();
    let mut chunk = [0; 8 << 10];
    loop {
        let n = match pipe.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        take(from, &chunk[..n], &mut pending, sink);
    }
    if !pending.is_empty()
        && let Sink::Lines(lines) = &mut *sink.lock().unwrap_or_else(PoisonError::into_inner)
    {
        lines.line(from, &pending);
    }
}

fn take(from: Stream, chunk: &[u8], pending: &mut Vec<u8>, sink: &Mutex<Sink>) {
    let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *sink {
        Sink::Collect { limit, out, err, cut } => {
            let kept = if from == Stream::Out { out } else { err };
            let room = limit.saturating_sub(kept.len()).min(chunk.len());
            kept.extend_from_slice(&chunk[..room]);
            *cut |= room < chunk.len();
        }
        Sink::Lines(lines) => {
            for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
                pending.extend_from_slice(piece);
                if pending.ends_with(b"\n") {
                    pending.pop();
                    if pending.ends_with(b"\r") {
                        pending.pop();
                    }
                    lines.line(from, pending);
                    pending.clear();
                } else if pending.len() >= LINE_BYTES_MAX {
                    lines.line(from, pending);
                    pending.clear();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines_of(bytes: &[u8], waiting: usize) -> Vec<Line> {
        let (to, mut heard) = mpsc::channel(waiting);
        let sink = Mutex::new(Sink::Lines(LineSink {
            to,
            log: None,
            dropped: 0,
        }));
        drain(Stream::Err, bytes, &sink);
        drop(sink);
        let mut lines = Vec::new();
        while let Ok(line) = heard.try_recv() {
            lines.push(line);
        }
        lines
    }

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines
            .iter()
            .filter_map(|line| {
                if let Line::Text { text, .. } = line {
                    Some(text.as_str())
                } else {
                    None
                }
            })
            .collect()
    }

    #[test]
    fn lines_are_split_and_the_last_needs_no_break() {
        assert_eq!(
            texts(&lines_of(b"one\r\ntwo\n\nfour", 9)),
            ["one", "two", "", "four"]
        );
    }

    #[test]
    fn a_line_without_end_comes_in_pieces() {
        let endless = vec![b'x'; 3 * LINE_BYTES_MAX];
        let lines = lines_of(&endless, 99);
        assert!(lines.len() >= 3, "{} pieces", lines.len());
        assert_eq!(
            texts(&lines).iter().map(|text| text.len()).sum::<usize>(),
            endless.len(),
            "nothing is lost"
        );
    }

    proptest! {
        #[test]
        fn what_is_not_read_in_time_is_counted(count in 0u64..40, waiting in 1usize..20) {
            let (to, mut heard) = mpsc::channel(waiting);
            let mut sink = LineSink { to, log: None, dropped: 0 };
            let (mut arrived, mut lost) = (0, 0);
            for n in 0..count {
                sink.line(Stream::Out, n.to_string().as_bytes());
                if n % 7 == 6 {
                    while let Ok(line) = heard.try_recv() {
                        match line { Line::Text { .. } => arrived += 1, Line::Dropped(n) => lost += n }
                    }
                }
            }
            let still = sink.dropped;
            while let Ok(line) = heard.try_recv() {
                match line { Line::Text { .. } => arrived += 1, Line::Dropped(n) => lost += n }
            }
            prop_assert_eq!(arrived + lost + still, count);
        }
    }
}
