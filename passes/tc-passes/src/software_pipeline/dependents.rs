//! Which statements must wait for asynchronous copies that others begin.

use super::body::{Body, under};
use super::phases::{Stay, Stays};
use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};
use tc_dialects::threads::{CopyStep, begins_copy, copy_step};
use tc_ir::{Func, Op, Value, effects};

/// What may be outstanding of the asynchronous copies that a statement begins, when it is over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outstanding {
    Nothing,
    /// Copies of a group that has ended.
    Groups,
    /// Copies of which no group has been made.
    Copies,
}

fn outstanding(func: &Func, op: Op, before: Outstanding) -> Outstanding {
    match copy_step(func, op) {
        Some(CopyStep::Begin) => Outstanding::Copies,
        Some(CopyStep::Commit) => before.min(Outstanding::Groups),
        Some(CopyStep::Wait { pending: 0 }) if before == Outstanding::Groups => Outstanding::Nothing,
        Some(CopyStep::Wait { .. }) | None => {
            // Statements nest as deep as the text does. A region may not be run, or run again after itself.
            let regions = func.op_regions(op).iter();
            regions.fold(before, |most, &region| {
                most.max(func.ops(region).fold(before, |now, inner| outstanding(func, inner, now)))
            })
        }
    }
}

/// The buffers that the asynchronous copies under `op` write.
fn copied(func: &Func, op: Op) -> impl Iterator<Item = Value> + '_ {
    under(func, op).filter(|&inner| begins_copy(func, inner)).flat_map(|inner| {
        let accesses = effects::accesses(func, inner).into_iter().filter(|(_, access)| access.writes());
        accesses.map(|(place, _)| effects::root_buffer(func, place)).collect::<Vec<_>>()
    })
}

/// Of `writers`, those that must wait for asynchronous copies: they read what is copied, or what such statements make, or
/// write after the copy what it writes, or write or prepare the same buffer as one of them. Beside them those of which this
/// holds and that make such copies themselves: there is one group of copies an iteration, so these have to wait in place.
/// So has what reads copies whose group ends within their statement, for that is waited for by the body.
pub(super) fn dependents(body: &Body<'_>, writers: &IndexSet<Op>) -> (FxHashSet<Op>, Stays) {
    let func = body.func;
    let makes_copies = |op: Op| copied(func, op).next().is_some();
    let of = |wanted: Outstanding| -> FxHashSet<Value> {
        let statements = writers.iter().filter(|&&op| outstanding(func, op, Outstanding::Nothing) == wanted);
        statements.flat_map(|&op| copied(func, op)).collect()
    };
    let (mut awaited, in_place) = (of(Outstanding::Copies), of(Outstanding::Groups));
    let (mut found, mut stays) = (FxHashSet::default(), Stays::default());
    let (mut made, mut prepared) = (FxHashSet::default(), FxHashSet::default());
    if awaited.is_empty() && in_place.is_empty() {
        return (found, stays);
    }
    let reads = |op: Op| -> Vec<Value> {
        let closure = body.slice([op]).ops.into_iter();
        closure.flat_map(|op| body.touches(op).reads.iter().map(|&(buffer, _)| buffer)).collect()
    };
    let reads: FxHashMap<Op, Vec<Value>> = writers.iter().map(|&op| (op, reads(op))).collect();
    let overwrites = overwrites(body, writers);
    loop {
        let before = found.len();
        for &op in writers {
            if reads[&op].iter().any(|buffer| in_place.contains(buffer)) {
                stays.insert(op, Stay::new("it reads asynchronous copies whose group ends within their statement"));
                continue;
            }
            let waits = reads[&op].iter().any(|buffer| awaited.contains(buffer)) || overwrites.contains(&op);
            if makes_copies(op) {
                if waits {
                    let text = "it copies asynchronously itself, and depends on what is copied so";
                    stays.insert(op, Stay::new(text));
                }
                continue;
            }
            let mut written = body.touches(op).writes.iter().map(|&(buffer, _)| buffer);
            if !found.contains(&op) && (waits || written.any(|b| made.contains(&b) || prepared.contains(&b))) {
                found.insert(op);
                let written = body.touches(op).writes.iter().map(|&(buffer, _)| buffer);
                made.extend(written.clone());
                awaited.extend(written);
                prepared.extend(reads[&op].iter().copied().filter(|&buffer| body.is_shared_by_iterations(buffer)));
            }
        }
        if found.len() == before {
            return (found, stays);
        }
    }
}

/// Of `writers`, those that write what one that stands before them copies.
fn overwrites(body: &Body<'_>, writers: &IndexSet<Op>) -> FxHashSet<Op> {
    let mut begun: Vec<(Value, Op)> = Vec::new();
    let mut found = FxHashSet::default();
    for &op in writers {
        let written = body.touches(op).writes.iter().map(|&(buffer, _)| buffer);
        let copied_before = written.flat_map(|buffer| begun.iter().filter(move |&&(copied, _)| copied == buffer));
        if copied_before.into_iter().any(|&(buffer, copy)| body.both_write(copy, op, buffer)) {
            found.insert(op);
        }
        begun.extend(copied(body.func, op).map(|buffer| (buffer, op)));
    }
    found
}
