//! What a stage is made of: which element of a tensor stands where.

use super::{Maker, Source, is_integer, literal};
use crate::random::expr::Expr;
use crate::random::operator::{Axis, Reduce, Stage};

const DATA: &[&str] = &["i", "j", "k", "l", "m", "p"];
const REDUCED: &[&str] = &["r", "s", "t"];
/// Terms that one reduction may take in.
const MOST_TERMS: i64 = 64;

/// A stage on the way: its axes, and the element that it is about.
pub(super) struct Draft {
    pub(super) axes: Vec<Axis>,
    pub(super) reduced: Vec<Axis>,
    pub(super) main: Expr,
    /// The condition under which `main` is in range.
    guard: Option<Expr>,
    shape: &'static str,
}

fn var(axis: &Axis) -> Expr {
    Expr::Name(axis.name.clone())
}

fn axis(name: &str, high: Expr) -> Axis {
    Axis { name: name.to_string(), low: 0, high }
}

impl Maker<'_> {
    /// One stage that reads `source`; none where what was drawn does not fit.
    pub(super) fn stage(&mut self, source: &Source) -> Option<()> {
        if source.elem == "f32" && source.exact && !source.shape.is_empty() && self.rng.chance(6) {
            return self.argmax(source);
        }
        let mut draft = self.draft(source)?;
        let elem = self.elem_of(source);
        if elem == "bool" && !draft.reduced.is_empty() {
            return None;
        }
        let mut main = self.converted(source, elem, std::mem::replace(&mut draft.main, Expr::Int(0)));
        if let Some(guard) = draft.guard.take() {
            let how = if self.rng.chance(60) { "if_then_else" } else { "select" };
            let other = self.rng.pick(&[0, 0, 0, 1]);
            main = Expr::Call(how, vec![guard, main, literal(elem, other, false)]);
        }
        self.op.shapes.push(draft.shape);
        let mut body = main;
        let n_terms = self.rng.pick(&[0, 0, 1, 1, 2]);
        for _ in 0..n_terms {
            body = self.with_term(body, elem, &draft);
        }
        let name = format!("T{}", self.op.stages.len());
        let reduce = if draft.reduced.is_empty() { None } else { Some(self.reduce(source, elem, &draft)?) };
        let exact_reduction = reduce.as_ref().is_none_or(|reduce| reduce.by == "max" || reduce.by == "min");
        let exact = source.exact && !self.rounds && exact_reduction;
        let small = source.small && n_terms == 0 && exact_reduction;
        let stage = Stage { results: vec![(name, elem)], axes: draft.axes, reduce, body: vec![body] };
        self.push(stage, exact, small);
        Some(())
    }

    /// The accesses of a stage.
    fn draft(&mut self, source: &Source) -> Option<Draft> {
        let shape = &source.shape;
        let n = shape.len();
        let mut axes: Vec<Axis> = (0..n).map(|at| axis(DATA[at], shape[at].clone())).collect();
        let mut index: Vec<Expr> = axes.iter().map(var).collect();
        let mut reduced = Vec::new();
        let mut guard = None;
        let at = self.rng.below(n);
        let extent = shape.get(at).map_or(0, |extent| self.value(extent));
        let width = self.rng.pick(&[2, 3, 3, 4]);
        let what = if n == 0 { 0 } else { self.rng.below(18) };
        let name = match what {
            1 if n > 1 => {
                let other = (at + 1) % n;
                axes.swap(at, other);
                "transpose"
            }
            2 if extent > width => {
                axes[at].high = shape[at].clone().plus(1 - width);
                reduced.push(axis("r", Expr::Int(width)));
                index[at] = var(&axes[at]).infix("+", Expr::Name("r".into()));
                "window"
            }
            3 => {
                let pad = self.rng.pick(&[1, 1, 2]);
                axes[at].high = shape[at].clone().plus(2 * pad);
                index[at] = var(&axes[at]).plus(-pad);
                guard = Some(in_range(&index[at], &shape[at]));
                "pad"
            }
            4 => {
                // As long as what it reads: both ends are guarded.
                reduced.push(axis("r", Expr::Int(width)));
                index[at] = var(&axes[at]).infix("+", Expr::Name("r".into())).plus(-(width / 2));
                guard = Some(in_range(&index[at], &shape[at]));
                "same"
            }
            5 if extent >= 2 => {
                axes[at].high = self.half_of(&shape[at]);
                index[at] = var(&axes[at]).infix("*", Expr::Int(2)).plus(self.rng.pick(&[0, 1]));
                "strided"
            }
            6 if n > 1 && at + 1 < n => {
                let inner = shape[at + 1].clone();
                let whole = Expr::Name(axes[at].name.clone());
                axes[at].high = shape[at].clone().infix("*", inner.clone());
                axes.remove(at + 1);
                index[at] = whole.clone().infix("/", inner.clone());
                index[at + 1] = whole.infix("%", inner);
                "flatten"
            }
            7 if n < 3 => {
                let by = self.rng.pick(&[2, 3, 4]);
                axes[at].high = shape[at].clone().plus(by - 1).infix("/", Expr::Int(by));
                axes.insert(at + 1, axis("q", Expr::Int(by)));
                index[at] = var(&axes[at]).infix("*", Expr::Int(by)).infix("+", Expr::Name("q".into()));
                guard = Some(index[at].clone().infix("<", shape[at].clone()));
                "unflatten"
            }
            8 => {
                let by = self.rng.pick(&[2, 3]);
                axes[at].high = shape[at].clone().infix("*", Expr::Int(by));
                index[at] = var(&axes[at]).infix("/", Expr::Int(by));
                "upsample"
            }
            9 => {
                index[at] = var(&axes[at]).plus(width).infix("%", shape[at].clone());
                "rotate"
            }
            10 if n < 3 => {
                let high = self.new_size(&[1, 2, 3, 4, 5, 7]);
                axes.insert(at, axis("b", high));
                "broadcast"
            }
            11 => {
                index[at] = shape[at].clone().plus(-1).infix("-", var(&axes[at]));
                "reverse"
            }
            // The half of a size of 1 is nothing to gather from.
            12 if matches!(shape[at], Expr::Int(_) | Expr::Name(_)) => {
                let high = self.size();
                let indices = self.param("X", "i32", vec![high.clone()]);
                // Neighbours may share what says where their element is.
                let by = self.rng.pick(&[1, 1, 2, 4]);
                axes[at].high = if by == 1 { high } else { high.infix("*", Expr::Int(by)) };
                let place = if by == 1 { var(&axes[at]) } else { var(&axes[at]).infix("/", Expr::Int(by)) };
                let drawn = Expr::Read(indices.name, vec![place]);
                index[at] = if self.rng.chance(50) {
                    Expr::Cast("index", Box::new(drawn)).infix("%", shape[at].clone())
                } else {
                    let low = Expr::Call("max", vec![Expr::Cast("index", Box::new(drawn)), Expr::Int(0)]);
                    Expr::Call("min", vec![low, shape[at].clone().plus(-1)])
                };
                "gather"
            }
            17 if n < 3 && extent > width => {
                let high = self.new_size(&[1, 2, 3, 4, 5]);
                let starts = self.param("X", "i32", vec![high.clone()]);
                axes[at].high = Expr::Int(width);
                axes.insert(at, axis("b", high));
                let drawn = Expr::Cast("index", Box::new(Expr::Read(starts.name, vec![var(&axes[at])])));
                let low = Expr::Call("min", vec![drawn, shape[at].clone().plus(-width)]);
                index[at] = Expr::Call("max", vec![low, Expr::Int(0)]).infix("+", var(&axes[at + 1]));
                // An extent that stays open may be less than the window.
                if !matches!(shape[at], Expr::Int(_)) {
                    guard = Some(index[at].clone().infix("<", shape[at].clone()));
                }
                "window of data"
            }
            13..=15 if extent <= MOST_TERMS => {
                // One axis or several are reduced; the others stay.
                let gone = axes.remove(at);
                reduced.push(self.reduced_axis(gone, &mut index[at]));
                if !axes.is_empty() && self.rng.chance(25) {
                    let second = self.rng.below(axes.len());
                    let terms = extent.max(1) * self.value(&axes[second].high);
                    if terms <= MOST_TERMS {
                        let mut gone = axes.remove(second);
                        gone.name = "s".into();
                        let position = if second >= at { second + 1 } else { second };
                        index[position] = Expr::Name("s".into());
                        reduced.push(gone);
                    }
                }
                "reduction"
            }
            16 if n > 1 && extent <= MOST_TERMS => {
                let gone = axes.remove(at);
                reduced.push(self.reduced_axis(gone, &mut index[at]));
                let high = self.new_size(&[1, 2, 3, 5, 8, 10]);
                axes.push(axis("b", high));
                "product"
            }
            _ => "map",
        };
        debug_assert!(reduced.iter().all(|axis| REDUCED.contains(&&*axis.name)));
        let main = Expr::Read(source.name.clone(), index);
        Some(Draft { axes, reduced, main, guard, shape: name })
    }

    /// Makes an axis one of a reduction; sometimes it starts later.
    fn reduced_axis(&mut self, mut gone: Axis, index: &mut Expr) -> Axis {
        gone.name = "r".into();
        *index = Expr::Name("r".into());
        if self.value(&gone.high) > 2 && self.rng.chance(10) {
            gone.low = 1;
        }
        gone
    }

    fn half_of(&mut self, extent: &Expr) -> Expr {
        let half = extent.clone().infix("/", Expr::Int(2));
        if !self.rng.chance(40) {
            return half;
        }
        let name = format!("h{}", self.op.lets.len());
        let value = self.op.without_lets(&half);
        // The extent of an extent that is named is not followed.
        if value.value(&self.op.sizes).is_none() {
            return half;
        }
        self.op.lets.push((name.clone(), value));
        Expr::Name(name)
    }

    /// How a stage reduces.
    fn reduce(&mut self, source: &Source, elem: &'static str, draft: &Draft) -> Option<Reduce> {
        let terms: i64 = draft.reduced.iter().map(|axis| self.value(&axis.high) - axis.low).product();
        let mut ways = vec!["sum", "sum", "sum", "max", "min"];
        if terms <= 4 && elem != "f16" {
            ways.push("prod");
        }
        let by = if draft.shape == "product" { "sum" } else { self.rng.pick(&ways) };
        // Sums of what is large already would overflow.
        if is_integer(elem) && !source.small && by == "prod" {
            return None;
        }
        // Where no term counts, the identity of `min` and `max` is too great for arithmetic on integers.
        let counts_none = !(is_integer(elem) && (by == "min" || by == "max"));
        let condition =
            if counts_none && self.rng.chance(15) { Some(self.condition(&draft.axes, &draft.reduced)) } else { None };
        let init = if self.rng.chance(12) { Some(self.init(elem, draft)) } else { None };
        let until = match draft.axes.is_empty() || !counts_none || !self.rng.chance(12) {
            true => None,
            false => {
                let axis = self.rng.pick(&draft.axes).name;
                Some(self.rng.pick(&[
                    format!("{axis} + 1"),
                    format!("2 * {axis}"),
                    format!("5 - {axis}"),
                    format!("{axis} / 2 + 1"),
                ]))
            }
        };
        Some(Reduce { by, axes: draft.reduced.clone(), condition, init, until })
    }

    fn init(&mut self, elem: &'static str, draft: &Draft) -> Expr {
        if self.rng.chance(50) || draft.axes.is_empty() {
            return literal(elem, 1, false);
        }
        let start = self.param("S", elem, vec![draft.axes[0].high.clone()]);
        Expr::Read(start.name, vec![var(&draft.axes[0])])
    }

    fn argmax(&mut self, source: &Source) -> Option<()> {
        let at = self.rng.below(source.shape.len());
        if self.value(&source.shape[at]) > MOST_TERMS {
            return None;
        }
        let mut axes: Vec<Axis> =
            source.shape.iter().enumerate().map(|(at, high)| axis(DATA[at], high.clone())).collect();
        let mut index: Vec<Expr> = axes.iter().map(var).collect();
        let mut reduced = axes.remove(at);
        reduced.name = "r".into();
        index[at] = Expr::Name("r".into());
        let nth = self.op.stages.len();
        let results = vec![(format!("T{nth}"), "f32"), (format!("T{nth}i"), "i32")];
        let body = vec![Expr::Read(source.name.clone(), index), Expr::Cast("i32", Box::new(Expr::Name("r".into())))];
        self.op.shapes.push("argmax");
        let reduce = Some(Reduce { by: "argmax", axes: vec![reduced], condition: None, init: None, until: None });
        self.push(Stage { results, axes, reduce, body }, true, false);
        Some(())
    }
}

/// Lies `index` in a dimension of `extent`?
fn in_range(index: &Expr, extent: &Expr) -> Expr {
    let from = Expr::Int(0).infix("<=", index.clone());
    from.infix("&&", index.clone().infix("<", extent.clone()))
}
