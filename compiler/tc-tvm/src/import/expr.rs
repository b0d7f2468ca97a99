//! Expressions.

use super::number::Number;
use super::state::{Bound, Reader};
use crate::table;
use ruff_python_ast::{self as ast, BoolOp, CmpOp, Expr, ExprBinOp, Operator, UnaryOp};
use ruff_text_size::{Ranged, TextRange};
use tc_dialects::{arith, tir};
use tc_ir::attrs::BinOp;
use tc_ir::{Elem, Op, Region, Rewriter, Type, Value, effects};
use tc_support::suggest;

impl<'a> Reader<'a> {
    /// The value of an expression, of the type `expected` where there is one.
    pub(crate) fn value(&mut self, expr: &'a Expr, expected: Option<Type>) -> Option<Value> {
        let number = self.expr(expr)?;
        self.settle(expr.range(), number, expected)
    }

    /// An index or a bound.
    pub(crate) fn index(&mut self, expr: &'a Expr) -> Option<Value> {
        let number = self.expr(expr)?;
        let lanes = match number {
            Number::Value(value) => self.scalar(value).map_or(1, |scalar| scalar.lanes),
            _ => 1,
        };
        let ty = self.func.scalar_ty(tc_ir::Scalar { elem: Elem::Index, lanes });
        self.settle(expr.range(), number, Some(ty))
    }

    /// A truth value.
    pub(crate) fn condition(&mut self, expr: &'a Expr) -> Option<Value> {
        let bool_ty = self.func.bool_ty();
        match self.expr(expr)? {
            Number::Value(value) if self.func.value_type(value) == bool_ty => Some(value),
            Number::Value(value) => {
                let have = self.func.show_type(self.func.value_type(value));
                self.error(expr.range(), "type", format!("a condition is a truth value, not `{have}`"));
                None
            }
            Number::Int(_) | Number::Float(_) => {
                self.error(expr.range(), "type", "a condition is a truth value, not a number");
                None
            }
        }
    }

    pub(crate) fn expr(&mut self, expr: &'a Expr) -> Option<Number> {
        self.deeper(expr.range(), |reader| reader.any_expr(expr))
    }

    fn any_expr(&mut self, expr: &'a Expr) -> Option<Number> {
        let range = expr.range();
        match expr {
            Expr::NumberLiteral(literal) => self.literal(range, &literal.value),
            Expr::BooleanLiteral(literal) => Some(Number::Value(self.builder(range).bool(literal.value))),
            Expr::Name(name) => self.named(range, name.id.as_str()).map(Number::Value),
            Expr::BinOp(binary) => self.chain(binary),
            Expr::BoolOp(logical) => self.logical(range, logical).map(Number::Value),
            Expr::Compare(compare) => self.comparison(range, compare),
            Expr::UnaryOp(unary) => self.unary(range, unary),
            Expr::Subscript(subscript) => self.load(subscript).map(Number::Value),
            Expr::Call(call) => self.call(call),
            Expr::If(_) => {
                self.error_with(
                    range,
                    "no-counterpart",
                    "Python chooses while TVM parses: this is no expression of TVM's",
                    "write `T.if_then_else(c, a, b)`, or `T.Select(c, a, b)` where both may be evaluated",
                );
                None
            }
            _ => {
                self.refuse(range, format!("`{}` is no expression of TVM's", suggest::shorten(self.text(range))));
                None
            }
        }
    }

    fn literal(&mut self, range: TextRange, literal: &ast::Number) -> Option<Number> {
        match literal {
            ast::Number::Int(value) => match value.to_string().parse::<i128>() {
                Ok(value) => Some(Number::Int(value)),
                Err(_) => {
                    self.error(range, "literal", "an integer has 64 bits at the most");
                    None
                }
            },
            ast::Number::Float(value) => Some(Number::Float(*value)),
            ast::Number::Complex { .. } => {
                self.refuse(range, "tc has no complex numbers");
                None
            }
        }
    }

