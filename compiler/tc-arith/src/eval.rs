//! Evaluation on numbers, the variables of an expression, and substitution.
//!
//! Everything here walks a graph of nodes in the order of their ids, operands first, so depth costs no stack and a
//! shared operand is visited once. Evaluating both sides of `&&` and both branches of `select` is no loss: an error
//! in the side that is not taken is dropped with it.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::expr::{BinaryOp, EvalError, Expr, Node, Var};
use crate::pool::Pool;
use crate::ty::IntType;

type Value = Result<i64, EvalError>;

/// Few expressions are looked up faster one by one than in a set.
const FEW: usize = 24;

/// An operation whose operands are positions of earlier operations.
#[derive(Clone, Copy)]
enum Instruction {
    Const(i64),
    /// The position of a variable in the list of variables.
    Var(usize),
    Binary(BinaryOp, usize, usize),
    Not(usize),
    Copy(usize),
    Select(usize, usize, usize),
    Cast(IntType, usize),
}

/// Expressions made ready to be evaluated at many points.
pub(crate) struct Program {
    steps: Vec<Instruction>,
    /// The variables, in the order in which values are given.
    pub(crate) vars: Vec<Var>,
    /// Where the result of each root stands.
    roots: Vec<usize>,
    values: Vec<Value>,
}

impl Program {
    pub(crate) fn new(pool: &Pool, roots: &[Expr]) -> Program {
        let order = pool.reachable(roots);
        let position = |e: Expr| order.binary_search(&e).expect("operands are reachable");
        let mut vars = Vec::new();
        let mut steps = Vec::with_capacity(order.len());
        for &e in &order {
            steps.push(match pool.node(e) {
                Node::Const(value) => Instruction::Const(value),
                Node::Bool(value) => Instruction::Const(i64::from(value)),
                Node::Var(v) => {
                    vars.push(v);
                    Instruction::Var(vars.len() - 1)
                }
                Node::Binary(op, a, b) => Instruction::Binary(op, position(a), position(b)),
                Node::Not(a) => Instruction::Not(position(a)),
                Node::Likely(a) => Instruction::Copy(position(a)),
                Node::Select(c, a, b) => Instruction::Select(position(c), position(a), position(b)),
                Node::Cast(ty, a) => Instruction::Cast(ty, position(a)),
            });
        }
        let roots = roots.iter().map(|&e| position(e)).collect();
        Program { values: Vec::with_capacity(steps.len()), steps, vars, roots }
    }

    /// How many operations one run takes.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Computes every operation at one point; `point` follows the order of `vars`.
    pub(crate) fn run(&mut self, point: &[i64]) {
        self.values.clear();
        for &step in &self.steps {
            let at = |i: usize| self.values[i];
            let value = match step {
                Instruction::Const(value) => Ok(value),
                Instruction::Var(i) => Ok(point[i]),
                Instruction::Binary(op, a, b) => op.eval(at(a), || at(b)),
                Instruction::Not(a) => at(a).map(|x| i64::from(x == 0)),
                Instruction::Copy(a) => at(a),
                Instruction::Select(c, a, b) => at(c).and_then(|c| if c != 0 { at(a) } else { at(b) }),
                Instruction::Cast(ty, a) => at(a).and_then(|value| ty.wrap(value).ok_or(EvalError::Overflow)),
            };
            self.values.push(value);
        }
    }

    /// The value of the `i`th root after a run.
    pub(crate) fn value(&self, i: usize) -> Value {
        self.values[self.roots[i]]
    }
}

/// Some expressions, made ready to be evaluated at many points; see [`Pool::evaluation`].
pub struct Evaluation {
    program: Program,
    point: Vec<i64>,
}

impl Evaluation {
    /// The values where variables have the given ones; `None` for one that overflows or divides by zero.
    pub fn at(&mut self, value_of: impl Fn(Var) -> i64) -> impl Iterator<Item = Option<i64>> + '_ {
        let Evaluation { program, point } = self;
        point.clear();
        point.extend(program.vars.iter().map(|&var| value_of(var)));
        program.run(point);
        (0..program.roots.len()).map(|nth| program.value(nth).ok())
    }
}

impl Pool {
    /// The value where variables have the given values; `None` on overflow or division by zero.
    pub fn eval(&self, e: Expr, value_of: &dyn Fn(Var) -> i64) -> Option<i64> {
        self.eval_checked(e, value_of).ok()
    }

