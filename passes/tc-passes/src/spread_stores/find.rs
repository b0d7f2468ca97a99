//! Which copies can be spread over which steps.

use crate::analysis::invariant::movable_inputs;
use crate::analysis::launch::{coordinate, loop_var};
use crate::analysis::structure::{is_one_armed, runs_in_order};
use tc_dialects::algebra::const_extent;
use tc_dialects::tir::Coordinate;
use tc_dialects::tma::{self, align_of_box, box_extents};
use tc_dialects::{arith, tir, wgmma};
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::walk::{all_ops, ancestors, is_inside, ops_under};
use tc_ir::{Func, Op, Value, keys};
use tc_support::{Diagnostic, counted};

/// Copies of a tile of results, and the steps of the next tile.
pub(super) struct Tile {
    /// The loop over tiles.
    pub(super) tiles: Op,
    /// The loops over steps, the outermost first; each holds the next, the last the products.
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
}

impl Copy {
    pub(super) fn n_pieces(&self) -> i64 {
        self.cuts.iter().product()
    }
}

type Found<T> = Result<T, Box<Diagnostic>>;

fn error(func: &Func, at: Op, text: impl Into<String>, help: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("pieces", func.op_location(at), text).help(help))
}

const LEAVE_OUT: &str = "leave out `pieces`: the tile is then copied as a whole";

/// The next copies that are to go in pieces.
pub(super) fn next(func: &Func) -> Option<Found<Tile>> {
    let is_asked =
        |&op: &Op| tma::writes_tensor(func, op) && tma::is_async(func, op) && func.attr_of(op, keys::PIECES).is_some();
    all_ops(func).find(is_asked).map(|first| find(func, first))
}

