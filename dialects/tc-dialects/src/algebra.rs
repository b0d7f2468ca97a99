//! Index expressions of programs as expressions of the index algebra, and back.
//!
//! An SSA value has one meaning wherever it is in scope, so each value that the algebra does not see into becomes a
//! variable whose number is the value's own. What is converted is remembered, and stays right until the function is
//! changed.
//!
//! Expressions say numbers, and variables have the types of their values. `index` and signed integers of 32 and 64 bits do
//! not overflow in a program that is right, so their arithmetic is that of numbers; of unsigned and narrower ones it is the
//! cast of it to their type, which goes where it is proved to change nothing. Numbers of `u64` may lie beyond what the
//! algebra counts to: they are variables.

mod attr;
mod build;
pub mod remainder;

pub use attr::{NoValue, attr_expr, eval_attr, infix_expr, infix_op, predicate_op};
pub use build::{Computation, Made, build, build_index, build_op};

use crate::arith::{self, Predicate};
use crate::tir::{self, LoopKind};
use smallvec::SmallVec;
use tc_arith::{Analyzer, BinaryOp, Expr, IntType, Node, Var};
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::opdef::Role;
use tc_ir::paged::Paged;
use tc_ir::walk::is_inside;
use tc_ir::{Attr, Def, Elem, Func, Name, Op, Region, Scalar, Value, effects, keys};

/// The parts of an expression are followed so far.
const MANY: usize = 64;

/// An analyzer, and which expression each value of a function is.
#[derive(Default)]
pub struct Algebra {
    /// Knowledge of the variables, and the pool of all expressions.
    pub analyzer: Analyzer,
    known: Paged<Value, Option<Expr>>,
    /// The values on their way into expressions; empty between questions.
    worklist: Vec<Step>,
}

/// A step on the way of a value into an expression.
enum Step {
    /// What it is computed from comes first.
    Enter(Value),
    /// That is known now: all that the algebra sees into it, if it does, is in the op.
    Convert(Value, Option<Op>),
}

impl Algebra {
    /// Knows nothing.
    pub fn new() -> Algebra {
        Algebra::default()
    }

    /// Knows the ranges and facts of the symbols of `func`.
    pub fn of_func(func: &Func) -> Algebra {
        let mut algebra = Algebra::new();
        algebra.declare_symbols(func);
        algebra
    }

    /// Declares the ranges and facts of the symbols of `func`. A symbol without a range is a size: not negative.
    pub fn declare_symbols(&mut self, func: &Func) {
        for (nth, symbol) in func.header.symbols.iter().enumerate() {
            let value = func.region_args(func.body())[nth];
            let var = self.declare(func, value);
            match symbol.range {
                Some((low, high)) => {
                    let (low, high) = (self.attr(func, low), self.attr(func, high));
                    let (Some(low), Some(high)) = (low, high) else { continue };
                    let extent = self.analyzer.pool.sub(high, low);
                    self.analyzer.bind(var, low, extent);
                }
                None => self.analyzer.bind_range(var, Some(0), None),
            }
        }
        for &fact in &func.header.facts {
            if let Some(condition) = self.attr(func, fact) {
                self.analyzer.constrain(condition);
            }
        }
    }

    /// The variable of `value`.
    pub fn var(value: Value) -> Var {
        Var(value.as_u32())
    }

    /// The value of a variable.
    pub fn value(var: Var) -> Value {
        Value::from_u32(var.0)
    }

    /// Makes `value` a variable, printed under its name, whatever defines it.
    pub fn declare(&mut self, func: &Func, value: Value) -> Var {
        let var = Algebra::var(value);
        let name = func.value_text(value);
        if let Some(ty) =
            func.value_scalar(value).filter(|scalar| scalar.lanes == 1).and_then(|scalar| int_type_of(scalar.elem))
        {
            self.analyzer.pool.declare(var, ty);
        }
        let expr = if name.is_empty() { self.analyzer.pool.var(var) } else { self.analyzer.pool.named_var(var, name) };
        self.known.set(value, Some(expr));
        var
    }

    /// The expression of a variable as such.
    pub fn var_expr(&mut self, value: Value) -> Expr {
        self.analyzer.pool.var(Algebra::var(value))
    }

