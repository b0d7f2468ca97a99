//! Points at which an index is out of range.

use tc_arith::{Expr, Var};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::tir;
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op, Value};

/// Of the loops around an access, the corners of at most this many are tried.
const MAX_CORNER_LOOPS: usize = 10;

/// A point of the loops around `op`, at the corners of their ranges, that is reached and where one of the conditions
/// `low` and `high` does not hold. The condition `under` must hold for `op` to touch anything.
pub(super) fn counterexample(
    func: &Func,
    algebra: &mut Algebra,
    op: Op,
    under: Option<Value>,
    (low, high): (Expr, Expr),
) -> Option<Vec<(Var, i64)>> {
    let mut loops = Vec::new();
    let mut conditions: Vec<Expr> = under.map(|condition| algebra.expr(func, condition)).into_iter().collect();
    let mut inner = func.region_of(op);
    for outer in ancestors(func, op) {
        match func.opcode(outer) {
            tir::FOR => {
                func.const_int(func.operand(outer, 0))?;
                const_extent(func, outer).filter(|&extent| extent > 0)?;
                let value = func.region_args(func.op_regions(outer)[0])[0];
                // The range as the conditions of the place draw it in.
                let var = algebra.var_expr(value);
                let range = algebra.analyzer.bounds(var);
                loops.push((Algebra::var(value), range.min()?, range.max()?));
            }
            tir::IF => {
                let condition = algebra.expr(func, func.operand(outer, 0));
                let holds = func.op_regions(outer).first() == inner.as_ref();
                conditions.push(if holds { condition } else { algebra.analyzer.pool.not(condition) });
            }
            _ => return None,
        }
        inner = func.region_of(outer);
    }
    let pool = &mut algebra.analyzer.pool;
    let goal = pool.and(low, high);
    let used: Vec<Var> = conditions.iter().chain([&goal]).flat_map(|&expr| pool.vars(expr)).collect();
    if !used.iter().all(|var| loops.iter().any(|(other, ..)| other == var)) || !header_is_free(func) {
        return None;
    }
    loops.retain(|(var, ..)| used.contains(var));
    loops.reverse();
    if loops.len() > MAX_CORNER_LOOPS {
        return None;
    }
    (0..1u32 << loops.len()).find_map(|corner| {
        let point: Vec<(Var, i64)> = loops
            .iter()
            .enumerate()
            .map(|(nth, &(var, lo, hi))| (var, if corner >> nth & 1 == 1 { hi } else { lo }))
            .collect();
        let value_of = |var: Var| point.iter().find(|(other, _)| *other == var).map_or(0, |&(_, value)| value);
        let reached = conditions.iter().all(|&condition| pool.eval(condition, &value_of) == Some(1));
        (reached && pool.eval(goal, &value_of) == Some(0)).then_some(point)
    })
}

/// Facts of the header may rule a point out.
fn header_is_free(func: &Func) -> bool {
    func.header.facts.is_empty()
}
