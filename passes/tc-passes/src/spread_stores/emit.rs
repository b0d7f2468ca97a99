//! Puts pieces into the steps.

use super::find::{Copy, Tile, starts};
use crate::analysis::carried::{carry_more, hand_on};
use crate::analysis::invariant::movable_inputs;
use crate::analysis::launch::by_first_thread;
use crate::analysis::numbers::{Numbers, cast};
use crate::analysis::region::{build_region, int_list};
use crate::analysis::tiles::erase_unused;
use indexmap::{IndexMap, IndexSet};
use tc_arith::Expr;
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::{arith, tir, tma, wgmma};
use tc_ir::builder::OpSpec;
use tc_ir::{Builder, Elem, Func, Op, Rewriter, Scalar, Value, keys};

const I32: Scalar = Scalar::of(Elem::I32);
const INDEX: Scalar = Scalar::of(Elem::Index);

/// Where a piece begins in one dimension, before its own place in the box is added.
#[derive(Clone, Copy)]
enum Start {
    /// The same for all tiles.
    Fixed(Value),
    /// What the loop over tiles carries at this number, and an offset.
    Carried(usize, i64),
}

/// The pieces of one copy.
struct Pieces<'t> {
    copy: &'t Copy,
    map: Value,
    buffer: Value,
    of_box: Vec<Start>,
    of_buffer: Start,
    /// The number of its first piece.
    first: i64,
}

/// Those of all copies of the tile.
struct Plan<'t> {
    pieces: Vec<Pieces<'t>>,
    n_pieces: i64,
}

/// The number of the next piece, and the coordinates that are carried.
#[derive(Clone, Copy)]
struct Next<'v> {
    number: Value,
    carried: &'v [Value],
}

pub(super) fn emit(func: &mut Func, tile: &Tile) {
    let tiles = tile.tiles;
    for &alloc in &tile.allocs {
        Rewriter::new(func).move_before(alloc, tiles);
    }
    let old: Vec<Value> = tile.copies.iter().flat_map(|copy| starts(func, copy.op)).collect();
    let maps: IndexSet<Op> =
        tile.copies.iter().filter_map(|copy| tma::map_of(func, tma::sides(func, copy.op)[1])).collect();
    for &start in &old {
        for op in movable_inputs(func, start, tile.statement).unwrap_or_default() {
            Rewriter::new(func).move_before(op, tile.statement);
        }
    }
    let (plan, current) = plan(func, tile);
    let mut b = Builder::before(func, tile.statement);
    // Results of new ops: what loops carry, and their variables, are other values once the loops are made anew.
    let current: Vec<Value> = current.into_iter().map(|value| as_coordinate(&mut b, value)).collect();
    let places: Vec<Value> = tile.copies.iter().flat_map(|copy| tma::sides(func, copy.op)).collect();
    Rewriter::new(func).erase(tile.statement);

    // At first there is no tile before: all of its pieces have begun.
    let mut b = Builder::before(func, tiles);
    // All that is carried is small: numbers of pieces, and coordinates that the copy engine takes as 32 bits.
    let mut more = vec![(b.int(plan.n_pieces, Elem::I32), "begun")];
    more.extend(current.iter().map(|_| (b.int(0, Elem::I32), "start")));
    let tiles = carry_more(func, tiles, &more);
    let body = func.op_regions(tiles)[0];
    let args = func.region_args(body).to_vec();
    let (&number, carried) = args[args.len() - more.len()..].split_first().expect("the number is carried");
    let are_enough = n_steps(func, &tile.steps).is_some_and(|n| n >= plan.n_pieces);
    let (outermost, left) = in_steps(func, &plan, &tile.steps, Next { number, carried });
    if !are_enough {
        rest(&mut Builder::after(func, outermost), &plan, Next { number: left, carried });
    }
    let mut b = match func.terminator(body) {
        Some(end) => Builder::before(func, end),
        None => Builder::at_end(func, body),
    };
    let mut handed = vec![b.int(0, Elem::I32)];
    handed.extend(current);
    hand_on(func, tiles, &handed);
    let results: Vec<Value> = func.results(tiles).collect();
    let (&number, carried) = results[results.len() - more.len()..].split_first().expect("the number is carried");
    rest(&mut Builder::after(func, tiles), &plan, Next { number, carried });
    erase_unused(func, places.into_iter().chain(old).collect());
    for map in maps {
        if func.results(map).all(|result| func.n_uses(result) == 0) {
            Rewriter::new(func).erase(map);
        }
    }
}

