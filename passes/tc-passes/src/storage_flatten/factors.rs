//! Factors of warpgroup products: how each lies in shared memory, as a descriptor tells the hardware.
//!
//! A factor is a region of two dimensions of a buffer with strides, panels and a swizzle. Of these the offsets of a
//! descriptor follow, and then each element of the factor is looked for by both: only if all lie at the same address is it
//! one that the hardware can read.

use super::strides::Flattening;
use super::swizzle::Swizzle;
use indexmap::IndexMap;
use tc_dialects::algebra::Algebra;
use tc_dialects::mixing::Mixing;
use tc_dialects::tir;
use tc_dialects::tma::swizzle_mixes;
use tc_dialects::wgmma::{self, Descriptor, Major, Shape, Side, factor_extents};
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Func, Op, Rewriter, Value, keys};
use tc_support::{Diagnostic, Diagnostics, counted};

/// The rows after which a swizzle of their own bytes repeats.
const ROWS: i64 = 8;

/// The bytes of a piece of a row.
const PIECE: i64 = 16;

/// The descriptors of factors.
#[derive(Default)]
pub(super) struct Factors {
    /// By product and side; `None` for one that was refused.
    descriptors: IndexMap<(Op, usize), (Side, Option<Descriptor>)>,
    /// The multiple that the buffer of an alloc has to lie at.
    alignments: IndexMap<Op, i64>,
}

impl Factors {
    pub(super) fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// Is operand `idx` of `op` a factor that becomes its first element?
    pub(super) fn contains(&self, op: Op, idx: usize) -> bool {
        self.descriptors.contains_key(&(op, idx))
    }
}

/// Finds the descriptor of each factor that has none.
pub(super) fn plan(func: &Func, plan: &mut Flattening, found: &mut Diagnostics) {
    for op in all_ops(func).filter(|&op| func.opcode(op) == wgmma::MMA) {
        let Some(shape) = wgmma::shape(func, op) else { continue };
        for side in [Side::A, Side::B] {
            if side.descriptor(func, op).is_some() || side == Side::A && wgmma::left_in_registers(func, op) {
                continue;
            }
            match descriptor(func, op, side, shape, plan) {
                Ok((descriptor, multiple, alloc)) => {
                    plan.factors.descriptors.insert((op, side.operand()), (side, Some(descriptor)));
                    if let Some(alloc) = alloc {
                        let align = plan.factors.alignments.entry(alloc).or_default();
                        *align = multiple.max(*align);
                    }
                }
                Err((text, help)) => {
                    plan.factors.descriptors.insert((op, side.operand()), (side, None));
                    let mut diagnostic = Diagnostic::error("descriptor", func.op_location(op), text).help(help);
                    let (buffer, _) = start_of(func, func.operand(op, side.operand()));
                    if let Some(alloc) = func.def_op(buffer) {
                        diagnostic = diagnostic.label(func.op_location(alloc), "the buffer is made here");
                    }
                    found.push(diagnostic);
                }
            }
        }
    }
}

/// Writes the descriptors down.
pub(super) fn apply(func: &mut Func, plan: &Flattening) {
    for (&(op, _), &(side, descriptor)) in &plan.factors.descriptors {
        let Some(descriptor) = descriptor else { continue };
        let list = descriptor.numbers().map(|number| func.int_attr(number));
        let list = func.attr(AttrData::List(list.into()));
        Rewriter::new(func).set_attr(op, side.descriptor_key(), list);
        if side == Side::A {
            // The descriptor tells it.
            let attrs = func.op_attrs(op);
            let attrs = func.without_entry(attrs, keys::A_ROWS);
            Rewriter::new(func).set_attrs(op, attrs);
        }
    }
    for (&alloc, &align) in &plan.factors.alignments {
        let align = func.int_attr(align);
        Rewriter::new(func).set_attr(alloc, keys::ALIGN, align);
    }
}

/// The buffer behind `place`, and the op that says where in it the place starts, if one does.
fn start_of(func: &Func, place: Value) -> (Value, Option<Op>) {
    match func.def_op(place) {
        Some(op) if matches!(func.opcode(op), tir::REF | tir::REGION) => (func.operand(op, 0), Some(op)),
        _ => (place, None),
    }
}

