//! Buffers in the registers of each thread for buffers of tiles: types, accesses, references.

use super::axes::Access;
use super::find::Buffer;
use super::layout::Layout;
use super::nests::Nests;
use super::spread::LanePosition;
use crate::analysis::region::int_list;
use crate::analysis::tiles::{Reference, as_index, erase_unused};
use indexmap::{IndexMap, IndexSet};
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, build_index};
use tc_dialects::distribution::KEY;
use tc_dialects::scope::Scope;
use tc_dialects::{tir, wgmma};
use tc_ir::opdef::Role;
use tc_ir::{AttrData, Builder, Func, Op, Rewriter, TypeData, Value, keys};
use tc_support::Diagnostic;

/// A range of the elements that a thread holds, for a reference to a region of tiles.
pub(super) struct RegisterRange {
    /// The numbers of the first tile, where there are more than one.
    numbers: Vec<Expr>,
    /// Where it starts in the tile.
    start: Expr,
    /// The numbers of tiles, where there are more than one, and the elements of each.
    lengths: Vec<i64>,
}

/// The ranges of all references to `buffer`, in their order.
pub(super) fn ranges(func: &Func, algebra: &mut Algebra, buffer: &Buffer) -> Result<Vec<RegisterRange>, Diagnostic> {
    let Some(layout) = buffer.layout else { return Ok(Vec::new()) };
    buffer.tiles.references.iter().map(|reference| range(func, algebra, buffer, layout, reference)).collect()
}

fn range(
    func: &Func,
    algebra: &mut Algebra,
    buffer: &Buffer,
    layout: Layout,
    reference: &Reference,
) -> Result<RegisterRange, Diagnostic> {
    let n = buffer.tiles.n_leading();
    let lengths = [reference.lengths[n], reference.lengths[n + 1]];
    let name = func.value_text(buffer.tiles.buffer);
    let refuse = |text: String, help: &str| {
        let at = reference.at().unwrap_or(buffer.tiles.alloc);
        let mut found = Diagnostic::error("tile", func.op_location(at), text).help(help.to_string());
        if at != buffer.told {
            found = found.label(func.op_location(buffer.told), "the tiles are given here");
        }
        Err(found)
    };
    let counts = buffer.counts(layout);
    let (part, bytes) = (buffer.tiles.part, buffer.tiles.elem.bytes());
    let lies_together = layout.stretch(part, bytes, buffer.order, [0, 0], lengths, counts[1]) == Some(0);
    let is_whole = [0, 1].map(|dim| lengths[dim] % layout.tile[dim] == 0);
    let is_part = [0, 1].map(|dim| layout.tile[dim] % lengths[dim].max(1) == 0);
    let whole = is_whole == [true; 2];
    if !lies_together || !(whole || is_part == [true; 2]) {
        let text = format!(
            "the {} x {} elements of `{name}` do not lie in registers that follow each other",
            lengths[0], lengths[1]
        );
        return refuse(text, "take a whole tile; or half of one, along the columns of the matrix");
    }
    let (mut numbers, mut start) = (Vec::new(), algebra.analyzer.pool.int(0));
    for dim in [0, 1] {
        // Where a part of a tile starts, a part of that length starts.
        let unit = lengths[dim].min(layout.tile[dim]);
        let at = match reference.starts[n + dim] {
            Some(at) => algebra.expr(func, at),
            None => algebra.analyzer.pool.int(0),
        };
        if crate::analysis::tiles::in_units(algebra, at, unit).is_none() {
            let text = format!("a tile of `{name}` starts at a multiple of {unit}");
            return refuse(text, "take whole tiles: one begins where the one before it ends");
        }
        let (number, of_tile) = place(algebra, layout, at, dim);
        numbers.push(number);
        start = algebra.analyzer.pool.add(start, of_tile);
    }
    let start = algebra.analyzer.simplify(start);
    let held = if whole { layout.held() } else { lengths[0] * lengths[1] / buffer.tiles.family.threads() };
    let mut new = Vec::new();
    if counts == [1, 1] {
        numbers.clear();
    } else {
        new.extend([0, 1].map(|dim| (lengths[dim] / layout.tile[dim]).max(1)));
    }
    new.push(held);
    Ok(RegisterRange { numbers, start, lengths: new })
}

