//! A whole search space at once: how many of its points a target allows, why it does not allow the others, and points
//! to try.
//!
//! Points are judged in parallel and told in order, so that the answer is the same on any number of cores. Nothing is
//! lowered: bounds say enough.

use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::guard::{THREAD, begin_thread, guarded};
use crate::run::Define;
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use tc_ir::{Func, Module};
use tc_schedule::space::{Count, Reject, Rejections};
use tc_schedule::{Param, Point, Space};
use tc_support::parallel::Pool;
use tc_support::workers::workers;
use tc_support::{Diagnostic, Diagnostics, Location, suggest};
use tc_target::Target;

/// How many points are judged at a time.
const CHUNK: usize = 4096;
/// How many are judged at first.
const FIRST_CHUNK: usize = 64;
/// How many points are judged, from the first on, where too few of those that were drawn are valid.
const FIRST_POINTS: u64 = 1 << 12;
/// Steps that counting a space, or finding points of it, may take: one is a value that is tried.
const COUNTING: u64 = 1 << 24;
/// How many points are drawn, at most, in the search for valid ones.
const DRAWN: usize = 1 << 16;

/// What is known of a space.
#[derive(Clone, Debug)]
pub struct Survey {
    /// How many points there are.
    pub count: Count,
    /// How many of them were judged, from the first on.
    pub judged: u64,
    /// How many of these the target allows.
    pub valid: u64,
    /// Why it does not allow the others.
    pub rejections: Rejections,
}

impl Survey {
    /// Was every point judged?
    pub fn is_complete(&self) -> bool {
        self.count == Count::Exactly(self.judged.into())
    }
}

/// Judges points on several cores.
pub struct Judge<'s> {
    space: &'s Space<'s>,
    target: Target,
    pool: Option<Pool>,
}