    /// Declares the range of the variable of the loop `op`, a `tir.for`, whether what is asked lies inside of it or
    /// not. Where the loop may not run, that there is such a variable says nothing of the sizes in its bounds: only what
    /// these can be at all is taken from them.
    pub fn enter_loop(&mut self, func: &Func, op: Op) {
        let (lo, hi) = (func.operand(op, 0), func.operand(op, 1));
        let (lo, hi) = (self.expr(func, lo), self.expr(func, hi));
        // A launch of no threads runs nothing at all.
        let launches = matches!(tir::loop_kind(func, op), Some(LoopKind::Launch(_)));
        let (start, end) = (self.analyzer.pool.as_const(lo), self.analyzer.pool.as_const(hi));
        let runs = self.analyzer.pool.lt(lo, hi);
        if launches || start.zip(end).is_some() || self.analyzer.can_prove(runs) {
            return self.enter_body(func, op);
        }
        let (start, end) = (self.analyzer.bounds(lo), self.analyzer.bounds(hi));
        // The range is not empty where the bounds are: what is asked of an empty one may be answered in any way.
        let last = end.max().map(|end| end.saturating_sub(1).max(start.min().unwrap_or(i64::MIN)));
        let var = self.declare(func, func.region_args(func.op_regions(op)[0])[0]);
        self.analyzer.bind_range(var, start.min(), last);
        self.enter_carried(func, op);
    }

    /// Declares what holds in the body of the loop `op`, a `tir.for`: its variable lies between its bounds.
    fn enter_body(&mut self, func: &Func, op: Op) {
        let (lo, hi) = (func.operand(op, 0), func.operand(op, 1));
        let (lo, hi) = (self.expr(func, lo), self.expr(func, hi));
        let iv = func.region_args(func.op_regions(op)[0])[0];
        let var = self.declare(func, iv);
        let extent = self.analyzer.pool.sub(hi, lo);
        self.analyzer.bind(var, lo, extent);
        self.enter_carried(func, op);
    }

    /// Declares the ranges of counters that the loop `op` carries and that go round.
    fn enter_carried(&mut self, func: &Func, op: Op) {
        let (body, inits) = (func.op_regions(op)[0], &func.operands(op)[2..]);
        let carried = func.region_args(body)[1..].iter().zip(inits).zip(func.yielded(body));
        for ((&arg, &init), &next) in carried {
            let round = func.def_op(next).filter(|&def| func.opcode(def) == arith::MOD);
            let Some(end @ 1..) = round.and_then(|def| func.const_int(func.operand(def, 1))) else { continue };
            let init = self.expr(func, init);
            let init = self.analyzer.bounds(init);
            if let (Some(0..), Some(most)) = (init.min(), init.max()) {
                let var = self.declare(func, arg);
                self.analyzer.bind_range(var, Some(0), Some(most.max(end - 1)));
            }
        }
    }

    /// Takes the condition `value` to hold, or not to, until the analyzer's scope ends.
    pub fn assume(&mut self, func: &Func, value: Value, truth: bool) {
        // Of `a && b` where `b` reads, the algebra sees a variable; `a` holds all the same where the whole does.
        let mut at = Some(value);
        while let Some(value) = at {
            let condition = self.expr(func, value);
            let condition = if truth { condition } else { self.analyzer.pool.not(condition) };
            self.analyzer.constrain(condition);
            at = decides_first(func, value, truth);
        }
    }

    /// Declares what is known in `region` beyond what is known around it: the range of a loop's variable, or the
    /// condition of a branch.
    pub fn enter_region(&mut self, func: &Func, region: Region) {
        let Some(op) = func.region_parent(region) else { return };
        if func.opcode(op) == tir::FOR {
            self.enter_body(func, op);
        } else if func.opcode(op) == tir::IF {
            self.assume(func, func.operand(op, 0), func.op_regions(op)[0] == region);
        }
    }

    /// Declares all that is known where `op` stands, from the outermost region inwards.
    pub fn enter_place(&mut self, func: &Func, op: Op) {
        let mut regions: Vec<Region> = Vec::new();
        let mut at = func.region_of(op);
        while let Some(region) = at {
            regions.push(region);
            at = func.region_parent(region).and_then(|parent| func.region_of(parent));
        }
        for &region in regions.iter().rev() {
            self.enter_region(func, region);
        }
    }

