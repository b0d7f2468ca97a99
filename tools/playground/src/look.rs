//! What there is: in the compiler, and in a text.

use crate::request::{Answer, NAME, Request, case_json};
use crate::shown::diagnostics;
use serde_json::{Value, json};
use tc::Compiler;
use tc::run::{Choice, cases};
use tc::target::Target;

/// Targets, passes and named pipelines.
pub(crate) fn options(compiler: &Compiler) -> Value {
    let targets: Vec<&str> = Target::all().iter().map(|target| target.name).collect();
    let passes: Vec<Value> =
        compiler.passes.passes().map(|pass| json!({ "name": pass.name, "anchor": pass.anchor })).collect();
    let pipelines: Vec<&str> = compiler.passes.pipelines().iter().map(|pipeline| pipeline.name).collect();
    json!({
        "ok": true, "version": env!("CARGO_PKG_VERSION"), "targets": targets, "target": Target::DEFAULT,
        "passes": passes, "pipelines": pipelines,
    })
}

/// The items of the text and the cases to check.
pub(crate) fn look(request: &Request) -> Answer {
    let parsed = request.compiler.parse(NAME, request.text("text"))?;
    let module = &parsed.module;
    let item = |item: &tc::ir::Func| {
        let line = crate::shown::line(&item.location(item.header.loc), &module.sources).1;
        let keyword = item.item_row().item.map_or("item", |row| row.keyword);
        json!({ "keyword": keyword, "name": item.symbol(), "line": line, "is_space": !item.params().is_empty() && keyword == "schedule" })
    };
    // A text without anything to check is a text all the same.
    let cases = cases::to_check(module, Choice::default()).unwrap_or_default();
    Ok(json!({
        "ok": true,
        "items": module.items.iter().map(item).collect::<Vec<_>>(),
        "cases": cases.iter().map(|case| case_json(module, case)).collect::<Vec<_>>(),
        "diagnostics": diagnostics(&parsed.warnings, &module.sources),
    }))
}
