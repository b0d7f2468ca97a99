//! Which bytes each buffer gets.

use super::live_range::overlap;
use super::{Buffer, DEFAULT_ALIGNMENT, LiveRange};

/// The offset of each buffer, and the size of the pool.
pub(super) fn place(buffers: &[Buffer], live_ranges: &[LiveRange]) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    // The largest first; of equal ones in the order of the text.
    order.sort_by_key(|&nth| std::cmp::Reverse(buffers[nth].bytes));
    let mut pool = Pool { placed: Vec::with_capacity(buffers.len()), common: (0, u32::MAX), end: 0, has_gaps: false };
    let mut offsets = vec![0; buffers.len()];
    let mut size = 0u64;
    for nth in order {
        offsets[nth] = pool.place(buffers[nth].bytes, buffers[nth].align, live_ranges[nth]);
        size = size.max(offsets[nth].saturating_add(buffers[nth].bytes));
    }
    (offsets, size)
}

/// The buffers that have their bytes and are in use at some time.
struct Pool {
    /// In the order of their starts.
    placed: Vec<Placed>,
    /// The latest start and the earliest end of their live ranges: what is live between the two overlaps all.
    common: (u32, u32),
    /// The end of the last one.
    end: u64,
    /// May something fit between two of them that overlaps all?
    has_gaps: bool,
}

impl Pool {
    fn place(&mut self, bytes: u64, align: u64, range: LiveRange) -> u64 {
        let Some((first, last)) = range else { return 0 };
        let meets_all = self.common.0 <= last && first <= self.common.1;
        let from = if meets_all && !self.has_gaps {
            aligned(self.end, align)
        } else {
            let taken =
                self.placed.iter().filter(|other| overlap(range, other.range)).map(|other| (other.from, other.to));
            best_fit(taken, bytes, align)
        };
        let to = from.saturating_add(bytes);
        self.common = (self.common.0.max(first), self.common.1.min(last));
        self.has_gaps |= from > aligned(self.end, DEFAULT_ALIGNMENT);
        self.end = self.end.max(to);
        self.placed.insert(self.placed.partition_point(|other| other.from <= from), Placed { from, to, range });
        from
    }
}

/// A buffer that has its bytes.
struct Placed {
    from: u64,
    to: u64,
    range: LiveRange,
}

/// The start of the smallest gap between the stretches `taken`, in the order of their starts, that `bytes` fit into; or
/// after them.
fn best_fit(taken: impl Iterator<Item = (u64, u64)>, bytes: u64, align: u64) -> u64 {
    let mut best: Option<(u64, u64)> = None;
    let mut end = 0u64;
    for (from, to) in taken {
        let start = aligned(end, align);
        if start.saturating_add(bytes) <= from {
            let gap = from - end;
            if best.is_none_or(|(smallest, _)| gap < smallest) {
                best = Some((gap, start));
            }
        }
        end = end.max(to);
    }
    best.map_or(aligned(end, align), |(_, start)| start)
}

/// The next multiple of `align`, a power of two.
fn aligned(at: u64, align: u64) -> u64 {
    at.saturating_add(align - 1) & !(align - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_gap_is_taken() {
        let taken = [(0, 16), (64, 96), (112, 128), (192, 256)];
        let best_fit = |taken: &[(u64, u64)], bytes, align| best_fit(taken.iter().copied(), bytes, align);
        assert_eq!(best_fit(&taken, 16, 16), 96, "between 96 and 112, not between 16 and 64");
        assert_eq!(best_fit(&taken, 48, 16), 16);
        assert_eq!(best_fit(&taken, 64, 16), 128);
        assert_eq!(best_fit(&taken, 65, 16), 256);
        assert_eq!(best_fit(&[(0, 17)], 4, 16), 32);
        assert_eq!(best_fit(&[], 4, 16), 0);
    }
}
