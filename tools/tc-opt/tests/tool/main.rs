//! tc-opt as a user meets it: its flags, its inputs, its outputs and its statuses.

mod about;
mod binary;
mod bundle;
mod debug;
mod inputs;
mod kept;
mod lsp;
mod paths;
mod semantics;
mod space;
mod tool;
