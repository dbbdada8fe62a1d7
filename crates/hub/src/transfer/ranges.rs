use std::ops::Range;

/// Stretches of a file in bytes: in order, apart from each other, none empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ranges(Vec<Range<u64>>);

impl Ranges {
    pub(crate) fn one(range: Range<u64>) -> Self {
        let mut ranges = Self::default();
        ranges.insert(range);
        ranges
    }

    /// Adds a stretch and joins what touches.
    pub(crate) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let first = self.0.partition_point(|other| other.end < range.start);
        let after = self.0.partition_point(|other| other.start <= range.end);
        let joined = match self.0.get(first..after) {
            Some([only]) => only.start.min(range.start)..only.end.max(range.end),
            Some([low, .., high]) => low.start.min(range.start)..high.end.max(range.end),
            Some([]) | None => range,
        };
        self.0.splice(first..after, [joined]);
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// How far the first byte's stretch reaches; 0 when the first byte is missing.
    pub(crate) fn prefix(&self) -> u64 {
        self.0
            .first()
            .filter(|range| range.start == 0)
            .map_or(0, |range| range.end)
    }

    /// The first stretch below `size` that is not in here.
    pub(crate) fn first_gap(&self, size: u64) -> Option<Range<u64>> {
        let start = self.prefix();
        let end = self
            .0
            .iter()
            .find(|range| range.start > start)
            .map_or(size, |range| range.start.min(size));
        (start < end).then_some(start..end)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Range<u64>> {
        self.0.iter()
    }

    pub(crate) fn last_end(&self) -> u64 {
        self.0.last().map_or(0, |range| range.end)
    }
}

impl FromIterator<Range<u64>> for Ranges {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut all = Self::default();
        for range in ranges {
            all.insert(range);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::Ranges;

    proptest! {
        #[test]
        fn they_hold_exactly_what_was_put_in(parts in proptest::collection::vec((0..60_u64, 0..12_u64), 0..20)) {
            let mut ranges = Ranges::default();
            let mut bytes = BTreeSet::new();
            for (start, len) in parts {
                ranges.insert(start..start + len);
                bytes.extend(start..start + len);
            }
            prop_assert_eq!(ranges.iter().cloned().flatten().collect::<BTreeSet<_>>(), bytes.clone());
            prop_assert_eq!(ranges.total(), bytes.len() as u64);
            let all: Vec<_> = ranges.iter().collect();
            prop_assert!(all.windows(2).all(|pair| pair[0].end < pair[1].start), "{:?}", ranges);
            let missing = (0..80).find(|byte| !bytes.contains(byte));
            prop_assert_eq!(ranges.first_gap(80).map(|gap| gap.start), missing);
            let gap = ranges.first_gap(80);
            prop_assert!(gap.is_none_or(|gap| gap.clone().all(|byte| !bytes.contains(&byte))
                && (gap.end == 80 || bytes.contains(&gap.end))));
        }
    }
}
