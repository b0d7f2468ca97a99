//! The syntax tree as text, for tests.
