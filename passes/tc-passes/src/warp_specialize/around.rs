//! The loops and conditions around the copies that fill a ring, and how many of the loops have to count.

use super::find::{Found, error, is_plain, labelled};
use crate::analysis::invariant::{arguments, is_arithmetic};
use crate::analysis::launch::{Nest, coordinate, loop_var};
use crate::analysis::structure::{is_one_armed, runs_in_order};
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, is_launch};
use tc_dialects::tir::LoopKind;
use tc_dialects::{arith, forms, tir};
use tc_ir::effects::root_buffer;
use tc_ir::walk::{ancestors, is_inside};
use tc_ir::{Def, Func, Op, Region, Value};
use tc_support::Diagnostic;

/// The loops in order around `load`, and the conditions between, inside `home`; outermost first. With them the number of
/// loops from whose variables the bounds of others inside follow, and of those around such a loop.
pub(super) fn find(func: &Func, nest: &Nest, load: Op, home: Region) -> Found<(Vec<Op>, usize)> {
    let outside = |op: &Op| func.op_regions(*op).contains(&home);
    let mut around: Vec<Op> = ancestors(func, load).take_while(|op| !outside(op)).collect();
    around.reverse();
    let (mut loops, mut n_counted) = (Vec::new(), 0);
    for (nth, &op) in around.iter().enumerate() {
        match func.opcode(op) {
            tir::FOR if runs_in_order(func, op) => {
                n_counted = n_counted.max(told_by(func, nest, op, &loops)?);
                loops.push(op);
            }
            tir::IF if is_one_armed(func, op) => {
                if nth + 1 == around.len() {
                    let text = "a condition stands between this bulk copy and the loop that goes round its ring";
                    let help = "let all iterations copy, or let the condition stand around that loop";
                    return Err(error(func, op, text.to_string(), help));
                }
                if !stays_false(func, nest, op, &loops) {
                    let text = "a bulk copy under a condition that may hold again after it did not";
                    let help = "let all iterations copy: what lies outside of the tensor is zero";
                    return Err(error(func, op, text.to_string(), help));
                }
            }
            _ => return Err(no_loop_in_order(func, home, op, nth)),
        }
    }
    if let Some(&last) = loops[..n_counted].last()
        && let Some(&condition) = around.iter().take_while(|&&op| op != last).find(|&&op| func.opcode(op) == tir::IF)
    {
        let text = "a condition around a loop whose iterations decide how often the one inside of it runs";
        return Err(error(func, condition, text.to_string(), "ask it inside of that loop"));
    }
    if n_counted > 0 {
        can_count(func, nest, loops.split_at(n_counted))?;
    }
    Ok((around, n_counted))
}

/// How many of `outer`, the loops around the loop `op`, tell how often it runs, with those around them.
fn told_by(func: &Func, nest: &Nest, op: Op, outer: &[Op]) -> Found<usize> {
    let bounds = &func.operands(op)[..2];
    let mut n_counted = 0;
    for arg in bounds.iter().flat_map(|&bound| arguments(func, bound)) {
        match outer.iter().position(|&outer| loop_var(func, outer) == arg) {
            Some(nth) => n_counted = n_counted.max(nth + 1),
            None if is_same_for_block(func, nest, arg) => {}
            None => {
                let name = func.value_text(arg);
                let text = format!("how often this loop runs follows from `{name}`, which the producer cannot compute");
                let help = "let the bounds depend on sizes, on blocks, and on loops around that run in order";
                return Err(error(func, op, text, help));
            }
        }
    }
    if let Some(read) = bounds.iter().find_map(|&bound| private_read(func, nest, bound)) {
        let text = "how often this loop runs is read from memory that the producer does not share".to_string();
        let found = error(func, op, text, "let the bounds depend on sizes, on blocks, and on loops around");
        return Err(labelled(func, *found, read, "it is read here"));
    }
    Ok(n_counted)
}

/// The loops `counting` carry the number of iterations; it asks for the bounds of all loops `inside` at once, also where one of
/// them does not run.
fn can_count(func: &Func, nest: &Nest, (counting, inside): (&[Op], &[Op])) -> Found<()> {
    let is_plain = |op: Op| matches!(tir::loop_kind(func, op), Some(LoopKind::Serial | LoopKind::Unroll(_)));
    if let Some(&op) = counting.iter().find(|&&op| !is_plain(op)) {
        let text = "a loop that is no serial one tells how often one inside of it runs, and would have to count";
        let help = "let the outer loop run in order, one iteration after the other";
        return Err(error(func, op, text.to_string(), help));
    }
    let fails_never = |op: Op| func.operands(op)[..2].iter().all(|&bound| is_arithmetic(func, bound, Some(nest.op)));
    if let Some(&op) = inside.iter().find(|&&op| !fails_never(op)) {
        let text =
            "how often this loop runs is not told by arithmetic that never fails, and iterations are counted ahead";
        let help = "let the bounds be sums and products of sizes and loops around, or divide by a literal";
        return Err(error(func, op, text.to_string(), help));
    }
    Ok(())
}

