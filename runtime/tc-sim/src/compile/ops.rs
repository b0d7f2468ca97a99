//! Arithmetic.

use super::Result;
use super::body::{Binding, Compiler};
use super::kernel::Val;
use crate::code::{FloatOp, Instr, IntOp, MagRule, NO_REG, Site, UnaryOp};
use crate::domain::Domain;
use crate::field::{FieldInstr, FieldOp};
use tc_dialects::arith::{self, Predicate, functions};
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Func, Op, Opcode, Scalar};

fn int_op(opcode: Opcode) -> Option<IntOp> {
    Some(match opcode {
        arith::ADD => IntOp::Add,
        arith::SUB => IntOp::Sub,
        arith::MUL => IntOp::Mul,
        arith::DIV => IntOp::Div,
        arith::MOD => IntOp::Mod,
        arith::TDIV => IntOp::TruncDiv,
        arith::TMOD => IntOp::TruncMod,
        arith::BITAND => IntOp::And,
        arith::BITOR => IntOp::Or,
        arith::BITXOR => IntOp::Xor,
        arith::SHL => IntOp::Shl,
        arith::SHR => IntOp::Shr,
        arith::MIN => IntOp::Min,
        arith::MAX => IntOp::Max,
        _ => return None,
    })
}

fn float_op(opcode: Opcode) -> Option<FloatOp> {
    Some(match opcode {
        arith::ADD => FloatOp::Add,
        arith::SUB => FloatOp::Sub,
        arith::MUL => FloatOp::Mul,
        arith::DIV => FloatOp::Div,
        arith::MOD => FloatOp::Mod,
        arith::MIN => FloatOp::Min,
        arith::MAX => FloatOp::Max,
        arith::POW => FloatOp::Pow,
        _ => return None,
    })
}

fn unary_op(opcode: Opcode) -> Option<UnaryOp> {
    Some(match opcode {
        arith::NEG => UnaryOp::Neg,
        arith::ABS => UnaryOp::Abs,
        arith::POPCOUNT => UnaryOp::Popcount,
        _ => return functions::of(opcode).map(UnaryOp::Function),
    })
}

/// What an op on floats computes in the field.
fn field_op(func: &Func, op: Op) -> Option<FieldOp> {
    match func.opcode(op) {
        arith::CMP => Predicate::of(func, op).map(FieldOp::Cmp),
        arith::FMA => Some(FieldOp::Fma),
        opcode => unary_op(opcode).map(FieldOp::Unary).or_else(|| float_op(opcode).map(FieldOp::Binary)),
    }
}

impl Compiler<'_, '_> {
    pub(super) fn arithmetic(&mut self, op: Op, opcode: Opcode) -> Result<()> {
        let func = self.func();
        match opcode {
            // A literal is made where it is used.
            arith::CONSTANT => {
                if let Some(result) = func.results(op).next() {
                    self.frame().bind(result, Binding::Unset);
                }
                return Ok(());
            }
            arith::SELECT => return self.select(op),
            arith::CAST => return self.cast(op),
            arith::RAMP | arith::BROADCAST => return self.widen(op, opcode),
            _ => {}
        }
        let operands = self.vals(func.operands(op), op)?;
        let ty = self.result_type(op)?;
        let dst = self.fresh(ty, &operands);
        let elem = operands[0].ty.elem;
        let [a, b, c] = [0, 1, 2].map(|nth| operands.get(nth).map_or(NO_REG, |val| val.reg));
        let site = self.site(op, false);
        let reg = dst.reg;
        let (instr, rule) = match opcode {
            arith::AND => (Instr::And { dst: reg, a, b }, None),
            arith::OR => (Instr::Or { dst: reg, a, b }, None),
            arith::LIKELY => (Instr::And { dst: reg, a, b: a }, None),
            arith::NOT => (Instr::Not { dst: reg, a }, None),
            _ if self.k.domain == Domain::Field && elem.is_float() => {
                self.field(
                    field_op(func, op).ok_or_else(|| self.unsupported(op, func.op_name(op)))?,
                    dst,
                    &operands,
                    (elem, site),
                );
                self.spread_poison(dst, &operands);
                self.bind_result(op, dst);
                return Ok(());
            }
            arith::CMP => match Predicate::of(func, op) {
                Some(predicate) => (Instr::Cmp { predicate, elem, dst: reg, a, b }, None),
                None => return Err(self.unsupported(op, "this comparison")),
            },
            arith::FMA => (Instr::Fma { elem, dst: reg, a, b, c }, Some(MagRule::Fma)),
            _ => match (unary_op(opcode), float_op(opcode), int_op(opcode)) {
                (Some(unary), _, _) => {
                    (Instr::Unary { op: unary, elem, dst: reg, a, site }, Some(MagRule::Unary(unary)))
                }
                (_, Some(float), _) if elem.is_float() => {
                    (Instr::Float { op: float, elem, dst: reg, a, b }, Some(MagRule::Binary(float)))
                }
                (_, _, Some(int)) if elem.is_int() => (Instr::Int { op: int, elem, dst: reg, a, b, site }, None),
                _ => return Err(self.unsupported(op, &format!("`{}`", func.op_name(op)))),
            },
        };
        self.k.emit(instr);
        if let Some(rule) = rule {
            self.magnitude(rule, dst, &operands);
        }
        self.spread_poison(dst, &operands);
        self.bind_result(op, dst);
        Ok(())
    }

