//! From syntax trees to IR: names are resolved, literals get their types, sugar becomes ops.
//!
//! - [`state`]: what lowering an item carries along; making ops.
//! - [`scope`]: names in scope.
//! - [`item`]: headers, the body, the whole file.
//! - [`stmt`], [`flow`]: statements; loops and conditionals.
//! - [`expr`], [`infer`]: expressions, and the types that literals take from what is around them.
//! - [`call`]: calls by the rows of their ops.
//! - [`place`]: loads, stores, references.
//! - [`operator`], [`schedule`]: what only operators, or only schedules, have.
//! - [`attr`]: attributes and types.
//!
//! Ops are made in left-to-right post-order, right before the op of the statement they belong to. An error is
//! reported once, where it is found; what depends on it is left out without a further word.

mod attr;
mod call;
mod decode;
mod expr;
mod flow;
mod infer;
mod item;
mod operator;
mod place;
mod schedule;
mod scope;
mod state;
mod stmt;

pub use item::{ParseOptions, parse_file, parse_module};
