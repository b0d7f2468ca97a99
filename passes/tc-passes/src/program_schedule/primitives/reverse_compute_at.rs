//! Computes a buffer inside a loop of what it is computed of, as much of it as an iteration completes:
//! `reverse_compute_at(BUFFER, LOOP)`. So an epilogue joins the loop of a product's tile.
//!
//! The buffer that it reads shrinks to what the iteration computes.
//!
//! # Legality
//!
//! - One perfect nest over its dimensions computes the buffer, and nothing else. It reads one buffer that the loop computes, an
//!   element an iteration and in each; the program makes that one, and nothing else uses it.
//! - No two iterations of the loop, nor of those around it, store to one part of that buffer.
//! - Only loops are around the loop, and nothing between the two statements forbids that the nest moves.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::dependences::Serial;
use super::super::nest::{body, carries, var};
use super::super::region::{Part, View};
use super::super::stage::{Producer, accesses, home, indices, statement_in};
use super::Primitive;
use super::cache_read::writes_to;
use super::compute_at::{Need, extents, plain_buffer, restrict, shrink};
use crate::analysis::access::NestFacts;
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, build_index};
use tc_dialects::{sched, tir};
use tc_ir::walk::{ancestors, is_inside, ops_under};
use tc_ir::{Builder, Func, Op, Rewriter, Value, effects};

/// What reads a buffer, the loop that it moves into, and the part of the buffer that an iteration there completes.
pub(super) struct Moved {
    consumer: Producer,
    at: Op,
    source: Value,
    alloc: Op,
    /// The parts of the dimensions of the buffer, and of those of what is computed.
    parts: Vec<Need>,
    own_parts: Vec<Need>,
    /// The indices of the accesses of the buffer in the loop, counted from where the part starts.
    accesses: Vec<(Op, Vec<Option<Expr>>)>,
    algebra: Algebra,
    /// Where what is computed is made, if the program makes it.
    own: Option<Op>,
}

impl Primitive for sched::ReverseComputeAt {
    type Legal = Moved;

    fn legality(cx: &Cx<'_>) -> Done<Moved> {
        let buffer = cx.buffer(cx.operand(0))?;
        let at = cx.a_loop(cx.operand(1))?;
        let func = cx.func();
        let consumer = Producer::of(func, buffer).map_err(|why| cx.no_producer(buffer, why))?;
        let statement = follows(cx, buffer, &consumer, at)?;
        let (source, loads) = source_of(cx, &consumer, statement)?;
        let alloc = made_for(cx, source, &consumer, at)?;
        let own = func.def_op(buffer);
        // Each dimension of the source is a loop of the consumer.
        let by_loop = |load: &Op| -> Option<Vec<usize>> {
            let of = |index: &Value| consumer.by_dim.iter().position(|&op| var(func, op) == *index);
            indices(func, *load).iter().map(of).collect()
        };
        let dims = loads
            .first()
            .and_then(by_loop)
            .filter(|dims| loads.iter().all(|load| by_loop(load).as_ref() == Some(dims)));
        // An iteration that no part covers reads what nothing wrote, as long as it reads in any case.
        let reads_always = |&load: &Op| func.region_of(load) == Some(body(func, consumer.inner));
        if consumer.is_guarded(func) || !loads.iter().any(reads_always) {
            let text = format!("whether an iteration reads `{}` depends on a condition", cx.show(source));
            return Err(cx.error("compute-at", text).label(cx.place(loads[0]), "here").into());
        }
        let is_one_to_one = |dims: &Vec<usize>| dims.iter().enumerate().all(|(nth, dim)| !dims[..nth].contains(dim));
        let Some(dims) = dims.filter(is_one_to_one) else {
            let text = format!("`{}` is not read an element an iteration", cx.show(source));
            return Err(cx
                .error("compute-at", text)
                .label(cx.place(loads[0]), "by other indices than the loops'")
                .into());
        };
        let mut serial = Serial::around(func, at);
        let (source_loads, source_stores) = accesses(func, source).unwrap_or_default();
        let inside: Vec<Op> =
            source_loads.into_iter().chain(source_stores).filter(|&op| is_inside(func, op, at)).collect();
        let shape = extents(func, source);
        let found = View::from(func, at, &[]).needed(&mut serial.facts, &inside, &shape);
        let loops: Vec<Op> = std::iter::once(at)
            .chain(ancestors(func, at).take_while(|&op| op == statement || is_inside(func, op, statement)))
            .filter(|&op| func.opcode(op) == tir::FOR)
            .collect();
        if let Some(op) = serial.boxes_overlap(&inside, &found, &shape, &loops) {
            let text =
                format!("an iteration of `{}` does not complete a part of `{}`", cx.loop_name(at), cx.show(source));
            let label = format!("other iterations of `{}` may store to the same part", cx.loop_name(op));
            let error = cx.error("dependence", text).label(cx.place(op), label);
            return Err(error.help("take a loop outside of all reductions").into());
        }
        let need = |facts: &mut NestFacts<'_>, dim: usize| Need::of(facts, found[dim], consumer.by_dim[dims[dim]]);
        let parts: Vec<Need> = (0..found.len()).map(|dim| need(&mut serial.facts, dim)).collect();
        let whole = Need { part: Part::Whole, below: false, above: false };
        let own_part = |nth: usize| dims.iter().position(|&dim| dim == nth).map_or(whole, |dim| parts[dim]);
        let own_parts = (0..consumer.by_dim.len()).map(own_part).collect();
        let relative = |facts: &mut NestFacts<'_>, op: Op| {
            let of = |(need, &index): (&Need, &Value)| match need.part {
                Part::Whole => None,
                Part::Range(start, _) => Some(facts.less(index, start)),
            };
            (op, parts.iter().zip(indices(func, op)).map(of).collect())
        };
        let accesses = inside.iter().map(|&op| relative(&mut serial.facts, op)).collect();
        Ok(Moved { consumer, at, source, alloc, parts, own_parts, accesses, algebra: serial.facts.algebra, own })
    }

    fn edit(cx: &mut Cx<'_>, moved: Moved) -> Vec<Item> {
        let Moved { consumer, at, source, alloc, parts, own_parts, accesses, algebra, own } = moved;
        let locs = cx.locs_like(alloc);
        let func = &mut cx.program.func;
        let region = body(func, at);
        let mut rw = Rewriter::new(func);
        consumer.tidy(&mut rw);
        // What was hoisted out of the nest stays before it; the nest reads it where it goes.
        let statement = statement_in(rw.func(), rw.func().region_of(consumer.root).unwrap_or(region), at);
        if let Some(statement) = statement {
            let around = bounds_of(rw.func(), &consumer, statement);
            let own = own.filter(|&op| follows_in_region(rw.func(), op, statement));
            around.iter().chain(&own).for_each(|&op| rw.move_before(op, statement));
        }
        if let Some(place) = rw.func().first_op(region) {
            rw.move_before(alloc, place);
        }
        rw.move_to_end(consumer.root, region);
        rw.set_locs(alloc, locs);
        drop(rw);
        shrink(func, source, &parts);
        restrict(func, &consumer, &own_parts, &algebra, Some(source));
        for (op, indices) in accesses {
            for (dim, index) in indices.into_iter().enumerate() {
                let Some(index) = index else { continue };
                let value = build_index(&mut Builder::before(func, op), &algebra, index);
                Rewriter::new(func).set_operand(op, dim + 1, value);
            }
        }
        Vec::new()
    }
}

