//! Computes a buffer inside a loop of what reads it, as much of it as an iteration needs: `compute_at(BUFFER, LOOP)`.
//!
//! The buffer shrinks to that part. A part that may reach beyond what the nest ran over is guarded. In memory that threads
//! share the part is what all threads of the loops around need.
//!
//! # Legality
//!
//! - The program makes the buffer. One perfect nest over its dimensions computes it and nothing else; no directive said how
//!   its loops run, or how the buffer lies.
//! - All reads of the buffer are in the loop, which comes later in the region where the buffer is made.
//! - What it is computed of does not change between the nest and the end of the statement that the loop is in.
//!
//! Where the part is not found by the linear terms of indices, it is the whole dimension.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::nest::{body, outermost, substitute, var};
use super::super::region::{Part, View};
use super::super::stage::{Producer, accesses, home, indices, statement_in};
use super::Primitive;
use super::cache_read::{NOALIAS, writes_to};
use super::split::guarded;
use crate::analysis::access::NestFacts;
use crate::analysis::launch::coordinate;
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, build_index};
use tc_dialects::scope::{Owner, Scope};
use tc_dialects::{arith, sched, tir};
use tc_ir::clone::ValueMap;
use tc_ir::walk::{ancestors, is_inside, ops_under};
use tc_ir::{Attr, Builder, Func, Op, Region, Rewriter, TypeData, Value, effects, keys};

/// A buffer, what computes it, the loop that it moves into, and the part that is needed there.
pub(super) struct Moved {
    buffer: Value,
    alloc: Op,
    producer: Producer,
    at: Op,
    parts: Vec<Need>,
    /// The indices of the loads of the buffer, counted from where the part starts.
    loads: Vec<(Op, Vec<Option<Expr>>)>,
    algebra: Algebra,
}

/// The part of a dimension, and what of it may lie outside of what the loop over it computes.
#[derive(Clone, Copy)]
pub(super) struct Need {
    pub(super) part: Part,
    pub(super) below: bool,
    pub(super) above: bool,
}

impl Primitive for sched::ComputeAt {
    type Legal = Moved;

    fn legality(cx: &Cx<'_>) -> Done<Moved> {
        let (buffer, alloc) = cx.own_buffer(cx.operand(0))?;
        let at = cx.a_loop(cx.operand(1))?;
        let func = cx.func();
        let producer = Producer::of(func, buffer).map_err(|why| cx.no_producer(buffer, why))?;
        plain_buffer(cx, buffer, alloc)?;
        stays_first(cx, buffer, &producer, at)?;
        let (loads, _) = accesses(func, buffer).unwrap_or_default();
        let loads: Vec<Op> = loads.into_iter().filter(|&load| !is_inside(func, load, producer.root)).collect();
        if let Some(&other) = loads.iter().find(|&&load| !is_inside(func, load, at)) {
            let text = format!("`{}` is read outside of the loop `{}` too", cx.show(buffer), cx.loop_name(at));
            let error = cx.error("read-elsewhere", text).label(cx.place(other), "here");
            let help = "take a loop around all that reads it, or name in `cache_read` what is to read the copy";
            return Err(error.help(help).into());
        }
        if loads.is_empty() {
            let text = format!("nothing in the loop `{}` reads `{}`", cx.loop_name(at), cx.show(buffer));
            return Err(cx.error("no-reader", text).into());
        }
        let is_launched = std::iter::once(at).chain(ancestors(func, at)).any(|op| coordinate(func, op).is_some());
        if is_launched && Scope::of(func, buffer) == Some(Scope::Global) {
            let name = cx.show(buffer);
            let text = format!("`{name}` lies in global memory, of which a launch has one buffer for all blocks");
            let error = cx.error("compute-at", text).label(cx.place(alloc), "it is made here");
            return Err(error.help(format!("`set_scope({name}, shared)` or `local` first")).into());
        }
        let mut facts = NestFacts::serial(func, outermost(func, at));
        let view = View::from(func, at, &relaxed(func, buffer, at));
        let parts = view.needed(&mut facts, &loads, &extents(func, buffer));
        let parts: Vec<Need> =
            parts.into_iter().zip(&producer.by_dim).map(|(part, &op)| Need::of(&mut facts, part, op)).collect();
        let relative = |facts: &mut NestFacts<'_>, load: Op| {
            let of = |(need, &index): (&Need, &Value)| match need.part {
                Part::Whole => None,
                Part::Range(start, _) => Some(facts.less(index, start)),
            };
            (load, parts.iter().zip(indices(func, load)).map(of).collect())
        };
        let loads = loads.iter().map(|&load| relative(&mut facts, load)).collect();
        Ok(Moved { buffer, alloc, producer, at, parts, loads, algebra: facts.algebra })
    }

    fn edit(cx: &mut Cx<'_>, moved: Moved) -> Vec<Item> {
        let Moved { buffer, alloc, producer, at, parts, loads, algebra } = moved;
        let locs = cx.locs_like(producer.root);
        let func = &mut cx.program.func;
        let region = body(func, at);
        let mut rw = Rewriter::new(func);
        producer.tidy(&mut rw);
        match rw.func().first_op(region) {
            Some(place) => {
                rw.move_before(alloc, place);
                rw.move_before(producer.root, place);
            }
            None => {
                rw.move_to_end(alloc, region);
                rw.move_to_end(producer.root, region);
            }
        }
        rw.set_locs(alloc, locs);
        drop(rw);
        shrink(func, buffer, &parts);
        restrict(func, &producer, &parts, &algebra, Some(buffer));
        for (load, indices) in loads {
            for (dim, index) in indices.into_iter().enumerate() {
                let Some(index) = index else { continue };
                let value = build_index(&mut Builder::before(func, load), &algebra, index);
                Rewriter::new(func).set_operand(load, dim + 1, value);
            }
        }
        Vec::new()
    }
}

