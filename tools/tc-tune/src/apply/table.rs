//! A schedule that takes, by size, what was measured to be fastest there.
//!
//! Between two measured sizes with different winners stands a border. Where both were measured at both, it is where their times
//! cross, if the logarithm of each is a straight line over the logarithm of the size; else in the middle by that measure.

use super::{Choice, Fit, told};
use crate::records::{Time, is_estimated};
use crate::task::Values;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tc::ir::{Elem, Module};

/// The text of the schedule `name` for `operator` that chooses among the points of the schedules that were measured.
pub(super) fn table(module: &Module, (operator, name): (&str, &str), fits: &[Fit<'_>]) -> String {
    let names: BTreeSet<&String> = fits.iter().flat_map(|fit| fit.sizes.keys()).collect();
    let differ = |name: &&&String| fits.iter().any(|fit| fit.sizes.get(**name) != fits[0].sizes.get(**name));
    let vary: Vec<&String> = names.iter().filter(differ).copied().collect();
    let by = if vary.is_empty() { String::new() } else { format!(" by {}", shown(&vary)) };
    let mut out = format!("\n// Chooses{by} what was fastest.\n");
    let _ = writeln!(out, "schedule @{name} for @{operator} {{");
    let params = |(schedule, point): &Choice| params(module, (operator, schedule), point);
    match vary[..] {
        [name] => by_one(&mut out, name, fits, &params),
        _ => by_all(&mut out, &vary, fits, &params),
    }
    out.push_str("}\n");
    out
}

fn shown(names: &[&String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Ranges of one size.
fn by_one(out: &mut String, name: &str, fits: &[Fit<'_>], params: &dyn Fn(&Choice) -> String) {
    let mut rows: Vec<(i64, &Fit<'_>, &(Choice, Time))> =
        fits.iter().filter_map(|fit| Some((*fit.sizes.get(name)?, fit, fit.ranked.first()?))).collect();
    rows.sort_by_key(|(size, ..)| *size);
    // The smallest sizes go where there are too many: what is lost there is least.
    rows.drain(..rows.len().saturating_sub(MAX_ROWS));
    // What does not differ from the best keeps the choice of the size before: a kernel less.
    for nth in 1..rows.len() {
        let (_, fit, best) = rows[nth];
        let before = &rows[nth - 1].2.0;
        let limit = if is_estimated(fit.class) { NEAR * best.1.median } else { best.1.high };
        if let Some(same) = fit.ranked.iter().find(|(point, time)| point == before && time.low <= limit) {
            rows[nth].2 = same;
        }
    }
    for (nth, (size, fit, (point, time))) in rows.iter().enumerate() {
        let _ = writeln!(out, "  // {}", told(fit, time));
        let Some((next, next_fit, (other, _))) = rows.get(nth + 1) else {
            let _ = writeln!(out, "  dispatch(@{}{})", point.0, params(point));
            continue;
        };
        if other == point {
            continue;
        }
        let at =
            |fit: &Fit<'_>, point: &Choice| fit.ranked.iter().find(|(of, _)| of == point).map(|(_, time)| time.median);
        let both = [at(fit, point), at(fit, other), at(next_fit, point), at(next_fit, other)];
        let (border, how) = match both {
            [Some(a), Some(b), Some(c), Some(d)] => (crossing((*size, *next), [a, b, c, d]), "their times cross"),
            _ => (middle(*size, *next), "it was not measured where they cross"),
        };
        let _ =
            writeln!(out, "  // The next is faster from {name} = {} on: {how} between {size} and {next}.", border + 1);
        let _ = writeln!(out, "  dispatch(@{}, when = {name} <= {border}{})", point.0, params(point));
    }
}

/// Estimates that differ by less are taken for equal.
const NEAR: f64 = 1.05;

/// So many rows a table has: a schedule chooses from 64 others.
const MAX_ROWS: usize = 64;

/// Single sizes; the rest is as the greatest of them.
fn by_all(out: &mut String, names: &[&String], fits: &[Fit<'_>], params: &dyn Fn(&Choice) -> String) {
    let work = |fit: &Fit<'_>| fit.sizes.values().map(|&size| size.max(1) as f64).product::<f64>();
    let mut fits: Vec<&Fit<'_>> = fits.iter().collect();
    fits.sort_by(|a, b| work(a).total_cmp(&work(b)));
    let last = fits.last().and_then(|fit| fit.ranked.first()).map(|(point, _)| point.clone());
    let n_rows = fits.iter().filter(|fit| fit.ranked.first().map(|(point, _)| point) != last.as_ref()).count();
    let mut left_out = n_rows.saturating_sub(MAX_ROWS - 1);
    for (nth, fit) in fits.iter().enumerate() {
        let Some((point, time)) = fit.ranked.first() else { continue };
        let is_last = nth + 1 == fits.len();
        let is_other = Some(point) != last.as_ref();
        if is_other && left_out > 0 {
            // The smallest sizes go: what is lost there is least.
            left_out -= 1;
            let _ = writeln!(out, "  // {} The table has no row left for it.", told(fit, time));
            continue;
        }
        let _ = writeln!(out, "  // {}", told(fit, time));
        let equal = names.iter().filter_map(|name| Some(format!("{name} == {}", fit.sizes.get(*name)?)));
        let when = equal.collect::<Vec<_>>().join(" && ");
        match (is_last, is_other) {
            (true, _) => drop(writeln!(out, "  dispatch(@{}{})", point.0, params(point))),
            (false, true) => drop(writeln!(out, "  dispatch(@{}, when = {when}{})", point.0, params(point))),
            // As the last.
            (false, false) => {}
        }
    }
}

/// The last size at which the first of two is not slower: `times` are of the first and the second at the one size, and at the other.
fn crossing((from, to): (i64, i64), times: [f64; 4]) -> i64 {
    let [a, b, c, d] = times.map(f64::ln);
    let (ahead, behind) = (b - a, c - d);
    let part = ahead / (ahead + behind);
    if !(0.0..=1.0).contains(&part) {
        return middle(from, to);
    }
    between(from, to, part)
}

fn middle(from: i64, to: i64) -> i64 {
    between(from, to, 0.5)
}

/// A part of the way from one size to the other, by their logarithms; below the other.
fn between(from: i64, to: i64, part: f64) -> i64 {
    let (low, high) = ((from.max(1) as f64).ln(), (to.max(1) as f64).ln());
    let border = (low + (high - low) * part).exp().floor() as i64;
    border.clamp(from, to - 1)
}

/// `, params = {…}`, or nothing.
fn params(module: &Module, (operator, schedule): (&str, &str), point: &Values) -> String {
    let sched = module.schedules_for(operator).map(|at| &module.items[at]).find(|item| item.symbol() == schedule);
    let is_bool = |name: &str| {
        let named = |&&param: &&tc::ir::Value| sched.is_some_and(|sched| sched.value_text(param) == name);
        let param = sched.and_then(|sched| sched.params().iter().find(named).copied());
        let scalar = sched.zip(param).and_then(|(sched, param)| sched.value_scalar(param));
        scalar.is_some_and(|scalar| scalar.elem == Elem::Bool)
    };
    let value = |(name, &value): (&String, &i64)| match is_bool(name) {
        true => format!("{name} = {}", value != 0),
        false => format!("{name} = {value}"),
    };
    let values: Vec<String> = point.iter().map(value).collect();
    if values.is_empty() { String::new() } else { format!(", params = {{{}}}", values.join(", ")) }
}

/// A name that no schedule of the operator has, nor any of `taken`: that of the schedule, where one alone is chosen from.
pub(super) fn free_name(module: &Module, operator: &str, fits: &[Fit<'_>], taken: &[(&str, String)]) -> String {
    let schedules: BTreeSet<&String> = fits.iter().flat_map(|fit| &fit.ranked).map(|((name, _), _)| name).collect();
    let base = match schedules.first() {
        Some(only) if schedules.len() == 1 => format!("{only}_by_size"),
        _ => "by_size".to_string(),
    };
    let is_free = |name: &String| {
        module.schedules_for(operator).all(|at| module.items[at].symbol() != name)
            && !taken.iter().any(|(of, taken)| *of == operator && taken == name)
    };
    let numbered = (2..).map(|nth| format!("{base}_{nth}"));
    std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base)
}
