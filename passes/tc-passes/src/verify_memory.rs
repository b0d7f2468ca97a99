//! Refuses a program for a GPU that accesses global memory outside every launch nest.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! The same program.
//!
//! # Example
//!
//! ```tir
//! tir.func @f(A: f32[16]) {
//!   for i in 0..16 {
//!     A[i] = 0.0
//!   }
//! }
//! ->
//! error: `A` is written by the host
//! ```
//!
//! # Algorithm
//!
//! Every op that reads or writes a buffer of global memory must be inside a launch loop, and no launch nest inside a
//! serial loop, or in one over 16 virtual threads or more, which `inject-virtual-thread` does not write out: the host only
//! allocates, and launches each kernel once.
//!
//! # Limits
//!
//! The pass does not check indices; `check-bounds` does.
//!
//! # Remarks
//!
//! None: all its diagnostics are errors.
//!
//! # References
//!
//! TVM 0.16, `src/tir/analysis/verify_memory.cc`.

use crate::analysis::launch::{LaunchNests, MANY_VIRTUAL_THREADS, loop_var};
use tc_dialects::algebra::{const_extent, is_launch};
use tc_dialects::tir::{self, LoopKind};
use tc_dialects::{forms, gpu};
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::walk::{all_ops, ancestors, is_inside};
use tc_ir::{Func, Op};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `verify-memory` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "verify-memory",
    page: tc_support::page!("verify_memory.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(VerifyMemory))),
};

/// The pass.
pub struct VerifyMemory;

impl FuncPass for VerifyMemory {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let nests = cx.analysis::<LaunchNests>(func);
        for nest in nests.iter() {
            if let Some(outer) = ancestors(func, nest.op).find(|&outer| repeats(func, outer)) {
                cx.report(repeated(func, nest.op, outer));
            }
        }
        let bound = !nests.is_empty();
        for op in host_ops(func) {
            let Some((place, access)) =
                accesses(func, op).into_iter().find(|&(place, _)| forms::is_global(func, root_buffer(func, place)))
            else {
                continue;
            };
            let name = func.value_text(root_buffer(func, place));
            let done = if access.writes() { "written" } else { "read" };
            let text = if bound {
                format!("`{name}` is {done} outside every launch nest, where there is no thread to do it")
            } else {
                format!(
                    "nothing binds a loop of `@{}` to a launch coordinate, so there is no kernel to access `{name}`",
                    func.symbol()
                )
            };
            let diagnostic = Diagnostic::error("host-access", func.op_location(op), text).help(
                "bind a loop around it: `bind(axis, blockIdx.x)` in the schedule, or `for i in 0..n bind(blockIdx.x)`",
            );
            cx.report(diagnostic);
            // One diagnostic tells it all where nothing is bound.
            if !bound {
                break;
            }
        }
        false
    }
}

/// Is `op` a loop that runs in order, several times, and that no pass makes copies of?
fn repeats(func: &Func, op: Op) -> bool {
    if func.opcode(op) != tir::FOR {
        return false;
    }
    match tir::loop_kind(func, op) {
        Some(LoopKind::Serial) => const_extent(func, op) != Some(1),
        Some(LoopKind::Vthread) => const_extent(func, op).is_none_or(|extent| extent >= MANY_VIRTUAL_THREADS),
        _ => false,
    }
}

fn repeated(func: &Func, nest: Op, outer: Op) -> Diagnostic {
    let (inner, outer_name) = (func.value_text(loop_var(func, nest)), func.value_text(loop_var(func, outer)));
    let is_virtual = tir::loop_kind(func, outer) == Some(LoopKind::Vthread);
    let what = if is_virtual { "the virtual threads" } else { "the loop" };
    let text =
        format!("the launch nest `{inner}` stands in {what} `{outer_name}`, and the host launches each kernel once");
    let help = if all_ops(func).any(|op| func.opcode(op) == gpu::ALL_REDUCE && is_inside(func, op, nest)) {
        // A loop over data stays outside of a reduction across threads.
        format!("bind `{outer_name}` to a coordinate of blocks")
    } else if is_virtual {
        format!("bind `{outer_name}` to a coordinate of blocks, or bring `{inner}` outside of it by `reorder`")
    } else {
        format!(
            "bind `{outer_name}` to a coordinate of blocks, bring `{inner}` outside of it by `reorder`, or `unroll` it"
        )
    };
    Diagnostic::error("launch-in-loop", func.op_location(nest), text)
        .label(func.op_location(outer), "the loop around it")
        .help(help)
}

/// The ops under no launch loop, in order.
fn host_ops(func: &Func) -> Vec<Op> {
    let mut found = Vec::new();
    let mut worklist: Vec<Op> = func.first_op(func.body()).into_iter().collect();
    while let Some(op) = worklist.pop() {
        worklist.extend(func.next_op(op));
        found.push(op);
        if !is_launch(func, op) {
            worklist.extend(func.op_regions(op).iter().rev().filter_map(|&region| func.first_op(region)));
        }
    }
    found
}
