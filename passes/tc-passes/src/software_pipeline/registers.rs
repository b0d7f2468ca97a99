//! Copies that go through registers: loaded before the computation, stored after it.

use super::divide::Division;
use crate::analysis::launch::loop_var;
use tc_dialects::algebra::const_extent;
use tc_dialects::scope::Scope;
use tc_dialects::tir::{self, LoopKind};
use tc_dialects::{arith, forms};
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{AttrData, Builder, Func, Op, Rewriter, Type, TypeData, Value, effects, keys};

/// A thread keeps at most this many elements in registers.
const MAX_ELEMENTS: i64 = 64;

/// Which half of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyHalf {
    Load,
    Store,
}

/// What one store of the producer keeps between the halves, for each thread.
struct Slot {
    /// The buffer that is stored to.
    buffer: Value,
    /// The type of an element.
    elem: Type,
    /// How many elements.
    n: i64,
}

/// The stores of the producer, in the order of the text.
pub(super) struct Registers {
    slots: Vec<Slot>,
}

/// The same, with a buffer for each store.
pub(super) struct Allocated<'d> {
    division: &'d Division,
    buffers: Vec<Value>,
}

/// Plans the registers, if all that the producer does is to copy a known, small number of elements to shared memory, and
/// some of them come from global memory; otherwise where it does not, and in which way.
pub(super) fn plan(func: &Func, division: &Division) -> Result<Registers, (Op, String)> {
    let reads: Vec<Value> = division
        .producer
        .iter()
        .flat_map(|&op| under(func, op))
        .flat_map(|op| effects::accesses(func, op))
        .filter(|(_, access)| access.reads())
        .map(|(place, _)| effects::root_buffer(func, place))
        .collect();
    // A copy that reads what it wrote before cannot be cut in half.
    if let Some(&own) = reads.iter().find(|&&buffer| division.is_staged(buffer)) {
        return Err((division.loop_op, format!("what fills `{}` reads it as well", func.value_text(own))));
    }
    if !reads.iter().any(|&buffer| forms::is_global(func, buffer)) {
        return Err((division.loop_op, "nothing is copied from global memory".to_string()));
    }
    let (mut slots, mut total) = (Vec::new(), 0i64);
    for &writer in &division.writers {
        for op in under(func, writer) {
            match func.opcode(op) {
                tir::STORE => {
                    let slot = slot(func, division, writer, op).map_err(|reason| (op, reason))?;
                    total = total.saturating_add(slot.n);
                    if total > MAX_ELEMENTS {
                        return Err((op, format!("a thread would hold {total} elements, more than {MAX_ELEMENTS}")));
                    }
                    slots.push(slot);
                }
                tir::FOR | tir::IF if func.n_results(op) == 0 => {}
                _ if effects::only_reads(func, op) || func.row(op).terminator => {}
                _ => return Err((op, format!("`{}` is more than a copy", func.op_name(op)))),
            }
        }
    }
    if slots.is_empty() {
        Err((division.loop_op, "there is nothing to copy".to_string()))
    } else {
        Ok(Registers { slots })
    }
}

fn under(func: &Func, op: Op) -> Vec<Op> {
    std::iter::once(op).chain(func.op_regions(op).iter().flat_map(|&region| ops_under(func, region))).collect()
}

fn slot(func: &Func, division: &Division, writer: Op, store: Op) -> Result<Slot, String> {
    let buffer = func.operand(store, 0);
    let name = func.value_text(buffer);
    let no_buffer = || format!("`{name}` is a part of a buffer");
    let (elem, _, scope) = func.as_shaped(func.value_type(buffer)).ok_or_else(no_buffer)?;
    let shared = Scope::of_name(func, scope).is_some_and(Scope::is_shared);
    let lanes = func.value_scalar(func.operand(store, 1)).map_or(1, |scalar| i64::from(scalar.lanes));
    let mut n = lanes;
    for loop_op in loops(func, store, writer) {
        let var = func.value_text(loop_var(func, loop_op));
        let kind = tir::loop_kind(func, loop_op);
        let fits = matches!(kind, Some(LoopKind::Serial | LoopKind::Unroll(_) | LoopKind::Vectorize));
        let Some(extent) = const_extent(func, loop_op).filter(|_| fits && func.n_results(loop_op) == 0) else {
            return Err(format!("how often the loop `{var}` runs is not known, or it carries values"));
        };
        n = n.saturating_mul(extent.max(0));
    }
    match n {
        0 => Err(format!("nothing is copied to `{name}`")),
        _ if !division.is_staged(buffer) => Err(format!("`{name}` is no buffer of several stages")),
        _ if !shared => Err(format!("`{name}` is not in shared memory")),
        n => Ok(Slot { buffer, elem, n }),
    }
}

/// The loops around `op` within `root`, itself included, from the inside out; those of the launch are no loops.
fn loops(func: &Func, op: Op, root: Op) -> Vec<Op> {
    let mut list = Vec::new();
    for outer in ancestors(func, op).take_while(|_| op != root) {
        let is_launch = matches!(tir::loop_kind(func, outer), Some(LoopKind::Launch(_)));
        if func.opcode(outer) == tir::FOR && !is_launch {
            list.push(outer);
        }
        if outer == root {
            break;
        }
    }
    list
}

