//! What bulk copies and the barriers that they report at ask of a kernel, whoever writes it.

use crate::facts::scope_name;
use crate::place::references;
use tc_arith::{BinaryOp, Interval};
use tc_dialects::algebra::Algebra;
use tc_dialects::threads::is_by_mbarrier;
use tc_dialects::{mbarrier, tir, tma, wgmma};
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Value};
use tc_support::{Diagnostic, Diagnostics};
use tc_target::maps::GRAIN;

/// The alignment of what a bulk copy has in shared memory (PTX ISA 8.8, section 5.5.3, "Tensor-mode": 128 bytes, and whole patterns of a
/// swizzle).
const COPY_ALIGNMENT: u64 = 128;

/// Is `value` a buffer of barriers?
pub fn is_barriers(func: &Func, value: Value) -> bool {
    func.as_shaped(func.value_type(value)).is_some_and(|(elem, _, _)| mbarrier::is_barrier_type(func, elem))
}

/// The alignment that the copy `op` counts on in shared memory.
pub fn alignment(func: &Func, op: Op) -> u64 {
    let swizzle = tma::map_of(func, tma::sides(func, op)[1]).and_then(|map| tma::swizzle_bytes(func, map));
    // A pattern has eight rows.
    swizzle.and_then(|row| u64::try_from(row).ok()).map_or(COPY_ALIGNMENT, |row| (8 * row).max(COPY_ALIGNMENT))
}

/// The byte at which `place` starts in the buffer behind it and its views, where a literal says so.
pub fn literal_start(func: &Func, place: Value) -> Option<i128> {
    let mut at = 0i128;
    let mut value = place;
    while let Some(op) = func.def_op(value) {
        let indices = func.operands(op).get(1..).unwrap_or_default();
        let unit = match func.opcode(op) {
            tir::VIEW => 1,
            tir::REF | tir::REGION => {
                let (elem, _, _) = tir::place_type(func, value)?;
                i128::from(func.as_scalar(elem)?.bytes())
            }
            _ => break,
        };
        if let &[index] = indices {
            at = at.checked_add(i128::from(func.const_int(index)?).checked_mul(unit)?)?;
        } else if !indices.is_empty() {
            return None;
        }
        value = func.operand(op, 0);
    }
    Some(at)
}

/// The coordinates of the box that the copy `op` has in its tensor, outermost first, each a list of terms; `None` where references
/// tell them in no such way.
pub fn coordinates(func: &Func, op: Op) -> Option<Vec<Vec<Value>>> {
    let [_, from] = tma::sides(func, op);
    let map = tma::map_of(func, from)?;
    let rank = tma::box_extents(func, map)?.len();
    let mut coordinates = vec![Vec::new(); rank];
    for reference in references(func, from) {
        match &func.operands(reference)[1..] {
            [] => {}
            indices if indices.len() == rank => {
                coordinates.iter_mut().zip(indices).for_each(|(terms, &index)| terms.push(index));
            }
            _ => return None,
        }
    }
    Some(coordinates)
}

/// Is the coordinate that is the sum of `terms` one of 32 bits, as the engine of copies takes it, in whatever iteration `op`
/// reads it?
pub fn fits_word(func: &Func, op: Op, terms: &[Value]) -> bool {
    let is_narrow = |term: Value| {
        let range = func.value_scalar(term).and_then(|scalar| scalar.elem.int_range());
        range.is_some_and(|(least, most)| least >= i32::MIN.into() && most <= i32::MAX.into())
    };
    match terms {
        [] => true,
        &[term] if is_narrow(term) => true,
        _ => {
            let word = Interval::new(i32::MIN.into(), i32::MAX.into());
            let each = bounds(func, op, terms);
            each.iter().chain(&sums(&each)).all(|known| known.union(word) == word)
        }
    }
}

/// What each of `terms` lies between at `op`.
fn bounds(func: &Func, op: Op, terms: &[Value]) -> Vec<Interval> {
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, op);
    let mut each = Vec::new();
    for &term in terms {
        let expr = algebra.expr(func, term);
        each.push(algebra.analyzer.bounds(expr));
    }
    each
}

/// What the sums of the first one, two and so on lie between.
fn sums(each: &[Interval]) -> Vec<Interval> {
    let add = |sum: &mut Interval, &next: &Interval| {
        *sum = Interval::apply(BinaryOp::Add, *sum, next);
        Some(*sum)
    };
    each.iter().scan(Interval::point(0), add).collect()
}

/// Finds places of `op` that literals say are out of the bounds of their buffers: barriers, the shared memory of copies, and the
/// registers and shared memory of products. A box may leave its tensor.
fn check_literals(func: &Func, op: Op, found: &mut Diagnostics) {
    let operands = func.operands(op);
    let places: Vec<Value> = match func.opcode(op) {
        _ if tma::is_copy(func, op) => {
            let [_, boxed] = tma::sides(func, op);
            operands.iter().copied().filter(|&place| place != boxed).collect()
        }
        wgmma::MMA => operands.to_vec(),
        _ if is_by_mbarrier(func, op) => operands.iter().copied().take(1).collect(),
        _ => Vec::new(),
    };
    for place in places {
        let Some((buffer, [first, last], extent)) = literal_beyond(func, place) else { continue };
        let name = func.value_text(buffer);
        let text = match first == last {
            true => format!("index {first} of `{name}` is out of bounds"),
            false => format!("indices {first} to {last} of `{name}` are not all in bounds"),
        };
        let note = format!("the extent there is {extent}");
        found.push(Diagnostic::error("out-of-bounds", func.op_location(op), text).note(note));
    }
}