    /// The expression of an integer or truth value. What the algebra does not know is a variable.
    pub fn expr(&mut self, func: &Func, value: Value) -> Expr {
        if let Some(known) = self.known.get(value) {
            return known;
        }
        // Post-order with a stack of our own: expressions may be deep.
        let mut worklist = std::mem::take(&mut self.worklist);
        worklist.push(Step::Enter(value));
        while let Some(step) = worklist.pop() {
            match step {
                Step::Enter(at) if self.known.get(at).is_some() => {}
                Step::Enter(at) => {
                    let op = steps_into(func, at);
                    worklist.push(Step::Convert(at, op));
                    match op {
                        Some(op) => worklist.extend(inputs(func, op).map(Step::Enter)),
                        None => worklist.extend(sizes_of(func, at).map(Step::Enter)),
                    }
                }
                Step::Convert(at, op) => {
                    let expr = self.convert(func, at, op);
                    self.inherit_size(func, at, op, expr);
                    self.known.set(at, Some(expr));
                }
            }
        }
        self.worklist = worklist;
        self.input(value)
    }

    /// How many different ops the expression of `value` is written with, literals and names left out.
    pub fn n_ops(&mut self, func: &Func, value: Value) -> usize {
        let mut seen: Vec<(tc_ir::Opcode, SmallVec<[Expr; 3]>)> = Vec::new();
        for part in self.parts(func, value) {
            let Some(op) = steps_into(func, part) else { continue };
            let args = inputs(func, op).map(|input| self.expr(func, input)).collect();
            let key = (func.opcode(op), args);
            if !seen.contains(&key) {
                seen.push(key);
            }
        }
        seen.len()
    }

    /// The values that the expression of `value` is computed by, itself first, up to names and up to a limit; what only one arm
    /// of a conditional computes is left out.
    fn parts(&self, func: &Func, value: Value) -> SmallVec<[Value; 8]> {
        let mut parts: SmallVec<[Value; 8]> = SmallVec::new();
        let mut worklist: SmallVec<[Value; 8]> = SmallVec::from_slice(&[value]);
        while let Some(at) = worklist.pop() {
            let is_name = at != value && func.value_name(at).is_some();
            // Literals are no parts: whether two ops share one is nothing that text tells.
            let is_part = |&op: &Op| !is_name && func.role(op) != Role::Constant && !parts.contains(&at);
            let Some(op) = steps_into(func, at).filter(is_part) else { continue };
            parts.push(at);
            worklist.extend_from_slice(if func.role(op) == Role::If {
                &func.operands(op)[..1]
            } else {
                func.operands(op)
            });
            if parts.len() >= MANY {
                break;
            }
        }
        parts
    }

    /// The expression of `value`, which was converted before.
    fn input(&self, value: Value) -> Expr {
        self.known.get(value).expect("inputs are converted first")
    }

    /// The expression of an extent or a condition over symbols; `None` where it is none.
    pub fn attr(&mut self, func: &Func, attr: Attr) -> Option<Expr> {
        let mut symbols: Vec<(Name, Expr)> = Vec::with_capacity(func.header.symbols.len());
        for (nth, symbol) in func.header.symbols.iter().enumerate() {
            let value = func.region_args(func.body())[nth];
            symbols.push((symbol.name, self.expr(func, value)));
        }
        let of_name = |name: Name| symbols.iter().find(|(symbol, _)| *symbol == name).map(|&(_, expr)| expr);
        attr_expr(func, attr, &mut self.analyzer.pool, &of_name).ok()
    }

    /// `expr` as text, under the names of the values.
    pub fn text(&self, expr: Expr) -> String {
        self.analyzer.pool.display(expr).to_string()
    }

    /// The name of a variable.
    pub fn text_of_var(&self, var: Var) -> String {
        self.analyzer.pool.name(var).map_or_else(|| format!("v{}", var.0), str::to_string)
    }

    /// The lazy conditional, which is also the lazy form of `&&` and `||`.
    fn choice(&mut self, condition: Expr, then: Expr, otherwise: Expr) -> Expr {
        let pool = &mut self.analyzer.pool;
        if pool.as_bool(otherwise) == Some(false) {
            pool.and(condition, then)
        } else if pool.as_bool(then) == Some(true) {
            pool.or(condition, otherwise)
        } else {
            pool.select(condition, then, otherwise)
        }
    }

