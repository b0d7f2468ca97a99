//! From expressions of the index algebra to ops.
//!
//! An expression says numbers; a program computes them in types. [`Algebra::computation`] chooses a type for every part,
//! such that no part overflows where the expression stands: the type that is asked for, and for what a comparison or a cast
//! hides the type that its own parts have, or the next wider one. Where no choice is proved right there is none, and what
//! the program computes today is kept. [`build`] then makes the ops.

use super::{Algebra, elem_of, infix_op, int_type_of, predicate_op};
use crate::arith::{self, Predicate};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use tc_arith::{BinaryOp, Expr, IntType, MAX_DEPTH, Node};
use tc_ir::attrs::{AttrData, BinOp};
use tc_ir::opdef::Role;
use tc_ir::{Builder, Elem, Func, Op, Type, Value, keys};

/// So many parts of an expression are compared with what is written.
const MOST_WRITTEN: usize = 64;

/// One op of a computation; operands are numbers of earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Instruction {
    Int(i64, IntType),
    Bool(bool),
    Value(Value),
    Cast(IntType, usize),
    Not(usize),
    Likely(usize),
    Select(usize, usize, usize),
    Binary(BinaryOp, usize, usize),
}

/// An expression with a type chosen for each part: what [`build`] makes ops of.
#[derive(Clone, Debug)]
pub struct Computation {
    steps: Vec<Instruction>,
    root: usize,
}

/// The values that were made at one place, so that what comes twice is made once.
#[derive(Default)]
pub struct Made(FxHashMap<Key, Value>);

/// What a value computes, by values.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Int(i64, IntType),
    Bool(bool),
    Cast(IntType, Value),
    Not(Value),
    Likely(Value),
    Select(Value, Value, Value),
    Binary(BinaryOp, Value, Value),
}

impl Algebra {
    /// How `expr` is computed as a value of `elem` where the analyzer stands now. `None` where some part may leave each type
    /// that it could be computed in.
    pub fn computation(&mut self, expr: Expr, elem: Elem) -> Option<Computation> {
        self.choose_types(expr, elem, Computed::default())
    }

    /// How `expr`, which is what `value` is, is computed where `value` is. What the program computes there on the way to it
    /// fits the type in which it does so.
    pub fn recomputation(&mut self, func: &Func, value: Value, expr: Expr) -> Option<Computation> {
        let elem = func.value_scalar(value)?.elem;
        let mut computed = Computed::default();
        computed.fits.insert((expr, int_type_of(elem)?));
        for part in self.parts(func, value) {
            let Some(ty) = func.value_scalar(part).and_then(|scalar| int_type_of(scalar.elem)) else { continue };
            let given = self.expr(func, part);
            let simple = self.analyzer.simplify(given);
            computed.fits.extend([(given, ty), (simple, ty)]);
            if let Some(op) = func.def_op(part).filter(|&op| func.role(op).is_shift()) {
                let count = self.expr(func, func.operand(op, 1));
                computed.counts.insert((count, ty));
            }
        }
        self.choose_types(expr, elem, computed)
    }

    /// Is `expr` what `value` is written as, op by op and each in the type of its result? `false` too where there is much of
    /// it.
    pub fn is_written_as(&self, func: &Func, expr: Expr, value: Value) -> bool {
        let pool = &self.analyzer.pool;
        let mut worklist: SmallVec<[(Expr, Value); 8]> = SmallVec::from_slice(&[(expr, value)]);
        let mut n_seen = 0;
        while let Some((expr, value)) = worklist.pop() {
            n_seen += 1;
            let step = match pool.node(expr) {
                Node::Const(number) => Instruction::Int(number, IntType::Index),
                Node::Bool(truth) => Instruction::Bool(truth),
                Node::Var(var) => Instruction::Value(Algebra::value(var)),
                Node::Cast(ty, _) => Instruction::Cast(ty, 0),
                Node::Not(_) => Instruction::Not(0),
                Node::Likely(_) => Instruction::Likely(0),
                Node::Select(..) => Instruction::Select(0, 0, 0),
                Node::Binary(op, ..) => Instruction::Binary(op, 0, 0),
            };
            let Some(args) = step_args(step, func, value).filter(|_| n_seen <= MOST_WRITTEN) else { return false };
            worklist.extend(pool.node(expr).operands().zip(args));
        }
        true
    }

