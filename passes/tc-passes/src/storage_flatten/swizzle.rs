//! Positions whose bits are mixed, so that the rows of a tile fall into different banks of shared memory.
//!
//! `swizzle = [bits, base, shift]` exchanges the stretches of `2^base` elements within each `2^(base + bits)` of them:
//! the number of a stretch is its own one XOR the bits that stand `shift` higher. What lies within one stretch stays side
//! by side, so vectors and rows of that length are still one access.

use super::rewrite::erase_unused;
use super::strides::Flattening;
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, build_index};
use tc_dialects::mixing::Mixing;
use tc_dialects::scope::Scope;
use tc_dialects::threads::{mixes_positions, takes_a_row};
use tc_dialects::{arith, tir};
use tc_ir::uses::Uses;
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Func, Op, Rewriter, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

/// The most bits of a position that are mixed.
const MAX_BITS: u32 = 10;

/// Which bits of a position are mixed into which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Swizzle(pub(super) Mixing);

impl Swizzle {
    /// The elements that stay side by side.
    fn stretch(self) -> i64 {
        1 << self.0.base
    }

    /// The elements among which positions are exchanged.
    fn period(self) -> i64 {
        1 << (self.0.base + self.0.bits)
    }

    /// `size` elements, up to the end of the last period.
    pub(super) fn rounded(self, size: i64) -> Option<i64> {
        size.checked_add(self.period() - 1).map(|size| size / self.period() * self.period())
    }
}

/// What the buffer says of its positions.
pub(super) fn of(func: &Func, buffer: Value) -> Result<Option<Swizzle>, String> {
    let Some(attr) = func.buffer_attr(buffer, keys::SWIZZLE) else { return Ok(None) };
    let name = func.value_text(buffer);
    let numbers = match func.attr_data(attr) {
        AttrData::List(list) => list.iter().map(|&attr| func.as_int(attr)).collect::<Option<Vec<i64>>>(),
        _ => None,
    };
    let Some(&[bits, base, shift]) = numbers.as_deref() else {
        return Err(format!("the swizzle of `{name}` is no list of bits, base and shift"));
    };
    let Some(mixing) = Mixing::of(&[bits, base, shift]).filter(|mixing| mixing.bits <= MAX_BITS) else {
        return Err(format!(
            "`{name}` cannot be swizzled by {bits} bits from {base} on, mixed with those {shift} higher"
        ));
    };
    let is_alloc = func.def_op(buffer).is_some_and(|op| func.opcode(op) == tir::ALLOC);
    let Some((elem, _, scope)) = func.as_shaped(func.value_type(buffer)) else { return Ok(None) };
    let is_shared = Scope::of_name(func, scope).is_some_and(Scope::is_shared);
    if !is_alloc || !is_shared || func.as_scalar(elem).is_none_or(|scalar| scalar.lanes != 1) {
        return Err(format!(
            "`{name}` is swizzled, and is no buffer of numbers that the kernel makes in shared memory"
        ));
    }
    Ok(Some(Swizzle(mixing)))
}

/// Refuses what takes a part of a swizzled buffer for one that lies in order.
pub(super) fn check_uses(func: &Func, uses: &Uses, plan: &Flattening, found: &mut Diagnostics) {
    for (&buffer, flat) in &plan.buffers {
        let Some(swizzle) = flat.swizzle else { continue };
        for user in uses.of_value(buffer) {
            match func.opcode(user.op) {
                tir::LOAD | tir::STORE => {}
                tir::REF | tir::REGION => {
                    let taken = func.result(user.op).map(|result| uses.of_value(result)).unwrap_or_default();
                    let fits = |op: Op| takes_a_row(func, op) || mixes_positions(func, op);
                    let stray = taken.iter().find(|taken| !fits(taken.op));
                    if let Some(stray) = stray {
                        found.push(not_in_order(func, buffer, stray.op, swizzle));
                    }
                }
                _ if mixes_positions(func, user.op) => {}
                _ => found.push(not_in_order(func, buffer, user.op, swizzle)),
            }
        }
    }
}

fn not_in_order(func: &Func, buffer: Value, op: Op, swizzle: Swizzle) -> Diagnostic {
    let (name, row) = (func.value_text(buffer), swizzle.stretch());
    let text = format!(
        "`{}` takes `{name}` as it lies in memory, and only {row} elements of it lie side by side",
        func.op_name(op)
    );
    let mut diagnostic = Diagnostic::error("swizzle", func.op_location(op), text);
    if let Some(made) = func.def_op(buffer) {
        diagnostic = diagnostic.label(func.op_location(made), "swizzled here");
    }
    diagnostic
        .help("load tiles by `mma.ldmatrix`, row by row, or pad the rows (`storage_align`) and leave the swizzle out")
}

/// A position in the making.
struct Mixed {
    op: Op,
    at: Expr,
    /// Of a vector.
    lanes: Option<i64>,
}

