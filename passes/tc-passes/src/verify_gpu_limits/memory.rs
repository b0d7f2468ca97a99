//! Bytes of buffers beside what a block or a thread may have.

use super::blamed;
use crate::analysis::launch::Nest;
use tc_dialects::scope::Scope;
use tc_dialects::{mbarrier, tir};
use tc_ir::{AttrData, Func, Op, Region, Value, keys};
use tc_support::Diagnostic;
use tc_target::Target;

/// A buffer, with its bytes where they are constant.
#[derive(Clone, Copy)]
struct Held {
    op: Op,
    buffer: Value,
    bytes: Option<u64>,
}

fn total(held: &[Held]) -> u64 {
    held.iter().filter_map(|held| held.bytes).fold(0u64, u64::saturating_add)
}

/// A memory that is for a block or a thread alone.
pub(super) struct Memory {
    /// The code of a diagnostic.
    code: &'static str,
    /// Whose it is, and what it is called.
    whose: &'static str,
    name: &'static str,
    /// What of it there is.
    limit: fn(&Target) -> u64,
    holds: fn(Scope) -> bool,
    /// The buffers that count together, of all of the scope.
    together: fn(&Func, Vec<Held>) -> Vec<Held>,
    help: &'static str,
}

/// The memories that are checked.
pub(super) const ALL: [Memory; 2] = [
    Memory {
        code: "shared-memory",
        whose: "block",
        name: "shared memory",
        limit: |target| target.max_shared_per_block,
        holds: Scope::is_shared,
        together: |_, all| all,
        help: "copy less at a time: attach the copy deeper, or split by a smaller factor",
    },
    Memory {
        code: "local-memory",
        whose: "thread",
        name: "local memory",
        limit: |target| target.local_per_thread,
        holds: |scope| scope == Scope::Local,
        together: at_once,
        help: "compute less at a time: attach the stage deeper, or bind more of its axes to threads",
    },
];

impl Memory {
    /// Are there more bytes of buffers in it than there are?
    pub(super) fn check(&self, func: &Func, nest: &Nest, target: &Target) -> Option<Diagnostic> {
        let allocs = nest.ops(func).filter(|&op| func.opcode(op) == tir::ALLOC);
        let buffers = allocs.filter_map(|op| Some((op, func.result(op)?)));
        let buffers = buffers.filter(|&(_, buffer)| self.holds(func, buffer));
        let all = buffers.map(|(op, buffer)| Held { op, buffer, bytes: bytes(func, buffer) }).collect();
        let held = (self.together)(func, all);
        let total = total(&held);
        let limit = (self.limit)(target);
        if total <= limit {
            return None;
        }
        let largest = held.iter().max_by_key(|held| held.bytes)?.op;
        let (whose, name) = (self.whose, self.name);
        let text =
            format!("a {whose} needs {} bytes of {name}, and `{target}` has {}", thousands(total), thousands(limit));
        let mut diagnostic = blamed(func, largest, Diagnostic::error(self.code, func.op_location(largest), text));
        for Held { buffer, bytes, .. } in held {
            let (name, ty) = (func.value_text(buffer), func.show_type(func.value_type(buffer)));
            let size = bytes.map_or("not constant".to_string(), |bytes| format!("{} bytes", thousands(bytes)));
            diagnostic = diagnostic.note(format!("`{name}: {ty}`: {size}"));
        }
        Some(diagnostic.help(self.help))
    }

    fn holds(&self, func: &Func, buffer: Value) -> bool {
        Scope::of(func, buffer).is_some_and(self.holds)
    }
}

/// Those of `all`, in the order of the program, that take the most while they are there at once: a buffer is there from
/// its alloc to the end of the region.
fn at_once(func: &Func, all: Vec<Held>) -> Vec<Held> {
    // Open regions, outermost first, each with the bytes that there were where it began.
    let mut open: Vec<(Region, u64)> = Vec::new();
    let (mut now, mut most, mut fullest) = (0u64, 0, None);
    for held in &all {
        let regions = regions(func, held.op);
        let still = open.iter().zip(&regions).take_while(|((open, _), region)| open == *region).count();
        if let Some(&(_, before)) = open.get(still) {
            now = before;
            open.truncate(still);
        }
        open.extend(regions[still..].iter().map(|&region| (region, now)));
        now = now.saturating_add(held.bytes.unwrap_or(0));
        if now > most {
            (most, fullest) = (now, Some(held.op));
        }
    }
    let Some(fullest) = fullest else { return Vec::new() };
    let around = regions(func, fullest);
    let last = all.iter().position(|held| held.op == fullest).unwrap_or(0);
    let is_there = |held: &Held| func.region_of(held.op).is_some_and(|region| around.contains(&region));
    all.into_iter().take(last + 1).filter(is_there).collect()
}

/// The regions around `op`, outermost first.
fn regions(func: &Func, op: Op) -> Vec<Region> {
    let mut found: Vec<Region> = Vec::new();
    let mut at = func.region_of(op);
    while let Some(region) = at {
        found.push(region);
        at = func.region_parent(region).and_then(|parent| func.region_of(parent));
    }
    found.reverse();
    found
}

/// The bytes of a buffer with padding; `None` where its size is not constant.
fn bytes(func: &Func, buffer: Value) -> Option<u64> {
    let (elem, shape, _) = func.as_shaped(func.value_type(buffer))?;
    let element = match func.as_scalar(elem) {
        Some(scalar) => u64::from(scalar.bytes()),
        None if mbarrier::is_barrier_type(func, elem) => mbarrier::BARRIER_BYTES.into(),
        None => return None,
    };
    let extents = shape.iter().map(|&dim| func.as_int(dim)).collect::<Option<Vec<i64>>>()?;
    let strides = func.buffer_attr(buffer, keys::STRIDES).and_then(|attr| match func.attr_data(attr) {
        AttrData::List(list) => list.iter().map(|&stride| func.as_int(stride)).collect::<Option<Vec<i64>>>(),
        _ => None,
    });
    let elements = match strides {
        Some(strides) if strides.len() == extents.len() => {
            let reach = extents.iter().zip(&strides).map(|(&extent, &stride)| extent.saturating_mul(stride));
            reach.chain([1]).max()?
        }
        _ => extents.iter().fold(1i64, |product, &extent| product.saturating_mul(extent)),
    };
    Some(u64::try_from(elements).ok()?.saturating_mul(element))
}

/// `61440` as `61,440`.
fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
