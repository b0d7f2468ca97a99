//! The dialects of tc: one folder each, holding the rows and what the rows lean on.
//!
//! - [`arith`] has numbers.
//! - [`tir`] has loops, conditionals, buffers, references.
//! - [`te`] has operators.
//! - [`sched`] has schedules.
//! - [`gpu`] has barriers and what else a group of threads does together.
//! - [`wmma`] has matrix fragments of a warp, [`mma`] tiles of which is known which thread holds what, [`wgmma`] products
//!   of a warpgroup.
//! - [`tma`] has bulk copies by tensor maps, [`mbarrier`] barriers in shared memory.
//!
//! [`update`] has what atomic updates share, of threads and of bulk copies.
//!
//! [`algebra`] takes index expressions into `tc-arith` and back; [`forms`] says what a program may hold at each stage;
//! [`fragment`] has what `wmma` and `mma` share, [`distribution`] which thread holds which element of a buffer in registers; [`scope`] has the scopes of memory, [`threads`] what
//! threads do together and in the background; [`intrinsics`] are tensor intrinsics, as text.

pub mod algebra;
pub mod arith;
pub mod distribution;
pub mod forms;
pub mod fragment;
pub mod gpu;
pub mod intrinsics;
pub mod mbarrier;
pub mod mixing;
pub mod mma;
pub mod sched;
pub mod schedules;
pub mod scope;
pub mod te;
pub mod threads;
pub mod tir;
pub mod tma;
pub mod update;
pub mod wgmma;
pub mod wmma;

use std::sync::Arc;
use tc_ir::Registry;

/// A registry with all dialects of this crate.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    let dialects = [
        arith::DIALECT,
        tir::DIALECT,
        te::DIALECT,
        sched::DIALECT,
        gpu::DIALECT,
        wmma::DIALECT,
        mma::DIALECT,
        wgmma::DIALECT,
        tma::DIALECT,
        mbarrier::DIALECT,
    ];
    for dialect in dialects {
        registry.register(dialect).expect("names and numbers of the built-in dialects differ");
    }
    registry
}

/// The same, shared.
pub fn shared_registry() -> Arc<Registry> {
    Arc::new(registry())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_summary_that_is_a_sentence() {
        for dialect in registry().dialects() {
            for row in dialect.rows {
                assert!(row.summary.trim().ends_with('.'), "{} has no summary", row.name);
                assert!(row.name.starts_with(dialect.name), "{} is in the wrong dialect", row.name);
            }
        }
    }

    #[test]
    fn a_row_has_at_most_one_variadic_parameter_and_sixteen_masked_ones() {
        for dialect in registry().dialects() {
            for row in dialect.rows {
                assert!(row.params.iter().filter(|param| param.kind.is_variadic()).count() <= 1, "{}", row.name);
                assert!(row.params.iter().filter(|param| param.keyed || param.optional).count() <= 16, "{}", row.name);
            }
        }
    }
}
