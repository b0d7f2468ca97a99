//! Elements that a thread wants and another one of its warp or warpgroup holds: they go through shared memory.
//!
//! Before the nest that reads them the whole buffer is stored to a tile in shared memory, as its own threads hold it, and the
//! nest reads from there. Each warp, or warpgroup, has a tile of its own. Its rows are 16 bytes longer than they need be, so that
//! rows of a store lie in different banks. `thread-sync` puts the barriers; where it does not come, in a program that is threaded
//! or has barriers in shared memory, as those of warpgroups often get them later, they are put here.

use super::find::Buffer;
use crate::analysis::launch::{coordinate, loop_var};
use tc_dialects::algebra::const_extent;
use tc_dialects::fragment::Family;
use tc_dialects::gpu;
use tc_dialects::scope::Scope;
use tc_dialects::threads::{CREW, is_by_mbarrier};
use tc_dialects::tir::{self, Coordinate, LoopKind};
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::verify::is_threaded;
use tc_ir::walk::{all_ops, ancestors, ops_under};
use tc_ir::{Builder, Func, Op, Rewriter, TypeData, Value, keys};
use tc_support::Diagnostic;

/// Bytes by which a row of the tile is longer than its elements.
const PAD: i64 = 16;

/// A load that goes through shared memory.
pub(super) struct Exchange {
    load: Op,
    /// The nest before which the tile is filled.
    nest: Op,
    /// The variables of the loops that number the warps or warpgroups of a block, with their extents.
    crews: Vec<(Value, i64)>,
    /// Perhaps no later pass puts barriers here.
    barriers: bool,
}

/// How `load`, of a buffer of two dimensions, can go through shared memory; `None` where the nest around it writes the buffer, or
/// where it is not known which warp reads.
pub(super) fn find(func: &Func, buffer: &Buffer, load: Op) -> Option<Exchange> {
    if func.opcode(load) != tir::LOAD || buffer.tiles.extents.len() != 2 {
        return None;
    }
    let writes = |op: Op| {
        accesses(func, op)
            .iter()
            .any(|&(place, access)| access.writes() && root_buffer(func, place) == buffer.tiles.buffer)
    };
    let runs_in_order = |op: Op| {
        let kind = tir::loop_kind(func, op);
        matches!(kind, Some(LoopKind::Serial | LoopKind::Unroll(_) | LoopKind::Vectorize))
            && ops_under(func, func.op_regions(op)[0]).all(|inner| !writes(inner))
    };
    let around = ancestors(func, load);
    let nest = around.take_while(|&op| func.opcode(op) == tir::FOR && runs_in_order(op)).last()?;
    let mut crews = Vec::new();
    let outer: Vec<Op> = ancestors(func, nest).collect();
    for op in all_ops(func).filter(|&op| func.opcode(op) == tir::FOR) {
        if !coordinate(func, op).is_some_and(|of| of.is_thread() && of != Coordinate::ThreadX) {
            continue;
        }
        // One that stands elsewhere lets several warps read the same elements.
        let extent = const_extent(func, op)?;
        if outer.contains(&op) {
            crews.push((loop_var(func, op), extent));
        } else if extent > 1 && !outer.iter().any(|&known| coordinate(func, known) == coordinate(func, op)) {
            return None;
        }
    }
    let launch = outer.last().copied().unwrap_or(nest);
    let barriers = buffer.tiles.family == Family::Wgmma
        || is_threaded(func)
        || ops_under(func, func.op_regions(launch)[0]).any(|op| is_by_mbarrier(func, op));
    Some(Exchange { load, nest, crews, barriers })
}