/// What each piece is, and what the loop over tiles hands on of the coordinates.
fn plan<'t>(func: &mut Func, tile: &'t Tile) -> (Plan<'t>, Vec<Value>) {
    let mut maps: IndexMap<(Op, &[i64]), Value> = IndexMap::new();
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, tile.statement);
    let mut carried = Carried { algebra, values: Vec::new() };
    let mut plan = Plan { pieces: Vec::new(), n_pieces: 0 };
    for copy in &tile.copies {
        let [shared, boxed] = tma::sides(func, copy.op);
        let whole = tma::map_of(func, boxed).expect("a copy is to a box of a map");
        let map = *maps.entry((whole, &copy.extents)).or_insert_with(|| map_of_pieces(func, whole, &copy.extents));
        let parts = |func: &Func, place: Value| func.def_op(place).map_or(Vec::new(), |op| func.operands(op).to_vec());
        let (of_map, of_buffer) = (parts(func, boxed), parts(func, shared));
        let of_box = of_map[1..].iter().map(|&at| carried.start(func, tile.tiles, at)).collect();
        let at = carried.start(func, tile.tiles, of_buffer[1]);
        plan.pieces.push(Pieces { copy, map, buffer: of_buffer[0], of_box, of_buffer: at, first: plan.n_pieces });
        plan.n_pieces += copy.n_pieces();
    }
    (plan, carried.values.into_iter().map(|(value, _)| value).collect())
}

/// The tensor of the map `whole`, by boxes of these extents.
fn map_of_pieces(func: &mut Func, whole: Op, extents: &[i64]) -> Value {
    let result = func.result(whole).expect("the row has one result");
    if tma::box_extents(func, whole).is_some_and(|old| old == extents) {
        return result;
    }
    let (ty, name) = (func.value_type(result), func.value_name(result));
    let list = int_list(func, extents);
    let attrs = func.with_entry(func.op_attrs(whole), keys::EXTENTS, list);
    let entries = func.entries(attrs).to_vec();
    let mut b = Builder::after(func, whole);
    let tensor = b.func.operand(whole, 0);
    let op = tma::Map::build(&mut b, tensor, &entries, &[ty]);
    let map = func.result(op).expect("the row has one result");
    func.set_value_name(map, name);
    map
}

/// What the loop over tiles carries: values, and what each is.
struct Carried {
    algebra: Algebra,
    values: Vec<(Value, Expr)>,
}

impl Carried {
    /// How the pieces of another tile know `value`, which is computed in the loop `tiles`.
    fn start(&mut self, func: &mut Func, tiles: Op, value: Value) -> Start {
        if let Some(inputs) = movable_inputs(func, value, tiles) {
            inputs.into_iter().for_each(|op| Rewriter::new(func).move_before(op, tiles));
            return Start::Fixed(value);
        }
        let expr = self.algebra.expr(func, value);
        // Boxes that lie side by side share what is carried.
        for (nth, &(_, base)) in self.values.iter().enumerate() {
            let apart = self.algebra.analyzer.pool.sub(expr, base);
            let apart = self.algebra.analyzer.simplify(apart);
            if let Some(offset) = self.algebra.analyzer.pool.as_const(apart) {
                return Start::Carried(nth, offset);
            }
        }
        self.values.push((value, expr));
        Start::Carried(self.values.len() - 1, 0)
    }
}

/// Lets each step begin a piece; gives the outermost loop over steps, and the number of the next piece behind it.
fn in_steps(func: &mut Func, plan: &Plan<'_>, steps: &[Op], next: Next<'_>) -> (Op, Value) {
    let (mut number, mut made) = (next.number, Vec::new());
    for &step in steps {
        let new = carry_more(func, step, &[(number, "begun")]);
        number = *func.region_args(func.op_regions(new)[0]).last().expect("the number is carried");
        made.push(new);
    }
    let innermost = *made.last().expect("there are steps");
    let body = func.op_regions(innermost)[0];
    let is_wait = |&op: &Op| func.opcode(op) == wgmma::WAIT;
    let commit = func.ops(body).find(|&op| func.opcode(op) == wgmma::COMMIT).expect("a step makes products");
    let wait = std::iter::successors(func.next_op(commit), |&op| func.next_op(op)).find(is_wait);
    let mut b = match wait {
        Some(wait) => Builder::before(func, wait),
        None => Builder::after(func, commit),
    };
    let all = b.int(plan.n_pieces, Elem::I32);
    let is_left = below(&mut b, number, all);
    let branch = tir::If::build(&mut b, is_left, &[], &[]);
    let region = b.func.op_regions(branch)[0];
    b.within(region, |b| {
        by_first_thread(b, |b| begin(b, plan, Next { number, carried: next.carried }));
    });
    let one = b.int(1, Elem::I32);
    let more = b.value(arith::ADD, &[number, one], &[]);
    let mut handed = b.value(arith::MIN, &[more, all], &[]);
    for &step in made.iter().rev() {
        hand_on(func, step, &[handed]);
        handed = func.results(step).last().expect("the number is carried");
    }
    (made[0], handed)
}