    fn choose_types(&mut self, expr: Expr, elem: Elem, computed: Computed) -> Option<Computation> {
        // Beyond this the analyzer does not look, and this is not to recurse.
        if self.analyzer.pool.depth(expr) > 2 * MAX_DEPTH {
            return None;
        }
        let (steps, index, known) = (Vec::new(), FxHashMap::default(), FxHashMap::default());
        let mut choice = TypeChoice { algebra: self, steps, index, known, computed };
        let root = match elem {
            Elem::Bool => choice.truth(expr)?,
            _ => choice.number(expr, int_type_of(elem)?, false)?,
        };
        Some(Computation { steps: choice.steps, root })
    }
}

impl Computation {
    /// The numbers of the steps that the root needs.
    fn needed(&self) -> Vec<bool> {
        let mut needed = vec![false; self.steps.len()];
        needed[self.root] = true;
        for at in (0..=self.root).rev() {
            if needed[at] {
                operands(self.steps[at]).for_each(|operand| needed[operand] = true);
            }
        }
        needed
    }

    /// Is `value` computed by these ops already?
    pub fn is_written_as(&self, func: &Func, value: Value) -> bool {
        // What is shared is compared once: as a tree it may be without end.
        let mut seen = FxHashSet::default();
        let mut worklist = vec![(self.root, value)];
        while let Some((at, value)) = worklist.pop() {
            if !seen.insert((at, value)) {
                continue;
            }
            let step = self.steps[at];
            let Some(args) = step_args(step, func, value) else { return false };
            worklist.extend(operands(step).zip(args));
        }
        true
    }

    /// How many ops it takes, literals left out.
    pub fn n_ops(&self) -> usize {
        let is_op =
            |step: &Instruction| !matches!(step, Instruction::Int(..) | Instruction::Bool(_) | Instruction::Value(_));
        self.steps.iter().zip(self.needed()).filter(|(step, needed)| *needed && is_op(step)).count()
    }
}

impl Algebra {
    /// How `expr` is computed as an `index`, all parts of it in that type, in which counts do not overflow.
    pub fn index_computation(&self, expr: Expr) -> Computation {
        let pool = &self.analyzer.pool;
        let mut steps: Vec<Instruction> = Vec::new();
        let mut at: FxHashMap<Expr, usize> = FxHashMap::default();
        let mut push = |step: Instruction| {
            steps.push(step);
            steps.len() - 1
        };
        // Operands have lower numbers than what they are operands of, so that none is met before its parts.
        for e in pool.reachable(&[expr]) {
            let truth_of = |push: &mut dyn FnMut(Instruction) -> usize, part: Expr| {
                let zero = push(Instruction::Int(0, IntType::Index));
                if pool.is_bool(part) { at[&part] } else { push(Instruction::Binary(BinaryOp::Ne, at[&part], zero)) }
            };
            let number_of = |push: &mut dyn FnMut(Instruction) -> usize, part: Expr| match pool.is_bool(part) {
                true => push(Instruction::Cast(IntType::Index, at[&part])),
                false => at[&part],
            };
            let made = match pool.node(e) {
                Node::Const(value) => push(Instruction::Int(value, IntType::Index)),
                Node::Bool(value) => push(Instruction::Bool(value)),
                Node::Var(var) => {
                    let value = push(Instruction::Value(Algebra::value(var)));
                    let is_other = !matches!(pool.var_type(var), IntType::Index | IntType::Bool);
                    if is_other { push(Instruction::Cast(IntType::Index, value)) } else { value }
                }
                Node::Not(a) => {
                    let a = truth_of(&mut push, a);
                    push(Instruction::Not(a))
                }
                Node::Likely(a) => {
                    let a = truth_of(&mut push, a);
                    push(Instruction::Likely(a))
                }
                Node::Cast(ty, a) => {
                    let a = number_of(&mut push, a);
                    let narrow = push(Instruction::Cast(ty, a));
                    push(Instruction::Cast(IntType::Index, narrow))
                }
                Node::Select(c, a, b) => {
                    let c = truth_of(&mut push, c);
                    let (a, b) = match pool.is_bool(e) {
                        true => (at[&a], at[&b]),
                        false => (number_of(&mut push, a), number_of(&mut push, b)),
                    };
                    push(Instruction::Select(c, a, b))
                }
                Node::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                    let (a, b) = (truth_of(&mut push, a), truth_of(&mut push, b));
                    push(Instruction::Binary(op, a, b))
                }
                Node::Binary(op, a, b) => {
                    let (a, b) = (number_of(&mut push, a), number_of(&mut push, b));
                    push(Instruction::Binary(op, a, b))
                }
            };
            at.insert(e, made);
        }
        let root = if pool.is_bool(expr) { push(Instruction::Cast(IntType::Index, at[&expr])) } else { at[&expr] };
        Computation { steps, root }
    }
}

