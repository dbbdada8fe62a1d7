//! Who fetches what: pure, so that the rules can be read and tested.
//!
//! Ranges go out from the front of the first open file, so that the hash can follow; towards the end they get
//! smaller, and an idle connection takes half of the largest range that is still on its way, or all of one that
//! is silent. Every file has an era: what belongs to an earlier one is dropped, so two versions never meet.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::ranges::Ranges;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not begun: nobody holds its lock yet.
    Closed,
    Open,
    /// All bytes are here and right, or were before.
    Right,
}

#[derive(Debug)]
struct Lease {
    id: u64,
    at: u64,
    end: u64,
    moved: Instant,
    /// It has brought something.
    alive: bool,
}

#[derive(Debug)]
struct File {
    size: u64,
    stage: Stage,
    era: u32,
    /// The server gives no parts: one connection, from the first byte on.
    single: bool,
    /// Received, or here from the start.
    taken: Ranges,
    written: Ranges,
    /// Written, synced and written down.
    safe: Ranges,
    leases: Vec<Lease>,
    fresh_starts: u32,
    requests: u32,
}

/// A stretch of a file that one connection brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) file: usize,
    pub(super) era: u32,
    pub(super) id: u64,
}

/// What a grant still lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) from: u64,
    pub(super) end: u64,
    /// Everything from the first byte to the last: no range needs to be asked for.
    pub(super) whole: bool,
}

/// The sizes that ranges may have, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) least: u64,
    pub(super) most: u64,
    /// What one connection brings in the time that a range should last.
    pub(super) usual: u64,
    pub(super) connections: u64,
    /// A connection that brought nothing for so long may lose its range to an idle one.
    pub(super) silence: Duration,
}

#[derive(Debug)]
pub(super) struct Board {
    files: Vec<File>,
    ids: u64,
}

impl Board {
    pub(super) fn new(sizes: impl IntoIterator<Item = u64>) -> Self {
        let file = |size| File {
            size,
            stage: Stage::Closed,
            era: 0,
            single: false,
            taken: Ranges::default(),
            written: Ranges::default(),
            safe: Ranges::default(),
            leases: Vec::new(),
            fresh_starts: 0,
            requests: 0,
        };
        Self {
            files: sizes.into_iter().map(file).collect(),
            ids: 0,
        }
    }

    pub(super) fn stage(&self, file: usize) -> Stage {
        self.files.get(file).map_or(Stage::Right, |file| file.stage)
    }

    pub(super) fn era(&self, file: usize) -> u32 {
        self.files.get(file).map_or(0, |file| file.era)
    }

    /// Begins a file with what an earlier run left.
    pub(super) fn open(&mut self, file: usize, here: Ranges) {
        if let Some(file) = self.files.get_mut(file) {
            file.stage = Stage::Open;
            file.taken = here.clone();
            file.safe = here.clone();
            file.written = here;
        }
    }

    pub(super) fn right(&mut self, file: usize) {
        if let Some(file) = self.files.get_mut(file) {
            file.stage = Stage::Right;
            file.leases.clear();
            file.written = Ranges::one(0..file.size);
            file.safe = file.written.clone();
            file.taken = file.written.clone();
        }
    }

    /// The next range for a connection that has none.
    pub(super) fn take(&mut self, now: Instant, sizes: Sizes) -> Option<Grant> {
        self.take_free(now, sizes)
            .or_else(|| self.take_half(now, sizes))
            .or_else(|| self.take_silent(now, sizes))
    }

    /// Bytes of open files that nobody fetches yet.
    pub(super) fn unassigned(&self) -> u64 {
        let open = self.files.iter().filter(|file| file.stage == Stage::Open);
        open.map(|file| {
            let on_the_way: u64 = file.leases.iter().map(|lease| lease.end - lease.at).sum();
            file.size
                .saturating_sub(file.taken.total())
                .saturating_sub(on_the_way)
        })
        .sum()
    }

    pub(super) fn open_files(&self) -> usize {
        self.files.iter().filter(|file| file.stage == Stage::Open).count()
    }

