//! What becomes of references to more than an element.
//!
//! One whose elements lie side by side becomes one to a stretch of the flat buffer. Where `wmma.load` or `wmma.store`
//! takes it, it names a tile whose rows are `stride` apart, and becomes one to the tile's first element.

use super::panels::Panels;
use super::strides::{Flattening, mul};
use indexmap::IndexMap;
use tc_dialects::fragment::{self, Family, Fragment, Layout, Use as Part, transfer};
use tc_dialects::threads::{Meeting, meeting};
use tc_dialects::tir;
use tc_ir::uses::{Use, Uses};
use tc_ir::walk::all_ops;
use tc_ir::{Attr, AttrData, Func, Op, TypeData, keys};
use tc_support::{Diagnostic, Diagnostics, counted};

/// What is to be done with references.
#[derive(Default)]
pub(super) struct ReferenceRewrites {
    /// Those that become references to stretches, with their lengths.
    pub(super) stretches: IndexMap<Op, Attr>,
    /// Those that some op takes for the first element of what they name; what else takes them is told by `stretches`.
    pub(super) firsts: IndexMap<Op, Vec<Use>>,
    /// Whole buffers that an op takes for their first element, or for what a thread holds of a tile.
    pub(super) buffers: IndexMap<(Op, usize), Whole>,
}

/// What a buffer stands for that is given as it is.
#[derive(Clone, Copy)]
pub(super) enum Whole {
    /// Its first element.
    First,
    /// All of its elements.
    All,
}

/// Finds what becomes of each, and refuses what cannot be flattened.
pub(super) fn plan(func: &mut Func, uses: &Uses, plan: &mut Flattening, found: &mut Diagnostics) {
    let ops: Vec<Op> = all_ops(func).collect();
    for op in ops {
        if let Some(Meeting::Tiles(family)) = meeting(func, op) {
            whole_buffers(func, (op, family), plan, found);
        }
        if !matches!(func.opcode(op), tir::REF | tir::REGION) {
            continue;
        }
        let Some(lengths) = lengths(func, op) else { continue };
        let users: Vec<Use> = func.result(op).map(|result| uses.of_value(result).to_vec()).unwrap_or_default();
        let is_fragment = is_one_fragment(func, op, &lengths);
        let is_factor = |user: &Use, plan: &Flattening| plan.factors.contains(user.op, user.idx);
        let (tiles, others): (Vec<Use>, Vec<Use>) =
            users.into_iter().partition(|user| is_fragment || is_tile(func, user) || is_factor(user, plan));
        let strides = plan.strides(func, func.operand(op, 0));
        for user in tiles.iter().filter(|_| !is_fragment) {
            if let Err(diagnostic) = check_tile(func, user.op, op, &lengths, &strides) {
                found.push(diagnostic);
            }
        }
        let is_only_tile = !tiles.is_empty() && others.is_empty();
        if !tiles.is_empty() {
            plan.references.firsts.insert(op, tiles);
        }
        if is_only_tile || !plan.buffers.contains_key(&func.operand(op, 0)) {
            continue;
        }
        let panels = plan.buffers.get(&func.operand(op, 0)).and_then(|flat| flat.panels);
        match stretch(func, op, &lengths, &strides, panels) {
            Ok(_) if is_indexed(func, &others, op) => found.push(gaps(func, op, "is indexed further")),
            Ok(length) => drop(plan.references.stretches.insert(op, length)),
            Err(diagnostic) => found.push(diagnostic),
        }
    }
}

/// The lengths of what the reference `op` names in each dimension of its buffer; `None` where it names an element.
fn lengths(func: &mut Func, op: Op) -> Option<Vec<Attr>> {
    let (_, shape, _) = tir::place_type(func, func.operand(op, 0))?;
    let shape = shape.to_vec();
    if func.opcode(op) == tir::REGION {
        return match func.attr_named(op, "lengths").map(|attr| func.attr_data(attr)) {
            Some(AttrData::List(list)) if list.len() == shape.len() => Some(list.to_vec()),
            _ => None,
        };
    }
    let n_indices = func.operands(op).len() - 1;
    if n_indices >= shape.len() {
        return None;
    }
    let mut lengths = vec![func.int_attr(1); n_indices];
    lengths.extend_from_slice(&shape[n_indices..]);
    Some(lengths)
}

/// Does the reference `op` name one fragment?
fn is_one_fragment(func: &Func, op: Op, lengths: &[Attr]) -> bool {
    let elem = tir::place_type(func, func.operand(op, 0)).and_then(|(elem, _, _)| Fragment::of(func, elem));
    elem.is_some() && lengths.iter().all(|&length| func.as_int(length) == Some(1))
}

/// Does this use name a tile in memory, whose rows are `stride` apart?
fn is_tile(func: &Func, user: &Use) -> bool {
    transfer(func, user.op).is_some_and(|moved| moved.memory == user.idx)
}

/// Operands of a matrix op that are buffers, and not references, stand for their first tile, or for all of one.
fn whole_buffers(func: &mut Func, (op, family): (Op, Family), plan: &mut Flattening, found: &mut Diagnostics) {
    for (idx, &place) in func.operands(op).to_vec().iter().enumerate() {
        let user = Use { op, idx };
        let Some((elem, shape, _)) = func.as_shaped(func.value_type(place)) else { continue };
        let (elem, lengths) = (elem, shape.to_vec());
        if is_tile(func, &user) {
            let strides = plan.strides(func, place);
            if let Err(diagnostic) = check_tile(func, op, op, &lengths, &strides) {
                found.push(diagnostic);
            }
        } else if plan.factors.contains(op, idx) {
            // The first element, which the descriptor goes with.
        } else if family != Family::Wmma {
            plan.references.buffers.insert((op, idx), Whole::All);
            continue;
        } else if Fragment::of(func, elem).is_none() {
            continue;
        }
        plan.references.buffers.insert((op, idx), Whole::First);
    }
}

