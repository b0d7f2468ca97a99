//! Takes out ops that nothing needs: without effect beyond reading, and with results that nothing uses.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! As it came, without dead ops. A loop or a conditional whose regions do nothing is dead; so is an alloc that nothing
//! uses. A store is never dead here: that its buffer is not read is for `remove-no-op` to see.
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
//! One round from the end of the text to its start: a user is seen before what it uses, so the last use of a value is gone
//! when its definition is reached.
//!
//! # Limits
//!
//! A value that a loop carries and nothing reads in the end is kept.
//!
//! # References
//!
//! Aho, Lam, Sethi, Ullman: Compilers (2006), section 9.1.6.

use crate::analysis::dead::erase_dead;
use tc_dialects::tir;
use tc_ir::Func;
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// `dce` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "dce",
    source: include_str!("dce.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(Dce))),
};

/// The pass.
pub struct Dce;

impl FuncPass for Dce {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let n_erased = erase_dead(func);
        cx.count("ops erased", n_erased);
        n_erased > 0
    }
}
