//! Divides the loops over elements among the threads of a warp.

use super::lanes;
use super::layout::LANES_OF_GROUP;
use super::nests::{Nests, Role};
use crate::analysis::access::is_private;
use crate::analysis::invariant::arguments;
use crate::analysis::launch::loop_var;
use indexmap::IndexMap;
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, build_index, const_extent};
use tc_dialects::arith;
use tc_dialects::tir;
use tc_ir::effects::root_buffer;
use tc_ir::opdef::Role::Constant;
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{Builder, Elem, Func, Op, Region, Rewriter, Value, keys};

/// Where a lane is in a loop that was divided: in which piece, and at which of its neighbours there.
pub(super) struct LanePosition {
    /// Where the piece starts, in the numbers of the loop's variable.
    pub(super) start: Expr,
    /// The neighbour; `None` where a lane holds one.
    pub(super) neighbour: Option<Value>,
}

/// Divides all loops; gives what became of each.
pub(super) fn spread(func: &mut Func, nests: &mut Nests) -> IndexMap<Op, LanePosition> {
    let roots = nests.roots(func);
    let mut pieces = IndexMap::new();
    for root in roots {
        let root = turn(func, nests, root);
        let family = nests.roles[&root].family();
        let lane = lanes::enter(func, root, family);
        nests.algebra.declare(func, lane);
        nests.algebra.analyzer.bind_range(Algebra::var(lane), Some(0), Some(family.threads() - 1));
        store_once(func, nests, root, lane);
        let mut loops = vec![root];
        loops.extend(ops_under(func, func.op_regions(root)[0]));
        loops.retain(|op| nests.roles.contains_key(op));
        // From the outside in: the loops that are made hold those that are still to be divided.
        for loop_op in loops {
            let piece = divide(func, nests, loop_op, lane);
            pieces.insert(loop_op, piece);
        }
    }
    pieces
}

/// Lets one of the threads that would all do it write what others see of a row or a column: those of a row's group, or those
/// that have parts of one column.
fn store_once(func: &mut Func, nests: &Nests, root: Op, lane: Value) {
    let is_seen = |func: &Func, op: Op| !is_private(func, root_buffer(func, func.operand(op, 0)));
    let stores = ops_under(func, func.op_regions(root)[0])
        .filter(|&op| matches!(func.opcode(op), tir::STORE | tir::ATOMIC_RMW) && is_seen(func, op));
    for op in stores.collect::<Vec<Op>>() {
        let around = || ancestors(func, op).filter_map(|outer| nests.roles.get(&outer));
        let (over_rows, over_columns) = (around().any(|role| role.is_group), around().any(|role| !role.is_group));
        if over_rows && over_columns {
            continue;
        }
        let mut b = Builder::before(func, op);
        let four = b.index(LANES_OF_GROUP);
        let opcode = if over_rows { arith::MOD } else { arith::DIV };
        let (number, zero) = (b.value(opcode, &[lane, four], &[]), b.index(0));
        let equal = b.func.word_attr("eq");
        let is_first = b.value(arith::CMP, &[number, zero], &[(keys::PREDICATE, equal)]);
        let branch = tir::If::build(&mut b, is_first, &[], &[]);
        let region = func.op_regions(branch)[0];
        Rewriter::new(func).move_to_end(op, region);
    }
}

