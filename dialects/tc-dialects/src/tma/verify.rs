//! Maps and boxes that the copy engine takes (CUDA driver API 13.0, `cuTensorMapEncodeTiled`).

use super::{LOAD, MAP, MAX_PIECES, REDUCE, STORE};
use crate::mbarrier;
use crate::scope::{Scope, scope_text};
use crate::tir::place_type;
use crate::update;
use tc_ir::func::Def;
use tc_ir::{Attr, AttrData, Elem, Func, Name, Op, TypeData, Value, keys};
use tc_support::{Diagnostic, Diagnostics, counted};

/// The most dimensions of a tensor.
pub const MAX_RANK: usize = 5;

/// The most elements of a side of a box, those that steps leave out counted.
pub const MAX_BOX: i64 = 256;

/// The most that the elements of a box lie apart.
pub const MAX_STEP: i64 = 8;

/// The rows of a swizzle's pattern.
pub const SWIZZLED_ROWS: i64 = 8;

/// Bytes: where a box without a swizzle begins is a multiple of it.
const ALIGN_OF_PLAIN: i64 = 128;

/// The most groups of copies that may stay outstanding.
const MAX_PENDING: i64 = 7;

/// Bytes: what a row of a box, and the strides of a tensor, are multiples of.
const GRAIN: i64 = 16;

fn error(func: &Func, op: Op, code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, func.op_location(op), message)
}

/// The map op that `place` is a box of, or the result of.
pub fn map_of(func: &Func, place: Value) -> Option<Op> {
    let mut value = place;
    loop {
        let Def::Result(op, _) = func.def(value) else { return None };
        if func.opcode(op) == MAP {
            return Some(op);
        }
        if !matches!(func.opcode(op), crate::tir::REF | crate::tir::REGION) {
            return None;
        }
        value = func.operand(op, 0);
    }
}

/// Is the buffer `value` a tensor map?
pub fn is_map(func: &Func, value: Value) -> bool {
    func.def_op(value).is_some_and(|op| func.opcode(op) == MAP)
}

/// The extents of a box of the map that `op` makes.
pub fn box_extents(func: &Func, op: Op) -> Option<Vec<i64>> {
    numbers(func, func.attr_of(op, keys::EXTENTS)?)
}

/// How far an element of a box of the map that `op` makes is from the next, in each dimension.
pub fn box_steps(func: &Func, op: Op) -> Option<Vec<i64>> {
    match func.attr_of(op, keys::STEPS) {
        Some(steps) => numbers(func, steps),
        None => Some(vec![1; box_extents(func, op)?.len()]),
    }
}

fn numbers(func: &Func, attr: Attr) -> Option<Vec<i64>> {
    let AttrData::List(list) = func.attr_data(attr) else { return None };
    list.iter().map(|&number| func.as_int(number)).collect()
}

/// The bytes of a row whose pieces the map `op` mixes; `None` where it mixes none.
pub fn swizzle_bytes(func: &Func, op: Op) -> Option<i64> {
    func.int_of(op, keys::SWIZZLE)
}

/// The swizzle of the copy engine that mixes `bits` bits of positions from bit `base` on with those `shift` higher, of
/// elements of `bytes` bytes: the bytes of its rows. `None` where there is no such one.
pub fn swizzle_mixes([bits, base, shift]: [i64; 3], bytes: i64) -> Option<i64> {
    let grain = 1i64.checked_shl(u32::try_from(base).ok()?)?.checked_mul(bytes)?;
    ((1..=3).contains(&bits) && grain == GRAIN && shift == 3).then(|| GRAIN << bits)
}

/// Bytes: where a box begins in shared memory is a multiple of it, for rows of `swizzle` bytes whose pieces are mixed, 0 for none
/// (PTX ISA 8.7, "cp.async.bulk.tensor").
pub fn align_of_box(swizzle: i64) -> i64 {
    if swizzle > 0 { SWIZZLED_ROWS * swizzle } else { ALIGN_OF_PLAIN }
}

/// The bytes that the load `op` brings; `None` where it is not well formed.
pub fn load_bytes(func: &Func, op: Op) -> Option<i64> {
    let map = map_of(func, func.operand(op, 1))?;
    let (elem, _, _) = place_type(func, func.operand(op, 1))?;
    let extents = box_extents(func, map)?;
    let elements = extents.iter().try_fold(1i64, |product, &extent| product.checked_mul(extent))?;
    elements.checked_mul(i64::from(func.as_scalar(elem)?.bytes()))
}

