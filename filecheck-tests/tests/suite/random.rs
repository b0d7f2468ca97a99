//! Random operators with schedules, and random programs, through random pipelines; `tc-random` runs many more.

#![expect(clippy::print_stderr, reason = "a case that fails is shown while others still run")]

use tc_filetest::random::Case;
use tc_filetest::random::programs::Programs;
use tc_filetest::random::run::{Failed, RandomCase, RandomRun, run};
use tc_filetest::random::scheduled::Scheduled;

fn tell<C: RandomCase>(failed: &Failed<C>) {
    let about = format!("Case {}: {}", failed.number, failed.failure.key);
    eprintln!("{about}\n{}\n{}", failed.failure.text, failed.case.corpus_text(&about));
}

#[test]
fn programs_of_random_schedules_and_pipelines_compute_their_operators() {
    let plan = RandomRun { seed: 2, first: 0, count: 200, jobs: 2 };
    let outcome = run::<Case>(plan, tell);
    let tally = &outcome.tally;
    assert!(outcome.kinds.is_empty(), "{:#?}\n{tally}", outcome.kinds);
    assert_eq!(tally.cases, plan.count);
    assert!(tally.emitted > plan.count / 2, "only {} cases were emitted", tally.emitted);
    assert!(tally.cells > 10_000, "only {} cells were compared", tally.cells);
    let missed: Vec<&str> =
        tc::schedule::primitives().iter().map(|info| info.name).filter(|name| !tally.has_applied(name)).collect();
    assert!(missed.is_empty(), "never applied: {missed:?}\n{tally}");
}

#[test]
fn random_programs_mean_the_same_after_every_pass() {
    let plan = RandomRun { seed: 4, first: 0, count: 300, jobs: 2 };
    let outcome = run::<Programs>(plan, tell);
    let tally = &outcome.tally;
    assert!(outcome.kinds.is_empty(), "{:#?}\n{tally}", outcome.kinds);
    assert_eq!(tally.cases, plan.count);
    assert!(tally.dropped() <= plan.count / 50, "{} programs are at fault\n{tally}", tally.dropped());
    assert!(tally.emitted > plan.count / 4, "only {} cases were emitted\n{tally}", tally.emitted);
    assert!(tally.passes.len() > 25, "only {} passes ran\n{tally}", tally.passes.len());
    assert!(tally.made.len() > 45, "only {} constructs came\n{tally}", tally.made.len());
}

#[test]
fn random_programs_mean_the_same_under_random_schedules() {
    let plan = RandomRun { seed: 5, first: 0, count: 500, jobs: 2 };
    let outcome = run::<Scheduled>(plan, tell);
    let tally = &outcome.tally;
    assert!(outcome.kinds.is_empty(), "{:#?}\n{tally}", outcome.kinds);
    assert_eq!(tally.cases, plan.count);
    assert!(tally.kernels > plan.count / 3, "only {} cases went through cuda\n{tally}", tally.kernels);
    let applied = |name: &str| tally.directives.get(name).is_some_and(|count| count.0 > 0);
    // The others need what no such program has: tensor cores, bulk copies, clusters, rows of whole pieces.
    let rest = ["cluster", "tensorize", "bulk_copy", "swizzle", "pipeline", "double_buffer"];
    let all = tc::passes::program_schedule::directives().iter().map(|info| info.name);
    let missed: Vec<&str> = all.filter(|name| !rest.contains(name) && !applied(name)).collect();
    assert!(missed.is_empty(), "never applied: {missed:?}\n{tally}");
}
