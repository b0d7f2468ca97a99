//! What the launch of a point says of its speed, before anything is compiled: numbers for the models, and a rule that
//! orders the first points.
//!
//! The rule knows what holds of all kernels: a warp whose lanes idle wastes them; neighbouring threads read neighbouring
//! cells along `threadIdx.x`; a GPU of some hundred multiprocessors wants as many blocks; very large blocks leave no room for a
//! second one.

use crate::estimate;
use crate::task::{Task, Values};
use tc::dialects::tir::Coordinate;
use tc::target::Machine;
// The same bits on every machine, which a search that is repeated needs.
use libm::log2;
use std::thread::ScopedJoinHandle;
use tc::schedule::{Point, Space};
use tc::support::workers::STACK;
use tc_search::{Features, Pool};

/// Points that are taken apart on each thread at a time.
const SHARE: usize = 64;
/// Blocks that keep a GPU of today busy.
const BLOCKS: f64 = 128.0;
/// Threads of a block beyond which a second one finds less room.
const LARGE_BLOCK: f64 = 256.0;

/// Points of a space up to which each is compiled and its time estimated, where nothing else is said.
pub(crate) const ESTIMATED: usize = 4096;
/// Of so many points that are drawn, the one of the least estimate is among the first.
const CONTENDERS: usize = 64;

/// A pool of `points`, with what is known of each before anything is measured.
pub(crate) fn pool(task: &Task<'_>, space: &Space<'_>, points: Vec<Point>, estimated: usize) -> Pool {
    let names: Vec<String> = space.params().iter().map(|param| param.name.clone()).collect();
    let (features, is_estimated) = of_points(task, space, &points, points.len() <= estimated);
    let pool = Pool::with_features(&names, points.into_iter().map(|point| point.values).collect(), &features);
    if is_estimated { pool.with_estimates(CONTENDERS) } else { pool }
}

/// The features of each point: of its launch, and where that is asked, of its estimated time, which then is its cost; and whether it
/// is. What no point has an estimate for costs what its launch says.
fn of_points(task: &Task<'_>, space: &Space<'_>, points: &[Point], wanted: bool) -> (Vec<Features>, bool) {
    let mut all = of_launches(space, points);
    let mut is_estimated = false;
    if wanted {
        let names = space.params().iter().map(|param| param.name.clone());
        let named: Vec<Values> =
            points.iter().map(|point| names.clone().zip(point.values.iter().copied()).collect()).collect();
        let machine = Machine::of(&task.compiler.target);
        let estimates = estimate::of_points(task, &named, &machine);
        is_estimated = estimates.iter().any(Option::is_some);
        for (features, estimate) in all.iter_mut().zip(estimates) {
            if is_estimated {
                features.cost = estimate.as_ref().map_or(f64::MAX, |estimate| estimate.estimate_us);
            }
            features.columns.extend(estimate.map_or(vec![0.0; estimate::COLUMNS], |estimate| estimate.columns()));
        }
    }
    (all, is_estimated)
}

/// What the launch of each point says, on all cores.
fn of_launches(space: &Space<'_>, points: &[Point]) -> Vec<Features> {
    let n = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let chunk = points.len().div_ceil(n).max(SHARE);
    let some = |points: &[Point]| points.iter().map(|point| of(space, point)).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let spawn = |points| {
            let builder = std::thread::Builder::new().stack_size(STACK);
            (points, builder.spawn_scoped(scope, move || some(points)))
        };
        let threads: Vec<_> = points.chunks(chunk).map(spawn).collect();
        // Where no thread can be had, this one does it.
        let join = |(points, thread): (&[Point], std::io::Result<ScopedJoinHandle<'_, Vec<Features>>>)| {
            thread.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(|| some(points))
        };
        threads.into_iter().flat_map(join).collect()
    })
}

fn of(space: &Space<'_>, point: &Point) -> Features {
    let Ok(bounds) = space.bounds(point) else { return Features { columns: vec![0.0; 5], cost: f64::MAX } };
    let mut nests: Vec<_> = bounds.launches.iter().map(|launch| launch.nest).collect();
    nests.dedup();
    // The largest launch decides.
    let mut best = (0.0, [1.0, 1.0, 1.0, 0.0]);
    for nest in nests {
        let of = |is_thread: bool| {
            let all = bounds.launches.iter().filter(|launch| launch.nest == nest);
            let those = all.filter(|launch| launch.coordinate.is_thread() == is_thread);
            those.filter_map(|launch| launch.extent.int()).map(|extent| extent as f64).product::<f64>()
        };
        let along_x = bounds.launch_extent(nest, Coordinate::ThreadX).int().unwrap_or(1) as f64;
        let (threads, blocks) = (of(true), of(false));
        if threads * blocks >= best.0 {
            best = (threads * blocks, [threads, blocks, along_x, bounds.shared_bytes(nest) as f64]);
        }
    }
    let [threads, blocks, along_x, shared] = best.1;
    let fullness = threads / (32.0 * (threads / 32.0).ceil());
    let cost = (1.0 / fullness)
        * (BLOCKS / blocks).max(1.0)
        * (1.0 + 0.15 * log2(threads / LARGE_BLOCK).max(0.0))
        * (1.0 + 0.2 * log2(32.0 / along_x).max(0.0));
    Features { columns: vec![log2(threads), log2(blocks), log2(along_x), log2(shared + 1.0), fullness], cost }
}
