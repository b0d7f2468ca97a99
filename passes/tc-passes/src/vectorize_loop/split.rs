//! Loops out of loops: those that stay scalar, and those with more iterations than lanes.

use crate::analysis::launch::loop_var;
use tc_dialects::algebra::const_extent;
use tc_dialects::{arith, tir};
use tc_ir::clone::{ValueMap, clone_ops};
use tc_ir::walk::ops_under;
use tc_ir::{Attr, Builder, Elem, Func, Name, Op, Rewriter, keys};

/// Loops up to this extent are unrolled.
const SHORT: i64 = 16;

/// The attributes of a loop of this extent that runs in order, over `body`.
pub(super) fn kind(func: &mut Func, extent: i64, body: &[Op]) -> Vec<(Name, Attr)> {
    let is_loop = |op: Op| func.opcode(op) == tir::FOR;
    let holds_loop = body
        .iter()
        .any(|&op| is_loop(op) || func.op_regions(op).iter().any(|&region| ops_under(func, region).any(is_loop)));
    if extent > SHORT || holds_loop {
        return Vec::new();
    }
    vec![(keys::KIND, func.word_attr("unroll"))]
}

/// Lets the loop `op` run in order.
pub(super) fn make_serial(func: &mut Func, op: Op) {
    let body: Vec<Op> = func.ops(func.op_regions(op)[0]).collect();
    let extent = const_extent(func, op).unwrap_or(i64::MAX);
    let kind = kind(func, extent, &body);
    let attrs = func.op_attrs(op);
    let mut attrs = func.without_entry(attrs, keys::KIND);
    for (key, value) in kind {
        attrs = func.with_entry(attrs, key, value);
    }
    Rewriter::new(func).set_attrs(op, attrs);
}

/// Splits the loop `op` where it has more iterations than `lanes`; gives the one of as many as there are lanes.
pub(super) fn by_lanes(func: &mut Func, op: Op, lanes: i64) -> Op {
    let extent = const_extent(func, op).unwrap_or(0);
    if lanes < 2 || extent <= lanes {
        return op;
    }
    let body = func.op_regions(op)[0];
    let ops: Vec<Op> = func.ops(body).collect();
    let outer_kind = kind(func, extent / lanes, &ops);
    let (lo, var) = (func.operand(op, 0), loop_var(func, op));
    let elem = func.value_scalar(var).map_or(Elem::Index, |scalar| scalar.elem);
    let (ty, name) = (func.value_type(var), func.value_text(var).to_string());
    let mut b = Builder::before(func, op);
    let (zero, end) = (b.int(0, elem), b.int(extent / lanes, elem));
    let outer = tir::For::build(&mut b, zero, end, &[], &outer_kind, &[]);
    let region = b.func.op_regions(outer)[0];
    let outer_var = b.arg(region, ty, Some(&format!("{name}_outer")));
    let inner = b.within(region, |b| {
        let width = b.int(lanes, elem);
        let base = b.value(arith::MUL, &[outer_var, width], &[]);
        let base = if b.func.const_int(lo) == Some(0) { base } else { b.value(arith::ADD, &[lo, base], &[]) };
        let (zero, end) = (b.int(0, elem), b.int(lanes, elem));
        let vectorize = b.func.word_attr("vectorize");
        let inner = tir::For::build(b, zero, end, &[], &[(keys::KIND, vectorize)], &[]);
        let region = b.func.op_regions(inner)[0];
        let lane = b.arg(region, ty, Some(&name));
        b.within(region, |b| {
            let value = b.value(arith::ADD, &[base, lane], &[]);
            let mut map = ValueMap::default();
            map.insert(var, value);
            clone_ops(b, body, &mut map);
        });
        inner
    });
    Rewriter::new(func).erase(op);
    inner
}
