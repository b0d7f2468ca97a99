//! Random pipelines for programs, in an order that the forms of the passes allow.

use super::Purpose;
use crate::random::choices::Choices;
use crate::random::passes::{Pass, name_of, named};
use tc::dialects::forms;
use tc::pass::{PassInfo, PassTable};

/// Passes that are for operators, or only look, or say that there is no kernel.
const KEPT_OUT: &[&str] = &["schedule", "auto-inline"];
/// Passes whose place in a pipeline that goes on to an emitter is fixed.
const ONCE: &[&str] = &["thread-sync", "split-host-device", "verify-memory", "verify-gpu-limits", "check-races"];

/// A random pipeline: `cuda` with further passes in it, or passes in any order that their forms allow.
pub fn passes(table: &PassTable, choices: &mut dyn Choices, host: bool, purpose: Purpose) -> Vec<Pass> {
    match !host && (purpose == Purpose::Device || choices.chance(60)) {
        true => kernels(table, choices),
        false => any_order(table, choices),
    }
}

fn pass(info: &'static PassInfo, choices: &mut dyn Choices, added: bool) -> Pass {
    let named = named(info, choices);
    let text = if info.anchor == PassInfo::MODULE { named } else { format!("{}({named})", info.anchor) };
    Pass { text, name: info.name.to_string(), added }
}

fn candidates(table: &PassTable) -> Vec<&'static PassInfo> {
    table.passes().filter(|info| !KEPT_OUT.contains(&info.name)).collect()
}

fn kernels(table: &PassTable, choices: &mut dyn Choices) -> Vec<Pass> {
    let row = &tc::passes::table::CUDA;
    let told = crate::random::passes::options(row.options, choices, 30);
    let steps = (row.steps)(&told).unwrap_or_default();
    let base = |text: &str| Pass { text: text.to_string(), name: name_of(text).to_string(), added: false };
    let mut list: Vec<Pass> = steps.iter().filter(|step| step.place.is_none()).map(|step| base(&step.text)).collect();
    // There is no operator.
    list.retain(|pass| pass.name != "schedule");
    let further: Vec<_> = candidates(table).into_iter().filter(|info| !ONCE.contains(&info.name)).collect();
    for _ in 0..choices.pick(&[0, 0, 1, 2, 3, 5]) {
        let info = choices.pick(&further);
        let at = choices.below(list.len() + 1);
        let pass = pass(info, choices, true);
        list.insert(at, pass);
    }
    list
}

fn any_order(table: &PassTable, choices: &mut dyn Choices) -> Vec<Pass> {
    let all = candidates(table);
    let mut holds: Vec<&str> = vec![forms::SCHEDULED.name, forms::MULTI_DIMENSIONAL.name];
    let mut list = Vec::new();
    for _ in 0..1 + choices.below(10) {
        let fits = |info: &&&PassInfo| info.requires.iter().all(|form| holds.contains(&form.name));
        let legal: Vec<&'static PassInfo> = all.iter().filter(fits).copied().collect();
        // Some passes need what few others establish.
        let makes_form = |info: &&PassInfo| info.establishes.iter().any(|form| !holds.contains(&form.name));
        let makers: Vec<&'static PassInfo> = legal.iter().copied().filter(makes_form).collect();
        let info = if !makers.is_empty() && choices.chance(25) { choices.pick(&makers) } else { choices.pick(&legal) };
        // It ends most of what others can do.
        if info.name == "split-host-device" {
            if choices.chance(70) {
                continue;
            }
            holds.retain(|form| *form != forms::MULTI_DIMENSIONAL.name);
        }
        holds.extend(info.establishes.iter().map(|form| form.name));
        list.push(pass(info, choices, true));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::rng::Rng;

    #[test]
    fn every_pass_for_programs_comes_and_none_before_its_forms() {
        let table = tc::Compiler::new().passes;
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..300 {
            let list = any_order(&table, &mut Rng::of_case(1, number));
            let position = |name: &str| list.iter().position(|pass| pass.name == name);
            if let Some(at) = position("merge-shared-memory") {
                assert!(position("storage-flatten").is_some_and(|flat| flat < at));
                assert!(position("hoist-alloc").is_some_and(|hoisted| hoisted < at));
            }
            seen.extend(list.into_iter().map(|pass| pass.name));
        }
        let missing: Vec<&str> =
            candidates(&table).into_iter().map(|info| info.name).filter(|name| !seen.contains(*name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
