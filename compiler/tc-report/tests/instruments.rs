//! What instruments print, keep and write while a pipeline runs.

#[path = "../../tc-pass/tests/common/mod.rs"]
mod common;

use common::{module, table};
use std::path::PathBuf;
use tc_ir::Module;
use tc_pass::{Instrument, Manager, Report, RunOptions, parse_pipeline};
use tc_report::diff::Style;
use tc_report::index::write_index;
use tc_report::instruments::{PrintChanged, PrintIr, PrintPoints, Select};
use tc_report::recorder::Recorder;

fn watched<'i>(text: &str, instrument: impl Instrument + 'i) -> Report {
    let table = table();
    let mut module = module(&["a"]);
    let pipeline = parse_pipeline(text, &table, &module.registry, &mut module.sources);
    let mut manager = Manager::new(&table, RunOptions { count_ops: true, ..RunOptions::default() });
    manager.instrument(instrument).run(&pipeline.map_err(|_| "right").expect("right"), &mut module)
}

fn items(module: &Module) -> String {
    module.items.iter().map(|item| format!("item @{}\n", item.symbol())).collect()
}

fn printed(text: &str, points: PrintPoints) -> String {
    let mut out = String::new();
    watched(text, PrintIr::new(points, Box::new(items), |piece| out.push_str(piece)));
    out
}

#[test]
fn programs_are_printed_where_asked() {
    let run = |points| printed("touch{never},over", points);
    let points = PrintPoints::default;
    assert_eq!(run(points()), "");
    let named = |name: &str| Select::Named(vec![name.to_string()]);
    let text = run(PrintPoints { before: named("over"), after: named("over"), ..points() });
    assert_eq!(text, "// before `over` (2 of 2)\nitem @a\n// after `over` (2 of 2)\nitem @a\nitem @made_1\n");
    assert_eq!(run(PrintPoints { after: Select::All, ..points() }).matches("// after").count(), 2);
}

#[test]
fn changes_are_printed_as_programs_or_differences() {
    let run = |changed| printed("touch{never},over,touch", PrintPoints { changed, ..PrintPoints::default() });
    let head = "// after `touch` (1 of 3): no change\n// after `over` (2 of 3): @made_1, +1 -0 lines, 0 ops\n";
    let tail = "// after `touch` (3 of 3): changed what its text does not show\n";
    let ir = run(PrintChanged::Ir);
    assert_eq!(ir, format!("{head}item @a\nitem @made_1\n{tail}item @a\nitem @made_1\n"));
    let diff = run(PrintChanged::Diff(Style::Plain));
    assert_eq!(diff, format!("{head}@@ -1 +1,2 @@ item @made_1\n item @a\n+item @made_1\n{tail}"));
    assert!(run(PrintChanged::Diff(Style::Colour)).contains("\x1b[32m+item @made_1\x1b[0m\n"));
}

#[test]
fn a_pass_that_fails_shows_what_it_left() {
    let points = || PrintPoints { failure: true, ..PrintPoints::default() };
    assert_eq!(printed("touch,over", points()), "");
    assert_eq!(printed("touch,panic", points()), "// after `panic` (2 of 2), which failed\nitem @a\n");
    // What no printer can print is printed as far as it goes.
    let mut out = String::new();
    let print = Box::new(|_: &Module| panic!("at the sight of it"));
    watched("break", PrintIr::new(points(), print, |piece| out.push_str(piece)));
    assert!(out.starts_with("// after `break` (1 of 1), which failed\nt.func @a"), "{out}");
}

/// A folder of its own, and nothing in it.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tc-report-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn programs_are_dumped_into_a_folder_with_an_index() {
    let folder = folder("dump");
    let mut recorder = Recorder::new(Box::new(items)).dump_into(&folder).expect("writable");
    assert!(recorder.parsed(&module(&["a"])).is_empty());
    let report = watched("touch,over,panic", &mut recorder);
    assert!(!report.is_ok());
    assert!(write_index(&recorder, "a </title><script>alert(1)</script>", "tc-opt <b>").is_empty());
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("written");
    let files = ["00-parse.tir", "01-touch.tir", "02-over.tir", "03-panic-failed.tir"];
    assert_eq!(files.map(read), ["item @a\n", "item @a\n", "item @a\nitem @made_1\n", "item @a\nitem @made_1\n"]);
    let page = read("index.html");
    assert!(files.iter().all(|file| page.contains(&format!("href=\"{file}\""))));
    assert!(page.contains("a &lt;/title&gt;&lt;script&gt;") && !page.contains("<script>alert"), "{page}");
    assert!(recorder.recording().steps().last().is_some_and(|step| step.failed && step.number == 3));
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn a_dump_that_cannot_be_written_is_one_warning() {
    let folder = folder("gone");
    let mut recorder = Recorder::new(Box::new(items)).dump_into(&folder).expect("writable");
    std::fs::remove_dir_all(&folder).expect("ours");
    let report = watched("touch,over", &mut recorder);
    assert!(report.is_ok());
    assert_eq!(report.diagnostics.iter().filter(|found| found.code == "dump").count(), 1);
    assert!(write_index(&recorder, "t", "c").is_empty() && !folder.exists());
}
