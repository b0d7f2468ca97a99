//! The index algebra: what a compiler of loops over tensors must be able to say about integers.
//!
//! The crate has expressions of its own ([`Pool`], [`Expr`], [`Node`]) and knows no IR; a pass translates the index
//! arithmetic it is interested in, giving a variable to whatever it cannot translate. An [`Analyzer`] holds a pool and
//! what is known: ranges of variables ([`Analyzer::bind`]), names for values ([`Analyzer::define`]) and conditions
//! that hold ([`Analyzer::push_constraint`]); scopes end with [`Analyzer::pop_constraint`], [`Analyzer::scope`] or
//! [`Analyzer::rollback`].
//!
//! # Questions
//!
//! | | |
//! |---|---|
//! | [`Analyzer::bounds`] | constant bounds, an [`Interval`] |
//! | [`Analyzer::modular`] | a [`ModularSet`], `coeff * k + base` |
//! | [`Analyzer::simplify`] | the canonical form |
//! | [`Analyzer::prove`] | a [`Verdict`]: always, never, unknown |
//! | [`Analyzer::eval_set`], [`Analyzer::eval_set_under`], [`Analyzer::union`] | the region an index sweeps while some variables run, a [`SymInterval`] |
//! | [`Analyzer::deduce_bound`] | the values of a variable for which a guard holds |
//! | [`Analyzer::linear`], [`Analyzer::linear_const`] | coefficients of variables |
//! | [`Analyzer::floor_is_trunc`] | whether `/` and `%` may become the machine's division |
//!
//! ```
//! use tc_arith::{Analyzer, Var};
//!
//! let mut az = Analyzer::new();
//! let (block, thread) = (az.pool.named_var(Var(0), "bx"), az.pool.named_var(Var(1), "tx"));
//! let [zero, width, blocks] = [0, 32, 513].map(|c| az.pool.int(c));
//! az.bind(Var(0), zero, blocks);
//! az.bind(Var(1), zero, width);
//!
//! let start = az.pool.mul(block, width);
//! let index = az.pool.add(start, thread);
//! let row = az.pool.floor_div(index, width);
//! assert_eq!(az.simplify(row), block);
//!
//! let end = az.pool.int(16384);
//! let guard = az.pool.lt(index, end);
//! let guard = az.simplify(guard);
//! assert_eq!(az.pool.display(guard).to_string(), "bx < 512");
//! ```
//!
//! # Meaning
//!
//! Values are integers. `/` and `%` floor, `tdiv` and `tmod` truncate; `&&` and `||` stop early; `select` evaluates
//! the branch it takes; `likely(p)` is `p`. A division by zero is an error, and no rewrite hides one, makes one, or
//! moves one to where it was not evaluated: an expression that fails goes on failing at the same points. A result that
//! does not fit in 64 bits is an error too, and the algebra takes for granted that a given expression has none. In
//! return no rewrite introduces one where variables have bounds; a variable without bounds is taken to be small enough
//! for factors up to 2^31.
//!
//! Under all that is known, `simplify(e)` has the value of `e`; `bounds` and `modular` hold every value; `True` and
//! `False` are never wrong; the ends of a set hold every value, and are exact for sums of multiples of variables; every
//! value that `deduce_bound` gives satisfies the guard. Where nothing can satisfy what is known, answers mean nothing.
//!
//! # The canonical form
//!
//! A sum of constant multiples of atoms. Terms stay in the order in which they first occur, the first positive one
//! leads, the constant comes last: `bx * 32 + ty * 4 + tx - ro * 8 - 1`. Products are multiplied out. Atoms are
//! variables, products of atoms, `x / c` and `x % c` of what the divisor does not divide, `min`, `max`, `select`. A
//! comparison with variables on both sides keeps them there, constants on the right (`i < n - 1`); with variables on
//! one side it is `x < c`, `c <= x`, `x == c` or `x != c`, common factors divided out. `!` stands only before what has
//! no opposite. Simplifying twice gives what simplifying once gives, and the same calls give the same results.
//!
//! # Rules
//!
//! The canonical form is reached by named [rules], rows of tables, one file a theme. Each row states its laws, such as
//! `x/c*c + x%c -> x if c > 0`, in a small language that the tests read: the solver z3 proves every law over all integers,
//! failure included, and each is tried at all points of a small range. [`Analyzer::record_steps`] tells which rules
//! were applied to what; the tests match such steps with the laws of their rules, prove a thousand of them, and compare
//! both sides of many more by evaluation.
//!
//! # Limits
//!
//! Expressions deeper than [`MAX_DEPTH`], and what a query has not visited when its [`WORK_BUDGET`] is spent, stay as
//! they are; [`Analyzer::gave_up`] tells. [`Analyzer::prove`] tries all points where at most [`ENUMERATION_BUDGET`] are
//! in question. Nothing recurses with the size of its input beyond that depth.

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
mod product;
mod prove;
pub mod rules;
mod set;
mod simplify;
mod ty;

pub use analyzer::{Analyzer, Mark, RuleApplication};
pub use deduce::{ConstLinearForm, LinearForm};
pub use display::Display;
pub use eval::Evaluation;
pub use expr::{BinaryOp, EvalError, Expr, Node, Var};
pub use interval::Interval;
pub use modular::ModularSet;
pub use pool::Pool;
pub use prove::{ENUMERATION_BUDGET, Verdict};
pub use rules::Rule;
pub use set::{Relaxed, SymInterval};
pub use simplify::{MAX_DEPTH, WORK_BUDGET};
pub use ty::IntType;
