//! Literals with the element types of the IR.

use crate::literal::{self, LiteralError};
use tc_ir::Elem;

/// An integer literal.
pub(super) struct Int {
    pub(super) value: i128,
    pub(super) elem: Option<Elem>,
}

/// A float literal.
pub(super) struct Float {
    pub(super) value: f64,
    /// The nearest `f32`; rounding `value` again is not always that.
    single: f32,
    pub(super) elem: Option<Elem>,
}

impl Float {
    /// The value as a number of type `elem`.
    pub(super) fn rounded(&self, elem: Elem) -> f64 {
        if elem == Elem::F32 { f64::from(self.single) } else { elem.round(self.value) }
    }
}

fn suffix(suffix: Option<&str>) -> Result<Option<Elem>, String> {
    let Some(text) = suffix else { return Ok(None) };
    Elem::parse(text)
        .map(Some)
        .ok_or_else(|| format!("there is no number type `{}`", tc_support::suggest::shorten(text)))
}

fn message(error: LiteralError) -> String {
    error.message
}

/// Reads an integer literal.
pub(super) fn int(text: &str) -> Result<Int, String> {
    let read = literal::int(text).map_err(message)?;
    Ok(Int { value: i128::from(read.value), elem: suffix(read.suffix)? })
}

/// Reads a float literal.
pub(super) fn float(text: &str) -> Result<Float, String> {
    let read = literal::float(text).map_err(message)?;
    Ok(Float { value: read.value, single: read.single, elem: suffix(read.suffix)? })
}

/// Reads a symbol.
pub(super) fn symbol(text: &str) -> Result<String, String> {
    literal::symbol(text).map(|name| name.into_owned()).map_err(message)
}

/// Reads a string.
pub(super) fn string(text: &str) -> Result<String, String> {
    literal::string(text).map(|text| text.into_owned()).map_err(message)
}
