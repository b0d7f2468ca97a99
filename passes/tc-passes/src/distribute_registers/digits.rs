//! The digits of an element's number: which tell the thread that holds it, and which the register.

use super::Obstacle;
use super::find::Buffer;
use crate::analysis::launch::{Nest, coordinate, loop_var, nest_of};
use crate::analysis::uniform::{Uniform, divergent_branch};
use tc_arith::{Expr, Pool, Var};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::distribution::{Digit, Distribution, Holder};
use tc_dialects::tir::{self, Coordinate, LoopKind};
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op, Value};

/// The most registers that a thread has.
const MAX_REGISTERS: i64 = 255;

/// A digit of an element's number.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberDigit {
    /// What a step of it adds to the number.
    pub(super) unit: i64,
    /// How many values it has.
    pub(super) extent: i64,
    /// The coordinate that it is; else it chooses a register.
    pub(super) thread: Option<Coordinate>,
}

/// How the elements of a buffer lie, told by a store.
pub(super) struct Digits {
    /// The digits, the fastest first. Units divide one another, from the first, which is 1.
    pub(super) digits: Vec<NumberDigit>,
    /// The coordinates of threads that hold copies.
    pub(super) copies: Vec<Coordinate>,
}

impl Digits {
    /// The value of digit `nth` of `number`.
    pub(super) fn value(&self, pool: &mut Pool, number: Expr, nth: usize) -> Expr {
        let unit = pool.int(self.digits[nth].unit);
        let units = pool.floor_div(number, unit);
        match self.digits.get(nth + 1) {
            Some(next) => {
                let radix = pool.int(next.unit / self.digits[nth].unit);
                pool.floor_mod(units, radix)
            }
            None => units,
        }
    }

    /// How many values a digit takes in the numbers of registers, or threads.
    fn radix(&self, nth: usize) -> i64 {
        self.digits.get(nth + 1).map_or(self.digits[nth].extent, |next| next.unit / self.digits[nth].unit)
    }

    /// The digits of registers: each with the step between the registers of two values.
    pub(super) fn registers(&self) -> Vec<(usize, i64)> {
        let mut next = 1;
        let of_registers = (0..self.digits.len()).filter(|&nth| self.digits[nth].thread.is_none());
        let with_step = |nth| {
            let step = next;
            next *= self.radix(nth);
            (nth, step)
        };
        of_registers.map(with_step).collect()
    }

    /// The same, for the text.
    pub(super) fn distribution(&self, threads: [i64; 3]) -> Distribution {
        let step_of = |coordinate: Coordinate| threads[..coordinate.dim()].iter().product::<i64>();
        let registers = self.registers();
        let digits = (0..self.digits.len()).map(|nth| match self.digits[nth].thread {
            Some(coordinate) => Digit::new(self.digits[nth].extent, Holder::Thread, step_of(coordinate)),
            None => {
                let step = registers.iter().find(|&&(of, _)| of == nth).map_or(1, |&(_, step)| step);
                Digit::new(self.radix(nth), Holder::Register, step)
            }
        });
        let extent_of = |coordinate: Coordinate| threads[coordinate.dim()];
        let copies = self.copies.iter().map(|&of| Digit::new(extent_of(of), Holder::Copy, step_of(of)));
        Distribution::new(vec![digits.chain(copies).collect()])
    }
}

/// The number of the element that `op` accesses, in row-major order.
pub(super) fn number(func: &Func, algebra: &mut Algebra, buffer: &Buffer, op: Op) -> Expr {
    let indices = func.operands(op)[1..=buffer.extents.len()].to_vec();
    let mut number = algebra.analyzer.pool.int(0);
    for (&extent, index) in buffer.extents.iter().zip(indices) {
        let index = algebra.expr(func, index);
        let pool = &mut algebra.analyzer.pool;
        let extent = pool.int(extent);
        let rows = pool.mul(number, extent);
        number = pool.add(rows, index);
    }
    algebra.analyzer.simplify(number)
}

/// The loops around `op` and inside of what the buffer is made in.
fn loops(func: &Func, buffer: &Buffer, op: Op) -> impl Iterator<Item = Op> {
    let made_in = func.region_of(buffer.alloc).and_then(|region| func.region_parent(region));
    let around = ancestors(func, op).take_while(move |&outer| Some(outer) != made_in);
    around.filter(|&outer| func.opcode(outer) == tir::FOR)
}

/// The variable of the loop over `coordinate` around `op`: of one that begins at 0.
pub(super) fn coordinate_var(func: &Func, op: Op, of: Coordinate) -> Option<Value> {
    let is_it = |outer: &Op| coordinate(func, *outer) == Some(of) && func.const_int(func.operand(*outer, 0)) == Some(0);
    ancestors(func, op).find(is_it).map(|outer| loop_var(func, outer))
}

/// The digits that the first store tells which is a linear form of loops.
pub(super) fn of(func: &Func, algebra: &mut Algebra, buffer: &Buffer) -> Result<Digits, Obstacle> {
    let mut first = None;
    for &store in buffer.accesses.iter().filter(|&&op| func.opcode(op) == tir::STORE) {
        match of_store(func, algebra, buffer, store) {
            Ok(digits) => return Ok(digits),
            Err(obstacle) => drop(first.get_or_insert(obstacle)),
        }
    }
    Err(first.unwrap_or_else(|| Obstacle { op: buffer.alloc, text: "nothing is stored to it".to_string() }))
}

