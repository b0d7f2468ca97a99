//! Random pipelines: `cuda` with random options, and further passes anywhere in it.

use super::choices::Choices;
use super::rng::Rng;
use tc::pass::pipeline::quote_value;
use tc::pass::{OptionInfo, PassInfo, PassTable, RawOption};

/// A pass at its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pass {
    /// Its text in a pipeline.
    pub text: String,
    /// Its name.
    pub name: String,
    /// It is none of the pipeline `cuda`: without it the program is compiled as well.
    pub added: bool,
}

/// Passes that are not put in: they end a pipeline where it need not end, or may stand at one place only.
const KEPT_OUT: &[&str] = &["thread-sync", "verify-memory", "verify-gpu-limits", "schedule", "inline", "check-races"];

/// The text of a pipeline of these passes.
pub fn text(passes: &[Pass]) -> String {
    let texts: Vec<&str> = passes.iter().map(|pass| &*pass.text).collect();
    format!("module({})", texts.join(","))
}

/// A random pipeline that ends where CUDA is emitted.
pub fn passes(table: &PassTable, rng: &mut Rng) -> Vec<Pass> {
    let row = &tc::passes::table::CUDA;
    let told = options(row.options, rng, 30);
    let steps = (row.steps)(&told).unwrap_or_default();
    let base = |text: &str| Pass { text: text.to_string(), name: name_of(text).to_string(), added: false };
    let mut list: Vec<Pass> = steps.iter().filter(|step| step.place.is_none()).map(|step| base(&step.text)).collect();
    let further: Vec<&PassInfo> = table.passes().filter(|info| !KEPT_OUT.contains(&info.name)).collect();
    let n_further = rng.pick(&[0, 0, 1, 2, 3, 5]);
    for _ in 0..n_further {
        let info = rng.pick(&further);
        if info.name == "split-host-device" {
            continue;
        }
        // What changes operators stands before `schedule`, all else after.
        let operators = info.name == "auto-inline";
        let at = if operators { 0 } else { 1 + rng.below(list.len()) };
        if operators && rng.chance(70) {
            continue;
        }
        let named = named(info, rng);
        let text = if info.anchor == PassInfo::MODULE { named } else { format!("{}({named})", info.anchor) };
        list.insert(at, Pass { text, name: info.name.to_string(), added: true });
    }
    list
}

/// Lets `schedule` take the schedule that chooses.
pub(super) fn choose(pass: &mut Pass) {
    if pass.name == "schedule" {
        pass.text = match pass.text.strip_prefix("schedule{") {
            Some(options) => format!("schedule{{name=by {options}"),
            None => "schedule{name=by}".to_string(),
        };
    }
}

/// Undoes [`choose`].
pub(super) fn choose_nothing(pass: &mut Pass) {
    pass.text = pass.text.replace("{name=by}", "").replace("name=by ", "");
}

/// The pass with some options, as it is written inside its anchor.
pub(super) fn named(info: &PassInfo, choices: &mut dyn Choices) -> String {
    let told = options(info.options, choices, 35);
    let told: Vec<String> =
        told.iter().map(|option| format!("{}={}", option.key, quote_value(&option.value))).collect();
    if told.is_empty() { info.name.to_string() } else { format!("{}{{{}}}", info.name, told.join(" ")) }
}

/// The name of the pass that a piece of pipeline text is about.
pub(super) fn name_of(text: &str) -> &str {
    let inside = text.strip_prefix("tir.func(").and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    inside.split('{').next().unwrap_or(inside)
}

/// Some options, with random values.
pub(super) fn options(of: &[OptionInfo], rng: &mut dyn Choices, percent: usize) -> Vec<RawOption> {
    let mut told = Vec::new();
    for option in of {
        let value = match option.ty {
            "true|false" if option.key != "keep" => rng.pick(&["true", "false"]),
            "integer" => rng.pick(&["0", "1", "4", "8", "16"]),
            _ => continue,
        };
        if rng.chance(percent) {
            let key = option.key.to_string();
            told.push(RawOption { key, value: value.to_string(), key_at: 0..0, value_at: 0..0 });
        }
    }
    told
}
