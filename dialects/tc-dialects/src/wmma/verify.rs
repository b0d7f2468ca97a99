//! Types of fragments and tiles.

use crate::fragment::{Family, Fragment, Layout, Tile, Use, product, tile};
use crate::scope::{Memory, Scope, scope_text};
use crate::tir::place_type;
use tc_ir::{Func, Name, Op, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

fn error(func: &Func, op: Op, code: &'static str, message: String) -> Diagnostic {
    Diagnostic::error(code, func.op_location(op), message)
}

/// The layout that `op` names by `key`, `row_major` where it names none; `None` after an error.
pub(crate) fn layout(func: &Func, op: Op, key: Name, found: &mut Diagnostics) -> Option<Layout> {
    let Some(word) = func.word_of(op, key) else {
        if func.attr_of(op, key).is_some() {
            found.push(error(func, op, "layout", "a layout is `row_major` or `col_major`".to_string()));
            return None;
        }
        return Some(Layout::RowMajor);
    };
    let layout = Layout::parse(word);
    if layout.is_none() {
        let text =
            format!("there is no layout `{}`; there are row_major, col_major", tc_support::suggest::shorten(word));
        found.push(error(func, op, "layout", text));
    }
    layout
}

/// The tile behind `place`, which must be of `family` and, where `part` is given, of that use.
pub(crate) fn expect_tile(
    func: &Func,
    op: Op,
    place: Value,
    family: Family,
    part: Option<Use>,
    found: &mut Diagnostics,
) -> Option<Tile> {
    let prefix = family.name();
    let wanted = match part {
        Some(part) => format!("one tile in `{prefix}.{}`", part.name()),
        None => format!("one tile in a scope `{prefix}.…`"),
    };
    let have = func.show_type(func.value_type(place));
    let Some(tile) = tile(func, place) else {
        let text = format!("`{}` works on {wanted}, not on `{have}`", func.op_name(op));
        let help = "name one tile: an element of a buffer of fragments, or a region `&F[i : 1, 0 : 16, 0 : 16]`";
        found.push(error(func, op, "tile", text).help(help));
        return None;
    };
    if tile.family != family || part.is_some_and(|part| tile.part != part) {
        let text = format!("`{}` works on {wanted}, not on `{have}`", func.op_name(op));
        found.push(error(func, op, "scope", text).help("set the scope of the buffer to what it is used for"));
        return None;
    }
    Some(tile)
}

fn check_memory(func: &Func, op: Op, place: Value, of: Tile, found: &mut Diagnostics) {
    let Some((elem, _, scope)) = place_type(func, place) else {
        let text = format!("a tile lies in a buffer, not in `{}`", func.show_type(func.value_type(place)));
        return found.push(error(func, op, "type", text));
    };
    if Scope::of_name(func, scope).is_none_or(|scope| scope.memory() == Memory::Registers) {
        let scope = scope_text(func, scope);
        let text = format!("a tile is loaded from and stored to global or shared memory, not `{scope}`");
        found.push(error(func, op, "scope", text));
    }
    if func.as_scalar(elem).is_none_or(|scalar| scalar.lanes != 1 || scalar.elem != of.elem.in_memory()) {
        let (elem, want) = (func.show_type(elem), of.elem.in_memory().name());
        found.push(error(func, op, "type", format!("the tile in memory is of `{want}`, not of `{elem}`")));
    }
    let stride = func.operand(op, 2);
    if func.value_scalar(stride).is_none_or(|scalar| !scalar.elem.is_int() || scalar.lanes != 1) {
        let text = format!("the stride is an integer, not `{}`", func.show_type(func.value_type(stride)));
        found.push(error(func, op, "type", text));
    }
}

pub(super) fn fill(func: &Func, op: Op, found: &mut Diagnostics) {
    let Some(tile) = expect_tile(func, op, func.operand(op, 0), Family::Wmma, None, found) else { return };
    let value = func.operand(op, 1);
    if func.value_scalar(value).is_none_or(|scalar| scalar.lanes != 1 || scalar.elem != tile.elem.in_memory()) {
        let (want, have) = (tile.elem.in_memory().name(), func.show_type(func.value_type(value)));
        found.push(error(func, op, "type", format!("a tile of `{want}` is filled with one, not with `{have}`")));
    }
}

pub(super) fn load(func: &Func, op: Op, found: &mut Diagnostics) {
    let Some(tile) = expect_tile(func, op, func.operand(op, 0), Family::Wmma, None, found) else { return };
    check_memory(func, op, func.operand(op, 1), tile, found);
    let Some(layout) = layout(func, op, keys::LAYOUT, found) else { return };
    if let Some(Fragment { layout: Some(has), .. }) = tile.fragment
        && has != layout
    {
        let text = format!("the fragment is {}, and is loaded as {}", has.name(), layout.name());
        found.push(error(func, op, "layout", text));
    }
}

pub(super) fn store(func: &Func, op: Op, found: &mut Diagnostics) {
    let part = Some(Use::Accumulator);
    let Some(tile) = expect_tile(func, op, func.operand(op, 1), Family::Wmma, part, found) else { return };
    check_memory(func, op, func.operand(op, 0), tile, found);
    layout(func, op, keys::LAYOUT, found);
}

/// The extents m, n, k of the product that `op` makes of its three tiles, the layouts of the factors taken off; `None`
/// after an error.
pub(crate) fn check_product(func: &Func, op: Op, tiles: [Tile; 3], found: &mut Diagnostics) -> Option<[i64; 3]> {
    let [sum, a, b] = tiles;
    let (a_layout, b_layout) = (layout(func, op, keys::A_LAYOUT, found)?, layout(func, op, keys::B_LAYOUT, found)?);
    // A fragment knows how it lies; of a tile in a buffer of numbers the op says so.
    let matrix = |tile: Tile, layout| match (tile.fragment, layout) {
        (Some(fragment), _) => fragment.extents(),
        (None, Layout::RowMajor) => tile.image,
        (None, Layout::ColMajor) => (tile.image.1, tile.image.0),
    };
    let ((m, n), (am, ak), (bk, bn)) = (sum.image, matrix(a, a_layout), matrix(b, b_layout));
    if am != m || bn != n || ak != bk {
        let text = format!("a product of {am} x {ak} and {bk} x {bn} is not added to {m} x {n}");
        let help = "a factor that stands transposed says so: `a_layout = col_major`, `b_layout = col_major`";
        found.push(error(func, op, "extent", text).help(help));
        return None;
    }
    let name = func.op_name(op);
    let Some(known) = product(a.family, a.elem).filter(|_| a.elem == b.elem) else {
        let text = format!("`{name}` does not multiply `{}` by `{}`", a.elem.name(), b.elem.name());
        found.push(error(func, op, "type", text).help("both factors are f16, bf16, i8 or u8, or f32 as tf32"));
        return None;
    };
    if !known.sums.contains(&sum.elem) {
        let sums: Vec<&str> = known.sums.iter().map(|elem| elem.name()).collect();
        let text = format!(
            "a product of `{}` is summed up in {}, not in `{}`",
            a.elem.name(),
            sums.join(" or "),
            sum.elem.name()
        );
        found.push(error(func, op, "type", text));
        return None;
    }
    let shape = [m, n, ak];
    if !known.shapes.contains(&shape) {
        let shapes: Vec<String> = known.shapes.iter().map(|[m, n, k]| format!("{m}x{n}x{k}")).collect();
        let text = format!("there is no product {m}x{n}x{ak} of `{}`; there are {}", a.elem.name(), shapes.join(", "));
        found.push(error(func, op, "extent", text));
        return None;
    }
    Some(shape)
}

/// The three tiles of a product of `family`: sum, left factor, right factor.
pub(crate) fn product_tiles(func: &Func, op: Op, family: Family, found: &mut Diagnostics) -> Option<[Tile; 3]> {
    let mut part = |nth, part| expect_tile(func, op, func.operand(op, nth), family, Some(part), found);
    let (sum, a, b) = (part(0, Use::Accumulator), part(1, Use::A), part(2, Use::B));
    Some([sum?, a?, b?])
}

pub(super) fn mma(func: &Func, op: Op, found: &mut Diagnostics) {
    let Some(tiles) = product_tiles(func, op, Family::Wmma, found) else { return };
    let Some(shape) = check_product(func, op, tiles, found) else { return };
    for tile in tiles {
        if let Some(fragment) = tile.fragment
            && fragment.shape != shape
        {
            let ([m, n, k], [fm, fn_, fk]) = (shape, fragment.shape);
            let text = format!("a fragment of {fm}x{fn_}x{fk} has no part in a product {m}x{n}x{k}");
            found.push(error(func, op, "type", text));
        }
    }
}