/// Makes the ops of `expr` as an `index` at the place of `b`; see [`Algebra::index_computation`].
pub fn build_index(b: &mut Builder<'_>, algebra: &Algebra, expr: Expr) -> Value {
    build(b, &algebra.index_computation(expr), &mut Made::default())
}

/// Chooses types, part by part.
struct TypeChoice<'a> {
    algebra: &'a mut Algebra,
    steps: Vec<Instruction>,
    index: FxHashMap<Instruction, usize>,
    known: FxHashMap<(Expr, IntType, bool), Option<usize>>,
    computed: Computed,
}

/// What the program computes in the place.
#[derive(Default)]
struct Computed {
    /// Numbers, each with a type that holds it there.
    fits: FxHashSet<(Expr, IntType)>,
    /// Counts of shifts, each with a type that is shifted by it.
    counts: FxHashSet<(Expr, IntType)>,
}

impl TypeChoice<'_> {
    fn push(&mut self, step: Instruction) -> usize {
        let steps = &mut self.steps;
        *self.index.entry(step).or_insert_with(|| {
            steps.push(step);
            steps.len() - 1
        })
    }

    /// Does every value of `expr` fit `ty`? Of `index` the language says so: arithmetic of counts stays below 2^63.
    fn fits(&mut self, expr: Expr, ty: IntType) -> bool {
        if ty == IntType::Index || self.computed.fits.contains(&(expr, ty)) {
            return true;
        }
        let range = ty.range();
        let inside = |bounds: tc_arith::Interval| {
            let above = bounds.min().is_some_and(|low| range.min().is_none_or(|min| low >= min));
            above && bounds.max().is_some_and(|high| range.max().is_none_or(|max| high <= max))
        };
        inside(self.algebra.analyzer.quick_bounds(expr)) || inside(self.algebra.analyzer.bounds(expr))
    }

    /// May a number of type `ty` be shifted by `count`?
    fn shifts_within(&mut self, count: Expr, ty: IntType) -> bool {
        let bits = i64::from(ty.bits());
        // No type has more bits, so that the program's had no more.
        if bits == 64 {
            return true;
        }
        let bounds = self.algebra.analyzer.bounds(count);
        self.computed.counts.contains(&(count, ty)) || (bounds.all_at_least(0) && bounds.all_at_most(bits - 1))
    }

    /// `expr` as an integer of `ty`; with `wrap` what is congruent to it modulo two to the power of the width will do.
    fn number(&mut self, expr: Expr, ty: IntType, wrap: bool) -> Option<usize> {
        if let Some(&known) = self.known.get(&(expr, ty, wrap)) {
            return known;
        }
        let chosen = self.choose(expr, ty, wrap);
        self.known.insert((expr, ty, wrap), chosen);
        chosen
    }

    fn choose(&mut self, expr: Expr, ty: IntType, wrap: bool) -> Option<usize> {
        let pool = &self.algebra.analyzer.pool;
        let node = pool.node(expr);
        if pool.is_bool(expr) && !matches!(node, Node::Bool(_)) {
            let truth = self.truth(expr)?;
            return Some(self.push(Instruction::Cast(ty, truth)));
        }
        match node {
            Node::Const(value) if wrap => Some(self.push(Instruction::Int(ty.wrap(value)?, ty))),
            Node::Const(value) => ty.range().contains(value).then(|| self.push(Instruction::Int(value, ty))),
            Node::Bool(value) => Some(self.push(Instruction::Int(i64::from(value), ty))),
            Node::Var(var) => {
                let own = pool.var_type(var);
                let value = self.push(Instruction::Value(Algebra::value(var)));
                self.converted(expr, (value, own), ty, wrap)
            }
            Node::Cast(own, inner) if wrap && own.bits() >= ty.bits() => self.number(inner, ty, true),
            Node::Cast(own, inner) => {
                let value = match own.wraps() {
                    true => self.number(inner, own, true)?,
                    false => {
                        let (value, from) = self.natural(inner)?;
                        if from == own { value } else { self.push(Instruction::Cast(own, value)) }
                    }
                };
                self.converted(expr, (value, own), ty, wrap)
            }
            Node::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
                if !wrap && !self.fits(expr, ty) {
                    return None;
                }
                let (a, b) = (self.number(a, ty, wrap)?, self.number(b, ty, wrap)?);
                Some(self.push(Instruction::Binary(op, a, b)))
            }
            // What follows does not follow from the remainders of its operands.
            _ if wrap => {
                let (value, own) = self.natural(expr)?;
                Some(if own == ty { value } else { self.push(Instruction::Cast(ty, value)) })
            }
            Node::Binary(op, a, b) => {
                let may_leave = matches!(op, BinaryOp::Shl | BinaryOp::FloorDiv | BinaryOp::TruncDiv);
                if may_leave && !self.fits(expr, ty) {
                    return None;
                }
                if matches!(op, BinaryOp::Shl | BinaryOp::Shr) && !self.shifts_within(b, ty) {
                    return None;
                }
                let (a, b) = (self.number(a, ty, false)?, self.number(b, ty, false)?);
                Some(self.push(Instruction::Binary(op, a, b)))
            }
            Node::Select(c, a, b) => {
                let (c, a, b) = (self.truth(c)?, self.number(a, ty, false)?, self.number(b, ty, false)?);
                Some(self.push(Instruction::Select(c, a, b)))
            }
            Node::Not(_) | Node::Likely(_) => None,
        }
    }

    /// The value of `expr`, which is there in the type `own`, in the type `ty`.
    fn converted(&mut self, expr: Expr, (value, own): (usize, IntType), ty: IntType, wrap: bool) -> Option<usize> {
        if own == ty {
            return Some(value);
        }
        (wrap || ty.holds(own) || self.fits(expr, ty)).then(|| self.push(Instruction::Cast(ty, value)))
    }

    /// The types in which numbers of type `ty` may be computed with, the best first.
    fn candidates(ty: Option<IntType>) -> impl Iterator<Item = IntType> {
        let wider = [IntType::I32, IntType::I64]
            .into_iter()
            .filter(move |wide| ty.is_none_or(|ty| wide.holds(ty) && *wide != ty));
        ty.into_iter().chain(wider.filter(move |_| ty != Some(IntType::Index)))
    }

    /// `expr` in the type of its parts, or the next wider one.
    fn natural(&mut self, expr: Expr) -> Option<(usize, IntType)> {
        let own = self.algebra.analyzer.pool.int_type(expr);
        TypeChoice::candidates(own).find_map(|ty| Some((self.number(expr, ty, false)?, ty)))
    }

    fn truth(&mut self, expr: Expr) -> Option<usize> {
        let pool = &self.algebra.analyzer.pool;
        let step = match pool.node(expr) {
            Node::Bool(value) => Instruction::Bool(value),
            Node::Var(var) if pool.var_type(var) == IntType::Bool => Instruction::Value(Algebra::value(var)),
            Node::Not(a) => Instruction::Not(self.truth(a)?),
            Node::Likely(a) => Instruction::Likely(self.truth(a)?),
            Node::Select(c, a, b) if pool.is_bool(a) && pool.is_bool(b) => {
                Instruction::Select(self.truth(c)?, self.truth(a)?, self.truth(b)?)
            }
            Node::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                Instruction::Binary(op, self.truth(a)?, self.truth(b)?)
            }
            Node::Binary(op, a, b) if op.is_comparison() => return self.comparison(op, a, b),
            _ => {
                let zero = self.algebra.analyzer.pool.int(0);
                return self.comparison(BinaryOp::Ne, expr, zero);
            }
        };
        Some(self.push(step))
    }

    /// A comparison, in the type of its sides.
    fn comparison(&mut self, op: BinaryOp, a: Expr, b: Expr) -> Option<usize> {
        let pool = &self.algebra.analyzer.pool;
        if pool.is_bool(a) && pool.is_bool(b) && matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
            let (a, b) = (self.truth(a)?, self.truth(b)?);
            return Some(self.push(Instruction::Binary(op, a, b)));
        }
        let own = match (pool.int_type(a), pool.int_type(b)) {
            (Some(a), Some(b)) => a.join(b),
            (one, other) => one.or(other),
        };
        TypeChoice::candidates(own).find_map(|ty| {
            let (a, b) = (self.number(a, ty, false)?, self.number(b, ty, false)?);
            Some(self.push(Instruction::Binary(op, a, b)))
        })
    }
}

