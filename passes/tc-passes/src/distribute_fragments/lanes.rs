//! The loop over the threads of a warp, or of a warpgroup, that an op stands in, or is to stand in.

use crate::analysis::launch::{Nest, coordinate, loop_var, nest_of};
use rustc_hash::FxHashMap;
use tc_dialects::algebra::const_extent;
use tc_dialects::fragment::Family;
use tc_dialects::threads::{Meeting, meeting};
use tc_dialects::tir::{self, Coordinate};
use tc_ir::walk::ancestors;
use tc_ir::{AttrData, Builder, Func, Op, Rewriter, Value, keys};
use tc_support::{Diagnostic, counted};

/// The family of the tiles that `op` works on.
pub(super) fn family(func: &Func, op: Op) -> Option<Family> {
    match meeting(func, op) {
        Some(Meeting::Tiles(family)) => Some(family),
        _ => None,
    }
}

/// Is `threadIdx.x` what numbers the lanes, wherever one of `ops` stands? Each comes with the family of its tiles.
pub(super) fn check(func: &Func, ops: &[(Op, Family)]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut seen: FxHashMap<Op, (Op, Family)> = FxHashMap::default();
    for &(op, family) in ops {
        let (threads, crew) = (family.threads(), family.crew());
        let Some(outer) = nest_of(func, op).or_else(|| coordinate(func, op).map(|_| op)) else {
            let text = format!(
                "the threads of a {crew} hold the tiles of `{}` together, and no launch makes threads here",
                family.name()
            );
            found.push(
                Diagnostic::error("launch", func.op_location(op), text)
                    .help("bind a loop around it, to blockIdx.x at the least"),
            );
            break;
        };
        if let Some(&(first, known)) = seen.get(&outer) {
            if known != family {
                let text = format!(
                    "tiles of `{}` and of `{}` are in one kernel, which {} and {threads} threads hold together",
                    known.name(),
                    family.name(),
                    known.threads()
                );
                found.push(
                    Diagnostic::error("lanes", func.op_location(op), text)
                        .label(func.op_location(first), "the others are here")
                        .help("use intrinsics of one family in a kernel"),
                );
            }
            continue;
        }
        seen.insert(outer, (op, family));
        for (loop_op, of) in Nest::of(func, outer).loops {
            let extent = const_extent(func, loop_op);
            let is_warp = extent == Some(threads) && func.const_int(func.operand(loop_op, 0)) == Some(0);
            if of == Coordinate::ThreadX && !is_warp {
                let runs = extent.map_or("an open number of threads".to_string(), |n| counted(n, "thread"));
                let text = format!(
                    "`{}` numbers {runs}, and where tiles of `{}` are, threadIdx.x numbers the {threads} of a {crew}",
                    func.value_text(loop_var(func, loop_op)),
                    family.name()
                );
                let help = format!(
                    "bind a loop of extent {threads} to threadIdx.x, and count {crew}s by threadIdx.y and threadIdx.z"
                );
                found.push(
                    Diagnostic::error("lanes", func.op_location(loop_op), text)
                        .label(func.op_location(op), format!("a {crew} works together here"))
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
pub(super) fn enter(func: &mut Func, op: Op, family: Family) -> Value {
    if let Some(lane) = around(func, op) {
        return lane;
    }
    let mut b = Builder::before(func, op);
    let (zero, end) = (b.index(0), b.index(family.threads()));
    let kind = b.func.word_attr("bind");
    let axis = b.func.attr(AttrData::Str(Coordinate::ThreadX.name().into()));
    let loop_op = tir::For::build(&mut b, zero, end, &[], &[(keys::KIND, kind), (keys::AXIS, axis)], &[]);
    let region = b.func.op_regions(loop_op)[0];
    let ty = b.func.index_ty();
    let lane = b.arg(region, ty, Some("lane"));
    Rewriter::new(func).move_to_end(op, region);
    lane
}
