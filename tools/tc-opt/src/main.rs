//! tc-opt.
fn main() {}
