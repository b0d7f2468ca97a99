//! What IR prints as, pretty and generic: exact texts of functions that are built by hand.

mod expr;
mod generic;
mod operator;
mod program;
mod schedule;
mod support;