/// Lets the loop whose neighbours a lane holds be the inner one, where the nest is perfect: they are done as one vector
/// then. Gives the outermost loop.
fn turn(func: &mut Func, nests: &Nests, root: Op) -> Op {
    let body = func.op_regions(root)[0];
    let is_literal = |op: Op| func.role(op) == Constant;
    let statements = func.ops(body).filter(|&op| !func.row(op).terminator && !is_literal(op));
    let is_inner = |role: &Role| role.is_group;
    let [inner] = statements.collect::<Vec<Op>>()[..] else { return root };
    let turns = nests.roles.get(&root).is_some_and(|role| !role.is_group)
        && nests.roles.get(&inner).is_some_and(is_inner)
        && func.n_results(inner) == 0;
    if !turns {
        return root;
    }
    let inner_body = func.op_regions(inner)[0];
    let statements: Vec<Op> = func.ops(inner_body).filter(|&op| !func.row(op).terminator).collect();
    let literals: Vec<Op> = func.ops(body).filter(|&op| is_literal(op)).collect();
    let mut rw = Rewriter::new(func);
    for op in literals.into_iter().chain([inner]) {
        rw.move_before(op, root);
    }
    for op in statements {
        match rw.func().terminator(body) {
            Some(end) => rw.move_before(op, end),
            None => rw.move_to_end(op, body),
        }
    }
    match rw.func().terminator(inner_body) {
        Some(end) => rw.move_before(root, end),
        None => rw.move_to_end(root, inner_body),
    }
    inner
}

/// Puts loops over pieces and neighbours in the place of the loop `loop_op`.
fn divide(func: &mut Func, nests: &mut Nests, loop_op: Op, lane: Value) -> LanePosition {
    let role = nests.roles[&loop_op];
    let var = loop_var(func, loop_op);
    let elem = func.value_scalar(var).map_or(Elem::Index, |scalar| scalar.elem);
    let name = func.value_text(var).to_string();
    let extent = const_extent(func, loop_op).unwrap_or(0);
    let vectorized = !role.is_group && role.width() > 1 && neighbours_elsewhere(func, nests, loop_op);
    let lo = nests.algebra.expr(func, func.operand(loop_op, 0));
    let mut b = Builder::before(func, loop_op);
    let (mut region, n_pieces) = (None, extent / role.covered());
    let mut start = lo;
    if n_pieces != 1 {
        let number = counted(&mut b, &mut region, n_pieces, "unroll", &format!("{name}_piece"));
        nests.algebra.declare(b.func, number);
        nests.algebra.analyzer.bind_range(Algebra::var(number), Some(0), Some((n_pieces - 1).max(0)));
        let pool = &mut nests.algebra.analyzer.pool;
        let number = pool.var(Algebra::var(number));
        let steps = if role.is_of_warps() {
            // Two pieces of eight rows, and then the 16 rows of the next warp.
            let [two, eight, tile] = [2, 8, 2 * role.covered()].map(|n| pool.int(n));
            let (of_tile, of_warp) = (pool.floor_div(number, two), pool.floor_mod(number, two));
            let (of_tile, of_warp) = (pool.mul(of_tile, tile), pool.mul(of_warp, eight));
            pool.add(of_tile, of_warp)
        } else {
            let step = pool.int(role.covered());
            pool.mul(number, step)
        };
        start = pool.add(lo, steps);
    }
    let mut neighbour = None;
    if !role.is_group && role.width() > 1 {
        let kind = if vectorized { "vectorize" } else { "unroll" };
        let number = counted(&mut b, &mut region, role.width(), kind, &format!("{name}_next"));
        nests.algebra.declare(b.func, number);
        nests.algebra.analyzer.bind_range(Algebra::var(number), Some(0), Some(role.width() - 1));
        neighbour = Some(number);
    }
    let pool = &mut nests.algebra.analyzer.pool;
    let (lane, four, width) = (pool.var(Algebra::var(lane)), pool.int(4), pool.int(role.width()));
    let of_lane = if role.is_of_warps() {
        let [warp, rows] = [32, 16].map(|n| pool.int(n));
        let (number, of_warp) = (pool.floor_div(lane, warp), pool.floor_mod(lane, warp));
        let (number, group) = (pool.mul(number, rows), pool.floor_div(of_warp, four));
        pool.add(number, group)
    } else if role.is_group {
        pool.floor_div(lane, four)
    } else {
        let member = pool.floor_mod(lane, four);
        pool.mul(member, width)
    };
    let mut value = pool.add(start, of_lane);
    if let Some(neighbour) = neighbour {
        let neighbour = pool.var(Algebra::var(neighbour));
        value = pool.add(value, neighbour);
    }
    if let Some(rows) = role.rows() {
        value = rows.mixed_expr(&mut nests.algebra, value);
    }
    let value = nests.algebra.analyzer.simplify(value);
    let body = b.func.op_regions(loop_op)[0];
    let algebra = &nests.algebra;
    let new = match region {
        Some(region) => b.within(region, |b| build_as(b, algebra, value, elem)),
        None => build_as(&mut b, algebra, value, elem),
    };
    let name = b.func.name(&name);
    b.func.set_value_name(new, Some(name));
    let ops: Vec<Op> = func.ops(body).filter(|&op| !func.row(op).terminator).collect();
    let mut rw = Rewriter::new(func);
    rw.replace_value(var, new);
    for op in ops {
        match region {
            Some(region) => rw.move_to_end(op, region),
            None => rw.move_before(op, loop_op),
        }
    }
    rw.erase(loop_op);
    LanePosition { start, neighbour }
}

