//! How a factor of a warpgroup product lies in shared memory.
//!
//! The hardware reads a factor by pieces of 16 bytes, of which two or more side by side are a *row* of 16 (no swizzle), 32,
//! 64 or 128 bytes, and eight rows one after another a *core*. Rows run along k (K-major) or along m or n (MN-major). A
//! descriptor says how wide rows are and how far apart cores are, and the bits of each address are mixed by the swizzle.
//! (PTX ISA 8.7, "Matrix descriptor" and "Canonical layouts", with the names of its offsets.)

use crate::fragment::Layout;

/// The bytes of a piece.
const PIECE: i64 = 16;

/// Which factor of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The left one, m x k.
    A,
    /// The right one, k x n.
    B,
}

/// The dimension along which the elements of a factor lie side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Major {
    /// That of the reduction.
    K,
    /// That of the result: m of the left factor, n of the right one.
    Mn,
}

impl Major {
    /// That of the factor `side` whose place in memory has the layout `layout`: rows of the left one run along k.
    pub fn of(side: Side, layout: Layout) -> Major {
        if (side == Side::A) == (layout == Layout::RowMajor) { Major::K } else { Major::Mn }
    }
}

/// The extents, in memory, of a factor with `mn` rows or columns and `k` steps.
pub fn factor_extents(major: Major, mn: i64, k: i64) -> [i64; 2] {
    match major {
        Major::K => [mn, k],
        Major::Mn => [k, mn],
    }
}

/// The greatest offset of a descriptor, in bytes: 14 bits of pieces.
pub(super) const MAX_OFFSET: i64 = ((1 << 14) - 1) * PIECE;

/// Does a descriptor hold `offset`, in bytes?
pub(super) fn is_offset(offset: i64) -> bool {
    (0..=MAX_OFFSET).contains(&offset) && offset % PIECE == 0
}

/// The layout of a factor, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// K-major without swizzle: from one piece of a row to the next. MN-major: from one row's worth of elements to the
    /// next, or, without swizzle, from eight steps of k to the next.
    pub leading: i64,
    /// K-major: from eight rows to the next. MN-major: from eight steps of k to the next, or, without swizzle, from one
    /// row's worth of elements to the next.
    pub stride: i64,
    /// The bytes of a row whose pieces are mixed; 0 where none are.
    pub swizzle: i64,
}

impl Descriptor {
    /// The list that stands for it in text.
    pub fn numbers(self) -> [i64; 3] {
        [self.leading, self.stride, self.swizzle]
    }

    /// What the list says, if it is one that the hardware takes.
    pub fn of(numbers: &[i64]) -> Option<Descriptor> {
        let &[leading, stride, swizzle] = numbers else { return None };
        (is_offset(leading) && is_offset(stride) && matches!(swizzle, 0 | 32 | 64 | 128)).then_some(Descriptor {
            leading,
            stride,
            swizzle,
        })
    }

    /// The bytes of a row.
    pub fn row(self) -> i64 {
        self.swizzle.max(PIECE)
    }

    /// Where a factor may start: at a multiple of so many bytes, the bits of which no swizzle mixes with others.
    pub fn alignment(self) -> i64 {
        if self.swizzle == 0 { PIECE } else { 8 * self.swizzle }
    }

    /// Where the element at `mn` and step `k` of a factor lies, whose elements take `bytes` bytes: counted from an address
    /// that is a multiple of [`Descriptor::alignment`], and with the factor's start `start` bytes after that.
    pub fn address(self, major: Major, bytes: i64, start: i64, [mn, k]: [i64; 2]) -> i64 {
        let row = self.row();
        let per_row = row / bytes;
        let plain = match major {
            Major::K => {
                let along = k * bytes;
                let piece = if self.swizzle == 0 { along / PIECE * self.leading + along % PIECE } else { along };
                mn / 8 * self.stride + mn % 8 * row + piece
            }
            Major::Mn => {
                let (of_mn, of_k) =
                    if self.swizzle == 0 { (self.stride, self.leading) } else { (self.leading, self.stride) };
                mn / per_row * of_mn + mn % per_row * bytes + k / 8 * of_k + k % 8 * row
            }
        };
        mixed(start + plain, self.swizzle)
    }
}

/// The address that `at` becomes where rows of `swizzle` bytes are mixed: bits from 4 on XOR those 3 higher.
pub fn mixed(at: i64, swizzle: i64) -> i64 {
    match swizzle {
        0 => at,
        width => at ^ ((at >> 3) & (width - PIECE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swizzle_mixes_the_row_into_the_piece() {
        // Row 3 of 128 bytes, piece 1: piece 1 ^ 3.
        assert_eq!(mixed(3 * 128 + 16, 128), 3 * 128 + 32);
        // Rows of 32 bytes: bit 4 changes by bit 7.
        assert_eq!(mixed(128, 32), 128 + 16);
        assert_eq!(mixed(64, 32), 64);
        assert_eq!(mixed(2 * 128, 64), 2 * 128 + 32);
    }

    #[test]
    fn the_elements_of_a_factor_lie_apart() {
        let k_major = Descriptor { leading: 16, stride: 1024, swizzle: 128 };
        let mn_major = Descriptor { leading: 8192, stride: 1024, swizzle: 128 };
        let plain = Descriptor { leading: 128, stride: 256, swizzle: 0 };
        for (descriptor, major, extents) in
            [(k_major, Major::K, [64, 16]), (mn_major, Major::Mn, [128, 16]), (plain, Major::K, [64, 16])]
        {
            let all = (0..extents[0]).flat_map(|mn| (0..extents[1]).map(move |k| [mn, k]));
            let mut seen: Vec<i64> = all.map(|at| descriptor.address(major, 2, 0, at)).collect();
            let n = seen.len();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), n);
        }
    }

    #[test]
    fn a_later_step_of_a_swizzled_row_starts_inside_it() {
        let descriptor = Descriptor { leading: 16, stride: 1024, swizzle: 128 };
        // Row 1, the second 16 of 64 f16: pieces 2 and 3 stand at 3 and 2.
        assert_eq!(descriptor.address(Major::K, 2, 32, [1, 0]), 128 + 48);
        assert_eq!(descriptor.address(Major::K, 2, 32, [1, 8]), 128 + 32);
    }
}
