//! Tiles that a warp holds together, and which of its threads holds what.
//!
//! A buffer in a scope `wmma.…` or `mma.…` is an array of tiles, one array a warp. While its elements are numbers, the
//! last two dimensions are those of a tile, in the order in which the tile lies in memory (its *image*); so a tile of
//! `matrix_a` may be m x k or, with the layout `col_major`, k x m. In `wmma` such a buffer becomes one of fragments,
//! of which it is not known which thread holds what. In `mma` that is known ([`element`]), and so for the sums of
//! `wgmma`, which the four warps of a warpgroup hold together.

use crate::scope::Scope;
use crate::tir::place_type;
use crate::{mma, wgmma, wmma};
use tc_ir::types::TypeParam;
use tc_ir::{Elem, Func, Op, Scalar, Type, TypeData, Value};

/// The two families of matrix ops.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// Fragments whose inside is unknown.
    Wmma,
    /// Tiles whose elements lie in known registers of known threads.
    Mma,
    /// Sums in known registers of the threads of a warpgroup; factors lie in shared memory.
    Wgmma,
}

impl Family {
    /// The name of the dialect, and of its scopes up to the dot.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Wmma => "wmma",
            Family::Mma => "mma",
            Family::Wgmma => "wgmma",
        }
    }

    /// How many threads hold a tile together: the warps of a warpgroup have 16 rows of each 64.
    pub const fn threads(self) -> i64 {
        match self {
            Family::Wmma | Family::Mma => 32,
            Family::Wgmma => 128,
        }
    }

    /// What these threads are called.
    pub const fn crew(self) -> &'static str {
        match self {
            Family::Wmma | Family::Mma => "warp",
            Family::Wgmma => "warpgroup",
        }
    }
}

/// What a tile is in a product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Use {
    /// The left factor, m x k.
    A,
    /// The right factor, k x n.
    B,
    /// The sum, m x n.
    Accumulator,
    /// One number for each row of the sums, which every thread holds that has a part in the row.
    Rows,
}

impl Use {
    /// The word in types and scopes.
    pub const fn name(self) -> &'static str {
        match self {
            Use::A => "matrix_a",
            Use::B => "matrix_b",
            Use::Accumulator => "accumulator",
            Use::Rows => "rows",
        }
    }

    /// The part of a fragment: it is no row of numbers.
    fn parse(word: &str) -> Option<Use> {
        [Use::A, Use::B, Use::Accumulator].into_iter().find(|part| part.name() == word)
    }
}

/// The order in which a tile lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Layout {
    /// Rows one after another.
    #[default]
    RowMajor,
    /// Columns one after another.
    ColMajor,
}

impl Layout {
    /// The word in text.
    pub const fn name(self) -> &'static str {
        match self {
            Layout::RowMajor => "row_major",
            Layout::ColMajor => "col_major",
        }
    }

    /// The layout called `word`.
    pub fn parse(word: &str) -> Option<Layout> {
        [Layout::RowMajor, Layout::ColMajor].into_iter().find(|layout| layout.name() == word)
    }
}

/// The family and use that the scope `scope` is for.
pub fn scope_use(scope: &str) -> Option<(Family, Use)> {
    Scope::parse(scope)?.tiles()
}

/// A type `wmma.fragment<use, m, n, k, elem, layout>`; accumulators have no layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fragment {
    /// What it is in a product.
    pub part: Use,
    /// The extents of the product: m, n, k.
    pub shape: [i64; 3],
    /// The type of an element.
    pub elem: Elem,
    /// The layout of a factor.
    pub layout: Option<Layout>,
}

/// The name of the fragment type.
pub const FRAGMENT: &str = "wmma.fragment";

impl Fragment {
    /// What the type `ty` says, if it is that of a fragment and well formed.
    pub fn of(func: &Func, ty: Type) -> Option<Fragment> {
        let TypeData::Opaque { path, params } = func.type_data(ty) else { return None };
        if func.text(*path) != FRAGMENT {
            return None;
        }
        let word = |param: &TypeParam| match param {
            TypeParam::Type(ty) => match func.type_data(*ty) {
                TypeData::Opaque { path, params } if params.is_empty() => Some(func.text(*path)),
                _ => None,
            },
            _ => None,
        };
        let int = |param: &TypeParam| if let TypeParam::Int(n) = param { Some(*n) } else { None };
        let [part, m, n, k, elem, rest @ ..] = &params[..] else { return None };
        let TypeParam::Type(elem) = elem else { return None };
        let Scalar { elem, lanes: 1 } = func.as_scalar(*elem)? else { return None };
        let part = Use::parse(word(part)?)?;
        let layout = match rest {
            [] => None,
            [layout] => Some(Layout::parse(word(layout)?)?),
            _ => return None,
        };
        let fragment = Fragment { part, shape: [int(m)?, int(n)?, int(k)?], elem, layout };
        (layout.is_some() == (part != Use::Accumulator)).then_some(fragment)
    }