/// Begins all pieces from the next one on.
fn rest(b: &mut Builder<'_>, plan: &Plan<'_>, next: Next<'_>) {
    by_first_thread(b, |b| {
        let all = b.int(plan.n_pieces, Elem::I32);
        let loop_op = tir::For::build(b, next.number, all, &[], &[], &[]);
        let (region, ty) = (b.func.op_regions(loop_op)[0], b.func.value_type(all));
        let number = b.arg(region, ty, Some("piece"));
        b.within(region, |b| begin(b, plan, Next { number, ..next }));
    });
}

/// Begins one piece.
fn begin(b: &mut Builder<'_>, plan: &Plan<'_>, next: Next<'_>) {
    of_each(b, &plan.pieces, next);
    tma::CommitStores::build(b, &[], &[]);
}

/// Begins the piece of that one of `pieces` whose turn it is.
fn of_each(b: &mut Builder<'_>, pieces: &[Pieces<'_>], next: Next<'_>) {
    let Some((last, others)) = pieces.split_last() else { return };
    if others.is_empty() {
        return copy(b, last, next);
    }
    let first = b.int(last.first, Elem::I32);
    let is_before = below(b, next.number, first);
    let branch = tir::If::build(b, is_before, &[], &[]);
    let regions = b.func.op_regions(branch).to_vec();
    b.within(regions[0], |b| of_each(b, others, next));
    b.within(regions[1], |b| copy(b, last, next));
}

/// Begins the piece of one copy.
fn copy(b: &mut Builder<'_>, pieces: &Pieces<'_>, next: Next<'_>) {
    let first = b.int(pieces.first, Elem::I32);
    let nth = b.value(arith::SUB, &[next.number, first], &[]);
    let mut starts = Vec::new();
    let mut inner = pieces.copy.n_pieces();
    let Copy { cuts, extents, steps, .. } = pieces.copy;
    for (((&at, &cuts), &extent), &step) in pieces.of_box.iter().zip(cuts).zip(extents).zip(steps) {
        let is_outermost = inner == pieces.copy.n_pieces();
        inner /= cuts;
        let digit = (cuts > 1).then(|| {
            let (inner, cuts) = (b.int(inner, Elem::I32), b.int(cuts, Elem::I32));
            let extent = b.int(extent * step, Elem::I32);
            let mut digit = b.value(arith::DIV, &[nth, inner], &[]);
            if !is_outermost {
                digit = b.value(arith::MOD, &[digit, cuts], &[]);
            }
            b.value(arith::MUL, &[digit, extent], &[])
        });
        starts.push(place(b, at, next.carried, digit));
    }
    let n_elements: i64 = pieces.copy.extents.iter().product();
    let length = b.int(n_elements, Elem::I32);
    let offset = b.value(arith::MUL, &[nth, length], &[]);
    let at = place(b, pieces.of_buffer, next.carried, Some(offset));
    let to = build_region(b, pieces.map, &starts, &pieces.copy.extents);
    let from = build_region(b, pieces.buffer, &[at], &[n_elements]);
    let old = pieces.copy.op;
    let attrs = b.func.without_entry(b.func.op_attrs(old), keys::PIECES);
    let (opcode, results) = (b.func.opcode(old), &[]);
    b.op(OpSpec { opcode, operands: &[to, from], keyed: 0, attrs, results, n_regions: 0 });
}

/// Where a piece begins that lies `offset` behind `start`.
fn place(b: &mut Builder<'_>, start: Start, carried: &[Value], offset: Option<Value>) -> Value {
    let plus = |b: &mut Builder<'_>, value: Value, offset: Option<Value>| match offset {
        Some(offset) => b.value(arith::ADD, &[value, offset], &[]),
        None => value,
    };
    match start {
        Start::Fixed(value) => {
            let value = cast(b, value, INDEX);
            let offset = offset.map(|offset| cast(b, offset, INDEX));
            plus(b, value, offset)
        }
        Start::Carried(nth, own) => {
            let own = (own != 0).then(|| b.int(own, Elem::I32));
            let value = plus(b, carried[nth], own);
            let value = plus(b, value, offset);
            cast(b, value, INDEX)
        }
    }
}

/// `value` as the copy engine takes it, by an op of its own.
fn as_coordinate(b: &mut Builder<'_>, value: Value) -> Value {
    let none = b.int(0, Elem::I32);
    let value = cast(b, value, I32);
    b.value(arith::ADD, &[value, none], &[])
}

fn below(b: &mut Builder<'_>, value: Value, limit: Value) -> Value {
    Numbers { b, scalar: I32 }.compare(arith::Predicate::Lt, value, limit)
}

/// How often the innermost of `steps` runs for each tile, where that is constant.
fn n_steps(func: &Func, steps: &[Op]) -> Option<i64> {
    steps.iter().try_fold(1i64, |n, &step| n.checked_mul(const_extent(func, step)?))
}