impl Registers {
    /// Makes the buffers, before the loop.
    pub(super) fn allocate<'d>(&self, func: &mut Func, division: &'d Division) -> Allocated<'d> {
        let mut buffers = Vec::new();
        for slot in &self.slots {
            let extent = func.attr(AttrData::Int(i128::from(slot.n), None));
            let scope = Some(Scope::Local.name_in(func));
            let ty = func.ty(TypeData::Shaped { elem: slot.elem, shape: [extent].into(), scope });
            let mut b = Builder::before(func, division.loop_op);
            let op = tir::Alloc::build(&mut b, &[], &[ty]);
            let Some(buffer) = func.result(op) else { continue };
            let name = func.name(&format!("{}_next", func.value_text(slot.buffer)));
            func.set_value_name(buffer, Some(name));
            buffers.push(buffer);
        }
        Allocated { division, buffers }
    }
}

impl Allocated<'_> {
    /// Makes the copy `root` of a writer one half of it; `nth` counts the stores. Gives the values that are stored no more.
    pub(super) fn redirect(&self, func: &mut Func, root: Op, part: CopyHalf, nth: &mut usize) -> Vec<Value> {
        let mut replaced = Vec::new();
        let staged =
            |func: &Func, op: Op| func.opcode(op) == tir::STORE && self.division.is_staged(func.operand(op, 0));
        let stores: Vec<Op> = under(func, root).into_iter().filter(|&op| staged(func, op)).collect();
        let inner: Vec<Op> = under(func, root).into_iter().filter(|&op| func.opcode(op) == tir::FOR).collect();
        for store in stores {
            let Some(&buffer) = self.buffers.get(*nth) else { return replaced };
            *nth += 1;
            let position = position(func, store, root);
            let value = func.operands(store).last().copied().unwrap_or(position);
            if part == CopyHalf::Load {
                let attrs = func.op_attrs(store);
                let attrs = func.without_entry(attrs, keys::ALIGNED);
                let mut rw = Rewriter::new(func);
                rw.set_operands(store, &[buffer, position, value]);
                rw.set_attrs(store, attrs);
            } else {
                let mut b = Builder::before(func, store);
                let kept = b.value(tir::LOAD, &[buffer, position], &[]);
                Rewriter::new(func).set_operand(store, 2, kept);
                replaced.push(value);
            }
        }
        // Registers have no addresses: the copies are written out.
        let unroll = func.word_attr("unroll");
        for op in inner {
            if tir::loop_kind(func, op) == Some(LoopKind::Serial) && const_extent(func, op).is_some() {
                Rewriter::new(func).set_attr(op, keys::KIND, unroll);
            }
        }
        replaced
    }
}

/// Takes out what computes `value`, as far as nothing else uses it.
pub(super) fn erase_unused(func: &mut Func, value: Value) {
    let mut worklist = vec![value];
    while let Some(value) = worklist.pop() {
        let Some(op) = func.def_op(value).filter(|&op| func.region_of(op).is_some()) else { continue };
        let used = func.results(op).any(|result| func.n_uses(result) > 0);
        if used || !effects::only_reads(func, op) {
            continue;
        }
        worklist.extend(under(func, op).into_iter().flat_map(|inner| func.operands(inner).to_vec()));
        Rewriter::new(func).erase(op);
    }
}

/// Which of the elements that a thread copies the store is at: the loops around it as digits.
fn position(func: &mut Func, store: Op, root: Op) -> Value {
    let lanes = func.value_scalar(func.operand(store, 1)).map_or(1, |scalar| i64::from(scalar.lanes));
    let loops = loops(func, store, root);
    let mut b = Builder::before(func, store);
    let mut sum: Option<Value> = None;
    let mut weight = lanes;
    for loop_op in loops {
        let (lo, extent) = (b.func.operand(loop_op, 0), const_extent(b.func, loop_op).unwrap_or(1));
        let var = b.func.region_args(b.func.op_regions(loop_op)[0])[0];
        let elem = b.func.value_scalar(var).map_or(tc_ir::Elem::Index, |scalar| scalar.elem);
        let digit = if b.func.const_int(lo) == Some(0) { var } else { b.value(arith::SUB, &[var, lo], &[]) };
        let factor = b.int(weight, elem);
        let term = b.value(arith::MUL, &[digit, factor], &[]);
        let index = b.func.index_ty();
        let term = if elem == tc_ir::Elem::Index {
            term
        } else {
            let op = arith::Cast::build(&mut b, term, &[], &[index]);
            b.func.result(op).unwrap_or(term)
        };
        // The outer digits come first, as in any position.
        sum = Some(match sum {
            Some(sum) => b.value(arith::ADD, &[term, sum], &[]),
            None => term,
        });
        weight = weight.saturating_mul(extent);
    }
    let base = sum.unwrap_or_else(|| b.index(0));
    if lanes == 1 {
        return base;
    }
    let (one, lanes) = (b.index(1), b.func.int_attr(lanes));
    b.value(arith::RAMP, &[base, one], &[(keys::LANES, lanes)])
}
