//! Products that a warpgroup has: types, extents, where factors lie.

use super::descriptor::{MAX_OFFSET, is_offset};
use super::{COMMIT, Descriptor, MAX_PENDING, Major, Side, factor_extents};
use crate::algebra::is_launch;
use crate::fragment::{Family, Layout, Use, mma_k, per_thread, product, tile};
use crate::mixing::Mixing;
use crate::mma::held;
use crate::scope::{Scope, scope_text};
use crate::tir::{self, place_type};
use crate::wmma::verify::layout;
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{AttrData, Elem, Func, Name, Op, keys};
use tc_support::{Diagnostic, Diagnostics, counted};

/// The threads of a warpgroup.
pub const WARPGROUP: i64 = 128;

/// The rows of a product.
pub const TILE_ROWS: i64 = 64;

/// The columns of a product are a multiple of so many.
pub const TILE_COLUMNS: i64 = 8;

fn error(func: &Func, op: Op, code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, func.op_location(op), message)
}

/// What the product `op` multiplies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The columns of the sums.
    pub n: i64,
    /// The steps of the reduction.
    pub k: i64,
    /// The type of the factors.
    pub factors: Elem,
    /// The type of the sums.
    pub sums: Elem,
}

impl Shape {
    /// The extents m, n, k.
    pub fn extents(self) -> [i64; 3] {
        [TILE_ROWS, self.n, self.k]
    }

    /// The rows or columns of the result that the factor `side` has a part in.
    pub fn mn(self, side: Side) -> i64 {
        if side == Side::A { TILE_ROWS } else { self.n }
    }
}

/// The dimension along which the factor `side` of the product `op` lies.
pub fn major(func: &Func, op: Op, side: Side) -> Major {
    let key = if side == Side::A { keys::A_LAYOUT } else { keys::B_LAYOUT };
    Major::of(side, func.word_of(op, key).and_then(Layout::parse).unwrap_or_default())
}

/// Does the loop `op` hold other loops over groups of products, as one over tiles does?
pub fn holds_steps(func: &Func, op: Op) -> bool {
    let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
    inner.filter(|&inner| func.opcode(inner) == COMMIT).any(|commit| {
        let mut between = ancestors(func, commit).take_while(|&around| around != op);
        between.any(|around| func.opcode(around) == tir::FOR && !is_launch(func, around))
    })
}

/// Does the left factor of the product `op` lie in registers of the warpgroup, or of each of its threads?
pub fn left_in_registers(func: &Func, op: Op) -> bool {
    matches!(Scope::of(func, func.operand(op, 1)), Some(Scope::WgmmaA | Scope::Local))
}

/// The order of the rows of the left factor of `op`, where it is not that of the region.
pub fn rows_of_left(func: &Func, op: Op) -> Option<Mixing> {
    let AttrData::List(list) = func.attr_data(func.attr_of(op, keys::A_ROWS)?) else { return None };
    let numbers: Option<Vec<i64>> = list.iter().map(|&number| func.as_int(number)).collect();
    Mixing::of(&numbers?).filter(|mixing| mixing.period() <= TILE_ROWS)
}

/// What the product `op` multiplies, by its sums and the type of its factors; `None` where it is not well formed.
pub fn shape(func: &Func, op: Op) -> Option<Shape> {
    let place = func.operand(op, 0);
    let (sums, n) = match held(func, place) {
        Some((sums, count)) => (sums, count.checked_mul(WARPGROUP)? / TILE_ROWS),
        None => {
            let tile =
                tile(func, place).filter(|tile| tile.family == Family::Wgmma && tile.part == Use::Accumulator)?;
            (tile.elem, Some(tile.image.1).filter(|_| tile.image.0 == TILE_ROWS)?)
        }
    };
    let (elem, _, _) = place_type(func, func.operand(op, 1))?;
    let factors = func.as_scalar(elem).filter(|scalar| scalar.lanes == 1)?.elem;
    Some(Shape { n, k: mma_k(factors.bytes()), factors, sums })
}

/// The descriptor that `op` gives by `key`.
fn descriptor(func: &Func, op: Op, key: Name) -> Result<Option<Descriptor>, ()> {
    let Some(attr) = func.attr_of(op, key) else { return Ok(None) };
    let AttrData::List(list) = func.attr_data(attr) else { return Err(()) };
    let numbers: Option<Vec<i64>> = list.iter().map(|&number| func.as_int(number)).collect();
    numbers.and_then(|numbers| Descriptor::of(&numbers)).map(Some).ok_or(())
}

