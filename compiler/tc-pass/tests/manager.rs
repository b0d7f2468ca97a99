//! What a run checks, and what it says when a pass fails.

mod common;

use common::{module, table};
use tc_ir::Module;
use tc_ir::walk::n_ops;
use tc_pass::{Instrument, Manager, PassAt, PassRecord, Report, RunOptions, parse_pipeline};
use tc_support::{Diagnostic, Diagnostics, Fault, Location, Sources, render};

fn run(text: &str, symbols: &[&str], threads: usize) -> (Report, Module) {
    let table = table();
    let mut module = module(symbols);
    let mut sources = Sources::new();
    let pipeline = parse_pipeline(text, &table, &module.registry, &mut sources).map_err(|_| "right").expect("right");
    module.sources = sources;
    let options = RunOptions { threads, ..RunOptions::default() };
    let report = Manager::new(&table, options).run(&pipeline, &mut module);
    (report, module)
}

fn shown(report: &Report, module: &Module) -> String {
    render::text(&report.diagnostics, &module.sources, false)
}

#[test]
fn passes_run_in_the_order_of_the_text() {
    let (report, module) = run("touch{times=2},over,t.func(touch)", &["a", "b"], 1);
    assert!(report.is_ok());
    let sizes: Vec<usize> = module.items.iter().map(n_ops).collect();
    assert_eq!(sizes, [3, 3, 1]);
    let records: Vec<_> = report.records.iter().map(|record| (record.name, record.n_items, record.changed)).collect();
    assert_eq!(records, [("touch", 2, true), ("over", 1, true), ("touch", 3, true)]);
    assert_eq!(report.records[2].stats.iter().collect::<Vec<_>>(), [("ops added", 3)]);
}

#[test]
fn any_number_of_threads_gives_the_same_diagnostics() {
    let names: Vec<String> = (0..50).map(|idx| format!("f{idx}")).collect();
    let symbols: Vec<&str> = names.iter().map(String::as_str).collect();
    let texts = [1, 2, 8].map(|threads| {
        let (report, module) = run("touch,refuse,touch", &symbols, threads);
        shown(&report, &module)
    });
    assert!(texts[0].contains("touched `@f49`"));
    assert!(texts.iter().all(|text| *text == texts[0]));
}

#[test]
fn an_error_names_pass_position_and_function() {
    let (report, module) = run("touch,refuse,touch", &["good", "bad"], 2);
    assert_eq!(report.failed, Some(1));
    assert_eq!(report.records.len(), 2);
    assert!(shown(&report, &module).contains("note: while running pass 2 of 3, `refuse`, on `@bad`"));
}

#[test]
fn a_panic_is_a_diagnostic() {
    for threads in [1, 2] {
        let (report, module) = run("touch,panic", &["a", "b"], threads);
        let text = shown(&report, &module);
        assert!(text.contains("internal error[pass-panicked]: `panic` panicked: at the sight of @b"), "{text}");
        assert!(text.contains("while running pass 2 of 2, `panic`, on `@b`"), "{text}");
        assert!(report.diagnostics.iter().filter(|found| found.is_error()).all(|found| found.fault == Fault::Bug));
    }
}

#[test]
fn a_pass_that_makes_ops_without_end_is_ended() {
    for threads in [1, 2] {
        let (report, module) = run("touch{times=1000000000},touch", &["a", "b"], threads);
        let text = shown(&report, &module);
        assert!(text.contains("error[pass-steps]: the pass was ended after 4194304 steps"), "{text}");
        assert!(text.contains("while running pass 1 of 2, `touch`, on `@a`"), "{text}");
        assert_eq!(report.failed, Some(0));
    }
}

/// What `ask` was given, each time that it ran.
fn censuses(report: &Report) -> Vec<String> {
    report.diagnostics.iter().filter(|found| found.code == "census").map(|found| found.message.clone()).collect()
}

#[test]
fn an_analysis_is_made_once_for_a_version() {
    for threads in [1, 2] {
        let (report, _) = run("touch,ask,ask,need,ask", &["a"], threads);
        let all = censuses(&report);
        assert!(all[0].starts_with("1 ops"), "{all:?}");
        assert_eq!(all, [all[0].clone(), all[0].clone(), all[0].clone()]);
    }
}

#[test]
fn an_edit_drops_what_is_not_preserved() {
    let (report, _) = run("ask,rename,ask,touch,ask,over,ask", &["a"], 1);
    let all = censuses(&report);
    assert_eq!(all[0], all[1], "`rename` preserves it");
    assert!(all[2].starts_with("1 ops"), "{all:?}");
    assert_eq!(all[2], all[3], "`over` did not edit this function");
    assert!(all[4].starts_with("0 ops"), "{all:?}");
}

#[test]
fn every_function_has_analyses_of_its_own() {
    let (report, module) = run("touch,ask,over,ask", &["a", "b", "c"], 2);
    let all = censuses(&report);
    assert_eq!(all[..3], all[3..6]);
    assert_eq!((all.len(), module.items.len()), (7, 4));
}

#[test]
#[cfg(debug_assertions)]
fn an_analysis_that_is_not_preserved_is_found() {
    let (report, module) = run("ask,spoil", &["a"], 1);
    let text = shown(&report, &module);
    assert!(text.contains("internal error[analysis-not-preserved]: `spoil` is declared to preserve"), "{text}");
    let (report, _) = run("spoil,ask", &["a"], 1);
    assert!(report.is_ok(), "nothing was known when `spoil` ran");
}

