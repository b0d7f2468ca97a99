//! Random operators: chains of one to five stages, each made of what was there before.
//!
//! Accesses are in range by how they are made, so that the definition always has a value. Sizes are small and awkward.

mod shapes;
mod terms;

use super::expr::Expr;
use super::operator::{Operator, Param, Stage};
use super::rng::Rng;

/// Sizes that are drawn.
const SIZES: &[i64] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 19, 23, 32];
/// Steps that an operator may take.
const MOST_WORK: i64 = 4000;

/// A tensor that can be read.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    elem: &'static str,
    shape: Vec<Expr>,
    /// No rounding lies behind its elements, so that comparing them is the same in every order of evaluation.
    exact: bool,
    /// Its elements are as small as inputs are.
    small: bool,
}

struct Maker<'r> {
    rng: &'r mut Rng,
    op: Operator,
    sources: Vec<Source>,
    symbolic: bool,
    /// Of the stage that is being made: none of its results is as exact as what it reads.
    rounds: bool,
}

/// A random operator, `@op`.
pub fn operator(rng: &mut Rng) -> Operator {
    let symbolic = rng.chance(25);
    let mut maker = Maker { rng, op: Operator::default(), sources: Vec::new(), symbolic, rounds: false };
    maker.first_argument();
    let n_stages = maker.rng.pick(&[1, 1, 1, 2, 2, 2, 3, 3, 4, 5]);
    for _ in 0..n_stages {
        maker.add_stage();
    }
    maker.choose_outputs();
    maker.op
}

impl Maker<'_> {
    fn first_argument(&mut self) {
        let rank = self.rng.pick(&[1, 1, 2, 2, 2, 3]);
        let shape: Vec<Expr> = loop {
            let shape: Vec<Expr> = (0..rank).map(|_| self.size()).collect();
            if shape.iter().map(|extent| self.value(extent)).product::<i64>() <= 300 {
                break shape;
            }
        };
        let elem = self.rng.pick(&["f32", "f32", "f32", "f32", "f32", "f16", "i32", "i8", "f64"]);
        self.param("A", elem, shape);
    }

    /// Makes one more stage, of what is there.
    fn add_stage(&mut self) {
        for _ in 0..6 {
            let before = (self.op.clone(), self.sources.clone());
            let stages: Vec<Source> =
                self.sources.iter().filter(|source| !self.is_param(&source.name)).cloned().collect();
            let source = match stages.last() {
                Some(last) if self.rng.chance(65) => last.clone(),
                Some(_) if self.rng.chance(60) => self.rng.pick(&stages),
                _ => self.sources[0].clone(),
            };
            self.rounds = false;
            if self.stage(&source).is_some() && self.op.work() <= MOST_WORK {
                return;
            }
            (self.op, self.sources) = before;
        }
    }

    fn is_param(&self, name: &str) -> bool {
        self.op.params.iter().any(|param| param.name == name)
    }

    /// What nothing reads is a result, and sometimes something that is read is one too.
    fn choose_outputs(&mut self) {
        let mut read = Vec::new();
        for stage in &self.op.stages {
            read.extend(stage.reads());
        }
        let stages = std::mem::take(&mut self.op.stages);
        for stage in &stages {
            let unread = stage.results.iter().all(|(name, _)| !read.contains(name));
            if unread || self.rng.chance(8) {
                self.op.outputs.extend(stage.results.iter().map(|(name, _)| name.clone()));
            }
        }
        self.op.stages = stages;
    }

    fn value(&self, expr: &Expr) -> i64 {
        self.op.value(expr).unwrap_or(0)
    }

    /// A size: a new one, or one that is there.
    fn size(&mut self) -> Expr {
        if !self.op.sizes.is_empty() && self.rng.chance(40) {
            return Expr::Size(self.rng.below(self.op.sizes.len()));
        }
        self.new_size(SIZES)
    }

    fn new_size(&mut self, of: &[i64]) -> Expr {
        let size = self.rng.pick(of);
        self.op.sizes.push(size);
        let symbolic = self.symbolic && self.rng.chance(60);
        self.op.symbolic.push(symbolic);
        Expr::Size(self.op.sizes.len() - 1)
    }

    /// A new argument, or one that is there and fits.
    fn param(&mut self, like: &str, elem: &'static str, shape: Vec<Expr>) -> Source {
        let shape: Vec<Expr> = shape.iter().map(|extent| self.op.without_lets(extent)).collect();
        let fits = |source: &&Source| source.elem == elem && source.shape == shape;
        let known: Vec<Source> =
            self.sources.iter().filter(fits).filter(|source| self.is_param(&source.name)).cloned().collect();
        if !known.is_empty() && self.rng.chance(30) {
            return self.rng.pick(&known);
        }
        let name = format!("{like}{}", self.op.params.len());
        self.op.params.push(Param { name: name.clone(), elem, shape: shape.clone() });
        let source = Source { name, elem, shape, exact: true, small: true };
        self.sources.push(source.clone());
        source
    }

    /// Takes in a stage, and makes its results sources.
    fn push(&mut self, stage: Stage, exact: bool, small: bool) {
        let shape: Vec<Expr> = stage.axes.iter().map(|axis| axis.high.clone()).collect();
        for (name, elem) in &stage.results {
            let exact = exact || is_integer(elem);
            self.sources.push(Source { name: name.clone(), elem, shape: shape.clone(), exact, small });
        }
        self.op.stages.push(stage);
    }
}

fn is_integer(elem: &str) -> bool {
    matches!(elem, "i32" | "i8" | "bool")
}

/// A literal of a type.
fn literal(elem: &str, value: i64, halves: bool) -> Expr {
    let text = match elem {
        "bool" => if value != 0 { "true" } else { "false" }.to_string(),
        elem if is_integer(elem) => format!("{value}{elem}"),
        elem => format!("{value}.{}{elem}", if halves { "5" } else { "0" }),
    };
    let negative = text.starts_with('-');
    Expr::Literal(if negative { format!("({text})") } else { text })
}
