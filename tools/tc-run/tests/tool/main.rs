//! tc-run as a user meets it.

mod barriers;
mod points;
mod profile;
mod tool;
