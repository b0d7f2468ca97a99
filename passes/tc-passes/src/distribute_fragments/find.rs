//! The buffers of tiles, and how the matrix ops that take them want them to lie.

use super::layout::Layout;
use crate::analysis::tiles::{self, Tiles};
use tc_dialects::fragment::{Family, Layout as Order, Use, mma_k};
use tc_dialects::mixing::{Mixing, residual};
use tc_dialects::wgmma::{Major, Side};
use tc_dialects::{mma, tma, wgmma};
use tc_ir::effects::root_buffer;
use tc_ir::{AttrData, Func, Op, keys};
use tc_support::Diagnostic;

/// A buffer of tiles, and how it lies in registers.
pub(super) struct Buffer {
    pub(super) tiles: Tiles,
    /// What the first op that takes a tile of it says; `None` until the elements tell, where none does.
    pub(super) layout: Option<Layout>,
    /// The order in which a tile lies in memory.
    pub(super) order: Order,
    /// The op that tells the layout.
    pub(super) told: Op,
}

impl Buffer {
    /// How many tiles there are in each of the last two dimensions.
    pub(super) fn counts(&self, layout: Layout) -> [i64; 2] {
        let last = self.tiles.last_two();
        [last[0] / layout.tile[0], last[1] / layout.tile[1]]
    }
}

/// What one op says of the tile that it takes.
struct Word {
    op: Op,
    image: [i64; 2],
    order: Order,
}

/// All buffers in scopes `mma.…` and `wgmma.…`, with what products and loads say of them.
pub(super) fn find(func: &Func) -> Result<Vec<Buffer>, Vec<Diagnostic>> {
    let (mut buffers, mut found) = (Vec::new(), Vec::new());
    for family in [Family::Mma, Family::Wgmma] {
        for tiles in tiles::collect(func, family)? {
            match buffer(func, tiles) {
                Ok(buffer) => buffers.push(buffer),
                Err(diagnostic) => found.push(diagnostic),
            }
        }
    }
    if found.is_empty() { Ok(buffers) } else { Err(found) }
}

fn buffer(func: &Func, tiles: Tiles) -> Result<Buffer, Diagnostic> {
    if tiles.part == Use::Rows {
        let layout = by_scope(&tiles).ok_or_else(|| no_tiles(func, &tiles))?;
        let told = tiles.alloc;
        return Ok(Buffer { tiles, layout: Some(layout), order: Order::RowMajor, told });
    }
    let (products, loads) = words(func, &tiles);
    let name = func.value_text(tiles.buffer);
    let Some(first) = products.first().or(loads.first()) else {
        let told = tiles.alloc;
        return Ok(Buffer { tiles, layout: None, order: Order::RowMajor, told });
    };
    let n_told = if products.is_empty() { &loads } else { &products };
    if let Some(other) = n_told.iter().find(|word| word.image != first.image) {
        let ([rows, cols], [other_rows, other_cols]) = (first.image, other.image);
        let text =
            format!("a tile of `{name}` has {other_rows} x {other_cols} elements here, and {rows} x {cols} elsewhere");
        return Err(Diagnostic::error("shape", func.op_location(other.op), text)
            .label(func.op_location(first.op), format!("{rows} x {cols} here"))
            .help("give each shape a buffer of its own"));
    }
    if let Some(other) = products.iter().chain(&loads).find(|word| word.order != first.order) {
        let text = format!("a tile of `{name}` is {} here, and {} elsewhere", other.order.name(), first.order.name());
        return Err(Diagnostic::error("layout", func.op_location(other.op), text)
            .label(func.op_location(first.op), format!("{} here", first.order.name()))
            .help("name one layout at the loads of a tile and at the products that it goes into"));
    }
    let layout = Layout::of(tiles.family, tiles.part, tiles.elem.bytes(), first.image, first.order);
    let last = tiles.last_two();
    let Some(layout) = layout.filter(|layout| last[0] % layout.tile[0] == 0 && last[1] % layout.tile[1] == 0) else {
        let [rows, cols] = first.image;
        let text =
            format!("`{name}` ends in {} x {} elements, which are no tiles of {rows} x {cols}", last[0], last[1]);
        return Err(Diagnostic::error("extent", func.op_location(first.op), text)
            .label(func.op_location(tiles.alloc), "made here")
            .help("let the extents be multiples of the tile's: split the axes by them"));
    };
    let mut layout = layout;
    if tiles.family == Family::Wgmma && tiles.part == Use::Accumulator {
        layout.spread.rows = rows(func, &tiles, &products)?;
    }
    let (order, told) = (first.order, first.op);
    Ok(Buffer { tiles, layout: Some(layout), order, told })
}

