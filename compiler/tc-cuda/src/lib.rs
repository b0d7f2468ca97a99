//! tc-cuda.
