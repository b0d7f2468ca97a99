//! Loads and stores of a stage's own buffers: where its elements lie, and when it stores.

use super::Emitter;
use crate::body::Vars;
use crate::graph::{Kind, StageId};
use crate::predicate::{Predicate, Term};
use tc_arith::Expr;
use tc_dialects::{arith, tir};
use tc_ir::attrs::{BinOp, UnOp};
use tc_ir::{Opcode, Value};
use tc_support::{Diagnostic, Location};

/// The buffers of a stage, and the indices of an element in them.
pub(super) struct Target {
    buffers: Vec<Value>,
    indices: Vec<Value>,
}

impl<'a> Emitter<'a> {
    /// The values that `stage` has at `place`.
    pub(super) fn load(&mut self, stage: StageId, place: &[Expr]) -> Vec<Value> {
        let (buffers, indices) = self.target(stage, place);
        buffers.into_iter().map(|buffer| self.load_at(buffer, &indices)).collect()
    }

    pub(super) fn load_at(&mut self, buffer: Value, indices: &[Value]) -> Value {
        let operands: Vec<Value> = std::iter::once(buffer).chain(indices.iter().copied()).collect();
        self.builder().value(tir::Load::OPCODE, &operands, &[])
    }

    /// Where `stage` stores its first result: written before what is stored, as text has it, so that a program and its text
    /// have their ops in one order.
    pub(super) fn target_of(&mut self, stage: StageId, place: &[Expr]) -> Target {
        let (buffers, indices) = self.target(stage, place);
        Target { buffers, indices }
    }

    /// Stores what `stage` computes for `place`, the first result at `target`.
    pub(super) fn store(&mut self, stage: StageId, values: &[Value], place: &[Expr], target: Target) {
        let Target { buffers, indices } = target;
        for (nth, &value) in values.iter().enumerate() {
            let indices = if nth == 0 { indices.clone() } else { self.target(stage, place).1 };
            self.store_at(buffers[nth], &indices, value);
        }
    }

    pub(super) fn store_at(&mut self, buffer: Value, indices: &[Value], value: Value) {
        tir::Store::build(&mut self.builder(), buffer, indices, value, &[], &[]);
    }

    /// The buffers of `stage`, and the indices in them that `place` comes to.
    fn target(&mut self, stage: StageId, place: &[Expr]) -> (Vec<Value>, Vec<Value>) {
        if let Some((of, parts)) = &self.parts
            && *of == stage
        {
            let parts = parts.clone();
            return (parts, vec![self.builder().index(0)]);
        }
        let indices: Vec<Value> = place.iter().map(|&index| self.expr(index)).collect();
        (self.buffers[stage.idx()].clone(), self.laid_out(stage, indices))
    }

    /// The indices in the buffers of `stage` of the element that would be at `indices`.
    pub(super) fn laid_out(&mut self, stage: StageId, indices: Vec<Value>) -> Vec<Value> {
        let Some(layout) = &self.graph()[stage].layout else { return indices };
        let Some(mut map) = self.directives.take() else { return indices };
        let (sched, region) = (map.src(), map.src().op_regions(layout.directive)[0]);
        map.values.clear();
        for &(param, value) in &layout.params {
            let value = self.builder().index(value);
            map.values.insert(param, value);
        }
        map.values.extend(sched.region_args(region).iter().copied().zip(indices));
        let end = sched.terminator(region);
        for op in sched.ops(region).filter(|&op| Some(op) != end) {
            map.op(&mut self.builder(), op);
        }
        let mapped = sched.yielded(region).iter().map(|value| map.values[value]).collect();
        self.directives = Some(map);
        mapped
    }

    /// Opens the condition under which `stage` stores.
    pub(super) fn open_predicate(&mut self, stage: StageId) -> Result<(), Diagnostic> {
        let Some(predicate) = &self.graph()[stage].predicate else { return Ok(()) };
        let locs = self.locs;
        self.locs.directive = self.directive(predicate.loc);
        let condition = self.condition(stage, predicate)?;
        self.open_if(condition);
        self.locs = locs;
        Ok(())
    }

    fn condition(&mut self, stage: StageId, predicate: &Predicate) -> Result<Value, Diagnostic> {
        let mut stack: Vec<Value> = Vec::new();
        for &term in &predicate.terms {
            let value = match term {
                Term::Int(value) => self.builder().index(value),
                Term::Bool(value) => self.builder().bool(value),
                Term::Coordinate(_) | Term::Counter(_) => self.counter_of(stage, term, predicate)?,
                Term::Unary(op) => {
                    let arg = stack.pop().expect("the terms were checked where they were read");
                    let opcode = if op == UnOp::Not { arith::NOT } else { arith::NEG };
                    self.builder().value(opcode, &[arg], &[])
                }
                Term::Binary(op) => {
                    let args = stack.split_off(stack.len() - 2);
                    match comparison(op) {
                        Some(word) => self.compare(word, &args),
                        None => self.builder().value(opcode(op), &args, &[]),
                    }
                }
            };
            stack.push(value);
        }
        Ok(stack.pop().expect("a condition has a value"))
    }

    /// The counter that a term of a predicate is.
    fn counter_of(&mut self, stage: StageId, term: Term, predicate: &Predicate) -> Result<Value, Diagnostic> {
        let graph = self.graph();
        let (found, name) = match term {
            Term::Counter(leaf) if self.bounds.extents[leaf.idx()] == 1 && graph[stage].leaves.contains(&leaf) => {
                return Ok(self.builder().index(0));
            }
            Term::Counter(leaf) => (self.values.get(&Vars::counter(leaf)).copied(), graph[leaf].name.to_string()),
            Term::Coordinate(coordinate) => {
                let bound =
                    |var| Vars::as_counter(var).is_some_and(|leaf| graph[leaf].kind == Kind::Launch(coordinate));
                let open = self.open.iter().rev().filter_map(|open| open.counter).find(|&var| bound(var));
                (open.and_then(|var| self.values.get(&var).copied()), coordinate.name().to_string())
            }
            _ => (None, String::new()),
        };
        found.ok_or_else(|| {
            let location = match &self.directives {
                Some(directives) => directives.src().location(predicate.loc),
                None => Location::None,
            };
            let text = format!("`{name}` is no loop around the store of `{}`", graph[stage].name);
            let open: Vec<AxisName<'_>> = self
                .open
                .iter()
                .filter_map(|open| Vars::as_counter(open.counter?))
                .map(|leaf| &*graph[leaf].name)
                .collect();
            let help = format!("around it are {}", crate::directive::code_list(&open));
            Diagnostic::error("predicate", location, text).help(help)
        })
    }
}

type AxisName<'g> = &'g str;

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

fn opcode(op: BinOp) -> Opcode {
    match op {
        BinOp::OrOr => arith::OR,
        BinOp::AndAnd => arith::AND,
        BinOp::BitOr => arith::BITOR,
        BinOp::BitXor => arith::BITXOR,
        BinOp::BitAnd => arith::BITAND,
        BinOp::Shl => arith::SHL,
        BinOp::Shr => arith::SHR,
        BinOp::Sub => arith::SUB,
        BinOp::Mul => arith::MUL,
        BinOp::Div => arith::DIV,
        BinOp::Mod => arith::MOD,
        _ => arith::ADD,
    }
}
