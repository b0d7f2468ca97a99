//! What is known of stages and loops, as text for people.

use std::fmt::Write as _;
use tc::ir::{Func, Value};
use tc::schedule::explain::{Extent, LoopWhy, StageWhy};
use tc::support::{Location, counted};

/// The line of the file that a location is in.
pub(crate) type Line<'l> = &'l dyn Fn(&Location) -> Option<u32>;

/// The type of a value, and the bytes of a buffer.
pub(crate) fn type_line(func: &Func, value: Value) -> Option<String> {
    let ty = func.value_type(value);
    let shown = func.show_type(ty);
    // What a stage or an axis is, the definition says.
    if matches!(shown.trim_start_matches("sched."), "stage" | "axis") {
        return None;
    }
    Some(match bytes(func, value) {
        Some(bytes) => format!("type: `{shown}`, {}", counted(bytes, "byte")),
        None => format!("type: `{shown}`"),
    })
}

/// The bytes of a buffer whose extents are numbers.
pub(crate) fn bytes(func: &Func, value: Value) -> Option<u64> {
    let (elem, shape, _) = func.as_shaped(func.value_type(value))?;
    let scalar = func.as_scalar(elem)?;
    let bits = u64::from(scalar.elem.bits()) * u64::from(scalar.lanes);
    let elements = shape
        .iter()
        .try_fold(1_u64, |product, &extent| product.checked_mul(u64::try_from(func.as_int(extent)?).ok()?))?;
    // A truth value takes a byte.
    elements.checked_mul(bits.div_ceil(8))
}

fn at(location: &Location, line: Line<'_>) -> String {
    line(location).map_or(String::new(), |line| format!(" (line {line})"))
}

fn shape(stage: &StageWhy) -> String {
    let extents: Vec<String> = stage.shape.iter().map(Extent::to_string).collect();
    format!("[{}]", extents.join(", "))
}

/// The buffer of the stage called `name`, in a word.
pub(crate) fn buffer(stage: &StageWhy) -> String {
    format!("{} {}, {}", shape(stage), stage.scope, counted(stage.bytes, "byte"))
}

/// Why the stage called `name` computes what it does.
pub(crate) fn of_stage(stages: &[StageWhy], name: &str, line: Line<'_>) -> Option<String> {
    let stage = stages.iter().find(|stage| stage.name == name)?;
    let mut text = String::new();
    let place = stage.at.as_ref().map_or("at the root".to_string(), |(axis, of)| format!("at `{axis}` of `{of}`"));
    let _ = writeln!(text, "computed {place}{}, in {} memory", at(&stage.location, line), stage.scope);
    let _ = writeln!(text, "- buffer `{}`, {}", shape(stage), counted(stage.bytes, "byte"));
    for dim in &stage.dims {
        let _ = writeln!(text, "- `{}`: {} from `{}`; {}", dim.axis, dim.extent, dim.min, dim.rule.text());
    }
    for (nth, read) in stage.reads.iter().enumerate() {
        let _ = writeln!(text, "- read {} by `{}`{}", nth + 1, read.consumer, at(&read.location, line));
    }
    for one in &stage.loops {
        let _ = writeln!(text, "- loop {}", loop_line(one, line));
    }
    for guard in &stage.guards {
        let _ = writeln!(text, "- guard `{}`{}", guard.condition, at(&guard.location, line));
    }
    Some(text.trim_end().to_string())
}

fn loop_line(one: &LoopWhy, line: Line<'_>) -> String {
    format!("`{}`: {}, {}{}", one.name, one.extent, one.made, at(&one.location, line))
}

/// Where the loop called `name` comes from, of those that a directive made for which `is_it` holds.
pub(crate) fn of_loop(
    stages: &[StageWhy],
    name: &str,
    is_it: &dyn Fn(&Location) -> bool,
    line: Line<'_>,
) -> Option<String> {
    let found = find_loop(stages, name, is_it)?;
    Some(format!("loop {}", loop_line(found, line)))
}

/// The loop called `name` that a directive made for which `is_it` holds.
pub(crate) fn find_loop<'s>(
    stages: &'s [StageWhy],
    name: &str,
    is_it: &dyn Fn(&Location) -> bool,
) -> Option<&'s LoopWhy> {
    let mut all = stages.iter().flat_map(|stage| &stage.loops);
    all.find(|one| one.name == name && is_it(&one.location))
}

/// What is computed of an axis of the stage called `of`.
pub(crate) fn of_axis(stages: &[StageWhy], name: &str, of: &str) -> Option<String> {
    let stage = stages.iter().find(|stage| stage.name == of)?;
    let dim = stage.dims.iter().find(|dim| dim.axis == name)?;
    Some(format!("`{of}` computes {} from `{}`; {}", dim.extent, dim.min, dim.rule.text()))
}
