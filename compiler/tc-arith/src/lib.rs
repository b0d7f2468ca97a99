//! tc-arith.
