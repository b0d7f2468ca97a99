//! Loads and stores of a stage's own buffers: where its elements lie, and when it stores.

use super::Emitter;
use crate::graph::StageId;
use tc_arith::Expr;
use tc_dialects::tir;
use tc_ir::{Op, Value};
use tc_support::Diagnostic;

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
        self.graph()[stage].parts.iter().fold(indices, |indices, part| part.place(self, indices))
    }

    /// Writes the region of `directive` for `args`; `params` are parameters of the schedule that it uses. Gives what it yields.
    pub(crate) fn region(&mut self, directive: Op, params: &[(Value, i64)], args: Vec<Value>) -> Vec<Value> {
        let Some(mut map) = self.directives.take() else { return args };
        let (sched, region) = (map.src(), map.src().op_regions(directive)[0]);
        map.values.clear();
        for &(param, value) in params {
            let value = self.builder().index(value);
            map.values.insert(param, value);
        }
        map.values.extend(sched.region_args(region).iter().copied().zip(args));
        let end = sched.terminator(region);
        for op in sched.ops(region).filter(|&op| Some(op) != end) {
            map.op(&mut self.builder(), op);
        }
        let mapped = sched.yielded(region).iter().map(|value| map.values[value]).collect();
        self.directives = Some(map);
        mapped
    }

    /// Opens the conditions under which `stage` stores. Says whether there is one.
    pub(super) fn open_store(&mut self, stage: StageId) -> Result<bool, Diagnostic> {
        let mut is_conditional = false;
        for part in self.graph()[stage].parts.iter() {
            is_conditional |= part.open_store(self, stage)?;
        }
        Ok(is_conditional)
    }
}