/// A loop from 0 to `extent`, made where `b` or, once there is one, the innermost of the loops made before stands; gives its
/// variable.
fn counted(b: &mut Builder<'_>, region: &mut Option<Region>, extent: i64, kind: &str, name: &str) -> Value {
    let kind = b.func.word_attr(kind);
    let make = |b: &mut Builder<'_>| {
        let (zero, end) = (b.index(0), b.index(extent));
        let loop_op = tir::For::build(b, zero, end, &[], &[(keys::KIND, kind)], &[]);
        b.func.op_regions(loop_op)[0]
    };
    let new = match *region {
        Some(outer) => b.within(outer, make),
        None => make(b),
    };
    *region = Some(new);
    let ty = b.func.index_ty();
    b.arg(new, ty, Some(name))
}

/// Do neighbours of the loop lie side by side in memory that is accessed in it, under conditions that are the same for
/// both? Then one access can take all that a lane holds.
fn neighbours_elsewhere(func: &Func, nests: &mut Nests, loop_op: Op) -> bool {
    let body = func.op_regions(loop_op)[0];
    let var = loop_var(func, loop_op);
    let inside: Vec<Op> = ops_under(func, body).collect();
    // Only an innermost loop is one of lanes of vectors.
    if inside.iter().any(|&op| func.opcode(op) == tir::FOR) {
        return false;
    }
    let depends = |value: Value| arguments(func, value).contains(&var);
    let branches = inside.iter().any(|&op| func.opcode(op) == tir::IF && depends(func.operand(op, 0)));
    let around = ancestors(func, loop_op).any(|outer| func.word_of(outer, keys::KIND) == Some("vectorize"));
    if branches || around {
        return false;
    }
    let own: Vec<Op> = nests.accesses.iter().map(|access| access.op).collect();
    inside.iter().any(|&op| {
        let operands = func.operands(op);
        let last = match func.opcode(op) {
            tir::LOAD => operands.last(),
            tir::STORE => operands[..operands.len() - 1].last(),
            _ => None,
        };
        let Some(&last) = last.filter(|_| operands.len() > 1 && !own.contains(&op)) else { return false };
        let expr = nests.algebra.expr(func, last);
        let form = nests.algebra.analyzer.linear(expr, &[Algebra::var(var)]);
        form.is_some_and(|form| nests.algebra.analyzer.pool.as_const(form.coeffs[0]) == Some(1))
    })
}

/// Makes the ops of `expr`, which the type `elem` of the loop that it stands for holds.
fn build_as(b: &mut Builder<'_>, algebra: &Algebra, expr: Expr, elem: Elem) -> Value {
    let value = build_index(b, algebra, expr);
    if elem == Elem::Index {
        return value;
    }
    let ty = b.func.elem_ty(elem);
    let op = arith::Cast::build(b, value, &[], &[ty]);
    b.func.result(op).expect("a cast has one result")
}
