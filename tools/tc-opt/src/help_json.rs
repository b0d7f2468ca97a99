//! What the tool tells about passes and pipelines, as JSON. docs/tc-opt.md lists the fields.

use serde_json::{Value, json};
use tc::pass::{OptionInfo, PassInfo, PassTable, Pipeline, PipelineInfo, PipelineStep};

/// `{"passes": […], "pipelines": […]}`.
pub(crate) fn list(table: &PassTable) -> Value {
    let passes: Vec<Value> = table.passes().map(pass).collect();
    let pipelines: Vec<Value> = table.pipelines().iter().map(|info| pipeline(info)).collect();
    json!({"passes": passes, "pipelines": pipelines})
}

/// The row of the pass or the named pipeline `name`, with its page; nothing if there is none.
pub(crate) fn page(table: &PassTable, name: &str) -> Option<Value> {
    if let Some(info) = table.pass(name) {
        let mut row = pass(info);
        row["page"] = json!(info.page);
        return Some(row);
    }
    table.pipeline(name).map(pipeline)
}

/// `{"pipeline": TEXT, "passes": [{"name", "anchor", "options"}]}`.
pub(crate) fn expanded(pipeline: &Pipeline) -> Value {
    let passes = pipeline.passes.iter().map(|planned| {
        let options: serde_json::Map<String, Value> =
            planned.options.iter().map(|option| (option.key.clone(), json!(option.value))).collect();
        json!({"name": planned.info.name, "anchor": planned.info.anchor, "options": options})
    });
    json!({"pipeline": pipeline.to_string(), "passes": passes.collect::<Vec<_>>()})
}

fn pass(info: &PassInfo) -> Value {
    let names = |forms: &[&tc::ir::form::Form]| forms.iter().map(|form| form.name).collect::<Vec<_>>();
    json!({
        "name": info.name, "anchor": info.anchor, "summary": info.summary(), "options": options(info.options),
        "requires": names(info.requires), "establishes": names(info.establishes),
    })
}

fn pipeline(info: &PipelineInfo) -> Value {
    let steps = (info.steps)(&[]).unwrap_or_default();
    let lines = steps.iter().filter(|step| step.place.is_none());
    let lines: Vec<Value> = lines.map(|step| json!({"text": step.text, "reason": step.reason})).collect();
    let place =
        |(n_lines, step): (usize, PipelineStep)| json!({"name": step.place, "after": n_lines, "reason": step.reason});
    let places: Vec<Value> = info.places().into_iter().map(place).collect();
    json!({
        "name": info.name, "summary": info.summary, "options": options(info.options), "lines": lines, "places": places,
    })
}

fn options(options: &[OptionInfo]) -> Vec<Value> {
    let row = |info: &OptionInfo| json!({"key": info.key, "type": info.ty, "default": (info.default)(), "summary": info.summary.trim()});
    options.iter().map(row).collect()
}