/// Holds the elements that a region names against those that the op `user` moves: rows of the tile, `stride` apart.
fn check_tile(func: &mut Func, user: Op, at: Op, lengths: &[Attr], strides: &[Attr]) -> Result<(), Diagnostic> {
    let Some(moved) = transfer(func, user) else { return Ok(()) };
    let Some(tile) = fragment::tile(func, func.operand(user, moved.held)) else { return Ok(()) };
    let (mut rows, mut cols) = tile.image;
    let turned = func.word_of(user, keys::LAYOUT) == Some(Layout::ColMajor.name());
    if tile.fragment.is_some() && tile.part == Part::Accumulator && turned {
        (rows, cols) = (cols, rows);
    }
    let stride = func.const_int(func.operand(user, moved.stride));
    let Some(runs) = runs(func, lengths, strides) else {
        // Extents that are open are those of the elements that the caller answers for.
        return Ok(());
    };
    let distance = match runs[..] {
        [(n, 1)] if Some(n) == rows.checked_mul(cols) => cols,
        [(c, 1), (r, distance)] if (r, c) == (rows, cols) => distance,
        _ => {
            let shown: Vec<String> = lengths.iter().map(|&length| func.show_attr(length)).collect();
            let text = format!(
                "`{}` moves {rows} rows of {}, and the region has {}",
                func.op_name(user),
                counted(cols, "element"),
                shown.join(" x ")
            );
            let help = "name the rows and columns of the tile, the elements of a row side by side";
            return Err(Diagnostic::error("region", func.op_location(at), text).help(help));
        }
    };
    match stride {
        Some(stride) if stride != distance => {
            let text = format!(
                "the rows of this region are {} apart, and the stride is {stride}",
                counted(distance, "element")
            );
            let help = format!("write `stride = {distance}`, or refer to the tile's first element");
            Err(Diagnostic::error("stride", func.op_location(user), text).help(help))
        }
        _ => Ok(()),
    }
}

/// The dimensions of a region that are longer than one, innermost first, as lengths and distances; what follows each
/// other without a gap is one. `None` where they are not constant.
fn runs(func: &Func, lengths: &[Attr], strides: &[Attr]) -> Option<Vec<(i64, i64)>> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for (&length, &stride) in lengths.iter().zip(strides).rev() {
        let length = func.as_int(length)?;
        if length == 1 {
            continue;
        }
        let stride = func.as_int(stride)?;
        match runs.last_mut() {
            Some((n, step)) if n.checked_mul(*step) == Some(stride) => *n = n.checked_mul(length)?,
            _ => runs.push((length, stride)),
        }
    }
    Some(runs)
}

/// The length of the stretch of the flat buffer that a region becomes.
fn stretch(
    func: &mut Func,
    op: Op,
    lengths: &[Attr],
    strides: &[Attr],
    panels: Option<Panels>,
) -> Result<Attr, Diagnostic> {
    let one = func.int_attr(1);
    let mut shape = match tir::place_type(func, func.operand(op, 0)) {
        Some((_, shape, _)) => shape.to_vec(),
        None => return Ok(one),
    };
    if let Some(panels) = panels {
        // One panel at a time: of it the rows follow each other.
        let start = func.operands(op).last().and_then(|&start| func.const_int(start));
        let length = lengths.last().and_then(|&length| func.as_int(length));
        if start.is_none_or(|start| start % panels.columns != 0) || length != Some(panels.columns) {
            return Err(gaps(func, op, "is no panel of it"));
        }
        if let Some(last) = shape.last_mut() {
            *last = func.int_attr(panels.columns);
        }
    }
    // Inside out: while a dimension is covered whole and lies close, the next one may have any length; after that, one.
    let mut length = one;
    let mut close = true;
    for dim in (0..shape.len()).rev() {
        if lengths[dim] == one {
            close &= shape[dim] == one;
            continue;
        }
        if !close || strides[dim] != length {
            return Err(gaps(func, op, "has gaps"));
        }
        close = lengths[dim] == shape[dim];
        length = mul(func, length, lengths[dim]);
    }
    Ok(length)
}

fn gaps(func: &Func, op: Op, why: &str) -> Diagnostic {
    let name = func.value_text(func.operand(op, 0));
    let text = format!("this region of `{name}` {why}, and `{name}` is to have one dimension");
    let help = "refer to its first element, and give the distance of rows to the op that takes it";
    Diagnostic::error("region", func.op_location(op), text).help(help)
}

/// Is the reference that `op` makes to several dimensions, and taken for a buffer by an access?
fn is_indexed(func: &Func, users: &[Use], op: Op) -> bool {
    let Some(result) = func.result(op) else { return false };
    let many = matches!(func.type_data(func.value_type(result)), TypeData::Ref { shape, .. } if shape.len() > 1);
    let taken =
        |user: &Use| user.idx == 0 && matches!(func.opcode(user.op), tir::LOAD | tir::STORE | tir::REF | tir::REGION);
    many && users.iter().any(taken)
}
