//! Elements that a thread wants and another one of its warp or warpgroup holds: they go through shared memory.
//!
//! Before the nest that reads them the whole buffer is stored to a tile in shared memory, as its own threads hold it, and the
//! nest reads from there. Each warp, or warpgroup, has a tile of its own. Its rows are 16 bytes longer than they need be, so that
//! rows of a store lie in different banks. `thread-sync` puts the barriers; where it does not come, in a program that is threaded
//! or has barriers in shared memory, as those of warpgroups often get them later, they are put here.

use super::find::Buffer;
use crate::analysis::launch::{Nest, loop_var, nest_of};
use indexmap::IndexSet;
use tc_dialects::fragment::Family;
use tc_dialects::gpu;
use tc_dialects::scope::Scope;
use tc_dialects::threads::{CREW, is_by_mbarrier};
use tc_dialects::tir::{self, Coordinate, Level, LoopKind};
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::verify::is_threaded;
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{Builder, Func, Op, Rewriter, TypeData, Value, keys};
use tc_support::Diagnostic;

/// Bytes by which a row of the tile is longer than its elements.
const PAD: i64 = 16;

/// Loads of one buffer in one nest, which go through shared memory.
pub(super) struct Exchange {
    /// The number of the buffer.
    pub(super) buffer: usize,
    loads: Vec<Op>,
    /// The nest before which the tile is filled.
    nest: Op,
    /// The variables of the loops that number the warps or warpgroups of a block, with their extents.
    crews: Vec<(Value, i64)>,
    /// Perhaps no later pass puts barriers here.
    barriers: bool,
}

/// How `loads`, with the numbers of their buffers, can go through shared memory; `None` where one cannot.
pub(super) fn find(func: &Func, buffers: &[Buffer], loads: &IndexSet<(Op, usize)>) -> Option<Vec<Exchange>> {
    let mut found: Vec<Exchange> = Vec::new();
    for &(load, nth) in loads {
        let nest = nest_around(func, &buffers[nth], load)?;
        if let Some(known) = found.iter_mut().find(|known| (known.buffer, known.nest) == (nth, nest)) {
            known.loads.push(load);
            continue;
        }
        let launch = Nest::of(func, nest_of(func, nest)?);
        let barriers = buffers[nth].tiles.family == Family::Wgmma
            || is_threaded(func)
            || launch.ops(func).any(|op| is_by_mbarrier(func, op));
        let crews = crews(func, &launch, nest)?;
        found.push(Exchange { buffer: nth, loads: vec![load], nest, crews, barriers });
    }
    Some(found)
}

/// The outermost of the loops around `load` that run in order and do not store to `buffer`, which has two dimensions.
fn nest_around(func: &Func, buffer: &Buffer, load: Op) -> Option<Op> {
    let buffer = Some(buffer.tiles.buffer).filter(|_| buffer.tiles.extents.len() == 2)?;
    let writes = |op: Op| {
        accesses(func, op).iter().any(|&(place, access)| access.writes() && root_buffer(func, place) == buffer)
    };
    let runs_in_order = |op: Op| {
        let kind = tir::loop_kind(func, op);
        matches!(kind, Some(LoopKind::Serial | LoopKind::Unroll(_) | LoopKind::Vectorize))
            && ops_under(func, func.op_regions(op)[0]).all(|inner| !writes(inner))
    };
    ancestors(func, load).take_while(|&op| func.opcode(op) == tir::FOR && runs_in_order(op)).last()
}

/// The loops around `nest` that tell the warps, or warpgroups, of a block apart; `None` where several come without such a loop, so
/// that it is not known which of them reads.
fn crews(func: &Func, launch: &Nest, nest: Op) -> Option<Vec<(Value, i64)>> {
    let around: Vec<Op> = ancestors(func, nest).collect();
    let mut crews = Vec::new();
    for of in Level::Thread.coordinates().into_iter().filter(|&of| of != Coordinate::ThreadX && launch.varies(of)) {
        let &(op, _) = launch.loops.iter().find(|(op, names)| *names == of && around.contains(op))?;
        crews.push((loop_var(func, op), launch.extent(of)?));
    }
    Some(crews)
}

/// Lets the loads read from shared memory; gives what is said of it.
pub(super) fn through_shared_memory(func: &mut Func, buffer: &Buffer, exchange: &Exchange) -> Diagnostic {
    let tiles = &buffer.tiles;
    let name = func.value_text(tiles.buffer).to_string();
    let crew = tiles.family.crew();
    let text =
        format!("elements of `{name}` go through shared memory: thread t of a {crew} does not hold what it reads");
    let found = Diagnostic::remark("in-shared-memory", func.op_location(exchange.loads[0]), text)
        .label(func.op_location(tiles.alloc), format!("the threads of a {crew} hold it together"))
        .help("let a product read and write tiles in one layout, or permute its rows or columns so that it does");
    let bytes = i64::from(tiles.elem.bytes()).max(1);
    let [rows, cols] = tiles.last_two();
    let width = cols + PAD / bytes;
    let memory = memory_of(func, exchange.nest);
    let mut b = Builder::before(func, exchange.nest);
    let extents: Vec<i64> = exchange.crews.iter().map(|&(_, extent)| extent).chain([rows, width]).collect();
    let shape = extents.into_iter().map(|extent| b.func.int_attr(extent)).collect();
    let (elem, memory) = (b.func.elem_ty(tiles.elem), memory.name_in(b.func));
    let ty = b.func.ty(TypeData::Shaped { elem, shape, scope: Some(memory) });
    let (crew_key, crew_word) = (b.func.name(CREW), b.func.word_attr(crew));
    let alloc = tir::Alloc::build(&mut b, &[(crew_key, crew_word)], &[ty]);
    let tile = b.func.result(alloc).expect("the row has one result");
    b.name(tile, &format!("{name}_shared"));
    // What was read of the tile in the iteration before is read.
    let barrier = |b: &mut Builder<'_>| {
        if exchange.barriers {
            gpu::Barrier::build(b, &[(keys::SCOPE, crew_word)], &[]);
        }
    };
    barrier(&mut b);
    let crews: Vec<Value> = exchange.crews.iter().map(|&(var, _)| var).collect();
    fill(&mut b, (tile, tiles.buffer), &crews, &[rows, cols], &mut Vec::new());
    barrier(&mut b);
    let mut rw = Rewriter::new(func);
    for &load in &exchange.loads {
        let (indices, locs) = (rw.func().operands(load)[1..].to_vec(), rw.func().op_locs(load));
        let mut b = rw.before(load);
        let place: Vec<Value> = [tile].into_iter().chain(crews.iter().copied()).chain(indices).collect();
        let value = b.value(tir::LOAD, &place, &[]);
        if let Some(made) = rw.func().def_op(value) {
            rw.set_locs(made, locs);
        }
        rw.replace_op(load, &[value]);
    }
    found
}

/// Where other shared memory of the launch nest lies: large tiles do not fit what is declared.
fn memory_of(func: &Func, nest: Op) -> Scope {
    let launch = nest_of(func, nest).unwrap_or(nest);
    let made = ops_under(func, func.op_regions(launch)[0]).filter(|&op| func.opcode(op) == tir::ALLOC);
    let mut scopes = made.filter_map(|op| Scope::of(func, func.result(op)?));
    scopes.find(|scope| scope.is_shared() && *scope != Scope::Shared).unwrap_or(Scope::Shared)
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
