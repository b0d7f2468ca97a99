//! Expressions.

use super::func::Writer;
use crate::table::{self, prec};
use crate::types;
use tc_dialects::{arith, tir};
use tc_ir::attrs::BinOp;
use tc_ir::{AttrData, Elem, Op, Role, Scalar, Value, keys};

/// An expression, and how tightly it binds.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) text: String,
    pub(crate) prec: u8,
}

impl Expr {
    pub(crate) fn new(text: impl Into<String>, prec: u8) -> Expr {
        Expr { text: text.into(), prec }
    }

    pub(crate) fn atom(text: impl Into<String>) -> Expr {
        Expr::new(text, prec::ATOM)
    }

    /// Its text where something that binds as tightly as `outer` stands around it.
    pub(crate) fn within(self, outer: u8) -> String {
        if self.prec < outer { format!("({})", self.text) } else { self.text }
    }
}

impl Writer<'_> {
    /// The value as an expression.
    pub(crate) fn value(&mut self, value: Value) -> Expr {
        if let Some(known) = self.spelled.get(&value) {
            return known.clone();
        }
        match self.func.def_op(value) {
            Some(op) => self.computed(op),
            None => self.stray(value),
        }
    }

    /// Its text as an argument, an index, or the right side of an assignment.
    pub(crate) fn text(&mut self, value: Value) -> String {
        self.value(value).text
    }

    pub(crate) fn texts(&mut self, values: &[Value]) -> String {
        let texts: Vec<String> = values.iter().map(|&value| self.text(value)).collect();
        texts.join(", ")
    }

    /// What the op `op`, an expression, computes.
    pub(crate) fn computed(&mut self, op: Op) -> Expr {
        let func = self.func;
        let opcode = func.opcode(op);
        if let Some(name) = table::call_of(opcode) {
            let args = self.texts(func.operands(op));
            return Expr::atom(format!("T.{name}({args})"));
        }
        match opcode {
            arith::CONSTANT => self.literal(op),
            arith::CMP => self.compare(op),
            arith::NEG => {
                let value = self.value(func.operand(op, 0)).within(prec::UNARY);
                Expr::new(format!("-{value}"), prec::UNARY)
            }
            arith::NOT => {
                let value = self.value(func.operand(op, 0)).within(prec::NOT);
                Expr::new(format!("not {value}"), prec::NOT)
            }
            arith::CAST => self.cast(op),
            arith::RAMP => {
                let (args, lanes) = (self.texts(func.operands(op)), func.int_of(op, keys::LANES).unwrap_or(1));
                Expr::atom(format!("T.Ramp({args}, {lanes})"))
            }
            arith::BROADCAST => {
                let (arg, lanes) = (self.text(func.operand(op, 0)), func.int_of(op, keys::LANES).unwrap_or(1));
                Expr::atom(format!("T.Broadcast({arg}, {lanes})"))
            }
            tir::LOAD => self.load(op),
            tir::IF => self.choice(op),
            _ => match func.role(op) {
                Role::Binary(sign) => self.binary(sign, op),
                _ => self.no_counterpart(op),
            },
        }
    }

    /// A chain of operators that leans to the left needs no brackets.
    fn binary(&mut self, sign: BinOp, op: Op) -> Expr {
        let of_floats = self.func.value_scalar(self.func.operand(op, 0)).is_some_and(|scalar| scalar.elem.is_float());
        let (sign, binds) = table::python(sign, of_floats);
        let lhs = self.value(self.func.operand(op, 0)).within(binds);
        let rhs = self.value(self.func.operand(op, 1)).within(binds + 1);
        Expr::new(format!("{lhs} {sign} {rhs}"), binds)
    }

    fn compare(&mut self, op: Op) -> Expr {
        let sign = match self.func.word_of(op, keys::PREDICATE) {
            Some("eq") => "==",
            Some("ne") => "!=",
            Some("lt") => "<",
            Some("le") => "<=",
            Some("gt") => ">",
            _ => ">=",
        };
        let [lhs, rhs] = [0, 1].map(|nth| self.value(self.func.operand(op, nth)).within(prec::COMPARE + 1));
        Expr::new(format!("{lhs} {sign} {rhs}"), prec::COMPARE)
    }

    fn cast(&mut self, op: Op) -> Expr {
        let (from, to) = (self.func.operand(op, 0), self.func.result(op));
        let scalar = |value: Value| self.func.value_scalar(value);
        let names = scalar(from).and_then(|from| Some((from, to.and_then(scalar)?)));
        let Some((from_type, to_type)) = names else { return self.no_counterpart(op) };
        let from_name = self.type_name(from_type);
        match self.type_name(to_type) {
            Some(name) if from_name.as_ref() == Some(&name) => self.value(from),
            Some(name) => {
                let value = self.text(from);
                Expr::atom(format!("T.Cast(\"{name}\", {value})"))
            }
            None => self.lacks_type(op, to_type),
        }
    }

    /// A conditional of which each region is one expression.
    fn choice(&mut self, op: Op) -> Expr {
        let func = self.func;
        let arms: Vec<Value> =
            func.op_regions(op).iter().filter_map(|&region| func.yielded(region).first().copied()).collect();
        let &[then, otherwise] = &arms[..] else { return self.no_counterpart(op) };
        let condition = self.value(func.operand(op, 0));
        let known = |value: Value| match func.constant(value).map(|attr| func.attr_data(attr)) {
            Some(AttrData::Bool(value)) => Some(*value),
            _ => None,
        };
        // `and` and `or` of TVM evaluate their right side where they must.
        if known(otherwise) == Some(false) {
            let then = self.value(then).within(prec::AND + 1);
            return Expr::new(format!("{} and {then}", condition.within(prec::AND)), prec::AND);
        }
        if known(then) == Some(true) {
            let otherwise = self.value(otherwise).within(prec::OR + 1);
            return Expr::new(format!("{} or {otherwise}", condition.within(prec::OR)), prec::OR);
        }
        let (then, otherwise) = (self.text(then), self.text(otherwise));
        Expr::atom(format!("T.if_then_else({}, {then}, {otherwise})", condition.text))
    }

    fn literal(&mut self, op: Op) -> Expr {
        let func = self.func;
        let result = func.result(op);
        let scalar = result.and_then(|value| func.value_scalar(value));
        let data = result.and_then(|value| func.constant(value)).map(|attr| func.attr_data(attr));
        let (Some(scalar), Some(data)) = (scalar, data) else { return self.no_counterpart(op) };
        match data {
            AttrData::Bool(value) => Expr::atom(if *value { "T.bool(True)" } else { "T.bool(False)" }),
            AttrData::Int(value, _) => self.integer(op, *value, scalar),
            AttrData::Float(bits, _) => self.float(op, f64::from_bits(*bits), scalar),
            _ => self.no_counterpart(op),
        }
    }

    fn integer(&mut self, op: Op, value: i128, scalar: Scalar) -> Expr {
        let Some(name) = self.type_name(scalar) else { return self.lacks_type(op, scalar) };
        if i64::try_from(value).is_err() {
            let text = format!("TVM's parser has no literals beyond 64 bits with a sign: `{value}`");
            return self.refuse(op, text);
        }
        match name.as_str() {
            "int32" if value < 0 => Expr::new(value.to_string(), prec::UNARY),
            "int32" => Expr::atom(value.to_string()),
            _ => Expr::atom(format!("T.{name}({value})")),
        }
    }

    fn float(&mut self, op: Op, value: f64, scalar: Scalar) -> Expr {
        let Some(name) = self.type_name(scalar) else { return self.lacks_type(op, scalar) };
        let digits = match scalar.elem.round(value) {
            value if value.is_nan() => "\"nan\"".to_string(),
            value if value.is_infinite() => format!("\"{}inf\"", if value < 0.0 { "-" } else { "" }),
            value if scalar.elem == Elem::F32 => format!("{:?}", value as f32),
            value => format!("{value:?}"),
        };
        Expr::atom(format!("T.{name}({digits})"))
    }

    /// TVM's name of a type here, where `index` is a signed integer of 32 or 64 bits.
    pub(crate) fn type_name(&self, scalar: Scalar) -> Option<String> {
        let elem = match scalar.elem {
            Elem::Index if self.wide => Elem::I64,
            Elem::Index => Elem::I32,
            elem => elem,
        };
        types::scalar_name(Scalar { elem, ..scalar })
    }
}
