//! The text.