/// Makes the ops of `computation` at the place of `b`. Every variable must be a value that is in scope there. What was made
/// before at this place is found in `made`.
pub fn build(b: &mut Builder<'_>, computation: &Computation, made: &mut Made) -> Value {
    // Only what the root needs: types that were tried and given up leave steps behind.
    let needed = computation.needed();
    let mut values: Vec<Option<Value>> = vec![None; computation.steps.len()];
    for (at, &step) in computation.steps.iter().enumerate().take(computation.root + 1) {
        if needed[at] {
            values[at] = Some(step_value(b, step, &values, made));
        }
    }
    values[computation.root].expect("the root is needed")
}

/// The operands of the op behind `value`, in the order of the algebra, if that op does what `step` does; none of a literal or
/// a variable.
fn step_args(step: Instruction, func: &Func, value: Value) -> Option<SmallVec<[Value; 3]>> {
    let mut args = SmallVec::new();
    let is_same = match (step, func.def_op(value)) {
        (Instruction::Value(known), _) => known == value,
        (_, None) => false,
        (Instruction::Int(number, _), _) => func.const_int(value) == Some(number),
        (Instruction::Bool(truth), _) => {
            func.constant(value).is_some_and(|attr| *func.attr_data(attr) == AttrData::Bool(truth))
        }
        (_, Some(op)) => {
            let turned = is_turned(func, op);
            args.extend_from_slice(func.operands(op));
            if turned {
                args.reverse();
            }
            is_op_of(step, func, op, turned) && func.op_regions(op).is_empty() && args.len() == operands(step).count()
        }
    };
    is_same.then_some(args)
}

