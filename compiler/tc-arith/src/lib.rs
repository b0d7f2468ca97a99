//! The index algebra.
#![allow(dead_code, missing_docs, reason = "wip")]
mod analyzer;
mod bounds;
mod deduce;
mod display;
mod eval;
mod expr;
mod facts;
mod interval;
mod linear;
mod modular;
mod pool;
mod prove;
pub mod rules;
mod set;
mod simplify;
pub use analyzer::*;
pub use expr::*;
pub use interval::*;
pub use modular::*;
pub use pool::*;
pub use simplify::*;
pub use deduce::*;
pub use prove::*;
pub use set::*;