    /// A fresh value that is as uniform as what it is computed from, and as poisonous.
    pub(super) fn fresh(&mut self, ty: Scalar, operands: &[Val]) -> Val {
        let varying = operands.iter().any(|val| val.varying);
        let poison = operands.iter().any(|val| val.poison);
        self.k.value(ty, varying, poison)
    }

    pub(super) fn spread_poison(&mut self, dst: Val, operands: &[Val]) {
        if dst.poison {
            let srcs = operands.iter().filter(|val| val.poison).map(|val| val.reg).collect();
            self.k.emit(Instr::Poison { dst: dst.reg, srcs });
        }
    }

    pub(super) fn magnitude(&mut self, rule: MagRule, dst: Val, operands: &[Val]) {
        if dst.mag != NO_REG && self.k.domain == Domain::Magnitudes {
            let args = [0, 1, 2].map(|nth| operands.get(nth).map_or(NO_REG, |val| val.reg));
            let mags = [0, 1, 2].map(|nth| operands.get(nth).map_or(NO_REG, |val| val.mag));
            self.k.emit(Instr::Mag { rule, elem: dst.ty.elem, dst: dst.mag, value: dst.reg, args, mags });
        }
    }

    /// Arithmetic on elements.
    pub(super) fn field(&mut self, op: FieldOp, dst: Val, operands: &[Val], (elem, site): (Elem, Site)) {
        let args = [0, 1, 2].map(|nth| operands.get(nth).map_or(NO_REG, |val| val.reg));
        let ranges = [0, 1, 2].map(|nth| operands.get(nth).map_or(NO_REG, |val| val.mag));
        let instr = FieldInstr { op, elem, dst: dst.reg, range: dst.mag, args, ranges, site };
        self.k.emit(Instr::Field(Box::new(instr)));
    }

    fn select(&mut self, op: Op) -> Result<()> {
        let [cond, a, b] = [self.operand(op, 0)?, self.operand(op, 1)?, self.operand(op, 2)?];
        let dst = self.fresh(self.result_type(op)?, &[cond, a, b]);
        self.k.emit(Instr::Select { dst: dst.reg, cond: cond.reg, a: a.reg, b: b.reg });
        if dst.mag != NO_REG {
            self.k.emit(Instr::Select { dst: dst.mag, cond: cond.reg, a: a.mag, b: b.mag });
        }
        if dst.poison {
            let arms = [cond, a, b].map(Self::poison_of);
            self.k.emit(Instr::PoisonSelect { dst: dst.reg, cond: cond.reg, arms });
        }
        self.bind_result(op, dst);
        Ok(())
    }

    fn cast(&mut self, op: Op) -> Result<()> {
        let a = self.operand(op, 0)?;
        let dst = self.fresh(self.result_type(op)?, &[a]);
        let site = self.site(op, false);
        let (from, to) = (a.ty.elem, dst.ty.elem);
        if self.k.domain == Domain::Field && (from.is_float() || to.is_float()) {
            self.field(FieldOp::Cast { from, to }, dst, &[a], (from, site));
        } else {
            self.k.emit(Instr::Cast { from, to, dst: dst.reg, a: a.reg, site });
        }
        // Between floats a magnitude stays what it is; that of an integer is its own.
        let is_float = from.kind() == ElemKind::Float;
        let rule = if is_float { MagRule::Unary(UnaryOp::Neg) } else { MagRule::Own };
        self.magnitude(rule, dst, &[a]);
        self.spread_poison(dst, &[a]);
        self.bind_result(op, dst);
        Ok(())
    }

    fn widen(&mut self, op: Op, opcode: Opcode) -> Result<()> {
        let func = self.func();
        let operands = self.vals(func.operands(op), op)?;
        let dst = self.fresh(self.result_type(op)?, &operands);
        let a = operands[0];
        if opcode == arith::RAMP {
            let (elem, lanes, stride) = (dst.ty.elem, dst.ty.lanes, operands[1].reg);
            let site = self.site(op, false);
            self.k.emit(Instr::Ramp { elem, dst: dst.reg, base: a.reg, stride, lanes, site });
        } else {
            self.k.emit(Instr::Broadcast { dst: dst.reg, a: a.reg });
            if dst.mag != NO_REG {
                self.k.emit(Instr::Broadcast { dst: dst.mag, a: a.mag });
            }
        }
        self.spread_poison(dst, &operands);
        self.bind_result(op, dst);
        Ok(())
    }

    /// Copies `src` to `dst` in the lanes that take part, with all that runs beside it.
    pub(super) fn copy(&mut self, dst: Val, src: Val) {
        self.k.emit(Instr::Copy { dst: dst.reg, src: src.reg });
        if dst.mag != NO_REG {
            self.k.emit(Instr::Copy { dst: dst.mag, src: src.mag });
        }
        if dst.poison {
            self.k.emit(Instr::PoisonCopy { dst: dst.reg, src: Self::poison_of(src) });
        }
    }
}