/// A factor in its buffer: where its rows and columns lie, in elements.
struct Lie {
    bytes: i64,
    /// From one row to the next.
    row: i64,
    /// The columns of a panel, and from one panel to the next.
    panel: (i64, i64),
    swizzle: Option<Swizzle>,
}

impl Lie {
    /// Where the element lies, in bytes, of a factor that starts where a row of eight does; the swizzle left out.
    fn plain(&self, [row, column]: [i64; 2]) -> i64 {
        (row * self.row + column / self.panel.0 * self.panel.1 + column % self.panel.0) * self.bytes
    }

    fn address(&self, at: [i64; 2]) -> i64 {
        let plain = self.plain(at);
        self.swizzle.map_or(plain, |swizzle| swizzle.0.mixed(plain / self.bytes) * self.bytes)
    }
}

type Refusal = (String, String);

/// The descriptor of a factor, the multiple that its buffer lies at, and the alloc that has to say so.
fn descriptor(
    func: &Func,
    op: Op,
    side: Side,
    shape: Shape,
    plan: &Flattening,
) -> Result<(Descriptor, i64, Option<Op>), Refusal> {
    let place = func.operand(op, side.operand());
    let (buffer, start) = start_of(func, place);
    let name = func.value_text(buffer).to_string();
    let major = wgmma::major(func, op, side);
    let bytes = i64::from(shape.factors.bytes());
    let extents = factor_extents(major, shape.mn(side), shape.k);
    let Some(lie) = lie(func, buffer, start, bytes, plan) else {
        let text =
            format!("`{name}` has no constant extents, and a warpgroup product reads its factors by constant offsets");
        return Err((text, "copy the factor into a buffer of constant extents".to_string()));
    };
    let swizzle = match lie.swizzle {
        None => 0,
        Some(swizzle) => swizzle_mixes(swizzle.0.numbers(), bytes).ok_or_else(|| {
            let text = format!("a warpgroup product does not read `{name}` as its `swizzle` mixes it");
            (text, "let `bulk_copy` choose how the stage lies".to_string())
        })?,
    };
    // Rows that are shorter than those that were swizzled: exchanged as `a_rows` says, they are as the hardware reads them.
    let rows = wgmma::rows_of_left(func, op).filter(|_| side == Side::A);
    let swizzle = rows.map_or(swizzle, |_| lie.row * bytes);
    let candidate = offsets(&lie, major, swizzle, extents);
    let all = || (0..extents[0]).flat_map(|row| (0..extents[1]).map(move |column| [row, column]));
    let same = |descriptor: Descriptor| {
        all().all(|at| {
            let [mn, k] = if major == Major::K { at } else { [at[1], at[0]] };
            let of_region = rows.map_or(at, |rows| [rows.mixed(at[0]), at[1]]);
            descriptor.address(major, bytes, 0, [mn, k]) == lie.address(of_region)
        })
    };
    let Some(descriptor) = candidate.filter(|&descriptor| same(descriptor)) else {
        let width = if swizzle == 0 { PIECE } else { swizzle };
        let text = format!(
            "a warpgroup product reads rows of {width} bytes that follow each other, and those of `{name}` do not lie so"
        );
        let help = "fill the buffer by `bulk_copy`, which makes such rows, with the swizzle that the tile's width allows; where threads fill it, \
             give it rows of 128, 64 or 32 bytes, and `swizzle` with 3, 2 or 1 bits that mixes pieces of 16 bytes";
        return Err((text, help.to_string()));
    };
    let period = rows.map_or(ROWS, Mixing::period);
    check_start(func, (start, &name), major, &lie, (extents, period), descriptor)?;
    let align = func.buffer_attr(buffer, keys::ALIGN).and_then(|align| func.as_int(align)).unwrap_or(1);
    let multiple = descriptor.alignment().max(period * descriptor.row());
    let is_aligned = align % multiple == 0;
    let alloc = func.def_op(buffer).filter(|&op| !is_aligned && func.opcode(op) == tir::ALLOC);
    if !is_aligned && alloc.is_none() {
        let text = format!(
            "a factor with rows of {} bytes lies at a multiple of {}, and `{name}` at one of {align}",
            descriptor.row(),
            multiple
        );
        return Err((text, format!("make it with `align = {multiple}`")));
    }
    Ok((descriptor, multiple, alloc))
}

