//! Puts maps and copies in the place of nests.

use super::find::{Copy, Way};
use super::join::Dim;
use crate::analysis::region::{build_region, int_list};
use crate::analysis::tiles::erase_unused;
use indexmap::IndexMap;
use tc_dialects::algebra::build_index;
use tc_dialects::tma;
use tc_ir::builder::OperandSegment;
use tc_ir::walk::ops_under;
use tc_ir::{Builder, Func, Op, Rewriter, Type, TypeData, Value, keys};

/// Makes all; gives the number of copies.
pub(super) fn emit(func: &mut Func, copies: &mut [Copy]) -> u64 {
    let mut maps: IndexMap<(Value, Vec<i64>, Vec<i64>), Value> = IndexMap::new();
    let mut n_copies = 0;
    for copy in copies {
        let key = (copy.tensor, copy.box_extents(), copy.steps.clone());
        let map = match maps.get(&key) {
            Some(&map) => map,
            None => {
                let made = map(func, copy, &key.1);
                maps.insert(key, made);
                made
            }
        };
        lay_out(func, copy);
        n_copies += move_boxes(func, copy, map);
        drop_nest(func, copy.root);
    }
    n_copies
}

/// The map of the tensor, at the head of the function, or after the tensor is made.
fn map(func: &mut Func, copy: &Copy, extents: &[i64]) -> Value {
    let name = format!("{}_map", func.value_text(copy.tensor));
    let ty = seen_type(func, copy);
    let mut attrs = vec![(keys::EXTENTS, int_list(func, extents))];
    if copy.steps.iter().any(|&step| step != 1) {
        attrs.push((keys::STEPS, int_list(func, &copy.steps)));
    }
    let mut b = match func.def_op(copy.tensor) {
        Some(op) => Builder::after(func, op),
        None => {
            let body = func.body();
            match func.first_op(body) {
                Some(first) => Builder::before(func, first),
                None => Builder::at_end(func, body),
            }
        }
    };
    let op = tma::Map::build(&mut b, copy.tensor, &attrs, &[ty]);
    let map = func.result(op).expect("the row has one result");
    let name = func.name(&name);
    func.set_value_name(map, Some(name));
    map
}

/// The type of the tensor as the copy engine sees it.
fn seen_type(func: &mut Func, copy: &Copy) -> Type {
    let ty = func.value_type(copy.tensor);
    let Some((elem, _, scope)) = func.as_shaped(ty) else { return ty };
    let extent = |dim: &Dim| match *dim {
        Dim::One(extent) => extent,
        Dim::Joined(extent) => func.int_attr(extent),
    };
    let shape = copy.shape.iter().map(extent).collect();
    func.ty(TypeData::Shaped { elem, shape, scope })
}

/// Says how the buffer lies.
fn lay_out(func: &mut Func, copy: &Copy) {
    let align = func.int_of(copy.alloc, keys::ALIGN).unwrap_or(1).max(tma::align_of_box(copy.swizzle));
    let mut entries = vec![(keys::ALIGN, func.int_attr(align))];
    let others = func.entries(func.op_attrs(copy.alloc)).iter();
    entries.extend(others.filter(|(key, _)| !matches!(*key, keys::BULK | keys::BULK_OUT | keys::PIECES | keys::ALIGN)));
    let mut attrs = func.dict(&entries);
    if copy.panel != copy.extents.last().copied().unwrap_or(1) {
        let panel = func.int_attr(copy.panel);
        attrs = func.with_entry(attrs, keys::PANEL, panel);
    }
    if copy.swizzle > 0 {
        // Pieces of 16 bytes, mixed by the row: one bit for rows of 32 bytes, and one more for each doubling.
        let base = (16 / i64::from(copy.elem.bytes())).ilog2();
        let bits = (copy.swizzle / 16).ilog2();
        let list = int_list(func, &[bits.into(), base.into(), 3]);
        attrs = func.with_entry(attrs, keys::SWIZZLE, list);
    }
    Rewriter::new(func).set_attrs(copy.alloc, attrs);
}

