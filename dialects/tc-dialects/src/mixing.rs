//! Positions whose bits are mixed, and what is left where two ways to mix them meet.
//!
//! Each bit of the mixed position is the XOR of some bits of the position: a linear map over the numbers 0 and 1. Such maps compose
//! and have inverses, so that it can be solved for the order in which one reads what another has written. (Linear layouts: Zhou,
//! Lezcano, Goucher and others 2025, "Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2".)

use crate::algebra::Algebra;
use tc_arith::Expr;

/// The bits of a position that are looked at.
const BITS: usize = 40;

/// A mixing of one kind: `bits` bits of a position from bit `base` on, XOR those `shift` higher.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mixing {
    /// How many bits change.
    pub bits: u32,
    /// The lowest of them.
    pub base: u32,
    /// How much higher those stand that change them: at least as many as change, so that none of these changes itself.
    pub shift: u32,
}

impl Mixing {
    /// The three numbers, if they are a mixing of bits that are looked at.
    pub fn of(numbers: &[i64]) -> Option<Mixing> {
        let &[bits, base, shift] = numbers else { return None };
        let is_sound = bits >= 1 && base >= 0 && shift >= bits;
        let [bits, base, shift] = [bits, base, shift].map(|number| u32::try_from(number).ok());
        let mixing = Mixing { bits: bits?, base: base?, shift: shift? };
        let end = mixing.base.checked_add(mixing.shift)?.checked_add(mixing.bits)?;
        (is_sound && end as usize <= BITS).then_some(mixing)
    }

    /// The list that stands for it in text.
    pub fn numbers(self) -> [i64; 3] {
        [self.bits, self.base, self.shift].map(i64::from)
    }

    /// The position that `at` becomes.
    pub fn mixed(self, at: i64) -> i64 {
        at ^ ((at >> self.shift) & (((1 << self.bits) - 1) << self.base))
    }

    /// After so many positions the pattern begins anew.
    pub fn period(self) -> i64 {
        1 << (self.base + self.shift + self.bits)
    }

    /// The position that `at` becomes, as an expression.
    pub fn mixed_expr(self, algebra: &mut Algebra, at: Expr) -> Expr {
        let pool = &mut algebra.analyzer.pool;
        let [stretch, exchanged, count] =
            [1 << self.base, 1 << (self.base + self.bits), 1 << self.bits].map(|n| pool.int(n));
        let above = pool.int(1 << (self.base + self.shift));
        let number = pool.floor_div(at, stretch);
        let number = pool.floor_mod(number, count);
        let mixer = pool.floor_div(at, above);
        let mixer = pool.floor_mod(mixer, count);
        let number = pool.bit_xor(number, mixer);
        let number = pool.mul(number, stretch);
        let start = pool.floor_div(at, exchanged);
        let start = pool.mul(start, exchanged);
        let within = pool.floor_mod(at, stretch);
        let sum = pool.add(start, number);
        let sum = pool.add(sum, within);
        algebra.analyzer.simplify(sum)
    }
}

/// A linear map of positions: what becomes of each bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BitMap([u64; BITS]);

impl BitMap {
    fn of(map: impl Fn(i64) -> i64) -> BitMap {
        BitMap(std::array::from_fn(|bit| map(1 << bit) as u64))
    }

    fn at(self, position: u64) -> u64 {
        (0..BITS).filter(|bit| position >> bit & 1 == 1).fold(0, |sum, bit| sum ^ self.0[bit])
    }

    /// The map that leads back, if there is one (Gauss and Jordan).
    fn inverse(self) -> Option<BitMap> {
        let (mut from, mut to) = (self.0, BitMap::of(|at| at).0);
        for bit in 0..BITS {
            let pivot = (bit..BITS).find(|&row| from[row] >> bit & 1 == 1)?;
            from.swap(bit, pivot);
            to.swap(bit, pivot);
            for row in (0..BITS).filter(|&row| row != bit) {
                if from[row] >> bit & 1 == 1 {
                    from[row] ^= from[bit];
                    to[row] ^= to[bit];
                }
            }
        }
        Some(BitMap(to))
    }

    /// This one, and `next` after it.
    fn then(self, next: BitMap) -> BitMap {
        BitMap(self.0.map(|image| next.at(image)))
    }

    /// The mixing that it is, if it is one: some bits from a first one on, each changed by one bit so much higher.
    fn mixing(self) -> Option<Mixing> {
        // What else than itself a bit of the position changes.
        let changes = |bit: usize| self.0[bit] ^ 1 << bit;
        let first = (0..BITS).find(|&bit| changes(bit) != 0)?;
        let base = changes(first).trailing_zeros();
        let bits = (first..BITS).take_while(|&bit| changes(bit) != 0).count() as u32;
        let mixing = Mixing { bits, base, shift: (first as u32).checked_sub(base)? };
        let same = |found: &Mixing| *found == mixing && BitMap::of(|at| found.mixed(at)) == self;
        Mixing::of(&mixing.numbers()).filter(same)
    }
}

/// Where position `at` of a reader lies for a writer: `written` tells how the writer mixes positions, `read` how the reader does.
/// `None` where both do alike, and where what is left is no mixing of one kind.
pub fn residual(written: Option<Mixing>, read: Option<Mixing>) -> Option<Mixing> {
    let map = |mixing: Option<Mixing>| BitMap::of(|at| mixing.map_or(at, |mixing| mixing.mixed(at)));
    map(read).then(map(written).inverse()?).mixing()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS_OF_128: Mixing = Mixing { bits: 3, base: 4, shift: 3 };
    const ROWS_OF_64: Mixing = Mixing { bits: 2, base: 4, shift: 3 };
    const ROWS_OF_32: Mixing = Mixing { bits: 1, base: 4, shift: 3 };

    #[test]
    fn what_is_left_leads_from_the_reader_to_the_writer() {
        let all = [None, Some(ROWS_OF_128), Some(ROWS_OF_64), Some(ROWS_OF_32)];
        for (written, read) in all.into_iter().flat_map(|written| all.map(|read| (written, read))) {
            let left = residual(written, read);
            let mixed = |mixing: Option<Mixing>, at: i64| mixing.map_or(at, |mixing| mixing.mixed(at));
            for at in 0..4096 {
                assert_eq!(mixed(written, mixed(left, at)), mixed(read, at), "{written:?} {read:?} {at}");
            }
        }
    }

    #[test]
    fn rows_of_32_bytes_in_rows_of_128_are_exchanged_by_fours() {
        let left = residual(Some(ROWS_OF_128), Some(ROWS_OF_32));
        // Bits 5 and 6 of an address are the lowest two of the number of a row of 32 bytes.
        assert_eq!(left, Some(Mixing { bits: 2, base: 5, shift: 3 }));
    }

    #[test]
    fn what_mixes_bits_otherwise_is_no_mixing_of_one_kind() {
        let other = Mixing { bits: 1, base: 4, shift: 4 };
        assert_eq!(residual(Some(ROWS_OF_32), Some(other)), None);
        assert_eq!(residual(Some(other), Some(other)), None);
        assert_eq!(residual(None, Some(other)), Some(other));
    }

    #[test]
    fn numbers_that_mix_a_bit_with_itself_are_none() {
        assert_eq!(Mixing::of(&[3, 4, 2]), None);
        assert_eq!(Mixing::of(&[3, 4, 40]), None);
        assert_eq!(Mixing::of(&[2, 0, 3]).map(|mixing| mixing.mixed(0b11001)), Some(0b11010));
    }
}
