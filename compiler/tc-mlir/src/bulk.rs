//! Bulk copies by tensor maps, and barriers in shared memory: ops of `nvvm` for groups and fences, and calls of functions
//! around a line of PTX.
//!
//! Arrivals, waits and copies have ops in `nvvm`, too. By lines they are those of CUDA C++, and each clobbers memory, so that LLVM moves
//! no access past it.

use crate::functions::Function;
use crate::kernel::Kernel;
use crate::{arith, types};
use std::rc::Rc;
use tc_dialects::update::UpdateKind;
use tc_dialects::{mbarrier, tma};
use tc_ir::{Elem, Op, Value, keys};
use tc_kernel::bulk::{coordinates, fits_word};
use tc_kernel::ptx::bulk::Bulk;
use tc_target::Feature;
use tc_target::maps::MAX_EXTENT;

/// Begins the bulk copy `op`.
pub(crate) fn load(k: &mut Kernel<'_>, op: Op) {
    let func = k.func;
    let (Some(map), Some(barrier), Some(coordinates)) =
        (map_of(k, func.operand(op, 1)), tma::load_barrier(func, op), coordinates(func, op))
    else {
        k.stray("a bulk copy without a map or a barrier");
        return;
    };
    let rank = u8::try_from(coordinates.len()).unwrap_or(0);
    let multicast = tma::is_multicast(func, op);
    let mut args = vec![k.pointer(func.operand(op, 0)).0, map, k.pointer(barrier).0];
    if multicast {
        args.push(k.int((1i128 << k.facts.cluster) - 1, types::BLOCKS));
    }
    args.extend(coordinates.iter().rev().map(|terms| coordinate(k, op, terms)).collect::<Vec<_>>());
    k.call(Function::Bulk(Bulk::Load { rank, multicast }), &args);
}

/// Begins the bulk copy `op` to a tensor, or the update of one.
pub(crate) fn store(k: &mut Kernel<'_>, op: Op) {
    let func = k.func;
    let [shared, boxed] = tma::sides(func, op);
    let (Some(map), Some(coordinates)) = (map_of(k, boxed), coordinates(func, op)) else {
        k.stray("a bulk copy without a map");
        return;
    };
    let rank = u8::try_from(coordinates.len()).unwrap_or(0);
    let mut args = vec![map, k.pointer(shared).0];
    args.extend(coordinates.iter().rev().map(|terms| coordinate(k, op, terms)).collect::<Vec<_>>());
    let bulk = match UpdateKind::of(func, op) {
        Some(kind) => Bulk::Reduce { rank, kind },
        None => Bulk::Store { rank },
    };
    k.call(Function::Bulk(bulk), &args);
}

/// Makes a group of bulk copies to tensors.
pub(crate) fn commit(k: &mut Kernel<'_>, _: Op) {
    k.line("nvvm.cp.async.bulk.commit.group");
}

/// Waits for groups of bulk copies to tensors.
pub(crate) fn wait_for_stores(k: &mut Kernel<'_>, op: Op) {
    let pending = k.func.int_of(op, keys::PENDING).unwrap_or(0);
    let read = if tma::is_of_reads(k.func, op) { " {read}" } else { "" };
    k.line(format!("nvvm.cp.async.bulk.wait_group {pending}{read}"));
}

/// Orders what threads did in shared memory before what the engine of copies does.
pub(crate) fn fence(k: &mut Kernel<'_>, _: Op) {
    k.line("nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}");
}

/// Lets the engine of copies see barriers that were made ready.
pub(crate) fn fence_init(k: &mut Kernel<'_>, op: Op) {
    k.line("nvvm.fence.mbarrier.init");
    fence(k, op);
}

/// Makes a barrier ready.
pub(crate) fn init(k: &mut Kernel<'_>, op: Op) {
    with_number(k, op, Bulk::Init, keys::COUNT);
}

/// Arrives at a barrier, of the own block or of another one.
pub(crate) fn arrive(k: &mut Kernel<'_>, op: Op) {
    let is_remote = mbarrier::block_of(k.func, op).is_some();
    let args = operands(k, op);
    k.call(Function::Bulk(if is_remote { Bulk::ArriveRemote } else { Bulk::Arrive }), &args);
}

