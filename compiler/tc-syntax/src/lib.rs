//! tc-syntax.
