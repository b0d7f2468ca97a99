//! What ends a run from outside: a number of steps, a request to cancel; and who is at fault for a pass of others.

mod common;

use common::{PASSES, module, table};
use tc_ir::Module;
use tc_pass::limits::{CANCELLED, STEP_LIMIT, is_ended};
use tc_pass::{Instrument, Limits, Manager, PassAt, PassRecord, PassTable, Report, RunOptions, parse_pipeline};
use tc_support::{Cancel, Diagnostics, Fault, Sources, render};

fn run_in(table: &PassTable, text: &str, symbols: &[&str], options: RunOptions) -> (Report, Module) {
    let mut module = module(symbols);
    let mut sources = Sources::new();
    let pipeline = parse_pipeline(text, table, &module.registry, &mut sources).map_err(|_| "right").expect("right");
    module.sources = sources;
    let report = Manager::new(table, options).run(&pipeline, &mut module);
    (report, module)
}

fn run(text: &str, symbols: &[&str], threads: usize, limits: Limits) -> (Report, Module) {
    run_in(&table(), text, symbols, RunOptions { threads, limits, ..RunOptions::default() })
}

fn steps(steps: u64) -> Limits {
    Limits { steps: Some(steps), cancel: None }
}

fn shown(report: &Report, module: &Module) -> String {
    render::text(&report.diagnostics, &module.sources, false)
}

#[test]
fn a_run_that_needs_no_more_than_its_steps_goes_well() {
    let needed = run("touch{times=5},over,touch", &["a", "b"], 1, Limits::default()).0.steps;
    assert!(needed > 10, "{needed}");
    assert!(run("touch{times=5},over,touch", &["a", "b"], 2, steps(needed)).0.is_ok());
    let (report, module) = run("touch{times=5},over,touch", &["a", "b"], 2, steps(needed - 1));
    let text = shown(&report, &module);
    assert!(text.contains("error[step-limit]: the run was ended: its passes made more than"), "{text}");
    assert!(text.contains("while running pass 3 of 3, `touch`"), "{text}");
    assert!(is_ended(&report.diagnostics) && report.diagnostics.iter().any(|found| found.code == STEP_LIMIT));
    assert_eq!((report.failed, module.spoiled_by), (Some(2), Some("touch")));
}

#[test]
fn where_a_run_ends_does_not_depend_on_the_threads() {
    let names: Vec<String> = (0..20).map(|idx| format!("f{idx}")).collect();
    let symbols: Vec<&str> = names.iter().map(String::as_str).collect();
    for limit in [0, 3, 50, 1000, 5000] {
        let texts = [1, 2, 8].map(|threads| {
            let (report, module) = run("touch{times=100},over,touch{times=7}", &symbols, threads, steps(limit));
            shown(&report, &module) + &format!("{} {:?}", report.steps, report.failed)
        });
        assert!(texts[0].contains("step-limit") == (limit < 5000), "{}", texts[0]);
        assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    }
}

#[test]
fn a_pass_without_end_is_ended_by_the_limit_of_the_run() {
    for threads in [1, 2] {
        let (report, module) = run("touch{times=1000000000}", &["a", "b"], threads, steps(1000));
        let text = shown(&report, &module);
        assert!(text.contains("more than 1000 edits") && text.contains("`touch`, on `@a`"), "{text}");
    }
}

#[test]
fn a_run_is_cancelled_from_another_thread_in_the_middle_of_a_pass() {
    for threads in [1, 2] {
        let cancel = Cancel::new();
        let limits = Limits { steps: None, cancel: Some(cancel.clone()) };
        let asker = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            cancel.cancel();
        });
        // Each function alone would take seconds and be ended as one without end.
        let (report, module) = run("touch{times=1000000000},touch", &["a", "b", "c"], threads, limits);
        asker.join().expect("it only asks");
        let text = shown(&report, &module);
        assert!(text.contains("error[cancelled]: the run was cancelled"), "{text}");
        assert!(text.contains("while running pass 1 of 2, `touch`, on `@a`"), "{text}");
        assert!(!text.contains("pass-steps"), "{text}");
    }
}

/// Asks to cancel once a pass has run.
struct AskAfter(Cancel);

impl Instrument for AskAfter {
    fn after_pass(&mut self, _: &PassAt<'_>, _: &Module, _: &PassRecord) -> Diagnostics {
        self.0.cancel();
        Diagnostics::new()
    }
}

#[test]
fn a_run_is_cancelled_between_passes_and_keeps_its_record() {
    let (table, cancel) = (table(), Cancel::new());
    let mut module = module(&["a"]);
    let text = "touch,touch,touch";
    let pipeline = parse_pipeline(text, &table, &module.registry, &mut module.sources).expect("right");
    let limits = Limits { steps: None, cancel: Some(cancel.clone()) };
    let options = RunOptions { limits, ..RunOptions::default() };
    let report = Manager::new(&table, options).instrument(AskAfter(cancel)).run(&pipeline, &mut module);
    assert_eq!((report.records.len(), report.failed), (1, Some(1)));
    let shown = shown(&report, &module);
    assert!(shown.contains("<pass-pipeline>:1:7") && shown.contains("while running pass 2 of 3"), "{shown}");
    let mut errors = report.diagnostics.iter().filter(|found| found.is_error());
    assert!(errors.all(|found| found.code == CANCELLED && found.fault == Fault::PassAssumption));
}

#[test]
fn what_goes_wrong_in_a_pass_of_others_is_their_fault() {
    let mut table = PassTable::new();
    PASSES.iter().for_each(|&info| table.add_pass(info).expect("names differ"));
    for (pipeline, code) in [("panic", "pass-panicked"), ("deny", "edit-denied"), ("break", "")] {
        let (report, module) = run_in(&table, pipeline, &["a", "b"], RunOptions::default());
        let text = shown(&report, &module);
        assert!(!report.is_ok() && !text.contains("internal error") && text.contains(code), "{text}");
        assert!(text.contains(&format!("`{pipeline}` is no pass of tc: whoever added it has to mend it")), "{text}");
        assert!(report.diagnostics.iter().filter(|one| one.is_error()).all(|one| one.fault == Fault::ForeignPass));
    }
}
