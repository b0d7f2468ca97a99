//! Reads that take the indices of a tensor to begin where the axis of its `compute` does.
//!
//! The tensor of `compute T[i: 3..16]` has 13 elements, and its indices begin at 0 as those of every tensor do. A read
//! whose index runs within 3..16, and past the 13 elements, means the values of the axis. It is refused where it is made for
//! every element that is computed: what stands under a condition may be guarded.

use super::{COMPUTE, READ, REDUCE};
use crate::arith;
use tc_ir::attrs::BinOp;
use tc_ir::opdef::Role;
use tc_ir::symbols::Symbols;
use tc_ir::walk::{all_ops, ops_under};
use tc_ir::{Def, Func, Op, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

/// How deep an index is looked into.
const MAX_DEPTH: usize = 32;

/// Warns of each such read of the operator `func`.
pub(super) fn warn(_: &Symbols<'_>, func: &Func, op: Option<Op>, found: &mut Diagnostics) {
    if op.is_some() {
        return;
    }
    for read in all_ops(func).filter(|&op| func.opcode(op) == READ) {
        let Some((&tensor, indices)) = func.operands(read).split_first() else { continue };
        let Some(compute) = func.def_op(tensor).filter(|&op| func.opcode(op) == COMPUTE) else { continue };
        for (&index, ends) in indices.iter().zip(func.operands(compute).chunks(2)) {
            let &[lo, hi] = ends else { continue };
            let (Some(lo), Some(hi)) = (func.const_int(lo), func.const_int(hi)) else { continue };
            let Some((least, greatest)) = range(func, index, MAX_DEPTH) else { continue };
            let (lo, hi) = (i128::from(lo), i128::from(hi));
            let n = hi - lo;
            if lo > 0 && least >= lo && greatest < hi && greatest >= n && is_unconditional(func, read) {
                let name = func.value_text(tensor);
                let text = format!(
                    "`{name}` has the indices 0..{n}, and this reads up to {greatest}: that its axis starts at {lo} does \
                     not shift its indices"
                );
                found.push(
                    Diagnostic::warning("shifted-index", func.op_location(read), text)
                        .label(func.op_location(compute), format!("`{name}` is computed over {lo}..{hi} here"))
                        .help(format!(
                            "subtract {lo} from the index, or compute it over 0..{n}, with {lo} added in there"
                        )),
                );
                break;
            }
        }
    }
}

/// Is `read` made for every value of the axes around it, and its value used?
fn is_unconditional(func: &Func, read: Op) -> bool {
    let mut at = read;
    while let Some(parent) = func.region_of(at).and_then(|region| func.region_parent(region)) {
        match func.opcode(parent) {
            COMPUTE => {
                let mut inside = func.op_regions(parent).iter().flat_map(|&region| ops_under(func, region));
                return !inside.any(|op| func.opcode(op) == arith::SELECT || func.role(op) == Role::If);
            }
            REDUCE if func.attr_of(parent, keys::HAS_WHERE).is_none() => at = parent,
            _ => return false,
        }
    }
    false
}

/// The least and greatest value of an index, from the bounds of axes that are numbers.
fn range(func: &Func, value: Value, depth: usize) -> Option<(i128, i128)> {
    let depth = depth.checked_sub(1)?;
    if let Some(value) = func.const_int(value) {
        return Some((value.into(), value.into()));
    }
    match func.def(value) {
        Def::Arg(region, nth) => {
            let owner = func.region_parent(region)?;
            let is_axis = matches!(func.opcode(owner), COMPUTE | REDUCE);
            let ends = func.operands(owner).get(2 * nth..2 * nth + 2).filter(|_| is_axis)?;
            let (lo, hi) = (func.const_int(ends[0])?, func.const_int(ends[1])?);
            (lo < hi).then(|| (i128::from(lo), i128::from(hi) - 1))
        }
        Def::Result(op, _) => {
            let Role::Binary(role) = func.role(op) else { return None };
            let &[lhs, rhs] = func.operands(op) else { return None };
            let ((a, b), (c, d)) = (range(func, lhs, depth)?, range(func, rhs, depth)?);
            match role {
                BinOp::Add => Some((a.checked_add(c)?, b.checked_add(d)?)),
                BinOp::Sub => Some((a.checked_sub(d)?, b.checked_sub(c)?)),
                _ => None,
            }
        }
    }
}
