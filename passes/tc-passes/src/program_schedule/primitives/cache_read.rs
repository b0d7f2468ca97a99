//! Reads a buffer through a copy in another storage scope: `COPY = cache_read(BUFFER, scope, [WRITTEN, …])`.
//!
//! The copy is made before the first statement that reads it, by loops `ax0, ax1, …`; `compute_at` moves it. The list names
//! buffers: the loads in the statements that compute these read the copy; without a list, all loads.
//!
//! # Legality
//!
//! - Between the first and the last of these statements nothing writes the buffer.
//! - The buffer is a parameter, or is proved to be stored to as a whole before; of one that a single nest stores to, the
//!   copy takes what the nest runs over.
//! - It is only loaded from and stored to.

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::dependences::Serial;
use super::super::nest::outermost;
use super::super::stage::{Producer, accesses, home, may_alias, statement_in};
use super::Primitive;
use super::compute_at::extents;
use super::split::build_loop;
use tc_dialects::algebra::{Algebra, build_index, const_extent};
use tc_dialects::scope::Scope;
use tc_dialects::{sched, tir};
use tc_ir::walk::{all_ops, ops_under};
use tc_ir::{Attr, Builder, Func, Op, Rewriter, TypeData, Value, effects};

/// What helps where parameters may be one array.
pub(super) const NOALIAS: &str = "if no caller passes one array for two parameters, say `attributes {noalias}`";

/// A buffer, the loads that read the copy, and the statement before which it is made.
pub(super) struct Copied {
    buffer: Value,
    scope: Scope,
    loads: Vec<Op>,
    before: Op,
    /// Where the loops of what computes it bound the part that has values.
    ranges: Option<Vec<Op>>,
}

impl Primitive for sched::CacheRead {
    type Legal = Copied;

    fn legality(cx: &Cx<'_>) -> Done<Copied> {
        let buffer = cx.buffer(cx.operand(0))?;
        let scope = cx.scope()?;
        let (func, name) = (cx.func(), cx.show(buffer));
        let whole = |op: Op| {
            let text = format!("`{name}` is used as a whole, so no copy can be read for it");
            cx.error("no-reader", text).label(cx.place(op), "here")
        };
        let (mut loads, _) = accesses(func, buffer).map_err(whole)?;
        let readers = cx.sched.param_operands(cx.at, 2);
        let readers = readers.iter().map(|&reader| cx.buffer(reader)).collect::<Done<Vec<Value>>>()?;
        if !readers.is_empty() {
            let stores = all_ops(func).filter(|&op| func.opcode(op) == tir::STORE);
            let stores = stores.filter(|&op| readers.contains(&func.operand(op, 0)));
            let statements: Vec<Op> = stores.map(|store| outermost(func, store)).collect();
            loads.retain(|&load| statements.contains(&outermost(func, load)));
        }
        let region = home(func, buffer);
        let statements: Vec<Op> = loads.iter().filter_map(|&load| statement_in(func, region, load)).collect();
        let (Some(&first), Some(&last)) = (statements.first(), statements.last()) else {
            let text = format!("no statement that stores to these buffers reads `{name}`");
            return Err(cx.error("no-reader", text).help("leave out the list, and all loads read the copy").into());
        };
        let between = std::iter::successors(Some(first), |&op| func.next_op(op).filter(|_| op != last));
        for statement in between {
            if let Some(op) = writes_to(func, statement, buffer) {
                let text = format!("`{name}` changes while it is read, so a copy made before is not what is read");
                let error = cx.error("dependence", text).label(cx.place(op), "this may write it");
                let itself =
                    effects::accesses(func, op).iter().any(|&(place, _)| effects::root_buffer(func, place) == buffer);
                let help = if itself {
                    "name those readers that read it before: `cache_read(X, scope, [Y])`"
                } else {
                    NOALIAS
                };
                return Err(error.help(help).into());
            }
        }
        let ranges = written(cx, buffer, first)?;
        Ok(Copied { buffer, scope, loads, before: first, ranges })
    }

    fn edit(cx: &mut Cx<'_>, Copied { buffer, scope, loads, before, ranges }: Copied) -> Vec<Item> {
        let name =
            cx.result_name(0).unwrap_or_else(|| format!("{}_{}", cx.show(buffer), scope.name().replace('.', "_")));
        let copy = make_like(cx, buffer, scope, before, &name);
        let locs = cx.locs_like(before);
        let func = &mut cx.program.func;
        let shape: Vec<Attr> =
            func.as_shaped(func.value_type(buffer)).map_or(Vec::new(), |(_, shape, _)| shape.to_vec());
        let mut b = Builder::before(func, before);
        b.locs = locs;
        let number = |b: &mut Builder<'_>, value: Value| b.func.const_int(value).map(|number| b.index(number));
        let ranges: Vec<(Option<Value>, Value)> = match ranges {
            Some(loops) => {
                let bounds = loops.iter().map(|&op| (b.func.operand(op, 0), b.func.operand(op, 1))).collect::<Vec<_>>();
                bounds.into_iter().map(|(lo, hi)| (number(&mut b, lo), number(&mut b, hi).unwrap_or(hi))).collect()
            }
            None => shape.iter().map(|&extent| (None, extent_of(&mut b, extent))).collect(),
        };
        let names: Vec<String> = (0..shape.len()).map(|nth| format!("ax{nth}")).collect();
        copy_nest(&mut b, (copy, buffer), &ranges, &names);
        let mut rw = Rewriter::new(func);
        loads.iter().for_each(|&load| rw.set_operand(load, 0, copy));
        vec![Item::Buffer(copy)]
    }
}

