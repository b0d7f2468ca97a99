//! Does each warpgroup copy to a tensor what its own threads wrote? Then no other one has to wait for it.
//!
//! Warpgroups are told apart by threadIdx.y. Loops over it inside of one another have one value.

use crate::analysis::launch::{coordinate, loop_var};
use tc_arith::{Expr, Var};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::tir::{self, Coordinate};
use tc_ir::uses::Uses;
use tc_ir::walk::{all_ops, ancestors};
use tc_ir::{Func, Op, Value};

/// A statement that writes to `buffer` what another warpgroup than its own may copy, of the part that starts at `offsets`
/// and has `lengths`; `copy` copies it.
pub(super) fn stray(
    func: &Func,
    algebra: &mut Algebra,
    buffer: Value,
    (offsets, lengths): (&[Expr], &[i64]),
    copy: Op,
) -> Option<Op> {
    let root = ancestors(func, copy).filter(|&op| coordinate(func, op).is_some()).last()?;
    let inside = |op: &Op| *op == root || ancestors(func, *op).any(|outer| outer == root);
    let of_row = |of: Coordinate| of.is_thread() && of != Coordinate::ThreadX;
    let rows: Vec<(Op, Coordinate)> = all_ops(func)
        .filter(inside)
        .filter_map(|op| Some((op, coordinate(func, op).filter(|&of| of_row(of))?)))
        .filter(|&(op, _)| const_extent(func, op) != Some(1))
        .collect();
    // All threads are of one warpgroup.
    let &(first, of) = rows.first()?;
    let writers: Vec<Op> = Uses::of(func)
        .of_value(buffer)
        .iter()
        .map(|user| user.op)
        .filter(|&op| func.opcode(op) == tir::STORE)
        .collect();
    if rows.iter().any(|&(_, other)| other != of) {
        return writers.first().copied();
    }
    let row = Algebra::var(loop_var(func, first));
    let row_expr = algebra.analyzer.pool.var(row);
    let same: Vec<(Var, Expr)> = rows
        .iter()
        .map(|&(op, _)| (Algebra::var(loop_var(func, op)), row_expr))
        .filter(|(var, _)| *var != row)
        .collect();
    let offsets: Vec<Expr> = offsets.iter().map(|&offset| algebra.analyzer.pool.subst(offset, &same)).collect();
    let is_apart = offsets.iter().zip(lengths).any(|(&offset, &length)| {
        let form = algebra.analyzer.linear(offset, &[row]);
        let step = form.and_then(|form| algebra.analyzer.pool.as_const(form.coeffs[0]));
        step.is_some_and(|step| step >= length)
    });
    if !is_apart {
        return writers.first().copied();
    }
    writers.into_iter().find(|&writer| {
        // Elements that conditions keep from being written count for none.
        let mark = algebra.analyzer.mark();
        algebra.enter_place(func, writer);
        let operands = func.operands(writer);
        let indices = &operands[1..operands.len() - 1];
        let is_own = indices.iter().zip(&offsets).zip(lengths).all(|((&index, &offset), &length)| {
            let index = algebra.expr(func, index);
            let pool = &mut algebra.analyzer.pool;
            let index = pool.subst(index, &same);
            let length = pool.int(length);
            let end = pool.add(offset, length);
            let (begins, ends) = (pool.le(offset, index), pool.lt(index, end));
            algebra.analyzer.can_prove(begins) && algebra.analyzer.can_prove(ends)
        });
        algebra.analyzer.rollback(mark);
        !is_own
    })
}
