//! tc-ir.
