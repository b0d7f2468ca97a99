//! Loops over tiles that no schedule marked.

use super::find::{self, Nest};
use super::fit;
use super::library::Shelves;
use super::marked::counter;
use super::matching::{Difference, Matched, NestRole, unify};
use super::site::Site;
use super::substitute::{Replacement, substitute};
use super::tile;
use indexmap::IndexMap;
use tc_dialects::fragment::{Family, Layout, Use, scope_use, transfer};
use tc_dialects::te::Intrinsic;
use tc_dialects::{tir, wmma};
use tc_ir::opdef::Role;
use tc_ir::walk::{all_ops, ancestors, ops_under};
use tc_ir::{Func, Op, Value, effects, keys};
use tc_pass::PassCx;
use tc_support::Diagnostic;

/// A nest of more loops than this is no tile.
const MAX_LOOPS: usize = 4;

/// Puts intrinsics of the library in the place of loops over tiles; returns whether there were any.
pub(super) fn run(func: &mut Func, shelves: &Shelves, cx: &mut PassCx) -> bool {
    if !has_tiles(func) {
        return false;
    }
    let shelf = Shelf::of(shelves.lent());
    let mut changed = false;
    let mut closest = IndexMap::new();
    // Products first: how a factor lies, which its loads must know, is told by them.
    for kind in [Kind::Product, Kind::Move] {
        let layouts = layouts(func);
        for store in stores(func, kind) {
            if is_live(func, store) && replace(func, store, &shelf, kind, &layouts, &mut closest, cx) {
                changed = true;
            }
        }
    }
    remark(func, &closest, cx);
    changed
}

/// Does the function make buffers of tiles of numbers?
pub(super) fn has_tiles(func: &Func) -> bool {
    all_ops(func).any(|op| {
        func.opcode(op) == tir::ALLOC
            && func.result(op).is_some_and(|buffer| {
                let numbers =
                    func.as_shaped(func.value_type(buffer)).is_some_and(|(elem, ..)| func.as_scalar(elem).is_some());
                numbers && tile::is_tiles(func, buffer)
            })
    })
}

/// What a store is looked at as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A step of a sum of products.
    Product,
    /// A fill, a load or a store of a tile of `wmma`.
    Move,
}

/// The intrinsics that may be taken without being named, taken apart once.
pub(super) struct Shelf<'i>(Vec<Intrinsic<'i>>);

impl<'i> Shelf<'i> {
    pub(super) fn of(lent: &'i [Func]) -> Shelf<'i> {
        let unnamed = lent.iter().filter(|item| item.entry(item.header.attrs, keys::NUMERICS).is_none());
        Shelf(unnamed.filter_map(Intrinsic::of).collect())
    }

    /// Those that are products of `family`.
    pub(super) fn products(&self, family: Family) -> impl Iterator<Item = &Intrinsic<'i>> {
        self.0.iter().filter(move |each| {
            let scope = each.scope(each.result).and_then(scope_use);
            each.reduction.is_some() && scope == Some((family, Use::Accumulator))
        })
    }
}

/// The family and use of the tiles that `buffer` is made of.
fn tiles_of(func: &Func, buffer: Value) -> Option<(Family, Use)> {
    scope_use(tile::scope_of(func, buffer)?)
}

/// The buffers that what `store` stores is computed from.
fn sources(func: &Func, store: Op) -> Vec<Value> {
    let mut found = Vec::new();
    let mut worklist: Vec<Value> = func.operands(store).last().copied().into_iter().collect();
    let mut fuel = 64;
    while let Some(value) = worklist.pop() {
        fuel -= 1;
        let Some(op) = func.def_op(value).filter(|_| fuel > 0) else { continue };
        match (func.role(op), func.operands(op).first()) {
            (Role::Load, Some(&buffer)) => found.push(buffer),
            _ => worklist.extend_from_slice(func.operands(op)),
        }
    }
    found
}

