//! tc-run.
fn main() {}
