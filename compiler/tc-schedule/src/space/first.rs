//! The first point of a space, and what is said where there is none.

use super::SEARCH;
use crate::operator::{Define, Operator};
use crate::params::{Params, Point};
use crate::walk::{Reached, Walk};
use tc_ir::Func;
use tc_support::{Diagnostic, suggest};

/// The parameters of a schedule, some of them fixed by the caller.
pub(crate) struct Domain<'a> {
    pub(crate) sched: &'a Func,
    pub(crate) params: Params<'a>,
    /// The values that the caller has fixed, by parameter.
    pub(crate) fixed: Vec<Option<i64>>,
}

impl<'a> Domain<'a> {
    pub(crate) fn of(operator: &Operator<'a>, sched: &'a Func, defines: &[Define]) -> Result<Domain<'a>, Diagnostic> {
        Domain::with(sched, &sizes(operator), defines)
    }

    /// The same with sizes that have these values.
    pub(crate) fn with(sched: &'a Func, sizes: &[(&str, i64)], defines: &[Define]) -> Result<Domain<'a>, Diagnostic> {
        let params = Params::of(sched, sizes)?;
        let given = |name: &str| defines.iter().find(|(of, _)| of == name).map(|&(_, value)| value);
        let fixed = params.list.iter().map(|param| given(&param.name)).collect();
        Ok(Domain { sched, params, fixed })
    }

    pub(super) fn walk(&self, depth: usize, limit: u64) -> Walk<'_> {
        Walk::new(&self.params, &self.fixed, depth, limit)
    }

    /// `num_thread_y=8 num_thread_x=32`
    pub(crate) fn show(&self, point: &Point) -> String {
        let shown = self.params.list.iter().zip(&point.values);
        let shown: Vec<String> = shown.map(|(param, &value)| format!("{}={}", param.name, param.show(value))).collect();
        shown.join(" ")
    }

    /// The first point: what a schedule is taken at where the caller says no more.
    pub(crate) fn first(&self) -> Result<Point, Diagnostic> {
        let mut walk = self.walk(self.params.list.len(), SEARCH);
        match walk.step()? {
            Reached::Point => Ok(Point { values: walk.values }),
            Reached::Limit => {
                let text = format!("{SEARCH} steps found no point of `@{}`", self.sched.symbol());
                let diagnostic = self.params.wrong("parameter-none", text);
                Err(diagnostic.help("give parameters values, or put conditions into choices: `q: i32 in divisors(p)`"))
            }
            Reached::End => Err(self.empty(&walk)),
        }
    }

    /// Says why there is no point.
    fn empty(&self, walk: &Walk<'_>) -> Diagnostic {
        let params = &self.params;
        let rejected = &walk.rejected;
        let never = rejected
            .opened
            .iter()
            .position(|opened| !opened)
            .filter(|&nth| rejected.closed.as_ref().is_some_and(|(before, _)| before.len() == nth));
        let diagnostic = match (never, &rejected.closed) {
            (Some(nth), Some((before, choices))) => {
                let param = &params.list[nth];
                let name = suggest::shorten(&param.name);
                // Only what the choices depend on is worth telling.
                let with = if params.needs_others(nth) { params.with(before) } else { String::new() };
                match self.fixed[nth] {
                    Some(value) => {
                        let text = format!("`{name}` cannot be {}{with}", param.show(value));
                        let choices = choices.show(&|value| param.show(value));
                        params.wrong("parameter-value", text).help(format!("its choices are {choices}"))
                    }
                    None => params.wrong("parameter-none", format!("`{name}` has no choices{with}")),
                }
            }
            _ => params.wrong("parameter-none", self.broken(&rejected.facts)),
        };
        self.with_way_out(diagnostic)
    }

    /// Which conditions leave no point.
    fn broken(&self, failed: &[u64]) -> String {
        let params = &self.params;
        let failed: Vec<String> =
            (0..params.n_facts()).filter(|&nth| failed[nth] > 0).map(|nth| format!("`{}`", params.fact(nth))).collect();
        let given: Vec<String> = params
            .list
            .iter()
            .zip(&self.fixed)
            .filter_map(|(param, value)| Some(format!("{} = {}", param.name, param.show((*value)?))))
            .collect();
        let (facts, name) = (failed.join(", "), self.sched.symbol());
        match (given.len(), params.list.len()) {
            (0, 0) => format!("{facts} does not hold"),
            (0, _) => format!("no values of the parameters of `@{name}` satisfy {facts}"),
            (n, all) if n == all => format!("{facts} does not hold with {}", given.join(", ")),
            _ => format!("no values of the other parameters of `@{name}` satisfy {facts} with {}", given.join(", ")),
        }
    }

    /// Where the caller has fixed values, there may be a point without them.
    fn with_way_out(&self, diagnostic: Diagnostic) -> Diagnostic {
        if diagnostic.help.is_some() || self.fixed.iter().all(Option::is_none) {
            return diagnostic;
        }
        let free = vec![None; self.fixed.len()];
        let mut walk = Walk::new(&self.params, &free, self.fixed.len(), SEARCH);
        match walk.step() {
            Ok(Reached::Point) => {
                let point = Point { values: walk.values };
                diagnostic.help(format!("the first point is `{}`", self.show(&point)))
            }
            _ => diagnostic,
        }
    }
}

/// The sizes of an operator that are numbers.
pub(super) fn sizes<'a>(operator: &Operator<'a>) -> Vec<(&'a str, i64)> {
    let te = operator.te;
    let values = te.region_args(te.body());
    let sizes = te.header.symbols.iter().zip(values);
    sizes.filter_map(|(symbol, &value)| Some((te.text(symbol.name), operator.int(value)?))).collect()
}