/// Does `op` stand in the region of `statement`, behind it?
fn follows_in_region(func: &Func, op: Op, statement: Op) -> bool {
    std::iter::successors(func.next_op(statement), |&next| func.next_op(next)).any(|next| next == op)
}

/// What stands between `statement` and the nest and that the nest uses: numbers, computed of sizes.
fn bounds_of(func: &Func, nest: &Producer, statement: Op) -> Vec<Op> {
    let mut wanted: Vec<Value> = func.operands(nest.root).to_vec();
    for op in ops_under(func, body(func, nest.root)) {
        wanted.extend(func.operands(op));
    }
    let mut found = Vec::new();
    let before = std::iter::successors(func.prev_op(nest.root), |&op| func.prev_op(op));
    for op in before.take_while(|&op| op != statement) {
        if func.results(op).any(|value| wanted.contains(&value)) && effects::summary(func, op).is_pure() {
            wanted.extend(func.operands(op));
            found.push(op);
        }
    }
    found.reverse();
    found
}

/// The statement that `at` is in, before the consumer and with nothing between that forbids that it moves there.
fn follows(cx: &Cx<'_>, buffer: Value, consumer: &Producer, at: Op) -> Done<Op> {
    let func = cx.func();
    let root = consumer.root;
    let name = cx.show(buffer);
    let region = func.region_of(root).unwrap_or(home(func, buffer));
    let statement = statement_in(func, region, at).filter(|&op| op != root);
    let between: Option<Vec<Op>> = statement.map(|statement| {
        std::iter::successors(Some(statement), |&op| func.next_op(op).filter(|&next| next != root && op != root))
            .collect()
    });
    let reaches = |between: &Vec<Op>| between.last().is_some_and(|&last| func.next_op(last) == Some(root));
    let Some((statement, between)) = statement.zip(between.filter(reaches)) else {
        let text = format!("the loop `{}` does not come before what computes `{name}`", cx.loop_name(at));
        let error = cx.error("compute-at", text).label(cx.place(root), format!("`{name}` is computed here"));
        return Err(error.label(cx.place(at), "this is the loop").into());
    };
    let is_loop = |&op: &Op| func.opcode(op) == tir::FOR && !carries(func, op);
    let mut around =
        std::iter::once(at).chain(ancestors(func, at).take_while(|&op| op != statement)).chain([statement]);
    if let Some(other) = around.find(|op| !is_loop(op)) {
        let text = format!("the loop `{}` runs under a condition, or carries values", cx.loop_name(at));
        let error = cx.error("compute-at", text).label(cx.place(other), "this is around it");
        return Err(error.help("take a loop further outside").into());
    }
    // What is between stays before: it may not use what moves, nor change what that reads.
    let mut touched: Vec<(Value, bool)> = Vec::new();
    for op in ops_under(func, body(func, root)) {
        let own = effects::own(func, op);
        if own.unknown || own.convergent || own.synchronises || crate::analysis::launch::coordinate(func, op).is_some()
        {
            let text = format!("what computes `{name}` cannot be moved");
            return Err(cx.error("compute-at", text).label(cx.place(op), "because of this").into());
        }
        let other = effects::accesses(func, op).iter().find_map(|&(place, access)| {
            let root = effects::root_buffer(func, place);
            let is_own = func.def_op(root).is_some_and(|alloc| is_inside(func, alloc, consumer.root));
            (access.writes() && root != buffer && !is_own).then_some(root)
        });
        if let Some(other) = other {
            let text = format!("what computes `{name}` writes `{}` as well", cx.show(other));
            let error = cx.error("compute-at", text).label(cx.place(op), "here");
            return Err(error.help("`distribute` gives each a loop of its own").into());
        }
        touched.extend(
            effects::accesses(func, op)
                .iter()
                .map(|&(place, access)| (effects::root_buffer(func, place), access.writes())),
        );
    }
    let used: Vec<Value> = ops_under(func, body(func, root)).flat_map(|op| func.operands(op).to_vec()).collect();
    for &other in between.iter().filter(|&&other| other != statement) {
        let is_used = func.results(other).any(|value| value != buffer && used.contains(&value));
        if is_used && !effects::summary(func, other).is_pure() {
            let text = format!("`{name}` is computed of what is made between the two statements");
            return Err(cx.error("compute-at", text).label(cx.place(other), "this").into());
        }
    }
    for &other in &between {
        let inner = func.op_regions(other).iter().flat_map(|&region| ops_under(func, region));
        for op in std::iter::once(other).chain(inner) {
            let uses = |&(place, access): &(Value, tc_ir::opdef::Access)| {
                let root = effects::root_buffer(func, place);
                touched.iter().any(|&(one, writes)| {
                    let is_source = other == statement && !writes && access.writes() && func.def_op(root).is_some();
                    (writes || access.writes()) && !is_source && super::super::stage::may_alias(func, root, one)
                })
            };
            if effects::own(func, op).unknown || effects::accesses(func, op).iter().any(uses) {
                let text = format!("what computes `{name}` cannot run before all that stands before it is done");
                return Err(cx.error("dependence", text).label(cx.place(op), "because of this").into());
            }
        }
    }
    Ok(statement)
}

