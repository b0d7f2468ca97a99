//! Which condition leaves a loop next.

use super::Options;
use super::barriers::{Barriers, is_quiet};
use crate::analysis::invariant::{arguments, movable_inputs};
use tc_dialects::algebra::is_launch;
use tc_dialects::tir;
use tc_ir::walk::{ancestors, n_ops, ops_under};
use tc_ir::{Def, Func, Op, Region, Value};
use tc_support::counted;

/// A function that has grown to this many ops gets no more copies.
const MAX_OPS: usize = 100_000;

/// A condition that leaves a loop.
pub(super) struct Hoist {
    /// The conditional inside the loop.
    pub(super) branch: Op,
    /// What its condition is computed from inside the loop.
    pub(super) inputs: Vec<Op>,
    /// Does the loop stand once for either answer?
    pub(super) copies: bool,
}

/// Is `op` a loop that conditions may leave?
pub(super) fn is_candidate(func: &Func, op: Op) -> bool {
    func.opcode(op) == tir::FOR && !is_launch(func, op) && func.n_results(op) == 0
}

/// How large the function has grown.
pub(super) struct Room {
    /// At least as many ops has it.
    n_ops: usize,
}

impl Room {
    pub(super) fn of(func: &Func) -> Room {
        Room { n_ops: n_ops(func) }
    }

    /// May a loop be copied?
    fn is_left(&mut self, func: &Func) -> bool {
        let fits = |n_ops: usize| n_ops.saturating_mul(2) <= MAX_OPS;
        if !fits(self.n_ops) {
            self.n_ops = n_ops(func);
        }
        fits(self.n_ops)
    }

    /// So many ops were made; some of them may be gone.
    pub(super) fn grow(&mut self, n_made: usize) {
        self.n_ops += n_made;
    }
}

/// The condition that leaves the loop `op` next.
pub(super) fn next(func: &Func, op: Op, options: &Options, barriers: &mut Barriers, room: &mut Room) -> Option<Hoist> {
    let body = *func.op_regions(op).first()?;
    let mut found = guards(func, body);
    if options.hoist_expressions {
        found.extend(values(func, op));
    }
    found.into_iter().find_map(|branch| {
        let condition = func.operand(branch, 0);
        let inputs = movable_inputs(func, condition, op)?;
        let copies = func.n_results(branch) > 0 || has_else(func, branch);
        let fits = !copies || room.is_left(func);
        let may_leave = fits
            // What a literal decides is for `simplify`.
            && func.constant(condition).is_none()
            && (options.support_block_scope_hoisting || !is_on_launch_alone(func, condition))
            && barriers.allow(func, op, condition);
        may_leave.then_some(Hoist { branch, inputs, copies })
    })
}

/// The conditionals that guard all of the body of the loop `op` and whose conditions do not depend on it, but stay inside:
/// each with the reason and the help.
pub(super) fn left(
    func: &Func,
    op: Op,
    options: &Options,
    barriers: &mut Barriers,
    room: &mut Room,
) -> Vec<(Op, String, &'static str)> {
    let Some(&body) = func.op_regions(op).first() else { return Vec::new() };
    let var = func.value_text(func.region_args(body)[0]);
    let mut found = Vec::new();
    for branch in guards(func, body) {
        let condition = func.operand(branch, 0);
        if func.constant(condition).is_some() || movable_inputs(func, condition, op).is_none() {
            continue;
        }
        if func.n_results(op) > 0 {
            found.push((
                branch,
                format!("the loop `{var}` carries values"),
                "keep the value in a buffer of one element",
            ));
        } else if !options.support_block_scope_hoisting && is_on_launch_alone(func, condition) {
            let help = "`hoist-if{support-block-scope-hoisting}` moves it";
            found.push((branch, "it depends on launch coordinates alone".to_string(), help));
        } else if has_else(func, branch) && !room.is_left(func) {
            let reason =
                format!("the function has {}, and the loop `{var}` would be copied", counted(n_ops(func), "op"));
            found.push((branch, reason, "hoist before loops are unrolled"));
        } else if !barriers.allow(func, op, condition) {
            let reason = format!("threads of a block part there, and have to meet in the loop `{var}`");
            found.push((branch, reason, "let the condition be the same for all threads of a block"));
        }
    }
    found
}

/// The conditionals that guard all of the body `region`, from the outside in.
fn guards(func: &Func, mut region: Region) -> Vec<Op> {
    let mut found = Vec::new();
    loop {
        let mut acting = func.ops(region).filter(|&op| !is_quiet(func, op));
        let Some(op) = acting.next().filter(|_| acting.next().is_none()) else { return found };
        if func.opcode(op) != tir::IF || func.n_results(op) > 0 {
            return found;
        }
        found.push(op);
        match func.op_regions(op).first() {
            Some(&then) if !has_else(func, op) => region = then,
            _ => return found,
        }
    }
}

/// The conditionals that give a value, of which `op` is the innermost loop around.
fn values(func: &Func, op: Op) -> Vec<Op> {
    let body = func.op_regions(op)[0];
    let innermost = |inner: Op| ancestors(func, inner).find(|&outer| func.opcode(outer) == tir::FOR);
    ops_under(func, body)
        .filter(|&inner| func.opcode(inner) == tir::IF && func.n_results(inner) > 0 && innermost(inner) == Some(op))
        .collect()
}

fn has_else(func: &Func, branch: Op) -> bool {
    func.op_regions(branch).get(1).is_some_and(|&other| func.first_op(other).is_some())
}

/// Does the condition depend on launch coordinates, and on no loop that runs?
fn is_on_launch_alone(func: &Func, condition: Value) -> bool {
    let args = arguments(func, condition);
    let loops = args.iter().filter_map(|&arg| match func.def(arg) {
        Def::Arg(region, _) => func.region_parent(region),
        Def::Result(..) => None,
    });
    let mut loops = loops.peekable();
    loops.peek().is_some() && loops.all(|op| is_launch(func, op))
}
