//! `tc-tune model`: how well models know the times of recorded sweeps, without a GPU.
//!
//! The static estimate is fitted on nothing. The learned model is trained on four fifths of the points and asked about the
//! last fifth, five times. Both are judged by the rank correlation of Spearman; points whose intervals overlap with that of
//! the fastest of their group are ties.

use crate::drive::{fail, load};
use crate::estimate::{self, Estimate};
use crate::features;
use crate::records::{Record, Time, is_estimated};
use crate::show::{by_task, point_text};
use crate::task::{Identity, Task, Values};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::PathBuf;
use tc::support::{Diagnostic, Location, Sources};
use tc::target::{Machine, Target};
use tc::{Compiler, ir::Module};
use tc_cli::{FINE, INPUT, Session};
use tc_search::model::{Boosted, BoostedOptions, Table};
use tc_search::random::Random;

/// Parts that the points are divided into.
const FOLDS: usize = 5;

/// A point with a time, and what the models say of it.
struct Known {
    point: Values,
    time: Time,
    estimate: Estimate,
    /// What the learned model is given, what it starts from, and what it says: the less, the faster.
    features: Vec<f64>,
    start: f64,
    learned: f64,
}

pub(crate) fn model(session: &Session<'_>, json: bool, file: &OsStr, paths: &[PathBuf]) -> Result<u8, u8> {
    let records = load(session, paths)?;
    let text = session.load(file)?;
    let mut compiler = Compiler::new();
    let parsed = compiler.load(&tc_cli::file_name(file), &text);
    let module = parsed.map_err(|failure| fail(session, &failure))?.module;
    let mut sweeps: Vec<Sweep> = Vec::new();
    let all = by_task(&records);
    let (estimated, measured): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, device, _)| is_estimated(device));
    for (identity, device, records) in measured {
        compiler.target = Target::parse(&identity.target).map_err(|wrong| session.refuse_with(&wrong))?;
        let known = known(&compiler, &module, identity, device, &records);
        let known = learned(known.map_err(|failure| fail(session, &failure))?);
        let (operator, sizes) = (identity.operator.clone(), point_text(&identity.sizes));
        let schedule = format!("@{}", identity.schedule);
        // Schedules of one operator and size are one choice.
        match sweeps.iter_mut().find(|sweep| sweep.is_of(&operator, &sizes, device)) {
            _ if known.is_empty() => {}
            Some(sweep) => {
                sweep.schedules.push(schedule);
                sweep.known.extend(known);
            }
            None => {
                let device = device.to_string();
                sweeps.push(Sweep { operator, sizes, device, schedules: vec![schedule], known });
            }
        }
    }
    if sweeps.is_empty() {
        return Err(nothing_known(session, !estimated.is_empty()));
    }
    if !estimated.is_empty() {
        let text = "records of the device `model` are left out: they are estimates themselves";
        session.tell(&Diagnostic::warning("records", Location::None, text).into(), &Sources::new());
    }
    session.print(&if json {
        format!("{:#}\n", Value::from(sweeps.iter().map(Sweep::document).collect::<Vec<_>>()))
    } else {
        text_of(&sweeps)
    });
    Ok(FINE)
}

/// Tells that no record has a time that models could know; returns the exit status.
fn nothing_known(session: &Session<'_>, has_estimates: bool) -> u8 {
    let wrong = if has_estimates {
        Diagnostic::error("records", Location::None, "the records hold estimates alone, and models are judged by times")
            .help("measure points on a GPU: `tc-tune FILE --records RECORDS` without `--device model`")
    } else {
        Diagnostic::error("records", Location::None, "no record with a time fits a schedule of the file and its sizes")
            .help("`tc-tune show RECORDS` tells which operators, schedules and sizes the records are of")
    };
    session.tell(&wrong.into(), &Sources::new());
    INPUT
}

/// What is known of an operator at some sizes on a device.
struct Sweep {
    operator: String,
    sizes: String,
    device: String,
    schedules: Vec<String>,
    known: Vec<Known>,
}

fn text_of(sweeps: &[Sweep]) -> String {
    let mut out = format!(
        "{:>6}{:>10}{:>14}{:>9}  {}\n",
        "points", "estimate", "best among", "learned", "operator, schedules and sizes"
    );
    for sweep in sweeps {
        let _ = writeln!(
            out,
            "{:>6}{:>10.3}{:>12.1} %{:>9.2}  {} {}",
            sweep.known.len(),
            sweep.correlation(|one| one.estimate.estimate_us),
            100.0 * best_found(&sweep.known),
            sweep.correlation(|one| one.learned),
            sweep.name(),
            sweep.sizes
        );
    }
    out
}

impl Sweep {
    fn is_of(&self, operator: &str, sizes: &str, device: &str) -> bool {
        self.operator == operator && self.sizes == sizes && self.device == device
    }

    fn name(&self) -> String {
        format!("{} {}", self.operator, self.schedules.join(" "))
    }

    /// How well a model knows the times.
    fn correlation(&self, of: impl Fn(&Known) -> f64) -> f64 {
        let said: Vec<f64> = self.known.iter().map(of).collect();
        spearman(&ranks_of_times(&self.known), &ranks(&said))
    }