/// The copies, before the nest.
fn move_boxes(func: &mut Func, copy: &mut Copy, map: Value) -> u64 {
    let (sides, [n_apart, parts, n_panels]) = (copy.box_extents(), copy.n_boxes());
    let last = sides.len() - 1;
    for one in 0..n_apart {
        for part in 0..parts {
            for panel in 0..n_panels {
                let mut offsets = vec![0; sides.len()];
                offsets[0] += if last > 0 { part * copy.rows } else { 0 };
                offsets[last] += panel * copy.panel;
                if let Some(dim) = copy.apart {
                    offsets[dim] = one;
                }
                move_box(func, copy, map, &offsets);
            }
        }
    }
    (n_apart * parts * n_panels).unsigned_abs()
}

/// The copy of the box that starts at `offsets` of all that is copied.
fn move_box(func: &mut Func, copy: &mut Copy, map: Value, offsets: &[i64]) {
    let asked = func.op_locs(copy.alloc).directive;
    let mut b = Builder::before(func, copy.root);
    if copy.pieces.is_some() {
        b.locs.directive = asked;
    }
    let shared = place(&mut b, copy, offsets);
    let mut box_starts = Vec::new();
    for ((&start, &offset), &step) in copy.starts.iter().zip(offsets).zip(&copy.steps) {
        let offset = copy.algebra.analyzer.pool.int(offset * step);
        let at = copy.algebra.analyzer.pool.add(start, offset);
        let at = copy.algebra.analyzer.simplify(at);
        box_starts.push(build_index(&mut b, &copy.algebra, at));
    }
    let boxed = build_region(&mut b, map, &box_starts, &copy.box_extents());
    match copy.way {
        Way::In => {
            let operands = [OperandSegment::One(shared), OperandSegment::One(boxed), OperandSegment::Many(&[])];
            b.build_segments(tma::LOAD, &operands, &[], &[]);
        }
        Way::Out => {
            let pieces = copy.pieces.map(|pieces| (keys::PIECES, b.func.int_attr(pieces)));
            tma::Store::build(&mut b, boxed, shared, pieces.as_slice(), &[]);
        }
    }
}

/// Where in the buffer the elements of the box go that starts at `offsets` of all that is copied.
fn place(b: &mut Builder<'_>, copy: &mut Copy, offsets: &[i64]) -> Value {
    let plain = copy.lengths == copy.sides && copy.apart.is_none();
    let mut lengths: Vec<i64> = match plain {
        true => copy.box_extents(),
        // One box is all of it.
        false if copy.is_wide => copy.lengths.clone(),
        // Rows of all of the box, in the dimensions that the buffer has; only panels divide them.
        false => copy.lengths[..copy.lengths.len() - 1].iter().copied().chain([copy.panel]).collect(),
    };
    if copy.apart.is_some() {
        lengths[0] = 1;
    }
    let n_dims = copy.offsets.len();
    let mut starts = Vec::with_capacity(n_dims);
    for dim in 0..n_dims {
        let of_box = match copy.apart {
            Some(apart) if dim == 0 => Some(&offsets[apart]),
            _ if plain => offsets.get(dim),
            _ => offsets.last().filter(|_| dim + 1 == n_dims),
        };
        let of_box = copy.algebra.analyzer.pool.int(of_box.copied().unwrap_or(0));
        let start = copy.algebra.analyzer.pool.add(copy.offsets[dim], of_box);
        let start = copy.algebra.analyzer.simplify(start);
        starts.push(build_index(b, &copy.algebra, start));
    }
    build_region(b, copy.buffer, &starts, &lengths)
}

/// Takes out the nest, and what it computed from.
fn drop_nest(func: &mut Func, root: Op) {
    let inner = func.op_regions(root).iter().flat_map(|&region| ops_under(func, region));
    let used: Vec<Value> = std::iter::once(root).chain(inner).flat_map(|op| func.operands(op).to_vec()).collect();
    let outside: Vec<Value> =
        used.into_iter().filter(|&value| func.def_op(value).is_some_and(|op| func.region_of(op).is_some())).collect();
    Rewriter::new(func).erase(root);
    let alive = |value: &Value| func.def_op(*value).is_some_and(|op| func.region_of(op).is_some());
    let outside: Vec<Value> = outside.into_iter().filter(alive).collect();
    erase_unused(func, outside);
}
