//! The space of a schedule that has parameters: its points, which of them a target allows, and whether a schedule is one
//! of them.
//!
//! Points come in the order of the text, the last parameter running fastest. A space is never listed as a whole: what
//! walks over it counts its steps, and says so where it stops.

mod count;
mod first;
mod member;
mod reject;
mod same;

pub use count::{Count, Points};
pub use member::{Differs, Directive, Member};
pub use reject::{Reason, Reject, Rejections};

pub(crate) use first::Domain;

use crate::apply::{self, Applied};
use crate::bounds::{self, Bounds};
use crate::check::Extent;
use crate::operator::{Define, Operator};
use crate::params::{Param, Point};
use crate::walk::{Reached, Walk};
use crate::{Options, prepare};
use tc_ir::{Func, Module};
use tc_support::{Diagnostic, Diagnostics, counted};

/// Steps that a search for one point may take.
const SEARCH: u64 = 1 << 24;

/// The space of a schedule over an operator whose sizes are fixed, or over a program.
pub struct Space<'a> {
    subject: Subject<'a>,
    domain: Domain<'a>,
}

/// What a schedule is for.
enum Subject<'a> {
    Operator(Box<Operator<'a>>),
    /// A program, and what carries out a schedule of it.
    Program(&'a Func, ScheduleProgram),
}

/// Carries out a schedule of a program at a point: the program, the schedule, the point.
pub type ScheduleProgram = fn(&Func, &Func, &Point) -> Result<Func, Diagnostics>;

/// Why values are no point of a space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// There must be one value for each parameter.
    Length {
        /// How many parameters there are.
        params: usize,
    },
    /// A value is none that its parameter may have.
    NotAChoice {
        /// The parameter.
        param: String,
        /// Its value, as it is written.
        value: String,
        /// What it may be, the parameters before it being what they are.
        choices: String,
    },
    /// A condition does not hold.
    Fails {
        /// Its text.
        fact: String,
    },
    /// Choices or conditions cannot be evaluated.
    NoValue(Box<Diagnostic>),
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Why::Length { params } => write!(f, "a point has {}", counted(params, "value")),
            Why::NotAChoice { param, value, choices } => {
                write!(f, "`{param}` cannot be {value}: its choices are {choices}")
            }
            Why::Fails { fact } => write!(f, "`{fact}` does not hold"),
            Why::NoValue(why) => f.write_str(&why.message),
        }
    }
}