    /// The expression of `value`, whose inputs are known; the algebra sees into `op`, if there is one.
    fn convert(&mut self, func: &Func, value: Value, op: Option<Op>) -> Expr {
        let Some(op) = op else { return self.opaque(func, value) };
        // What the algebra sees into has three inputs at most.
        let mut args = [Expr::default(); 3];
        let mut n_args = 0;
        for (arg, input) in args.iter_mut().zip(inputs(func, op)) {
            *arg = self.input(input);
            n_args += 1;
        }
        let opcode = func.opcode(op);
        if is_choice(func, op) && args[..n_args].iter().any(|&arg| self.analyzer.may_fail_anywhere(arg)) {
            return self.opaque(func, value);
        }
        let own = func.value_scalar(value).and_then(|scalar| int_type_of(scalar.elem));
        match func.role(op) {
            Role::Constant => match func.attr_of(op, keys::VALUE).map(|attr| func.attr_data(attr)) {
                Some(AttrData::Bool(value)) => self.analyzer.pool.bool(*value),
                Some(AttrData::Int(int, _)) => match i64::try_from(*int) {
                    Ok(int) => self.analyzer.pool.int(int),
                    Err(_) => self.opaque(func, value),
                },
                _ => self.opaque(func, value),
            },
            Role::Binary(binary) => {
                let exact = infix_expr(&mut self.analyzer.pool, binary, args[0], args[1]);
                // What the algebra cannot count to has no remainder there. Ranges hold wherever their variables are in scope.
                if own.is_some_and(IntType::wraps)
                    && !self.analyzer.quick_bounds(exact).is_finite()
                    && binary == BinOp::Mul
                {
                    return self.opaque(func, value);
                }
                self.in_type(own, exact)
            }
            Role::Unary(UnOp::Not) => self.analyzer.pool.not(args[0]),
            Role::Unary(UnOp::Neg) => {
                let zero = self.analyzer.pool.int(0);
                let exact = self.analyzer.pool.sub(zero, args[0]);
                self.in_type(own, exact)
            }
            Role::Compare => match Predicate::of(func, op) {
                Some(predicate) => infix_expr(&mut self.analyzer.pool, predicate_op(predicate), args[0], args[1]),
                None => self.opaque(func, value),
            },
            Role::Cast => match own {
                Some(_) if self.analyzer.pool.is_bool(args[0]) => {
                    let (one, zero) = (self.analyzer.pool.int(1), self.analyzer.pool.int(0));
                    self.analyzer.pool.select(args[0], one, zero)
                }
                Some(ty) => self.analyzer.pool.cast(ty, args[0]),
                None => self.opaque(func, value),
            },
            // What an arm gave a name that became a variable is not in scope behind it.
            Role::If if args[1..3].iter().any(|&arm| self.uses_inner(func, op, arm)) => self.opaque(func, value),
            Role::If => self.choice(args[0], args[1], args[2]),
            _ if opcode == arith::SELECT => self.analyzer.pool.select(args[0], args[1], args[2]),
            _ if opcode == arith::LIKELY => self.analyzer.pool.likely(args[0]),
            _ => match named_binary(opcode) {
                // The least number divided by -1 is none of its type.
                Some(op) => {
                    let exact = self.analyzer.pool.binary(op, args[0], args[1]);
                    if op == BinaryOp::TruncDiv { self.in_type(own, exact) } else { exact }
                }
                None => self.opaque(func, value),
            },
        }
    }

    /// Does `expr` use a variable that is defined under `op`?
    fn uses_inner(&self, func: &Func, op: Op, expr: Expr) -> bool {
        let is_inner = |&var: &Var| {
            let def = func.def_op(Algebra::value(var));
            def.is_some_and(|def| is_inside(func, def, op))
        };
        self.analyzer.pool.vars(expr).iter().any(is_inner)
    }

    /// What arithmetic of type `ty` makes of an exact result.
    fn in_type(&mut self, ty: Option<IntType>, exact: Expr) -> Expr {
        match ty {
            Some(ty) if ty.wraps() => self.analyzer.pool.cast(ty, exact),
            _ => exact,
        }
    }

    /// What the algebra does not see into may still be one of the numbers that it is computed from.
    fn inherit_size(&mut self, func: &Func, value: Value, op: Option<Op>, expr: Expr) {
        if self.analyzer.pool.node(expr) != Node::Var(Algebra::var(value)) {
            return;
        }
        let mut is_huge = |input: Value| self.analyzer.has_huge_leaf(self.input(input));
        let inherits = match op {
            Some(op) => inputs(func, op).any(&mut is_huge),
            None => sizes_of(func, value).any(&mut is_huge),
        };
        if inherits {
            self.analyzer.pool.declare_huge(Algebra::var(value));
        }
    }

    fn opaque(&mut self, func: &Func, value: Value) -> Expr {
        self.declare(func, value);
        self.input(value)
    }
}