/// The number of the tile that `at` is in, along `dim`, and where the piece at `at` lies in the registers of that tile.
fn place(algebra: &mut Algebra, layout: Layout, at: Expr, dim: usize) -> (Expr, Expr) {
    let pool = &mut algebra.analyzer.pool;
    let tile = pool.int(layout.tile[dim]);
    let number = pool.floor_div(at, tile);
    let inside = pool.floor_mod(at, tile);
    let piece = pool.int(layout.spread.piece(dim));
    let piece = pool.floor_div(inside, piece);
    let stride = pool.int(layout.strides[dim]);
    let position = pool.mul(piece, stride);
    (algebra.analyzer.simplify(number), algebra.analyzer.simplify(position))
}

/// Rewrites the accesses of elements; `pieces` tells where a lane is in each loop.
pub(super) fn accesses(func: &mut Func, buffers: &[Buffer], nests: &mut Nests, pieces: &IndexMap<Op, LanePosition>) {
    let mut old: Vec<Value> = Vec::new();
    let Nests { accesses, algebra, .. } = nests;
    for access in accesses.iter() {
        let buffer = &buffers[access.buffer];
        if let Some(layout) = buffer.layout {
            old.extend_from_slice(&func.operands(access.op)[1..]);
            element(func, algebra, buffer, layout, access, pieces);
        }
    }
    erase_unused(func, old);
}

fn element(
    func: &mut Func,
    algebra: &mut Algebra,
    buffer: &Buffer,
    layout: Layout,
    access: &Access,
    pieces: &IndexMap<Op, LanePosition>,
) {
    let n = buffer.tiles.n_leading();
    let (mut numbers, mut position) = (Vec::new(), algebra.analyzer.pool.int(0));
    for (dim, axis) in access.axes.iter().enumerate() {
        let Some(piece) = pieces.get(&axis.loop_op) else { return };
        let at = axis.index(&mut algebra.analyzer.pool, piece.start);
        let (number, of_tile) = place(algebra, layout, at, dim);
        numbers.push(number);
        position = algebra.analyzer.pool.add(position, of_tile);
        if axis.step > 1 {
            // Other loops run over the neighbours of a step.
            let pool = &mut algebra.analyzer.pool;
            let unit = pool.int(layout.spread.piece(dim));
            let within = pool.floor_mod(at, unit);
            position = pool.add(position, within);
        }
    }
    // The neighbour comes last, as in the variables of the loops.
    let neighbours = access.axes.iter().filter_map(|axis| Some((axis.step, pieces.get(&axis.loop_op)?.neighbour?)));
    for (step, neighbour) in neighbours {
        let pool = &mut algebra.analyzer.pool;
        let (step, neighbour) = (pool.int(step), pool.var(Algebra::var(neighbour)));
        let steps = pool.mul(neighbour, step);
        position = pool.add(position, steps);
    }
    if buffer.counts(layout) == [1, 1] {
        numbers.clear();
    }
    numbers.push(algebra.analyzer.simplify(position));
    let operands = func.operands(access.op).to_vec();
    let mut rw = Rewriter::new(func);
    let mut b = rw.before(access.op);
    let mut new = operands[..=n].to_vec();
    new.extend(numbers.into_iter().map(|number| build_index(&mut b, algebra, number)));
    if b.func.role(access.op) == Role::Store {
        new.extend(operands.last());
    }
    // The types of the other indices were checked before; one type for all of them reads best.
    for index in new.iter_mut().skip(1).take(n) {
        *index = as_index(&mut b, Some(*index));
    }
    rw.set_operands(access.op, &new);
}