    /// The type.
    pub fn ty(self, func: &mut Func) -> Type {
        let mut word = |text: &str| {
            let path = func.name(text);
            TypeParam::Type(func.ty(TypeData::Opaque { path, params: [].into() }))
        };
        let part = word(self.part.name());
        let layout = self.layout.map(|layout| word(layout.name()));
        let elem = TypeParam::Type(func.scalar_ty(Scalar::of(self.elem)));
        let [m, n, k] = self.shape.map(TypeParam::Int);
        let params = [part, m, n, k, elem].into_iter().chain(layout).collect();
        let path = func.name(FRAGMENT);
        func.ty(TypeData::Opaque { path, params })
    }

    /// Rows and columns of the matrix: m x k, k x n or m x n.
    pub fn extents(self) -> (i64, i64) {
        let [m, n, k] = self.shape;
        match self.part {
            Use::A => (m, k),
            Use::B => (k, n),
            Use::Accumulator | Use::Rows => (m, n),
        }
    }

    /// Rows and columns of its image in memory: of a `col_major` factor, those of the transposed matrix.
    pub fn image(self) -> (i64, i64) {
        let (rows, cols) = self.extents();
        if self.layout == Some(Layout::ColMajor) { (cols, rows) } else { (rows, cols) }
    }
}

/// One tile that a place refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tile {
    /// The family that its scope is of.
    pub family: Family,
    /// What its scope is for.
    pub part: Use,
    /// The type of an element.
    pub elem: Elem,
    /// Rows and columns of its image.
    pub image: (i64, i64),
    /// The fragment type, where the buffer is one of fragments.
    pub fragment: Option<Fragment>,
}

/// The tile that `place` refers to: a region (or buffer) of numbers in a scope of tiles of which all but the last two
/// extents are 1, or one fragment.
pub fn tile(func: &Func, place: Value) -> Option<Tile> {
    let (elem, shape, scope) = place_type(func, place)?;
    let (family, part) = scope_use(func.text(scope?)).filter(|&(_, part)| part != Use::Rows)?;
    let extents: Vec<i64> = shape.iter().map(|&dim| func.as_int(dim)).collect::<Option<_>>()?;
    if let Some(fragment) = Fragment::of(func, elem) {
        let is_one = extents.iter().all(|&extent| extent == 1) && fragment.part == part;
        return is_one.then_some(Tile {
            family,
            part,
            elem: fragment.elem,
            image: fragment.image(),
            fragment: Some(fragment),
        });
    }
    let Scalar { elem, lanes: 1 } = func.as_scalar(elem)? else { return None };
    let (&[rows, cols], leading) = extents.split_last_chunk::<2>().map(|(leading, last)| (last, leading))?;
    leading.iter().all(|&extent| extent == 1).then_some(Tile {
        family,
        part,
        elem,
        image: (rows, cols),
        fragment: None,
    })
}

/// The type of the factors that the matrix op `op` multiplies, or of the factor that it fills, loads or stores; `None`
/// for accumulators, and for other ops.
pub fn moved(func: &Func, op: Op) -> Option<Elem> {
    let nth = match func.opcode(op) {
        wmma::MMA | wmma::STORE | mma::SYNC | wgmma::MMA => 1,
        wmma::FILL | wmma::LOAD | mma::LDMATRIX => 0,
        _ => return None,
    };
    let (elem, _, scope) = place_type(func, func.operand(op, nth))?;
    let part = scope.and_then(|scope| scope_use(func.text(scope))).map(|(_, part)| part);
    let number = || Fragment::of(func, elem).map(|of| of.elem).or_else(|| func.as_scalar(elem).map(|of| of.elem));
    if part == Some(Use::Accumulator) { None } else { number() }
}

/// A tile in memory, its rows a stride apart, that an op of whole warps moves: by the numbers of its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// Where the tile lies in memory.
    pub memory: usize,
    /// What holds it else.
    pub held: usize,
    /// The elements from one row to the next.
    pub stride: usize,
    /// It is loaded from memory, not stored to it.
    pub loads: bool,
}