/// Mixes the positions of all accesses to swizzled buffers, which are flat by now; gives their number.
pub(super) fn apply(func: &mut Func, plan: &Flattening) -> Result<u64, Diagnostics> {
    if plan.buffers.values().all(|flat| flat.swizzle.is_none()) {
        return Ok(0);
    }
    let mut algebra = Algebra::of_func(func);
    let (mut mixed, mut found) = (Vec::new(), Diagnostics::new());
    let uses = Uses::of(func);
    for op in all_ops(func) {
        if !matches!(func.opcode(op), tir::LOAD | tir::STORE | tir::REF | tir::REGION) {
            continue;
        }
        // The hardware mixes what it finds by itself.
        let users = func.result(op).map(|result| uses.of_value(result)).unwrap_or_default();
        if users.iter().any(|user| mixes_positions(func, user.op)) {
            continue;
        }
        let Some(swizzle) = plan.buffers.get(&func.operand(op, 0)).and_then(|flat| flat.swizzle) else { continue };
        let mark = algebra.analyzer.mark();
        algebra.enter_place(func, op);
        match mix(func, &mut algebra, op, swizzle) {
            Ok(position) => mixed.push(position),
            Err(diagnostic) => found.push(diagnostic),
        }
        algebra.analyzer.rollback(mark);
    }
    if !found.is_empty() {
        return Err(found);
    }
    let n = mixed.len() as u64;
    let mut rw = Rewriter::new(func);
    let mut old = Vec::new();
    for Mixed { op, at, lanes } in mixed {
        let mut b = rw.before(op);
        let mut position = build_index(&mut b, &algebra, at);
        if let Some(lanes) = lanes {
            let (one, lanes) = (b.index(1), b.func.int_attr(lanes));
            position = b.value(arith::RAMP, &[position, one], &[(keys::LANES, lanes)]);
        }
        old.push(rw.func().operand(op, 1));
        rw.set_operand(op, 1, position);
    }
    erase_unused(&mut rw, old);
    Ok(n)
}

fn mix(func: &Func, algebra: &mut Algebra, op: Op, swizzle: Swizzle) -> Result<Mixed, Diagnostic> {
    let index = func.operand(op, 1);
    let lanes = func.value_scalar(index).map_or(1, |scalar| i64::from(scalar.lanes));
    let (start, length) = if lanes > 1 {
        let ramp = func.def_op(index).filter(|&def| func.opcode(def) == arith::RAMP);
        let Some(ramp) = ramp.filter(|&ramp| func.const_int(func.operand(ramp, 1)) == Some(1)) else {
            return Err(torn(func, op, lanes, swizzle));
        };
        (func.operand(ramp, 0), lanes)
    } else {
        (index, length_of(func, op).ok_or_else(|| torn(func, op, 0, swizzle))?)
    };
    let at = algebra.expr(func, start);
    if length > 1 {
        let pool = &mut algebra.analyzer.pool;
        let (row, last) = (pool.int(swizzle.stretch()), pool.int(swizzle.stretch() - length));
        let within = pool.floor_mod(at, row);
        let fits = pool.le(within, last);
        if length > swizzle.stretch() || !algebra.analyzer.can_prove(fits) {
            return Err(torn(func, op, length, swizzle));
        }
    }
    let at = swizzle.0.mixed_expr(algebra, at);
    Ok(Mixed { op, at, lanes: (lanes > 1).then_some(lanes) })
}

/// The elements from the index on that a reference names, or an access touches.
fn length_of(func: &Func, op: Op) -> Option<i64> {
    if func.opcode(op) != tir::REGION {
        return Some(1);
    }
    match func.attr_named(op, "lengths").map(|attr| func.attr_data(attr)) {
        Some(AttrData::List(list)) => list.iter().try_fold(1i64, |n, &length| n.checked_mul(func.as_int(length)?)),
        _ => None,
    }
}

fn torn(func: &Func, op: Op, length: i64, swizzle: Swizzle) -> Diagnostic {
    let (name, row) = (func.value_text(func.operand(op, 0)), swizzle.stretch());
    let what = if length > 1 { format!("{length} elements") } else { "the elements".to_string() };
    let text = format!("{what} of `{name}` are touched at once, and cannot be proved to lie in one stretch of {row}");
    let help =
        format!("start at a multiple of {row} and touch at most {row} elements, or swizzle with a higher `base`");
    Diagnostic::error("swizzle", func.op_location(op), text).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_exchanged_and_stay_whole() {
        for (bits, base, shift) in [(1, 3, 3), (3, 3, 3), (2, 3, 4), (2, 0, 2), (3, 2, 5)] {
            let swizzle = Swizzle(Mixing { bits, base, shift });
            let mut algebra = Algebra::new();
            let size = 1i64 << (base + shift + bits);
            let mut seen = vec![false; size as usize];
            for position in 0..size {
                let at = algebra.analyzer.pool.int(position);
                let to = swizzle.0.mixed_expr(&mut algebra, at);
                let to = algebra.analyzer.pool.as_const(to).expect("a number becomes a number");
                assert_eq!(to, swizzle.0.mixed(position));
                assert_eq!(to % swizzle.stretch(), position % swizzle.stretch());
                assert_eq!(to / swizzle.period(), position / swizzle.period());
                assert!(!std::mem::replace(&mut seen[to as usize], true), "{position} meets another at {to}");
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
    }
}