/// The place in shared memory and the box of a map that the copy `op` is between.
pub fn sides(func: &Func, op: Op) -> [Value; 2] {
    let [first, second] = [func.operand(op, 0), func.operand(op, 1)];
    if writes_tensor(func, op) { [second, first] } else { [first, second] }
}

/// Is `op` a bulk copy, either way?
pub fn is_copy(func: &Func, op: Op) -> bool {
    func.opcode(op) == LOAD || writes_tensor(func, op)
}

/// Does `op` copy to a tensor, or update one?
pub fn writes_tensor(func: &Func, op: Op) -> bool {
    matches!(func.opcode(op), STORE | REDUCE)
}

/// Is it known of the copy `op` to a tensor that it goes on in the background?
pub fn is_async(func: &Func, op: Op) -> bool {
    is_set(func, op, keys::BACKGROUND)
}

/// Does the load `op` go to all blocks of the cluster?
pub fn is_multicast(func: &Func, op: Op) -> bool {
    is_set(func, op, keys::MULTICAST)
}

/// Does the wait `op` end once the copies have read what they copy?
pub fn is_of_reads(func: &Func, op: Op) -> bool {
    is_set(func, op, keys::READ)
}

fn is_set(func: &Func, op: Op, key: Name) -> bool {
    func.attr_of(op, key).is_some_and(|attr| *func.attr_data(attr) == AttrData::Bool(true))
}

/// A key that says yes or no.
fn yes_or_no(func: &Func, op: Op, key: Name, found: &mut Diagnostics) {
    let attr = func.attr_of(op, key).map(|attr| func.attr_data(attr));
    if !matches!(attr, None | Some(AttrData::Bool(_))) {
        let text = format!("`{}` is true or false", func.text(key));
        found.push(error(func, op, "flag", text).help("write `= true`, or leave it out"));
    }
}

/// The barrier at which the load `op` reports its bytes.
pub fn load_barrier(func: &Func, op: Op) -> Option<Value> {
    func.operands(op).get(2).copied()
}

/// Does each iteration of the loop `op` fill a slot: are there, in its body itself, loads that report their bytes?
pub fn fills_slots(func: &Func, op: Op) -> bool {
    let is_load = |op: Op| func.opcode(op) == super::LOAD && load_barrier(func, op).is_some();
    func.op_regions(op).iter().any(|&region| func.ops(region).any(is_load))
}

/// Why a box of these extents, of elements of `elem` that lie `steps` apart, is none that can be copied: the message, and the
/// help.
pub fn unfit_box(extents: &[i64], steps: &[i64], elem: Elem, swizzle: Option<i64>) -> Option<(String, String)> {
    let Some(&row) = extents.last().filter(|_| extents.len() <= MAX_RANK) else {
        let shown: Vec<String> = extents.iter().map(i64::to_string).collect();
        let text = format!("a box has 1 to {MAX_RANK} dimensions, and not {}: {}", extents.len(), shown.join(" x "));
        let help =
            "let the box have one element of a dimension whose inner neighbour it stays inside of: the two are joined";
        return Some((text, help.to_string()));
    };
    if let Some(&side) = extents.iter().find(|&&side| !(1..=MAX_BOX).contains(&side)) {
        let text = format!("a side of a box has 1 to {MAX_BOX} elements, not {side}");
        return Some((text, "divide the copy into several".to_string()));
    }
    if let Some(&step) = steps.iter().find(|&&step| !(1..=MAX_STEP).contains(&step)) {
        let text = format!("the elements of a box lie 1 to {MAX_STEP} apart, not {step}");
        return Some((text, "copy every element, or divide the copy into several".to_string()));
    }
    if steps.last().is_some_and(|&step| step != 1) {
        let text = "the elements of a row of a box lie side by side".to_string();
        return Some((text, "copy by steps in the other dimensions alone".to_string()));
    }
    let spans = extents.iter().zip(steps).map(|(&side, &step)| (side - 1) * step + 1);
    if let Some(span) = spans.into_iter().find(|&span| span > MAX_BOX) {
        let text = format!("a side of a box spans at most {MAX_BOX} elements, those left out counted, not {span}");
        return Some((text, "divide the copy into several".to_string()));
    }
    let bytes = row.saturating_mul(i64::from(elem.bytes()));
    if bytes % GRAIN != 0 {
        let text = format!("a row of a box takes a multiple of {GRAIN} bytes, not {bytes}");
        return Some((text, format!("make the row a multiple of {} elements", GRAIN / i64::from(elem.bytes()).max(1))));
    }
    match swizzle {
        Some(width) if !matches!(width, 32 | 64 | 128) => {
            Some((format!("rows of 32, 64 or 128 bytes are swizzled, not of {width}"), "leave out `swizzle`".into()))
        }
        Some(width) if bytes != width => {
            let text = format!("a row of the box takes {bytes} bytes, and a swizzle of {width} is one of such rows");
            Some((text, format!("copy boxes whose rows take {width} bytes")))
        }
        _ => None,
    }
}