    fn take_free(&mut self, now: Instant, sizes: Sizes) -> Option<Grant> {
        let left = self.unassigned();
        let number = self
            .files
            .iter()
            .position(|file| file.stage == Stage::Open && file.free().is_some())?;
        let file = self.files.get_mut(number)?;
        let gap = file.free()?;
        let share = left / (2 * sizes.connections.max(1));
        let length = sizes
            .usual
            .min(share)
            .clamp(sizes.least, sizes.most.max(sizes.least));
        let rest = gap.end - gap.start;
        // No crumbs: what would be left of the gap has to be worth a request of its own.
        let end = if file.single || rest < length + sizes.least / 2 {
            gap.end
        } else {
            gap.start + length
        };
        self.ids += 1;
        Some(file.lease(number, self.ids, gap.start..end, now))
    }

    fn take_half(&mut self, now: Instant, sizes: Sizes) -> Option<Grant> {
        let (number, place, _) = self
            .leases(|file, lease| file.splits(lease, sizes))
            .max_by_key(|(_, _, rest)| *rest)?;
        self.ids += 1;
        let file = self.files.get_mut(number)?;
        let lease = file.leases.get_mut(place)?;
        let middle = lease.at + (lease.end - lease.at) / 2;
        let taken = middle..lease.end;
        lease.end = middle;
        Some(file.lease(number, self.ids, taken, now))
    }

    fn take_silent(&mut self, now: Instant, sizes: Sizes) -> Option<Grant> {
        let (number, place, _) = self
            .leases(|file, lease| file.is_silent(lease, now, sizes))
            .max_by_key(|(_, _, rest)| *rest)?;
        self.ids += 1;
        let file = self.files.get_mut(number)?;
        let lost = file.leases.swap_remove(place);
        Some(file.lease(number, self.ids, lost.at..lost.end, now))
    }

    fn leases(&self, wanted: impl Fn(&File, &Lease) -> bool) -> impl Iterator<Item = (usize, usize, u64)> {
        self.files
            .iter()
            .enumerate()
            .filter(|(_, file)| file.stage == Stage::Open)
            .flat_map(move |(number, file)| {
                let wanted = &wanted;
                let found: Vec<_> = file
                    .leases
                    .iter()
                    .enumerate()
                    .filter(move |(_, lease)| wanted(file, lease))
                    .map(move |(place, lease)| (number, place, lease.end - lease.at))
                    .collect();
                found
            })
    }

    /// Where a grant stands; `None` when it was taken away.
    pub(super) fn look(&self, grant: Grant) -> Option<Open> {
        let file = self.files.get(grant.file)?;
        let lease = file.leases.iter().find(|lease| lease.id == grant.id)?;
        Some(Open {
            from: lease.at,
            end: lease.end,
            whole: lease.at == 0 && lease.end == file.size,
        })
    }

    /// So many bytes came. Says where they belong and how many of them are wanted; `None` when the grant was
    /// taken away.
    pub(super) fn advance(&mut self, grant: Grant, bytes: u64, now: Instant) -> Option<Range<u64>> {
        let file = self.files.get_mut(grant.file)?;
        let lease = file.leases.iter_mut().find(|lease| lease.id == grant.id)?;
        let came = lease.at..lease.end.min(lease.at.saturating_add(bytes));
        lease.at = came.end;
        lease.moved = now;
        lease.alive = true;
        file.taken.insert(came.clone());
        Some(came)
    }

    /// The grant is done or given up; what it did not bring can be had by others.
    pub(super) fn give_back(&mut self, grant: Grant) {
        if let Some(file) = self.files.get_mut(grant.file) {
            file.leases.retain(|lease| lease.id != grant.id);
        }
    }

    /// Bytes are in the file. `false` for those of an earlier era, which must not be written.
    pub(super) fn is_current(&self, file: usize, era: u32) -> bool {
        self.files
            .get(file)
            .is_some_and(|file| file.era == era && file.stage == Stage::Open)
    }

    pub(super) fn written(&mut self, file: usize, era: u32, range: Range<u64>) {
        if let Some(file) = self.files.get_mut(file).filter(|file| file.era == era) {
            file.written.insert(range);
        }
    }

