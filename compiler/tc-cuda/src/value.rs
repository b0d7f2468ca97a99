//! Values: what is written where one is used.

use crate::expr::{self, Expr, prec};
use crate::kernel::Kernel;
use crate::types;
use tc_dialects::{arith, gpu, tir};
use tc_ir::attrs::{AttrData, BinOp};
use tc_ir::{Elem, Op, Scalar, Value};
use tc_kernel::access::{self, Form};

impl Kernel<'_> {
    /// The number `value`, or lane `lane` of it where it is a vector. A number stands for every lane.
    pub(crate) fn lane(&mut self, value: Value, lane: usize) -> Expr {
        let func = self.func;
        let Some(scalar) = func.value_scalar(value) else { return self.stray("a value that is no number") };
        if let Some(name) = self.name_of(value) {
            return match scalar.lanes {
                1 => Expr::name(&name),
                _ => Expr::new(format!("{name}{}", types::member(scalar, lane)), prec::POSTFIX),
            };
        }
        let Some(op) = func.def_op(value) else { return self.stray("an argument that was not declared") };
        match func.opcode(op) {
            arith::CONSTANT | arith::RAMP | arith::BROADCAST => self.arith(op, lane),
            tir::LOAD if scalar.lanes == 1 => self.load(op),
            tir::IF => self.conditional(op),
            _ if self.placement.is_inline(op) && func.opcode(op).dialect() == arith::ADD.dialect() => {
                self.arith(op, lane)
            }
            _ => self.stray("a value that was not declared"),
        }
    }

    /// The value `value`, whole.
    pub(crate) fn value(&mut self, value: Value) -> Expr {
        let func = self.func;
        let Some(scalar) = func.value_scalar(value).filter(|scalar| scalar.lanes > 1) else {
            return self.lane(value, 0);
        };
        if let Some(name) = self.name_of(value) {
            return Expr::name(&name);
        }
        if let Some(op) = func.def_op(value)
            && func.opcode(op) == tir::LOAD
        {
            return self.load(op);
        }
        self.all_lanes(value, scalar)
    }

    /// The result of `op`, as if no name were known for it.
    pub(crate) fn computed(&mut self, op: Op) -> Expr {
        let func = self.func;
        let Some(scalar) = func.result(op).and_then(|value| func.value_scalar(value)) else {
            return self.stray("an op without a value");
        };
        match func.opcode(op) {
            tir::LOAD => self.load(op),
            tir::IF => self.conditional(op),
            gpu::SHUFFLE => self.shuffle(op),
            _ if scalar.lanes == 1 => self.arith(op, 0),
            _ => {
                if let Some(pair) = self.pair_of_halves(op, scalar) {
                    return pair;
                }
                let lanes: Vec<Expr> = (0..usize::from(scalar.lanes)).map(|lane| self.arith(op, lane)).collect();
                self.vector_of(scalar, &lanes)
            }
        }
    }

    fn all_lanes(&mut self, value: Value, scalar: Scalar) -> Expr {
        if let Some(op) = self.func.def_op(value).filter(|&op| self.placement.is_inline(op))
            && let Some(pair) = self.pair_of_halves(op, scalar)
        {
            return pair;
        }
        let lanes: Vec<Expr> = (0..usize::from(scalar.lanes)).map(|lane| self.lane(value, lane)).collect();
        self.vector_of(scalar, &lanes)
    }

    /// Two f32 that `op` rounds to halves: one instruction from sm_80 on, and everywhere the same numbers as one by one.
    fn pair_of_halves(&mut self, op: Op, scalar: Scalar) -> Option<Expr> {
        let func = self.func;
        let half = types::half(scalar.elem).filter(|_| scalar.lanes == 2)?;
        let from = func.operands(op).first().copied().filter(|_| func.opcode(op) == arith::CAST)?;
        func.value_scalar(from).filter(|scalar| scalar.elem == Elem::F32)?;
        self.needs.elem(scalar.elem);
        let lanes = [0, 1].map(|lane| self.lane(from, lane));
        Some(expr::call(half.round_pair, &lanes))
    }

    /// `buffer[index]`
    pub(crate) fn element(&mut self, buffer: Value, index: Expr) -> Expr {
        let buffer = self.buffer(buffer);
        Expr::new(format!("{buffer}[{}]", index.text), prec::POSTFIX)
    }

    /// The neighbours from `base + first` on, as one vector of type `piece`.
    pub(crate) fn piece(&mut self, buffer: Value, base: Value, first: usize, piece: Scalar) -> Expr {
        let elem = self.func.value_scalar(base).map_or(Elem::I32, |scalar| scalar.elem);
        let index = self.offset(base, elem, first as i128);
        let place = self.element(buffer, index);
        let ty = self.needs.type_name(piece);
        let constant = if self.is_const(buffer) { "const " } else { "" };
        Expr::new(format!("*reinterpret_cast<{constant}{ty}*>(&{})", place.text), prec::UNARY)
    }

    fn load(&mut self, op: Op) -> Expr {
        let func = self.func;
        let buffer = func.operand(op, 0);
        let scalar = func.result(op).and_then(|value| func.value_scalar(value));
        let (Some(index), Some(scalar)) = (access::index(func, op), scalar) else {
            return self.stray("a load without an index");
        };
        match access::form(func, op) {
            Form::Element => {
                let index = self.lane(index, 0);
                self.element(buffer, index)
            }
            Form::Pieces { base, whole: true, .. } => self.piece(buffer, base, 0, scalar),
            Form::Pieces { .. } | Form::Lanes => {
                let lanes: Vec<Expr> = (0..usize::from(scalar.lanes))
                    .map(|lane| {
                        let index = self.lane(index, lane);
                        self.element(buffer, index)
                    })
                    .collect();
                self.vector_of(scalar, &lanes)
            }
        }
    }

    /// The conditional `op` as an expression. C's `?:`, `&&` and `||` evaluate no more than the region does.
    fn conditional(&mut self, op: Op) -> Expr {
        let func = self.func;
        let regions = func.op_regions(op);
        let arm = |nth: usize| regions.get(nth).and_then(|&region| func.yielded(region).first().copied());
        let (Some(on_true), Some(on_false)) = (arm(0), arm(1)) else { return self.stray("a conditional without arms") };
        let truth = |value: Value| match func.constant(value).map(|attr| func.attr_data(attr)) {
            Some(AttrData::Bool(truth)) if self.name_of(value).is_none() => Some(*truth),
            _ => None,
        };
        let (is_and, is_or) = (truth(on_false) == Some(false), truth(on_true) == Some(true));
        let condition = self.lane(func.operand(op, 0), 0);
        if is_and {
            let rest = self.lane(on_true, 0);
            return expr::binary(BinOp::AndAnd, condition, rest);
        }
        if is_or {
            let rest = self.lane(on_false, 0);
            return expr::binary(BinOp::OrOr, condition, rest);
        }
        let (on_true, on_false) = (self.lane(on_true, 0), self.lane(on_false, 0));
        expr::ternary(condition, on_true, on_false)
    }
}
