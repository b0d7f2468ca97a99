//! Splits loops at the iterations where a `likely` condition changes, so that most iterations run without it.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! The same, without `likely` and without `loop_partition_hint`.
//!
//! # Example
//!
//! ```tir
//! for i in 0..(n + 31) / 32 {
//!   for j in 0..32 {
//!     if likely(i * 32 + j < n) {
//!       A[i * 32 + j] = 0.0
//!     }
//!   }
//! }
//! ->
//! for i in 0..n / 32 {
//!   for j in 0..32 {
//!     A[i * 32 + j] = 0.0
//!   }
//! }
//! for i in n / 32..(n + 31) / 32 {
//!   for j in 0..32 {
//!     if i * 32 + j < n {
//!       A[i * 32 + j] = 0.0
//!     }
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. A candidate is a serial or unrolled loop with bounds that are not constant (or any, with `partition-const-loop`
//!    or the attribute `loop_partition_hint`) whose variable occurs in a `likely` condition under it; with the hint, in
//!    any comparison or condition. A loop bound to `blockIdx` qualifies in the same way; one bound to `threadIdx` never
//!    does.
//! 2. Let a hinted serial loop run only over the iterations in which one of its stores may run; where none does, an iteration
//!    fills at most buffers that it makes itself. So tiles of a triangle that do not matter are skipped.
//! 3. For each condition find the interval of the loop variable in which it holds for all iterations of the inner loops
//!    and for all threads and virtual threads, and intersect these intervals; with the hint, skip a condition that
//!    would make the intersection empty. If it is empty, try the values for which all conditions fail. The ends are the
//!    same for all threads of a block, so that no barrier gets into divergent control flow.
//! 4. Replace the loop by up to three: before, within and after the interval; within it, the conditions are constants.
//!    They share the buffers of the loop. A loop over `blockIdx` stays one; a condition on it alone, uniform in a
//!    block, chooses between two bodies inside the innermost loop over threads.
//! 5. Split the parts before and after in turn, by the skipped conditions, and with the hint by those that provably
//!    change further out: both `i < 10` and `i < 20` hold in the middle, and one of them in the next part.
//! 6. Remove the remaining `likely` and hints.
//!
//! # Limits
//!
//! Conditions are conjunctions of comparisons that are linear in the variable. The pass does not split a loop that
//! threads start at different values, a loop that contains a reduction across threads, and, without a hint, a loop with
//! a buffer of `stages`. It stops once a function has 100,000 ops.
//!
//! # Remarks
//!
//! `guard-kept`: a `likely` condition that stays in every iteration, and why the surrounding loops were not split.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/loop_partition.cc` and `src/arith/bound_deducer.cc`.

mod emit;
mod find;
mod hoist;
mod interval;
mod missed;

use crate::analysis::fold;
use crate::analysis::uniform::Uniforms;
use find::Why;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHashMap;
use tc_dialects::{arith, forms, tir};
use tc_ir::rewrite::rewrite_ops;
use tc_ir::walk::{OpRange, ancestors, n_ops};
use tc_ir::{Func, Op, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// What `loop-partition` can be told.
    pub struct Options {
        /// Divide loops with constant bounds too.
        partition_const_loop: bool = false,
        /// Keep loops that come out with one iteration.
        no_unroll_loop_with_extent_one: bool = false,
        /// Unroll a hinted loop that cannot be divided.
        unroll_loop_with_partition_hint_no_interval: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "loop-partition",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Func(tir::FUNC, Box::new(LoopPartition { options }))),
};

/// A function that has grown to this many ops is not divided further.
const MAX_OPS: usize = 100_000;

/// The attribute by which an author asks for a loop to be divided.
pub(crate) const HINT: &str = "loop_partition_hint";

/// The pass.
pub struct LoopPartition {
    /// What it was given.
    pub options: Options,
}

impl FuncPass for LoopPartition {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let mut divider = Divider {
            options: &self.options,
            uniforms: Uniforms::default(),
            spent: FxHashMap::default(),
            tried: IndexMap::new(),
            parts: IndexSet::new(),
            n_ops: n_ops(func),
            changed: false,
        };
        let mut at = func.first_op(func.body());
        while let Some(op) = at {
            if !divider.has_room(func) {
                break;
            }
            let (place, behind) = (OpRange::at(func, op), behind(func, op));
            at = if divider.divide(func, op, cx) { place.first(func) } else { first_inside(func, op) }.or(behind);
        }
        if cx.wants_missed() {
            let missed = missed::all(func, &self.options, &divider.tried, &divider.parts);
            missed.into_iter().for_each(|found| cx.report(found));
        }
        divider.changed | strip(func)
    }
}

