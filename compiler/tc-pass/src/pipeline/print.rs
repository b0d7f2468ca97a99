//! The normal text of a pipeline.

use super::Pipeline;
use crate::options::RawOption;
use crate::pass::PassInfo;
use std::fmt;

impl fmt::Display for Pipeline {
    /// Writes the pipeline with named pipelines and files expanded and every anchor given. What it writes reads back
    /// as the same pipeline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("module(")?;
        let mut open = PassInfo::MODULE;
        for (nth, planned) in self.passes.iter().enumerate() {
            let anchor = planned.info.anchor;
            if anchor != open && open != PassInfo::MODULE {
                f.write_str(")")?;
            }
            if nth > 0 {
                f.write_str(",")?;
            }
            if anchor != open && anchor != PassInfo::MODULE {
                write!(f, "{anchor}(")?;
            }
            open = anchor;
            f.write_str(planned.info.name)?;
            write_options(f, &planned.options)?;
        }
        f.write_str(if open == PassInfo::MODULE { ")" } else { "))" })
    }
}

fn write_options(f: &mut fmt::Formatter<'_>, options: &[RawOption]) -> fmt::Result {
    for (nth, option) in options.iter().enumerate() {
        write!(f, "{}{}={}", if nth == 0 { '{' } else { ' ' }, option.key, quote_value(&option.value))?;
    }
    if options.is_empty() { Ok(()) } else { f.write_str("}") }
}

/// `value` as a pipeline string takes it: in quotes where it holds more than letters, digits and signs without a
/// meaning of their own.
pub fn quote_value(value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | ':' | '@' | '=' | '*' | '%');
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_string();
    }
    // An apostrophe or a line end may stand in quotes; only these two have to be escaped.
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}
