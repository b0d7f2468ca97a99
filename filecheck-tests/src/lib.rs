//! tc-filetest.