/// Lets the load read from shared memory; gives what is said of it.
pub(super) fn through_shared_memory(func: &mut Func, buffer: &Buffer, exchange: &Exchange) -> Diagnostic {
    let tiles = &buffer.tiles;
    let name = func.value_text(tiles.buffer).to_string();
    let (crew, scope) = (tiles.family.crew(), if tiles.family == Family::Wgmma { "warpgroup" } else { "warp" });
    let text =
        format!("elements of `{name}` go through shared memory: thread t of a {crew} does not hold what it reads");
    let found = Diagnostic::remark("in-shared-memory", func.op_location(exchange.load), text)
        .label(func.op_location(tiles.alloc), format!("the threads of a {crew} hold it together"))
        .help("let a product read and write tiles in one layout, or permute its rows or columns so that it does");
    let bytes = i64::from(tiles.elem.bytes()).max(1);
    let [rows, cols] = tiles.last_two();
    let width = cols + PAD / bytes;
    let memory = memory_of(func, exchange.nest);
    let locs = func.op_locs(exchange.load);
    let mut b = Builder::before(func, exchange.nest);
    let extents: Vec<i64> = exchange.crews.iter().map(|&(_, extent)| extent).chain([rows, width]).collect();
    let shape = extents.into_iter().map(|extent| b.func.int_attr(extent)).collect();
    let (elem, memory) = (b.func.elem_ty(tiles.elem), memory.name_in(b.func));
    let ty = b.func.ty(TypeData::Shaped { elem, shape, scope: Some(memory) });
    let (crew_key, crew_word) = (b.func.name(CREW), b.func.word_attr(scope));
    let alloc = tir::Alloc::build(&mut b, &[(crew_key, crew_word)], &[ty]);
    let tile = b.func.result(alloc).expect("the row has one result");
    b.name(tile, &format!("{name}_shared"));
    let word = b.func.word_attr(scope);
    // What was read of the tile in the iteration before is read.
    let barrier = |b: &mut Builder<'_>| {
        if exchange.barriers {
            gpu::Barrier::build(b, &[(keys::SCOPE, word)], &[]);
        }
    };
    barrier(&mut b);
    let crews: Vec<Value> = exchange.crews.iter().map(|&(var, _)| var).collect();
    fill(&mut b, (tile, tiles.buffer), &crews, &[rows, cols], &mut Vec::new());
    barrier(&mut b);
    let indices = func.operands(exchange.load)[1..].to_vec();
    let mut rw = Rewriter::new(func);
    let mut b = rw.before(exchange.load);
    let place: Vec<Value> = [tile].into_iter().chain(crews).chain(indices).collect();
    let value = b.value(tir::LOAD, &place, &[]);
    if let Some(made) = rw.func().def_op(value) {
        rw.set_locs(made, locs);
    }
    rw.replace_op(exchange.load, &[value]);
    found
}

/// Where other shared memory of the launch nest lies: large tiles do not fit what is declared.
fn memory_of(func: &Func, nest: Op) -> Scope {
    let launch = ancestors(func, nest).last().unwrap_or(nest);
    let made = ops_under(func, func.op_regions(launch)[0]).filter(|&op| func.opcode(op) == tir::ALLOC);
    let scopes = made.filter_map(|op| Scope::of(func, func.result(op)?));
    let shared: Vec<Scope> = scopes.filter(|scope| scope.is_shared()).collect();
    shared.iter().copied().find(|&scope| scope != Scope::Shared).unwrap_or(Scope::Shared)
}

/// Two loops that store the elements of a buffer to those of a tile.
fn fill(b: &mut Builder<'_>, (to, from): (Value, Value), crews: &[Value], extents: &[i64], vars: &mut Vec<Value>) {
    let Some(&extent) = extents.get(vars.len()) else {
        let load: Vec<Value> = [from].into_iter().chain(vars.iter().copied()).collect();
        let value = b.value(tir::LOAD, &load, &[]);
        let place: Vec<Value> = crews.iter().chain(vars.iter()).copied().collect();
        tir::Store::build(b, to, &place, value, &[], &[]);
        return;
    };
    let (lo, hi, ty) = (b.index(0), b.index(extent), b.func.index_ty());
    let made = tir::For::build(b, lo, hi, &[], &[], &[]);
    let region = b.func.op_regions(made)[0];
    let var = b.arg(region, ty, Some(["i", "j"][vars.len().min(1)]));
    vars.push(var);
    b.within(region, |b| fill(b, (to, from), crews, extents, vars));
}