impl NestFacts<'_> {
    /// The index `value`, counted from `start`.
    pub(super) fn less(&mut self, value: Value, start: Expr) -> Expr {
        let index = self.expr(value);
        let difference = self.algebra.analyzer.pool.sub(index, start);
        self.algebra.analyzer.simplify(difference)
    }
}

impl Need {
    /// The part of the dimension that the loop `op` runs over.
    pub(super) fn of(facts: &mut NestFacts<'_>, part: Part, op: Op) -> Need {
        let Part::Range(start, len) = part else { return Need { part, below: false, above: false } };
        let func = facts.func;
        let (lo, hi) = (func.const_int(func.operand(op, 0)), func.const_int(func.operand(op, 1)));
        let starts = facts.bounds(start);
        let last = starts.max().and_then(|start| start.checked_add(len));
        let below = lo.zip(starts.min()).is_none_or(|(lo, start)| lo > start);
        let above = hi.zip(last).is_none_or(|(hi, last)| last > hi);
        Need { part, below, above }
    }
}

/// The extents of a buffer, as far as they are constant.
pub(super) fn extents(func: &Func, buffer: Value) -> Vec<Option<i64>> {
    func.as_shaped(func.value_type(buffer))
        .map_or(Vec::new(), |(_, shape, _)| shape.iter().map(|&extent| func.as_int(extent)).collect())
}

/// Refuses a buffer whose elements were told where to lie.
pub(super) fn plain_buffer(cx: &Cx<'_>, buffer: Value, alloc: Op) -> Done<()> {
    let func = cx.func();
    if [keys::STRIDES, keys::LAYOUT, keys::STAGES, keys::BULK, keys::SWIZZLE]
        .iter()
        .all(|&key| func.attr_of(alloc, key).is_none())
    {
        return Ok(());
    }
    let text = format!("`{}` takes `{}`, of which it was said how it lies", cx.by, cx.show(buffer));
    let said = func.directive_location(alloc).unwrap_or_else(|| func.op_location(alloc));
    Err(cx.error("directive-unused", text).label(said, "here").help(format!("write `{}` first", cx.by)).into())
}

/// The loops over threads around the inside of `at` that share the buffer.
fn relaxed(func: &Func, buffer: Value, at: Op) -> Vec<Op> {
    let owner = Scope::of(func, buffer).map_or(Owner::Grid, Scope::owner);
    let shares = |&op: &Op| {
        coordinate(func, op).is_some_and(|of| match owner {
            Owner::Grid => true,
            Owner::Block => of.is_thread(),
            Owner::Warp => of == tir::Coordinate::ThreadX,
            Owner::Thread => false,
        })
    };
    std::iter::once(at).chain(ancestors(func, at)).filter(shares).collect()
}

