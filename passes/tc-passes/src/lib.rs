//! tc-passes.
