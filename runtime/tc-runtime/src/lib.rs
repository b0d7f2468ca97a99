//! tc-runtime.