/// The tile in memory that `op` moves, if it is such an op.
pub fn transfer(func: &Func, op: Op) -> Option<Transfer> {
    match func.opcode(op) {
        wmma::LOAD => Some(Transfer { memory: 1, held: 0, stride: 2, loads: true }),
        wmma::STORE => Some(Transfer { memory: 0, held: 1, stride: 2, loads: false }),
        _ => None,
    }
}

/// The operands of `op` that are what one thread holds of a tile.
pub fn register_tiles(func: &Func, op: Op) -> &[Value] {
    match func.opcode(op) {
        mma::SYNC => func.operands(op),
        wgmma::MMA if wgmma::left_in_registers(func, op) => &func.operands(op)[..2],
        mma::LDMATRIX | wgmma::MMA => &func.operands(op)[..1],
        _ => &[],
    }
}

/// How many elements of an `mma` tile of `elements` numbers one thread holds.
pub const fn per_lane(elements: i64) -> i64 {
    per_thread(Family::Mma, elements)
}

/// How many elements of a tile of `elements` numbers one of the threads holds that hold it together.
pub const fn per_thread(family: Family, elements: i64) -> i64 {
    elements / family.threads()
}

/// The extent k of an `mma` product of factors whose elements take `bytes`: 8, 16, 32 for 4, 2, 1.
pub const fn mma_k(bytes: u32) -> i64 {
    32 / bytes as i64
}

/// The row and column, in the matrix, of the element that lane `lane` of a warp holds as its `nth` of an `mma` tile;
/// elements take `bytes` bytes. (PTX ISA 8, "Matrix fragments for mma.m16n8k16" and its siblings; a tile with n = 16 is
/// two with n = 8 side by side.)
pub const fn element(part: Use, bytes: u32, lane: i64, nth: i64) -> (i64, i64) {
    let (group, member) = (lane / 4, lane % 4);
    let packed = 4 / bytes as i64;
    let (word, inner) = (nth / packed, member * packed + nth % packed);
    match part {
        Use::A => (group + word % 2 * 8, inner + word / 2 * 4 * packed),
        Use::B => (inner + word % 2 * 4 * packed, group + word / 2 * 8),
        Use::Accumulator => (group + nth / 2 % 2 * 8, member * 2 + nth % 2 + nth / 4 * 8),
        Use::Rows => (group + nth * 8, 0),
    }
}

/// The row and column of the element that thread `thread` of a warpgroup holds as its `nth` of the sums, or of the left
/// factor, of a product of `wgmma`; elements take `bytes` bytes. Each warp has 16 rows, and holds them as it does a tile of
/// `mma`. (PTX ISA 8.7, "Register fragments for wgmma.mma_async".)
pub const fn warpgroup_element(part: Use, bytes: u32, thread: i64, nth: i64) -> (i64, i64) {
    let (row, column) = element(part, bytes, thread % 32, nth);
    (thread / 32 * 16 + row, column)
}

/// Which element types may be multiplied into which, and by which shapes.
pub struct Product {
    /// The family.
    pub family: Family,
    /// Of both factors.
    pub factors: Elem,
    /// Of the sum.
    pub sums: &'static [Elem],
    /// The shapes: m, n, k. Of `wgmma` the widest; [`Product::has_width`] tells of the others.
    pub shapes: &'static [[i64; 3]],
}

impl Product {
    /// Is there one with `n` columns?
    pub fn has_width(&self, n: i64) -> bool {
        match self.family {
            Family::Wmma | Family::Mma => self.shapes.iter().any(|&[_, columns, _]| columns == n),
            // PTX ISA 8.7, "Matrix shape of wgmma": steps of 8; products of integers have steps of 16 from 32 on.
            Family::Wgmma => {
                let step = if self.sums.contains(&Elem::I32) && n > 32 { 16 } else { 8 };
                (8..=256).contains(&n) && n % step == 0
            }
        }
    }
}

const WMMA_SHAPES: &[[i64; 3]] = &[[16, 16, 16], [32, 8, 16], [8, 32, 16]];

