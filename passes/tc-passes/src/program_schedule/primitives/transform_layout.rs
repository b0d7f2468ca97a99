//! Changes the layout of a buffer by a map of its indices: `transform_layout(BUFFER) (i, j) { yield … }`, as for operators.
//!
//! # Legality
//!
//! The program makes the buffer, its extents are constant, and no directive said how it lies. The map is tried on all
//! elements, at most 2^20. Afterwards the buffer has no nest over its dimensions any more: `compute_at` comes first.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::stage::{accesses, indices};
use super::Primitive;
use super::compute_at::{extents, plain_buffer};
use tc_dialects::{arith, sched};
use tc_ir::clone::Importer;
use tc_ir::{Attr, Builder, Op, Rewriter, TypeData, Value};
use tc_schedule::Layout;
use tc_support::counted;

/// A buffer, its accesses, the map and the extents that it gives.
pub(super) struct Mapped {
    buffer: Value,
    accesses: Vec<Op>,
    layout: Layout,
    extents: Vec<i64>,
}

impl Primitive for sched::TransformLayout {
    type Legal = Mapped;

    fn legality(cx: &Cx<'_>) -> Done<Mapped> {
        let (buffer, alloc) = cx.own_buffer(cx.operand(0))?;
        plain_buffer(cx, buffer, alloc)?;
        let name = cx.show(buffer);
        let whole = |op: Op| {
            let text = format!("`{name}` is used as a whole, so its layout stays");
            cx.error("layout-map", text).label(cx.place(op), "here")
        };
        let (loads, stores) = accesses(cx.func(), buffer).map_err(whole)?;
        let Some(shape) = extents(cx.func(), buffer).into_iter().collect::<Option<Vec<i64>>>() else {
            let text = format!("the extents of `{name}` are not constant");
            return Err(cx.error("layout-map", text).label(cx.place(alloc), "it is made here").into());
        };
        let is_vector = |&&op: &&Op| {
            let lanes = |&index: &Value| cx.func().value_scalar(index).is_none_or(|scalar| scalar.lanes != 1);
            indices(cx.func(), op).iter().any(lanes)
        };
        if let Some(&op) = loads.iter().chain(&stores).find(is_vector) {
            let text = format!("`{name}` is accessed by vectors, whose elements would not stay together");
            return Err(cx.error("layout-map", text).label(cx.place(op), "here").into());
        }
        let region = cx.sched.op_regions(cx.at)[0];
        let given = cx.sched.region_args(region).len();
        if given != shape.len() || cx.sched.yielded(region).is_empty() {
            let dims = counted(shape.len(), "dimension");
            let text = format!("`{name}` has {dims}, and the map takes {}", counted(given, "index"));
            return Err(cx.error("layout-rank", text).into());
        }
        let layout = Layout::read(cx.sched, cx.at, &|value| cx.int(value).ok())?;
        let extents = layout.extents(cx.sched, &name, &shape)?;
        Ok(Mapped { buffer, accesses: loads.into_iter().chain(stores).collect(), layout, extents })
    }

    fn edit(cx: &mut Cx<'_>, Mapped { buffer, accesses, layout, extents }: Mapped) -> Vec<Item> {
        let (sched, at) = (cx.sched, cx.at);
        let region = sched.op_regions(at)[0];
        let end = sched.terminator(region);
        let func = &mut cx.program.func;
        for access in accesses {
            let old = indices(func, access).to_vec();
            let mut map = Importer::new(sched);
            let mut b = Builder::before(func, access);
            for &(param, value) in layout.params() {
                let value = b.index(value);
                map.values.insert(param, value);
            }
            let index = b.func.index_ty();
            let mut as_index = |value: Value| {
                if b.func.value_type(value) == index {
                    return value;
                }
                let cast = arith::Cast::build(&mut b, value, &[], &[index]);
                b.func.result(cast).expect("a cast has one result")
            };
            let args: Vec<Value> = old.iter().map(|&value| as_index(value)).collect();
            map.values.extend(sched.region_args(region).iter().copied().zip(args));
            for op in sched.ops(region).filter(|&op| Some(op) != end) {
                map.op(&mut b, op);
            }
            let mapped = sched.yielded(region).iter().map(|value| map.values[value]);
            let operands = b.func.operands(access);
            let all: Vec<Value> =
                [operands[0]].into_iter().chain(mapped).chain(operands[1 + old.len()..].iter().copied()).collect();
            Rewriter::new(func).set_operands(access, &all);
        }
        let Some((elem, _, scope)) = func.as_shaped(func.value_type(buffer)) else { return Vec::new() };
        let shape: Vec<Attr> = extents.iter().map(|&extent| func.int_attr(extent)).collect();
        let ty = func.ty(TypeData::Shaped { elem, shape: shape.into(), scope });
        Rewriter::new(func).set_type(buffer, ty);
        Vec::new()
    }
}
