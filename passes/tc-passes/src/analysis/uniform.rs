//! Which values are the same for all threads of a block, or of a warp, that reach them together.

use super::launch::{Nest, coordinate, nest_of};
use super::warps::Warps;
use rustc_hash::FxHashSet;
use tc_dialects::forms::is_global;
use tc_dialects::tir::{self, Coordinate};
use tc_ir::effects;
use tc_ir::walk::{OpRange, ancestors, ops_under};
use tc_ir::{EntitySet, Func, Op, TypeData, Value};

/// The values of a launch nest that may differ between threads of one block, or of one warp.
pub(crate) struct Uniform {
    divergent: EntitySet<Value>,
    /// What the threads of a warp are, where warps are asked about.
    warps: Option<Warps>,
    /// The coordinates in which the threads differ, by [`Coordinate::index`].
    differs: [bool; 6],
    /// The buffers that something in the nest writes.
    written: FxHashSet<Value>,
}

impl Uniform {
    /// Looks at everything in `nest`.
    pub(crate) fn of(func: &Func, nest: &Nest) -> Uniform {
        Uniform::between(func, nest, None)
    }

    /// Looks at everything in `nest`, for the threads of a warp.
    pub(crate) fn of_warp(func: &Func, nest: &Nest) -> Uniform {
        Uniform::between(func, nest, Some(Warps::of(func, nest)))
    }

    /// Looks at everything in `nest`, for threads that differ in `along` alone.
    pub(crate) fn along(func: &Func, nest: &Nest, along: &[Coordinate]) -> Uniform {
        let differs = Coordinate::ALL.map(|coordinate| along.contains(&coordinate) && nest.varies(coordinate));
        Uniform::among(func, nest, None, differs)
    }

    fn between(func: &Func, nest: &Nest, warps: Option<Warps>) -> Uniform {
        let differs = Coordinate::ALL.map(|coordinate| {
            let in_warp = warps.as_ref().is_none_or(|warps| warps.differs(coordinate));
            coordinate.is_thread() && nest.varies(coordinate) && in_warp
        });
        Uniform::among(func, nest, warps, differs)
    }

    fn among(func: &Func, nest: &Nest, warps: Option<Warps>, differs: [bool; 6]) -> Uniform {
        let divergent = EntitySet::with_capacity(func.n_value_ids());
        let mut uniform = Uniform { divergent, warps, differs, written: written_buffers(func, nest.op) };
        let inner = func.op_regions(nest.op).iter().flat_map(|&region| ops_under(func, region));
        uniform.extend(func, std::iter::once(nest.op).chain(inner));
        uniform
    }

    /// Looks at `ops` too, in the order of the text: copies of what is in the nest.
    pub(crate) fn extend(&mut self, func: &Func, ops: impl Iterator<Item = Op>) {
        ops.for_each(|op| self.visit(func, op));
    }

    /// Is `value` the same for all threads of a block?
    pub(crate) fn is(&self, value: Value) -> bool {
        !self.divergent.contains(value)
    }

    fn visit(&mut self, func: &Func, op: Op) {
        let opcode = func.opcode(op);
        if opcode == tir::FOR {
            if coordinate(func, op).is_some_and(|coordinate| self.differs[coordinate.index()]) {
                self.divergent.insert(super::launch::loop_var(func, op));
            }
            // Each thread counts from its own start; the end only tells how long.
            if !self.is(func.operand(op, 0)) {
                self.divergent.extend(func.region_args(func.op_regions(op)[0]).first().copied());
            }
            // What a loop carries would take a fixpoint to tell.
            self.divergent.extend(func.region_args(func.op_regions(op)[0]).iter().skip(1).copied());
            self.divergent.extend(func.results(op));
        } else if opcode == tir::IF {
            if !self.is(func.operand(op, 0)) {
                self.divergent.extend(func.results(op));
            }
        } else if func.row(op).terminator {
            let Some(parent) = func.parent_op(op).filter(|&parent| func.opcode(parent) == tir::IF) else { return };
            for (result, &value) in func.results(parent).zip(func.operands(op)) {
                if !self.is(value) {
                    self.divergent.insert(result);
                }
            }
        } else {
            let same = func.operands(op).iter().all(|&operand| self.is(operand)) && self.gives_one_value(func, op);
            if !same && !self.warps.as_mut().is_some_and(|warps| warps.is_one_value(func, op)) {
                self.divergent.extend(func.results(op));
            }
        }
    }

    /// Do equal operands give equal results?
    fn gives_one_value(&self, func: &Func, op: Op) -> bool {
        if effects::own(func, op).unknown || !func.op_regions(op).is_empty() {
            return false;
        }
        effects::accesses(func, op).iter().all(|&(place, _)| {
            let root = effects::root_buffer(func, place);
            is_global(func, root) && !self.written.contains(&root)
        })
    }
}

/// [`Uniform`] of the nest that was asked about last, kept while a pass changes the function.
#[derive(Default)]
pub(crate) struct Uniforms(Option<(Op, Uniform)>);

impl Uniforms {
    /// That of the nest whose outermost launch loop is `nest`.
    pub(crate) fn of(&mut self, func: &Func, nest: Op) -> &Uniform {
        let kept = self.0.take().filter(|(of, _)| *of == nest);
        &self.0.insert(kept.unwrap_or_else(|| (nest, Uniform::of(func, &Nest::of(func, nest))))).1
    }

    /// What stands in `place` now has copies of what was there.
    pub(crate) fn extend(&mut self, func: &Func, place: OpRange) {
        if let Some((nest, uniform)) = &mut self.0
            && place.first(func).is_some_and(|op| nest_of(func, op) == Some(*nest))
        {
            uniform.extend(func, place.ops(func));
        }
    }
}

/// The conditional or loop around `op`, within the nest `nest`, through which threads of one block may go differently.
pub(crate) fn divergent_branch(func: &Func, uniform: &Uniform, nest: Op, op: Op) -> Option<Op> {
    let inside = ancestors(func, op).take_while(|&outer| outer != nest);
    inside.into_iter().find(|&outer| match func.opcode(outer) {
        tir::IF => !uniform.is(func.operand(outer, 0)),
        tir::FOR if coordinate(func, outer).is_some() => false,
        tir::FOR => func.operands(outer)[..2].iter().any(|&bound| !uniform.is(bound)),
        _ => false,
    })
}

/// The buffers that something under `nest` writes, by their roots; those whose writer is not known are not among them.
pub(crate) fn written_buffers(func: &Func, nest: Op) -> FxHashSet<Value> {
    let mut written = FxHashSet::default();
    for op in func.op_regions(nest).iter().flat_map(|&region| ops_under(func, region)) {
        for (place, access) in effects::accesses(func, op) {
            if access.writes() {
                written.insert(effects::root_buffer(func, place));
            }
        }
        if func.row(op).effect.unknown {
            let buffers = func.operands(op).iter().filter(|&&operand| is_place(func, operand));
            written.extend(buffers.map(|&operand| effects::root_buffer(func, operand)));
        }
    }
    written
}

fn is_place(func: &Func, value: Value) -> bool {
    matches!(func.type_data(func.value_type(value)), TypeData::Shaped { .. } | TypeData::Ref { .. })
}
