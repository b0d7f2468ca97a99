//! Tiles of `mma`, whole or as one thread holds them.

use crate::fragment::{Family, Use, mma_k, per_lane, product, scope_use};
use crate::scope::{Scope, scope_text};
use crate::tir::place_type;
use crate::wmma::verify::{check_product, expect_tile, layout, product_tiles};
use tc_ir::{Elem, Func, Op, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

fn error(func: &Func, op: Op, code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, func.op_location(op), message)
}

/// What one thread holds of a tile: how many elements of which type. `None` where `place` is not in `local`.
pub fn held(func: &Func, place: Value) -> Option<(Elem, i64)> {
    let (elem, shape, scope) = place_type(func, place)?;
    if Scope::of_name(func, scope) != Some(Scope::Local) {
        return None;
    }
    let n = shape.iter().try_fold(1i64, |product, &dim| product.checked_mul(func.as_int(dim)?))?;
    func.as_scalar(elem).filter(|scalar| scalar.lanes == 1).map(|scalar| (scalar.elem, n))
}

/// The rows of 16 bytes that the threads name.
fn check_row(func: &Func, op: Op, place: Value, elem: Elem, found: &mut Diagnostics) {
    let Some((row_elem, shape, scope)) = place_type(func, place) else {
        return found.push(error(func, op, "type", "a row is a place in shared memory".to_string()));
    };
    if !Scope::of_name(func, scope).is_some_and(Scope::is_shared) {
        let scope = scope_text(func, scope);
        let text = format!("`mma.ldmatrix` loads from shared memory, not from `{scope}`");
        found.push(
            error(func, op, "scope", text)
                .help("copy the tile to shared memory first, or load it without an intrinsic"),
        );
    }
    let n = shape.iter().try_fold(1i64, |product, &dim| product.checked_mul(func.as_int(dim)?));
    let want = 16 / i64::from(elem.bytes());
    if n != Some(want) || func.as_scalar(row_elem).is_none_or(|scalar| scalar.elem != elem || scalar.lanes != 1) {
        let text = format!("a row is {want} of `{}`, not `{}`", elem.name(), func.show_type(func.value_type(place)));
        found.push(error(func, op, "type", text).help(format!("name the row: `&S[i : 1, j : {want}]`")));
    }
}

pub(super) fn ldmatrix(func: &Func, op: Op, found: &mut Diagnostics) {
    let (place, row) = (func.operand(op, 0), func.operand(op, 1));
    let (elem, elements) = match held(func, place) {
        Some((elem, n)) => (elem, n.saturating_mul(32)),
        None => match expect_tile(func, op, place, Family::Mma, None, found) {
            Some(tile) => (tile.elem, tile.image.0.saturating_mul(tile.image.1)),
            None => return,
        },
    };
    if let Some((_, _, Some(scope))) = place_type(func, place)
        && let Some((_, Use::Accumulator)) = scope_use(func.text(scope))
    {
        return found.push(error(func, op, "scope", "`mma.ldmatrix` loads factors, not accumulators".to_string()));
    }
    let bytes = elements.saturating_mul(i64::from(elem.bytes()));
    if !matches!(bytes, 128 | 256 | 512) {
        let text = format!("`mma.ldmatrix` loads 1, 2 or 4 matrices of 128 bytes, not {bytes} bytes");
        found.push(error(func, op, "extent", text));
    }
    check_row(func, op, row, elem, found);
    layout(func, op, keys::LAYOUT, found);
    if transposed(func, op) && elem.bytes() != 2 {
        let text = format!("`mma.ldmatrix` transposes elements of 16 bits, not `{}`", elem.name());
        found.push(error(func, op, "type", text));
    }
}

/// Is the load `op` a transposing one?
pub fn transposed(func: &Func, op: Op) -> bool {
    func.attr_of(op, keys::TRANSPOSED).is_some_and(|attr| func.show_attr(attr) == "true")
}

pub(super) fn sync(func: &Func, op: Op, found: &mut Diagnostics) {
    let [sum, a, b] = [0, 1, 2].map(|nth| held(func, func.operand(op, nth)));
    let (Some((sum_elem, sums)), Some((a_elem, n_a)), Some((b_elem, n_b))) = (sum, a, b) else {
        if let Some(tiles) = product_tiles(func, op, Family::Mma, found) {
            check_product(func, op, tiles, found);
        }
        return;
    };
    let shape_fits =
        |[m, n, k]: [i64; 3]| k == mma_k(a_elem.bytes()) && [m * n, m * k, k * n].map(per_lane) == [sums, n_a, n_b];
    let known = product(Family::Mma, a_elem).filter(|known| a_elem == b_elem && known.sums.contains(&sum_elem));
    if !known.is_some_and(|known| known.shapes.iter().any(|&shape| shape_fits(shape))) {
        let show = |nth| func.show_type(func.value_type(func.operand(op, nth)));
        let text = format!("`mma.sync` has no product of `{}` and `{}` into `{}`", show(1), show(2), show(0));
        found.push(error(func, op, "type", text));
    }
}
