//! Which bytes each buffer gets.

use super::lives::meet;
use super::{Buffer, Life};

/// The offset of each buffer, and the size of the pool.
pub(super) fn place(buffers: &[Buffer], lives: &[Life]) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    // The largest first; of equal ones in the order of the text.
    order.sort_by_key(|&nth| std::cmp::Reverse(buffers[nth].bytes));
    let mut offsets: Vec<Option<u64>> = vec![None; buffers.len()];
    let mut size = 0u64;
    for nth in order {
        let mut taken: Vec<(u64, u64)> = (0..buffers.len())
            .filter(|&other| meet(lives[nth], lives[other]))
            .filter_map(|other| offsets[other].map(|from| (from, from.saturating_add(buffers[other].bytes))))
            .collect();
        taken.sort_unstable();
        let offset = best_fit(&taken, buffers[nth].bytes, buffers[nth].align);
        offsets[nth] = Some(offset);
        size = size.max(offset.saturating_add(buffers[nth].bytes));
    }
    (offsets.into_iter().map(|offset| offset.unwrap_or(0)).collect(), size)
}

/// The start of the smallest gap between the stretches `taken`, which are sorted, that `bytes` fit into; or after them.
fn best_fit(taken: &[(u64, u64)], bytes: u64, align: u64) -> u64 {
    let aligned = |at: u64| at.div_ceil(align).saturating_mul(align);
    let mut best: Option<(u64, u64)> = None;
    let mut end = 0u64;
    for &(from, to) in taken {
        let start = aligned(end);
        let fits = start.saturating_add(bytes) <= from;
        if let (true, Some(gap)) = (fits, from.checked_sub(end))
            && best.is_none_or(|(smallest, _)| gap < smallest)
        {
            best = Some((gap, start));
        }
        end = end.max(to);
    }
    best.map_or(aligned(end), |(_, start)| start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_gap_is_taken() {
        let taken = [(0, 16), (64, 96), (112, 128), (192, 256)];
        assert_eq!(best_fit(&taken, 16, 16), 96, "between 96 and 112, not between 16 and 64");
        assert_eq!(best_fit(&taken, 48, 16), 16);
        assert_eq!(best_fit(&taken, 64, 16), 128);
        assert_eq!(best_fit(&taken, 65, 16), 256);
        assert_eq!(best_fit(&[(0, 17)], 4, 16), 32);
        assert_eq!(best_fit(&[], 4, 16), 0);
    }
}