    /// What a name stands for in an expression: a number, or the one element of a buffer.
    fn named(&mut self, range: TextRange, name: &str) -> Option<Value> {
        match self.lookup(name).cloned() {
            Some(Bound::Value(value)) => Some(value),
            Some(Bound::Buffer(place)) => self.only_element(range, name, &place),
            Some(Bound::Missing) => None,
            Some(Bound::Pointer(_) | Bound::Thread(_)) => {
                self.error(range, "type", format!("`{name}` is no number"));
                None
            }
            None => {
                self.unknown(range, name);
                None
            }
        }
    }

    pub(crate) fn unknown(&mut self, range: TextRange, name: &str) {
        let near = suggest::nearest(name, self.visible_names()).map(|near| format!("did you mean `{near}`?"));
        let text = format!("`{}` is not defined", suggest::shorten(name));
        match near {
            Some(near) => self.error_with(range, "unknown-name", text, &near),
            None => self.error(range, "unknown-name", text),
        }
    }

    /// A chain of operators, without recursion along the chain.
    fn chain(&mut self, binary: &'a ExprBinOp) -> Option<Number> {
        let (mut at, mut links) = (binary, Vec::new());
        let first = loop {
            links.push(at);
            match &*at.left {
                Expr::BinOp(inner) => at = inner,
                other => break other,
            }
        };
        let mut value = self.expr(first)?;
        for link in links.into_iter().rev() {
            let rhs = self.expr(&link.right)?;
            value = self.operator(link, value, rhs)?;
        }
        Some(value)
    }

    fn operator(&mut self, link: &ExprBinOp, lhs: Number, rhs: Number) -> Option<Number> {
        let is_int = |number: Number| match number {
            Number::Int(_) => true,
            Number::Float(_) => false,
            Number::Value(value) => self.scalar(value).is_some_and(|scalar| scalar.elem.is_int()),
        };
        let sign = match link.op {
            Operator::Add => BinOp::Add,
            Operator::Sub => BinOp::Sub,
            Operator::Mult => BinOp::Mul,
            Operator::Div if is_int(lhs) && is_int(rhs) => {
                let help = "write `//`, which rounds down, or `T.truncdiv`";
                self.error_with(link.range, "type", "TVM has no `/` of integers", help);
                return None;
            }
            Operator::Div | Operator::FloorDiv => BinOp::Div,
            Operator::Mod => BinOp::Mod,
            Operator::LShift => BinOp::Shl,
            Operator::RShift => BinOp::Shr,
            Operator::BitOr => BinOp::BitOr,
            Operator::BitXor => BinOp::BitXor,
            Operator::BitAnd => BinOp::BitAnd,
            Operator::MatMult | Operator::Pow => {
                self.refuse(link.range, format!("TVM has no operator `{}`", link.op.as_str()));
                return None;
            }
        };
        if link.op == Operator::FloorDiv && !(is_int(lhs) && is_int(rhs)) {
            self.refuse(link.range, "tc divides floats by `/`");
            return None;
        }
        self.binary(link.range, sign, lhs, rhs)
    }

    fn comparison(&mut self, range: TextRange, compare: &'a ast::ExprCompare) -> Option<Number> {
        let ([op], [right]) = (&compare.ops[..], &compare.comparators[..]) else {
            self.error_with(range, "no-counterpart", "comparisons do not chain in TVM", "write `a < b and b < c`");
            return None;
        };
        let sign = match op {
            CmpOp::Eq => BinOp::Eq,
            CmpOp::NotEq => BinOp::Ne,
            CmpOp::Lt => BinOp::Lt,
            CmpOp::LtE => BinOp::Le,
            CmpOp::Gt => BinOp::Gt,
            CmpOp::GtE => BinOp::Ge,
            CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn => {
                self.refuse(range, format!("TVM has no `{}`", op.as_str()));
                return None;
            }
        };
        let lhs = self.expr(&compare.left)?;
        let rhs = self.expr(right)?;
        self.binary(range, sign, lhs, rhs)
    }

