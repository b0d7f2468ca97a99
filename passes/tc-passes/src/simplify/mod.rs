//! Rewrites index arithmetic and conditions to a canonical form, under the facts that hold at their program point.
//!
//! These facts are the ranges of the surrounding loops, the extents of launch coordinates, the conditions of the
//! surrounding branches, and the definitions of named values.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! The same program; every integer and truth value with a non-arithmetic use is in the canonical form of the index
//! algebra. A conditional with a proved condition is replaced by its branch, a loop of no or one iteration by its body.
//! Named values keep their names, and expressions are simplified up to them, or through them if the result is shorter.
//!
//! # Example
//!
//! ```tir
//! for i in 0..8 {
//!   if i * 4 + 3 < 32 {
//!     A[(i * 4 + 3) / 4] = 0.0
//!   }
//! }
//! ->
//! for i in 0..8 {
//!   A[i] = 0.0
//! }
//! ```
//!
//! # Algorithm
//!
//! The pass walks the text in order with an analyzer: it declares a loop or assumes a condition at the entry of its
//! region, and forgets them at its end. At each op it simplifies the expressions of the operands, and builds the
//! changed ones before the op. At the end it removes unused ops.
//!
//! # Limits
//!
//! Floats are folded only if that is exact. The pass knows no contents of memory.
//!
//! # Remarks
//!
//! `undecided`: each conditional that stays, with the unproved part of its condition and the range of the compared
//! values.
//!
//! # References
//!
//! The rules are those of `tc-arith`, each a named row; TVM 0.16, `src/tir/transforms/simplify.cc`, for the scope of
//! such a pass, without the two unsound rules of its canonical `<`.

mod missed;

use crate::analysis::dead::erase_dead;
use crate::analysis::fold::fold_op;
use crate::analysis::structure::{collapse_branch, collapse_loop};
use rustc_hash::FxHashSet;
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, Computation, Made, build, is_exact};
use tc_dialects::tir;
use tc_ir::attrs::AttrData;
use tc_ir::opdef::Role;
use tc_ir::{Func, Op, Region, Rewriter, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

/// Expressions of more operations are not seen through names.
const MANY: usize = 32;

tc_pass::options! {
    /// `simplify` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "simplify",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(Simplify))),
};

/// The pass.
pub struct Simplify;

impl FuncPass for Simplify {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let algebra = Algebra::of_func(func);
        let mut state =
            State { rw: Rewriter::new(func), algebra, defined: FxHashSet::default(), n_rewritten: 0, n_collapsed: 0 };
        let body = state.rw.func().body();
        state.region(body);
        let (changed, n_rewritten, n_collapsed) = (state.rw.changed(), state.n_rewritten, state.n_collapsed);
        drop(state);
        cx.count("expressions rewritten", n_rewritten);
        cx.count("loops and conditionals collapsed", n_collapsed);
        let changed = (erase_dead(func) > 0) | changed;
        if cx.wants_missed() {
            missed::tell(func, cx);
        }
        changed
    }
}

struct State<'f> {
    rw: Rewriter<'f>,
    algebra: Algebra,
    /// The named values that were looked at.
    defined: FxHashSet<Value>,
    n_rewritten: u64,
    n_collapsed: u64,
}