/// The first op in the regions of `op`.
fn first_inside(func: &Func, op: Op) -> Option<Op> {
    func.op_regions(op).iter().find_map(|&region| func.first_op(region))
}

/// The op after `op` and all that is in its regions, in the order of the text.
fn behind(func: &Func, op: Op) -> Option<Op> {
    let in_later_region = |op: Op| {
        let region = func.region_of(op)?;
        let regions = func.op_regions(func.region_parent(region)?).iter();
        regions.skip_while(|&&other| other != region).skip(1).find_map(|&region| func.first_op(region))
    };
    let mut around = std::iter::once(op).chain(ancestors(func, op));
    around.find_map(|op| func.next_op(op).or_else(|| in_later_region(op)))
}

/// Divides loops one after another, in the order of the text: outer loops before inner ones, copies as they come.
struct Divider<'o> {
    options: &'o Options,
    uniforms: Uniforms,
    /// Parts of loops, with the conditions that say nothing more of them; none for what is not divided again. Loops in
    /// them may be.
    spent: FxHashMap<Op, Option<Vec<Value>>>,
    /// Why loops were not divided.
    tried: IndexMap<Op, Why>,
    /// The loops that stand for those that were.
    parts: IndexSet<Op>,
    /// At least as many ops has the function.
    n_ops: usize,
    changed: bool,
}

impl Divider<'_> {
    /// Has the function not grown too large?
    fn has_room(&mut self, func: &Func) -> bool {
        if self.n_ops > MAX_OPS {
            self.n_ops = n_ops(func);
        }
        self.n_ops <= MAX_OPS
    }

    /// Divides `op` if it is a loop that can be; another op stands in its place then.
    fn divide(&mut self, func: &mut Func, op: Op, cx: &mut PassCx) -> bool {
        if func.opcode(op) != tir::FOR || !find::is_candidate(func, op, self.options) {
            return false;
        }
        let known = self.spent.get(&op);
        let excluded = match known {
            Some(None) => return false,
            Some(Some(excluded)) => excluded.as_slice(),
            None => &[],
        };
        let is_part = known.is_some();
        if !is_part {
            let guards = find::guards_of_stores(func, op);
            self.changed |= hoist::hoist(func, op, &guards);
        }
        if !is_part && let Some(live) = find::live(func, op, &mut self.uniforms) {
            emit::narrow(func, op, &live);
            cx.count("loops narrowed", 1);
            self.changed = true;
        }
        match find::divide(func, op, excluded, &mut self.uniforms) {
            Ok(division) => {
                let (new, place) = (fold::mark(func), OpRange::at(func, op));
                for made in emit::emit(func, op, division, self.options) {
                    self.parts.insert(made.op);
                    self.spent.insert(made.op, made.spent);
                }
                fold::fold_new_in(func, place, new);
                self.uniforms.extend(func, place);
                self.n_ops += new.n_made(func);
                cx.count("loops divided", 1);
                self.changed = true;
                true
            }
            Err(why) => {
                self.tried.extend(why.map(|why| (op, why)));
                let unrolls = self.options.unroll_loop_with_partition_hint_no_interval;
                if unrolls && !is_part && find::is_hinted(func, op) {
                    self.changed |= emit::unroll(func, op);
                }
                false
            }
        }
    }
}

/// Takes off every `likely` and every hint.
fn strip(func: &mut Func) -> bool {
    let hint = func.find_name(HINT);
    rewrite_ops(func, |rw, op| {
        if rw.func().opcode(op) == arith::LIKELY {
            let condition = rw.func().operand(op, 0);
            rw.replace_op(op, &[condition]);
        } else if let Some(hint) = hint
            && rw.func().opcode(op) == tir::FOR
            && rw.func().attr_of(op, hint).is_some()
        {
            let attrs = rw.func().op_attrs(op);
            let attrs = rw.func_mut().without_entry(attrs, hint);
            rw.set_attrs(op, attrs);
        }
    })
}
