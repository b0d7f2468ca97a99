//! Products of arrays that each thread has for itself, where all threads of a warp compute the same: the warp may as well
//! compute it together.

use super::automatic::{self, Shelf, nests_around, same_extents};
use super::library::Shelves;
use super::matching::unify;
use super::site::Site;
use super::tile;
use crate::analysis::launch::{Extent, Nest, nest_of};
use tc_dialects::fragment::Family;
use tc_dialects::tir::{self, Coordinate};
use tc_ir::opdef::Role;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Rewriter, TypeData, Value};
use tc_pass::PassCx;
use tc_support::Diagnostic;

/// Puts arrays in `local` into scopes of tiles where all that is done with them then becomes ops.
pub(super) fn run(func: &mut Func, shelves: &Shelves, cx: &mut PassCx) -> bool {
    let shelf = Shelf::of(shelves.lent());
    let mut changed = false;
    for store in all_ops(func).filter(|&op| is_local_store(func, op)).collect::<Vec<Op>>() {
        let Some(&buffer) = func.operands(store).first() else { continue };
        if !is_local_store(func, store) {
            continue;
        }
        let Some(scopes) = scopes(func, store, &shelf) else { continue };
        let mut tried = func.clone();
        scopes.iter().for_each(|(buffer, scope)| set_scope(&mut tried, *buffer, scope));
        let mut inner = PassCx::default();
        automatic::run(&mut tried, shelves, &mut inner);
        match leftover(&tried, &scopes) {
            None => {
                *func = tried;
                cx.count("arrays made tiles", scopes.len() as u64);
                cx.stats.merge(&inner.stats);
                changed = true;
            }
            Some((left, op)) => {
                let (name, left) = (func.value_text(buffer), func.value_text(left));
                let text = format!("the product in `{name}` stays one of each thread: `{left}` is used otherwise too");
                let diagnostic = Diagnostic::remark("tensorize", func.op_location(store), text);
                cx.report(diagnostic.label(tried.op_location(op), "used here"));
            }
        }
    }
    changed
}

/// Does `op` store to an array in `local`?
fn is_local_store(func: &Func, op: Op) -> bool {
    func.role(op) == Role::Store
        && func.operands(op).first().is_some_and(|&buffer| {
            tile::scope_of(func, buffer) == Some("local")
                && func.def_op(buffer).is_some_and(|made| func.opcode(made) == tir::ALLOC)
        })
}

/// The scopes that the arrays of a product around `store` would have, where one stands there that a warp can do.
fn scopes(func: &Func, store: Op, shelf: &Shelf<'_>) -> Option<Vec<(Value, String)>> {
    if !is_done_by_warps(func, store) {
        return None;
    }
    for nest in nests_around(func, store) {
        for intrinsic in shelf.products(Family::Wmma).filter(|each| same_extents(&nest, each, false)) {
            let mut site = Site::new(func, &nest);
            let Ok(matched) = unify(&mut site, intrinsic, false) else { continue };
            let scoped = matched.tiles.iter().map(|(&place, tile)| {
                let local = tile::scope_of(func, tile.buffer) == Some("local");
                let made = func.def_op(tile.buffer).is_some();
                (local && made).then_some((tile.buffer, intrinsic.scope(place)?.to_string()))
            });
            let scoped: Option<Vec<(Value, String)>> = scoped.collect();
            if let Some(scoped) = scoped.filter(|scoped| scoped.len() == matched.tiles.len()) {
                return Some(scoped);
            }
        }
    }
    None
}

/// Do whole warps run what stands at `op`: are there 32 threads, or a multiple, along `threadIdx.x`?
fn is_done_by_warps(func: &Func, op: Op) -> bool {
    let Some(outermost) = nest_of(func, op) else { return false };
    let nest = Nest::of(func, outermost);
    matches!(nest.extents[Coordinate::ThreadX.index()], Extent::Const(n) if n > 0 && n % 32 == 0)
}

fn set_scope(func: &mut Func, buffer: Value, scope: &str) {
    let scope = func.name(scope);
    let Some((elem, shape, _)) = func.as_shaped(func.value_type(buffer)) else { return };
    let shape = shape.into();
    let ty = func.ty(TypeData::Shaped { elem, shape, scope: Some(scope) });
    Rewriter::new(func).set_type(buffer, ty);
}

/// One of the arrays that is still used by its elements, and where.
fn leftover(func: &Func, scopes: &[(Value, String)]) -> Option<(Value, Op)> {
    all_ops(func).find_map(|op| {
        let by_element = matches!(func.role(op), Role::Load | Role::Store | Role::RefElement);
        let buffer = *func.operands(op).first()?;
        (by_element && scopes.iter().any(|(scoped, _)| *scoped == buffer)).then_some((buffer, op))
    })
}