/// Are the extents of `shape` those of `base` in their order, some neighbours multiplied and divided anew?
fn regroups(func: &Func, base: &[Attr], shape: &[Attr]) -> bool {
    let (mut base, mut shape) = (base.iter(), shape.iter());
    let next = |of: &mut std::slice::Iter<'_, Attr>, product: i64| {
        func.as_int(*of.next()?).filter(|&extent| extent > 0)?.checked_mul(product)
    };
    while let (Some(&one), Some(&other)) = (base.as_slice().first(), shape.as_slice().first()) {
        if one == other {
            base.next();
            shape.next();
            continue;
        }
        let (Some(mut p), Some(mut q)) = (next(&mut base, 1), next(&mut shape, 1)) else { return false };
        while p != q {
            let (of, least) = if p < q { (&mut base, &mut p) } else { (&mut shape, &mut q) };
            let Some(larger) = next(of, *least) else { return false };
            *least = larger;
        }
    }
    base.chain(shape).all(|&extent| func.as_int(extent) == Some(1))
}

pub(super) fn map(func: &Func, op: Op, found: &mut Diagnostics) {
    let (base, Some(result)) = (func.operand(op, 0), func.result(op)) else { return };
    let shown = func.show_type(func.value_type(result));
    let Some((base_elem, base_shape, base_scope)) = func.as_shaped(func.value_type(base)) else {
        let what = match func.type_data(func.value_type(base)) {
            TypeData::Ref { .. } => "a part of one, `",
            _ => "`",
        };
        let text =
            format!("a map is of a buffer in global memory, not {what}{}`", func.show_type(func.value_type(base)));
        let help = "name the whole buffer; a copy says which box of it to bring";
        return found.push(error(func, op, "type", text).help(help));
    };
    let Some((elem, shape, scope)) = func.as_shaped(func.value_type(result)) else {
        let text = format!("a map has the type of a tensor, such as `f16[64, 64]`, not `{shown}`");
        return found.push(error(func, op, "type", text));
    };
    let scopes = [scope, base_scope].map(|scope| Scope::of_name(func, scope));
    if scopes != [Some(Scope::Global); 2] {
        let text = format!("a map is of a tensor in global memory, not in `{}`", scope_text(func, base_scope));
        found.push(error(func, op, "scope", text));
    }
    let (Some(scalar), true) = (func.as_scalar(elem).filter(|scalar| scalar.lanes == 1), elem == base_elem) else {
        let text = format!("a map is of the numbers of its tensor, `{}`, not `{shown}`", func.show_type(base_elem));
        return found.push(error(func, op, "type", text));
    };
    if base_shape.len() != 1 && !regroups(func, base_shape, shape) {
        let text = format!(
            "`{}` has the type `{}`, and the map `{shown}`",
            func.value_text(base),
            func.show_type(func.value_type(base))
        );
        found.push(
            error(func, op, "extent", text)
                .help("give the map the extents of its tensor; neighbouring ones may be multiplied, and divided anew"),
        );
    }
    let Some(extents) = box_extents(func, op).filter(|extents| extents.len() == shape.len()) else {
        let text = format!("`extents` lists {} of a box, one for each dimension", counted(shape.len(), "extent"));
        return found.push(error(func, op, "box", text).help("write `extents = [64, 64]`"));
    };
    let Some(steps) = box_steps(func, op).filter(|steps| steps.len() == extents.len()) else {
        let text = format!("`steps` lists {}, one for each dimension", counted(shape.len(), "number"));
        return found.push(error(func, op, "box", text).help("write `steps = [2, 1]`, or leave it out"));
    };
    if let Some((text, help)) = unfit_box(&extents, &steps, scalar.elem, swizzle_bytes(func, op)) {
        found.push(error(func, op, "box", text).help(help));
    }
    let row = shape.last().and_then(|&row| func.as_int(row));
    let bytes = row.map(|row| row.saturating_mul(i64::from(scalar.bytes())));
    if let Some(bytes) = bytes.filter(|bytes| shape.len() > 1 && bytes % GRAIN != 0) {
        let text = format!(
            "the rows of `{}` are {} apart, and the copy engine takes multiples of {GRAIN}",
            func.value_text(base),
            counted(bytes, "byte")
        );
        found.push(error(func, op, "stride", text).help("copy it by threads, or pad its rows"));
    }
}

