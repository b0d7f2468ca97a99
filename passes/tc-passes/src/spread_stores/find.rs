//! Which copies can be spread over which steps.

use crate::analysis::invariant::movable_inputs;
use crate::analysis::launch::{Nest, coordinate, loop_var, nest_of};
use crate::analysis::structure::{is_one_armed, runs_in_order};
use tc_dialects::algebra::const_extent;
use tc_dialects::threads::is_by_mbarrier;
use tc_dialects::tir::Coordinate;
use tc_dialects::tma::{self, box_extents, box_steps, cuts};
use tc_dialects::{arith, tir, wgmma};
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::walk::{OpRange, ancestors, is_inside};
use tc_ir::{Func, Op, Region, Value, keys};
use tc_support::Diagnostic;

/// Copies of a tile of results, and the steps of the next tile.
pub(super) struct Tile {
    /// The loop over tiles.
    pub(super) tiles: Op,
    /// The loops over steps, the outermost first; each holds the next, the last a group of products.
    pub(super) steps: Vec<Op>,
    /// The statement of the loop over tiles that begins the copies.
    pub(super) statement: Op,
    pub(super) copies: Vec<Copy>,
    /// The allocs of the buffers, if they stand in the loop over tiles.
    pub(super) allocs: Vec<Op>,
}

/// A copy to a tensor, and how it is cut.
pub(super) struct Copy {
    pub(super) op: Op,
    /// How many pieces each dimension of the box is cut into.
    pub(super) cuts: Vec<i64>,
    /// The extents of a piece.
    pub(super) extents: Vec<i64>,
    /// How far its elements lie apart in the tensor.
    pub(super) steps: Vec<i64>,
}

impl Copy {
    pub(super) fn n_pieces(&self) -> i64 {
        self.cuts.iter().product()
    }
}

/// Why copies stay whole: the op that keeps them from going in pieces, and what helps.
struct Obstacle {
    at: Op,
    text: String,
    help: String,
}

type Found<T> = Result<T, Obstacle>;

fn obstacle(at: Op, text: impl Into<String>, help: impl Into<String>) -> Obstacle {
    Obstacle { at, text: text.into(), help: help.into() }
}

const LEAVE_OUT: &str = "or leave out `pieces`";

/// Does the op, a copy in the background, ask to go in pieces?
pub(super) fn is_asked(func: &Func, op: Op) -> bool {
    tma::writes_tensor(func, op) && tma::is_async(func, op) && func.attr_of(op, keys::PIECES).is_some()
}

/// The copies that begin together with `first`: how they can go in pieces, or the copies and a warning. In the nests `unordered` it
/// is not known of warpgroups that each copies to a place of its own once loops carry coordinates.
pub(super) fn find(func: &Func, first: Op, unordered: &[Op]) -> Result<Tile, (Vec<Op>, Diagnostic)> {
    let region = func.region_of(first).expect("a copy stands in a region");
    tile(func, first, region, unordered).map_err(|Obstacle { at, text, help }| {
        let text = format!("this tile leaves as a whole: {text}");
        let warning = Diagnostic::warning("pieces", func.asked_location(first), text).help(help);
        let warning = if at == first { warning } else { warning.label(func.op_location(at), "here") };
        (func.ops(region).filter(|&op| is_asked(func, op)).collect(), warning)
    })
}

fn tile(func: &Func, first: Op, region: Region, unordered: &[Op]) -> Found<Tile> {
    let (statement, tiles) = around(func, first)?;
    let mut copies = Vec::new();
    for op in func.ops(region) {
        if tma::writes_tensor(func, op) && tma::is_async(func, op) {
            copies.push(cut(func, op)?);
        } else if func.opcode(op) != tma::COMMIT_STORES && !func.row(op).terminator && !is_plain(func, op) {
            return Err(beside_copy(func, op));
        }
    }
    let steps = steps(func, tiles, statement, first)?;
    if nest_of(func, tiles).is_some_and(|nest| unordered.contains(&nest)) {
        let text = "its block has several warpgroups, and no ring of bulk copies orders them";
        return Err(obstacle(first, text, format!("bring the factors by `bulk_copy` and `pipeline`, {LEAVE_OUT}")));
    }
    let after = std::iter::successors(func.next_op(statement), |&op| func.next_op(op));
    if let Some(op) = after.into_iter().find(|&op| !is_plain(func, op) && !func.row(op).terminator) {
        let text = "something comes after its copy in the loop over tiles";
        return Err(obstacle(op, text, format!("let the copy come last, {LEAVE_OUT}")));
    }
    let allocs = allocs(func, tiles, steps[0], &copies)?;
    for copy in &copies {
        if starts(func, copy.op).into_iter().any(|value| movable_inputs(func, value, statement).is_none()) {
            let text = "where it goes is computed by the thread that begins the copy, and cannot be computed before";
            return Err(obstacle(copy.op, text, format!("compute it in the loop over tiles, {LEAVE_OUT}")));
        }
        let map = tma::map_of(func, tma::sides(func, copy.op)[1]);
        if let Some(map) = map.filter(|&map| is_inside(func, map, tiles)) {
            let text = "its map is made in the loop over tiles";
            return Err(obstacle(map, text, format!("make it before the loops over threads, {LEAVE_OUT}")));
        }
    }
    Ok(Tile { tiles, steps, statement, copies, allocs })
}