/// The part of a buffer that has values before `first`: all of it, or what these loops run over. Of what a caller hands over
/// all has values.
fn written(cx: &Cx<'_>, buffer: Value, first: Op) -> Done<Option<Vec<Op>>> {
    let func = cx.func();
    let Some(alloc) = func.def_op(buffer) else { return Ok(None) };
    let cells = extents(func, buffer).into_iter().try_fold(1i64, |product, extent| product.checked_mul(extent?));
    let before = std::iter::successors(func.next_op(alloc), |&op| func.next_op(op)).take_while(|&op| op != first);
    for statement in before {
        let inner = func.op_regions(statement).iter().flat_map(|&region| ops_under(func, region));
        let is_store = |&op: &Op| func.opcode(op) == tir::STORE && func.operand(op, 0) == buffer;
        for store in std::iter::once(statement).chain(inner).filter(is_store) {
            if cells.is_some_and(|cells| Serial::around(func, store).fills(store, statement, cells)) {
                return Ok(None);
            }
        }
    }
    if let Ok(producer) = Producer::of(func, buffer)
        && producer.starts_with_store(func, buffer)
    {
        if producer.by_dim.iter().all(|&op| const_extent(func, op).is_some()) {
            return Ok(Some(producer.by_dim));
        }
        if covers(func, buffer, &producer.by_dim) {
            return Ok(None);
        }
    }
    let text = format!("which elements of `{}` have values before it is read is not known", cx.show(buffer));
    let error = cx.error("not-computed", text).label(cx.place(alloc), "it is made here");
    Err(error.help("let one nest of loops store to each of its elements first").into())
}

/// Do the loops, one for each dimension, run over all of the buffer?
fn covers(func: &Func, buffer: Value, loops: &[Op]) -> bool {
    let mut algebra = Algebra::of_func(func);
    let shape = func.as_shaped(func.value_type(buffer)).map_or(&[][..], |(_, shape, _)| shape);
    loops.iter().zip(shape).all(|(&op, &extent)| {
        let end = algebra.expr(func, func.operand(op, 1));
        let Some(extent) = algebra.attr(func, extent) else { return false };
        let rest = algebra.analyzer.pool.sub(extent, end);
        let rest = algebra.analyzer.simplify(rest);
        func.const_int(func.operand(op, 0)) == Some(0) && algebra.analyzer.pool.as_const(rest) == Some(0)
    })
}

/// An op in `statement` that may write `buffer`.
pub(super) fn writes_to(func: &Func, statement: Op, buffer: Value) -> Option<Op> {
    let inner = func.op_regions(statement).iter().flat_map(|&region| ops_under(func, region));
    std::iter::once(statement).chain(inner).find(|&op| {
        effects::own(func, op).unknown
            || effects::accesses(func, op)
                .iter()
                .any(|&(place, access)| access.writes() && may_alias(func, effects::root_buffer(func, place), buffer))
    })
}

/// A buffer like another one in `scope`, made before `before`.
pub(super) fn make_like(cx: &mut Cx<'_>, like: Value, scope: Scope, before: Op, name: &str) -> Value {
    let locs = cx.locs_like(before);
    let func = &mut cx.program.func;
    let (elem, shape) = func
        .as_shaped(func.value_type(like))
        .map_or((func.value_type(like), Vec::new()), |(elem, shape, _)| (elem, shape.to_vec()));
    let scope = Some(scope.name_in(func));
    let ty = func.ty(TypeData::Shaped { elem, shape: shape.into(), scope });
    let mut b = Builder::before(func, before);
    b.locs = locs;
    let op = tir::Alloc::build(&mut b, &[], &[ty]);
    let value = b.func.result(op).expect("an alloc has one result");
    b.name(value, name)
}

/// An extent of a buffer as a value.
fn extent_of(b: &mut Builder<'_>, extent: Attr) -> Value {
    if let Some(extent) = b.func.as_int(extent) {
        return b.index(extent);
    }
    let mut algebra = Algebra::of_func(b.func);
    let expr = algebra.attr(b.func, extent).expect("an extent is an expression over sizes");
    build_index(b, &algebra, expr)
}

/// Loops that copy from one buffer to another, an element an iteration; a start that is missing is zero.
pub(super) fn copy_nest(
    b: &mut Builder<'_>,
    (to, from): (Value, Value),
    ranges: &[(Option<Value>, Value)],
    names: &[String],
) {
    nest(b, (to, from), ranges, names, &mut Vec::new());
}

fn nest(
    b: &mut Builder<'_>,
    (to, from): (Value, Value),
    ranges: &[(Option<Value>, Value)],
    names: &[String],
    vars: &mut Vec<Value>,
) {
    let nth = vars.len();
    let Some(&(lo, hi)) = ranges.get(nth) else {
        let load: Vec<Value> = std::iter::once(from).chain(vars.iter().copied()).collect();
        let value = b.value(tir::LOAD, &load, &[]);
        tir::Store::build(b, to, vars, value, &[], &[]);
        return;
    };
    let (ty, zero) = (b.func.value_type(hi), b.func.value_scalar(hi).map_or(tc_ir::Elem::Index, |scalar| scalar.elem));
    let lo = lo.unwrap_or_else(|| b.int(0, zero));
    let (op, var) = build_loop(b, (lo, hi), ty, &names[nth]);
    vars.push(var);
    let region = b.func.op_regions(op)[0];
    b.within(region, |b| nest(b, (to, from), ranges, names, vars));
}