impl State<'_> {
    fn region(&mut self, region: Region) {
        let mut at = self.rw.func().first_op(region);
        while let Some(op) = at {
            let before = self.rw.func().prev_op(op);
            self.rw.refresh(op);
            self.op(op);
            at = if self.rw.func().region_of(op).is_some() {
                self.regions(op);
                self.rw.func().next_op(op)
            } else {
                // The op gave way to others, which are yet to be seen.
                match before {
                    Some(before) => self.rw.func().next_op(before),
                    None => self.rw.func().first_op(region),
                }
            };
        }
    }

    fn regions(&mut self, op: Op) {
        for region in self.rw.func().op_regions(op).to_vec() {
            // What is learnt on the way in costs more than looking whether anybody asks.
            if is_plain(self.rw.func(), region) {
                self.refresh_all(region);
                continue;
            }
            let mark = self.algebra.analyzer.mark();
            self.algebra.enter_region(self.rw.func(), region);
            self.region(region);
            self.algebra.analyzer.rollback(mark);
        }
    }

    fn refresh_all(&mut self, region: Region) {
        let mut at = self.rw.func().first_op(region);
        while let Some(op) = at {
            self.rw.refresh(op);
            at = self.rw.func().next_op(op);
        }
    }

    fn op(&mut self, op: Op) {
        let func = self.rw.func();
        let role = func.role(op);
        if role == Role::Constant {
            return;
        }
        if let Some(result) = func.result(op)
            && sees(func, result)
            && func.op_regions(op).is_empty()
        {
            // Unnamed arithmetic is looked at where something uses it.
            if func.value_name(result).is_some() {
                self.definition(op, result);
            }
            return;
        }
        let mut made = Made::default();
        for idx in 0..self.rw.func().operands(op).len() {
            let operand = self.rw.func().operand(op, idx);
            if let Some(simple) = self.simplified(operand) {
                let value = self.make(op, &simple, &mut made);
                self.rw.set_operand(op, idx, value);
            }
        }
        self.collapse(op, role);
    }

    fn collapse(&mut self, op: Op, role: Role) {
        let func = self.rw.func();
        match role {
            Role::If => {
                let condition = func.operand(op, 0);
                if let Some(AttrData::Bool(truth)) = func.constant(condition).map(|attr| func.attr_data(attr)) {
                    let truth = *truth;
                    collapse_branch(&mut self.rw, op, truth);
                    self.n_collapsed += 1;
                }
            }
            Role::For => {
                collapse_loop(&mut self.rw, op);
                self.n_collapsed += u64::from(self.rw.func().region_of(op).is_none());
            }
            _ => fold_op(&mut self.rw, op),
        }
    }

    /// A named value: its own expression is simplified, and from here on it is a name.
    fn definition(&mut self, op: Op, value: Value) {
        if !self.defined.insert(value) {
            return;
        }
        let mut value = value;
        let given = self.algebra.expr(self.rw.func(), value);
        let mut simple = self.simple(given);
        match self.computation(given, simple, value) {
            Some(computation) => {
                let new = self.make(op, &computation, &mut Made::default());
                self.rw.replace_op(op, &[new]);
                value = new;
                self.defined.insert(value);
            }
            None => simple = given,
        }
        let func = self.rw.func();
        if func.value_name(value).is_some() && func.def_op(value).is_some() {
            let var = self.algebra.declare(func, value);
            self.algebra.analyzer.define(var, simple);
        }
    }

    /// How the simpler expression of `value` is computed, if there is one.
    fn simplified(&mut self, value: Value) -> Option<Computation> {
        let func = self.rw.func();
        if !sees(func, value) || func.constant(value).is_some() || func.value_name(value).is_some() {
            return None;
        }
        let given = self.algebra.expr(func, value);
        let simple = self.simple(given);
        self.computation(given, simple, value)
    }

    /// The canonical form of `given`, seen through names where that is shorter.
    fn simple(&mut self, given: Expr) -> Expr {
        let simple = self.algebra.analyzer.simplify(given);
        self.through_names(simple).unwrap_or(simple)
    }

    /// How `simple` is computed in the place of `value`, which is `given`; `None` where it is nothing new, or may overflow in
    /// the type of `value`.
    fn computation(&mut self, given: Expr, simple: Expr, value: Value) -> Option<Computation> {
        if self.algebra.is_written_as(self.rw.func(), simple, value) {
            return None;
        }
        let computation = self.algebra.recomputation(self.rw.func(), value, simple)?;
        // Making the expression folds `i + (i - i)` away, so that nothing is left to be simplified.
        let is_shorter = simple == given && computation.n_ops() < self.algebra.n_ops(self.rw.func(), value);
        let is_other = simple != given || is_shorter;
        (is_other && !computation.is_written_as(self.rw.func(), value)).then_some(computation)
    }

    /// What `expr` comes to when it is seen through names, if that is shorter: with `let i = io * 16 + ii` the row `i / 16` of
    /// a tile is `io`, and `i < 160` is decided by the ranges of `io` and `ii`.
    fn through_names(&mut self, expr: Expr) -> Option<Expr> {
        let analyzer = &mut self.algebra.analyzer;
        let expanded = analyzer.expand(expr);
        // What is large is rarely shorter in the end, and each name is seen through again and again.
        if expanded == expr || analyzer.pool.n_operations(expanded) > MANY {
            return None;
        }
        let simple = analyzer.simplify(expanded);
        (analyzer.pool.n_operations(simple) < analyzer.pool.n_operations(expr)).then_some(simple)
    }

    /// Makes `computation` in front of `op`.
    fn make(&mut self, op: Op, computation: &Computation, made: &mut Made) -> Value {
        self.n_rewritten += 1;
        self.rw.set_changed();
        build(&mut self.rw.before(op), computation, made)
    }
}

/// Does `region` hold nothing but literals, reads at literals and names, and its end: nothing to be simplified?
fn is_plain(func: &Func, region: Region) -> bool {
    let is_settled = |&value: &Value| {
        func.value_name(value).is_some() || func.def_op(value).is_none() || func.constant(value).is_some()
    };
    func.ops(region).all(|op| match func.role(op) {
        Role::Constant => true,
        Role::Load => func.operands(op).iter().all(is_settled),
        Role::Yield => func
            .operands(op)
            .iter()
            .all(|value| is_settled(value) || func.def_op(*value).is_some_and(|op| func.role(op) == Role::Load)),
        _ => false,
    })
}

/// Is `value` a number or a truth value of the algebra?
fn sees(func: &Func, value: Value) -> bool {
    func.value_scalar(value).is_some_and(is_exact) && func.def_op(value).is_none_or(|op| func.role(op) != Role::Load)
}
