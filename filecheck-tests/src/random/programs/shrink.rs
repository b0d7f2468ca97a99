//! A failing program made small, by the reductions that `tc-opt --reduce` has.

use super::Programs;
use super::check::{End, run};
use crate::random::check::Failure;
use std::time::{Duration, Instant};
use tc::Compiler;
use tc::debug::reduce::{Options, reduce};

/// What shrinking may cost.
const MOST_TIME: Duration = Duration::from_secs(40);

/// A case that fails as `case` does, and from which nothing can be taken.
pub fn shrink(compiler: &Compiler, case: &Programs, failure: &Failure) -> Programs {
    let mut case = case.clone();
    let fails = |case: &Programs| matches!(run(compiler, case), End::Failed(found) if found.key == failure.key);
    fewer_passes(&mut case, &fails);
    let end = Instant::now() + MOST_TIME;
    let passes = case.passes.clone();
    let ask = |text: &str| match Instant::now() < end {
        true => Ok(fails(&Programs { text: text.to_string(), passes: passes.clone(), ..Programs::default() })),
        false => Err("it takes too long".to_string()),
    };
    let mut watch = |_: &_, _: &str| Ok(());
    let options =
        Options { threads: 1, registry: compiler.registry.clone(), allow_unknown_ops: false, watch: &mut watch };
    // Reductions may hit the fault that is looked for, or another one.
    let reduced = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reduce(&case.text, options, &ask)));
    if let Ok(Ok(reduced)) = reduced {
        case.text = reduced.text;
    }
    fewer_passes(&mut case, &fails);
    case
}

/// Takes out passes, halves first.
fn fewer_passes(case: &mut Programs, fails: &dyn Fn(&Programs) -> bool) {
    let mut size = case.passes.len();
    while size > 0 {
        let mut at = 0;
        while at < case.passes.len() {
            let mut candidate = case.clone();
            let end = (at + size).min(candidate.passes.len());
            candidate.passes.drain(at..end);
            if fails(&candidate) {
                *case = candidate;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
}
