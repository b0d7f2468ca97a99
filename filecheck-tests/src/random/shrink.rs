//! A failing case made small: parts are taken out as long as it fails in the same way.

use super::Case;
use super::check::{End, Failure, run};
use super::expr::Expr;
use std::time::{Duration, Instant};
use tc::Compiler;

/// What shrinking may cost.
const MOST_TRIES: usize = 1500;
const MOST_TIME: Duration = Duration::from_secs(30);

struct Shrinker<'s> {
    compiler: &'s Compiler,
    key: &'s str,
    case: Case,
    tries: usize,
    end: Instant,
}

/// A case that fails as `case` does, and from which nothing can be taken.
pub fn shrink(compiler: &Compiler, case: &Case, failure: &Failure) -> Case {
    let end = Instant::now() + MOST_TIME;
    let mut shrinker = Shrinker { compiler, key: &failure.key, case: case.clone(), tries: 0, end };
    while shrinker.round() {}
    shrinker.case
}

impl Shrinker<'_> {
    /// Tries all ways once; returns whether one of them helped.
    fn round(&mut self) -> bool {
        let passes = self.fewer_passes();
        let directives = self.fewer_directives();
        let stages = self.fewer_stages();
        let sizes = self.smaller_sizes();
        let terms = self.fewer_terms();
        let numbers = self.smaller_numbers();
        passes || directives || stages || sizes || terms || numbers
    }

    /// Takes `candidate` if it fails in the same way.
    fn accept(&mut self, candidate: Case) -> bool {
        if candidate == self.case || self.tries >= MOST_TRIES || Instant::now() > self.end {
            return false;
        }
        self.tries += 1;
        let same = matches!(run(self.compiler, &candidate, true), End::Failed(failure) if failure.key == self.key);
        if same {
            self.case = candidate;
        }
        same
    }

    fn fewer_passes(&mut self) -> bool {
        let mut helped = false;
        // What stands behind the pass that fails does not matter.
        let mut n = self.case.passes.len();
        while n > 1 {
            let mut candidate = self.case.clone();
            candidate.passes.truncate(n / 2);
            if self.accept(candidate) {
                helped = true;
                n = self.case.passes.len();
            } else {
                break;
            }
        }
        // What a pass refuses depends on those of `cuda` that stand before it.
        let all = self.key.contains("semantics") || self.key.contains("panic");
        for at in (1..self.case.passes.len()).rev() {
            if !all && !self.case.passes[at].added {
                continue;
            }
            let mut candidate = self.case.clone();
            candidate.passes.remove(at);
            helped |= self.accept(candidate);
        }
        helped
    }

    fn fewer_directives(&mut self) -> bool {
        let mut helped = self.accept(self.case.unchosen());
        let mut at = 0;
        while at < self.case.schedule.directives.len() {
            let mut candidate = self.case.clone();
            candidate.schedule = candidate.schedule.without(at).without_unused_params();
            match self.accept(candidate) {
                true => helped = true,
                false => at += 1,
            }
        }
        helped
    }

    fn fewer_stages(&mut self) -> bool {
        let mut helped = false;
        // A result less: what nothing needs any more goes.
        for at in (0..self.case.operator.outputs.len()).rev() {
            if self.case.operator.outputs.len() > 1 {
                let mut candidate = self.case.clone();
                candidate.operator.outputs.remove(at);
                helped |= self.accept(without_unused(candidate));
            }
        }
        // A stage becomes the last one.
        for at in 0..self.case.operator.stages.len() {
            let mut candidate = self.case.clone();
            let Some(stage) = candidate.operator.stages.get(at) else { break };
            candidate.operator.outputs = stage.results.iter().map(|(name, _)| name.clone()).collect();
            if self.accept(without_unused(candidate)) {
                return true;
            }
        }
        // A stage becomes an argument.
        for at in (0..self.case.operator.stages.len()).rev() {
            let mut candidate = self.case.clone();
            let stage = candidate.operator.stages.remove(at);
            let shape: Vec<Expr> = stage.axes.iter().map(|axis| candidate.operator.without_lets(&axis.high)).collect();
            let params = stage.results.into_iter();
            candidate.operator.params.extend(params.map(|(name, elem)| super::operator::Param {
                name,
                elem,
                shape: shape.clone(),
            }));
            helped |= self.accept(without_unused(candidate));
        }
        let candidate = without_unused(self.case.clone());
        helped | self.accept(candidate)
    }

    fn smaller_sizes(&mut self) -> bool {
        let mut helped = false;
        for at in 0..self.case.operator.sizes.len() {
            let mut candidate = self.case.clone();
            candidate.operator.symbolic[at] = false;
            helped |= self.accept(candidate);
            let size = self.case.operator.sizes[at];
            for smaller in [1, 2, size / 2, size - 1] {
                if smaller >= 1 && smaller < self.case.operator.sizes[at] {
                    let mut candidate = self.case.clone();
                    candidate.operator.sizes[at] = smaller;
                    helped |= self.accept(candidate);
                }
            }
        }
        helped
    }

    /// An expression becomes one of its parts.
    fn fewer_terms(&mut self) -> bool {
        let mut helped = false;
        for stage in 0..self.case.operator.stages.len() {
            helped |= self.simpler_reduction(stage);
            let n_exprs = self.case.operator.stages[stage].exprs().len();
            for nth in 0..n_exprs {
                let mut tried = 0;
                loop {
                    let exprs = self.case.operator.stages[stage].exprs();
                    let Some(&expr) = exprs.get(nth) else { break };
                    let Some(path) = expr.paths().get(tried).cloned() else { break };
                    let parts = expr.clone().at_mut(&path).map_or(0, |expr| expr.parts().len());
                    let found = (0..parts).any(|part| self.replace_by_part(stage, nth, &path, part));
                    helped |= found;
                    tried += usize::from(!found);
                }
            }
        }
        helped
    }

    fn replace_by_part(&mut self, stage: usize, nth: usize, path: &[usize], part: usize) -> bool {
        let mut candidate = self.case.clone();
        let mut exprs = candidate.operator.stages[stage].exprs_mut();
        let Some(expr) = exprs.get_mut(nth).and_then(|expr| expr.at_mut(path)) else { return false };
        let Some(inner) = expr.parts().get(part).map(|&part| part.clone()) else { return false };
        *expr = inner;
        self.accept(candidate)
    }

    fn simpler_reduction(&mut self, stage: usize) -> bool {
        let mut helped = false;
        for which in 0..3 {
            let mut candidate = self.case.clone();
            let Some(reduce) = &mut candidate.operator.stages[stage].reduce else { return helped };
            match which {
                0 => reduce.condition = None,
                1 => reduce.init = None,
                _ => reduce.axes.iter_mut().for_each(|axis| axis.low = 0),
            }
            helped |= self.accept(candidate);
        }
        helped
    }

    /// Factors of directives become smaller.
    fn smaller_numbers(&mut self) -> bool {
        let mut helped = false;
        for at in 0..self.case.schedule.directives.len() {
            let text = self.case.schedule.directives[at].text.clone();
            let Some((before, number)) = text.rsplit_once("= ").filter(|(_, rest)| rest.ends_with(')')) else {
                continue;
            };
            let Ok(number) = number.trim_end_matches(')').parse::<i64>() else { continue };
            for smaller in [1, 2, 3, number / 2] {
                if smaller >= 1 && smaller < number {
                    let mut candidate = self.case.clone();
                    candidate.schedule.directives[at].text = format!("{before}= {smaller})");
                    if self.accept(candidate) {
                        helped = true;
                        break;
                    }
                }
            }
        }
        helped
    }
}

/// The case without stages and arguments that nothing reads.
fn without_unused(mut case: Case) -> Case {
    loop {
        let op = &case.operator;
        let needed =
            |name: &String| op.outputs.contains(name) || op.stages.iter().any(|stage| stage.reads().contains(name));
        let stage = op.stages.iter().position(|stage| !stage.results.iter().any(|(name, _)| needed(name)));
        let param = op.params.iter().position(|param| !needed(&param.name));
        let mut gone: Vec<String> = Vec::new();
        if let Some(at) = stage {
            gone.extend(case.operator.stages.remove(at).results.into_iter().map(|(name, _)| name));
        } else if let Some(at) = param {
            gone.push(case.operator.params.remove(at).name);
        } else {
            return case;
        }
        // Directives that speak of what is gone go too.
        while let Some(at) = case.schedule.directives.iter().position(|directive| directive.names(&gone)) {
            case.schedule = case.schedule.without(at);
        }
    }
}
