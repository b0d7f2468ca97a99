//! The elements of tiles that are accessed, and the loops that their indices run with.

use super::find::Buffer;
use super::layout::Spread;
use crate::analysis::launch::loop_var;
use tc_arith::{Expr, Pool};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::fragment::Use;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op, Value};
use tc_support::Diagnostic;

/// A load or store of one element of a tile.
pub(super) struct Access {
    pub(super) op: Op,
    /// The number of the buffer.
    pub(super) buffer: usize,
    /// What its last two indices are, or its last one where it is a number for a row.
    pub(super) axes: Vec<Axis>,
}

impl Access {
    /// The loops of its indices, in the order of its dimensions.
    pub(super) fn loops(&self) -> Vec<Op> {
        self.axes.iter().map(|axis| axis.loop_op).collect()
    }
}

/// An index that is `base` plus `step` times the variable of a loop.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) loop_op: Op,
    /// How far apart the indices of two iterations are: 1, or a power of two where other loops run over what lies between.
    pub(super) step: i64,
    pub(super) base: Expr,
}

impl Axis {
    /// The index where the variable of the loop is `at`.
    pub(super) fn index(self, pool: &mut Pool, at: Expr) -> Expr {
        let step = pool.int(self.step);
        let steps = pool.mul(at, step);
        pool.add(self.base, steps)
    }
}

/// The loops that the last two indices of `op` run with: those that `spread` divides among lanes, where it is known.
pub(super) fn axes(
    func: &Func,
    algebra: &mut Algebra,
    buffer: &Buffer,
    spread: Option<Spread>,
    op: Op,
) -> Result<Vec<Axis>, Diagnostic> {
    let n_dims = buffer.tiles.extents.len();
    let indices = func.operands(op)[1..=n_dims][buffer.tiles.n_leading()..].iter().enumerate();
    let lanes = |dim: usize| spread.map(|spread| spread.divided(dim));
    let axes: Option<Vec<Axis>> = indices.map(|(dim, &index)| axis(func, algebra, op, index, lanes(dim))).collect();
    let are_apart = |axes: &Vec<Axis>| match axes[..] {
        [row, col] => row.loop_op != col.loop_op,
        _ => true,
    };
    axes.filter(are_apart).ok_or_else(|| {
        let name = func.value_text(buffer.tiles.buffer);
        let what = if func.opcode(op) == tir::LOAD { "read" } else { "written" };
        let (nest, loops) = match buffer.tiles.part {
            Use::Rows => ("its rows", "a loop of constant extent run along the last dimension"),
            _ => ("its rows and columns", "two loops of constant extent run along the last two dimensions, one each"),
        };
        let text = format!(
            "an element of `{name}` is {what} outside of a nest over {nest}: thread t does not hold that element for \
             every t"
        );
        let help = format!("let {loops}; or bring the tile to shared memory, and take the element from there");
        let threads = buffer.tiles.family.threads();
        Diagnostic::error("element", func.op_location(op), text)
            .label(
                func.op_location(buffer.tiles.alloc),
                format!("the elements lie in the registers of {threads} threads"),
            )
            .help(help)
    })
}

/// The loop around `op` that runs over `divided` indices, from the first one up to the one before the second, which lanes
/// divide; other loops may run over those before and after. Else the loop whose variable the index is, up to what does not
/// change with it.
fn axis(func: &Func, algebra: &mut Algebra, op: Op, index: Value, divided: Option<[i64; 2]>) -> Option<Axis> {
    let expr = algebra.expr(func, index);
    let mut best: Option<((bool, i64), Axis)> = None;
    for loop_op in ancestors(func, op).filter(|&outer| func.opcode(outer) == tir::FOR) {
        let var = Algebra::var(loop_var(func, loop_op));
        if !algebra.analyzer.pool.uses(expr, var) {
            continue;
        }
        let in_order =
            matches!(tir::loop_kind(func, loop_op), Some(LoopKind::Serial | LoopKind::Unroll(_) | LoopKind::Vectorize));
        let Some(extent) = const_extent(func, loop_op).filter(|_| in_order) else { continue };
        let Some(form) = algebra.analyzer.linear(expr, &[var]) else { continue };
        let step = algebra.analyzer.pool.as_const(form.coeffs[0]).filter(|&step| step > 0);
        let Some(step) = step else { continue };
        let divides = divided.is_some_and(|[first, end]| first % step == 0 && step.saturating_mul(extent) >= end);
        let rank = (divides, extent);
        if (divides || step == 1) && best.is_none_or(|(most, _)| rank > most) {
            best = Some((rank, Axis { loop_op, step, base: form.constant }));
        }
    }
    best.map(|(_, axis)| axis)
}
