//! Rings of a cluster: blocks that bring a box for all of them, a part each.

use super::find::{error, labelled};
use crate::analysis::invariant::arguments;
use crate::analysis::launch::{Nest, loop_var, no_whole_clusters};
use crate::analysis::region::{build_region, int_list};
use rustc_hash::FxHashMap;
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::{arith, tir, tma};
use tc_ir::{Builder, Func, Op, Value, keys};
use tc_support::Diagnostic;

/// The blocks that share copies.
pub(super) struct Cluster {
    /// How many.
    pub(super) n: i64,
    /// The number of a block, along `blockIdx.x`.
    var: Value,
    /// Of each load, how it is divided among them, if it is the same for all.
    parts: Vec<Option<Part>>,
}

/// The part of a box that one block brings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Part {
    dim: usize,
    /// Its elements in that dimension, which is the first of more than one.
    side: i64,
}

/// The cluster of `nest`, if it has one, whose producers make `loads` inside of the loops and conditions `around`.
pub(super) fn find(
    func: &Func,
    nest: &Nest,
    (loads, around): (&[Op], &[Op]),
    by_products: bool,
) -> Result<Option<Cluster>, Box<Diagnostic>> {
    let Some((loop_op, n)) = nest.cluster(func).filter(|&(_, n)| n > 1) else { return Ok(None) };
    let refuse = |at: Op, text: &str, help: &str| {
        let mut found = error(func, at, text.to_string(), help);
        found.code = "cluster";
        labelled(func, *found, loop_op, "the blocks of the cluster")
    };
    // `verify-gpu-limits` says so of every cluster, but later.
    if let Some(blocks) = const_extent(func, loop_op).filter(|blocks| blocks % n != 0) {
        let (text, help) = no_whole_clusters(blocks, n);
        return Err(refuse(loop_op, &text, help));
    }
    if !by_products {
        let text = "another block of the cluster would not know when threads have read this copy";
        return Err(refuse(
            loads[0],
            text,
            "leave out `cluster`: it is for boxes that products of warpgroups alone read",
        ));
    }
    let mut alike = Alike { algebra: Algebra::of_func(func), var: loop_var(func, loop_op), n };
    for &op in around {
        let n_bounds = if func.opcode(op) == tir::FOR { 2 } else { 1 };
        if !func.operands(op)[..n_bounds].iter().all(|&value| alike.holds(func, op, value)) {
            let text = "blocks of a cluster do not bring equally many boxes: this differs between them";
            let help = "let it depend on the number of the cluster, `blockIdx.x` divided by its blocks, alone";
            return Err(refuse(op, text, help));
        }
    }
    let parts: Vec<Option<Part>> = loads.iter().map(|&load| alike.part(func, load)).collect();
    if parts.iter().all(Option::is_none) {
        let text = "the blocks of the cluster share no copy that they could bring by parts";
        let help = "let blocks that follow each other along blockIdx.x read the same box, or leave out `cluster`";
        return Err(refuse(loads[0], text, help));
    }
    Ok(Some(Cluster { n, var: alike.var, parts }))
}

/// What is the same for all blocks of a cluster.
struct Alike {
    algebra: Algebra,
    var: Value,
    n: i64,
}

impl Alike {
    /// Is `value` the same in all blocks that follow each other from a multiple of `n` on, where `at` stands?
    fn holds(&mut self, func: &Func, at: Op, value: Value) -> bool {
        let expr = self.algebra.expr(func, value);
        let block = Algebra::var(self.var);
        // What is read at the same place is the same.
        let hidden = self.algebra.analyzer.pool.vars(expr);
        let hidden = hidden.into_iter().filter_map(|var| func.def_op(Algebra::value(var)));
        let is_read = |&op: &Op| func.operands(op).iter().any(|&input| arguments(func, input).contains(&self.var));
        let places: Vec<Value> = hidden.filter(is_read).flat_map(|op| func.operands(op).to_vec()).collect();
        if !places.into_iter().all(|place| self.holds(func, at, place)) {
            return false;
        }
        if !self.algebra.analyzer.pool.uses(expr, block) {
            return true;
        }
        let mut algebra = Algebra::of_func(func);
        algebra.enter_place(func, at);
        let expr = algebra.expr(func, value);
        let mut of_rank = |rank: i64| -> Expr {
            let pool = &mut algebra.analyzer.pool;
            let [var, n, rank] = [pool.var(block), pool.int(self.n), pool.int(rank)];
            let cluster = pool.floor_div(var, n);
            let first = pool.mul(cluster, n);
            let number = pool.add(first, rank);
            pool.subst(expr, &[(block, number)])
        };
        let numbers: Vec<Expr> = (0..self.n).map(&mut of_rank).collect();
        numbers[1..].iter().all(|&number| algebra.analyzer.can_prove_equal(numbers[0], number))
    }

