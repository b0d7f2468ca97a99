//! What the tool tells about passes.

use std::fmt::Write as _;
use tc::pass::{OptionInfo, PassTable, PipelineInfo};
use tc::support::suggest::did_you_mean;

/// A line for each pass and each named pipeline.
pub(crate) fn list(table: &PassTable) -> String {
    let width = table.names().map(str::len).max().unwrap_or(0);
    let mut out = String::from("passes:\n");
    for info in table.passes() {
        let _ = writeln!(out, "  {:width$}  {} ({})", info.name, info.summary(), info.anchor);
    }
    out.push_str("\nnamed pipelines:\n");
    for info in table.pipelines() {
        let _ = writeln!(out, "  {:width$}  {}", info.name, info.summary);
    }
    out
}

/// The page of a pass or a named pipeline; the error says which name is near.
pub(crate) fn page(table: &PassTable, name: &str) -> Result<String, String> {
    if let Some(info) = table.pass(name) {
        let mut out = format!("{name} (runs on {})\n\n{}", info.anchor, info.page);
        for (title, forms) in [("requires", info.requires), ("establishes", info.establishes)] {
            if !forms.is_empty() {
                let names: Vec<&str> = forms.iter().map(|form| form.name).collect();
                let _ = write!(out, "\n{title}: {}\n", names.join(", "));
            }
        }
        out.push_str(&options(info.options));
        return Ok(out);
    }
    if let Some(info) = table.pipeline(name) {
        return Ok(format!("{name} (a named pipeline)\n\n{}\n{}{}", info.summary, options(info.options), steps(info)));
    }
    let help = did_you_mean(name, table.names()).unwrap_or_else(|| "see --list-passes".to_string());
    Err(format!("unknown pass `{}`: {help}", tc::support::suggest::shorten(name)))
}

fn options(options: &[OptionInfo]) -> String {
    let mut out = String::new();
    for (nth, info) in options.iter().enumerate() {
        let title = if nth == 0 { "\noptions:\n" } else { "" };
        let default = (info.default)();
        let default = if default.is_empty() { "nothing".to_string() } else { default };
        let _ = writeln!(out, "{title}  {}=<{}>  {} (default: {default})", info.key, info.ty, info.summary.trim());
    }
    out
}

/// The lines of a pipeline with its default options.
fn steps(info: &PipelineInfo) -> String {
    // A place for passes of an embedder stands in angle brackets.
    let Ok(steps) = (info.steps)(&[]) else { return String::new() };
    let width = steps.iter().map(|step| step.text.len()).max().unwrap_or(0);
    let mut out = String::from("\nlines:\n");
    for step in &steps {
        let text = step.place.map_or_else(|| step.text.clone(), |place| format!("<{place}>").into());
        let _ = writeln!(out, "  {text:width$}  {}", step.reason);
    }
    out
}
