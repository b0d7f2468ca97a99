//! The condition around the stores of a stage.

use super::Predicate;
use super::condition::Term;
use crate::directive::code_list;
use crate::graph::{Kind, StageId};
use crate::lower::Emitter;
use tc_dialects::arith;
use tc_ir::Value;
use tc_ir::attrs::{BinOp, UnOp};
use tc_support::Diagnostic;

/// Opens the condition under which `stage` stores.
pub(super) fn open(predicate: &Predicate, emitter: &mut Emitter<'_>, stage: StageId) -> Result<(), Diagnostic> {
    let locs = emitter.locs;
    emitter.locs.directive = emitter.directive(predicate.loc);
    let condition = condition(predicate, emitter, stage)?;
    emitter.open_if(condition);
    emitter.locs = locs;
    Ok(())
}

fn condition(predicate: &Predicate, emitter: &mut Emitter<'_>, stage: StageId) -> Result<Value, Diagnostic> {
    let mut stack: Vec<Value> = Vec::new();
    for &term in &predicate.terms {
        let value = match term {
            Term::Int(value) => emitter.builder().index(value),
            Term::Bool(value) => emitter.builder().bool(value),
            Term::Coordinate(_) | Term::Counter(_) => counter(predicate, emitter, stage, term)?,
            Term::Unary(op) => {
                let arg = stack.pop().expect("the terms were checked where they were read");
                let opcode = if op == UnOp::Not { arith::NOT } else { arith::NEG };
                emitter.builder().value(opcode, &[arg], &[])
            }
            Term::Binary(op) => {
                let args = stack.split_off(stack.len() - 2);
                match comparison(op) {
                    Some(word) => emitter.compare(word, &args),
                    None => emitter.builder().infix(op, &args),
                }
            }
        };
        stack.push(value);
    }
    Ok(stack.pop().expect("a condition has a value"))
}

/// The counter that a term is.
fn counter(predicate: &Predicate, emitter: &mut Emitter<'_>, stage: StageId, term: Term) -> Result<Value, Diagnostic> {
    let graph = emitter.graph();
    let (found, name) = match term {
        Term::Counter(leaf) if emitter.bounds.extents[leaf.idx()] == 1 && graph[stage].leaves.contains(&leaf) => {
            return Ok(emitter.builder().index(0));
        }
        Term::Counter(leaf) => (emitter.counter(leaf), graph[leaf].name.to_string()),
        Term::Coordinate(coordinate) => {
            let bound = emitter.open_loops().rev().find(|&leaf| graph[leaf].kind == Kind::Launch(coordinate));
            (bound.and_then(|leaf| emitter.counter(leaf)), coordinate.name().to_string())
        }
        _ => (None, String::new()),
    };
    found.ok_or_else(|| {
        let text = format!("`{name}` is no loop around the store of `{}`", graph[stage].name);
        let open: Vec<&str> = emitter.open_loops().map(|leaf| &*graph[leaf].name).collect();
        let help = format!("around it are {}", code_list(&open));
        Diagnostic::error("predicate", emitter.location(predicate.loc), text).help(help)
    })
}

/// The predicate of a comparison.
fn comparison(op: BinOp) -> Option<&'static str> {
    Some(match op {
        BinOp::Eq => "eq",
        BinOp::Ne => "ne",
        BinOp::Lt => "lt",
        BinOp::Le => "le",
        BinOp::Gt => "gt",
        BinOp::Ge => "ge",
        _ => return None,
    })
}
