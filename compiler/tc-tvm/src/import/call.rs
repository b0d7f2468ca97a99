//! Calls of functions of `T` that are expressions.

use super::annotations::{Plain, plain, string};
use super::number::Number;
use super::state::Reader;
use crate::types;
use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{Ranged, TextRange};
use tc_dialects::{arith, gpu};
use tc_ir::{Elem, Scalar, Value, keys};

impl<'a> Reader<'a> {
    pub(crate) fn call(&mut self, call: &'a ExprCall) -> Option<Number> {
        let range = call.range();
        let Some(name) = self.called(call) else {
            self.refuse(range, "calls are of functions of `T`");
            return None;
        };
        let args = &call.arguments.args[..];
        match (name.as_str(), args) {
            ("if_then_else", _) => self.if_then_else(range, args).map(Number::Value),
            ("Cast" | "cast", [first, second]) => self.convert(range, first, second),
            ("Ramp", [base, stride, lanes]) => self.ramp(range, base, stride, lanes).map(Number::Value),
            ("Broadcast", [value, lanes]) => self.broadcast(range, value, lanes).map(Number::Value),
            ("infinity", [ty]) => self.special(range, ty, f64::INFINITY),
            ("Not", [value]) => {
                let value = self.condition(value)?;
                self.infer(range, arith::NOT, &[value], &[]).map(Number::Value)
            }
            ("Div", [lhs, rhs]) => self.quotient(range, lhs, rhs),
            ("Mod", [_, _]) => self.table_call(range, "truncmod", args),
            ("any", [_, ..]) => self.all_of(range, tc_ir::BinOp::OrOr, args).map(Number::Value),
            ("all", [_, ..]) => self.all_of(range, tc_ir::BinOp::AndAnd, args).map(Number::Value),
            ("round", _) => {
                let help = "`T.nearbyint` rounds them to even numbers, as tc's `round` does";
                let text = "`T.round` rounds halves away from zero, which tc does not do";
                self.error_with(range, "no-counterpart", text, help);
                None
            }
            (shuffle, [mask, value, lane, width, _]) if shuffle.starts_with("tvm_warp_shuffle") => {
                self.shuffle(range, shuffle, [mask, value, lane, width]).map(Number::Value)
            }
            (ty, [value]) if types::parse(ty).is_some() || ty == "bool" => self.typed(range, ty, value),
            _ => self.table_call(range, &name, args),
        }
    }

    fn all_of(&mut self, range: TextRange, sign: tc_ir::BinOp, args: &'a [Expr]) -> Option<Value> {
        let (first, rest) = args.split_first()?;
        let mut value = self.condition(first)?;
        for next in rest {
            value = self.both(range, sign, value, next)?;
        }
        Some(value)
    }

    /// `T.float32(0)`, `T.int32(i)`: a literal of the type, or a conversion to it.
    fn typed(&mut self, range: TextRange, ty: &str, arg: &'a Expr) -> Option<Number> {
        let scalar = types::parse(ty)?;
        if let Some(text) = string(arg) {
            let value = match text.as_str() {
                "inf" => f64::INFINITY,
                "-inf" => f64::NEG_INFINITY,
                "nan" => f64::NAN,
                _ => return self.no_literal(range, &text, ty),
            };
            if !scalar.elem.is_float() {
                return self.no_literal(range, &text, ty);
            }
            return Some(Number::Value(self.float(range, value, scalar.elem)));
        }
        let wanted = self.func.scalar_ty(scalar);
        match (self.expr(arg)?, scalar.elem) {
            (Number::Int(value), Elem::Bool) => Some(Number::Value(self.builder(range).bool(value != 0))),
            // What numbers elements takes its type from what is around it.
            (Number::Int(value), Elem::I32 | Elem::I64) if scalar.lanes == 1 => Some(Number::Int(value)),
            (Number::Value(value), _) => Some(Number::Value(self.converted(range, value, scalar))),
            (number, _) => self.settle(range, number, Some(wanted)).map(Number::Value),
        }
    }

    fn no_literal(&mut self, range: TextRange, text: &str, ty: &str) -> Option<Number> {
        self.error(range, "literal", format!("`{text}` is no `{ty}`"));
        None
    }

