//! Lanes of vectors.
//!
//! A program has vectors of one number, of numbers that go up in steps, and of what is loaded side by side. Others, put
//! together or taken apart lane by lane, go through a buffer of the thread's own, which becomes registers.

use super::state::{Known, Reader, attribute};
use super::types::BufferType;
use melior::ir::OperationRef;
use tc_dialects::{arith as ops, tir};
use tc_ir::{Elem, Scalar, Value, keys};

impl Reader<'_> {
    /// An op of lanes, if `name` is one.
    pub(crate) fn vector(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        match name {
            "vector.broadcast" | "vector.splat" => self.broadcast(op),
            "vector.from_elements" => self.put_together(op),
            "vector.extract" => self.extract(op),
            _ => return false,
        }
        true
    }

    fn broadcast(&mut self, op: OperationRef<'_, '_>) {
        let made = self.result_type(op, 0).and_then(|scalar| {
            let value = self.number(op, 0)?;
            if self.scalar(value).lanes != 1 {
                self.refuse(op, "only a number becomes a vector", "broadcast the number itself");
                return None;
            }
            self.broadcast_value(op, value, scalar)
        });
        self.give_value(op, made);
    }

    fn put_together(&mut self, op: OperationRef<'_, '_>) {
        use melior::ir::operation::OperationLike;
        let lanes: Vec<Option<Value>> = (0..op.operand_count()).map(|nth| self.number(op, nth)).collect();
        let known = match lanes.into_iter().collect::<Option<Vec<Value>>>() {
            Some(lanes) => match self.result_type(op, 0) {
                // An index is a number of any type, and lanes have one.
                Some(scalar) if lanes.iter().any(|&lane| self.scalar(lane) != self.scalar(lanes[0])) => {
                    Known::Lanes(lanes.into_iter().map(|lane| self.as_elem(op, lane, scalar.elem)).collect())
                }
                Some(_) => Known::Lanes(lanes),
                None => Known::Missing,
            },
            None => Known::Missing,
        };
        self.give(op, known);
    }

    fn extract(&mut self, op: OperationRef<'_, '_>) {
        let lane = attribute(op, "static_position").and_then(|text| {
            let numbers = text.split_once(": ")?.1.trim_end_matches('>').to_string();
            numbers.parse::<usize>().ok()
        });
        let Some(lane) = lane else {
            self.refuse(op, "the lane is no number", "extract a lane of a vector at a literal position");
            return self.give(op, Known::Missing);
        };
        let known = match self.operand(op, 0) {
            Known::Lanes(lanes) => lanes.get(lane).copied().map_or(Known::Missing, Known::Value),
            Known::Value(vector) => self.lane(op, vector, lane).map_or(Known::Missing, Known::Value),
            _ => Known::Missing,
        };
        self.give(op, known);
    }

    /// Lane `lane` of `vector`.
    fn lane(&mut self, op: OperationRef<'_, '_>, vector: Value, lane: usize) -> Option<Value> {
        let made = self.func.def_op(vector).map(|made| (made, self.func.opcode(made)));
        if let Some((made, ops::BROADCAST)) = made {
            return Some(self.func.operand(made, 0));
        }
        let scalar = self.scalar(vector);
        let buffer = self.lanes_buffer(op, scalar)?;
        let all = self.lane_indices(op, scalar.lanes)?;
        self.make(op, tir::STORE, &[buffer, all, vector], &[], &[], 0);
        let index = self.builder(op).index(i64::try_from(lane).unwrap_or(0));
        self.infer(op, tir::LOAD, &[buffer, index], &[])
    }

    /// The vector of the numbers `lanes`.
    pub(crate) fn together(&mut self, op: OperationRef<'_, '_>, lanes: &[Value]) -> Option<Value> {
        let first = *lanes.first()?;
        let elem = self.scalar(first).elem;
        let scalar = Scalar { elem, lanes: u16::try_from(lanes.len()).ok()? };
        if lanes.iter().all(|&lane| self.func.is_same_value(lane, first)) {
            return self.broadcast_value(op, first, scalar);
        }
        let buffer = self.lanes_buffer(op, scalar)?;
        for (nth, &lane) in lanes.iter().enumerate() {
            let lane = self.as_elem(op, lane, elem);
            let index = self.builder(op).index(i64::try_from(nth).unwrap_or(0));
            self.make(op, tir::STORE, &[buffer, index, lane], &[], &[], 0);
        }
        let all = self.lane_indices(op, scalar.lanes)?;
        self.infer(op, tir::LOAD, &[buffer, all], &[])
    }

    /// A buffer of the thread's own for the lanes of a vector.
    fn lanes_buffer(&mut self, op: OperationRef<'_, '_>, scalar: Scalar) -> Option<Value> {
        let ty = BufferType {
            elem: Scalar::of(scalar.elem),
            shape: vec![Some(scalar.lanes.into())],
            scope: "local",
            has_layout: false,
        };
        let buffer = self.alloc(op, &ty, None)?;
        self.name(buffer, "lanes");
        Some(buffer)
    }

    /// `0, 1, …`
    fn lane_indices(&mut self, op: OperationRef<'_, '_>, lanes: u16) -> Option<Value> {
        let zero = self.builder(op).int(0, Elem::Index);
        self.neighbours(op, zero, lanes)
    }

    /// `base, base + 1, …`
    pub(crate) fn neighbours(&mut self, op: OperationRef<'_, '_>, base: Value, lanes: u16) -> Option<Value> {
        let elem = self.scalar(base).elem;
        let one = self.builder(op).int(1, elem);
        let lanes = self.func.int_attr(lanes.into());
        self.infer(op, ops::RAMP, &[base, one], &[(keys::LANES, lanes)])
    }
}
