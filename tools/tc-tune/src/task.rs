//! What is tuned: a schedule with parameters, an operator, its sizes, a target.

use crate::features;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use tc::ir::print::{PrintOptions, print_func};
use tc::ir::walk::all_ops;
use tc::ir::{Module, Op, Value};
use tc::run::{Case, Define, Refused};
use tc::runtime::hash;
use tc::schedule::{Point, Space};
use tc::space::{Judge, spaces};
use tc::support::{Diagnostic, Diagnostics, Location, suggest};
use tc::{Compiler, Failure};
use tc_search::Pool;

/// Points of a space that a search chooses from at most. A larger space is sampled.
const POOL: usize = 1 << 16;

/// Values by name: a point, or sizes.
pub(crate) type Values = BTreeMap<String, i64>;

/// A schedule with parameters, and what it is tuned for.
pub(crate) struct Task<'t> {
    pub(crate) compiler: &'t Compiler,
    pub(crate) module: &'t Module,
    pub(crate) case: Case,
    /// Values of sizes, and of parameters that are not tuned.
    pub(crate) defines: Vec<Define>,
}

/// What a task is known by in records.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Identity {
    /// The name of the operator.
    pub(crate) operator: String,
    /// The hash of its text.
    pub(crate) operator_hash: String,
    /// The name of the schedule.
    pub(crate) schedule: String,
    /// The hash of its text.
    pub(crate) schedule_hash: String,
    /// The sizes.
    pub(crate) sizes: Values,
    /// The target that code is made for.
    pub(crate) target: String,
}

impl Identity {
    /// Is `other` the same for whatever target?
    pub(crate) fn is_same_but_target(&self, other: &Identity) -> bool {
        (&self.operator_hash, &self.schedule_hash, &self.sizes)
            == (&other.operator_hash, &other.schedule_hash, &other.sizes)
    }
}

/// The points of a space that a search chooses from.
pub(crate) struct Points {
    pub(crate) pool: Pool,
    /// Is it a sample of the space?
    pub(crate) is_sample: bool,
}

impl<'t> Task<'t> {
    /// The schedule `schedule` of the operator `func` in `module`; either may be left out where there is one.
    pub(crate) fn choose(
        compiler: &'t Compiler,
        module: &'t Module,
        (func, schedule): (Option<&str>, Option<&str>),
        defines: Vec<Define>,
    ) -> Result<Task<'t>, Diagnostic> {
        let all = spaces(module);
        let symbol = |item: usize| module.items[item].symbol();
        let is_wanted = |&&(te, sched): &&(usize, usize)| {
            func.is_none_or(|name| symbol(te) == name) && schedule.is_none_or(|name| symbol(sched) == name)
        };
        let found: Vec<&(usize, usize)> = all.iter().filter(is_wanted).collect();
        let refuse = |text: String| Diagnostic::assumption("unknown-space", Location::None, text);
        let &(te, sched) = match found[..] {
            [one] => one,
            [] => {
                let text = match schedule {
                    Some(name) => format!("no schedule `@{}` has parameters", suggest::shorten(name)),
                    None => "no schedule of the file has parameters".to_string(),
                };
                let mut wrong = refuse(text);
                wrong.help = suggest::did_you_mean(schedule.unwrap_or_default(), all.iter().map(|&(_, at)| symbol(at)));
                return Err(wrong);
            }
            _ => {
                let name = |&&(te, at): &&(usize, usize)| format!("`@{} --func @{}`", symbol(at), symbol(te));
                let names: Vec<String> = found.iter().map(name).collect();
                let wrong = refuse("several schedules of the file have parameters".to_string());
                return Err(wrong.help(format!("name one of {}", names.join(", "))));
            }
        };
        let names = tc::schedule::definable(&module.items[te], Some(&module.items[sched]));
        if let Some((name, _)) = defines.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            let mut wrong = refuse(format!("there is no size and no parameter `{}`", suggest::shorten(name)));
            wrong.help = suggest::did_you_mean(name, names);
            return Err(wrong);
        }
        let case = tc::run::under(module, te, sched);
        let case = case.map_err(|refused| match refused {
            Refused::Call(wrong) | Refused::Input(wrong) => *wrong,
        })?;
        Ok(Task { compiler, module, case, defines })
    }

    fn items(&self) -> (&'t tc::ir::Func, &'t tc::ir::Func) {
        let schedule = self.case.schedule.unwrap_or(self.case.func);
        (&self.module.items[self.case.func], &self.module.items[schedule])
    }

    /// The space of the schedule.
    pub(crate) fn space(&self) -> Result<Space<'t>, Failure> {
        let (te, schedule) = self.items();
        tc::space::space(te, schedule, &self.defines).map_err(|found| self.failed(found))
    }

    /// A failure that points into the file.
    pub(crate) fn failed(&self, diagnostics: impl Into<Diagnostics>) -> Failure {
        Failure { diagnostics: diagnostics.into(), sources: self.module.sources.clone() }
    }

    /// What the task is known by. Names of values and comments do not count.
    pub(crate) fn identity(&self, space: &Space<'_>) -> Result<Identity, Failure> {
        let (te, schedule) = self.items();
        let point = space.first().map_err(|wrong| self.failed(wrong))?;
        let params: Vec<&str> = space.params().iter().map(|param| param.name.as_str()).collect();
        let sizes = space.defines(&point).into_iter().filter(|(name, _)| !params.contains(&name.as_str())).collect();
        Ok(Identity {
            operator: te.symbol().to_string(),
            operator_hash: self.hash_of(self.case.func),
            schedule: schedule.symbol().to_string(),
            schedule_hash: self.hash_of(self.case.schedule.unwrap_or(self.case.func)),
            sizes,
            target: self.compiler.target.name.to_string(),
        })
    }

    /// The hash of an item's generic text, in which values are numbers.
    fn hash_of(&self, item: usize) -> String {
        let mut item = self.module.items[item].clone();
        let ops: Vec<Op> = all_ops(&item).collect();
        for op in ops {
            let args = item.op_regions(op).iter().flat_map(|&region| item.region_args(region).to_vec());
            let values: Vec<Value> = item.results(op).chain(args).collect();
            for value in values {
                item.set_value_name(value, None);
            }
        }
        hash(print_func(&item, &PrintOptions { generic: true, ..PrintOptions::default() }))
    }

    /// The points that the target allows, all of them where there are not too many, else so many that `seed` chooses. If
    /// there are no more than `estimated`, the time of each is estimated.
    pub(crate) fn points(&self, space: &Space<'_>, seed: u64, estimated: usize) -> Result<Points, Failure> {
        let judge = Judge::new(space, self.compiler.target, self.compiler.threads);
        let mut points: Vec<Point> = Vec::new();
        let more = judge.valid(1 << 20, |point| {
            points.push(point.clone());
            if points.len() < POOL { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let is_sample = more.map_err(|wrong| self.failed(wrong))? || points.len() >= POOL;
        if is_sample {
            points = judge.sample(POOL, seed).map_err(|wrong| self.failed(wrong))?;
        }
        let pool = features::pool(self, space, points, estimated);
        if pool.is_empty() {
            let (_, schedule) = self.items();
            let text = format!("no point of `@{}` is valid on {}", schedule.symbol(), self.compiler.target.name);
            let wrong = Diagnostic::error("parameter-none", schedule.location(schedule.header.loc), text);
            return Err(self.failed(wrong.help("`tc-opt --list-space` tells why points are rejected")));
        }
        Ok(Points { pool, is_sample })
    }
}
