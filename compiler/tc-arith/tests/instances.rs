//! What rules did to random expressions are instances of their laws: the left side is what a rule was applied to, the
//! right side what it made of it, and the conditions hold at points of the place.

mod common;
mod law;

use std::collections::BTreeMap;

use common::Case;
use law::{Law, parse};
use tc_arith::{Node, RuleApplication};

/// How many cases are made.
const CASES: u64 = 12_000;
/// How many steps of a rule are compared with its laws.
const STEPS: u32 = 40;
/// Points at which conditions are evaluated.
const POINTS: usize = 12;

/// How many steps of a rule are instances at least.
const FEW: u32 = 1;

/// Rules that apply several of their laws in one step; `tests/steps.rs` proves what they did.
const COMPOSED: &[&str] =
    &["sum-form", "product-form", "compare-form", "compare-digits", "clause-under-earlier", "clause-implied"];
/// Rules whose laws name types; `tests/steps.rs` proves what they did in the types that there are.
const TYPED: &[&str] = &["cast-fits", "cast-ring"];
/// Rules that simplify the parts of what they make.
const SETTLED: &[&str] = &["div-times-plus-mod", "minus-mod", "digits", "minmax-absorb"];

/// Shows the steps that are compared with laws.
fn each_step(visit: impl FnMut(&mut Case, &RuleApplication)) {
    common::each_step(2, CASES, visit);
}

#[test]
fn steps_are_instances_of_laws() {
    let laws: BTreeMap<&str, Vec<Law>> = tc_arith::rules::all()
        .map(|rule| (rule.name, rule.laws.iter().flat_map(|text| parse::laws(text).unwrap()).collect()))
        .collect();
    let mut matched: BTreeMap<&str, u32> = laws.keys().map(|name| (*name, 0)).collect();
    let mut strange = Vec::new();
    each_step(|case, step| {
        let name = step.rule.name;
        let count = matched.get_mut(name).unwrap();
        // A constructor may have folded what the rule had in its hands, before it or after it.
        let folded = case.az.pool.as_bool(step.before).is_some()
            || (name == "select-branches" && !matches!(case.az.pool.node(step.after), Node::Select(..)));
        if COMPOSED.contains(&name) || TYPED.contains(&name) || folded || *count >= STEPS {
            return;
        }
        let points = points(case, step);
        if laws[name].iter().any(|law| law.matches(&mut case.az, step, &points, SETTLED.contains(&name))) {
            *count += 1;
        } else {
            strange.push(format!("{name}: {} -> {}", case.show(step.before), case.show(step.after)));
        }
    });
    assert!(strange.is_empty(), "steps that are no instances of their rules' laws:\n{}", strange.join("\n"));
    matched.retain(|name, count| *count < FEW && !COMPOSED.contains(name) && !TYPED.contains(name));
    assert!(matched.is_empty(), "rules of which hardly a step was seen: {matched:?}");
}

/// Laws that are near to those of rules, and of which no step of the rule is an instance.
const OTHERS: &[(&str, &str)] = &[
    ("minmax-order", "min(x, y) -> x if y < x, defined(y)"),
    ("div-of-div", "(x/d + k) / c -> (x + k*d) / (d + c) if d > 2, c > 2"),
    ("div-split", "(x*c + y + k) / c -> x + k/c + (y + k%c) / c + 1 if c > 0"),
    ("mod-range", "x % c -> x - c*k + 1 if c > 0, c*k <= x < c*k + c"),
    ("select-nested", "select(p, select(q, x, y), y) -> select(p || q, x, y)"),
    ("compare-quotient", "x/c + y <= k -> x + y*c < c*k if c > 1"),
];

#[test]
fn a_step_is_no_instance_of_another_law() {
    let others: Vec<(&str, Law)> = OTHERS
        .iter()
        .flat_map(|(name, text)| parse::laws(text).unwrap().into_iter().map(move |law| (*name, law)))
        .collect();
    let mut seen: BTreeMap<&str, u32> = OTHERS.iter().map(|(name, _)| (*name, 0)).collect();
    each_step(|case, step| {
        for (name, law) in others.iter().filter(|(name, _)| *name == step.rule.name) {
            let points = points(case, step);
            // Without points no condition is evaluated.
            if points.is_empty() || seen[name] >= STEPS {
                continue;
            }
            let (before, after) = (case.show(step.before), case.show(step.after));
            assert!(!law.matches(&mut case.az, step, &points, false), "{before} -> {after} by `{}`", law.text);
            *seen.get_mut(name).unwrap() += 1;
        }
    });
    assert!(seen.values().all(|count| *count >= FEW), "{seen:?}");
}

/// Points that satisfy what was known where the step was made.
fn points(case: &mut Case, step: &RuleApplication) -> Vec<Vec<i64>> {
    let mut points = Vec::new();
    for _ in 0..4 * POINTS {
        let point = case.point();
        if step.under.iter().all(|&condition| matches!(case.eval(condition, &point), Ok(x) if x != 0)) {
            points.push(point);
        }
    }
    points.truncate(POINTS);
    points
}
