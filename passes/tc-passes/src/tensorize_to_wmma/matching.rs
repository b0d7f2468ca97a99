//! Does a nest compute what an intrinsic computes? Names of axes, the order of commutative operands and where the tiles
//! lie may differ; all else may not.

use super::attempt::Attempt;
use super::expression::{MAX_STEPS, inputs};
use super::site::{Site, Theirs};
use super::tile::Tile;
use indexmap::IndexMap;
use tc_dialects::te::Intrinsic;
use tc_ir::opdef::Role;
use tc_ir::{Op, Value};
use tc_support::Location;

/// Of this many commutative ops of an intrinsic all orders of operands are tried.
const MAX_COMMUTED: usize = 6;

/// What of the intrinsic a nest is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NestRole {
    /// All of one that reduces nothing.
    Whole,
    /// The first step of a reduction, which sets the result to the combiner's identity.
    First,
    /// Further steps of a reduction.
    Further,
    /// The first step and the further ones.
    Both,
}

/// A nest that computes what an intrinsic computes.
#[derive(Debug)]
pub(super) struct Matched {
    pub(super) step: NestRole,
    /// Where the parameters and the result lie.
    pub(super) tiles: IndexMap<Value, Tile>,
}

/// The first thing in which a nest and an intrinsic differ.
#[derive(Clone, Default, Debug)]
pub(super) struct Difference {
    /// How much was compared before.
    pub(super) steps: u32,
    pub(super) text: String,
    pub(super) ours: (Location, String),
    pub(super) theirs: (Location, String),
    /// Which axis was taken for which loop so far.
    pub(super) map: String,
}

/// Compares the nest of `site` with `intrinsic`. With `scopes` false the scopes of buffers are not compared.
pub(super) fn unify(site: &mut Site<'_>, intrinsic: &Intrinsic<'_>, scopes: bool) -> Result<Matched, Difference> {
    let mut theirs = Theirs::new(intrinsic);
    let commuted = commutative(intrinsic);
    let mut worst: Option<Difference> = None;
    // The written order first: of differences that are equally far on, it gives the one that is reported.
    for order in 0..1u32 << commuted.len() {
        let mut attempt = Attempt::new(site, &mut theirs, &commuted, order, scopes);
        match attempt.nest() {
            Ok(matched) => return Ok(matched),
            Err(found) if worst.as_ref().is_none_or(|worst| worst.steps < found.steps) => worst = Some(found),
            Err(_) => {}
        }
    }
    Err(worst.expect("the written order is always tried"))
}

/// The commutative ops of what `intrinsic` computes, in the order in which they are compared.
fn commutative(intrinsic: &Intrinsic<'_>) -> Vec<Op> {
    let func = intrinsic.func;
    let mut found = Vec::new();
    let (mut pending, mut steps) = (vec![intrinsic.element], 0);
    while let Some(value) = pending.pop() {
        steps += 1;
        let Some(op) = func.def_op(value).filter(|&op| steps < MAX_STEPS && func.role(op) != Role::Load) else {
            continue;
        };
        if func.row(op).commutative && found.len() < MAX_COMMUTED && !found.contains(&op) {
            found.push(op);
        }
        pending.extend(inputs(func, op).into_iter().rev());
    }
    found
}