    fn unary(&mut self, range: TextRange, unary: &'a ast::ExprUnaryOp) -> Option<Number> {
        match unary.op {
            UnaryOp::UAdd => self.expr(&unary.operand),
            UnaryOp::USub => {
                let value = self.expr(&unary.operand)?;
                self.negated(range, value)
            }
            UnaryOp::Not => {
                let value = self.condition(&unary.operand)?;
                self.infer(range, arith::NOT, &[value], &[]).map(Number::Value)
            }
            UnaryOp::Invert => {
                let value = self.expr(&unary.operand)?;
                self.binary(range, BinOp::BitXor, value, Number::Int(-1))
            }
        }
    }

    fn logical(&mut self, range: TextRange, logical: &'a ast::ExprBoolOp) -> Option<Value> {
        let sign = if logical.op == BoolOp::And { BinOp::AndAnd } else { BinOp::OrOr };
        let (first, rest) = logical.values.split_first()?;
        let mut value = self.condition(first)?;
        for next in rest {
            value = self.both(range, sign, value, next)?;
        }
        Some(value)
    }

    /// `lhs and rhs`, `lhs or rhs`: eager where `rhs` may be evaluated anyway, else a conditional.
    pub(crate) fn both(&mut self, range: TextRange, sign: BinOp, lhs: Value, rhs: &'a Expr) -> Option<Value> {
        let mark = self.func.last_op(self.region);
        let rhs = self.condition(rhs)?;
        let made = self.ops_after(mark);
        if made.iter().all(|&op| effects::summary(&self.func, op).speculatable) {
            return Some(self.builder(range).infix(sign, &[lhs, rhs]));
        }
        let bool_ty = self.func.bool_ty();
        let branch = self.op(range, tir::IF, &[lhs], &[], &[bool_ty], 2);
        let &[then, otherwise] = self.func.op_regions(branch) else { return None };
        let (lazy, known) = if sign == BinOp::AndAnd { (then, otherwise) } else { (otherwise, then) };
        let mut rewriter = Rewriter::new(&mut self.func);
        for op in made {
            rewriter.move_to_end(op, lazy);
        }
        drop(rewriter);
        self.inside(lazy, |reader| reader.yields(range, rhs));
        self.inside(known, |reader| {
            let value = reader.builder(range).bool(sign == BinOp::OrOr);
            reader.yields(range, value);
        });
        self.func.result(branch)
    }

    /// The ops of this region behind `mark`.
    fn ops_after(&self, mark: Option<Op>) -> Vec<Op> {
        let first = mark.map_or_else(|| self.func.first_op(self.region), |mark| self.func.next_op(mark));
        std::iter::successors(first, |&op| self.func.next_op(op)).collect()
    }

    pub(crate) fn yields(&mut self, range: TextRange, value: Value) {
        self.op(range, tir::YIELD, &[value], &[], &[], 0);
    }

    /// `T.if_then_else(c, a, b)`: evaluates one arm.
    pub(crate) fn if_then_else(&mut self, range: TextRange, args: &'a [Expr]) -> Option<Value> {
        let [condition, then, otherwise] = args else {
            self.error(range, "arguments", "`T.if_then_else` takes a condition and two values");
            return None;
        };
        let condition = self.condition(condition)?;
        let bool_ty = self.func.bool_ty();
        let branch = self.op(range, tir::IF, &[condition], &[], &[bool_ty], 2);
        let &[first, second] = self.func.op_regions(branch) else { return None };
        let lhs = self.inside(first, |reader| reader.expr(then))?;
        let rhs = self.inside(second, |reader| reader.expr(otherwise))?;
        let ty = self.arms_type(lhs, rhs);
        let lhs = self.arm(first, then.range(), lhs, ty)?;
        let ty = self.func.value_type(lhs);
        self.arm(second, otherwise.range(), rhs, Some(ty))?;
        let result = self.func.result(branch)?;
        self.func.set_value_type(result, ty);
        Some(result)
    }

