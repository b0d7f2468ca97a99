//! Checks the barriers in shared memory of a kernel by a run of its control: counts, bytes, phases, deadlock.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! The same program.
//!
//! # Example
//!
//! ```tir
//! if tx == 0 {
//!   mbarrier.init(&full[0], count = 2)
//! }
//! gpu.barrier(shared)
//! if tx == 0 {
//!   mbarrier.arrive(&full[0])
//! }
//! mbarrier.wait(&full[0], 0)
//! ->
//! error: threads 0 to 31 wait for ever for phase 0 of `full[0]`, which has 1 of 2 arrivals
//! ```
//!
//! # Algorithm
//!
//! For each launch nest with barriers in shared memory:
//!
//! 1. Keep of the program what decides on barriers: the ops on them, barriers of the block, loads that report there, and
//!    the loops and conditions around these.
//! 2. Run that for one block. Threads that go the same way are one *strand*, with a place in the program of its own; where
//!    a condition divides them it becomes two; two that wait at one place are one again. A strand runs until it waits. Loads
//!    bring their bytes at once.
//!    The threads of a warpgroup meet at `wgmma.fence` and `wgmma.mma`.
//! 3. What one strand does never keeps another from going on: an arrival or bytes that make a phase complete do so in
//!    whichever order they come. So one order of the strands is enough: if it ends, all do, and if none can go on, there
//!    is a deadlock (the argument of Karp and Miller 1966 for computation graphs).
//! 4. Report a deadlock with all that wait; an arrival at a phase that has all of its own; a barrier that is used before it
//!    is ready, or made ready twice, or out of the bounds of its array; at the end phases begun and not completed, and slots
//!    that were filled and not waited for.
//! 5. Where control depends on the block, run each block, up to 256 of them. Blocks of a cluster are run together. One of
//!    them may not end before another has arrived at its barrier for the last time: it waits for that phase, or all pass a
//!    barrier of the cluster.
//!
//! # Limits
//!
//! Sizes that are open get their default or least value. Control that depends on data is not followed, and the nest is then
//! not checked. A nest that takes more than 2^24 steps in one block is refused; once blocks have taken as many together, the
//! others are not run. A step is an op for a strand, a number for a thread, or a look at a strand that waits. What is copied
//! where is for the simulator to check.
//!
//! # Remarks
//!
//! `channels-undecided`, a warning: a nest that was not checked, or not in all of its blocks, and why.
//!
//! # References
//!
//! PTX ISA 8.7, "mbarrier". Karp, Miller 1966, "Properties of a model for parallel computations".

mod barrier;
mod report;
mod run;
mod skeleton;
mod threads;

use crate::analysis::launch::LaunchNests;
use tc_dialects::threads::is_by_mbarrier;
use tc_dialects::{forms, tir};
use tc_ir::Func;
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `check-channels` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "check-channels",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(CheckChannels))),
};

/// The pass.
pub struct CheckChannels;

/// The most blocks that are run.
const MAX_BLOCKS: u64 = 256;

impl FuncPass for CheckChannels {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let nests = cx.analysis::<LaunchNests>(func);
        for nest in nests.iter() {
            if !nest.ops(func).any(|op| is_by_mbarrier(func, op)) {
                continue;
            }
            let undecided = |reason: String| {
                let text = format!("the barriers of this kernel are not checked: {reason}");
                Diagnostic::warning("channels-undecided", func.op_location(nest.op), text)
                    .help("check it on the simulator: `tc-run --check`")
            };
            let mut skeleton = match skeleton::Skeleton::new(func, nest) {
                Ok(skeleton) => skeleton,
                Err(reason) => {
                    cx.report(undecided(reason));
                    continue;
                }
            };
            let (mut cluster, n_clusters, mut steps) = (0, skeleton.n_clusters(), 0);
            loop {
                match run::run(&mut skeleton, cluster) {
                    Ok(()) => {}
                    Err(run::Stop::Fault(found)) => {
                        cx.report(*found);
                        break;
                    }
                    Err(run::Stop::Unknown(reason)) => {
                        cx.report(undecided(reason));
                        break;
                    }
                }
                cluster += 1;
                steps += skeleton.steps;
                // Those of a cluster differ in what they do for one another; other clusters do the same.
                if !skeleton.asked_block() || cluster >= n_clusters {
                    break;
                }
                let [n, done] = [n_clusters, cluster].map(|n| n * skeleton.cluster as u64);
                if done >= MAX_BLOCKS || steps > run::MAX_STEPS {
                    cx.report(undecided(format!("it has {n} blocks, and {done} were followed")));
                    break;
                }
            }
            cx.count("nests checked", 1);
            cx.count("steps", steps);
        }
        false
    }
}