/// What is read, inside of the nest, from memory that is not global to compute `value`.
fn private_read(func: &Func, nest: &Nest, value: Value) -> Option<Op> {
    let mut worklist = vec![value];
    while let Some(value) = worklist.pop() {
        let Some(def) = func.def_op(value).filter(|&def| is_inside(func, def, nest.op)) else { continue };
        if func.opcode(def) == tir::LOAD && !forms::is_global(func, root_buffer(func, func.operand(def, 0))) {
            return Some(def);
        }
        worklist.extend_from_slice(func.operands(def));
    }
    None
}

/// Is the argument `arg` of a region one of no loop inside the nest, or the coordinate of a block?
fn is_same_for_block(func: &Func, nest: &Nest, arg: Value) -> bool {
    let Def::Arg(region, _) = func.def(arg) else { return false };
    let owner = func.region_parent(region);
    owner.is_none_or(|op| {
        let is_inside = op == nest.op || is_inside(func, op, nest.op);
        !is_inside || coordinate(func, op).is_some_and(|of| !of.is_thread())
    })
}

/// Does the condition of `op` stay false, through the iterations of `loops`, those around it, in their order, once it is? That is
/// known of what is asked once, of what is the same for the block, and in one loop of sums compared by `<` that grow with its
/// variable.
fn stays_false(func: &Func, nest: &Nest, op: Op, loops: &[Op]) -> bool {
    let condition = func.operand(op, 0);
    let of_block = |value: Value| arguments(func, value).into_iter().all(|arg| is_same_for_block(func, nest, arg));
    let is_same = |value: Value| is_arithmetic(func, value, Some(nest.op)) && of_block(value);
    let is_asked_once = || loops.is_empty() && of_block(condition) && private_read(func, nest, condition).is_none();
    if is_same(condition) || is_asked_once() {
        return true;
    }
    let &[loop_op] = loops else { return false };
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, op);
    let var = Algebra::var(loop_var(func, loop_op));
    let mut worklist = vec![condition];
    while let Some(condition) = worklist.pop() {
        if is_same(condition) {
            continue;
        }
        let Some(def) = func.def_op(condition) else { return false };
        let operands = func.operands(def);
        match func.opcode(def) {
            arith::LIKELY | arith::AND => worklist.extend_from_slice(operands),
            arith::CMP => {
                let predicate = func.word_of(def, tc_ir::keys::PREDICATE).unwrap_or("");
                let (lesser, greater) = match predicate {
                    "lt" | "le" => (operands[0], operands[1]),
                    "gt" | "ge" => (operands[1], operands[0]),
                    _ => return false,
                };
                let (lesser, greater) = (algebra.expr(func, lesser), algebra.expr(func, greater));
                let difference: Expr = algebra.analyzer.pool.sub(lesser, greater);
                let Some(form) = algebra.analyzer.linear(difference, &[var]) else { return false };
                if algebra.analyzer.pool.as_const(form.coeffs[0]).is_none_or(|coeff| coeff < 0) {
                    return false;
                }
                // What the algebra does not look through may follow the loop.
                let left = algebra.analyzer.pool.vars(form.constant).to_vec();
                if !left.into_iter().all(|var| is_same(Algebra::value(var))) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}

/// What `op`, number `nth` of those around the copies, is: neither a loop in order nor a condition.
fn no_loop_in_order(func: &Func, home: Region, op: Op, nth: usize) -> Box<Diagnostic> {
    let of_threads = is_launch(func, op).then(|| func.value_text(loop_var(func, op)));
    let beside = || func.ops(home).find(|&other| other != op && !is_plain(func, other));
    if let (0, Some(var), Some(other)) = (nth, of_threads, beside()) {
        let text = format!("a bulk copy inside of the loop `{var}` over threads, beside which this stands");
        let found = error(func, other, text, "move it into that loop, or behind it into another kernel");
        return labelled(func, *found, op, "the loop over threads");
    }
    let (text, help) = match of_threads {
        Some(var) => (
            format!("a bulk copy inside of the loop `{var}` over threads, which stands in a loop in order"),
            "let loops over threads stand outside of those that run in order: `reorder(block, threads, waves, …)`",
        ),
        None => (
            format!("a bulk copy inside of a `{}` that is no loop in order", func.op_name(op)),
            "compute the copy in a loop that runs in order",
        ),
    };
    error(func, op, text, help)
}