/// The type that the algebra has for integers and truth values of `elem`.
pub fn int_type_of(elem: Elem) -> Option<IntType> {
    Some(match elem {
        Elem::Bool => IntType::Bool,
        Elem::Index => IntType::Index,
        Elem::I8 => IntType::I8,
        Elem::I16 => IntType::I16,
        Elem::I32 => IntType::I32,
        Elem::I64 => IntType::I64,
        Elem::U8 => IntType::U8,
        Elem::U16 => IntType::U16,
        Elem::U32 => IntType::U32,
        Elem::U64 => IntType::U64,
        _ => return None,
    })
}

/// The element type of a type of the algebra.
pub fn elem_of(ty: IntType) -> Elem {
    match ty {
        IntType::Bool => Elem::Bool,
        IntType::Index => Elem::Index,
        IntType::I8 => Elem::I8,
        IntType::I16 => Elem::I16,
        IntType::I32 => Elem::I32,
        IntType::I64 => Elem::I64,
        IntType::U8 => Elem::U8,
        IntType::U16 => Elem::U16,
        IntType::U32 => Elem::U32,
        IntType::U64 => Elem::U64,
    }
}

/// Is `value` a size of the function?
pub fn is_symbol(func: &Func, value: Value) -> bool {
    matches!(func.def(value), Def::Arg(region, idx) if region == func.body() && idx < func.header.symbols.len())
}

/// Is a scalar of this type an integer or truth value that the algebra computes with?
pub fn is_exact(scalar: Scalar) -> bool {
    scalar.lanes == 1 && scalar.elem != Elem::U64 && int_type_of(scalar.elem).is_some()
}

/// The op behind `value`, if the algebra sees into it.
fn steps_into(func: &Func, value: Value) -> Option<Op> {
    let op = func.def_op(value)?;
    let scalar = func.value_scalar(value)?;
    if !is_exact(scalar) {
        return None;
    }
    let opcode = func.opcode(op);
    let operands_fit = || func.operands(op).iter().all(|&arg| func.value_scalar(arg).is_some_and(is_exact));
    let sees = match func.role(op) {
        Role::Constant => true,
        Role::Cast => scalar.elem != Elem::Bool && operands_fit(),
        // The lazy form of `a && b`, and conditionals that only compute.
        Role::If => {
            opcode == tir::IF
                && func.n_results(op) == 1
                && func.op_regions(op).len() == 2
                && func
                    .op_regions(op)
                    .iter()
                    .all(|&region| func.ops(region).all(|inner| func.row(inner).terminator || is_plain(func, inner)))
        }
        Role::Binary(_) | Role::Unary(_) | Role::Compare => operands_fit(),
        _ => (opcode == arith::SELECT || opcode == arith::LIKELY || named_binary(opcode).is_some()) && operands_fit(),
    };
    sees.then_some(op)
}

/// Is `op` one whose parts the algebra simplifies by what other parts say? What comes of a part may then be computed where
/// they say nothing of the kind, so that a part must not divide by what may be zero, nor shift by more than there are bits.
fn is_choice(func: &Func, op: Op) -> bool {
    matches!(func.role(op), Role::If | Role::Binary(BinOp::AndAnd | BinOp::OrOr)) || func.opcode(op) == arith::SELECT
}

/// Arithmetic of the algebra, so that nothing inside a conditional becomes a variable there.
fn is_plain(func: &Func, op: Op) -> bool {
    let known = matches!(func.role(op), Role::Constant | Role::Binary(_) | Role::Unary(_) | Role::Compare | Role::Cast)
        || matches!(func.opcode(op), arith::SELECT | arith::LIKELY)
        || named_binary(func.opcode(op)).is_some();
    known && func.result(op).is_some_and(|result| steps_into(func, result) == Some(op))
}

/// What the expression of the result of `op` is made of.
fn inputs(func: &Func, op: Op) -> impl Iterator<Item = Value> + '_ {
    let (operands, regions) = match func.role(op) {
        Role::If => (&func.operands(op)[..1], func.op_regions(op)),
        _ => (func.operands(op), &[][..]),
    };
    operands.iter().copied().chain(regions.iter().map(|&region| func.yielded(region)[0]))
}

/// The values that tell how large `value`, which the algebra does not see into, may be: those that a conditional yields, and
/// the integers that arithmetic such as `abs` takes.
fn sizes_of(func: &Func, value: Value) -> impl Iterator<Item = Value> + '_ {
    let op = func.def_op(value);
    let is_choice = |&op: &Op| func.role(op) == Role::If;
    let nth = op.filter(is_choice).and_then(|op| func.results(op).position(|result| result == value));
    let chosen = op.zip(nth).into_iter().flat_map(move |(op, nth)| {
        func.op_regions(op).iter().filter_map(move |&region| func.yielded(region).get(nth).copied())
    });
    let arithmetic = op.filter(|&op| func.op_regions(op).is_empty() && effects::own(func, op).is_pure());
    let taken = arithmetic.into_iter().flat_map(|op| func.operands(op).iter().copied());
    chosen.chain(taken.filter(|&input| func.value_scalar(input).is_some_and(is_exact)))
}

