//! The static estimate of points: each is compiled, without a GPU, and its kernels' time is told.

use crate::task::{Task, Values};
use std::sync::atomic::{AtomicUsize, Ordering};
use tc::Failure;
use tc::perf::KernelReport;
use tc::run::Define;
use tc::support::workers::STACK;
use tc::target::{Machine, Unit};

/// What the kernels of a point say of its speed, all launches together.
#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    /// Microseconds that it takes at least.
    pub(crate) bound_us: f64,
    /// Microseconds that it takes, about.
    pub(crate) estimate_us: f64,
    /// The reports.
    pub(crate) kernels: Vec<KernelReport>,
}

impl Estimate {
    fn of(kernels: Vec<KernelReport>) -> Estimate {
        let sum = |of: fn(&KernelReport) -> f64| kernels.iter().map(of).sum();
        Estimate {
            bound_us: sum(|kernel| kernel.time.bound_us),
            estimate_us: sum(|kernel| kernel.time.estimate_us),
            kernels,
        }
    }
}

impl Estimate {
    /// Numbers that models learn from.
    pub(crate) fn columns(&self) -> Vec<f64> {
        let log = |value: f64| libm::log2(value.max(1e-3));
        // The kernel that takes longest decides.
        let slowest = self.kernels.iter().max_by(|a, b| a.time.estimate_us.total_cmp(&b.time.estimate_us));
        let Some(KernelReport { time, barriers, .. }) = slowest else { return vec![0.0; COLUMNS] };
        let mut columns =
            vec![log(self.estimate_us), log(time.chain), log(time.waves), time.occupancy.share(), log(*barriers)];
        columns.extend(time.units.iter().map(|(_, us)| log(*us)));
        columns
    }
}

/// How many [`Estimate::columns`] there are.
pub(crate) const COLUMNS: usize = 5 + Unit::ALL.len() + 2;

/// The estimate of `point`.
pub(crate) fn of(task: &Task<'_>, point: &Values, machine: &Machine) -> Result<Estimate, Failure> {
    let point = point.iter().map(|(name, &value)| (name.clone(), value));
    let defines: Vec<Define> = task.defines.iter().cloned().chain(point).collect();
    let built = task.compiler.build(task.module, &task.case, &defines, true)?;
    Ok(Estimate::of(task.compiler.performance_of(&built, machine)?))
}

/// The estimate of each of `points`, on all cores; none where it does not compile.
pub(crate) fn of_points(task: &Task<'_>, points: &[Values], machine: &Machine) -> Vec<Option<Estimate>> {
    let n = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicUsize::new(0);
    let some = || {
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&nth| nth < points.len());
        std::iter::from_fn(take).map(|nth| (nth, of(task, &points[nth], machine).ok())).collect::<Vec<_>>()
    };
    let mut all: Vec<Option<Estimate>> = vec![None; points.len()];
    std::thread::scope(|scope| {
        let spawn = |_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, some);
        let threads: Vec<_> = (0..n).map_while(|nth| spawn(nth).ok()).collect();
        // Where no thread can be had, this one does it.
        let own = if threads.is_empty() { some() } else { Vec::new() };
        for (nth, estimate) in threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().chain(own) {
            all[nth] = estimate;
        }
    });
    all
}