/// Is `op` a comparison by `>` or `>=`, which the algebra writes the other way round?
fn is_turned(func: &Func, op: Op) -> bool {
    func.role(op) == Role::Compare && matches!(Predicate::of(func, op), Some(Predicate::Gt | Predicate::Ge))
}

/// Does `op` do what `step` does, on operands that stand the other way round if it is `turned`?
fn is_op_of(step: Instruction, func: &Func, op: Op, turned: bool) -> bool {
    let (opcode, role) = (func.opcode(op), func.role(op));
    match step {
        Instruction::Cast(ty, _) => {
            role == Role::Cast
                && func
                    .result(op)
                    .and_then(|value| func.value_scalar(value))
                    .is_some_and(|scalar| scalar.elem == elem_of(ty))
        }
        Instruction::Not(_) => opcode == arith::NOT,
        Instruction::Likely(_) => opcode == arith::LIKELY,
        Instruction::Select(..) => opcode == arith::SELECT,
        Instruction::Binary(wanted, ..) => match (role, Predicate::of(func, op)) {
            (Role::Binary(sign), _) => infix_op(sign) == (wanted, false),
            (Role::Compare, Some(predicate)) => infix_op(predicate_op(predicate)) == (wanted, turned),
            _ => func.row(op).short.and_then(BinaryOp::of_name) == Some(wanted),
        },
        Instruction::Int(..) | Instruction::Bool(_) | Instruction::Value(_) => false,
    }
}

