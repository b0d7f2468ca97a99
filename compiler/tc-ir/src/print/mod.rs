//! The text.
//!
//! - [`types`](self::types): types and attributes.

pub mod types;