/// The coordinates of the box, and where in the buffer it begins.
pub(super) fn starts(func: &Func, copy: Op) -> Vec<Value> {
    let places = tma::sides(func, copy).map(|place| func.def_op(place));
    places.into_iter().flatten().flat_map(|place| func.operands(place)[1..].to_vec()).collect()
}

/// Arithmetic, and references.
fn is_plain(func: &Func, op: Op) -> bool {
    tc_ir::effects::summary(func, op).is_pure()
}

/// The statement of a loop over tiles by which one thread of a warpgroup begins `copy`, and the loop.
fn around(func: &Func, copy: Op) -> Found<(Op, Op)> {
    let mut outer = ancestors(func, copy);
    let (branch, lanes) = (outer.next(), outer.next());
    let is_row =
        |op: Op| coordinate(func, op) == Some(Coordinate::ThreadX) && const_extent(func, op) == Some(wgmma::WARPGROUP);
    let Some((branch, lanes)) =
        branch.zip(lanes).filter(|&(branch, lanes)| is_row(lanes) && is_of_first(func, branch, lanes))
    else {
        let text = "it is not the first thread of each warpgroup alone, under no other condition, that begins the copy";
        let help = format!("write `for tx in 0..128 bind(threadIdx.x) {{ if tx == 0 {{ … }} }}`, {LEAVE_OUT}");
        return Err(obstacle(copy, text, help));
    };
    let is_tiles = |&op: &Op| func.opcode(op) == tir::FOR && runs_in_order(func, op) && coordinate(func, op).is_none();
    if let Some(tiles) = outer.next().filter(is_tiles) {
        let beside = func.ops(func.op_regions(lanes)[0]).find(|&op| op != branch && !is_plain(func, op));
        return match beside {
            Some(op) => Err(beside_copy(func, op)),
            None => Ok((lanes, tiles)),
        };
    }
    let text = "no loop over tiles begins its copy";
    let help = format!("pieces leave while the block computes its next tile: let it compute several, {LEAVE_OUT}");
    Err(obstacle(copy, text, help))
}

/// Is `branch` an `if` of the first of the threads that the loop `lanes` numbers?
fn is_of_first(func: &Func, branch: Op, lanes: Op) -> bool {
    let condition = || func.def_op(func.operand(branch, 0)).filter(|&op| func.opcode(op) == arith::CMP);
    let is_first = |op: Op| {
        arith::Predicate::of(func, op) == Some(arith::Predicate::Eq)
            && func.operand(op, 0) == loop_var(func, lanes)
            && func.const_int(func.operand(op, 1)) == Some(0)
    };
    func.opcode(branch) == tir::IF && is_one_armed(func, branch) && condition().is_some_and(is_first)
}

fn beside_copy(func: &Func, op: Op) -> Obstacle {
    let text = format!("`{}` stands beside its copy", func.op_name(op));
    obstacle(op, text, format!("let nothing else stand there, {LEAVE_OUT}"))
}

/// Does `thread-sync` order the warpgroups of the nest, by what it knows of the places of each?
pub(super) fn is_unordered(func: &Func, nest: &Nest) -> bool {
    !nest.is_one_row() && !nest.ops(func).any(|op| is_by_mbarrier(func, op))
}

