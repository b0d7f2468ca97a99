//! The language as text: tokens, grammar, syntax tree, recovery from syntax errors, and from the tree to IR.

mod actions;
mod balance;
pub mod lexemes;
pub mod literal;
mod lower;
mod parse;
mod recover;
mod stream;
mod token;
pub mod tree;
mod wording;

pub use lower::{ParseOptions, parse_file, parse_module};
pub use parse::{parse, parse_partial};

/// How deep brackets, blocks, runs of unary operators, `else if` chains and nested types together may go.
pub const MAX_DEPTH: u32 = 256;

/// How many syntax errors of a file are reported.
pub const MAX_ERRORS: usize = 100;

/// The generated parsers.
#[allow(
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::unwrap_used,
    clippy::allow_attributes_without_reason,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    unused_lifetimes,
    reason = "generated; the grammar itself is in `grammar.lalrpop`"
)]
mod grammar {
    lalrpop_util::lalrpop_mod!(plain, "/plain/grammar.rs");
    lalrpop_util::lalrpop_mod!(recovering, "/recovering/grammar.rs");
    pub(crate) use plain::FileParser as PlainParser;
    pub(crate) use recovering::FileParser as RecoveringParser;
}