#[test]
fn an_edit_that_is_denied_is_found() {
    let (report, module) = run("deny", &["a", "b"], 1);
    let text = shown(&report, &module);
    assert!(
        text.contains("internal error[edit-denied]: `deny` said that it left `@b` unchanged, and edited it"),
        "{text}"
    );
    let (report, module) = run("deny-over", &["a", "b"], 1);
    assert!(shown(&report, &module).contains("said that it left the module unchanged, and moved or removed items"));
}

#[test]
fn broken_ir_is_blamed_on_its_pass() {
    let (report, module) = run("touch,break,touch", &["a"], 1);
    let text = shown(&report, &module);
    assert!(text.contains("`break` broke `@a`: `t.end` does not stand at the end of its block"), "{text}");
    assert!(text.contains("while running pass 2 of 3, `break`, on `@a`"), "{text}");
}

#[test]
fn a_missing_form_names_the_pass_that_would_establish_it() {
    let (report, module) = run("need", &["a"], 1);
    let text = shown(&report, &module);
    assert!(text.contains("`need` needs the form `full`, which `@a` is not in"), "{text}");
    assert!(text.contains("help: run `fill` or `lie` first, which establishes it"), "{text}");
    assert_eq!(report.diagnostics.iter().next().map(|found| found.fault), Some(Fault::PassAssumption));
    assert!(run("fill,need", &["a"], 1).0.is_ok());
}

#[test]
fn a_form_that_was_promised_is_checked() {
    let (report, module) = run("lie", &["a"], 1);
    assert!(shown(&report, &module).contains("`lie` left `@a` out of the form `full`"));
}

#[test]
fn a_pipeline_that_matches_nothing_is_a_warning() {
    let (report, module) = run("on-operator,t.op(on-operator)", &["a"], 1);
    assert!(report.is_ok());
    let text = shown(&report, &module);
    assert!(text.starts_with("warning[no-match]: `on-operator` ran on nothing: there is no `t.op`"), "{text}");
    assert!(text.contains("<pass-pipeline>:1:1"), "{text}");
    assert_eq!(report.diagnostics.len(), 1);
}

struct Watch<'w>(&'w mut Vec<String>);

impl Instrument for Watch<'_> {
    fn before_pass(&mut self, at: &PassAt<'_>, module: &Module) -> Diagnostics {
        self.0.push(format!("before {}/{} {} {}", at.number, at.total, at.name, module.items.len()));
        Diagnostics::new()
    }

    fn after_pass(&mut self, at: &PassAt<'_>, module: &Module, record: &PassRecord) -> Diagnostics {
        self.0.push(format!("after {} {} {}", at.name, module.items.len(), record.changed));
        Diagnostics::new()
    }

    fn pass_failed(&mut self, at: &PassAt<'_>, module: &Module, found: &Diagnostics) {
        self.0.push(format!("failed {} {} {}", at.name, module.items.len(), found.len()));
    }
}

#[test]
fn instruments_see_every_pass() {
    let table = table();
    let mut module = module(&["bad"]);
    let pipeline = parse_pipeline("touch{never},over,refuse", &table, &module.registry, &mut module.sources);
    let mut seen = Vec::new();
    let mut manager = Manager::new(&table, RunOptions::default());
    let report = manager.instrument(Watch(&mut seen)).run(&pipeline.map_err(|_| "right").expect("right"), &mut module);
    assert!(!report.is_ok());
    drop(manager);
    let want =
        ["before 1/3 touch 1", "after touch 1 false", "before 2/3 over 1", "after over 2 true", "before 3/3 refuse 2"];
    assert_eq!(seen[..5], want);
    assert_eq!(seen[5..], ["failed refuse 2 1"]);
}

/// Finds fault with every program.
struct Strict;

impl Instrument for Strict {
    fn after_pass(&mut self, _: &PassAt<'_>, _: &Module, _: &PassRecord) -> Diagnostics {
        Diagnostic::bug("strict", Location::None, "no program is good enough").into()
    }
}

#[test]
fn an_instrument_that_finds_fault_ends_the_run() {
    let table = table();
    let mut module = module(&["a"]);
    let pipeline = parse_pipeline("touch,over", &table, &module.registry, &mut module.sources);
    let mut seen = Vec::new();
    let mut manager = Manager::new(&table, RunOptions::default());
    manager.instrument(Strict).instrument(Watch(&mut seen));
    let report = manager.run(&pipeline.map_err(|_| "right").expect("right"), &mut module);
    drop(manager);
    assert_eq!((report.failed, report.records.len()), (Some(0), 1));
    assert_eq!(seen, ["before 1/2 touch 1", "failed touch 1 1"]);
    assert!(shown(&report, &module).contains("note: while running pass 1 of 2, `touch`"));
}

#[test]
fn records_count_ops_and_time_where_asked() {
    let table = table();
    let mut module = module(&["a", "b"]);
    let pipeline = parse_pipeline("touch{times=2},over", &table, &module.registry, &mut module.sources);
    let options = RunOptions { count_ops: true, ..RunOptions::default() };
    let report = Manager::new(&table, options).run(&pipeline.map_err(|_| "right").expect("right"), &mut module);
    let counts: Vec<_> = report.records.iter().map(|record| record.ops.map(|ops| (ops.before, ops.after))).collect();
    let first = module.items[0].n_op_ids();
    assert_eq!(counts, [Some((0, 2 * first)), Some((2 * first, 2 * first))]);
    let ends = report.records.windows(2).map(|pair| (pair[0].start + pair[0].time, pair[1].start));
    assert!(ends.into_iter().all(|(end, start)| end <= start));
    let (report, _) = run("touch", &["a"], 1);
    assert_eq!(report.records[0].ops, None);
}
