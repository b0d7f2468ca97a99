//! How the elements of a tile lie in the registers of a warp.
//!
//! All tiles of `mma` are made of one pattern. One dimension of a tile is divided by eights: the place within an eight is
//! the *group* of a lane, `lane / 4`. The other one is divided by four times a *width*: a lane holds as many neighbours as
//! the width says, and which ones is told by its number in the group, `lane % 4`. So a piece of 8 by `4 * width` elements
//! gives every lane `width` of them, and a tile is made of such pieces. Of numbers for rows there is one column, and each of
//! the four lanes of a group holds it.

use tc_dialects::distribution::{Digit, Distribution, Holder};
use tc_dialects::fragment::{Family, Layout as Order, Use, element, per_thread, warpgroup_element};
use tc_dialects::mixing::Mixing;

/// Which lanes hold which elements, wherever in their registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spread {
    /// The dimension of a tile's image whose indices, modulo 8, are the groups of lanes.
    pub(super) group: usize,
    /// How many neighbours in the other dimension a lane holds.
    pub(super) width: i64,
    /// The family, which tells how many warps hold a tile together: each has 16 groups that follow each other.
    pub(super) family: Family,
    /// The lanes of a group hold the same: there is one column.
    pub(super) replicated: bool,
    /// How the groups are mixed, where products read rows of a left factor in another order.
    pub(super) rows: Option<Mixing>,
}

/// The lanes of a group.
pub(super) const LANES_OF_GROUP: i64 = 4;

/// The groups of one warp in a tile of several: two registers' worth of eight.
const OF_WARP: i64 = 16;

impl Spread {
    /// The extent of a piece in dimension `dim`.
    pub(super) fn piece(self, dim: usize) -> i64 {
        match (dim == self.group, self.replicated) {
            (true, _) => 8,
            (false, true) => 1,
            (false, false) => LANES_OF_GROUP * self.width,
        }
    }

    /// The indices in dimension `dim` that lanes divide: from the first one, which a lane holds with those before it, up to
    /// the one before the second.
    pub(super) fn divided(self, dim: usize) -> [i64; 2] {
        [if dim == self.group { 1 } else { self.width }, self.piece(dim)]
    }

    /// The group that holds the index `at`, counted as the hardware does, and the other way round.
    fn mixed(self, at: i64) -> i64 {
        self.rows.map_or(at, |rows| rows.mixed(at))
    }

    /// The warps that hold a tile together.
    pub(super) fn warps(self) -> i64 {
        self.family.threads() / 32
    }

    /// How many indices of dimension `dim` all threads have together, of one register each.
    pub(super) fn covered(self, dim: usize) -> i64 {
        if dim == self.group { 8 * self.warps() } else { self.piece(dim) }
    }

    /// What the extents of tiles, and of loops over them, are multiples of in dimension `dim`.
    pub(super) fn unit(self, dim: usize) -> i64 {
        if dim == self.group && self.warps() > 1 { OF_WARP * self.warps() } else { self.piece(dim) }
    }
}

/// How the tiles of a buffer lie in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Which lanes hold what.
    pub(super) spread: Spread,
    /// The extents of the image of a tile.
    pub(super) tile: [i64; 2],
    /// How far apart in the registers of a lane neighbouring pieces are, in each dimension.
    pub(super) strides: [i64; 2],
}

impl Layout {
    /// The layout of a tile of the given image whose elements take `bytes` bytes, if it is made of pieces.
    pub(super) fn of(family: Family, part: Use, bytes: u32, image: [i64; 2], order: Order) -> Option<Layout> {
        let (rows, cols) = if order == Order::ColMajor { (1, 0) } else { (0, 1) };
        let packed = 4 / i64::from(bytes).max(1);
        let (group, width) = match part {
            Use::A => (rows, packed),
            Use::B => (cols, packed),
            Use::Accumulator => (rows, 2),
            Use::Rows => (rows, 1),
        };
        // The rows of a tile run faster through the registers than its columns.
        let spread = Spread { group, width, family, replicated: part == Use::Rows, rows: None };
        Layout::made_of(spread, image, rows)
    }

    /// The layout of a tile whose pieces in dimension `fast` follow each other in the registers of a lane.
    pub(super) fn made_of(spread: Spread, tile: [i64; 2], fast: usize) -> Option<Layout> {
        let fits = |dim: usize| tile[dim] > 0 && tile[dim] % spread.unit(dim) == 0;
        if spread.width < 1 || !fits(0) || !fits(1) {
            return None;
        }
        let mut strides = [spread.width; 2];
        strides[1 - fast] = spread.width * (tile[fast] / spread.covered(fast));
        Some(Layout { spread, tile, strides })
    }

    /// How many elements of a tile a lane holds.
    pub(super) fn held(self) -> i64 {
        let copies = if self.spread.replicated { LANES_OF_GROUP } else { 1 };
        per_thread(self.spread.family, self.tile[0] * self.tile[1] * copies)
    }