    /// Makes expressions ready to be evaluated at many points.
    pub fn evaluation(&self, exprs: &[Expr]) -> Evaluation {
        Evaluation { program: Program::new(self, exprs), point: Vec::new() }
    }

    /// The value where variables have the given values, or why there is none.
    pub fn eval_checked(&self, e: Expr, value_of: &dyn Fn(Var) -> i64) -> Result<i64, EvalError> {
        let mut program = Program::new(self, &[e]);
        let point: Vec<i64> = program.vars.iter().map(|&v| value_of(v)).collect();
        program.run(&point);
        program.value(0)
    }

    /// Every expression under the given ones, themselves included, in ascending order of ids.
    pub fn reachable(&self, roots: &[Expr]) -> SmallVec<[Expr; FEW]> {
        let mut seen: FxHashSet<Expr> = FxHashSet::default();
        let mut stack: SmallVec<[Expr; 16]> = SmallVec::from_slice(roots);
        let mut order: SmallVec<[Expr; FEW]> = SmallVec::new();
        while let Some(e) = stack.pop() {
            if order.len() < FEW {
                if order.contains(&e) {
                    continue;
                }
            } else {
                if order.len() == FEW && seen.is_empty() {
                    seen.extend(order.iter().copied());
                }
                if !seen.insert(e) {
                    continue;
                }
            }
            order.push(e);
            match self.node(e) {
                Node::Const(_) | Node::Bool(_) | Node::Var(_) => {}
                Node::Not(a) | Node::Likely(a) | Node::Cast(_, a) => stack.push(a),
                Node::Binary(_, a, b) => stack.extend_from_slice(&[a, b]),
                Node::Select(c, a, b) => stack.extend_from_slice(&[c, a, b]),
            }
        }
        order.sort_unstable();
        order
    }

    /// How many different operations an expression is made of.
    pub fn n_operations(&self, e: Expr) -> usize {
        let is_operation = |e: &Expr| !matches!(self.node(*e), Node::Const(_) | Node::Bool(_) | Node::Var(_));
        self.reachable(&[e]).iter().filter(|e| is_operation(e)).count()
    }

    /// The variables of an expression, in the order in which the pool first met them.
    pub fn vars(&self, e: Expr) -> Vec<Var> {
        match self.node(e) {
            Node::Var(v) => return vec![v],
            _ if self.mask(e) == 0 => return Vec::new(),
            _ => {}
        }
        let reachable = self.reachable(&[e]);
        reachable.into_iter().filter_map(|e| if let Node::Var(v) = self.node(e) { Some(v) } else { None }).collect()
    }

    /// Whether the variable occurs.
    pub fn uses(&self, e: Expr, v: Var) -> bool {
        self.uses_any(e, &[v])
    }

    /// Whether one of the variables occurs.
    pub fn uses_any(&self, e: Expr, vars: &[Var]) -> bool {
        if self.mask(e) == 0 || vars.is_empty() {
            return false;
        }
        match self.node(e) {
            Node::Var(v) => vars.contains(&v),
            _ => self.vars(e).iter().any(|v| vars.contains(v)),
        }
    }

    /// The expression with variables replaced at once: replacements are not searched again.
    pub fn subst(&mut self, e: Expr, replacements: &[(Var, Expr)]) -> Expr {
        self.subst_with(e, &|v| replacements.iter().find(|(from, _)| *from == v).map(|&(_, to)| to))
    }

    /// [`Pool::subst`] with the replacements given as a function.
    pub fn subst_with(&mut self, e: Expr, replacement: &dyn Fn(Var) -> Option<Expr>) -> Expr {
        let mut done: FxHashMap<Expr, Expr> = FxHashMap::default();
        for old in self.reachable(&[e]) {
            let at = |e: Expr| done.get(&e).copied().unwrap_or(e);
            let new = match self.node(old) {
                Node::Const(_) | Node::Bool(_) => old,
                Node::Var(v) => replacement(v).unwrap_or(old),
                Node::Binary(_, a, b) if at(a) == a && at(b) == b => old,
                Node::Binary(op, a, b) => self.binary(op, at(a), at(b)),
                Node::Not(a) => self.not(at(a)),
                Node::Likely(a) => self.likely(at(a)),
                Node::Select(c, a, b) => self.select(at(c), at(a), at(b)),
                Node::Cast(ty, a) => self.cast(ty, at(a)),
            };
            if new != old {
                done.insert(old, new);
            }
        }
        done.get(&e).copied().unwrap_or(e)
    }
}