impl<'a> Space<'a> {
    /// The space of the schedule `sched` for the operator `te`. `defines` give sizes a value, and parameters: the space
    /// is then the part in which they have it.
    pub fn of(te: &'a Func, sched: &'a Func, defines: &[Define]) -> Result<Space<'a>, Diagnostics> {
        let operator = prepare(te, Some(sched), &Options { defines: defines.to_vec(), ..Options::default() })?;
        let domain = Domain::of(&operator, sched, defines)?;
        Ok(Space { subject: Subject::Operator(Box::new(operator)), domain })
    }

    /// The space of the schedule `sched` for the program `func`, which `carry_out` carries out. `defines` give parameters a
    /// value; the sizes of a program stay open.
    pub fn of_program(
        func: &'a Func,
        sched: &'a Func,
        defines: &[Define],
        carry_out: ScheduleProgram,
    ) -> Result<Space<'a>, Diagnostics> {
        crate::check_defines(func, Some(sched), defines)?;
        let domain = Domain::with(sched, &[], defines)?;
        Ok(Space { subject: Subject::Program(func, carry_out), domain })
    }

    /// The operator, where the schedule is for one.
    fn operator(&self) -> Result<&Operator<'a>, Diagnostics> {
        match &self.subject {
            Subject::Operator(operator) => Ok(operator),
            Subject::Program(..) => {
                let text = format!("`@{}` is for a program, which has no stages", self.schedule().symbol());
                let at = self.schedule().location(self.schedule().header.loc);
                Err(Diagnostic::error("program-space", at, text).into())
            }
        }
    }

    /// The schedule.
    pub fn schedule(&self) -> &'a Func {
        self.domain.sched
    }

    /// The parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.domain.params.list
    }

    /// What parameter `nth` may be, as text: values where no other parameter decides, else as it is written.
    pub fn choices(&self, nth: usize) -> String {
        let Some(param) = self.domain.params.list.get(nth) else { return String::new() };
        if let Some(value) = self.domain.fixed[nth] {
            return param.show(value);
        }
        let params = &self.domain.params;
        let mut walk = self.walk(nth + 1, SEARCH);
        // The first values of the others open it, which do not decide what it may be.
        let opened = !params.needs_others(nth) && matches!(walk.step(), Ok(Reached::Point));
        match walk.choices_of_last().filter(|_| opened) {
            Some(choices) => choices.show(&|value| param.show(value)),
            None => params.choices_text(nth),
        }
    }

    fn walk(&self, depth: usize, limit: u64) -> Walk<'_> {
        self.domain.walk(depth, limit)
    }

    /// The names and values of `point`, to be given to [`crate::Options::defines`]; the sizes stand first.
    pub fn defines(&self, point: &Point) -> Vec<Define> {
        let sizes = self.operator().map_or(Vec::new(), first::sizes);
        let sizes = sizes.into_iter().map(|(name, value)| (name.to_string(), value));
        let params =
            self.domain.params.list.iter().zip(&point.values).map(|(param, &value)| (param.name.clone(), value));
        sizes.chain(params).collect()
    }

    /// `num_thread_y=8 num_thread_x=32`, as `schedule{param=…}` reads it.
    pub fn show(&self, point: &Point) -> String {
        self.domain.show(point)
    }

    /// Is `point` one of the space, and if not, why?
    pub fn contains(&self, point: &Point) -> Result<(), Why> {
        let n = self.domain.params.list.len();
        if point.values.len() != n {
            return Err(Why::Length { params: n });
        }
        let fixed: Vec<Option<i64>> = point.values.iter().copied().map(Some).collect();
        let mut walk = Walk::new(&self.domain.params, &fixed, n, SEARCH).without_pruning();
        match walk.step() {
            Ok(Reached::Point) => Ok(()),
            Ok(_) => Err(self.why_not(&walk, point)),
            Err(why) => Err(Why::NoValue(Box::new(why))),
        }
    }

    fn why_not(&self, walk: &Walk<'_>, point: &Point) -> Why {
        if let Some(nth) = walk.rejected.facts.iter().position(|&count| count > 0) {
            return Why::Fails { fact: self.domain.params.fact(nth) };
        }
        let Some((before, choices)) = &walk.rejected.closed else {
            return Why::Length { params: self.domain.params.list.len() };
        };
        let param = &self.domain.params.list[before.len()];
        Why::NotAChoice {
            param: param.name.clone(),
            value: param.show(point.values[before.len()]),
            choices: choices.show(&|value| param.show(value)),
        }
    }

    /// The first point: what a schedule is taken at where the caller says no more.
    pub fn first(&self) -> Result<Point, Diagnostic> {
        self.domain.first()
    }

    /// The graph at `point`, all directives applied.
    pub(crate) fn apply(&self, point: &Point) -> Result<Applied, Diagnostics> {
        Ok(apply::apply_at(self.operator()?, self.domain.sched, point, None)?)
    }

    /// The bounds at `point`: all that is known of the program before there is one.
    pub fn bounds(&self, point: &Point) -> Result<Bounds, Diagnostics> {
        let graph = self.apply(point)?.graph;
        Ok(bounds::infer(self.operator()?, Some(self.domain.sched), graph, Extent::Whole)?)
    }

    /// The program at `point`; `module` is where combiners are looked up.
    pub fn lower(&self, point: &Point, module: Option<&Module>) -> Result<Func, Diagnostics> {
        if let Subject::Program(func, carry_out) = self.subject {
            return carry_out(func, self.domain.sched, point);
        }
        let graph = self.apply(point)?.graph;
        Ok(crate::program(self.operator()?, Some(self.domain.sched), module, graph, Extent::Whole)?)
    }
}