/// Refuses a place where what is computed would not be what it is now.
fn stays_first(cx: &Cx<'_>, buffer: Value, producer: &Producer, at: Op) -> Done<()> {
    let func = cx.func();
    let root = producer.root;
    let (name, place) = (cx.show(buffer), cx.loop_name(at));
    let statement = statement_in(func, home(func, buffer), at).filter(|&op| op != root);
    let between: Option<Vec<Op>> = statement.map(|statement| {
        std::iter::successors(func.next_op(root), |&op| func.next_op(op).filter(|_| op != statement)).collect()
    });
    let Some(between) = between.filter(|between| between.last() == statement.as_ref()) else {
        let text = format!("the loop `{place}` does not come after what computes `{name}`");
        let error = cx.error("compute-at", text).label(cx.place(root), format!("`{name}` is computed here"));
        return Err(error.label(cx.place(at), format!("this is `{place}`")).into());
    };
    let mut reads: Vec<Value> = Vec::new();
    let inside: Vec<Op> = std::iter::once(root).chain(ops_under(func, body(func, root))).collect();
    for &op in &inside {
        let own = effects::own(func, op);
        if own.unknown || own.convergent || own.synchronises || coordinate(func, op).is_some() {
            let text = format!("what computes `{name}` cannot be moved");
            return Err(cx.error("compute-at", text).label(cx.place(op), "because of this").into());
        }
        for (touched, access) in effects::accesses(func, op) {
            let other = effects::root_buffer(func, touched);
            let is_own = func.def_op(other).is_some_and(|alloc| inside.contains(&alloc));
            if other != buffer && !is_own {
                if access.writes() {
                    let text = format!("what computes `{name}` writes `{}` as well", cx.show(other));
                    let error = cx.error("compute-at", text).label(cx.place(op), "here");
                    return Err(error.help("`distribute` gives each a loop of its own").into());
                }
                reads.push(other);
            }
        }
    }
    for (&statement, &read) in between.iter().flat_map(|statement| reads.iter().map(move |read| (statement, read))) {
        if let Some(op) = writes_to(func, statement, read) {
            let text =
                format!("`{name}` is computed of `{}`, which changes before the loop `{place}` ends", cx.show(read));
            let error = cx.error("dependence", text).label(cx.place(op), "this may write it");
            let error = error.label(cx.place(root), format!("`{name}` is computed here"));
            let itself =
                effects::accesses(func, op).iter().any(|&(place, _)| effects::root_buffer(func, place) == read);
            return Err(if itself { error } else { error.help(NOALIAS) }.into());
        }
    }
    Ok(())
}

/// Lets the buffer have the extents of the parts.
pub(super) fn shrink(func: &mut Func, buffer: Value, parts: &[Need]) {
    let Some((elem, shape, scope)) = func.as_shaped(func.value_type(buffer)) else { return };
    let mut shape: Vec<Attr> = shape.to_vec();
    for (extent, need) in shape.iter_mut().zip(parts) {
        if let Part::Range(_, len) = need.part {
            *extent = func.int_attr(len);
        }
    }
    let ty = func.ty(TypeData::Shaped { elem, shape: shape.into(), scope });
    Rewriter::new(func).set_type(buffer, ty);
}

/// Lets the loops of a nest run over parts of what they ran over, where it stands now. Accesses of `compacted` keep the
/// variables of the loops as their indices.
pub(super) fn restrict(func: &mut Func, nest: &Producer, parts: &[Need], algebra: &Algebra, compacted: Option<Value>) {
    let innermost = body(func, nest.inner);
    let ops: Vec<Op> = func.ops(innermost).collect();
    let users: Vec<Op> = ops_under(func, innermost).collect();
    let kept: Vec<(Op, Vec<Value>)> = users
        .iter()
        .filter(|&&op| matches!(func.opcode(op), tir::LOAD | tir::STORE) && Some(func.operand(op, 0)) == compacted)
        .map(|&op| (op, indices(func, op).to_vec()))
        .collect();
    let mut map = ValueMap::default();
    let mut into: Region = innermost;
    for (need, &op) in parts.iter().zip(&nest.by_dim) {
        let Part::Range(start, len) = need.part else { continue };
        let number = var(func, op);
        let elem = func.value_scalar(number).map_or(tc_ir::Elem::Index, |scalar| scalar.elem);
        let (lo, hi) = (func.operand(op, 0), func.operand(op, 1));
        let mut b = Builder::before(func, nest.root);
        let (zero, end) = (b.int(0, elem), b.int(len, elem));
        let start = build_index(&mut b, algebra, start);
        let ty = b.func.elem_ty(elem);
        let start = if b.func.value_type(start) == ty {
            start
        } else {
            let cast = arith::Cast::build(&mut b, start, &[], &[ty]);
            b.func.result(cast).expect("a cast has one result")
        };
        let mut b = Builder::at_end(func, into);
        let value =
            if b.func.const_int(start) == Some(0) { number } else { b.value(arith::ADD, &[start, number], &[]) };
        if need.below {
            into = guarded(&mut b, "le", lo, value);
            b = Builder::at_end(func, into);
        }
        if need.above {
            into = guarded(&mut b, "lt", value, hi);
        }
        map.insert(number, value);
        let mut rw = Rewriter::new(func);
        rw.set_operand(op, 0, zero);
        rw.set_operand(op, 1, end);
    }
    let mut rw = Rewriter::new(func);
    ops.iter().for_each(|&op| rw.move_to_end(op, into));
    substitute(&mut rw, &ops, &map);
    for (op, indices) in kept {
        indices.into_iter().enumerate().for_each(|(nth, index)| rw.set_operand(op, nth + 1, index));
    }
}