impl<'s> Judge<'s> {
    /// For `target`, on so many threads, or a few a core where more are asked for; 0 stands for as many as there are cores.
    pub fn new(space: &'s Space<'s>, target: Target, threads: usize) -> Judge<'s> {
        let pool = Pool::new(workers(threads, CHUNK), THREAD, begin_thread);
        Judge { space, target, pool }
    }

    /// What is wrong with each of `points`, if anything.
    fn judge(&self, points: &[Point]) -> Vec<Option<Reject>> {
        let one = |point: &Point| self.space.judge(point, &self.target).err();
        match &self.pool {
            Some(pool) => pool.map(points.iter().collect(), one),
            None => points.iter().map(one).collect(),
        }
    }

    /// Counts the points, and judges them from the first on, at most `limit`.
    pub fn survey(&self, limit: u64) -> Result<Survey, Diagnostic> {
        let count = self.space.count(COUNTING)?;
        let (mut judged, mut valid, mut rejections) = (0, 0, Rejections::default());
        self.each(limit, |point, why| {
            judged += 1;
            match why {
                None => valid += 1,
                Some(why) => rejections.add(point, &why),
            }
            ControlFlow::Continue(())
        })?;
        Ok(Survey { count, judged, valid, rejections })
    }

    /// Judges the points from the first on, at most `limit`, and hands those that are valid to `valid`, until that has
    /// enough of them. Tells whether there may be more points than were judged, because finding them takes too long.
    pub fn valid(&self, limit: u64, mut valid: impl FnMut(&Point) -> ControlFlow<()>) -> Result<bool, Diagnostic> {
        self.each(limit, |point, why| if why.is_none() { valid(point) } else { ControlFlow::Continue(()) })
    }

    fn each(
        &self,
        limit: u64,
        mut done: impl FnMut(&Point, Option<Reject>) -> ControlFlow<()>,
    ) -> Result<bool, Diagnostic> {
        let mut points = self.space.points(COUNTING.saturating_add(limit));
        let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
        // The first points are told soon.
        let mut at_a_time = FIRST_CHUNK;
        while left > 0 {
            let chunk: Result<Vec<Point>, Diagnostic> = points.by_ref().take(at_a_time.min(left)).collect();
            let chunk = chunk?;
            if chunk.is_empty() {
                break;
            }
            left -= chunk.len();
            at_a_time = (at_a_time * 2).min(CHUNK);
            for (point, rejected) in chunk.iter().zip(self.judge(&chunk)) {
                if done(point, rejected).is_break() {
                    return Ok(false);
                }
            }
        }
        Ok(points.is_cut())
    }

    /// `n` different valid points that `seed` chooses, and of the first points some where too few of the many that were
    /// drawn are valid; fewer where there are fewer.
    pub fn sample(&self, n: usize, seed: u64) -> Result<Vec<Point>, Diagnostic> {
        let mut drawn = n;
        loop {
            let points = self.space.sample(drawn, seed)?;
            let rejected = self.judge(&points);
            let is_all = points.len() < drawn || drawn >= DRAWN;
            let mut valid: Vec<Point> =
                points.into_iter().zip(rejected).filter(|(_, why)| why.is_none()).map(|(point, _)| point).collect();
            if valid.len() < n && is_all {
                self.valid(FIRST_POINTS, |point| {
                    if !valid.contains(point) {
                        valid.push(point.clone());
                    }
                    if valid.len() < n { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
            }
            if valid.len() >= n || is_all {
                // Evenly over what was drawn, which is in the order of the space.
                let step = |at: usize| at * valid.len() / n;
                if valid.len() > n {
                    valid = (0..n).map(|at| valid[step(at)].clone()).collect();
                }
                return Ok(valid);
            }
            drawn = (drawn * 4).min(DRAWN);
        }
    }
}

/// The schedules of `module` that have parameters, with their operators or programs: numbers of items.
pub fn spaces(module: &Module) -> Vec<(usize, usize)> {
    let is_space = |item: &Func| !item.params().is_empty();
    let mut found = Vec::new();
    for (func, item) in module.items.iter().enumerate() {
        if super::run::cases::is_operator(item) || super::run::cases::is_program(item) {
            let schedules = module.schedules_for(item.symbol());
            found.extend(schedules.filter(|&at| is_space(&module.items[at])).map(|at| (func, at)));
        }
    }
    found
}

/// The space of the schedule `sched` for `func`, an operator or a program.
pub fn space<'a>(func: &'a Func, sched: &'a Func, defines: &[Define]) -> Result<Space<'a>, Diagnostics> {
    if super::run::cases::is_operator(func) {
        return Space::of(func, sched, defines);
    }
    tc_passes::program_schedule::space(func, sched, defines)
}

/// A question about the space of one schedule.
#[derive(Clone, Default, Debug)]
pub struct Question<'q> {
    /// The schedule; it may be left out where one schedule of the module has parameters.
    pub schedule: &'q str,
    /// Values for some parameters and sizes.
    pub defines: &'q [Define],
    /// How many points are judged, from the first on.
    pub limit: u64,
}

impl Compiler {
    /// What a space holds, as `tc-opt --list-space --json` tells it: parameters, the number of points, how many of those
    /// judged the target allows, and why it does not allow the others.
    pub fn survey(&self, module: &Module, question: &Question<'_>) -> Result<Value, Failure> {
        self.ask(module, question, |te, space| {
            let survey = Judge::new(space, self.target, self.threads).survey(question.limit)?;
            Ok(survey_json(space, te, &survey))
        })
    }

    /// Valid points of a space, at most `n`, as `schedule{param="…"}` reads them: the first ones of those judged, or with a
    /// seed those that it chooses.
    pub fn points(
        &self,
        module: &Module,
        question: &Question<'_>,
        n: usize,
        seed: Option<u64>,
    ) -> Result<Vec<String>, Failure> {
        self.ask(module, question, |_, space| {
            let judge = Judge::new(space, self.target, self.threads);
            if let Some(seed) = seed {
                return Ok(judge.sample(n, seed)?.iter().map(|point| space.show(point)).collect());
            }
            let mut shown = Vec::new();
            judge.valid(question.limit, |point| {
                if shown.len() < n {
                    shown.push(space.show(point));
                }
                if shown.len() < n { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            Ok(shown)
        })
    }

    fn ask<T: Send>(
        &self,
        module: &Module,
        question: &Question<'_>,
        answer: impl Fn(&Func, &Space<'_>) -> Result<T, Diagnostics> + Sync + Send,
    ) -> Result<T, Failure> {
        let failed = |diagnostics| Failure { diagnostics, sources: module.sources.clone() };
        guarded("judging a search space", &module.sources, || {
            self.accept(module)?;
            let module = &*self.without_calls(module)?;
            let (te, schedule) = chosen(module, question.schedule).map_err(|wrong| failed(wrong.into()))?;
            let names = tc_schedule::definable(te, Some(schedule));
            if let Some((name, _)) = question.defines.iter().find(|(name, _)| !names.contains(&name.as_str())) {
                let text = format!("there is no size and no parameter `{}`", suggest::shorten(name));
                let mut found = Diagnostic::assumption("unknown-define", Location::None, text);
                found.help = suggest::did_you_mean(name, names);
                return Err(failed(found.into()));
            }
            let space = space(te, schedule, question.defines).map_err(failed)?;
            answer(te, &space).map_err(failed)
        })
    }
}

/// The operator and the schedule of the space `name`, or of the only one.
fn chosen<'m>(module: &'m Module, name: &str) -> Result<(&'m Func, &'m Func), Diagnostic> {
    let name = name.strip_prefix('@').unwrap_or(name);
    let all = spaces(module);
    let of = |&(te, at): &(usize, usize)| (&module.items[te], &module.items[at]);
    let named: Vec<_> = all.iter().map(of).filter(|(_, at)| name.is_empty() || at.symbol() == name).collect();
    let names = all.iter().map(|&(_, at)| module.items[at].symbol());
    let wrong = |text: String, help: Option<String>| {
        let mut found = Diagnostic::assumption("unknown-space", Location::None, text);
        found.help = help;
        found
    };
    match named[..] {
        [one] => Ok(one),
        [] if name.is_empty() => Err(wrong("no schedule of the module has parameters".to_string(), None)),
        [] => {
            let text = format!("no schedule `@{}` has parameters", suggest::shorten(name));
            Err(wrong(text, suggest::did_you_mean(name, names)))
        }
        _ => {
            let names: Vec<String> = names.map(|name| format!("`@{name}`")).collect();
            Err(wrong(
                "several schedules have parameters".to_string(),
                Some(format!("choose one of {}", names.join(", "))),
            ))
        }
    }
}

/// The type of a parameter, as JSON and tables name it.
pub fn type_of(param: &Param) -> &'static str {
    param.elem.name()
}

/// The conditions of a space.
pub fn facts(space: &Space<'_>) -> Vec<String> {
    let schedule = space.schedule();
    schedule.header.facts.iter().map(|&fact| schedule.show_attr(fact)).collect()
}

/// A point as an object: a value for each parameter.
pub fn point_json(space: &Space<'_>, point: &Point) -> Value {
    let value = |param: &Param, value: i64| match param.elem {
        tc_ir::Elem::Bool => json!(value != 0),
        _ => json!(value),
    };
    let values = space.params().iter().zip(&point.values);
    let values: Map<String, Value> = values.map(|(param, &v)| (param.name.clone(), value(param, v))).collect();
    Value::Object(values)
}

/// What a space of the operator `te` holds.
pub fn survey_json(space: &Space<'_>, te: &Func, survey: &Survey) -> Value {
    let param = |(nth, param): (usize, &Param)| json!({"name": param.name, "type": type_of(param), "choices": space.choices(nth)});
    let params: Vec<Value> = space.params().iter().enumerate().map(param).collect();
    let rejected = survey.rejections.iter().map(|(reason, why)| {
        let example = point_json(space, &why.example);
        json!({"reason": reason, "count": why.count, "example": example, "message": why.message})
    });
    // Numbers beyond 64 bits are text.
    let number = survey.count.number();
    let count = u64::try_from(number).map_or_else(|_| json!(number.to_string()), Value::from);
    json!({
        "schedule": space.schedule().symbol(),
        "operator": te.symbol(),
        "params": params,
        "where": facts(space),
        "count": count,
        "exact": matches!(survey.count, Count::Exactly(_)),
        "judged": survey.judged,
        "valid": survey.valid,
        "rejected": rejected.collect::<Vec<_>>(),
    })
}
