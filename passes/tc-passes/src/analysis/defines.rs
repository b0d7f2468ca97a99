//! Values of parameters and sizes that a run, or an option of a pass, gives.

use tc_schedule::Define;
use tc_support::suggest;

/// The extension by which a run gives values to parameters and sizes, beside those that `param` gives.
#[derive(Clone, Default, Debug)]
pub struct Defines(pub Vec<Define>);

/// Reads values of parameters and sizes, `block=64 cached=true`.
pub fn read_defines(text: &str) -> Result<Vec<Define>, String> {
    let pairs = text.split([' ', ',', ';']).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let number = match value.trim() {
                "true" => Some(1),
                "false" => Some(0),
                digits => digits.parse().ok(),
            };
            match number {
                Some(number) if !name.is_empty() => Ok((name.trim().to_string(), number)),
                _ => Err(format!("`{}` gives no value to a parameter", suggest::shorten(pair))),
            }
        })
        .collect()
}
