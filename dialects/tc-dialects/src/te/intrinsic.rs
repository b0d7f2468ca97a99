//! What a tensor intrinsic says of itself.

use super::{BODY_OP, Compute, INIT, INTRIN, UPDATE, top_reduce};
use tc_ir::opdef::Role;
use tc_ir::{Func, Op, Region, Value, keys};

/// An axis of what an intrinsic computes; it starts at 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// The axis, an argument of a region.
    pub value: Value,
    /// How far it runs.
    pub extent: i64,
}

/// The reduction of an intrinsic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduction {
    /// Where it stands.
    pub op: Op,
    /// The word of its combiner.
    pub combiner: String,
    /// Its axes.
    pub axes: Vec<Axis>,
}

/// An item `te.intrin`, taken apart.
#[derive(Clone, Debug)]
pub struct Intrinsic<'f> {
    /// The item.
    pub func: &'f Func,
    /// What is computed.
    pub compute: Op,
    /// The tensor that is computed, which the blocks write.
    pub result: Value,
    /// The axes of the result.
    pub axes: Vec<Axis>,
    /// The reduction, where it is one.
    pub reduction: Option<Reduction>,
    /// An element of the result, or of what is reduced.
    pub element: Value,
    /// What stands for all of it.
    pub body: Option<Region>,
    /// What stands for the first step.
    pub init: Option<Region>,
    /// What stands for a further step.
    pub update: Option<Region>,
}

impl<'f> Intrinsic<'f> {
    /// The parts of the intrinsic `func`; `None` where it is none that the verifier lets pass.
    pub fn of(func: &'f Func) -> Option<Intrinsic<'f>> {
        if func.header.opcode != INTRIN {
            return None;
        }
        let block = |opcode| {
            let op = func.ops(func.body()).find(|&op| func.opcode(op) == opcode)?;
            func.op_regions(op).first().copied()
        };
        let compute = func.ops(func.body()).find(|&op| func.role(op) == Role::Compute)?;
        let inside = *func.op_regions(compute).first()?;
        let axes = axes(func, func.region_args(inside), func.operands(compute))?;
        let &[yielded] = func.yielded(inside) else { return None };
        let (reduction, element) = match top_reduce(func, Compute::of(func, compute)?) {
            None => (None, yielded),
            Some(reduce) => {
                let op = reduce.0;
                let inside = *func.op_regions(op).first()?;
                let args = func.region_args(inside);
                let bounds = func.operands(op).get(..2 * args.len())?;
                let combiner = func.word_of(op, keys::COMBINER)?.to_string();
                let reduction = Reduction { op, combiner, axes: self::axes(func, args, bounds)? };
                (Some(reduction), *func.yielded(inside).first()?)
            }
        };
        Some(Intrinsic {
            func,
            compute,
            result: func.result(compute)?,
            axes,
            reduction,
            element,
            body: block(BODY_OP),
            init: block(INIT),
            update: block(UPDATE),
        })
    }

    /// The axes of the reduction.
    pub fn reduced(&self) -> &[Axis] {
        self.reduction.as_ref().map_or(&[], |reduction| &reduction.axes)
    }

    /// All axes: those of the result, then those of the reduction.
    pub fn all_axes(&self) -> impl Iterator<Item = Axis> + '_ {
        self.axes.iter().chain(self.reduced()).copied()
    }

    /// The attribute `key` of a parameter or of the result.
    pub fn attr(&self, place: Value, key: tc_ir::Name) -> Option<tc_ir::Attr> {
        if place == self.result {
            return self.func.entry(self.func.header.results.first()?.attrs, key);
        }
        self.func.buffer_attr(place, key)
    }

    /// The extents of a parameter or of the result.
    pub fn extents(&self, place: Value) -> Option<Vec<i64>> {
        let (_, shape, _) = self.func.as_shaped(self.func.value_type(place))?;
        shape.iter().map(|&dim| self.func.as_int(dim)).collect()
    }

    /// The scope that a parameter or the result is declared in.
    pub fn scope(&self, place: Value) -> Option<&'f str> {
        let (_, _, scope) = self.func.as_shaped(self.func.value_type(place))?;
        scope.map(|scope| self.func.text(scope))
    }
}

/// The axes `args`, whose low and high ends are `bounds`: constants from 0 on.
fn axes(func: &Func, args: &[Value], bounds: &[Value]) -> Option<Vec<Axis>> {
    let ends: Vec<&[Value]> = bounds.chunks(2).collect();
    if ends.len() != args.len() {
        return None;
    }
    let axis = |(&value, ends): (&Value, &[Value])| {
        let (&[lo, hi], extent) = (ends, func.const_int(*ends.get(1)?)?) else { return None };
        (func.const_int(lo) == Some(0) && func.const_int(hi) == Some(extent)).then_some(Axis { value, extent })
    };
    args.iter().zip(ends).map(axis).collect()
}