/// Is `store` a step of a sum of products of tiles?
fn is_product(func: &Func, store: Op) -> bool {
    let Some(&buffer) = func.operands(store).first() else { return false };
    let is = |part| move |&source: &Value| tiles_of(func, source).is_some_and(|(_, of)| of == part);
    let sources = sources(func, store);
    tiles_of(func, buffer).is_some_and(|(_, part)| part == Use::Accumulator)
        && sources.iter().any(is(Use::A))
        && sources.iter().any(is(Use::B))
}

/// Does `store` move a tile of `wmma`?
fn is_move(func: &Func, store: Op) -> bool {
    let of_wmma = |buffer: &Value| tiles_of(func, *buffer).is_some_and(|(family, _)| family == Family::Wmma);
    func.operands(store).first().is_some_and(of_wmma) || sources(func, store).iter().any(of_wmma)
}

fn stores(func: &Func, kind: Kind) -> Vec<Op> {
    let wanted = |&op: &Op| func.role(op) == Role::Store && is_product(func, op) == (kind == Kind::Product);
    let stores = all_ops(func).filter(wanted);
    stores.filter(|&op| kind == Kind::Product || is_move(func, op)).collect()
}

/// Does `op` stand in the function still?
fn is_live(func: &Func, op: Op) -> bool {
    let outermost = ancestors(func, op).last().unwrap_or(op);
    func.region_of(outermost) == Some(func.body())
}

/// How the factors lie, by what the products that are there say.
fn layouts(func: &Func) -> IndexMap<Value, Layout> {
    let mut found = IndexMap::new();
    for op in all_ops(func).filter(|&op| func.opcode(op) == wmma::MMA) {
        for (nth, key) in [(1, keys::A_LAYOUT), (2, keys::B_LAYOUT)] {
            if let Some(&place) = func.operands(op).get(nth) {
                let layout = func.word_of(op, key).and_then(Layout::parse).unwrap_or_default();
                found.insert(effects::root_buffer(func, place), layout);
            }
        }
    }
    found
}

/// The nests around `store`, inner ones first.
pub(super) fn nests_around(func: &Func, store: Op) -> Vec<Nest> {
    let around: Vec<Op> = ancestors(func, store).take_while(|&op| func.opcode(op) == tir::FOR).collect();
    let mut found = Vec::new();
    for root in around {
        let Ok(nest) = find::nest(func, root) else { break };
        if nest.loops().filter(|each| each.extent != 1).count() > MAX_LOOPS {
            break;
        }
        found.push(nest);
    }
    found
}

/// The extents of the loops of `nest`, and of the axes of `intrinsic`, are the same ones.
pub(super) fn same_extents(nest: &Nest, intrinsic: &Intrinsic<'_>, is_literal: bool) -> bool {
    let sorted = |extents: &mut dyn Iterator<Item = i64>| {
        let mut extents: Vec<i64> = extents.filter(|&extent| extent != 1).collect();
        extents.sort_unstable();
        extents
    };
    let loops = sorted(&mut nest.loops().map(|each| each.extent));
    let axes = if is_literal && intrinsic.reduction.is_some() {
        sorted(&mut intrinsic.axes.iter().map(|axis| axis.extent))
    } else {
        sorted(&mut intrinsic.all_axes().map(|axis| axis.extent))
    };
    loops == axes
}