    pub(super) fn written_of(&self, file: usize) -> (u32, Ranges) {
        self.files
            .get(file)
            .map(|file| (file.era, file.written.clone()))
            .unwrap_or_default()
    }

    /// How far from the first byte on the file is written.
    pub(super) fn frontier(&self, file: usize) -> u64 {
        self.files.get(file).map_or(0, |file| file.written.prefix())
    }

    pub(super) fn safe(&mut self, file: usize, era: u32, ranges: Ranges) {
        if let Some(file) = self.files.get_mut(file).filter(|file| file.era == era) {
            file.safe = ranges;
        }
    }

    /// Bytes that are written and not safe yet.
    pub(super) fn unsafe_of(&self, file: usize) -> u64 {
        self.files
            .get(file)
            .filter(|file| file.stage == Stage::Open)
            .map_or(0, |file| file.written.total().saturating_sub(file.safe.total()))
    }

    pub(super) fn all_unsafe(&self) -> u64 {
        (0..self.files.len()).map(|file| self.unsafe_of(file)).sum()
    }

    /// Bytes of one file, and of all, that are here.
    pub(super) fn done(&self, file: usize) -> (u64, u64) {
        let of_file = self.files.get(file).map_or(0, |file| file.written.total());
        (of_file, self.files.iter().map(|file| file.written.total()).sum())
    }

    pub(super) fn requested(&mut self, file: usize) {
        if let Some(file) = self.files.get_mut(file) {
            file.requests += 1;
        }
    }

    /// The bytes of this file came in one piece from one answer.
    pub(super) fn came_in_one_piece(&self, file: usize) -> bool {
        self.files
            .get(file)
            .is_some_and(|file| file.requests <= 1 && file.era == 0)
    }

    /// Begins a file anew; everything of before is void. Gives the whole of it to whoever asked, since he may
    /// have it on the line already, and says how often that has happened and whether anything was given up.
    pub(super) fn start_over(
        &mut self,
        number: usize,
        single: bool,
        now: Instant,
    ) -> Option<(Grant, u32, bool)> {
        self.ids += 1;
        let file = self.files.get_mut(number)?;
        let lost = file.taken.total() > 0;
        file.era += 1;
        file.single = single;
        file.taken = Ranges::default();
        file.written = Ranges::default();
        file.safe = Ranges::default();
        file.leases.clear();
        file.fresh_starts += 1;
        let all = 0..file.size;
        Some((file.lease(number, self.ids, all, now), file.fresh_starts, lost))
    }
}

impl File {
    /// The first stretch that is neither here nor on its way.
    fn free(&self) -> Option<Range<u64>> {
        let mut busy = self.taken.clone();
        for lease in &self.leases {
            busy.insert(lease.at..lease.end);
        }
        busy.first_gap(self.size)
            .filter(|_| !self.single || self.leases.is_empty())
    }

    fn splits(&self, lease: &Lease, sizes: Sizes) -> bool {
        !self.single && lease.end - lease.at >= 2 * sizes.least.max(1)
    }

    /// Only one that has brought something: else a server that answers nobody would be asked for ever, by one
    /// connection after the other.
    fn is_silent(&self, lease: &Lease, now: Instant, sizes: Sizes) -> bool {
        !self.single && lease.alive && lease.end > lease.at && now.duration_since(lease.moved) > sizes.silence
    }