/// The products that the hardware has.
pub const PRODUCTS: &[Product] = &[
    Product { family: Family::Wmma, factors: Elem::F16, sums: &[Elem::F32, Elem::F16], shapes: WMMA_SHAPES },
    Product { family: Family::Wmma, factors: Elem::BF16, sums: &[Elem::F32], shapes: WMMA_SHAPES },
    Product { family: Family::Wmma, factors: Elem::I8, sums: &[Elem::I32], shapes: WMMA_SHAPES },
    Product { family: Family::Wmma, factors: Elem::U8, sums: &[Elem::I32], shapes: WMMA_SHAPES },
    Product { family: Family::Wmma, factors: Elem::TF32, sums: &[Elem::F32], shapes: &[[16, 16, 8]] },
    Product {
        family: Family::Mma,
        factors: Elem::F16,
        sums: &[Elem::F32, Elem::F16],
        shapes: &[[16, 8, 16], [16, 16, 16]],
    },
    Product { family: Family::Mma, factors: Elem::BF16, sums: &[Elem::F32], shapes: &[[16, 8, 16], [16, 16, 16]] },
    Product { family: Family::Mma, factors: Elem::F32, sums: &[Elem::F32], shapes: &[[16, 8, 8], [16, 16, 8]] },
    Product { family: Family::Mma, factors: Elem::I8, sums: &[Elem::I32], shapes: &[[16, 8, 32], [16, 16, 32]] },
    Product { family: Family::Mma, factors: Elem::U8, sums: &[Elem::I32], shapes: &[[16, 8, 32], [16, 16, 32]] },
    Product { family: Family::Wgmma, factors: Elem::F16, sums: &[Elem::F32, Elem::F16], shapes: &[[64, 256, 16]] },
    Product { family: Family::Wgmma, factors: Elem::BF16, sums: &[Elem::F32], shapes: &[[64, 256, 16]] },
    Product { family: Family::Wgmma, factors: Elem::F32, sums: &[Elem::F32], shapes: &[[64, 256, 8]] },
    Product { family: Family::Wgmma, factors: Elem::I8, sums: &[Elem::I32], shapes: &[[64, 256, 32]] },
    Product { family: Family::Wgmma, factors: Elem::U8, sums: &[Elem::I32], shapes: &[[64, 256, 32]] },
    Product { family: Family::Wgmma, factors: Elem::F8E4M3, sums: &[Elem::F32, Elem::F16], shapes: &[[64, 256, 32]] },
    Product { family: Family::Wgmma, factors: Elem::F8E5M2, sums: &[Elem::F32, Elem::F16], shapes: &[[64, 256, 32]] },
];

/// The product of `family` of such elements, if the hardware has it. Numbers of 32 bits as factors of `wmma` are
/// rounded to tf32.
pub fn product(family: Family, factors: Elem) -> Option<&'static Product> {
    let factors = if family == Family::Wmma { factors.as_factor() } else { factors };
    PRODUCTS.iter().find(|product| product.family == family && product.factors == factors)
}

/// Are factors of such elements multiplied into such sums?
pub fn is_product(factors: Elem, sum: Elem) -> bool {
    PRODUCTS.iter().any(|product| product.factors == factors && product.sums.contains(&sum))
}

/// What PTX calls numbers of type `elem` in a product.
pub const fn ptx_name(elem: Elem) -> &'static str {
    match elem {
        Elem::I8 => "s8",
        Elem::I32 => "s32",
        Elem::F8E4M3 => "e4m3",
        Elem::F8E5M2 => "e5m2",
        _ => elem.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sum_of_a_warpgroup_is_held_once() {
        for columns in [8, 24, 256] {
            let held = per_thread(Family::Wgmma, 64 * columns);
            let all = (0..128)
                .flat_map(|thread| (0..held).map(move |nth| warpgroup_element(Use::Accumulator, 4, thread, nth)));
            let mut seen: Vec<(i64, i64)> = all.collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len() as i64, 64 * columns);
            assert!(seen.iter().all(|&(row, column)| row < 64 && column < columns));
        }
    }

    #[test]
    fn each_element_of_a_tile_is_held_once() {
        for (part, bytes, rows, cols) in [
            (Use::A, 2, 16, 16),
            (Use::A, 4, 16, 8),
            (Use::A, 1, 16, 32),
            (Use::B, 2, 16, 16),
            (Use::B, 2, 16, 8),
            (Use::B, 4, 8, 16),
            (Use::B, 1, 32, 16),
            (Use::Accumulator, 4, 16, 8),
            (Use::Accumulator, 4, 16, 16),
        ] {
            let mut seen = vec![false; (rows * cols) as usize];
            for lane in 0..32 {
                for nth in 0..per_lane(rows * cols) {
                    let (row, col) = element(part, bytes, lane, nth);
                    assert!(row < rows && col < cols, "{part:?} {bytes}: {row}, {col}");
                    assert!(!std::mem::replace(&mut seen[(row * cols + col) as usize], true));
                }
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
    }
}
