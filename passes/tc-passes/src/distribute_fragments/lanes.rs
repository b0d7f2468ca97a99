//! The loop over the threads of a warp that an op stands in, or is to stand in.

use crate::analysis::launch::{Nest, coordinate, loop_var, nest_of};
use rustc_hash::FxHashSet;
use tc_dialects::algebra::const_extent;
use tc_dialects::tir::{self, Coordinate};
use tc_ir::walk::ancestors;
use tc_ir::{AttrData, Builder, Func, Op, Rewriter, Value, keys};
use tc_support::{Diagnostic, counted};

/// The threads of a warp.
pub(super) const LANES: i64 = 32;

/// Is `threadIdx.x` what numbers the lanes, wherever one of `ops` stands?
pub(super) fn check(func: &Func, ops: &[Op]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut seen: FxHashSet<Op> = FxHashSet::default();
    for &op in ops {
        let Some(outer) = nest_of(func, op).or_else(|| coordinate(func, op).map(|_| op)) else {
            let text = "the threads of a warp hold the tiles of `mma` together, and no launch makes threads here";
            found.push(
                Diagnostic::error("launch", func.op_location(op), text)
                    .help("bind a loop around it, to blockIdx.x at the least"),
            );
            break;
        };
        if !seen.insert(outer) {
            continue;
        }
        for (loop_op, of) in Nest::of(func, outer).loops {
            let extent = const_extent(func, loop_op);
            let is_warp = extent == Some(LANES) && func.const_int(func.operand(loop_op, 0)) == Some(0);
            if of == Coordinate::ThreadX && !is_warp {
                let runs = extent.map_or("an open number of threads".to_string(), |n| counted(n, "thread"));
                let text = format!(
                    "`{}` numbers {runs}, and where tiles of `mma` are, threadIdx.x numbers the {LANES} of a warp",
                    func.value_text(loop_var(func, loop_op))
                );
                let help = "bind a loop of extent 32 to threadIdx.x, and count warps by threadIdx.y and threadIdx.z";
                found.push(
                    Diagnostic::error("lanes", func.op_location(loop_op), text)
                        .label(func.op_location(op), "a warp works together here")
                        .help(help),
                );
            }
        }
    }
    found
}

/// The variable of the loop over lanes around `op`, if there is one.
pub(super) fn around(func: &Func, op: Op) -> Option<Value> {
    ancestors(func, op).find(|&outer| coordinate(func, outer) == Some(Coordinate::ThreadX)).map(|op| loop_var(func, op))
}

/// Sees to it that `op` stands in a loop over lanes; gives its variable.
pub(super) fn enter(func: &mut Func, op: Op) -> Value {
    if let Some(lane) = around(func, op) {
        return lane;
    }
    let mut b = Builder::before(func, op);
    let (zero, end) = (b.index(0), b.index(LANES));
    let kind = b.func.word_attr("bind");
    let axis = b.func.attr(AttrData::Str(Coordinate::ThreadX.name().into()));
    let loop_op = tir::For::build(&mut b, zero, end, &[], &[(keys::KIND, kind), (keys::AXIS, axis)], &[]);
    let region = b.func.op_regions(loop_op)[0];
    let ty = b.func.index_ty();
    let lane = b.arg(region, ty, Some("lane"));
    Rewriter::new(func).move_to_end(op, region);
    lane
}