impl Side {
    /// The number of the operand, and the keys of its layout and descriptor.
    fn keys(self) -> (usize, Name, Name) {
        match self {
            Side::A => (1, keys::A_LAYOUT, keys::A_DESCRIPTOR),
            Side::B => (2, keys::B_LAYOUT, keys::B_DESCRIPTOR),
        }
    }

    /// The number of the operand of a product.
    pub fn operand(self) -> usize {
        self.keys().0
    }

    /// The key of its descriptor.
    pub fn descriptor_key(self) -> Name {
        self.keys().2
    }

    /// The descriptor that the product `op` has for it.
    pub fn descriptor(self, func: &Func, op: Op) -> Option<Descriptor> {
        descriptor(func, op, self.keys().2).ok().flatten()
    }
}

pub(super) fn mma(func: &Func, op: Op, found: &mut Diagnostics) {
    let Some(shape) = shape(func, op) else {
        let text = format!(
            "a warpgroup product adds to {TILE_ROWS} x n sums in `wgmma.accumulator`, not to `{}`",
            func.show_type(func.value_type(func.operand(op, 0)))
        );
        let help = "name one tile: a region `&C[0 : 64, 0 : 128]` of a buffer in that scope";
        return found.push(error(func, op, "tile", text).help(help));
    };
    let known = product(Family::Wgmma, shape.factors).filter(|known| known.sums.contains(&shape.sums));
    let Some(known) = known else {
        let (factors, sums) = (shape.factors.name(), shape.sums.name());
        let text = format!("there is no warpgroup product of `{factors}` into `{sums}`");
        let help = "factors are f16, bf16, f32 (as tf32), i8, u8, f8e4m3 or f8e5m2, and sums f32, or f16, or i32";
        return found.push(error(func, op, "type", text).help(help));
    };
    if !known.has_width(shape.n) {
        let text = format!("a warpgroup product of `{}` has no {}", shape.factors.name(), counted(shape.n, "column"));
        let help = if known.sums.contains(&Elem::I32) {
            "take 8, 16, 24, 32, or a multiple of 16 up to 256"
        } else {
            "take a multiple of 8 from 8 to 256"
        };
        found.push(error(func, op, "extent", text).help(help));
    }
    for side in [Side::A, Side::B] {
        if side == Side::A && left_in_registers(func, op) {
            left_factor(func, op, shape, found);
        } else {
            factor(func, op, side, shape, found);
        }
    }
    let by_regions = !left_in_registers(func, op) && func.attr_of(op, keys::A_DESCRIPTOR).is_none();
    let by_rows = by_regions && major(func, op, Side::A) == Major::K;
    if func.attr_of(op, keys::A_ROWS).is_some() && !(by_rows && rows_of_left(func, op).is_some()) {
        let text = format!(
            "`a_rows` exchanges rows of a left factor in memory, among {TILE_ROWS}, that lie along k and have no descriptor"
        );
        found.push(
            error(func, op, "layout", text).help("write three integers, as in `a_rows = [2, 0, 3]`, or leave it out"),
        );
    }
}

/// A left factor in registers: a tile, or what one thread holds of it.
fn left_factor(func: &Func, op: Op, shape: Shape, found: &mut Diagnostics) {
    let place = func.operand(op, Side::A.operand());
    let fits = match held(func, place) {
        Some((elem, n)) => elem == shape.factors && n == per_thread(Family::Wgmma, TILE_ROWS * shape.k),
        None => tile(func, place).is_some_and(|tile| tile.elem == shape.factors && tile.image == (TILE_ROWS, shape.k)),
    };
    if !fits {
        let have = func.show_type(func.value_type(place));
        let text =
            format!("the left factor is one tile of {TILE_ROWS} x {} elements in registers, not `{have}`", shape.k);
        let help = format!("name a region: `&A[0 : {TILE_ROWS}, k : {}]` of a buffer in `wgmma.matrix_a`", shape.k);
        found.push(error(func, op, "extent", text).help(help));
    }
    for key in [keys::A_LAYOUT, keys::A_DESCRIPTOR] {
        if func.attr_of(op, key).is_some_and(|attr| func.show_attr(attr) != Layout::RowMajor.name()) {
            let text = format!("`{}` tells how a factor lies in memory, and this one is in registers", func.text(key));
            found.push(error(func, op, "layout", text).help("leave it out: which thread holds what is known"));
        }
    }
}