    fn lease(&mut self, file: usize, id: u64, range: Range<u64>, now: Instant) -> Grant {
        self.leases.push(Lease {
            id,
            at: range.start,
            end: range.end,
            moved: now,
            alive: false,
        });
        Grant {
            file,
            era: self.era,
            id,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::{Board, Sizes};
    use crate::transfer::ranges::Ranges;

    fn sizes() -> Sizes {
        Sizes {
            least: 4,
            most: 64,
            usual: 16,
            connections: 2,
            silence: Duration::from_secs(5),
        }
    }

    fn open(size: u64, here: Ranges) -> Board {
        let mut board = Board::new([size]);
        board.open(0, here);
        board
    }

    #[test]
    fn ranges_go_out_from_the_front_and_get_smaller() {
        let now = Instant::now();
        let mut board = open(100, Ranges::one(0..10));
        let mut starts = Vec::new();
        for _ in 0..12 {
            let grant = board.take(now, sizes()).unwrap();
            let at = board.look(grant).unwrap();
            starts.push((at.from, at.end));
            board.advance(grant, u64::MAX, now);
            board.give_back(grant);
            if board.unassigned() == 0 {
                break;
            }
        }
        assert_eq!(starts[0], (10, 26));
        assert!(starts.windows(2).all(|pair| pair[0].1 == pair[1].0), "{starts:?}");
        assert_eq!(starts.last().unwrap().1, 100);
        let last = starts.last().unwrap();
        assert!(last.1 - last.0 <= 6, "the last is small: {starts:?}");
    }

    #[test]
    fn an_idle_connection_takes_half_and_the_other_hears_of_it() {
        let now = Instant::now();
        let mut board = open(40, Ranges::default());
        let usual = Sizes {
            usual: 64,
            connections: 1,
            ..sizes()
        };
        let first = board.take(now, Sizes { least: 64, ..usual }).unwrap();
        let second = board.take(now, usual).unwrap();
        assert_eq!(
            (board.look(first).unwrap().end, board.look(second).unwrap().from),
            (20, 20)
        );
        assert_eq!(
            board.advance(first, 30, now),
            Some(0..20),
            "not into the other's half"
        );
    }

    #[test]
    fn a_silent_connection_loses_its_range() {
        let now = Instant::now();
        let mut board = open(5, Ranges::default());
        let first = board.take(now, sizes()).unwrap();
        board.advance(first, 4, now);
        assert!(board.take(now + Duration::from_secs(1), sizes()).is_none());
        let second = board.take(now + Duration::from_secs(6), sizes()).unwrap();
        assert_eq!(board.look(second).map(|open| (open.from, open.end)), Some((4, 5)));
        assert_eq!(board.advance(first, 1, now), None);
        assert!(
            board.take(now + Duration::from_hours(1), sizes()).is_none(),
            "one that never brought anything has its own time-out"
        );
    }

    #[test]
    fn a_file_begun_anew_takes_nothing_of_before() {
        let now = Instant::now();
        let mut board = open(30, Ranges::default());
        let old = board.take(now, sizes()).unwrap();
        board.advance(old, 4, now);
        let (new, times, lost) = board.start_over(0, true, now).unwrap();
        assert_eq!((times, lost), (1, true));
        assert_eq!(board.advance(old, 4, now), None);
        assert!(!board.is_current(0, old.era));
        board.written(0, old.era, 0..4);
        assert_eq!(board.frontier(0), 0);
        assert!(board.look(new).unwrap().whole);
        assert!(
            board.take(now + Duration::from_hours(1), sizes()).is_none(),
            "one connection only"
        );
    }

    proptest! {
        /// Whatever connections do, every byte is fetched, and none is on its way twice.
        #[test]
        fn every_byte_once(size in 0..400_u64, steps in proptest::collection::vec((0..6_usize, 0..30_u64, 0..3_u8), 0..300)) {
            let now = Instant::now();
            let mut board = open(size, Ranges::default());
            let mut grants = Vec::new();
            let mut received = 0;
            for (which, bytes, act) in steps {
                match act {
                    0 => grants.extend(board.take(now, sizes())),
                    1 if !grants.is_empty() => {
                        let grant = grants[which % grants.len()];
                        if let Some(came) = board.advance(grant, bytes, now) {
                            received += came.end - came.start;
                        }
                    }
                    _ if !grants.is_empty() => board.give_back(grants.swap_remove(which % grants.len())),
                    _ => {}
                }
            }
            for grant in grants {
                if let Some(came) = board.advance(grant, u64::MAX, now) {
                    received += came.end - came.start;
                }
                board.give_back(grant);
            }
            while let Some(grant) = board.take(now, sizes()) {
                let came = board.advance(grant, u64::MAX, now).unwrap();
                received += came.end - came.start;
                board.give_back(grant);
            }
            prop_assert_eq!(received, size);
        }
    }
}