    fn special(&mut self, range: TextRange, ty: &'a Expr, value: f64) -> Option<Number> {
        let scalar = string(ty).and_then(|name| types::parse(&name)).filter(|scalar| scalar.elem.is_float());
        let Some(scalar) = scalar else {
            self.error(ty.range(), "type", "this is the name of no type of floats");
            return None;
        };
        Some(Number::Value(self.float(range, value, scalar.elem)))
    }

    /// `T.Cast("float32", x)`; `T.cast` has them the other way round.
    fn convert(&mut self, range: TextRange, first: &'a Expr, second: &'a Expr) -> Option<Number> {
        let (ty, value) = if string(first).is_some() { (first, second) } else { (second, first) };
        let scalar = string(ty).and_then(|name| types::parse(&name));
        let Some(scalar) = scalar else {
            self.error(ty.range(), "type", "tc has no such type");
            return None;
        };
        let number = self.expr(value)?;
        let value = self.settle(value.range(), number, None)?;
        Some(Number::Value(self.converted(range, value, scalar)))
    }

    fn converted(&mut self, range: TextRange, value: Value, to: Scalar) -> Value {
        let ty = self.func.scalar_ty(to);
        if self.func.value_type(value) == ty { value } else { self.cast(range, value, to) }
    }

    /// A small positive number of lanes.
    fn lanes(&mut self, expr: &'a Expr) -> Option<i64> {
        match plain(expr, &self.words.tir) {
            Some(Plain::Int(lanes)) if (1..=i64::from(Scalar::MAX_LANES)).contains(&lanes) => Some(lanes),
            _ => {
                self.error(expr.range(), "lanes", format!("a vector has 1 to {} lanes", Scalar::MAX_LANES));
                None
            }
        }
    }

    fn ramp(&mut self, range: TextRange, base: &'a Expr, stride: &'a Expr, lanes: &'a Expr) -> Option<Value> {
        let (base, stride) = (self.expr(base)?, self.expr(stride)?);
        let (base, stride) = self.unify(range, base, stride)?;
        let lanes = self.lanes(lanes)?;
        let lanes = self.func.int_attr(lanes);
        self.infer(range, arith::RAMP, &[base, stride], &[(keys::LANES, lanes)])
    }

    fn broadcast(&mut self, range: TextRange, value: &'a Expr, lanes: &'a Expr) -> Option<Value> {
        let value = self.value(value, None)?;
        let lanes = self.lanes(lanes)?;
        let lanes = self.func.int_attr(lanes);
        self.infer(range, arith::BROADCAST, &[value], &[(keys::LANES, lanes)])
    }

    /// `T.Div`: of integers it rounds towards zero.
    fn quotient(&mut self, range: TextRange, lhs: &'a Expr, rhs: &'a Expr) -> Option<Number> {
        let (lhs, rhs) = (self.expr(lhs)?, self.expr(rhs)?);
        let (lhs, rhs) = self.unify(range, lhs, rhs)?;
        if self.scalar(lhs).is_some_and(|scalar| scalar.elem.is_float()) {
            return self.binary(range, tc_ir::BinOp::Div, Number::Value(lhs), Number::Value(rhs));
        }
        self.infer(range, arith::TDIV, &[lhs, rhs], &[]).map(Number::Value)
    }

    fn shuffle(&mut self, range: TextRange, name: &str, args: [&'a Expr; 4]) -> Option<Value> {
        let [mask, value, lane, width] = args;
        let mode = match name {
            "tvm_warp_shuffle" => "idx",
            "tvm_warp_shuffle_up" => "up",
            "tvm_warp_shuffle_down" => "down",
            "tvm_warp_shuffle_xor" => "xor",
            _ => {
                self.refuse(range, format!("tc has no counterpart of `T.{name}`"));
                return None;
            }
        };
        if !matches!(plain(mask, &self.words.tir), Some(Plain::Int(mask)) if mask == i64::from(u32::MAX)) {
            self.refuse(mask.range(), "all lanes of a warp exchange values: the mask is 4294967295");
            return None;
        }
        let Some(Plain::Int(width)) = plain(width, &self.words.tir) else {
            self.refuse(width.range(), "how many lanes are a group is a number");
            return None;
        };
        let (value, lane) = (self.value(value, None)?, self.value(lane, None)?);
        let mut attrs = vec![(keys::MODE, self.func.word_attr(mode))];
        if width != 32 {
            attrs.push((keys::WIDTH, self.func.int_attr(width)));
        }
        self.infer(range, gpu::SHUFFLE, &[value, lane], &attrs)
    }
}