fn factor(func: &Func, op: Op, side: Side, shape: Shape, found: &mut Diagnostics) {
    let (operand, layout_key, descriptor_key) = side.keys();
    let place = func.operand(op, operand);
    let (Some((elem, lengths, scope)), Some(layout)) = (place_type(func, place), layout(func, op, layout_key, found))
    else {
        let text = format!("a factor is a place in shared memory, not `{}`", func.show_type(func.value_type(place)));
        return found.push(error(func, op, "type", text));
    };
    if !Scope::of_name(func, scope).is_some_and(Scope::is_shared) {
        let text =
            format!("a factor of a warpgroup product lies in shared memory, not in `{}`", scope_text(func, scope));
        let help = match side {
            Side::A => "copy it to shared memory first, or to `wgmma.matrix_a`",
            Side::B => "copy it to shared memory first",
        };
        found.push(error(func, op, "scope", text).help(help));
    }
    if func.as_scalar(elem).is_none_or(|scalar| scalar.lanes != 1 || scalar.elem != shape.factors) {
        let text = format!("both factors are `{}`, not `{}`", shape.factors.name(), func.show_type(elem));
        found.push(error(func, op, "type", text));
    }
    let major = Major::of(side, layout);
    if major == Major::Mn && shape.factors.bytes() != 2 {
        let text = format!("factors of `{}` lie along k, and this one does not", shape.factors.name());
        let help = "only elements of 16 bits may lie across: store the factor the other way round";
        found.push(error(func, op, "layout", text).help(help));
    }
    match descriptor(func, op, descriptor_key) {
        Err(()) => {
            found.push(no_descriptor(func, op, descriptor_key));
        }
        Ok(Some(_)) if lengths.iter().any(|&length| func.as_int(length) != Some(1)) => {
            let text = "where a descriptor tells how a factor lies, its first element is named".to_string();
            found.push(error(func, op, "descriptor", text).help("write `&A[i]`"));
        }
        Ok(Some(_)) => {}
        Ok(None) => {
            let wanted = factor_extents(major, shape.mn(side), shape.k);
            let lengths: Option<Vec<i64>> = lengths.iter().map(|&length| func.as_int(length)).collect();
            // Dimensions of which there is one element only may stand before the rows, or between rows and columns.
            let many = |&length: &i64| length != 1;
            let fits = lengths.as_ref().and_then(|lengths| lengths.split_last()).is_some_and(|(&columns, rows)| {
                columns == wanted[1] && rows.iter().copied().filter(many).eq([wanted[0]])
            });
            if !fits {
                let have = func.show_type(func.value_type(place));
                let text = format!("the factor has {} x {} elements, and `{have}` other ones", wanted[0], wanted[1]);
                let help = "name a region: `&A[i : 64, r : 16]`; where it stands transposed, say `col_major`";
                found.push(error(func, op, "extent", text).help(help));
            }
        }
    }
}

/// What the attribute `key` of `op` says is no descriptor.
fn no_descriptor(func: &Func, op: Op, key: Name) -> Diagnostic {
    let name = func.text(key);
    let have = func.attr_of(op, key).map_or(String::new(), |attr| func.show_attr(attr));
    let list = match func.attr_of(op, key).map(|attr| func.attr_data(attr)) {
        Some(AttrData::List(list)) => list.iter().map(|&number| func.as_int(number)).collect(),
        _ => None,
    };
    let list: Option<Vec<i64>> = list;
    let help = match list.as_deref() {
        Some(&[leading, stride, swizzle]) => match [leading, stride].into_iter().find(|&offset| !is_offset(offset)) {
            Some(offset) => format!("an offset is a multiple of 16 bytes from 0 to {MAX_OFFSET}, and {offset} is not"),
            None => format!("a swizzle is of rows of 32, 64 or 128 bytes, or 0 for none, and not {swizzle}"),
        },
        _ => format!("write three integers: `{name} = [16, 1024, 128]`"),
    };
    let text =
        format!("`{name}` lists bytes: a leading offset, a stride offset, and the row of a swizzle; not `{have}`");
    error(func, op, "descriptor", text).help(help)
}

pub(super) fn wait_group(func: &Func, op: Op, found: &mut Diagnostics) {
    let pending = func.int_of(op, keys::PENDING).unwrap_or(-1);
    if !(0..=MAX_PENDING).contains(&pending) {
        let text = format!("`pending` is 0 to {MAX_PENDING} groups");
        found.push(error(func, op, "pending", text));
    }
}
