//! Directives over what a program has at the moment.

use crate::random::rng::Rng;
use tc::dialects::tir;
use tc::ir::walk::{all_ops, ancestors};
use tc::ir::{Func, Op, Value};

/// A loop, as a schedule names it.
struct Named {
    name: String,
    op: Op,
}

/// The loops of `func` that a schedule can name.
fn loops(func: &Func) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    for store in all_ops(func).filter(|&op| func.opcode(op) == tir::STORE) {
        let buffer = func.value_text(func.operand(store, 0));
        let mut around: Vec<Op> = ancestors(func, store).filter(|&op| func.opcode(op) == tir::FOR).collect();
        around.reverse();
        for op in around {
            let var = func.value_text(func.region_args(func.op_regions(op)[0])[0]);
            if !found.iter().any(|named| named.op == op) {
                found.push(Named { name: format!("{buffer}.{var}"), op });
            }
        }
    }
    found
}

fn buffers(func: &Func) -> Vec<(String, bool)> {
    let params = func.params().iter().map(|&param| (func.value_text(param).to_string(), false));
    let made = all_ops(func).filter(|&op| func.opcode(op) == tir::ALLOC).filter_map(|op| func.result(op));
    params.chain(made.map(|value: Value| (func.value_text(value).to_string(), true))).collect()
}

/// A directive for `func`, as number `nth` of its schedule; its name and its text.
pub fn draw(func: &Func, rng: &mut Rng, nth: usize) -> Option<(&'static str, String)> {
    let (loops, buffers) = (loops(func), buffers(func));
    let made: Vec<&String> = buffers.iter().filter(|buffer| buffer.1).map(|buffer| &buffer.0).collect();
    let any_loop = |rng: &mut Rng| loops.get(rng.below(loops.len())).map(|named| named.name.clone());
    let any = |rng: &mut Rng| buffers[rng.below(buffers.len())].0.clone();
    let own =
        |rng: &mut Rng| made.get(rng.below(made.len())).map_or_else(|| buffers[0].0.clone(), |name| name.to_string());
    let scope = |rng: &mut Rng| rng.pick(&["global", "shared", "shared", "registers", "local", "local"]);
    Some(match rng.below(40) {
        0..=4 => {
            let by = rng.pick(&["factor = 4", "factor = 2", "factor = 3", "factor = 16", "nparts = 2"]);
            ("split", format!("s{nth}o, s{nth}i = split({}, {by})", any_loop(rng)?))
        }
        5..=6 => {
            let (outer, inner) = pair(func, &loops, rng)?;
            ("fuse", format!("f{nth} = fuse({outer}, {inner})"))
        }
        7..=11 => {
            let (outer, inner) = pair(func, &loops, rng)?;
            ("reorder", format!("reorder({inner}, {outer})"))
        }
        12 => {
            let (outer, inner) = pair(func, &loops, rng)?;
            ("tile", format!("t{nth}a, t{nth}b, t{nth}c, t{nth}d = tile({outer}, {inner}, 2, 3)"))
        }
        13..=15 => ("distribute", format!("d{nth}a, d{nth}b = distribute({})", any_loop(rng)?)),
        16..=20 => {
            let coordinate =
                rng.pick(&["threadIdx.x", "threadIdx.x", "threadIdx.y", "blockIdx.x", "blockIdx.y", "vthread"]);
            ("bind", format!("bind({}, {coordinate})", any_loop(rng)?))
        }
        21 => ("vectorize", format!("vectorize({})", any_loop(rng)?)),
        22 => ("unroll", format!("unroll({})", any_loop(rng)?)),
        23..=25 => ("cache_read", format!("R{nth} = cache_read({}, {})", any(rng), scope(rng))),
        26..=27 => ("cache_write", format!("W{nth} = cache_write({}, {})", any(rng), scope(rng))),
        28..=32 => {
            let buffer = own(rng);
            let place = around(func, &loops, rng, &buffer, tir::LOAD).or_else(|| any_loop(rng))?;
            ("compute_at", format!("compute_at({buffer}, {place})"))
        }
        33..=35 => {
            let (buffer, source) = (any(rng), own(rng));
            let place = around(func, &loops, rng, &source, tir::STORE).or_else(|| any_loop(rng))?;
            (
                "reverse_compute_at",
                format!("reverse_compute_at({}, {place})", reader(func, rng, &source).unwrap_or(buffer)),
            )
        }
        36 => ("set_scope", format!("set_scope({}, {})", own(rng), scope(rng))),
        37 => match rng.below(3) {
            0 => ("storage_align", format!("storage_align({}, factor = 4, offset = 1)", any_loop(rng)?)),
            1 => ("double_buffer", format!("double_buffer({})", own(rng))),
            _ => ("pipeline", format!("pipeline({}, stages = 2)", any_loop(rng)?)),
        },
        38 => match rng.below(2) {
            0 => ("transform_layout", format!("transform_layout({}) (i, j) {{ yield j, i }}", own(rng))),
            _ => ("transform_layout", format!("transform_layout({}) (i) {{ yield i / 4, i % 4 }}", own(rng))),
        },
        _ => ("pragma", format!("pragma({}, loop_partition_hint = true)", any_loop(rng)?)),
    })
}

/// A loop around an access of `buffer` by ops of a kind.
fn around(func: &Func, loops: &[Named], rng: &mut Rng, buffer: &str, opcode: tc::ir::Opcode) -> Option<String> {
    let is_access = |&op: &Op| func.opcode(op) == opcode && func.value_text(func.operand(op, 0)) == buffer;
    let all: Vec<Op> = all_ops(func).filter(is_access).flat_map(|op| ancestors(func, op)).collect();
    let named: Vec<&Named> = loops.iter().filter(|named| all.contains(&named.op)).collect();
    named.get(rng.below(named.len())).map(|named| named.name.clone())
}

/// A buffer whose nest reads `source`.
fn reader(func: &Func, rng: &mut Rng, source: &str) -> Option<String> {
    let is_load = |&op: &Op| func.opcode(op) == tir::LOAD && func.value_text(func.operand(op, 0)) == source;
    let regions: Vec<_> = all_ops(func).filter(is_load).filter_map(|op| func.region_of(op)).collect();
    let stores = all_ops(func).filter(|&op| func.opcode(op) == tir::STORE);
    let near = stores.filter(|&op| func.region_of(op).is_some_and(|region| regions.contains(&region)));
    let names: Vec<String> =
        near.map(|op| func.value_text(func.operand(op, 0)).to_string()).filter(|name| name != source).collect();
    names.get(rng.below(names.len())).cloned()
}

/// Two loops, mostly of which one stands in the other.
fn pair(func: &Func, loops: &[Named], rng: &mut Rng) -> Option<(String, String)> {
    let one = loops.get(rng.below(loops.len()))?;
    let inside: Vec<&Named> = loops.iter().filter(|other| func.parent_op(other.op) == Some(one.op)).collect();
    let other = match inside.is_empty() || rng.chance(10) {
        true => loops.get(rng.below(loops.len()))?,
        false => inside[rng.below(inside.len())],
    };
    Some((one.name.clone(), other.name.clone()))
}
