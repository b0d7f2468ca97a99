//! The language as text: tokens, grammar, syntax tree, recovery from syntax errors.

pub mod tree;

/// How deep brackets, blocks, runs of unary operators, `else if` chains and nested types together may go.
pub const MAX_DEPTH: u32 = 256;
