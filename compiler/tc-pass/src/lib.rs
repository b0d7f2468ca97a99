//! tc-pass.