/// Arrives at a barrier that then waits for bytes, too.
pub(crate) fn arrive_expect_tx(k: &mut Kernel<'_>, op: Op) {
    with_number(k, op, Bulk::ArriveExpectTx, keys::BYTES);
}

/// Waits at a barrier.
pub(crate) fn wait(k: &mut Kernel<'_>, op: Op) {
    let suspends = k.target.has(Feature::Tma);
    let args = operands(k, op);
    k.call(Function::Bulk(Bulk::Wait { suspends }), &args);
}

/// Sets how many registers the threads have.
pub(crate) fn set_registers(k: &mut Kernel<'_>, op: Op) {
    let count = k.func.int_of(op, keys::COUNT).unwrap_or(0);
    let action = k.func.word_of(op, keys::ACTION).unwrap_or("decrease").to_string();
    k.line(format!("nvvm.setmaxregister {action} {count}"));
}

/// The map that `place` is a box of.
fn map_of(k: &Kernel<'_>, place: Value) -> Option<Rc<str>> {
    let map = k.func.result(tma::map_of(k.func, place)?)?;
    k.name_of(map)
}

/// The operands of `op`, of which the first is a barrier.
fn operands(k: &mut Kernel<'_>, op: Op) -> Vec<Rc<str>> {
    let all = k.func.operands(op).iter().enumerate();
    all.map(|(nth, &operand)| if nth == 0 { k.pointer(operand).0 } else { k.word_of(operand) }).collect()
}

/// A call with the barrier of `op`, and the number that it says by `key`.
fn with_number(k: &mut Kernel<'_>, op: Op, bulk: Bulk, key: tc_ir::Name) {
    let mut args = operands(k, op);
    let number = k.func.int_of(op, key).unwrap_or(0);
    args.push(k.int(number.into(), "i32"));
    k.call(Function::Bulk(bulk), &args);
}

/// The sum of `terms`, as 32 bits: a coordinate of the copy `op`. One that they do not hold stays outside of its tensor.
fn coordinate(k: &mut Kernel<'_>, op: Op, terms: &[Value]) -> Rc<str> {
    let func = k.func;
    let fits = fits_word(func, op, terms);
    let ty = if fits { "i32" } else { "i64" };
    let mut sum: Option<Rc<str>> = None;
    for &term in terms.iter().filter(|&&term| func.const_int(term) != Some(0)) {
        let term = if fits { k.word_of(term) } else { wide(k, term) };
        sum = Some(match sum {
            Some(sum) => k.temp(format!("arith.addi {term}, {sum} : {ty}")),
            None => term,
        });
    }
    let sum = sum.unwrap_or_else(|| k.int(0, ty));
    if fits {
        return sum;
    }
    let most = k.int(MAX_EXTENT.into(), ty);
    let cut = match terms {
        // Alone: of a sum it is known that 64 bits are enough.
        &[term] if k.elem_of(term) == Elem::U64 => k.temp(format!("arith.minui {sum}, {most} : i64")),
        _ => {
            let least = k.int(i32::MIN.into(), ty);
            let above = k.temp(format!("arith.maxsi {sum}, {least} : i64"));
            k.temp(format!("arith.minsi {above}, {most} : i64"))
        }
    };
    k.temp(format!("arith.trunci {cut} : i64 to i32"))
}

/// The integer `value` in 64 bits.
fn wide(k: &mut Kernel<'_>, value: Value) -> Rc<str> {
    if let Some(constant) = k.func.const_int(value) {
        return k.int(constant.into(), "i64");
    }
    let elem = k.elem_of(value);
    let number = k.lane(value, 0);
    match types::number(elem) {
        "i64" => number,
        "index" => k.temp(format!("arith.index_cast {number} : index to i64")),
        ty if arith::is_unsigned(elem) => k.temp(format!("arith.extui {number} : {ty} to i64")),
        ty => k.temp(format!("arith.extsi {number} : {ty} to i64")),
    }
}
