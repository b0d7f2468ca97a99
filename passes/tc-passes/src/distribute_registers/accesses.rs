//! Where each access finds its element: in the thread's own registers, or in those of another thread of the warp.

use super::Obstacle;
use super::digits::{Digits, coordinate_var, number};
use super::find::Buffer;
use crate::analysis::exchange::WARP;
use crate::analysis::launch::{Nest, nest_of};
use crate::analysis::uniform::{Uniform, divergent_branch};
use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_dialects::tir::{self, Coordinate};
use tc_ir::{Func, Op};

/// Where an access finds its element.
pub(super) struct Place {
    pub(super) op: Op,
    /// The register.
    pub(super) register: Expr,
    /// The lane of the warp whose register it is, if it is another thread's.
    pub(super) lane: Option<Expr>,
}

/// The places of all accesses, or one that no thread finds.
pub(super) fn places(
    func: &Func,
    algebra: &mut Algebra,
    buffer: &Buffer,
    digits: &Digits,
) -> Result<Vec<Place>, Obstacle> {
    let mut warp = Warp { uniform: None, holds_all: None };
    buffer.accesses.iter().map(|&op| place(func, algebra, (buffer, digits), &mut warp, op)).collect()
}

/// What shuffles ask of the program, found when the first one does.
struct Warp {
    uniform: Option<Uniform>,
    /// Do all threads of a warp store together, so that what one of them holds is there in all of them?
    holds_all: Option<bool>,
}

fn place(
    func: &Func,
    algebra: &mut Algebra,
    (buffer, digits): (&Buffer, &Digits),
    warp: &mut Warp,
    op: Op,
) -> Result<Place, Obstacle> {
    let number = number(func, algebra, buffer, op);
    let mut register = algebra.analyzer.pool.int(0);
    for (nth, step) in digits.registers() {
        let pool = &mut algebra.analyzer.pool;
        let value = digits.value(pool, number, nth);
        let step = pool.int(step);
        let registers = pool.mul(value, step);
        register = pool.add(register, registers);
    }
    let register = algebra.analyzer.simplify(register);
    let mut lane = None;
    for (nth, digit) in digits.digits.iter().enumerate() {
        let Some(coordinate) = digit.thread else { continue };
        let Some(var) = coordinate_var(func, op, coordinate) else {
            let text =
                format!("an element is accessed outside of a loop over `{}`, whose threads hold it", coordinate.name());
            return Err(Obstacle { op, text });
        };
        let holder = digits.value(&mut algebra.analyzer.pool, number, nth);
        let holder = algebra.analyzer.simplify(holder);
        let own = algebra.analyzer.pool.var(Algebra::var(var));
        if holder == own {
            continue;
        }
        let is_lane = coordinate == Coordinate::ThreadX && func.opcode(op) == tir::LOAD && buffer.is_exchanged;
        let other = if is_lane { other_lane(algebra, buffer, holder, own) } else { None };
        let Some(other) = other.filter(|_| warp.exchanges(func, algebra, buffer, op, register)) else {
            let of_warp = match is_lane && other.is_some() {
                true => {
                    ", one of its warp, and the threads of a warp do not come here together for one register that all have stored"
                }
                false => "",
            };
            let text = format!(
                "thread {} of `{}` accesses what thread {} holds{of_warp}",
                func.value_text(var),
                coordinate.name(),
                algebra.text(holder)
            );
            return Err(Obstacle { op, text });
        };
        lane = Some(other);
    }
    Ok(Place { op, register, lane })
}

/// The lane that `holder` is, a coordinate along x, if it is in the warp of the thread at `own`.
fn other_lane(algebra: &mut Algebra, buffer: &Buffer, holder: Expr, own: Expr) -> Option<Expr> {
    let [x, y, z] = buffer.threads;
    if x % WARP != 0 && (y > 1 || z > 1) {
        return None;
    }
    let pool = &mut algebra.analyzer.pool;
    let warp = pool.int(WARP);
    let [of_holder, of_own] = [holder, own].map(|at| pool.floor_div(at, warp));
    let [of_holder, of_own] = [of_holder, of_own].map(|at| algebra.analyzer.simplify(at));
    let lane = algebra.analyzer.pool.floor_mod(holder, warp);
    (of_holder == of_own).then(|| algebra.analyzer.simplify(lane))
}

impl Warp {
    /// Do all threads of a warp load `register` together, which all have written?
    fn exchanges(&mut self, func: &Func, algebra: &Algebra, buffer: &Buffer, load: Op, register: Expr) -> bool {
        let stores = || buffer.accesses.iter().filter(|&&op| func.opcode(op) == tir::STORE);
        let holds_all = match self.holds_all {
            Some(known) => known,
            None => stores().all(|&op| self.come_together(func, op)),
        };
        self.holds_all = Some(holds_all);
        let is_uniform = |uniform: &Uniform| {
            let vars = algebra.analyzer.pool.vars(register);
            vars.into_iter().all(|var| uniform.is(Algebra::value(var)))
        };
        holds_all && self.come_together(func, load) && self.uniform.as_ref().is_some_and(is_uniform)
    }

    /// Do the threads of a warp come to `op` together?
    fn come_together(&mut self, func: &Func, op: Op) -> bool {
        let Some(nest) = nest_of(func, op) else { return false };
        let uniform = self.uniform.get_or_insert_with(|| Uniform::of_warp(func, &Nest::of(func, nest)));
        divergent_branch(func, uniform, nest, op).is_none()
    }
}
