//! Loops that only some threads of a block may enter.

use crate::analysis::launch::{Nest, nest_of};
use crate::analysis::sync;
use crate::analysis::uniform::Uniforms;
use rustc_hash::FxHashMap;
use tc_dialects::scope::Scope;
use tc_dialects::tir;
use tc_ir::verify::has_flag;
use tc_ir::walk::{OpRange, ops_under};
use tc_ir::{Func, Op, Value, effects, keys};

/// Where threads have to wait for one another, as far as it was asked.
#[derive(Default)]
pub(super) struct Barriers {
    /// Which loops need a barrier inside, or may need one.
    inside: FxHashMap<Op, bool>,
    uniforms: Uniforms,
}

impl Barriers {
    /// May the loop `op` be entered by those threads alone for which `condition` gives one answer?
    pub(super) fn allow(&mut self, func: &Func, op: Op, condition: Value) -> bool {
        let Some(nest) = nest_of(func, op) else { return true };
        if self.uniforms.of(func, nest).is(condition) {
            return true;
        }
        let body = func.op_regions(op)[0];
        if ops_under(func, body).any(|inner| is_together(func, inner)) {
            return false;
        }
        if !touches_what_threads_share(func, nest, op) {
            return true;
        }
        !*self.inside.entry(op).or_insert_with(|| needs_barrier(func, nest, op))
    }

    /// A loop that was allowed stands twice in `place` now. What was planned stays right: no barrier has to stand inside of
    /// it, and one before it may as well stand before both.
    pub(super) fn copied(&mut self, func: &Func, place: OpRange) {
        self.uniforms.extend(func, place);
    }
}

/// Does `op` hold an access to memory that threads share and some op of `nest` writes? Without one no barrier has to
/// stand inside, and to know that is cheaper than to plan them all.
fn touches_what_threads_share(func: &Func, nest: Op, op: Op) -> bool {
    let is_own = |buffer: Value| Scope::of(func, buffer) == Some(Scope::Local);
    let mut shared: Vec<Value> = Vec::new();
    for inner in ops_under(func, func.op_regions(op)[0]) {
        for (place, _) in effects::accesses(func, inner) {
            let buffer = effects::root_buffer(func, place);
            if !is_own(buffer) && !shared.contains(&buffer) {
                shared.push(buffer);
            }
        }
    }
    !shared.is_empty()
        && ops_under(func, func.op_regions(nest)[0]).any(|inner| {
            let writes = effects::accesses(func, inner).into_iter().filter(|(_, access)| access.writes());
            let mut buffers = writes.map(|(place, _)| effects::root_buffer(func, place));
            buffers.any(|buffer| shared.iter().any(|&other| may_be_one(func, buffer, other)))
        })
}

/// May two buffers be the same memory?
fn may_be_one(func: &Func, a: Value, b: Value) -> bool {
    let is_param = |buffer: Value| func.def_op(buffer).is_none();
    a == b || (!has_flag(func, func.header.attrs, keys::NOALIAS) && is_param(a) && is_param(b))
}

/// Does `op` need all threads, or make a buffer for more than one of them?
fn is_together(func: &Func, op: Op) -> bool {
    let effect = func.row(op).effect;
    let shares = func.opcode(op) == tir::ALLOC
        && func.result(op).is_none_or(|buffer| Scope::of(func, buffer) != Some(Scope::Local));
    effect.convergent || effect.synchronises || effect.unknown || shares
}

/// Does a barrier have to stand inside of the loop `op` of `nest`, as far as is known?
fn needs_barrier(func: &Func, nest: Op, op: Op) -> bool {
    let nest = Nest::of(func, nest);
    if nest.ops(func).any(|inner| func.row(inner).effect.unknown) {
        return true;
    }
    let plan = sync::plan_within(func, &nest, op);
    !plan.barriers.is_empty() || !plan.stuck.is_empty()
}

/// Does `op` do nothing beyond reading, so that a conditional beside it guards all that is done?
pub(super) fn is_quiet(func: &Func, op: Op) -> bool {
    func.row(op).terminator || effects::only_reads(func, op)
}