/// The loops over steps of products that come before `statement` in the loop `tiles`: the first that holds a group of products, the
/// first in that, and so on.
fn steps(func: &Func, tiles: Op, statement: Op, copy: Op) -> Found<Vec<Op>> {
    let body = func.op_regions(tiles)[0];
    let before: Vec<Op> = func.ops(body).take_while(|&op| op != statement).collect();
    let holds_products = |op: Op| OpRange::at(func, op).ops(func).any(|op| func.opcode(op) == wgmma::COMMIT);
    let is_step = |&op: &Op| {
        func.opcode(op) == tir::FOR && runs_in_order(func, op) && coordinate(func, op).is_none() && holds_products(op)
    };
    let mut steps: Vec<Op> = before.iter().copied().find(is_step).into_iter().collect();
    while let Some(&last) = steps.last() {
        match func.ops(func.op_regions(last)[0]).find(is_step) {
            Some(inner) => steps.push(inner),
            None => break,
        }
    }
    let is_direct = |&last: &Op| func.ops(func.op_regions(last)[0]).any(|op| func.opcode(op) == wgmma::COMMIT);
    if !steps.last().is_some_and(is_direct) {
        let text = "no loop over groups of products comes before it";
        return Err(obstacle(copy, text, format!("divide the sum into several steps, {LEAVE_OUT}")));
    }
    let until = before.iter().copied().take_while(|&op| op != steps[0]).chain([steps[0]]);
    let in_until = || until.clone().flat_map(|op| OpRange::at(func, op).ops(func));
    if let Some(other) = in_until().find(|&op| func.opcode(op) == tma::COMMIT_STORES || tma::writes_tensor(func, op)) {
        // Waits count groups from the youngest.
        let text = "other copies begin before or in the steps that its pieces would begin in";
        return Err(obstacle(other, text, format!("begin them behind the steps, {LEAVE_OUT}")));
    }
    if let Some(wait) = in_until().find(|&op| func.opcode(op) == tma::WAIT_STORES) {
        let text = "copies are waited for before or in the steps that its pieces would begin in";
        return Err(obstacle(wait, text, format!("wait behind the steps, {LEAVE_OUT}")));
    }
    Ok(steps)
}

/// The allocs in `tiles` of what is copied; nothing up to the end of `first_step` accesses it.
fn allocs(func: &Func, tiles: Op, first_step: Op, copies: &[Copy]) -> Found<Vec<Op>> {
    let body = func.op_regions(tiles)[0];
    let mut allocs = Vec::new();
    for copy in copies {
        let buffer = root_buffer(func, tma::sides(func, copy.op)[0]);
        for op in func.ops(body) {
            let touches = |op: Op| accesses(func, op).iter().any(|&(place, _)| root_buffer(func, place) == buffer);
            if let Some(touch) = OpRange::at(func, op).ops(func).find(|&op| touches(op)) {
                let text = format!(
                    "`{}` is accessed before the steps end that pieces of the tile before would begin in",
                    func.value_text(buffer)
                );
                return Err(obstacle(touch, text, format!("write the tile once its products are done, {LEAVE_OUT}")));
            }
            if op == first_step {
                break;
            }
        }
        let Some(alloc) = func.def_op(buffer).filter(|&def| is_inside(func, def, tiles)) else { continue };
        if func.region_of(alloc) != Some(body) || func.opcode(alloc) != tir::ALLOC || !func.operands(alloc).is_empty() {
            let text = format!("`{}` is made inside of an iteration, and kept until the next", func.value_text(buffer));
            let help = "make it in the body of the loop over tiles, or around that";
            return Err(obstacle(copy.op, text, help));
        }
        if !allocs.contains(&alloc) {
            allocs.push(alloc);
        }
    }
    Ok(allocs)
}

/// Cuts the box of `op` into as many pieces as it says, the outer dimensions first.
fn cut(func: &Func, op: Op) -> Found<Copy> {
    let [shared, boxed] = tma::sides(func, op);
    let wanted = func.int_of(op, keys::PIECES).unwrap_or(1);
    let map = tma::map_of(func, boxed);
    let Some((map, mut extents)) = map.and_then(|map| Some((map, box_extents(func, map)?))) else {
        return Err(obstacle(op, "the box of its copy is not known", LEAVE_OUT));
    };
    let is_region = |place: Value| func.def_op(place).is_some_and(|def| func.opcode(def) == tir::REGION);
    if !is_region(boxed) || !is_region(shared) {
        let text = "its copy is not between a region of a map and one of a buffer";
        return Err(obstacle(op, text, format!("write `&C_map[i : 64, 0 : 64]` and `&S[0 : 4096]`, {LEAVE_OUT}")));
    }
    let elem = tir::place_type(func, shared).and_then(|(elem, ..)| func.as_scalar(elem));
    let bytes = elem.map_or(1, |scalar| i64::from(scalar.bytes()));
    let Some(cuts) = cuts(&extents, wanted, bytes, tma::swizzle_bytes(func, map).unwrap_or(0)) else {
        let shown = extents.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
        let text = format!("a box of {shown} is not cut into {wanted} boxes that begin at the right places");
        return Err(obstacle(op, text, format!("let them divide the outer dimensions of the box, {LEAVE_OUT}")));
    };
    extents.iter_mut().zip(&cuts).for_each(|(extent, cut)| *extent /= cut);
    let steps = box_steps(func, map).unwrap_or_else(|| vec![1; extents.len()]);
    Ok(Copy { op, cuts, extents, steps })
}
