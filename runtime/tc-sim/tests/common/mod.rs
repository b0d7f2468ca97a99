//! What the tests share: text in, diagnostics out.

#![allow(dead_code, reason = "each test file uses its share")]

use tc_ir::Module;
use tc_sim::{Arg, DiagnosticKind, RunOptions, RunReport, Tensor, run};
use tc_support::{Diagnostic, Location};

/// The module that `text` says.
pub(crate) fn parse(text: &str) -> Module {
    let registry = tc_dialects::shared_registry();
    let (module, found) = tc_syntax::parse_module("test.tir", text, &registry, &tc_syntax::ParseOptions::default());
    assert!(found.is_empty(), "{found:?}");
    for item in &module.items {
        let found = tc_ir::verify::verify(item);
        assert!(found.is_empty(), "{found:?}");
    }
    module
}

/// The line of a location.
pub(crate) fn line(module: &Module, location: &Location) -> u32 {
    match location {
        Location::Span(span) => module.sources.line_col(span.start).expect("a loaded file").1.line,
        other => panic!("no line in {other:?}"),
    }
}

/// The lines of a diagnostic: its own, then those of its labels.
pub(crate) fn lines(module: &Module, diagnostic: &Diagnostic) -> Vec<u32> {
    let labels = diagnostic.labels.iter().map(|label| line(module, &label.location));
    std::iter::once(line(module, &diagnostic.location)).chain(labels).collect()
}

/// Runs `@f` and gives the report.
pub(crate) fn run_f(module: &Module, args: &[Arg]) -> RunReport {
    run(module, "f", args, &RunOptions::default()).unwrap_or_else(|error| panic!("{error:?}"))
}

/// The message and the lines of the first diagnostic of `kind`, which is the only kind of error found.
pub(crate) fn only(module: &Module, report: &RunReport, kind: DiagnosticKind) -> (String, Vec<u32>) {
    let others: Vec<_> =
        report.diagnostics.iter().filter(|other| other.kind.is_error() && other.kind != kind).collect();
    assert!(others.is_empty(), "{others:#?}");
    let found = report.diagnostics.iter().find(|found| found.kind == kind);
    let diagnostic = &found.unwrap_or_else(|| panic!("no {kind:?} in {:#?}", report.diagnostics)).diagnostic;
    (diagnostic.message.clone(), lines(module, diagnostic))
}

/// An f32 input.
pub(crate) fn floats(values: &[f64]) -> Arg {
    Arg::Input(Tensor::from_f64s(tc_ir::Elem::F32, &[values.len() as u64], values).expect("it fits"))
}

/// The values of output number `nth`.
pub(crate) fn output(report: &RunReport, nth: usize) -> Vec<f64> {
    report.outputs[nth].as_ref().expect("a buffer").to_f64s()
}