/// In which order products read the rows of their left factors that are added to the sums of `tiles`.
fn rows(func: &Func, tiles: &Tiles, products: &[Word]) -> Result<Option<Mixing>, Diagnostic> {
    let mut told: Option<(Op, Option<Mixing>)> = None;
    for product in products.iter().filter(|product| func.opcode(product.op) == wgmma::MMA) {
        let own = rows_of(func, product.op);
        if own.is_some() && func.attr_of(product.op, keys::A_ROWS).is_some() {
            let text = "`a_rows` is given, and the left factor lies in rows of another order of its own";
            let help = "leave `a_rows` out: the swizzle of the buffer tells it";
            return Err(Diagnostic::error("layout", func.op_location(product.op), text).help(help));
        }
        match told {
            Some((first, known)) if known != own => {
                let name = func.value_text(tiles.buffer);
                let text =
                    format!("the rows of the left factor come in another order than those that `{name}` has got");
                let help = "give the left factors of one accumulator the same swizzle and rows of the same length";
                return Err(Diagnostic::error("layout", func.op_location(product.op), text)
                    .label(func.op_location(first), "the other product")
                    .help(help));
            }
            _ => told = Some((product.op, own)),
        }
    }
    Ok(told.and_then(|(_, rows)| rows))
}

/// The order in which the hardware reads the rows of the left factor of `op`, where its buffer is swizzled in longer rows than
/// its own, as by bulk copies of long rows.
fn rows_of(func: &Func, op: Op) -> Option<Mixing> {
    if wgmma::left_in_registers(func, op) || wgmma::major(func, op, Side::A) != Major::K {
        return None;
    }
    let buffer = root_buffer(func, func.operand(op, Side::A.operand()));
    let (elem, extents, _) = func.as_shaped(func.value_type(buffer))?;
    let bytes = i64::from(func.as_scalar(elem)?.bytes());
    let row = func.as_int(*extents.last()?)?.checked_mul(bytes).filter(|row| matches!(row, 32 | 64))?;
    let AttrData::List(list) = func.attr_data(func.buffer_attr(buffer, keys::SWIZZLE)?) else { return None };
    let numbers: Option<Vec<i64>> = list.iter().map(|&number| func.as_int(number)).collect();
    let width = tma::swizzle_mixes(numbers?.try_into().ok()?, bytes).filter(|&width| width > row)?;
    let of_bytes = |width: i64| Some(Mixing { bits: (width / 16).ilog2(), base: 4, shift: 3 });
    // Of the numbers of rows: pieces of a row keep their places.
    let left = residual(of_bytes(width), of_bytes(row))?;
    Some(Mixing { base: left.base.checked_sub(row.ilog2())?, ..left })
}

/// What products say, and what loads say.
fn words(func: &Func, tiles: &Tiles) -> (Vec<Word>, Vec<Word>) {
    let (mut products, mut loads) = (Vec::new(), Vec::new());
    for reference in &tiles.references {
        let n = tiles.n_leading();
        let image = [reference.lengths[n], reference.lengths[n + 1]];
        for user in &reference.users {
            let op = user.op;
            let order = |key| func.word_of(op, key).and_then(Order::parse).unwrap_or_default();
            match (func.opcode(op), user.idx) {
                (mma::SYNC, 1) => products.push(Word { op, image, order: order(keys::A_LAYOUT) }),
                (mma::SYNC, 2) => products.push(Word { op, image, order: order(keys::B_LAYOUT) }),
                (mma::SYNC | wgmma::MMA, _) => products.push(Word { op, image, order: Order::RowMajor }),
                _ => loads.push(Word { op, image, order: order(keys::LAYOUT) }),
            }
        }
    }
    (products, loads)
}

/// The layout of a buffer that no matrix op takes, by its scope.
pub(super) fn by_scope(tiles: &Tiles) -> Option<Layout> {
    let last = tiles.last_two();
    let k = mma_k(tiles.elem.bytes().max(1));
    let images = match tiles.part {
        Use::Accumulator if tiles.family == Family::Wgmma => [[64, 16], [64, 8]],
        Use::Accumulator => [[16, 16], [16, 8]],
        Use::Rows if tiles.family == Family::Wgmma => [[64, 1]; 2],
        Use::Rows => [[16, 1], [8, 1]],
        Use::A if tiles.family == Family::Wgmma => [[64, k]; 2],
        Use::A => [[16, k]; 2],
        Use::B => [[k, 16], [k, 8]],
    };
    let image = images.into_iter().find(|image| last[0] % image[0] == 0 && last[1] % image[1] == 0)?;
    Layout::of(tiles.family, tiles.part, tiles.elem.bytes(), image, Order::RowMajor)
}

/// The extents of a buffer are those of no tiles.
pub(super) fn no_tiles(func: &Func, tiles: &Tiles) -> Diagnostic {
    let (name, elem) = (func.value_text(tiles.buffer), tiles.elem.name());
    let rows_of_tile = tiles.family.threads() / 2;
    let [rows, cols] = tiles.last_two();
    let (text, help) = match tiles.part {
        Use::Rows => (
            format!("the last extent of `{name}`, {rows}, is that of no rows of tiles"),
            format!("let the last dimension be that of the rows, a multiple of the {rows_of_tile} rows of a tile"),
        ),
        _ => (
            format!("the last two extents of `{name}`, {rows} x {cols}, are those of no tiles of `{elem}`"),
            format!(
                "an accumulator is made of tiles of {rows_of_tile} x 8 elements; let the extents be multiples of that"
            ),
        ),
    };
    Diagnostic::error("extent", func.op_location(tiles.alloc), text).help(help)
}
