//! Makes one loop of several that stand directly in one another, the outer one first.
//!
//! `LOOP = fuse(LOOP, LOOP, …)`; `fuse(BUFFER)` takes the loops over the dimensions of a buffer.
//!
//! # Legality
//!
//! - The loops are a perfect nest, all of it and in its order; conditions between them move inside.
//! - No bounds follow the variable of another one, and the variables have one type, which holds all iterations (`split`).

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::nest::{Chain, body, var};
use super::super::stage::Producer;
use super::Primitive;
use super::split::{build_loop, fits_loop};
use tc_dialects::algebra::const_extent;
use tc_dialects::{arith, sched};
use tc_ir::{Builder, Op, Rewriter, Value};

/// The largest number of iterations of a fused loop: index expressions over its variable stay far from the ends of `i64`.
const MAX_ITERATIONS: i64 = 1 << 52;

impl Primitive for sched::Fuse {
    type Legal = Vec<Op>;

    fn legality(cx: &Cx<'_>) -> Done<Vec<Op>> {
        let operands = cx.sched.operands(cx.at);
        let loops = match operands {
            &[buffer] if cx.is_buffer(buffer) => {
                let buffer = cx.buffer(buffer)?;
                let producer = Producer::of(cx.func(), buffer).map_err(|why| cx.no_producer(buffer, why))?;
                producer.loops().to_vec()
            }
            _ => operands.iter().map(|&value| cx.plain_loop(value)).collect::<Done<Vec<Op>>>()?,
        };
        if let &[only] = &loops[..] {
            cx.check_plain(only)?;
            return Ok(loops);
        }
        let [outer, .., inner] = loops[..] else {
            return Err(cx.mistyped("`fuse` takes two loops or more, the outer one first").into());
        };
        let chain = Chain::between(cx.func(), outer, inner).map_err(|why| cx.imperfect(outer, inner, why))?;
        if chain.loops != loops {
            let names: Vec<String> = chain.loops.iter().map(|&op| format!("`{}`", cx.loop_name(op))).collect();
            let text = "`fuse` takes all loops from the outer to the inner one, in this order";
            return Err(cx.error("not-nested", text).note(format!("they are {}", names.join(", "))).into());
        }
        let func = cx.func();
        if let Some(&other) =
            loops.iter().find(|&&op| func.value_type(var(func, op)) != func.value_type(var(func, outer)))
        {
            let text =
                format!("the variables of `{}` and `{}` have two types", cx.loop_name(outer), cx.loop_name(other));
            return Err(cx.mistyped(text).into());
        }
        let fits = |op: &Op| fits_loop(func, *op, const_extent(func, *op).unwrap_or(0));
        if let Some(&op) = loops.iter().find(|op| !fits(op)) {
            return Err(cx.narrow_loop(op).into());
        }
        let extents: Vec<Option<i64>> = loops.iter().map(|&op| const_extent(cx.func(), op)).collect();
        let all = extents.iter().try_fold(1i64, |product, extent| product.checked_mul(extent.unwrap_or(1)));
        if all.is_none_or(|all| all > MAX_ITERATIONS) {
            return Err(cx.wrong_number("the loops have too many iterations together").into());
        }
        if all.is_some_and(|all| !fits_loop(func, outer, all)) {
            return Err(cx.narrow_loop(outer).into());
        }
        Ok(loops)
    }

    fn edit(cx: &mut Cx<'_>, loops: Vec<Op>) -> Vec<Item> {
        if loops.len() == 1 {
            return vec![Item::Loop(loops[0])];
        }
        let mut at = loops[0];
        for &inner in &loops[1..] {
            at = fuse_two(cx, at, inner);
        }
        loops.iter().for_each(|&op| cx.consume(op, vec![at]));
        vec![Item::Loop(at)]
    }
}

fn fuse_two(cx: &mut Cx<'_>, outer: Op, inner: Op) -> Op {
    let name = cx.result_name(0).unwrap_or_else(|| format!("{}_{}_fused", cx.loop_name(outer), cx.loop_name(inner)));
    let locs = cx.locs_like(outer);
    Chain { loops: vec![outer, inner] }.tidy(&mut Rewriter::new(&mut cx.program.func));
    let func = &mut cx.program.func;
    let (outer_var, inner_var) = (var(func, outer), var(func, inner));
    let ty = func.value_type(outer_var);
    let elem = func.value_scalar(outer_var).map_or(tc_ir::Elem::Index, |scalar| scalar.elem);
    let bounds = |func: &tc_ir::Func, op: Op| (func.operand(op, 0), func.operand(op, 1), const_extent(func, op));
    let (outer_bounds, inner_bounds) = (bounds(func, outer), bounds(func, inner));
    let mut b = Builder::before(func, outer);
    b.locs = locs;
    let extent = |b: &mut Builder<'_>, (lo, hi, extent): (Value, Value, Option<i64>)| match extent {
        Some(extent) => b.int(extent, elem),
        // Two loops that do not run are none; two negative extents would be many iterations.
        None => {
            let extent = if b.func.const_int(lo) == Some(0) { hi } else { b.value(arith::SUB, &[hi, lo], &[]) };
            let zero = b.int(0, elem);
            b.value(arith::MAX, &[extent, zero], &[])
        }
    };
    let n_outer = extent(&mut b, outer_bounds);
    let n_inner = extent(&mut b, inner_bounds);
    let all = match (outer_bounds.2, inner_bounds.2) {
        (Some(outer), Some(inner)) => b.int(outer.saturating_mul(inner), elem),
        _ => b.value(arith::MUL, &[n_outer, n_inner], &[]),
    };
    let zero = b.int(0, elem);
    let (fused, number) = build_loop(&mut b, (zero, all), ty, &name);
    let region = b.func.op_regions(fused)[0];
    let (outer_value, inner_value) = b.within(region, |b| {
        let from = |b: &mut Builder<'_>, value: Value, lo: Value| {
            if b.func.const_int(lo) == Some(0) { value } else { b.value(arith::ADD, &[value, lo], &[]) }
        };
        let quotient = b.value(arith::DIV, &[number, n_inner], &[]);
        let rest = b.value(arith::MOD, &[number, n_inner], &[]);
        (from(b, quotient, outer_bounds.0), from(b, rest, inner_bounds.0))
    });
    let mut rw = Rewriter::new(&mut cx.program.func);
    rw.replace_value(outer_var, outer_value);
    rw.replace_value(inner_var, inner_value);
    let ops: Vec<Op> = rw.func().ops(body(rw.func(), inner)).collect();
    ops.into_iter().for_each(|op| rw.move_to_end(op, region));
    rw.erase(outer);
    fused
}