fn operands(step: Instruction) -> impl Iterator<Item = usize> {
    let operands = match step {
        Instruction::Int(..) | Instruction::Bool(_) | Instruction::Value(_) => [None; 3],
        Instruction::Cast(_, a) | Instruction::Not(a) | Instruction::Likely(a) => [Some(a), None, None],
        Instruction::Binary(_, x, y) => [Some(x), Some(y), None],
        Instruction::Select(c, x, y) => [Some(c), Some(x), Some(y)],
    };
    operands.into_iter().flatten()
}

fn step_value(b: &mut Builder<'_>, step: Instruction, values: &[Option<Value>], made: &mut Made) -> Value {
    let of = |at: usize| values[at].expect("operands come first");
    let key = match step {
        Instruction::Value(value) => return value,
        Instruction::Int(value, ty) => Key::Int(value, ty),
        Instruction::Bool(value) => Key::Bool(value),
        Instruction::Cast(ty, a) => Key::Cast(ty, of(a)),
        Instruction::Not(a) => Key::Not(of(a)),
        Instruction::Likely(a) => Key::Likely(of(a)),
        Instruction::Select(c, x, y) => Key::Select(of(c), of(x), of(y)),
        Instruction::Binary(op, x, y) => Key::Binary(op, of(x), of(y)),
    };
    if let Some(&value) = made.0.get(&key) {
        return value;
    }
    let value = match key {
        Key::Int(value, ty) => b.int(value, elem_of(ty)),
        Key::Bool(value) => b.bool(value),
        Key::Cast(ty, a) => {
            let ty: Type = b.func.elem_ty(elem_of(ty));
            let op = arith::Cast::build(b, a, &[], &[ty]);
            b.func.result(op).expect("a cast has one result")
        }
        Key::Not(a) => b.value(arith::NOT, &[a], &[]),
        Key::Likely(a) => b.value(arith::LIKELY, &[a], &[]),
        Key::Select(c, x, y) => b.value(arith::SELECT, &[c, x, y], &[]),
        Key::Binary(op, x, y) => build_op(b, op, &[x, y]),
    };
    made.0.insert(key, value);
    value
}

/// Makes the op of `op` on two operands of one type.
pub fn build_op(b: &mut Builder<'_>, op: BinaryOp, args: &[Value]) -> Value {
    let opcode = match op {
        BinaryOp::TruncDiv => arith::TDIV,
        BinaryOp::TruncMod => arith::TMOD,
        BinaryOp::Min => arith::MIN,
        BinaryOp::Max => arith::MAX,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le => {
            let word = match op {
                BinaryOp::Eq => "eq",
                BinaryOp::Ne => "ne",
                BinaryOp::Lt => "lt",
                _ => "le",
            };
            let word = b.func.word_attr(word);
            return b.value(arith::CMP, args, &[(keys::PREDICATE, word)]);
        }
        op => {
            let sign = BinOp::ALL.iter().find(|&&sign| infix_op(sign) == (op, false));
            return b.infix(*sign.expect("it is written between its operands"), args);
        }
    };
    b.value(opcode, args, &[])
}