    fn document(&self) -> Value {
        let point = |one: &Known| {
            let kernels = &one.estimate.kernels;
            let limiters: Vec<&str> = kernels.iter().map(|kernel| kernel.time.limiter.name()).collect();
            json!({
                "point": one.point, "us": one.time.median, "estimate_us": one.estimate.estimate_us,
                "bound_us": one.estimate.bound_us, "limiters": limiters,
            })
        };
        json!({
            "operator": self.operator, "sizes": self.sizes, "device": self.device,
            "schedules": self.schedules, "estimate": self.correlation(|one| one.estimate.estimate_us),
            "best_among": best_found(&self.known), "learned": self.correlation(|one| one.learned),
            "points": self.known.iter().map(point).collect::<Vec<_>>(),
        })
    }
}

/// The points of a task that have a time.
fn known(
    compiler: &Compiler,
    module: &Module,
    of: &Identity,
    device: &str,
    records: &[&Record],
) -> Result<Vec<Known>, tc::Failure> {
    let names = (Some(of.operator.as_str()), Some(of.schedule.as_str()));
    let sizes = of.sizes.iter().map(|(name, &value)| (name.clone(), value)).collect();
    let Ok(task) = Task::choose(compiler, module, names, sizes) else { return Ok(Vec::new()) };
    let space = task.space()?;
    if task.identity(&space)? != *of {
        return Ok(Vec::new());
    }
    let machine = device.split(',').next().and_then(Machine::named).unwrap_or_else(|| Machine::of(&compiler.target));
    let pool = task.points(&space, 0, features::ESTIMATED)?.pool;
    let timed: Vec<(&Values, Time, usize)> = records
        .iter()
        .filter_map(|record| {
            let time = record.result.time_us.filter(|_| record.result.median().is_some())?;
            Some((&record.point, time, crate::tune::find(&pool, &record.point)?))
        })
        .collect();
    let points: Vec<Values> = timed.iter().map(|(point, ..)| (*point).clone()).collect();
    let estimates = estimate::of_points(&task, &points, &machine);
    let of = |((point, time, nth), estimate): ((&Values, Time, usize), Option<Estimate>)| {
        let features = pool.features().row(nth).to_vec();
        let start = pool.expected(nth);
        Some(Known { point: point.clone(), time, features, start, learned: 0.0, estimate: estimate? })
    };
    Ok(timed.into_iter().zip(estimates).filter_map(of).collect())
}

/// The points with what the learned model says of each, trained without the fifth that the point is in.
fn learned(mut known: Vec<Known>) -> Vec<Known> {
    let Some(first) = known.first() else { return known };
    let width = first.features.len();
    let mut order: Vec<usize> = (0..known.len()).collect();
    let mut random = Random::stream(0, 0);
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last + 1));
    }
    for fold in 0..FOLDS {
        let is_out = |nth: usize| nth % FOLDS == fold;
        let mut rows = Table::new(width);
        let (mut targets, mut start) = (Vec::new(), Vec::new());
        for (_, &point) in order.iter().enumerate().filter(|(nth, _)| !is_out(*nth)) {
            rows.push(&known[point].features);
            targets.push(-libm::log2(known[point].time.median));
            start.push(known[point].start);
        }
        let model = Boosted::correct(&rows, &targets, &start, BoostedOptions::default());
        for (_, &point) in order.iter().enumerate().filter(|(nth, _)| is_out(*nth)) {
            known[point].learned = -known[point].start - model.predict(&known[point].features);
        }
    }
    known
}

/// How far down in the order of estimates the fastest point is, as a share of all.
fn best_found(known: &[Known]) -> f64 {
    let best = known.iter().min_by(|a, b| a.time.median.total_cmp(&b.time.median));
    let Some(best) = best else { return 0.0 };
    // Any point that does not differ from the fastest is as good.
    let limit = known
        .iter()
        .filter(|one| one.time.low <= best.time.high)
        .map(|one| one.estimate.estimate_us)
        .fold(f64::INFINITY, f64::min);
    known.iter().filter(|one| one.estimate.estimate_us < limit).count() as f64 / known.len() as f64
}

/// The ranks of the measured times: points whose intervals overlap with that of the first of their group are ties.
fn ranks_of_times(known: &[Known]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..known.len()).collect();
    order.sort_by(|&a, &b| known[a].time.median.total_cmp(&known[b].time.median));
    let is_tie = |first: usize, other: usize| known[other].time.low <= known[first].time.high;
    ranked(&order, is_tie)
}

/// The ranks of `values`, from the least; equal ones share a rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    ranked(&order, |first, other| values[first] == values[other])
}

fn ranked(order: &[usize], is_tie: impl Fn(usize, usize) -> bool) -> Vec<f64> {
    let mut ranks = vec![0.0; order.len()];
    let mut at = 0;
    while at < order.len() {
        let end = (at..order.len()).find(|&nth| !is_tie(order[at], order[nth])).unwrap_or(order.len());
        for &point in &order[at..end] {
            ranks[point] = (at + end - 1) as f64 / 2.0;
        }
        at = end;
    }
    ranks
}

/// The correlation of two lists of ranks.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let mut sums = (0.0, 0.0, 0.0);
    for (&a, &b) in a.iter().zip(b) {
        let (a, b) = (a - mean_a, b - mean_b);
        sums = (sums.0 + a * b, sums.1 + a * a, sums.2 + b * b);
    }
    if sums.1 > 0.0 && sums.2 > 0.0 { sums.0 / (sums.1 * sums.2).sqrt() } else { 0.0 }
}