/// How the buffer lies, by the dimension of rows and the last one.
fn lie(func: &Func, buffer: Value, start: Option<Op>, bytes: i64, plan: &Flattening) -> Option<Lie> {
    let flat = plan.buffers.get(&buffer)?;
    let n = flat.strides.len();
    let stride = |dim: usize| func.as_int(flat.strides[dim]);
    if n < 2 || stride(n - 1) != Some(1) {
        return None;
    }
    let (_, shape, _) = func.as_shaped(func.value_type(buffer))?;
    let last = func.as_int(shape[n - 1])?;
    let rows = row_dim(func, buffer, start);
    let panel = flat.panels.map_or((last.max(1), 0), |panels| (panels.columns, panels.elements));
    Some(Lie { bytes, row: stride(rows)?, panel, swizzle: flat.swizzle })
}

/// The dimension of the buffer that the rows of a factor run along: the last but one, those with one element left out.
fn row_dim(func: &Func, buffer: Value, start: Option<Op>) -> usize {
    let shape = func.as_shaped(func.value_type(buffer)).map_or(&[][..], |(_, shape, _)| shape);
    let above = shape.len().saturating_sub(1);
    let is_one = |dim: usize| func.as_int(shape[dim]) == Some(1);
    let last = above.saturating_sub(1);
    if start.is_none() { last } else { (0..above).rev().find(|&dim| !is_one(dim)).unwrap_or(last) }
}

/// The descriptor that the distances of elements ask for.
fn offsets(lie: &Lie, major: Major, swizzle: i64, extents: [i64; 2]) -> Option<Descriptor> {
    let per_piece = PIECE / lie.bytes;
    // Where a factor has no more than one, the distance is not read; the hardware wants some number.
    let distance = |at: [i64; 2], none: i64| {
        let inside = at[0] < extents[0] && at[1] < extents[1];
        if inside { lie.plain(at) } else { none }
    };
    let [leading, stride] = match (major, swizzle) {
        (Major::K, 0) => [distance([0, per_piece], PIECE), distance([8, 0], PIECE)],
        (Major::K, _) => [PIECE, distance([8, 0], PIECE)],
        (Major::Mn, 0) => [distance([8, 0], PIECE), distance([0, per_piece], PIECE)],
        (Major::Mn, width) => [distance([0, width / lie.bytes], PIECE), distance([8, 0], PIECE)],
    };
    Descriptor::of(&[leading, stride, swizzle])
}

/// A factor starts where so many rows do that are mixed among themselves, and at a piece: then the swizzle mixes it as it does at the start of the buffer.
fn check_start(
    func: &Func,
    (start, name): (Option<Op>, &str),
    major: Major,
    lie: &Lie,
    (extents, period): ([i64; 2], i64),
    descriptor: Descriptor,
) -> Result<(), Refusal> {
    let Some(start) = start else { return Ok(()) };
    let indices = &func.operands(start)[1..];
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, start);
    let mut multiple = |value: Value| {
        let expr = algebra.expr(func, value);
        let set = algebra.analyzer.modular(expr);
        tc_support::gcd(set.coeff().unsigned_abs() as usize, set.base().unsigned_abs() as usize)
    };
    let (Some(&column), true) = (indices.last(), indices.len() >= 2) else { return Ok(()) };
    let row = indices[row_dim(func, func.operand(start, 0), Some(start)).min(indices.len() - 2)];
    let along = match major {
        Major::K => extents[1],
        Major::Mn => descriptor.row() / lie.bytes,
    };
    for (value, unit, what) in [(row, period, "row"), (column, along, "column")] {
        let of = multiple(value);
        if of != 0 && of % unit as usize != 0 {
            let text = format!(
                "a factor starts at a {what} of `{name}` that is a multiple of {unit}, which is not proved here"
            );
            return Err((text, format!("divide the tile into parts of {}", counted(unit, what))));
        }
    }
    Ok(())
}
