//! tc-dialects.
