//! What a run checks, and what it says when a pass fails.

mod common;

use common::{module, table};
use tc_ir::Module;
use tc_ir::walk::n_ops;
use tc_pass::instruments::{DumpDir, PrintIr, PrintPoints, Select};
use tc_pass::{Instrument, Manager, PassAt, PassRecord, Report, RunOptions, parse_pipeline};
use tc_support::{Diagnostics, Fault, Sources, render};

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
fn any_number_of_threads_gives_the_same_findings() {
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
fn a_panic_is_a_finding() {
    for threads in [1, 2] {
        let (report, module) = run("touch,panic", &["a", "b"], threads);
        let text = shown(&report, &module);
        assert!(text.contains("internal error[pass-panicked]: the pass panicked: at the sight of @b"), "{text}");
        assert!(text.contains("while running pass 2 of 2, `panic`, on `@b`"), "{text}");
        assert!(report.diagnostics.iter().filter(|found| found.is_error()).all(|found| found.fault == Fault::Bug));
    }
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
}

#[test]
fn instruments_see_every_pass_that_did_not_fail() {
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
    assert_eq!(seen, want);
}

fn watched<'i>(text: &str, instrument: impl Instrument + 'i) -> Report {
    let table = table();
    let mut module = module(&["a"]);
    let pipeline = parse_pipeline(text, &table, &module.registry, &mut module.sources);
    let mut manager = Manager::new(&table, RunOptions::default());
    manager.instrument(instrument).run(&pipeline.map_err(|_| "right").expect("right"), &mut module)
}

#[test]
fn programs_are_printed_where_asked() {
    let printed = |points: PrintPoints| {
        let mut text = String::new();
        let print = Box::new(|module: &Module| format!("{} items\n", module.items.len()));
        watched("touch{never},over", PrintIr::new(points, print, |piece| text.push_str(piece)));
        text
    };
    let points = PrintPoints::default;
    assert_eq!(printed(points()), "");
    let named = |name: &str| Select::Named(vec![name.to_string()]);
    let text = printed(PrintPoints { before: named("over"), after: named("over"), ..points() });
    assert_eq!(text, "// before `over` (2 of 2)\n1 items\n// after `over` (2 of 2)\n2 items\n");
    let text = printed(PrintPoints { after_change: true, ..points() });
    assert_eq!(text, "// after `over` (2 of 2)\n2 items\n");
    assert_eq!(printed(PrintPoints { after: Select::All, ..points() }).matches("// after").count(), 2);
}

#[test]
fn programs_are_dumped_into_a_folder() {
    let folder = std::env::temp_dir().join(format!("tc-pass-dump-{}", std::process::id()));
    let mut dump = DumpDir::new(&folder, Box::new(|module| format!("{} items", module.items.len()))).expect("writable");
    assert!(dump.parsed(&module(&["a"])).is_empty());
    assert!(watched("touch,over", dump).is_ok());
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("written");
    assert_eq!([read("00-parse.tir"), read("01-touch.tir"), read("02-over.tir")], ["1 items", "1 items", "2 items"]);
    let dump = DumpDir::new(&folder, Box::new(|_| String::new())).expect("writable");
    std::fs::remove_dir_all(&folder).expect("ours");
    let report = watched("touch,over", dump);
    assert!(report.is_ok());
    assert_eq!(report.diagnostics.iter().filter(|found| found.code == "dump").count(), 1);
}