    /// The same, of a buffer of so many tiles in each dimension, for the text; `None` where groups are mixed, as no digits say.
    pub(super) fn distribution(self, counts: [i64; 2]) -> Option<Distribution> {
        if self.spread.rows.is_some() {
            return None;
        }
        let [thread, register] = [Holder::Thread, Holder::Register];
        let dims = [0, 1].map(|dim| {
            let (stride, tile) = (self.strides[dim], self.tile[dim]);
            let mut digits = if dim != self.spread.group {
                let lanes = if self.spread.replicated { 1 } else { LANES_OF_GROUP };
                vec![Digit::new(self.spread.width, register, 1), Digit::new(lanes, thread, 1)]
            } else if self.spread.warps() > 1 {
                let warps = Digit::new(self.spread.warps(), thread, 32);
                vec![Digit::new(8, thread, LANES_OF_GROUP), Digit::new(2, register, stride), warps]
            } else {
                vec![Digit::new(8, thread, LANES_OF_GROUP)]
            };
            let covered: i64 = digits.iter().map(|digit| digit.extent).product();
            let step = if covered > self.spread.piece(dim) { 2 * stride } else { stride };
            digits.push(Digit::new(tile / covered, register, step));
            let tiles = if dim == 0 { counts[1] } else { 1 };
            digits.push(Digit::new(counts[dim], register, self.held() * tiles));
            if dim == self.spread.group && self.spread.replicated {
                digits.push(Digit::new(LANES_OF_GROUP, Holder::Copy, 1));
            }
            digits
        });
        let n_dims = if self.spread.replicated { 1 } else { 2 };
        Some(Distribution::new(dims.into_iter().take(n_dims).collect()))
    }

    /// Which lane holds the element at `at` of an image, and in which of the registers of which tile.
    fn place(self, at: [i64; 2]) -> (i64, [i64; 2], i64) {
        let (group, member) = (self.spread.group, 1 - self.spread.group);
        let mut at = at;
        at[group] = self.spread.mixed(at[group]);
        let width = self.spread.width;
        let warp = if self.spread.warps() > 1 { at[group] / OF_WARP % self.spread.warps() } else { 0 };
        let lane = warp * 32 + at[group] % 8 * 4 + at[member] % (4 * width) / width;
        let piece = |dim: usize| self.piece(dim, at[dim]);
        let nth = at[member] % width + self.strides[0] * piece(0) + self.strides[1] * piece(1);
        (lane, [at[0] / self.tile[0], at[1] / self.tile[1]], nth)
    }

    /// The number of the piece, in the registers of a lane, that the index `at` of dimension `dim` is in.
    fn piece(self, dim: usize, at: i64) -> i64 {
        let inside = at % self.tile[dim];
        if dim == self.spread.group && self.spread.warps() > 1 {
            return inside / self.spread.unit(dim) * 2 + inside % OF_WARP / 8;
        }
        inside / self.spread.piece(dim)
    }