/// The first and the last index of `place` along the first dimension in which a literal leads out of the buffer, which has that
/// extent.
fn literal_beyond(func: &Func, place: Value) -> Option<(Value, [i128; 2], i64)> {
    for reference in references(func, place) {
        let (buffer, indices) = func.operands(reference).split_first()?;
        let (_, extents, _) = tir::place_type(func, *buffer)?;
        let (_, lengths, _) = tir::place_type(func, func.result(reference)?)?;
        for (dim, (&index, &extent)) in indices.iter().zip(extents).enumerate() {
            let (Some(first), Some(extent)) = (func.const_int(index), func.as_int(extent)) else { continue };
            let length = lengths.get(dim).filter(|_| func.opcode(reference) == tir::REGION);
            let length = length.and_then(|&length| func.as_int(length)).unwrap_or(1).max(1);
            let first = i128::from(first);
            let last = first + i128::from(length) - 1;
            if first < 0 || last >= extent.into() {
                return Some((*buffer, [first, last], extent));
            }
        }
    }
    None
}

/// Threads that access global memory and bulk copies see it by ways of their own, and no op orders the two.
fn unordered(func: &Func, op: Op, found: &mut Diagnostics) {
    let tensor = root_buffer(func, tma::sides(func, op)[1]);
    let is_load = func.opcode(op) == tma::LOAD;
    let conflicts = |other: &Op| {
        (!tma::is_copy(func, *other) || is_load != (func.opcode(*other) == tma::LOAD))
            && accesses(func, *other).iter().any(|&(place, access)| {
                root_buffer(func, place) == tensor && (access.writes() || access.reads() && !is_load)
            })
    };
    if let Some(other) = all_ops(func).find(conflicts) {
        let name = func.value_text(tensor);
        let verb = if is_load { "reads" } else { "writes" };
        let text =
            format!("a bulk copy {verb} `{name}`, which this kernel accesses otherwise, and nothing orders the two");
        let found_here = Diagnostic::error("no-emitter", func.op_location(op), text);
        let found_here = found_here.label(func.op_location(other), "the other access");
        found.push(found_here.help("access it in another kernel, or without bulk copies"));
    }
}

/// Finds coordinates of `op` that the hardware does not take: along rows those that literals say are at no multiple of [`GRAIN`]
/// bytes (measured on an H100: an illegal instruction), and those of which it is not known that 64 bits hold them. One that 32 do not hold is outside of its tensor,
/// whose extents do fit, and may be clamped.
fn check_coordinates(func: &Func, op: Op, coordinates: &[Vec<Value>], found: &mut Diagnostics) {
    let [_, boxed] = tma::sides(func, op);
    let elem = tir::place_type(func, boxed).and_then(|(elem, _, _)| func.as_scalar(elem));
    let number = |&term: &Value| func.const_int(term).map(i128::from);
    let column: Option<i128> = coordinates.last().and_then(|terms| terms.iter().map(number).sum());
    if let (Some(column), Some(elem)) = (column, elem)
        && column * i128::from(elem.bytes()) % i128::from(GRAIN) != 0
    {
        let text = format!("this bulk copy starts at element {column} of a row, at no multiple of {GRAIN} bytes");
        let help = "copy from such multiples: the hardware ends a kernel that does not";
        found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
    }
    for (dim, terms) in coordinates.iter().enumerate().filter(|(_, terms)| terms.len() > 1) {
        if !sums(&bounds(func, op, terms)).iter().all(|sum| sum.is_finite()) {
            let text = format!("coordinate {dim} of this bulk copy is a sum that may be beyond 64 bits");
            let help = "name the box by one reference: `&M[i : 64, j : 64]`";
            found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
        }
    }
}

/// Finds what keeps `op` from being written.
pub fn check(func: &Func, op: Op, found: &mut Diagnostics) {
    if func.opcode(op) == tir::ALLOC
        && let Some(buffer) = func.result(op).filter(|&buffer| is_barriers(func, buffer))
        && scope_name(func, buffer) != "shared"
    {
        let name = func.value_text(buffer);
        let text = format!("the barriers of `{name}` do not lie in `{}`", scope_name(func, buffer));
        let help = "declare them in `shared`";
        found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
    }
    check_literals(func, op, found);
    if !tma::is_copy(func, op) {
        return;
    }
    if tma::writes_tensor(func, op) && !tma::is_async(func, op) {
        let text = "it is not said when this bulk copy has read what it copies".to_string();
        let help = "run `inject-bulk-sync`, which orders copies to tensors";
        found.push(Diagnostic::assumption("no-emitter", func.op_location(op), text).help(help));
    }
    if func.opcode(op) == tma::LOAD && tma::load_barrier(func, op).is_none() {
        let text = "this bulk copy has no barrier to report at, so that nothing would wait for it".to_string();
        let help = "run `warp-specialize`, which gives copies their barriers";
        found.push(Diagnostic::assumption("no-emitter", func.op_location(op), text).help(help));
    }
    if let Some(coordinates) = coordinates(func, op) {
        check_coordinates(func, op, &coordinates, found);
    } else {
        let text = "this bulk copy is of a part of a box, and a map brings whole ones".to_string();
        let help = "name one box of the map: `&M[i : 64, j : 64]`";
        found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
    }
    unordered(func, op, found);
    let ([to, _], wanted) = (tma::sides(func, op), alignment(func, op));
    if let Some(at) = literal_start(func, to).filter(|at| at.rem_euclid(i128::from(wanted)) != 0) {
        let name = func.value_text(root_buffer(func, to));
        let verb = if func.opcode(op) == tma::LOAD { "writes to" } else { "reads from" };
        let text = format!("byte {at} of `{name}` is at no multiple of {wanted}, as a bulk copy {verb}");
        let help = "let each box start at a multiple of eight rows of its swizzle, or of 128 bytes";
        found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
    }
}
