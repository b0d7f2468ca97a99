//! A text made small while it stays interesting.
//!
//! Delta debugging: parts are taken out in large pieces first and in smaller ones where that fails (Zeller and
//! Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Transactions on Software Engineering 28(2),
//! 2002). What can be taken out is told by a list of `Reduction`s, each with its sites: passes of a reproducer, items,
//! ops, loops, parameters, then lines, tokens, numbers and names of the text. They are tried in turn, until a whole
//! round brings nothing.
//!
//! - A candidate is a text that reads and verifies; the predicate is not asked about any other. Only where the input itself does
//!   not read, reductions of text work on it as it is.
//! - Each candidate that is taken is smaller by a measure (tokens, then numbers, then length), so it ends.
//! - What comes out depends on the input and the answers alone: with several threads the first interesting candidate
//!   in the order of one thread is taken.

mod driver;
mod ir;
mod measure;
mod state;
mod text;

pub use measure::Measure;
pub use state::{Frame, State};

use std::ops::Range;
use std::time::Duration;
use tc_ir::Registry;

/// Answers whether a text is still interesting. Several threads may ask at a time. The error is why there is no answer
/// any more, such as a full disk; it ends the reduction.
pub type Ask<'a> = dyn Fn(&str) -> Result<bool, String> + Sync + 'a;

/// One kind of part that can be taken out.
pub(crate) trait Reduction: Sync {
    /// How many parts `state` has.
    fn n_sites(&self, state: &State) -> usize;

    /// `state` without the parts `sites`, or as many of them as can go; none if none can.
    fn without(&self, state: &State, sites: Range<usize>) -> Option<State>;

    /// Does it want to be tried on a state of that size? Those that try every token do not want large ones.
    fn wants(&self, state: &State) -> bool {
        let _ = state;
        true
    }
}

/// What is told while it goes on.
#[derive(Clone, Debug)]
pub struct Progress {
    /// What is being taken out.
    pub what: &'static str,
    /// The size now.
    pub size: Size,
    /// How often it was asked so far.
    pub asked: u64,
    /// Is this a new best text?
    pub better: bool,
}

/// How large a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Ops of all items, literals aside; none if the text does not read.
    pub ops: Option<usize>,
    /// Lines that are not empty and hold more than a comment.
    pub lines: usize,
    /// Passes of the pipeline of a reproducer.
    pub passes: usize,
}

/// How it is gone about.
pub struct Options<'o> {
    /// How many candidates are asked about at a time; at least one.
    pub threads: usize,
    /// The dialects that texts are read in.
    pub registry: std::sync::Arc<Registry>,
    /// Keep ops that no dialect declares.
    pub allow_unknown_ops: bool,
    /// Hears of progress: with the best text so far where there is a new one. An error ends the reduction.
    pub watch: &'o mut dyn FnMut(&Progress, &str) -> Result<(), String>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The text, as small as it could be made.
    pub text: String,
    /// The size before.
    pub before: Size,
    /// The size after.
    pub after: Size,
    /// How often it was asked.
    pub asked: u64,
    /// How long it took.
    pub time: Duration,
    /// Why it ended early, if it did.
    pub stopped: Option<String>,
}

/// Why nothing was reduced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotReduced {
    /// The text as it came in is not interesting.
    NotInteresting,
    /// The head of the reproducer is wrong.
    Head(String),
    /// The first question could not be answered.
    Ask(String),
}

/// Makes `text` small while `ask` says that it is interesting.
pub fn reduce(text: &str, options: Options<'_>, ask: &Ask<'_>) -> Result<Reduced, NotReduced> {
    driver::reduce(text, options, ask)
}

/// The reductions in their order, each with the words that progress is reported in: what takes out most comes first, and
/// what only makes the rest easier to read comes last.
pub(crate) fn reductions() -> Vec<(&'static str, Box<dyn Reduction>)> {
    vec![
        ("passes", Box::new(text::Passes)),
        ("locations", Box::new(text::Locations)),
        ("items", Box::new(ir::Items)),
        ("ops", Box::new(ir::Ops)),
        ("loops", Box::new(ir::Blocks)),
        ("header", Box::new(ir::Header)),
        ("operands", Box::new(ir::Forward)),
        ("operands", Box::new(ir::Constants { one: false })),
        ("operands", Box::new(ir::Constants { one: true })),
        ("attributes", Box::new(ir::Attributes)),
        ("lines", Box::new(text::Lines)),
        ("numbers", Box::new(text::Numbers { to: text::To::Fixed(1) })),
        ("numbers", Box::new(text::Numbers { to: text::To::Fixed(2) })),
        ("numbers", Box::new(text::Numbers { to: text::To::Half })),
        ("numbers", Box::new(text::Numbers { to: text::To::Less })),
        ("symbols", Box::new(text::Symbols)),
        ("tokens", Box::new(text::Tokens)),
        ("names", Box::new(text::Names)),
    ]
}