    /// How the box of `load` is divided; `None` where it is not the same for all, or no part begins where a box may.
    fn part(&mut self, func: &Func, load: Op) -> Option<Part> {
        let [to, from] = [func.operand(load, 0), func.operand(load, 1)].map(|place| func.def_op(place));
        let (to, from) = (to?, from?);
        if func.opcode(to) != tir::REGION || func.operands(to).len() != 2 || func.opcode(from) != tir::REGION {
            return None;
        }
        let map = tma::map_of(func, func.operand(load, 1))?;
        let extents = tma::box_extents(func, map)?;
        let starts = func.operands(from)[1..].to_vec();
        if !starts.iter().all(|&start| self.holds(func, load, start)) {
            return None;
        }
        let dim = extents.iter().position(|&extent| extent > 1).filter(|&dim| dim + 1 < extents.len())?;
        let side = extents[dim] / self.n;
        let bytes = tma::load_bytes(func, load)? / self.n;
        let grain = tma::align_of_box(tma::swizzle_bytes(func, map).unwrap_or(0));
        (extents[dim] % self.n == 0 && bytes % grain == 0).then_some(Part { dim, side })
    }
}

/// The maps of parts, by that of the whole box.
pub(super) type Maps = FxHashMap<(Op, Part), Value>;

impl Cluster {
    /// Makes maps of the parts, beside those of the whole boxes.
    pub(super) fn maps(&self, func: &mut Func, loads: &[Op]) -> Maps {
        let mut maps = Maps::default();
        for (&load, part) in loads.iter().zip(&self.parts) {
            let (Some(part), Some(map)) = (*part, tma::map_of(func, func.operand(load, 1))) else { continue };
            if maps.contains_key(&(map, part)) {
                continue;
            }
            let mut extents = tma::box_extents(func, map).unwrap_or_default();
            extents[part.dim] = part.side;
            let extents = int_list(func, &extents);
            let attrs = func.op_attrs(map);
            let attrs = func.with_entry(attrs, keys::EXTENTS, extents);
            let entries = func.entries(attrs).to_vec();
            let (base, whole) = (func.operand(map, 0), func.result(map).expect("the row has one result"));
            let ty = func.value_type(whole);
            let mut b = Builder::after(func, map);
            let made = tma::Map::build(&mut b, base, &entries, &[ty]);
            let made = func.result(made).expect("the row has one result");
            let name = format!("{}_part", func.value_text(whole));
            let name = func.name(&name);
            func.set_value_name(made, Some(name));
            maps.insert((map, part), made);
        }
        maps
    }

    /// Which block of its cluster this one is.
    pub(super) fn rank(&self, b: &mut Builder<'_>) -> Value {
        let n = b.index(self.n);
        b.value(arith::MOD, &[self.var, n], &[])
    }

    /// The places that block number `rank` copies between, of those that load number `nth` copies between, `to` and `from`;
    /// `None` where each block brings all of them for itself.
    pub(super) fn places(
        &self,
        b: &mut Builder<'_>,
        maps: &Maps,
        (nth, rank): (usize, Value),
        [to, from]: [Value; 2],
    ) -> Option<[Value; 2]> {
        let part = self.parts[nth]?;
        let map = tma::map_of(b.func, from)?;
        let (mut sides, steps) = (tma::box_extents(b.func, map)?, tma::box_steps(b.func, map)?);
        let [to, from] = [to, from].map(|place| b.func.def_op(place));
        let (to, mut starts) = (b.func.operands(to?).to_vec(), b.func.operands(from?)[1..].to_vec());
        starts[part.dim] = moved(b, starts[part.dim], rank, part.side * steps[part.dim]);
        sides[part.dim] = part.side;
        let n_elements = sides.iter().product();
        let own = moved(b, to[1], rank, n_elements);
        let to = build_region(b, to[0], &[own], &[n_elements]);
        Some([to, build_region(b, maps[&(map, part)], &starts, &sides)])
    }
}

/// `start` and `distance` for each block before number `rank`.
fn moved(b: &mut Builder<'_>, start: Value, rank: Value, distance: i64) -> Value {
    let distance = b.index(distance);
    let own = b.value(arith::MUL, &[rank, distance], &[]);
    b.value(arith::ADD, &[start, own], &[])
}
