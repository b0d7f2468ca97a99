//! Removes dead ops: those without an effect beyond reading, whose results are unused.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! The same program without dead ops. A loop or a conditional whose regions have no effect is dead; so is an unused
//! alloc. A store is never dead here: `remove-no-op` removes stores to buffers without readers.
//!
//! # Example
//!
//! ```tir
//! let i = bx * 32 + tx
//! let unused = i * i
//! A[i] = 0.0
//! ->
//! let i = bx * 32 + tx
//! A[i] = 0.0
//! ```
//!
//! # Algorithm
//!
//! The pass visits the ops once, from the end of the text to its start. It visits users before definitions, so the last
//! use of a value is gone when it reaches the definition.
//!
//! # Limits
//!
//! A carried value that is unused after the loop stays.
//!
//! # Remarks
//!
//! `carried-unused`: a carried value that is unused after the loop.
//!
//! # References
//!
//! Aho, Lam, Sethi, Ullman: Compilers (2006), section 9.1.6.

use crate::analysis::dead::erase_dead;
use crate::analysis::launch::loop_var;
use tc_dialects::tir;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `dce` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "dce",
    page: tc_support::page!("dce.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(Dce))),
};

/// The pass.
pub struct Dce;

impl FuncPass for Dce {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let n_erased = erase_dead(func);
        cx.count("ops erased", n_erased);
        if cx.wants_missed() {
            all_ops(func).flat_map(|op| carried_in_vain(func, op)).for_each(|found| cx.report(found));
        }
        n_erased > 0
    }
}

/// What is reported of the values that the loop `op` carries without a use.
fn carried_in_vain(func: &Func, op: Op) -> Vec<Diagnostic> {
    if func.opcode(op) != tir::FOR {
        return Vec::new();
    }
    let body = func.op_regions(op)[0];
    let unused = func.results(op).enumerate().filter(|&(_, result)| func.n_uses(result) == 0);
    let remark = |(nth, _)| {
        let (name, var) = (func.value_text(func.region_args(body)[nth + 1]), func.value_text(loop_var(func, op)));
        let text = format!("`{name}` is carried through the loop `{var}`, and nothing reads it in the end");
        Diagnostic::remark("carried-unused", func.op_location(op), text)
            .help(format!("take `{name}` out of `carry(…)` if no iteration needs it either"))
    };
    unused.map(remark).collect()
}