fn named_binary(opcode: tc_ir::Opcode) -> Option<BinaryOp> {
    Some(match opcode {
        arith::MIN => BinaryOp::Min,
        arith::MAX => BinaryOp::Max,
        arith::TDIV => BinaryOp::TruncDiv,
        arith::TMOD => BinaryOp::TruncMod,
        _ => return None,
    })
}

/// The condition of the lazy conjunction (or disjunction) `value`, into which the algebra does not see: it is true (or false)
/// where the whole is.
fn decides_first(func: &Func, value: Value, truth: bool) -> Option<Value> {
    let op = func.def_op(value).filter(|&op| func.opcode(op) == tir::IF && steps_into(func, value).is_none())?;
    let &[then, otherwise] = func.op_regions(op) else { return None };
    let given = func.yielded(if truth { otherwise } else { then }).first().and_then(|&given| func.constant(given))?;
    let is_literal = *func.attr_data(given) == AttrData::Bool(!truth);
    (is_literal && func.n_results(op) == 1).then(|| func.operand(op, 0))
}

/// The constant extent of the loop `op`, where its bounds are literals.
pub fn const_extent(func: &Func, op: Op) -> Option<i64> {
    let (lo, hi) = (func.const_int(func.operand(op, 0))?, func.const_int(func.operand(op, 1))?);
    hi.checked_sub(lo).map(|extent| extent.max(0))
}

/// Is `op` a loop that names a launch coordinate?
pub fn is_launch(func: &Func, op: Op) -> bool {
    func.opcode(op) == tir::FOR && matches!(tir::loop_kind(func, op), Some(LoopKind::Launch(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_ir::Builder;

    #[test]
    fn an_expression_goes_over_and_comes_back() {
        let mut func = Func::new(crate::shared_registry(), tir::FUNC, "f");
        let index = func.index_ty();
        let body = func.body();
        let i = func.push_arg(body, index, Some("i"));
        let mut b = Builder::at_end(&mut func, body);
        let (four, one) = (b.index(4), b.index(1));
        let scaled = b.value(arith::MUL, &[i, four], &[]);
        let sum = b.value(arith::ADD, &[scaled, one], &[]);
        let quotient = b.value(arith::DIV, &[sum, four], &[]);
        let mut algebra = Algebra::new();
        algebra.declare(&func, i);
        let expr = algebra.expr(&func, quotient);
        assert_eq!(algebra.text(expr), "(i * 4 + 1) / 4");
        let simple = algebra.analyzer.simplify(expr);
        let mut b = Builder::at_end(&mut func, body);
        let same = algebra.computation(simple, Elem::Index).expect("`i` is of `index`");
        assert_eq!(build(&mut b, &same, &mut Made::default()), i);
        // Nothing says that `i` fits 32 bits.
        assert!(algebra.computation(simple, Elem::I32).is_none());
        algebra.analyzer.bind_range(Algebra::var(i), Some(0), Some(99));
        let narrow = algebra.computation(simple, Elem::I32).expect("it fits now");
        let narrow = build(&mut b, &narrow, &mut Made::default());
        assert_eq!(func.role(func.def_op(narrow).expect("an op")), Role::Cast);
    }

    #[test]
    fn what_wraps_is_a_cast_of_a_known_range() {
        let mut func = Func::new(crate::shared_registry(), tir::FUNC, "f");
        let u8_ty = func.elem_ty(Elem::U8);
        let body = func.body();
        let x = func.push_arg(body, u8_ty, Some("x"));
        let mut b = Builder::at_end(&mut func, body);
        let twice = b.value(arith::ADD, &[x, x], &[]);
        let index = b.func.index_ty();
        let wide = arith::Cast::build(&mut b, twice, &[], &[index]);
        let wide = func.result(wide).expect("a cast has one result");
        let mut algebra = Algebra::new();
        let expr = algebra.expr(&func, wide);
        // Twice a number is even, and wrapping by 256 keeps it so.
        assert_eq!(algebra.analyzer.bounds(expr), tc_arith::Interval::new(0, 254));
    }
}
