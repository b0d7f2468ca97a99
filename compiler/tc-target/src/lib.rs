//! tc-target.
