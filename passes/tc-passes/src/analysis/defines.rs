//! Values of parameters and sizes that a run, or an option of a pass, gives.

use tc_pass::{OptionError, RawOption};
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

/// The values that the option `param`, whose text is `text`, gives; `example` is what its help shows.
pub(crate) fn param_option(raw: &[RawOption], text: &str, example: &str) -> Result<Vec<Define>, OptionError> {
    read_defines(text).map_err(|message| OptionError {
        message,
        help: Some(format!("write `param=\"{example}\"`")),
        at: raw.iter().find(|option| option.key == "param").map_or(0..0, |option| option.value_at.clone()),
    })
}
