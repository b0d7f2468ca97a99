//! What rules did to random expressions is proved, step by step: before and after have the same value at all integers
//! that satisfy what was known in the place, and not only at the points that `tests/rules.rs` tries. The few with products
//! and quotients of unknowns that the solver leaves undecided are proved for numbers of 4 bits.

mod common;
mod law;

use std::collections::{BTreeMap, BTreeSet};

use common::each_step;
use law::smt::Domain;
use law::z3::{self, Answer};
use law::{Law, on_all_cores};

/// How many cases are made.
const CASES: u64 = 3_000;
/// How many steps of a rule are proved.
const STEPS: usize = 24;
/// How many are seen at least.
const FEW: usize = 4;

/// Steps of each rule, as laws.
fn steps() -> BTreeMap<&'static str, Vec<Law>> {
    let mut steps: BTreeMap<&str, Vec<Law>> = tc_arith::rules::all().map(|rule| (rule.name, Vec::new())).collect();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    // Other cases than those of `tests/rules.rs`.
    each_step(1, CASES, |case, step| {
        let known = steps.get_mut(step.rule.name).expect("the rule is in the list of all rules");
        if known.len() >= STEPS {
            return;
        }
        if let Some(law) = Law::of_step(&mut case.az, step).filter(|law| seen.insert(law.text.clone())) {
            known.push(law);
        }
    });
    steps
}

#[test]
fn steps_of_all_rules_are_proved() {
    let solver = z3::find().unwrap_or_else(|error| panic!("{error}"));
    let steps = steps();
    let rare: Vec<&str> = steps.iter().filter(|(_, laws)| laws.len() < FEW).map(|(name, _)| *name).collect();
    assert!(rare.is_empty(), "rules of which hardly a step was seen: {rare:?}");
    let steps: Vec<(&str, Law)> =
        steps.into_iter().flat_map(|(name, laws)| laws.into_iter().map(move |law| (name, law))).collect();
    let integers = Domain { bits: None, types: Vec::new() };
    let small = Domain { bits: Some(4), types: Vec::new() };
    let answers = on_all_cores(&steps, |(_, law)| match z3::ask(&solver, law, &integers, 4) {
        Answer::Undecided => (z3::ask(&solver, law, &small, z3::LIMIT), true),
        answer => (answer, false),
    });
    for ((name, law), (answer, _)) in steps.iter().zip(&answers) {
        assert_eq!(*answer, Answer::Proved, "{name}: {}\nwhere {:?}", law.text, law.conditions);
    }
    let narrow = answers.iter().filter(|(_, narrow)| *narrow).count();
    assert!(narrow * 100 < steps.len(), "of {} steps {narrow} are proved for numbers of 4 bits only", steps.len());
}
