//! How fast this machine's processors read its RAM together: what decides the speed of a model on the host.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_os::clock;
use plimsoll_units::{Bytes, BytesPerSecond};

/// Larger than the caches of most machines; on one with more cache than this the figure is too good.
const BUFFER: Bytes = Bytes::mib(512);
const BUFFER_PER_THREAD_MIN: Bytes = Bytes::mib(4);
const THREADS_MAX: usize = 256;
const FILLING: Duration = Duration::from_millis(120);
/// The reading is cut into slots, and the fastest ones count: in the others something else ran.
const SLOT: Duration = Duration::from_millis(10);
const SLOTS: usize = 15;
const FASTEST: usize = 3;
const STEP: usize = 1 << 20;
/// A thread that had its processor for less of the time was not alone.
const QUIET_SHARE: f64 = 0.9;

/// A measured reading speed and how it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostBandwidth {
    pub read: BytesPerSecond,
    pub threads: u32,
    /// What was read over and over.
    pub buffer: Bytes,
    /// Nothing else kept the processors busy. Where it did, the figure is too low and not worth keeping.
    pub quiet: bool,
}

/// Reads a buffer with all processors for about 0.3 s. Blocks its thread and keeps every processor busy, so it
/// is for a quiet moment and its result for keeping. `None` when no memory could be had or nothing was read.
#[must_use]
pub fn measure_host_bandwidth() -> Option<HostBandwidth> {
    let threads = thread::available_parallelism()
        .map_or(1, std::num::NonZero::get)
        .min(THREADS_MAX);
    let available = crate::judge::judge_memory(&crate::facts::record_memory(), &mut Vec::new()).available;
    // A quarter of what is free: measuring must not push anybody out.
    let room = BUFFER.min(Bytes(available.0 / 4));
    let per_thread = Bytes(room.0 / threads as u64).max(BUFFER_PER_THREAD_MIN);
    if per_thread.times(threads as u64) > available {
        return None;
    }
    let words = usize::try_from(per_thread.0 / 8).ok()?;

    let start = Barrier::new(threads);
    let parts: Vec<Part> = thread::scope(|scope| {
        let readers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| read_alone(words, &start)))
            .collect();
        readers
            .into_iter()
            .filter_map(|reader| reader.join().ok())
            .collect()
    });
    let buffer = parts.iter().map(|part| part.buffer).sum();
    let per_slot = (0..SLOTS)
        .map(|slot| parts.iter().map(|part| part.read[slot]).sum())
        .collect();
    let read = typical_of_fastest(per_slot)?;
    let quiet = parts.iter().all(|part| part.quiet);
    Some(HostBandwidth {
        quiet,
        read,
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
        buffer,
    })
}

/// The middle one of the fastest slots, as a rate.
fn typical_of_fastest(mut per_slot: Vec<Bytes>) -> Option<BytesPerSecond> {
    const SLOTS_PER_SECOND: u64 = 100;
    per_slot.sort_unstable_by(|one, other| other.cmp(one));
    let typical = per_slot.get(FASTEST / 2)?.times(SLOTS_PER_SECOND);
    (typical > Bytes::ZERO).then_some(BytesPerSecond(typical.0))
}

/// What one thread had time to fill, and how much it read in each slot.
struct Part {
    buffer: Bytes,
    read: [Bytes; SLOTS],
    quiet: bool,
}

fn read_alone(words: usize, start: &Barrier) -> Part {
    // Filled by the thread that reads it, so that it lies in that processor's own memory.
    let filling = Instant::now();
    let mut buffer: Vec<u64> = Vec::new();
    let reserved = buffer.try_reserve_exact(words).is_ok();
    while reserved && buffer.len() < words && filling.elapsed() < FILLING {
        let filled = buffer.len();
        buffer.resize((filled + STEP / 8).min(words), 1);
    }
    start.wait();
    let reading = Instant::now();
    let before = clock::thread_time();
    let mut read = [Bytes::ZERO; SLOTS];
    'all: while !buffer.is_empty() {
        for step in buffer.chunks(STEP / 8) {
            black_box(sum(step));
            let slot = usize::try_from(reading.elapsed().as_nanos() / SLOT.as_nanos()).unwrap_or(SLOTS);
            let Some(done) = read.get_mut(slot) else {
                break 'all;
            };
            *done = done.plus(Bytes(step.len() as u64 * 8));
        }
    }
    let took = reading.elapsed();
    let quiet = match (before, clock::thread_time()) {
        (Some(before), Some(after)) => after.saturating_sub(before) >= took.mul_f64(QUIET_SHARE),
        (None, _) | (_, None) => true,
    };
    Part {
        buffer: Bytes(buffer.len() as u64 * 8),
        read,
        quiet,
    }
}

/// Eight sums side by side, so that the adding never waits and only the memory does.
fn sum(words: &[u64]) -> u64 {
    let mut sums = [0_u64; 8];
    let (eights, rest) = words.as_chunks::<8>();
    for eight in eights {
        for (sum, word) in sums.iter_mut().zip(eight) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.into_iter()
        .chain(rest.iter().copied())
        .fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read() {
        assert_eq!(sum(&[1; 1003]), 1003);
    }

    #[test]
    fn slots_in_which_something_else_ran_do_not_count() {
        let slots = [1, 90, 5, 100, 95, 0, 7].map(Bytes::mib).to_vec();
        assert_eq!(typical_of_fastest(slots), Some(BytesPerSecond((95 * 100) << 20)));
        assert_eq!(typical_of_fastest(vec![Bytes::ZERO; SLOTS]), None);
    }

    #[test]
    fn a_machine_reads_faster_than_a_disk_and_not_faster_than_light() {
        let measured = measure_host_bandwidth().unwrap();
        assert!(measured.read > BytesPerSecond(100_000_000), "{measured:?}");
        assert!(measured.read < BytesPerSecond::gb(20_000), "{measured:?}");
        assert!(
            measured.buffer > Bytes::ZERO && measured.threads > 0,
            "{measured:?}"
        );
    }
}
