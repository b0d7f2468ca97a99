//! What does not go with `--reduce` and `--bisect`.

use crate::args::Args;

/// What is wrong with a call that asks one of the modes for what it does not make.
pub(crate) fn check(args: &Args) -> Result<(), String> {
    let is_reduced = args.debug.reduce.is_some();
    if !is_reduced && args.debug.bisect.is_none() {
        return Ok(());
    }
    if !is_reduced && args.input.output.is_some() {
        return Err("`--bisect` makes no program that `-o` could write: its answer goes to the standard output, and \
                    `--dump-dir DIR` keeps the program before and after the pass"
            .to_string());
    }
    let flags = of_one_run(args);
    let stray = flags.iter().filter(|(_, is_given, is_told)| *is_given && (is_reduced || !is_told));
    let names: Vec<String> = stray.map(|(flag, ..)| format!("`{flag}`")).collect();
    if names.is_empty() {
        return Ok(());
    }
    let (mode, first) = if is_reduced {
        ("--reduce", "reduce without it, then run what comes out with it")
    } else {
        ("--bisect", "find the pass without it, then run the pipeline with it")
    };
    Err(format!("`{mode}` runs the passes many times, and {} tells of one run: {first}", names.join(" or ")))
}

/// The flags that tell of one run of the pipeline, and whether they are given; of bisection `true`, where it tells that of
/// the answer.
pub(crate) fn of_one_run(args: &Args) -> [(&'static str, bool, bool); 19] {
    let show = &args.show;
    [
        ("--report", show.report.is_some(), false),
        ("--chrome-trace", show.chrome_trace.is_some(), false),
        ("--timing", show.timing, false),
        ("--stats", show.stats, false),
        ("--dump-dir", show.dump_dir.is_some(), true),
        ("--print-ir-before", !show.print_ir_before.is_empty(), false),
        ("--print-ir-after", !show.print_ir_after.is_empty(), false),
        ("--print-ir-before-all", show.print_ir_before_all, false),
        ("--print-ir-after-all", show.print_ir_after_all, false),
        ("--print-ir-after-change", show.print_ir_after_change, false),
        ("--print-ir-after-failure", show.print_ir_after_failure, false),
        ("--print-changed", show.print_changed.is_some(), false),
        ("--trace-schedule", show.trace_schedule, false),
        ("--explain-bounds", show.explain_bounds.is_some(), false),
        ("--access", show.access.is_some(), false),
        ("--lint", show.lint.is_some(), false),
        ("--remarks", !show.remarks.is_empty(), true),
        ("--generic", show.generic, true),
        ("--locations", show.locations, true),
    ]
}
