//! The condition under which a stage stores: an expression over launch coordinates, loops and parameters.

use crate::directive::{Cx, Done, Item};
use crate::graph::{AxisId, StageId};
use tc_dialects::tir::Coordinate;
use tc_ir::Attr;
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_support::suggest;

/// How many operators a condition may have.
const MAX_TERMS: usize = 200;

/// A step of a condition, in the order in which a stack evaluates it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Term {
    /// A number.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A coordinate of the launch.
    Coordinate(Coordinate),
    /// The counter of a loop.
    Counter(AxisId),
    /// An operator on what was evaluated last.
    Unary(UnOp),
    /// An operator on the two that were evaluated last.
    Binary(BinOp),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Bool,
}

/// Reads the condition `attr` of a directive about `stage`.
pub(super) fn read(cx: &Cx<'_>, stage: StageId, attr: Attr) -> Done<Vec<Term>> {
    enum Pending {
        Visit(Attr),
        Push(Term),
    }
    let mut terms = Vec::new();
    let mut worklist = vec![Pending::Visit(attr)];
    while let Some(next) = worklist.pop() {
        if terms.len() + worklist.len() > MAX_TERMS {
            return Err(cx.error("predicate", format!("a condition has at most {MAX_TERMS} terms")).into());
        }
        let attr = match next {
            Pending::Push(term) => {
                terms.push(term);
                continue;
            }
            Pending::Visit(attr) => attr,
        };
        match cx.sched.attr_data(attr) {
            AttrData::Int(value, _) if i64::try_from(*value).is_ok() => terms.push(Term::Int(*value as i64)),
            AttrData::Bool(value) => terms.push(Term::Bool(*value)),
            AttrData::Word(name) => terms.push(word(cx, stage, cx.sched.text(*name))?),
            AttrData::Unary(op, arg) => worklist.extend([Pending::Push(Term::Unary(*op)), Pending::Visit(*arg)]),
            AttrData::Binary(op, lhs, rhs) => {
                worklist.extend([Pending::Push(Term::Binary(*op)), Pending::Visit(*rhs), Pending::Visit(*lhs)])
            }
            _ => {
                let text = format!("`{}` is no part of a condition", suggest::shorten(&cx.sched.show_attr(attr)));
                let help = "write a comparison of loops, launch coordinates and numbers, as in `threadIdx.x == 0`";
                return Err(cx.error("predicate", text).help(help).into());
            }
        }
    }
    if kind(&terms) != Some(Kind::Bool) {
        let text = format!("`{}` is no condition", suggest::shorten(&cx.sched.show_attr(attr)));
        return Err(cx.error("predicate", text).help("write a comparison, as in `threadIdx.x == 0`").into());
    }
    Ok(terms)
}

/// What the word `name` stands for.
fn word(cx: &Cx<'_>, stage: StageId, name: &str) -> Done<Term> {
    if let Some(coordinate) = Coordinate::parse(name) {
        return Ok(Term::Coordinate(coordinate));
    }
    let params = cx.sched.params().iter();
    if let Some(&param) = params.clone().find(|&&param| cx.sched.value_text(param) == name)
        && let Item::Int(value) = cx.env[param.as_u32() as usize]
    {
        return Ok(Term::Int(value));
    }
    let leaves = &cx.graph[stage].leaves;
    if let Some(&leaf) = leaves.iter().find(|&&leaf| &*cx.graph[leaf].name == name) {
        return Ok(Term::Counter(leaf));
    }
    let names = cx.graph.names(leaves);
    let text =
        format!("`{}` is neither a loop of `{}` nor a launch coordinate", suggest::shorten(name), cx.graph[stage].name);
    let mut error = cx.error("predicate", text).note(cx.loops_of(stage));
    error.diagnostic.help = suggest::did_you_mean(name, names);
    Err(error.into())
}

/// What the condition is of, if its operators fit their operands.
fn kind(terms: &[Term]) -> Option<Kind> {
    let mut stack: Vec<Kind> = Vec::new();
    for (nth, term) in terms.iter().enumerate() {
        let result = match term {
            Term::Int(_) | Term::Coordinate(_) | Term::Counter(_) => Kind::Int,
            Term::Bool(_) => Kind::Bool,
            Term::Unary(UnOp::Not) => (stack.pop()? == Kind::Bool).then_some(Kind::Bool)?,
            Term::Unary(UnOp::Neg) => (stack.pop()? == Kind::Int).then_some(Kind::Int)?,
            Term::Binary(op) => {
                let (rhs, lhs) = (stack.pop()?, stack.pop()?);
                // A condition is evaluated by every thread, so it may not fail.
                let divides = matches!(op, BinOp::Div | BinOp::Mod | BinOp::Shl | BinOp::Shr);
                if divides && !matches!(terms[nth - 1], Term::Int(1..=62)) {
                    return None;
                }
                let (wanted, result) = match op {
                    BinOp::OrOr | BinOp::AndAnd => (Kind::Bool, Kind::Bool),
                    BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => (Kind::Int, Kind::Bool),
                    _ => (Kind::Int, Kind::Int),
                };
                ((lhs, rhs) == (wanted, wanted)).then_some(result)?
            }
        };
        stack.push(result);
    }
    match stack[..] {
        [only] => Some(only),
        _ => None,
    }
}
