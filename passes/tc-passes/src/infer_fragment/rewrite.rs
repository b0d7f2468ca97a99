//! The rewriting: types of buffers, references, products.

use super::infer::FragmentBuffer;
use crate::analysis::tiles::{as_index, erase_unused};
use tc_dialects::algebra::build_index;
use tc_dialects::{tir, wmma};
use tc_ir::walk::all_ops;
use tc_ir::{Attr, Builder, Func, Op, Rewriter, Type, TypeData, Value, keys};

/// Makes buffers of fragments.
pub(super) fn rewrite(func: &mut Func, plans: &[FragmentBuffer]) {
    for plan in plans {
        let ty = plan.fragment.ty(func);
        buffer(func, plan, ty);
        references(func, plan, ty);
    }
    let products: Vec<Op> = all_ops(func).filter(|&op| func.opcode(op) == wmma::MMA).collect();
    for op in products {
        let attrs = func.op_attrs(op);
        let attrs = func.without_entry(attrs, keys::A_LAYOUT);
        let attrs = func.without_entry(attrs, keys::B_LAYOUT);
        Rewriter::new(func).set_attrs(op, attrs);
    }
}

/// The leading extents, and the numbers of tiles where there are more than one.
fn buffer(func: &mut Func, plan: &FragmentBuffer, elem: Type) {
    let buffer = plan.tiles.buffer;
    let Some((.., scope)) = func.as_shaped(func.value_type(buffer)) else { return };
    let mut extents = plan.tiles.extents[..plan.tiles.n_leading()].to_vec();
    if !plan.is_one_tile() {
        let (rows, cols) = plan.fragment.image();
        let [all_rows, all_cols] = plan.tiles.last_two();
        extents.extend([all_rows / rows, all_cols / cols]);
    }
    if extents.is_empty() {
        extents.push(1);
    }
    let shape: Box<[Attr]> = extents.into_iter().map(|extent| func.int_attr(extent)).collect();
    let ty = func.ty(TypeData::Shaped { elem, shape, scope });
    // Where a fragment lies is not known, so nothing is said of it.
    let mut attrs = func.op_attrs(plan.tiles.alloc);
    for key in [keys::ALIGN, keys::STRIDES, keys::OFFSET_FACTOR] {
        attrs = func.without_entry(attrs, key);
    }
    let mut rw = Rewriter::new(func);
    rw.set_type(buffer, ty);
    rw.set_attrs(plan.tiles.alloc, attrs);
}

/// References to elements for those to tiles.
fn references(func: &mut Func, plan: &FragmentBuffer, elem: Type) {
    let buffer = plan.tiles.buffer;
    let Some((.., scope)) = func.as_shaped(func.value_type(buffer)) else { return };
    let ty = func.ty(TypeData::Ref { elem, shape: [].into(), scope });
    for (reference, numbers) in plan.tiles.references.iter().zip(&plan.numbers) {
        let mut rw = Rewriter::new(func);
        match reference.maker {
            Some(maker) => {
                let place = refer(&mut rw.before(maker), plan, reference.starts.as_slice(), numbers, ty);
                let old = rw.func().operands(maker)[1..].to_vec();
                rw.replace_op(maker, &[place]);
                drop(rw);
                erase_unused(func, old);
            }
            None => {
                for user in &reference.users {
                    let place = refer(&mut rw.before(user.op), plan, reference.starts.as_slice(), numbers, ty);
                    rw.set_operand(user.op, user.idx, place);
                }
            }
        }
    }
}

fn refer(
    b: &mut Builder<'_>,
    plan: &FragmentBuffer,
    starts: &[Option<Value>],
    numbers: &[tc_arith::Expr; 2],
    ty: Type,
) -> Value {
    let mut indices: Vec<Value> = Vec::new();
    for &start in &starts[..plan.tiles.n_leading()] {
        indices.push(as_index(b, start));
    }
    if !plan.is_one_tile() {
        for &number in numbers {
            indices.push(build_index(b, &plan.algebra, number));
        }
    }
    if indices.is_empty() {
        indices.push(b.index(0));
    }
    let op = tir::ElementRef::build(b, plan.tiles.buffer, &indices, &[], &[ty]);
    b.func.result(op).expect("the row has one result")
}