pub(super) fn load(func: &Func, op: Op, found: &mut Diagnostics) {
    copy(func, op, found);
    yes_or_no(func, op, keys::MULTICAST, found);
    if is_multicast(func, op) && load_barrier(func, op).is_none() {
        let text = "a bulk copy to all blocks of a cluster reports at a barrier of each".to_string();
        found.push(error(func, op, "cluster", text).help("name the barrier: `barrier = &full[i]`"));
    }
    if let Some(barrier) = load_barrier(func, op)
        && let Err((code, text)) = mbarrier::is_barrier(func, barrier)
    {
        found.push(error(func, op, code, text).help("name one barrier: `barrier = &full[i]`"));
    }
}

pub(super) fn store(func: &Func, op: Op, found: &mut Diagnostics) {
    copy(func, op, found);
    yes_or_no(func, op, keys::BACKGROUND, found);
    if let Some(pieces) = func.int_of(op, keys::PIECES).filter(|pieces| !(1..=MAX_PIECES).contains(pieces)) {
        let text = format!("a box goes in 1 to {MAX_PIECES} pieces, not {pieces}");
        found.push(error(func, op, "pieces", text).help("write `pieces = 8`, or leave it out"));
    }
}

pub(super) fn reduce(func: &Func, op: Op, found: &mut Diagnostics) {
    store(func, op, found);
    if let Some(elem) = place_type(func, func.operand(op, 0)).and_then(|(elem, ..)| func.as_scalar(elem)) {
        update::verify_kind(func, op, elem.elem, found);
    }
}

pub(super) fn wait_group(func: &Func, op: Op, found: &mut Diagnostics) {
    yes_or_no(func, op, keys::READ, found);
    let pending = func.int_of(op, keys::PENDING).unwrap_or(-1);
    if !(0..=MAX_PENDING).contains(&pending) {
        let text = format!("0 to {MAX_PENDING} groups may stay outstanding, not {pending}");
        found.push(error(func, op, "pending", text).help("write `pending = 0` to wait for all"));
    }
}

/// A copy between shared memory and a box of a map.
fn copy(func: &Func, op: Op, found: &mut Diagnostics) {
    let is_store = writes_tensor(func, op);
    let [shared, boxed] = sides(func, op);
    let (Some((to_elem, to_shape, to_scope)), Some((from_elem, from_shape, _)), Some(map)) =
        (place_type(func, shared), place_type(func, boxed), map_of(func, boxed))
    else {
        let text = match is_store {
            true => "this bulk copy is from shared memory to a box of a tensor map",
            false => "a bulk copy is from a box of a tensor map to shared memory",
        };
        let help = "make a map with `tma.map`, and name a box of it: `&M[i : 64, j : 64]`";
        return found.push(error(func, op, "type", text.to_string()).help(help));
    };
    let (to, from) = if is_store { (boxed, shared) } else { (shared, boxed) };
    if !Scope::of_name(func, to_scope).is_some_and(Scope::is_shared) {
        let goes = if is_store { "comes from shared memory, not from" } else { "goes to shared memory, not to" };
        let text = format!("a bulk copy {goes} `{}`", scope_text(func, to_scope));
        found.push(error(func, op, "scope", text));
    }
    let lengths = |shape: &[tc_ir::Attr]| shape.iter().map(|&n| func.as_int(n)).collect::<Option<Vec<i64>>>();
    let extents = box_extents(func, map);
    if lengths(from_shape) != extents {
        let text = format!("`{}` is no box of its map", func.show_type(func.value_type(boxed)));
        let shown = extents.unwrap_or_default().iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
        found.push(error(func, op, "box", text).help(format!("a box of it has {shown} elements")));
    }
    let count = |shape: &[tc_ir::Attr]| {
        lengths(shape).map(|sides| sides.iter().try_fold(1i64, |product, &side| product.checked_mul(side)))
    };
    if to_elem != from_elem || count(to_shape) != count(from_shape) {
        let text = format!(
            "a bulk copy converts nothing: `{}` is copied to `{}`",
            func.show_type(func.value_type(from)),
            func.show_type(func.value_type(to))
        );
        found.push(error(func, op, "type", text).help("give both places the same element type and length"));
    }
}
