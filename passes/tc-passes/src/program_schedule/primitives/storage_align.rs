//! Pads the stride of a dimension of a buffer: `storage_align(LOOP, factor = e, offset = o)`. The dimension is the one that the
//! variable of the loop is the index of.
//!
//! # Legality
//!
//! The program makes the buffer, its extents are constant, and bulk copies do not fill it.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::nest::var;
use super::super::stage::indices;
use super::Primitive;
use tc_dialects::{sched, tir};
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Op, Rewriter, keys};

/// A buffer and its strides.
pub(super) struct Strides {
    alloc: Op,
    strides: Vec<i64>,
}

impl Primitive for sched::StorageAlign {
    type Legal = Strides;

    fn legality(cx: &Cx<'_>) -> Done<Strides> {
        let op = cx.a_loop(cx.operand(0))?;
        let func = cx.func();
        let (Some(factor), Some(offset)) = (cx.param(1), cx.param(2)) else {
            return Err(cx.mistyped("`storage_align` takes `factor = …` and `offset = …`").into());
        };
        let factor = cx.number(factor, "factor", 1 << 20)?;
        let offset = cx.int(offset)?;
        if !(0..=1 << 20).contains(&offset) {
            return Err(cx
                .wrong_number(format!("the offset of `storage_align` must be 0 to {}, not {offset}", 1 << 20))
                .into());
        }
        // The dimension is the one that the variable of the loop is the index of.
        let stores = all_ops(func).filter(|&op| func.opcode(op) == tir::STORE);
        let place = stores.filter_map(|store| {
            let dim = indices(func, store).iter().position(|&index| index == var(func, op))?;
            Some((func.operand(store, 0), dim))
        });
        let mut places: Vec<_> = place.collect();
        places.dedup();
        let [(buffer, dim)] = places[..] else {
            let text = format!("the variable of `{}` is not an index of one stored buffer", cx.loop_name(op));
            return Err(cx.error("storage-align", text).help("name a loop before it is split").into());
        };
        let alloc = func.def_op(buffer).filter(|&op| func.opcode(op) == tir::ALLOC);
        let Some(alloc) = alloc.filter(|&op| func.attr_of(op, keys::BULK).is_none()) else {
            let text = format!("the strides of `{}` are not the program's to choose", cx.show(buffer));
            return Err(cx.error("storage-align", text).into());
        };
        if func.attr_of(alloc, keys::STRIDES).is_some() {
            let text = format!("the strides of `{}` were said before", cx.show(buffer));
            let said = func.directive_location(alloc).unwrap_or_else(|| func.op_location(alloc));
            return Err(cx.error("said-twice", text).label(said, "here").help("pad one dimension of a buffer").into());
        }
        let shape = func.as_shaped(func.value_type(buffer)).map_or(&[][..], |(_, shape, _)| shape);
        let Some(extents) = shape.iter().map(|&extent| func.as_int(extent)).collect::<Option<Vec<i64>>>() else {
            let text = format!("the extents of `{}` are not constant", cx.show(buffer));
            return Err(cx.error("storage-align", text).label(cx.place(alloc), "it is made here").into());
        };
        let mut strides = vec![1i64; extents.len()];
        let mut stride = 1i64;
        for nth in (0..extents.len()).rev() {
            if nth == dim {
                let missing =
                    (i128::from(factor) + i128::from(offset) - i128::from(stride % factor)).rem_euclid(factor.into());
                stride = stride.saturating_add(i64::try_from(missing).unwrap_or(i64::MAX));
            }
            strides[nth] = stride;
            stride = stride.saturating_mul(extents[nth].max(1));
        }
        Ok(Strides { alloc, strides })
    }

    fn edit(cx: &mut Cx<'_>, Strides { alloc, strides }: Strides) -> Vec<Item> {
        let func = &mut cx.program.func;
        let list = strides.iter().map(|&stride| func.int_attr(stride)).collect::<Vec<_>>();
        let list = func.attr(AttrData::List(list.into()));
        Rewriter::new(func).set_attr(alloc, keys::STRIDES, list);
        Vec::new()
    }
}
