//! The passes, one file each; [`table`] lists them.

pub mod table;
