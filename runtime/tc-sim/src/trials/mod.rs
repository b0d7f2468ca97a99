//! Which sizes a program that leaves some open is tried at.
//!
//! What goes wrong with sizes goes wrong at their ends and next to multiples of the tiles: those are tried first, then
//! the default. Tiles are the constant extents of the program's loops. Not all combinations are tried: each trial moves
//! every open size on by one. Where the host chooses kernels by sizes, its borders and branches are tried as well
//! (`branches`).

mod branches;

pub use branches::Unreached;

use crate::Sizes;
use crate::compile::sizes::eval_attr;
use std::collections::BTreeSet;
use tc_dialects::algebra::const_extent;
use tc_dialects::tir;
use tc_ir::walk::all_ops;
use tc_ir::{Attr, AttrData, Func, Module, keys};

/// Trials at most, those at borders apart.
const MAX_TRIALS: usize = 6;
/// A loop of more iterations is no tile: a block has no more threads.
const MAX_TILE: i64 = 1024;
/// Sizes are halved until their product is no more than this.
const MAX_PRODUCT: i64 = 1 << 20;
/// How far a size is moved to where the facts hold.
const MAX_MOVES: i64 = 4096;

/// What a program is run at.
#[derive(Clone, Default, Debug)]
pub struct Plan {
    /// Sizes, the most telling first: those that are given stay as they are. One set if nothing is open; none if no sizes
    /// were found for which the facts hold.
    pub trials: Vec<Sizes>,
    /// The branches of the host that no trial takes.
    pub unreached: Vec<Unreached>,
}

/// The sizes at which `@name` of `module` is worth running; see [`plan`].
pub fn sizes_to_try(module: &Module, name: &str, given: &Sizes) -> Vec<Sizes> {
    plan(module, name, given).trials
}

/// The sizes at which `@name` of `module` is worth running.
pub fn plan(module: &Module, name: &str, given: &Sizes) -> Plan {
    let only = || Plan { trials: vec![given.clone()], unreached: Vec::new() };
    let Some(func) = module.function(name) else { return only() };
    let open: Vec<usize> = (0..func.header.symbols.len())
        .filter(|&nth| !given.contains_key(func.text(func.header.symbols[nth].name)))
        .collect();
    if open.is_empty() {
        return only();
    }
    let tiles = tiles(module, func);
    let (least, most) = (tiles.first().copied().unwrap_or(2), tiles.last().copied().unwrap_or(2));
    let candidates = [2 * most + 3, most, most - 1, least + 1, 1];
    let mut trials: Vec<Sizes> = Vec::new();
    for first in 0..=candidates.len() {
        let wanted = |nth: usize| candidates.get((first + nth) % candidates.len()).copied().unwrap_or(1);
        // The last trial is the one at the defaults.
        let trial = if first < candidates.len() { fitting(func, given, &wanted) } else { defaults(func, given) };
        if let Some(trial) = trial
            && !trials.contains(&trial)
            && trials.len() < MAX_TRIALS
        {
            trials.push(trial);
        }
    }
    let unreached = branches::reach(func, given, &mut trials, least);
    Plan { trials, unreached }
}

/// The constant extents of the loops of `func` and of what it calls, ascending.
fn tiles(module: &Module, func: &Func) -> Vec<i64> {
    let mut tiles = BTreeSet::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut pending = vec![func];
    while let Some(func) = pending.pop() {
        for op in all_ops(func) {
            if func.opcode(op) == tir::FOR
                && let Some(extent @ 2..=MAX_TILE) = const_extent(func, op)
            {
                tiles.insert(extent);
            }
            if func.opcode(op) == tir::CALL
                && let Some(AttrData::Symbol(callee)) = func.attr_of(op, keys::CALLEE).map(|attr| func.attr_data(attr))
                && let Some(callee) = module.function(callee)
                && seen.insert(callee.symbol())
            {
                pending.push(callee);
            }
        }
    }
    tiles.into_iter().collect()
}

/// The sizes at their defaults; `None` where one has none.
fn defaults(func: &Func, given: &Sizes) -> Option<Sizes> {
    let mut sizes = given.clone();
    for symbol in &func.header.symbols {
        let name = func.text(symbol.name);
        if !sizes.contains_key(name) {
            let value = eval_attr(func, symbol.default?, &sizes)?;
            sizes.insert(name.to_string(), value);
        }
    }
    Some(sizes)
}

/// Sizes near those that are `wanted` of each open one, in their ranges, such that the facts hold.
fn fitting(func: &Func, given: &Sizes, wanted: &dyn Fn(usize) -> i64) -> Option<Sizes> {
    let mut sizes = given.clone();
    let mut product = 1i64;
    for (nth, symbol) in func.header.symbols.iter().enumerate() {
        let name = func.text(symbol.name);
        if let Some(&value) = sizes.get(name) {
            product = product.saturating_mul(value.max(1));
            continue;
        }
        let ends = symbol.range.map(|(low, high)| (eval_attr(func, low, &sizes), eval_attr(func, high, &sizes)));
        let (low, high) = ends.unwrap_or((None, None));
        let low = low.unwrap_or(1);
        let high = high.map_or(i64::MAX, |high| high.saturating_sub(1)).max(low);
        let mut start = wanted(nth).clamp(low, high);
        while product.saturating_mul(start) > MAX_PRODUCT && start / 2 >= low.max(1) {
            start /= 2;
        }
        let up = (0..MAX_MOVES).filter_map(|more| start.checked_add(more)).take_while(|&value| value <= high);
        let down = (1..MAX_MOVES).filter_map(|less| start.checked_sub(less)).take_while(|&value| value >= low);
        let mut near = up.chain(down);
        let value = near.find(|&value| {
            sizes.insert(name.to_string(), value);
            // What says something of a later size is asked once that has a value.
            let mut facts = func.header.facts.iter().filter(|&&fact| mentions_only(func, fact, &sizes));
            facts.all(|&fact| eval_attr(func, fact, &sizes).is_some_and(|value| value != 0))
        })?;
        product = product.saturating_mul(value.max(1));
    }
    Some(sizes)
}

/// Have all names in `attr` a value?
fn mentions_only(func: &Func, attr: Attr, sizes: &Sizes) -> bool {
    match func.attr_data(attr) {
        AttrData::Word(name) => sizes.contains_key(func.text(*name)),
        AttrData::Unary(_, arg) => mentions_only(func, *arg, sizes),
        AttrData::Binary(_, lhs, rhs) => mentions_only(func, *lhs, sizes) && mentions_only(func, *rhs, sizes),
        AttrData::Call(_, args) => args.iter().all(|&arg| mentions_only(func, arg, sizes)),
        _ => true,
    }
}