fn find(func: &Func, first: Op) -> Found<Tile> {
    let (statement, tiles) = around(func, first)?;
    let region = func.region_of(first).expect("a copy stands in a region");
    let mut copies = Vec::new();
    for op in func.ops(region) {
        if tma::writes_tensor(func, op) && tma::is_async(func, op) {
            copies.push(cut(func, op)?);
        } else if func.opcode(op) != tma::COMMIT_STORES && !func.row(op).terminator && !is_plain(func, op) {
            return Err(beside_copy(func, op));
        }
    }
    let after = std::iter::successors(func.next_op(statement), |&op| func.next_op(op));
    if let Some(op) = after.into_iter().find(|&op| !is_plain(func, op) && !func.row(op).terminator) {
        let text = "this comes after a copy that goes in pieces, and the copy would go on after it";
        return Err(Box::new(error(func, op, text, LEAVE_OUT).label(func.op_location(first), "the copy")));
    }
    let steps = steps(func, tiles, statement, first)?;
    let allocs = allocs(func, tiles, steps[0], &copies)?;
    for copy in &copies {
        if starts(func, copy.op).into_iter().any(|value| movable_inputs(func, value, statement).is_none()) {
            let text = "where this copy goes is known to the thread alone that begins it";
            return Err(error(func, copy.op, text, format!("compute it before, for all threads; or {LEAVE_OUT}")));
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
        let text =
            "a copy that goes in pieces is begun by the first thread of each warpgroup alone, under no other condition";
        let help = format!("`for tx in 0..128 bind(threadIdx.x) {{ if tx == 0 {{ … }} }}`; or {LEAVE_OUT}");
        return Err(error(func, copy, text, help));
    };
    let is_tiles = |&op: &Op| func.opcode(op) == tir::FOR && runs_in_order(func, op) && coordinate(func, op).is_none();
    if let Some(tiles) = outer.next().filter(is_tiles) {
        let beside = func.ops(func.op_regions(lanes)[0]).find(|&op| op != branch && !is_plain(func, op));
        return match beside {
            Some(op) => Err(beside_copy(func, op)),
            None => Ok((lanes, tiles)),
        };
    }
    let text = "this tile leaves in pieces while the next one is computed, and it is not a loop over tiles that begins its copy";
    Err(error(func, copy, text, format!("let a block compute several tiles, one after the other; or {LEAVE_OUT}")))
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

fn beside_copy(func: &Func, op: Op) -> Box<Diagnostic> {
    error(func, op, format!("`{}` stands beside a copy that goes in pieces", func.op_name(op)), LEAVE_OUT)
}

/// The loops over steps of products that come before `statement` in the loop `tiles`.
fn steps(func: &Func, tiles: Op, statement: Op, copy: Op) -> Found<Vec<Op>> {
    let body = func.op_regions(tiles)[0];
    let before: Vec<Op> = func.ops(body).take_while(|&op| op != statement).collect();
    let holds_products = |op: Op| {
        let mut inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
        inner.any(|op| func.opcode(op) == wgmma::COMMIT)
    };
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
        let text = "this tile leaves in pieces in the steps of the next one, and no loop over groups of products comes before it";
        return Err(error(func, copy, text, format!("divide the sum by a loop; or {LEAVE_OUT}")));
    }
    let waits = |&&op: &&Op| {
        let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
        std::iter::once(op).chain(inner).any(|op| func.opcode(op) == tma::WAIT_STORES)
    };
    let until: Vec<Op> = before.iter().copied().take_while(|&op| op != steps[0]).chain([steps[0]]).collect();
    if let Some(&wait) = until.iter().find(waits) {
        let text = "copies are waited for before or in the steps that pieces of them would begin in";
        return Err(Box::new(error(func, wait, text, LEAVE_OUT).label(func.op_location(copy), "the copy")));
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
            let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
            let touches = |op: Op| accesses(func, op).iter().any(|&(place, _)| root_buffer(func, place) == buffer);
            if let Some(touch) = std::iter::once(op).chain(inner).find(|&op| touches(op)) {
                let text = format!(
                    "`{}` is accessed before the steps end in which pieces of the tile before begin",
                    func.value_text(buffer)
                );
                let help = format!("write the tile once its products are done; or {LEAVE_OUT}");
                return Err(Box::new(error(func, touch, text, help).label(func.op_location(copy.op), "the copy")));
            }
            if op == first_step {
                break;
            }
        }
        let Some(alloc) = func.def_op(buffer).filter(|&def| is_inside(func, def, tiles)) else { continue };
        if func.region_of(alloc) != Some(body) || func.opcode(alloc) != tir::ALLOC || !func.operands(alloc).is_empty() {
            let text = format!("`{}` is made inside of an iteration, and kept until the next", func.value_text(buffer));
            return Err(error(func, copy.op, text, "make it in the body of the loop over tiles, or around that"));
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
        return Err(error(func, op, "the box of this copy is not known", LEAVE_OUT));
    };
    let is_region = |place: Value| func.def_op(place).is_some_and(|def| func.opcode(def) == tir::REGION);
    if !is_region(boxed) || !is_region(shared) {
        return Err(error(func, op, "a copy in pieces is between a region of a map and one of a buffer", LEAVE_OUT));
    }
    let shown = extents.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
    let mut cuts = vec![1; extents.len()];
    let mut left = wanted;
    let n_dims = extents.len();
    for dim in 0..n_dims.saturating_sub(1) {
        // A dimension inside of one that is not cut to single elements stays whole: else a piece is no stretch of the buffer.
        let n = if left % extents[dim] == 0 { extents[dim] } else { left };
        if extents[dim] % n != 0 {
            break;
        }
        cuts[dim] = n;
        extents[dim] /= n;
        left /= n;
        if left == 1 {
            break;
        }
    }
    let elem = tir::place_type(func, shared).and_then(|(elem, ..)| func.as_scalar(elem));
    let bytes = extents.iter().product::<i64>() * elem.map_or(0, |scalar| i64::from(scalar.bytes()));
    let align = align_of_box(tma::swizzle_bytes(func, map).unwrap_or(0));
    if left != 1 || (wanted > 1 && bytes % align != 0) {
        let text = format!("a box of {shown} is not cut into {} that are boxes", counted(wanted as usize, "piece"));
        let help = format!(
            "let pieces divide the outer dimensions of the box, and take a multiple of {}",
            counted(align as usize, "byte")
        );
        return Err(error(func, op, text, help));
    }
    Ok(Copy { op, cuts, extents })
}