    /// Where, in the registers of a lane, the elements of a region lie that a matrix op takes, in its order: the first one,
    /// counted through the tiles of a row. `None` where they do not follow each other. The region starts at `start`, and
    /// has the image `image`, of a `part` whose elements take `bytes` bytes.
    pub(super) fn stretch(
        self,
        part: Use,
        bytes: u32,
        order: Order,
        start: [i64; 2],
        image: [i64; 2],
        tiles_in_a_row: i64,
    ) -> Option<i64> {
        let mut first = None;
        let family = self.spread.family;
        for lane in 0..family.threads() {
            for nth in 0..per_thread(family, image[0] * image[1]) {
                let (row, col) = match family {
                    Family::Wgmma => warpgroup_element(part, bytes, lane, nth),
                    Family::Wmma | Family::Mma => element(part, bytes, lane, nth),
                };
                let mut at = if order == Order::ColMajor { [col, row] } else { [row, col] };
                at[self.spread.group] = self.spread.mixed(at[self.spread.group]);
                let (holder, tile, of_tile) = self.place([start[0] + at[0], start[1] + at[1]]);
                let position = (tile[0] * tiles_in_a_row + tile[1]) * self.held() + of_tile;
                if holder != lane
                    || at[0] >= image[0]
                    || at[1] >= image[1]
                    || *first.get_or_insert(position - nth) != position - nth
                {
                    return None;
                }
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILES: [(Use, u32, i64, i64); 10] = [
        (Use::A, 2, 16, 16),
        (Use::A, 4, 16, 8),
        (Use::A, 1, 16, 32),
        (Use::B, 2, 16, 16),
        (Use::B, 2, 16, 8),
        (Use::B, 4, 8, 16),
        (Use::B, 1, 32, 16),
        (Use::Accumulator, 4, 16, 8),
        (Use::Accumulator, 4, 16, 16),
        (Use::Accumulator, 2, 16, 16),
    ];

    #[test]
    fn pieces_make_the_tiles_of_the_hardware() {
        for (part, bytes, rows, cols) in TILES {
            for (order, image) in [(Order::RowMajor, [rows, cols]), (Order::ColMajor, [cols, rows])] {
                if part == Use::Accumulator && order == Order::ColMajor {
                    continue;
                }
                let layout = Layout::of(Family::Mma, part, bytes, image, order).expect("a tile is made of pieces");
                assert_eq!(layout.held(), per_thread(Family::Mma, rows * cols));
                assert_eq!(layout.stretch(part, bytes, order, [0, 0], image, 1), Some(0), "{part:?} {bytes} {image:?}");
                distributes(layout, image);
            }
        }
    }

    /// The digits say of each element of a tile what the layout does.
    fn distributes(layout: Layout, image: [i64; 2]) {
        let distribution = layout.distribution([1, 1]).expect("groups are not mixed");
        assert_eq!((distribution.check(), &distribution.extents()[..]), (Ok(()), &image[..]));
        assert_eq!(distribution.n_registers(), layout.held());
        for (row, column) in (0..image[0]).flat_map(|row| (0..image[1]).map(move |column| (row, column))) {
            let (lane, tile, register) = layout.place([row, column]);
            assert_eq!((tile, distribution.place(&[row, column])), ([0, 0], (lane, register)), "{layout:?}");
        }
    }

    #[test]
    fn half_a_tile_is_a_stretch_where_its_registers_follow_each_other() {
        let b = Layout::of(Family::Mma, Use::B, 2, [16, 16], Order::RowMajor).expect("a tile");
        assert_eq!(b.stretch(Use::B, 2, Order::RowMajor, [0, 8], [16, 8], 1), Some(4));
        let a = Layout::of(Family::Mma, Use::A, 2, [16, 16], Order::RowMajor).expect("a tile");
        assert_eq!(a.stretch(Use::A, 2, Order::RowMajor, [0, 8], [16, 8], 1), Some(4));
        assert_eq!(a.stretch(Use::A, 2, Order::RowMajor, [8, 0], [8, 16], 1), None);
    }

    #[test]
    fn two_tiles_side_by_side_are_a_stretch() {
        let b = Layout::of(Family::Mma, Use::B, 2, [16, 8], Order::RowMajor).expect("a tile");
        assert_eq!(b.stretch(Use::B, 2, Order::RowMajor, [0, 16], [16, 16], 4), Some(8));
        let turned = Layout::of(Family::Mma, Use::B, 2, [8, 16], Order::ColMajor).expect("a tile");
        assert_eq!(turned.stretch(Use::B, 2, Order::ColMajor, [8, 0], [16, 16], 1), Some(4));
        assert_eq!(turned.stretch(Use::B, 2, Order::ColMajor, [8, 0], [16, 16], 2), None);
    }

    #[test]
    fn the_sums_of_a_warpgroup_are_a_stretch() {
        let layout = Layout::of(Family::Wgmma, Use::Accumulator, 4, [64, 128], Order::RowMajor).expect("a tile");
        assert_eq!(layout.held(), 64);
        let stretch = |start, image| layout.stretch(Use::Accumulator, 4, Order::RowMajor, start, image, 1);
        assert_eq!(stretch([0, 0], [64, 128]), Some(0));
        assert_eq!(stretch([0, 64], [64, 64]), Some(32));
        assert_eq!(stretch([16, 0], [64, 64]), None);
        distributes(layout, [64, 128]);
        assert!(Layout::of(Family::Wgmma, Use::Accumulator, 4, [32, 128], Order::RowMajor).is_none());
    }

    #[test]
    fn a_left_factor_of_a_warpgroup_lies_as_its_sums_do() {
        for (bytes, k) in [(2, 16), (4, 8), (1, 32)] {
            let factor = Layout::of(Family::Wgmma, Use::A, bytes, [64, k], Order::RowMajor).expect("a tile");
            assert_eq!(factor.stretch(Use::A, bytes, Order::RowMajor, [0, 0], [64, k], 1), Some(0), "{bytes}");
        }
        let factor = Layout::of(Family::Wgmma, Use::A, 2, [64, 16], Order::RowMajor).expect("a tile");
        let sums = Layout::of(Family::Wgmma, Use::Accumulator, 4, [64, 16], Order::RowMajor).expect("a tile");
        assert_eq!(factor.spread, sums.spread);
    }

    #[test]
    fn each_thread_of_a_row_holds_its_number() {
        for (family, rows, held) in [(Family::Mma, 16, 2), (Family::Wgmma, 64, 2)] {
            let layout = Layout::of(family, Use::Rows, 4, [rows, 1], Order::RowMajor).expect("rows");
            assert_eq!(layout.held(), held);
            let distribution = layout.distribution([1, 1]).expect("groups are not mixed");
            assert_eq!((distribution.n_copies(), &distribution.extents()[..]), (4, &[rows][..]));
        }
    }
}