/// The one buffer that the consumer reads and the statement computes, and how it is read.
fn source_of(cx: &Cx<'_>, consumer: &Producer, statement: Op) -> Done<(Value, Vec<Op>)> {
    let func = cx.func();
    let loads: Vec<Op> =
        ops_under(func, body(func, consumer.root)).filter(|&op| func.opcode(op) == tir::LOAD).collect();
    let mut sources: Vec<Value> = loads
        .iter()
        .map(|&op| func.operand(op, 0))
        .filter(|&buffer| writes_to(func, statement, buffer).is_some())
        .collect();
    sources.sort_unstable();
    sources.dedup();
    match sources[..] {
        [source] => Ok((source, loads.into_iter().filter(|&op| func.operand(op, 0) == source).collect())),
        _ => {
            let names: Vec<String> = sources.iter().map(|&source| format!("`{}`", cx.show(source))).collect();
            let text = "the nest must read one buffer that the loop computes";
            let note =
                if names.is_empty() { "it reads none".to_string() } else { format!("it reads {}", names.join(", ")) };
            Err(cx.error("compute-at", text).label(cx.place(consumer.root), "this nest").note(note).into())
        }
    }
}

/// The alloc of the source, which nothing uses outside of the loop and the consumer.
fn made_for(cx: &Cx<'_>, source: Value, consumer: &Producer, at: Op) -> Done<Op> {
    let func = cx.func();
    let name = cx.show(source);
    let Some(alloc) = func.def_op(source).filter(|&op| func.opcode(op) == tir::ALLOC) else {
        let text = format!("`{name}` is no buffer that the program makes");
        let help = format!("`cache_write({name}, …)` makes one");
        return Err(cx.error("not-computed", text).help(help).into());
    };
    plain_buffer(cx, source, alloc)?;
    let whole = |op: Op| {
        let text = format!("`{name}` is used as a whole");
        cx.error("compute-at", text).label(cx.place(op), "here")
    };
    let (loads, stores) = accesses(func, source).map_err(whole)?;
    let is_elsewhere = |&&op: &&Op| !is_inside(func, op, at) && !is_inside(func, op, consumer.root);
    if let Some(&other) = loads.iter().chain(&stores).find(is_elsewhere) {
        let text = format!("`{name}` is used outside of the loop `{}` too", cx.loop_name(at));
        return Err(cx.error("read-elsewhere", text).label(cx.place(other), "here").into());
    }
    Ok(alloc)
}
