//! Gives each iteration of a loop its own part of a buffer that is made inside.
//!
//! The meaning stays: an alloc inside a loop is fresh at each entry. Afterwards the iterations share one larger buffer of
//! which each uses its part, and may run in step.

use super::launch::loop_var;
use super::variance::Variance;
use rustc_hash::FxHashSet;
use tc_dialects::algebra::const_extent;
use tc_dialects::{arith, tir};
use tc_ir::opdef::Role;
use tc_ir::walk::ops_under;
use tc_ir::{AttrData, Builder, Elem, Func, Op, Rewriter, TypeData, Value, keys};

/// Where the number of the iteration stands among the indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Outermost: the parts lie one after another.
    Outermost,
    /// Innermost: what iterations do at once lies side by side.
    Innermost,
}

/// The allocs in the loop `op` whose content differs between iterations, or why one of them cannot be privatized.
pub(crate) fn candidates(func: &Func, op: Op, variance: &Variance, place: Place) -> Result<Vec<Op>, (Op, String)> {
    let body = func.op_regions(op)[0];
    // An alloc under an op that is made for each iteration is made for each, too.
    let allocs: Vec<Op> = ops_under(func, body)
        .filter(|&inner| func.opcode(inner) == tir::ALLOC && !variance.op(inner))
        .filter(|&inner| func.result(inner).is_some_and(|buffer| variance.buffer(buffer)))
        .collect();
    let buffers: FxHashSet<Value> = allocs.iter().filter_map(|&alloc| func.result(alloc)).collect();
    for &alloc in &allocs {
        if !has_plain_shape(func, alloc) {
            let name = func.result(alloc).map_or("", |buffer| func.value_text(buffer));
            return Err((alloc, format!("`{name}` has strides, a layout or a size that is not constant")));
        }
    }
    for user in ops_under(func, body) {
        for (nth, operand) in func.operands(user).iter().enumerate() {
            if buffers.contains(operand) && !(nth == 0 && can_share_out(func, user, *operand, place)) {
                let text = format!("`{}` uses `{}` as a whole", func.op_name(user), func.value_text(*operand));
                return Err((user, text));
            }
        }
    }
    Ok(allocs)
}

fn has_plain_shape(func: &Func, alloc: Op) -> bool {
    let Some(buffer) = func.result(alloc) else { return false };
    let Some((_, shape, _)) = func.as_shaped(func.value_type(buffer)) else { return false };
    [keys::STRIDES, keys::LAYOUT].iter().all(|&key| func.attr_of(alloc, key).is_none())
        && !shape.is_empty()
        && shape.iter().all(|&dim| func.as_int(dim).is_some())
}

fn can_share_out(func: &Func, user: Op, buffer: Value, place: Place) -> bool {
    let rank = func.as_shaped(func.value_type(buffer)).map_or(0, |(_, shape, _)| shape.len());
    match func.opcode(user) {
        tir::LOAD | tir::STORE => true,
        tir::REF | tir::VIEW => place == Place::Outermost,
        tir::REGION => place == Place::Outermost && rank == 1,
        _ => false,
    }
}

/// Makes room for all iterations of the loop `op` in the buffer of `alloc`, and lets each use its part.
pub(crate) fn privatize(func: &mut Func, op: Op, alloc: Op, place: Place) {
    let (Some(buffer), Some(n)) = (func.result(alloc), const_extent(func, op)) else { return };
    let Some((elem, shape, scope)) = func.as_shaped(func.value_type(buffer)) else { return };
    let (shape, bytes) = (shape.to_vec(), func.as_scalar(elem).map_or(1, |scalar| i64::from(scalar.bytes())));
    let extents: Vec<i64> = shape.iter().filter_map(|&dim| func.as_int(dim)).collect();
    let size = extents.iter().fold(1i64, |size, &extent| size.saturating_mul(extent));
    let users: Vec<Op> =
        ops_under(func, func.op_regions(op)[0]).filter(|&user| func.operands(user).first() == Some(&buffer)).collect();
    for user in users {
        let own = Own { op, n, place, rank: extents.len(), size, bytes };
        own.rewrite(func, user);
    }
    let mut larger = shape;
    match (place, larger.len()) {
        (Place::Outermost, 1) => larger[0] = func.int_attr(size.saturating_mul(n)),
        (Place::Outermost, _) => larger.insert(0, func.int_attr(n)),
        (Place::Innermost, rank) => larger[rank - 1] = func.int_attr(extents[rank - 1].saturating_mul(n)),
    }
    let ty = func.ty(TypeData::Shaped { elem, shape: larger.into(), scope });
    Rewriter::new(func).set_type(buffer, ty);
}

/// What tells the part of one iteration.
struct Own {
    op: Op,
    n: i64,
    place: Place,
    rank: usize,
    size: i64,
    bytes: i64,
}