    fn arms_type(&mut self, lhs: Number, rhs: Number) -> Option<Type> {
        match (lhs, rhs) {
            (Number::Value(lhs), Number::Value(rhs)) => {
                let index = self.func.index_ty();
                let types = [lhs, rhs].map(|value| self.func.value_type(value));
                Some(if types.contains(&index) { index } else { types[0] })
            }
            (Number::Value(value), _) | (_, Number::Value(value)) => Some(self.func.value_type(value)),
            (Number::Float(_), _) | (_, Number::Float(_)) => Some(self.func.elem_ty(Elem::F32)),
            _ => None,
        }
    }

    fn arm(&mut self, region: Region, range: TextRange, number: Number, ty: Option<Type>) -> Option<Value> {
        self.inside(region, |reader| {
            let value = reader.settle(range, number, ty)?;
            reader.yields(range, value);
            Some(value)
        })
    }

    /// A function of `T` by the table.
    pub(crate) fn table_call(&mut self, range: TextRange, name: &str, args: &'a [Expr]) -> Option<Number> {
        if let (Some(sign), [lhs, rhs]) = (table::operator_of(name), args) {
            if matches!(sign, BinOp::AndAnd | BinOp::OrOr) {
                let lhs = self.condition(lhs)?;
                return self.both(range, sign, lhs, rhs).map(Number::Value);
            }
            let lhs = self.expr(lhs)?;
            let rhs = self.expr(rhs)?;
            return self.binary(range, sign, lhs, rhs);
        }
        let Some(opcode) = table::op_of(name) else {
            let help = suggest::nearest(name, table::names()).map(|near| format!("did you mean `T.{near}`?"));
            let text = format!("tc has no counterpart of `T.{}`", suggest::shorten(name));
            match help {
                Some(help) => self.error_with(range, "no-counterpart", text, &help),
                None => self.refuse(range, text),
            }
            return None;
        };
        self.op_call(range, name, opcode, args).map(Number::Value)
    }

    fn op_call(&mut self, range: TextRange, name: &str, opcode: tc_ir::Opcode, args: &'a [Expr]) -> Option<Value> {
        let n_params = self.func.registry().row(opcode).params.iter().filter(|param| param.kind.is_operand()).count();
        if args.len() != n_params {
            let text = format!("`T.{name}` takes {}, not {}", tc_support::counted(n_params, "value"), args.len());
            self.error(range, "arguments", text);
            return None;
        }
        if opcode == arith::LIKELY {
            let condition = self.condition(&args[0])?;
            return self.infer(range, opcode, &[condition], &[]);
        }
        let (head, rest) = args.split_at(usize::from(opcode == arith::SELECT));
        let mut operands = Vec::new();
        for condition in head {
            let condition = self.expr(condition)?;
            operands.push(self.settle(range, condition, None)?);
        }
        operands.extend(self.one_type(range, rest)?);
        let wants_float = !table::OF_INTEGERS.contains(&opcode);
        let elem = operands.last().and_then(|&value| self.scalar(value)).map(|scalar| scalar.elem);
        if wants_float && !elem.is_some_and(Elem::is_float) {
            self.error(range, "type", format!("`T.{name}` takes floats"));
            return None;
        }
        self.infer(range, opcode, &operands, &[])
    }

    /// Values of one type.
    fn one_type(&mut self, range: TextRange, args: &'a [Expr]) -> Option<Vec<Value>> {
        let mut numbers = Vec::new();
        for arg in args {
            numbers.push(self.expr(arg)?);
        }
        let mut values: Vec<Value> = Vec::new();
        match numbers[..] {
            [one] => values.push(self.settle(range, one, None)?),
            [lhs, rhs] => {
                let (lhs, rhs) = self.unify(range, lhs, rhs)?;
                values.extend([lhs, rhs]);
            }
            _ => {
                let ty = numbers.iter().find_map(|number| match number {
                    Number::Value(value) => Some(self.func.value_type(*value)),
                    _ => None,
                });
                for number in numbers {
                    values.push(self.settle(range, number, ty)?);
                }
            }
        }
        Some(values)
    }
}