fn of_store(func: &Func, algebra: &mut Algebra, buffer: &Buffer, store: Op) -> Result<Digits, Obstacle> {
    let refuse = |op: Op, text: &str| Err(Obstacle { op, text: text.to_string() });
    let number = number(func, algebra, buffer, store);
    let loops: Vec<Op> = loops(func, buffer, store).collect();
    let vars: Vec<Var> = loops.iter().map(|&op| Algebra::var(loop_var(func, op))).collect();
    let form = algebra.analyzer.linear_const(number, &vars);
    let Some(form) = form.filter(|form| form.constant == 0 && form.coeffs.iter().all(|&unit| unit >= 0)) else {
        return refuse(store, "which element is stored is no sum of multiples of loop variables");
    };
    let mut digits = Vec::new();
    for (&loop_op, &unit) in loops.iter().zip(&form.coeffs) {
        let thread = coordinate(func, loop_op).filter(|coordinate| coordinate.is_thread());
        match (unit, thread, const_extent(func, loop_op)) {
            (0, _, _) | (_, _, Some(1)) => {}
            (_, _, None) => return refuse(loop_op, "a loop over its elements has no constant extent"),
            (_, None, Some(extent)) if is_in_order(func, loop_op) => digits.push(NumberDigit { unit, extent, thread }),
            (_, Some(_), Some(extent)) if func.const_int(func.operand(loop_op, 0)) == Some(0) => {
                digits.push(NumberDigit { unit, extent, thread });
            }
            _ => return refuse(loop_op, "a loop over its elements is neither serial nor one over threads"),
        }
    }
    digits.sort_by_key(|digit| digit.unit);
    let Some(digits) = whole(digits, buffer.n_elements()) else {
        return refuse(store, "loops overlap in which element is stored");
    };
    let is_copied = |coordinate: &Coordinate| {
        coordinate.is_thread()
            && buffer.threads[coordinate.dim()] > 1
            && digits.iter().all(|digit| digit.thread != Some(*coordinate))
    };
    let copies: Vec<Coordinate> = Coordinate::ALL.into_iter().filter(is_copied).collect();
    stored_by_all(func, buffer, &copies)?;
    let digits = Digits { digits, copies };
    let held = digits.distribution(buffer.threads).n_registers();
    if held.saturating_mul(buffer.bytes) > MAX_REGISTERS * 4 {
        let text = format!("each thread would hold {held} elements of {} bytes", buffer.bytes);
        return Err(Obstacle { op: store, text });
    }
    Ok(digits)
}

/// Threads that differ in `copies` alone all come to each store, and store the same.
fn stored_by_all(func: &Func, buffer: &Buffer, copies: &[Coordinate]) -> Result<(), Obstacle> {
    let Some(nest) = nest_of(func, buffer.alloc).filter(|_| !copies.is_empty()) else { return Ok(()) };
    let uniform = Uniform::along(func, &Nest::of(func, nest), copies);
    for &store in buffer.accesses.iter().filter(|&&op| func.opcode(op) == tir::STORE) {
        let is_same = func.operands(store).last().is_some_and(|&value| uniform.is(value));
        let is_stored = is_same && divergent_branch(func, &uniform, nest, store).is_none();
        if !is_stored {
            let names: Vec<String> = copies.iter().map(|of| format!("`{}`", of.name())).collect();
            let names = names.join(" and ");
            let text = format!("{names} may decide who stores, or what, and all threads along it would hold a copy");
            return Err(Obstacle { op: store, text });
        }
    }
    Ok(())
}

fn is_in_order(func: &Func, loop_op: Op) -> bool {
    matches!(tir::loop_kind(func, loop_op), Some(LoopKind::Serial | LoopKind::Unroll(_) | LoopKind::Vectorize))
}

/// The digits with those that no loop of the store runs over, so that each of `n` numbers is written in them; `None` where two
/// loops come to one number.
fn whole(digits: Vec<NumberDigit>, n: i64) -> Option<Vec<NumberDigit>> {
    let mut all: Vec<NumberDigit> = Vec::new();
    // Up to here numbers are written in the digits so far.
    let mut covered = 1;
    for digit in digits {
        if digit.unit % covered != 0 || digit.unit == 0 {
            return None;
        }
        if digit.unit > covered {
            match all.last_mut() {
                Some(last) if last.thread.is_none() => last.extent *= digit.unit / covered,
                _ => all.push(NumberDigit { unit: covered, extent: digit.unit / covered, thread: None }),
            }
        }
        all.push(digit);
        covered = digit.unit.checked_mul(digit.extent)?;
    }
    if covered < n {
        let extent = (n + covered - 1) / covered;
        match all.last_mut() {
            Some(last) if last.thread.is_none() => last.extent *= extent,
            _ => all.push(NumberDigit { unit: covered, extent, thread: None }),
        }
    }
    Some(all)
}
