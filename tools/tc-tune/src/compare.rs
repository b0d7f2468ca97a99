//! `tc-tune compare`: the searchers on recorded sweeps, many times each, without a GPU.
//!
//! All the points of a sweep are known, so that a search over it costs its own thinking and no measurement (the simulation
//! mode of Kernel Tuner, van Werkhoven 2019). A searcher is judged by how many trials it needs to come near the best.

use crate::drive::{fail, load};
use crate::records::{Record, by_point};
use crate::show::{by_task, point_text};
use crate::task::{Identity, Task};
use crate::tune::find;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::PathBuf;
use tc::ir::Module;
use tc::support::{Diagnostic, Location, counted};
use tc::target::Target;
use tc::{Compiler, Failure};
use tc_cli::{FINE, Session};
use tc_search::{Budget, Kind, Next, Pool, Search};

/// How near to the best a point is near enough.
const NEAR: f64 = 1.05;

/// What is compared.
pub(crate) struct Question<'q> {
    pub(crate) file: &'q OsStr,
    pub(crate) records: &'q [PathBuf],
    /// Searches by each searcher, each with a seed of its own.
    pub(crate) seeds: u64,
    /// Trials of a search at most.
    pub(crate) trials: Option<usize>,
    pub(crate) batch: usize,
    /// Points up to which each is estimated.
    pub(crate) estimate: usize,
}

/// A sweep: points, and the time of each that has one.
struct Sweep {
    name: String,
    pool: Pool,
    times: Vec<Option<f64>>,
    best: f64,
}

/// What the searches of one searcher came to.
struct Row {
    searcher: &'static str,
    /// Trials until a point was near the best: the median, and what nine of ten searches need at most.
    median: usize,
    ninetieth: usize,
    /// Searches that came near within their trials.
    near: usize,
    /// The best of a search over the best of all, in the median, and at the ninetieth percentile.
    quality: (f64, f64),
}

pub(crate) fn compare(session: &Session<'_>, json: bool, question: &Question<'_>) -> Result<u8, u8> {
    let records = load(session, question.records)?;
    let text = session.load(question.file)?;
    let mut compiler = Compiler::new();
    let parsed = compiler.load(&tc_cli::file_name(question.file), &text);
    let module = parsed.map_err(|failure| fail(session, &failure))?.module;
    let mut sweeps = Vec::new();
    for (task, device, records) in by_task(&records) {
        compiler.target = Target::parse(&task.target).map_err(|wrong| session.refuse_with(&wrong))?;
        let pool = pool(&compiler, &module, task, question.estimate).map_err(|failure| fail(session, &failure))?;
        let name = format!("{} on {device}", task_name(task));
        sweeps.extend(pool.and_then(|pool| Sweep::of(name, pool, &records)));
    }
    if sweeps.is_empty() {
        let text = "the records hold no task of the file with a point that has a time";
        return Err(session.refuse_with(&Diagnostic::error("records", Location::None, text)));
    }
    let mut documents = Vec::new();
    for sweep in &sweeps {
        let trials = question.trials.unwrap_or(sweep.pool.len()).min(sweep.pool.len());
        let timed = sweep.times.iter().flatten().count();
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{}: {}, {timed} with a time, the best {:.2} us",
            sweep.name,
            counted(sweep.pool.len(), "point"),
            sweep.best
        );
        let _ = writeln!(
            out,
            "{:<14}{:>8}{:>8}{:>10}{:>14}{:>10}",
            "searcher", "median", "90 %", "near", "best found", "90 %"
        );
        let mut rows = Vec::new();
        for kind in Kind::ALL {
            let row = sweep.row(kind, question, trials);
            let near = format!("{}/{}", row.near, question.seeds);
            let (median, ninetieth) = row.quality;
            let _ = writeln!(
                out,
                "{:<14}{:>8}{:>8}{near:>10}{median:>13.3}x{ninetieth:>9.3}x",
                row.searcher, row.median, row.ninetieth
            );
            rows.push(json!({
                "searcher": row.searcher, "median": row.median, "ninetieth": row.ninetieth, "near": row.near,
                "best": median, "best_ninetieth": ninetieth,
            }));
        }
        if !json {
            session.print(&format!("{out}\n"));
        }
        documents.push(json!({"sweep": sweep.name, "points": sweep.pool.len(), "trials": trials, "searchers": rows}));
    }
    if json {
        session.print(&format!("{:#}\n", Value::from(documents)));
    }
    Ok(FINE)
}

fn task_name(task: &Identity) -> String {
    let sizes = if task.sizes.is_empty() { String::new() } else { format!(", {},", point_text(&task.sizes)) };
    format!("{} @{}{sizes}", task.operator, task.schedule)
}

/// The pool of a task; nothing where it is none of the module's.
fn pool(compiler: &Compiler, module: &Module, of: &Identity, estimate: usize) -> Result<Option<Pool>, Failure> {
    let names = (Some(of.operator.as_str()), Some(of.schedule.as_str()));
    let sizes = of.sizes.iter().map(|(name, &value)| (name.clone(), value)).collect();
    let Ok(task) = Task::choose(compiler, module, names, sizes) else { return Ok(None) };
    let space = task.space()?;
    if task.identity(&space)? != *of {
        return Ok(None);
    }
    Ok(Some(task.points(&space, 0, estimate)?.pool))
}

impl Sweep {
    fn of(name: String, pool: Pool, records: &[&Record]) -> Option<Sweep> {
        let mut times = vec![None; pool.len()];
        for (values, result) in by_point(records.iter().map(|record| (&record.point, &record.result))) {
            if let Some(point) = find(&pool, values) {
                times[point] = result.median();
            }
        }
        let best = times.iter().flatten().copied().reduce(f64::min)?;
        Some(Sweep { name, pool, times, best })
    }

    /// The trials that a search needs to come near the best, if it does, and the best that it finds.
    fn search(&self, kind: Kind, seed: u64, (trials, batch): (usize, usize)) -> (Option<usize>, f64) {
        let budget = Budget { trials, batch, patience: None };
        let mut search = Search::new(&self.pool, kind.searcher(seed), budget);
        let (mut near, mut best, mut n) = (None, f64::INFINITY, 0);
        while let Next::Batch(batch) = search.ask() {
            for point in batch.points {
                n += 1;
                let time = self.times[point];
                search.tell(point, time);
                best = time.into_iter().fold(best, f64::min);
                if best <= self.best * NEAR {
                    near = near.or(Some(n));
                }
            }
        }
        (near, best)
    }

    fn row(&self, kind: Kind, question: &Question<'_>, trials: usize) -> Row {
        let results: Vec<(Option<usize>, f64)> =
            (0..question.seeds).map(|seed| self.search(kind, seed, (trials, question.batch))).collect();
        let mut needed: Vec<usize> = results.iter().map(|(near, _)| near.unwrap_or(trials + 1)).collect();
        let mut quality: Vec<f64> = results.iter().map(|(_, best)| best / self.best).collect();
        needed.sort_unstable();
        quality.sort_by(f64::total_cmp);
        let at = |share: f64| ((results.len() as f64 * share).ceil() as usize).clamp(1, results.len().max(1)) - 1;
        let of = |share: f64| needed.get(at(share)).copied().unwrap_or(0);
        let quality_of = |share: f64| quality.get(at(share)).copied().unwrap_or(f64::NAN);
        Row {
            searcher: kind.name(),
            median: of(0.5),
            ninetieth: of(0.9),
            near: results.iter().filter(|(near, _)| near.is_some()).count(),
            quality: (quality_of(0.5), quality_of(0.9)),
        }
    }
}