impl Own {
    fn rewrite(&self, func: &mut Func, user: Op) {
        let mut operands = func.operands(user).to_vec();
        let n_indices = operands.len() - 1 - usize::from(func.role(user) == Role::Store);
        let mut b = Builder::before(func, user);
        if b.func.opcode(user) == tir::VIEW {
            operands[1] = self.sum(&mut b, operands[1], 1, self.size.saturating_mul(self.bytes));
        } else {
            match self.place {
                Place::Outermost if self.rank == 1 => {
                    operands[1] = self.sum(&mut b, operands[1], 1, self.size);
                }
                Place::Outermost => {
                    let number = self.number(&mut b, Elem::Index);
                    operands.insert(1, number);
                }
                Place::Innermost => operands[n_indices] = self.sum(&mut b, operands[n_indices], self.n, 1),
            }
        }
        let old: Vec<Op> = func.operands(user)[1..].iter().filter_map(|&value| func.def_op(value)).collect();
        let mut rw = Rewriter::new(func);
        rw.set_operands(user, &operands);
        // A ramp that was made anew.
        for def in old {
            let func = rw.func();
            let unused = func.results(def).all(|value| func.n_uses(value) == 0 && func.value_name(value).is_none());
            if unused && func.opcode(def) == arith::RAMP {
                rw.erase(def);
            }
        }
        drop(rw);
        self.keep_aligned(func, user);
    }

    /// The number of the iteration, from zero.
    fn number(&self, b: &mut Builder<'_>, elem: Elem) -> Value {
        let (var, lo) = (loop_var(b.func, self.op), b.func.operand(self.op, 0));
        let number = if b.func.const_int(lo) == Some(0) { var } else { b.value(arith::SUB, &[var, lo], &[]) };
        let ty = b.func.elem_ty(elem);
        if b.func.value_type(number) == ty {
            return number;
        }
        let cast = arith::Cast::build(b, number, &[], &[ty]);
        b.func.result(cast).expect("a cast has one result")
    }

    /// `index * scale + number * factor`; of a vector, in every lane.
    fn sum(&self, b: &mut Builder<'_>, index: Value, scale: i64, factor: i64) -> Value {
        let Some(scalar) = b.func.value_scalar(index) else { return index };
        let lanes = b.func.int_attr(i64::from(scalar.lanes));
        let ramp = b.func.def_op(index).filter(|&op| b.func.opcode(op) == arith::RAMP);
        if let Some(ramp) = ramp {
            let (base, stride) = (b.func.operand(ramp, 0), b.func.operand(ramp, 1));
            let base = self.sum(b, base, scale, factor);
            let stride = scaled(b, stride, scale, scalar.elem);
            return b.value(arith::RAMP, &[base, stride], &[(keys::LANES, lanes)]);
        }
        let number = self.number(b, scalar.elem);
        let mut part = scaled(b, number, factor, scalar.elem);
        let mut index = index;
        if scalar.lanes > 1 {
            part = b.value(arith::BROADCAST, &[part], &[(keys::LANES, lanes)]);
            if scale != 1 {
                let scale = b.int(scale, scalar.elem);
                let scale = b.value(arith::BROADCAST, &[scale], &[(keys::LANES, lanes)]);
                index = b.value(arith::MUL, &[index, scale], &[]);
            }
        } else {
            index = scaled(b, index, scale, scalar.elem);
        }
        if b.func.const_int(index) == Some(0) { part } else { b.value(arith::ADD, &[index, part], &[]) }
    }

    /// A part starts where the one before it ends, and so is aligned no better than its size.
    fn keep_aligned(&self, func: &mut Func, user: Op) {
        let Some(aligned) = func.int_of(user, keys::ALIGNED).filter(|&aligned| aligned > 0) else { return };
        let bytes = if self.place == Place::Outermost { self.size.saturating_mul(self.bytes) } else { self.bytes };
        let fits = 1i64.checked_shl(aligned.trailing_zeros().min(bytes.trailing_zeros())).unwrap_or(1);
        if fits >= aligned {
            return;
        }
        let attrs = func.op_attrs(user);
        let attrs = if fits > self.bytes {
            let value = func.attr(AttrData::Int(i128::from(fits), None));
            func.with_entry(attrs, keys::ALIGNED, value)
        } else {
            func.without_entry(attrs, keys::ALIGNED)
        };
        Rewriter::new(func).set_attrs(user, attrs);
    }
}

/// `value * factor`, folded where that is plain to see.
fn scaled(b: &mut Builder<'_>, value: Value, factor: i64, elem: Elem) -> Value {
    if factor == 1 {
        return value;
    }
    if let Some(product) = b.func.const_int(value).and_then(|value| value.checked_mul(factor)) {
        return b.int(product, elem);
    }
    let factor = b.int(factor, elem);
    b.value(arith::MUL, &[value, factor], &[])
}