/// Gives the buffer its new type, in registers that matrix ops can take by words.
pub(super) fn retype(func: &mut Func, buffer: &Buffer) {
    let Some(layout) = buffer.layout else { return };
    let value = buffer.tiles.buffer;
    let Some((elem, ..)) = func.as_shaped(func.value_type(value)) else { return };
    let mut extents = buffer.tiles.extents[..buffer.tiles.n_leading()].to_vec();
    let counts = buffer.counts(layout);
    if counts != [1, 1] {
        let n_dims = buffer.tiles.extents.len() - buffer.tiles.n_leading();
        extents.extend_from_slice(&counts[..n_dims]);
    }
    extents.push(layout.held());
    let shape = extents.into_iter().map(|extent| func.int_attr(extent)).collect();
    let scope = Some(Scope::Local.name_in(func));
    let ty = func.ty(TypeData::Shaped { elem, shape, scope });
    let alloc = buffer.tiles.alloc;
    let align = func.int_of(alloc, keys::ALIGN).unwrap_or(0).max(16);
    let align = func.int_attr(align);
    let distribution = layout.distribution(counts).map(|distribution| (func.name(KEY), distribution.attr(func)));
    let mut attrs = func.op_attrs(alloc);
    for key in [keys::STRIDES, keys::OFFSET_FACTOR] {
        attrs = func.without_entry(attrs, key);
    }
    let mut rw = Rewriter::new(func);
    rw.set_type(value, ty);
    rw.set_attrs(alloc, attrs);
    rw.set_attr(alloc, keys::ALIGN, align);
    if let Some((key, distribution)) = distribution {
        rw.set_attr(alloc, key, distribution);
    }
}

/// Puts references to ranges of registers in the place of those to regions.
pub(super) fn references(func: &mut Func, algebra: &Algebra, buffer: &Buffer, ranges: &[RegisterRange]) {
    for (reference, range) in buffer.tiles.references.iter().zip(ranges) {
        for user in &reference.users {
            // Each op gets a reference of its own, where it stands.
            let place = refer(&mut Builder::before(func, user.op), algebra, buffer, reference, range);
            let mut rw = Rewriter::new(func);
            rw.set_operand(user.op, user.idx, place);
        }
        if let Some(maker) = reference.maker {
            let old = func.operands(maker)[1..].to_vec();
            Rewriter::new(func).erase(maker);
            erase_unused(func, old);
        }
    }
}

fn refer(
    b: &mut Builder<'_>,
    algebra: &Algebra,
    buffer: &Buffer,
    reference: &Reference,
    range: &RegisterRange,
) -> Value {
    let n = buffer.tiles.n_leading();
    let mut starts: Vec<Value> = reference.starts[..n].iter().map(|&start| as_index(b, start)).collect();
    for &number in range.numbers.iter().chain([&range.start]) {
        starts.push(build_index(b, algebra, number));
    }
    let lengths: Vec<i64> = reference.lengths[..n].iter().chain(&range.lengths).copied().collect();
    let lengths = lengths.into_iter().map(|length| b.func.int_attr(length)).collect();
    let list = b.func.attr(AttrData::List(lengths));
    let key = b.func.name("lengths");
    let op = tir::RegionRef::build(b, buffer.tiles.buffer, &starts, &[(key, list)], &[]);
    b.func.result(op).expect("the row has one result")
}

/// The matrix ops that take tiles of `buffers`, each once.
pub(super) fn users(buffers: &[Buffer]) -> IndexSet<Op> {
    let references = buffers.iter().flat_map(|buffer| &buffer.tiles.references);
    references.flat_map(|reference| &reference.users).map(|user| user.op).collect()
}

/// Lets the products that add to `buffer` read the rows of their left factors as its groups are mixed.
pub(super) fn mix_rows(func: &mut Func, buffer: &Buffer) {
    let Some(rows) = buffer.layout.and_then(|layout| layout.spread.rows) else { return };
    let products = buffer.tiles.references.iter().flat_map(|reference| &reference.users).map(|user| user.op);
    for op in products.filter(|&op| func.opcode(op) == wgmma::MMA).collect::<Vec<Op>>() {
        let list = int_list(func, &rows.numbers());
        Rewriter::new(func).set_attr(op, keys::A_ROWS, list);
    }
}

/// Which thread holds what is told by registers now, and not by layouts; but those of factors in memory stay.
pub(super) fn drop_layouts(func: &mut Func, op: Op) {
    if func.opcode(op) == wgmma::MMA {
        return;
    }
    let mut attrs = func.op_attrs(op);
    for key in [keys::A_LAYOUT, keys::B_LAYOUT, keys::LAYOUT] {
        attrs = func.without_entry(attrs, key);
    }
    Rewriter::new(func).set_attrs(op, attrs);
}
