//! Which elements an access or a reference touches.

use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_dialects::fragment::{self, Layout, Use as Part, transfer};
use tc_dialects::threads::begins_copy;
use tc_dialects::{arith, tir, tma};
use tc_ir::attrs::AttrData;
use tc_ir::uses::Uses;
use tc_ir::{Attr, Func, Op, TypeData, Value, keys};

/// One index of an access, and what it must stay within.
pub(super) struct Index {
    pub(super) buffer: Value,
    pub(super) dim: usize,
    pub(super) at: At,
    /// The elements from the index on that are touched.
    pub(super) length: Option<Attr>,
    pub(super) extent: Attr,
}

/// Where it starts.
#[derive(Clone, Copy)]
pub(super) enum At {
    /// At an index.
    Element(Value),
    /// At the first element of a tile: `None` is that of the buffer.
    Tile {
        /// Its index.
        first: Option<Value>,
        /// The elements from one row to the next.
        stride: Value,
        /// How many rows are `stride` apart.
        rows: i64,
        /// The elements of a row.
        cols: i64,
    },
}

/// The operand of an asynchronous copy that it reads.
const COPIED_FROM: usize = 1;

/// What must hold for `op`, a reference, to be looked at: an asynchronous copy reads nothing where its `when` does not.
pub(super) fn condition(func: &Func, uses: &Uses, op: Op) -> Option<Value> {
    if !matches!(func.opcode(op), tir::REF | tir::REGION) {
        return None;
    }
    match uses.of_value(func.result(op)?) {
        [only] if begins_copy(func, only.op) && only.idx == COPIED_FROM => func.operands(only.op).get(2).copied(),
        _ => None,
    }
}

/// The indices of `op`, whose `uses` are looked at where it is a reference.
pub(super) fn indices(func: &Func, uses: &Uses, op: Op) -> Vec<Index> {
    let operands = func.operands(op);
    let values = match func.opcode(op) {
        tir::LOAD | tir::REF | tir::REGION => &operands[1..],
        tir::STORE => &operands[1..operands.len() - 1],
        _ => {
            let moved = transfer(func, op);
            return moved
                .and_then(|moved| tile(func, op, operands[moved.memory], operands[moved.held]))
                .into_iter()
                .collect();
        }
    };
    let buffer = operands[0];
    // What a box has beyond its tensor is zero.
    if tma::is_map(func, buffer) {
        return Vec::new();
    }
    let (TypeData::Shaped { shape, .. } | TypeData::Ref { shape, .. }) = func.type_data(func.value_type(buffer)) else {
        return Vec::new();
    };
    // A tile of a flat buffer is looked at as a whole, where an op takes it.
    if func.opcode(op) == tir::REF && shape.len() == 1 && is_first_of_tiles(func, uses, op) {
        return Vec::new();
    }
    let lengths = match func.attr_named(op, "lengths").map(|attr| func.attr_data(attr)) {
        Some(AttrData::List(list)) => list.to_vec(),
        _ => Vec::new(),
    };
    let dims = values.iter().zip(shape.iter()).enumerate();
    dims.map(|(dim, (&value, &extent))| Index {
        buffer,
        dim,
        at: At::Element(value),
        length: lengths.get(dim).copied(),
        extent,
    })
    .collect()
}

fn is_first_of_tiles(func: &Func, uses: &Uses, op: Op) -> bool {
    let users = func.result(op).map(|result| uses.of_value(result)).unwrap_or_default();
    let is_memory = |user: &tc_ir::uses::Use| transfer(func, user.op).is_some_and(|moved| moved.memory == user.idx);
    !users.is_empty() && users.iter().all(is_memory)
}

/// The tile in a flat buffer that `op` moves, `place` being the buffer or a reference to the tile's first element.
fn tile(func: &Func, op: Op, place: Value, held: Value) -> Option<Index> {
    let (buffer, first) = match func.type_data(func.value_type(place)) {
        TypeData::Shaped { .. } => (place, None),
        TypeData::Ref { shape, .. } if shape.is_empty() => {
            let def = func.def_op(place).filter(|&def| func.opcode(def) == tir::REF)?;
            (func.operand(def, 0), func.operands(def).get(1).copied())
        }
        _ => return None,
    };
    let (_, shape, _) = func.as_shaped(func.value_type(buffer))?;
    let &[extent] = shape else { return None };
    let tile = fragment::tile(func, held)?;
    let (mut rows, mut cols) = tile.image;
    let turned = func.word_of(op, keys::LAYOUT) == Some(Layout::ColMajor.name());
    if tile.fragment.is_some() && tile.part == Part::Accumulator && turned {
        (rows, cols) = (cols, rows);
    }
    let at = At::Tile { first, stride: func.operand(op, 2), rows, cols };
    Some(Index { buffer, dim: 0, at, length: None, extent })
}

/// The least and the greatest element that the index touches, as expressions.
pub(super) fn ends(func: &Func, algebra: &mut Algebra, index: &Index) -> Option<(Expr, Expr)> {
    let value = match index.at {
        At::Element(value) => value,
        At::Tile { first, stride, rows, cols } => {
            let start = match first {
                Some(first) => algebra.expr(func, first),
                None => algebra.analyzer.pool.int(0),
            };
            let stride = algebra.expr(func, stride);
            let pool = &mut algebra.analyzer.pool;
            let steps = pool.int(rows.checked_sub(1)?);
            let steps = pool.mul(stride, steps);
            let row = pool.int(cols.checked_sub(1)?);
            let reach = pool.add(steps, row);
            return Some((start, pool.add(start, reach)));
        }
    };
    let lanes = i64::from(func.value_scalar(value)?.lanes);
    if lanes > 1 {
        let op = func.def_op(value)?;
        let (base, last) = match func.opcode(op) {
            arith::RAMP => (func.operand(op, 0), func.const_int(func.operand(op, 1))?.checked_mul(lanes - 1)?),
            arith::BROADCAST => (func.operand(op, 0), 0),
            _ => return None,
        };
        let base = algebra.expr(func, base);
        let last = algebra.analyzer.pool.int(last);
        let end = algebra.analyzer.pool.add(base, last);
        let descending = algebra.analyzer.pool.as_const(last).is_some_and(|last| last < 0);
        return Some(if descending { (end, base) } else { (base, end) });
    }
    let start = algebra.expr(func, value);
    let Some(length) = index.length else { return Some((start, start)) };
    let length = algebra.attr(func, length)?;
    let one = algebra.analyzer.pool.int(1);
    let last = algebra.analyzer.pool.sub(length, one);
    Some((start, algebra.analyzer.pool.add(start, last)))
}