/// Finds what stands for a nest around `store`, and puts it there.
fn replace(
    func: &mut Func,
    store: Op,
    shelf: &Shelf<'_>,
    kind: Kind,
    layouts: &IndexMap<Value, Layout>,
    closest: &mut IndexMap<Op, String>,
    cx: &mut PassCx,
) -> bool {
    let operands = func.operands(store);
    let Some(&stored) = operands.last() else { return false };
    let is_literal = func.constant(stored).is_some();
    let mut best: Option<(Difference, String)> = None;
    for nest in nests_around(func, store) {
        for intrinsic in shelf.0.iter().filter(|each| may_stand(func, store, each, kind, layouts)) {
            if !same_extents(&nest, intrinsic, is_literal) {
                continue;
            }
            match plan(func, &nest, intrinsic) {
                Ok(plan) => {
                    cx.count(counter(plan.matched.step), 1);
                    substitute(func, intrinsic, &plan);
                    return true;
                }
                Err(found) => {
                    if best.as_ref().is_none_or(|(best, _)| best.steps < found.steps) {
                        best = Some((found, intrinsic.func.symbol().to_string()));
                    }
                }
            }
        }
    }
    if let Some((found, symbol)) = best {
        closest.insert(store, format!("`@{symbol}` comes closest: {}", found.text));
    }
    false
}

/// May `intrinsic` stand for what `store` does, by what is seen at a glance?
fn may_stand(func: &Func, store: Op, intrinsic: &Intrinsic<'_>, kind: Kind, layouts: &IndexMap<Value, Layout>) -> bool {
    let Some(&buffer) = func.operands(store).first() else { return false };
    if tile::same_kind(func, buffer, intrinsic, intrinsic.result, true).is_err() {
        return false;
    }
    if kind == Kind::Product {
        return intrinsic.reduction.is_some();
    }
    // Square tiles lie alike in both layouts, and only the product knows which one is meant.
    let loads = intrinsic.body.into_iter().flat_map(|body| ops_under(intrinsic.func, body));
    loads.into_iter().filter(|&op| transfer(intrinsic.func, op).is_some_and(|moved| moved.loads)).all(|op| {
        let layout = intrinsic.func.word_of(op, keys::LAYOUT).and_then(Layout::parse).unwrap_or_default();
        layouts.get(&buffer).copied().unwrap_or_default() == layout
    })
}

/// What puts `intrinsic` in the place of `nest`.
fn plan(func: &Func, nest: &Nest, intrinsic: &Intrinsic<'_>) -> Result<Replacement, Difference> {
    let mut site = Site::new(func, nest);
    let matched = unify(&mut site, intrinsic, true)?;
    let whole = Difference::unplaced(&matched);
    let partly = match matched.step {
        NestRole::Further => intrinsic.update.is_none(),
        NestRole::First => intrinsic.init.is_none(),
        NestRole::Whole | NestRole::Both => false,
    };
    if partly {
        return Err(whole("it has no such step".to_string()));
    }
    let fit = fit::fit(&mut site, intrinsic, &matched).map_err(|found| whole(found.text))?;
    let algebra = site.algebra;
    Ok(Replacement { nest: nest.clone(), matched, fit, algebra })
}

impl Difference {
    /// What is reported of a nest that computes the same, but not where or how it must.
    fn unplaced(matched: &Matched) -> impl Fn(String) -> Difference + use<> {
        let steps = u32::MAX - u32::from(matched.tiles.is_empty());
        move |text| Difference { steps, text, ..Difference::default() }
    }
}

/// Tells what over tiles is left: a fill, a load or a store of a tile of `wmma`, and a product.
fn remark(func: &Func, closest: &IndexMap<Op, String>, cx: &mut PassCx) {
    for store in stores(func, Kind::Product).into_iter().chain(stores(func, Kind::Move)) {
        let buffers = func.operands(store).first().copied().into_iter().chain(sources(func, store));
        let Some(buffer) = buffers.into_iter().find(|&buffer| tiles_of(func, buffer).is_some()) else { continue };
        let text =
            format!("no intrinsic of the library stands for this loop over the tiles of `{}`", func.value_text(buffer));
        let mut found = Diagnostic::remark("tensorize", func.op_location(store), text)
            .help("mark the loop with an intrinsic of your own; one whose numbers differ (tf32) must be named");
        found.notes.extend(closest.get(&store).cloned());
        cx.report(found);
    }
}
