//! What the accesses of a warp cost in memory: sectors of global memory, wavefronts of shared memory.
//!
//! Global memory moves in sectors of 32 bytes, lines of four of them. Shared memory has 32 banks of 4 bytes; in a
//! *wavefront* each bank gives one word, to any number of lanes. A warp whose lanes access more than 4 bytes each is
//! served in parts: halves for 8 bytes, quarters for 16 (CUDA C++ Best Practices Guide 12.9, sections 10.2.1 and 10.2.3).

use crate::lanes::WARP;
use std::collections::BTreeSet;

/// Bytes of a sector of global memory.
pub(crate) const SECTOR: i64 = 32;
/// Bytes of a line of the L1 cache.
const LINE: i64 = 128;
/// Bytes that one bank of shared memory gives at a time.
const WORD: i64 = 4;
/// Banks of shared memory.
const BANKS: i64 = 32;

/// The addresses that the lanes of a warp access, in bytes; `None` in a lane that takes no part.
pub(crate) type Addresses = [Option<i64>; WARP];

/// How many sectors the accesses of `bytes` at `addresses` touch.
pub(crate) fn sectors(addresses: &Addresses, bytes: i64) -> Vec<i64> {
    let of = |&address: &i64| address.div_euclid(SECTOR)..=address.saturating_add(bytes.max(1) - 1).div_euclid(SECTOR);
    let mut all: Vec<i64> = addresses.iter().flatten().flat_map(of).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// How many passes through the L1 cache serve accesses that touch `sectors`: one for each line, at least.
pub(crate) fn lines(sectors: &[i64]) -> u64 {
    let mut lines: Vec<i64> = sectors.iter().map(|sector| sector.div_euclid(LINE / SECTOR)).collect();
    lines.dedup();
    lines.len() as u64
}

/// How many wavefronts of shared memory serve the accesses of `bytes` at `addresses`, and how many would if no two words
/// of a bank were asked for at a time. Parts of a warp whose words do not meet in a bank go together.
pub(crate) fn wavefronts(addresses: &Addresses, bytes: i64) -> (u64, u64) {
    let width = (bytes.clamp(WORD, 16) as u64).next_power_of_two() as i64;
    let part = WARP as i64 * WORD / width;
    let words_of = |lanes: &[Option<i64>]| {
        let of = |&address: &i64| address.div_euclid(WORD)..=address.saturating_add(bytes.max(1) - 1).div_euclid(WORD);
        lanes.iter().flatten().flat_map(of).collect::<BTreeSet<i64>>()
    };
    let (mut sum, mut all, mut before) = (0, BTreeSet::new(), BTreeSet::new());
    for lanes in addresses.chunks(part as usize) {
        let words = words_of(lanes);
        let together: BTreeSet<i64> = before.union(&words).copied().collect();
        all.extend(words.iter().copied());
        if fullest(&together) > 1 {
            sum += fullest(&before);
            before = words;
        } else {
            before = together;
        }
    }
    (sum + fullest(&before), (all.len() as u64).div_ceil(BANKS as u64))
}

/// How many of `words` the bank has that has most.
fn fullest(words: &BTreeSet<i64>) -> u64 {
    let mut of_bank = [0u64; BANKS as usize];
    for word in words {
        of_bank[word.rem_euclid(BANKS) as usize] += 1;
    }
    of_bank.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(of: impl Fn(i64) -> i64) -> Addresses {
        std::array::from_fn(|lane| Some(of(lane as i64)))
    }

    #[test]
    fn sectors_of_known_patterns() {
        assert_eq!(sectors(&lanes(|lane| 4 * lane), 4).len(), 4);
        assert_eq!(sectors(&lanes(|lane| 4 * lane + 4), 4).len(), 5);
        assert_eq!(sectors(&lanes(|lane| 8 * lane), 4).len(), 8);
        assert_eq!(sectors(&lanes(|lane| 128 * lane), 4).len(), 32);
        assert_eq!(sectors(&lanes(|_| 64), 4).len(), 1);
        assert_eq!(sectors(&lanes(|lane| 16 * lane), 16).len(), 16);
        assert_eq!(sectors(&[None; WARP], 4).len(), 0);
        assert_eq!(lines(&sectors(&lanes(|lane| 16 * lane), 16)), 4);
        assert_eq!(lines(&sectors(&lanes(|lane| 128 * lane), 4)), 32);
    }

    #[test]
    fn wavefronts_of_known_patterns() {
        // A row, a column of a tile of 32 columns, one of 33, one word for all.
        assert_eq!(wavefronts(&lanes(|lane| 4 * lane), 4), (1, 1));
        assert_eq!(wavefronts(&lanes(|lane| 128 * lane), 4), (32, 1));
        assert_eq!(wavefronts(&lanes(|lane| 132 * lane), 4), (1, 1));
        assert_eq!(wavefronts(&lanes(|_| 4), 4), (1, 1));
        // Vectors: a row of 512 bytes takes four either way; of pairs, two.
        assert_eq!(wavefronts(&lanes(|lane| 16 * lane), 16), (4, 4));
        assert_eq!(wavefronts(&lanes(|lane| 8 * lane), 8), (2, 2));
        // Rows of 64 bytes, one a lane, 16 bytes of each: lanes 0, 2, 4, ... of a quarter share banks.
        assert_eq!(wavefronts(&lanes(|lane| 64 * lane), 16), (16, 4));
        // One vector for all lanes, and one for each half of them.
        assert_eq!(wavefronts(&lanes(|_| 32), 16), (1, 1));
        assert_eq!(wavefronts(&lanes(|lane| lane / 16 * 16), 16), (1, 1));
        assert_eq!(wavefronts(&lanes(|lane| lane / 16 * 128), 16), (2, 1));
        // Halves of one word are one word.
        assert_eq!(wavefronts(&lanes(|lane| 2 * lane), 2), (1, 1));
        assert_eq!(wavefronts(&[None; WARP], 4), (0, 0));
    }
}
