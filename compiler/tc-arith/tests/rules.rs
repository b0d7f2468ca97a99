//! Every row of every table of rules fires, many times, and each time both sides have the same value.

mod common;

use std::collections::BTreeMap;

use common::Case;

/// How many cases are made.
const CASES: u64 = 16_000;
/// How often a rule fires at least over all cases.
const FIRINGS: u32 = 20;

#[test]
fn every_rule_fires_and_keeps_the_value() {
    let mut fired: BTreeMap<&str, u32> = tc_arith::rules::all().map(|rule| (rule.name, 0)).collect();
    for seed in 0..CASES {
        let mut case = Case::new(seed);
        case.az.record_steps(true);
        case.assume();
        let depth = 1 + (seed % 2) as u32;
        let e = if seed % 3 == 0 { case.condition(depth) } else { case.integer(depth) };
        let simplified = case.az.simplify(e);
        let steps = case.az.record_steps(false);
        for step in steps {
            *fired.get_mut(step.rule.name).expect("the rule is in the list of all rules") += 1;
            case.check_same(step.rule.name, step.before, step.after, &step.under, 12);
        }
        let known = case.known();
        case.check_same("simplify", e, simplified, &known, 20);
    }
    let rare: Vec<_> = fired.iter().filter(|(_, times)| **times < FIRINGS).collect();
    assert!(rare.is_empty(), "rules that hardly ever fire: {rare:?}\nof {fired:?}");
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = tc_arith::rules::all().map(|rule| rule.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
