//! What the ops on a buffer say of its tiles, and whether they agree.

use crate::analysis::tiles::{self, Tiles};
use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_dialects::fragment::{Family, Fragment, Layout, PRODUCTS, Use, tile, transfer};
use tc_dialects::wmma;
use tc_ir::{Func, Op, keys};
use tc_support::Diagnostic;

/// A buffer that becomes one of fragments.
pub(super) struct FragmentBuffer {
    pub(super) tiles: Tiles,
    pub(super) fragment: Fragment,
    /// For each reference, the number of the tile that it names in each of the last two dimensions.
    pub(super) numbers: Vec<[Expr; 2]>,
    /// What the numbers are made of.
    pub(super) algebra: Algebra,
}

impl FragmentBuffer {
    /// Do the last two dimensions hold one tile?
    pub(super) fn is_one_tile(&self) -> bool {
        let (rows, cols) = self.fragment.image();
        self.tiles.last_two() == [rows, cols]
    }
}

/// What one op says of a tile.
struct Word {
    op: Op,
    image: (i64, i64),
    /// The extents of the product, where it is one.
    shape: Option<[i64; 3]>,
    /// The order of the elements, where it says so.
    layout: Option<Layout>,
}

/// The fragments of all buffers, or what contradicts itself.
pub(super) fn infer(func: &Func, list: Vec<Tiles>) -> Result<Vec<FragmentBuffer>, Vec<Diagnostic>> {
    let (mut plans, mut found) = (Vec::new(), Vec::new());
    for tiles in list {
        match plan(func, tiles) {
            Ok(plan) => plans.push(plan),
            Err(diagnostic) => found.push(diagnostic),
        }
    }
    if found.is_empty() { Ok(plans) } else { Err(found) }
}

fn plan(func: &Func, tiles: Tiles) -> Result<FragmentBuffer, Diagnostic> {
    let name = func.value_text(tiles.buffer);
    if let Some(&op) = tiles.elements.first() {
        let text = format!("an element of `{name}` is accessed, and the thread that holds it is not known");
        let help = "mark the loops over the tile by `tensorize`, or hold the tile in a scope `mma.…`, whose elements \
                    lie in known threads";
        return Err(error(func, &tiles, op, "element", text).help(help));
    }
    let words: Vec<Word> = tiles
        .references
        .iter()
        .flat_map(|reference| reference.users.iter())
        .filter_map(|user| word(func, user.op, user.idx))
        .collect();
    let fragment = fragment(func, &tiles, &words)?;
    agree(func, &tiles, &words, fragment)?;
    let (rows, cols) = fragment.image();
    let last = tiles.last_two();
    let holds = |all: i64, one: i64| one > 0 && all % one == 0;
    if !holds(last[0], rows) || !holds(last[1], cols) {
        let text =
            format!("`{name}` ends in {} x {} elements, which are no tiles of {rows} x {cols}", last[0], last[1]);
        let at = words.first().map_or(tiles.alloc, |word| word.op);
        let help = "let the extents be multiples of the tile's: split the axes by them";
        return Err(error(func, &tiles, at, "extent", text).help(help));
    }
    let mut algebra = tiles::algebra(func);
    let mut numbers = Vec::new();
    for reference in &tiles.references {
        let n = tiles.n_leading();
        let number = |algebra: &mut Algebra, dim: usize, unit: i64| {
            tiles::start_in_units(algebra, func, reference.starts[n + dim], unit)
        };
        let (Some(row), Some(col)) = (number(&mut algebra, 0, rows), number(&mut algebra, 1, cols)) else {
            let text = format!("a tile of `{name}` starts at multiples of {rows} and {cols}");
            let at = reference.at().unwrap_or(tiles.alloc);
            let help = "take whole tiles: a fragment begins where the one before it ends";
            return Err(error(func, &tiles, at, "tile", text).help(help));
        };
        numbers.push([row, col]);
    }
    Ok(FragmentBuffer { tiles, fragment, numbers, algebra })
}

fn error(func: &Func, tiles: &Tiles, op: Op, code: &'static str, text: String) -> Diagnostic {
    let diagnostic = Diagnostic::error(code, func.op_location(op), text);
    // What a schedule makes of one stage stands at one place of the text.
    let made = func.op_location(tiles.alloc);
    if made == func.op_location(op) { diagnostic } else { diagnostic.label(made, "made here") }
}

/// What `op` says of the tile that is its operand number `idx`; nothing where it is malformed, which is told elsewhere.
fn word(func: &Func, op: Op, idx: usize) -> Option<Word> {
    let image = tile(func, func.operand(op, idx))?.image;
    let said = |key| func.word_of(op, key).map_or(Some(Layout::RowMajor), Layout::parse);
    let (shape, layout) = match func.opcode(op) {
        wmma::MMA => {
            let [sum, a] = [0, 1].map(|nth| tile(func, func.operand(op, nth)));
            let (sum, a) = (sum?, a?);
            let (a_layout, b_layout) = (said(keys::A_LAYOUT)?, said(keys::B_LAYOUT)?);
            let k = match (a.fragment, a_layout) {
                (Some(fragment), _) => fragment.shape[2],
                (None, Layout::RowMajor) => a.image.1,
                (None, Layout::ColMajor) => a.image.0,
            };
            (Some([sum.image.0, sum.image.1, k]), Some([Layout::RowMajor, a_layout, b_layout][idx]))
        }
        _ if transfer(func, op).is_some() => (None, Some(said(keys::LAYOUT)?)),
        _ => (None, None),
    };
    Some(Word { op, image, shape, layout })
}

/// The fragment by the first product, or by the image alone.
fn fragment(func: &Func, tiles: &Tiles, words: &[Word]) -> Result<Fragment, Diagnostic> {
    let (part, name) = (tiles.part, func.value_text(tiles.buffer));
    let elem = if part == Use::Accumulator { tiles.elem } else { tiles.elem.as_factor() };
    let is_factor = part != Use::Accumulator;
    if let Some((shape, layout)) = words.iter().find_map(|word| Some((word.shape?, word.layout?))) {
        return Ok(Fragment { part, shape, elem, layout: is_factor.then_some(layout) });
    }
    let Some(image) = words.first().map(|word| word.image) else {
        let text = format!("no op takes a tile of `{name}`, so its kind of fragment is not known");
        let help = "take the buffer out, or let it have a part in a product `wmma.mma`";
        return Err(error(func, tiles, tiles.alloc, "tile", text).help(help));
    };
    let layout = words.iter().find_map(|word| word.layout).unwrap_or_default();
    let mut fits: Vec<Fragment> = Vec::new();
    for product in PRODUCTS.iter().filter(|product| product.family == Family::Wmma) {
        let has_part = if is_factor { product.factors == elem } else { product.sums.contains(&elem) };
        for &shape in product.shapes.iter().filter(|_| has_part) {
            let fragment = Fragment { part, shape, elem, layout: is_factor.then_some(layout) };
            if fragment.image() == image && !fits.contains(&fragment) {
                fits.push(fragment);
            }
        }
    }
    match fits[..] {
        [fragment] => Ok(fragment),
        _ => {
            let (rows, cols) = image;
            let shapes: Vec<String> =
                fits.iter().map(|Fragment { shape: [m, n, k], .. }| format!("{m}x{n}x{k}")).collect();
            let text = match fits.is_empty() {
                true => {
                    format!("`{name}` has tiles of {rows} x {cols} `{}`, which have a part in no product", elem.name())
                }
                false => format!(
                    "tiles of {rows} x {cols} may have a part in products {}, and none takes `{name}`",
                    shapes.join(" or ")
                ),
            };
            let help = "let a `wmma.mma` take its tiles: the product tells the shape of a fragment";
            Err(error(func, tiles, words[0].op, "tile", text).help(help))
        }
    }
}

/// Do all ops say the same?
fn agree(func: &Func, tiles: &Tiles, words: &[Word], fragment: Fragment) -> Result<(), Diagnostic> {
    let name = func.value_text(tiles.buffer);
    let first = words.iter().find(|word| word.shape.is_some()).or(words.first());
    let against = |diagnostic: Diagnostic, word: &Word, says: String| match first {
        Some(first) if func.op_location(first.op) != func.op_location(word.op) => {
            diagnostic.label(func.op_location(first.op), says)
        }
        _ => diagnostic,
    };
    let [m, n, k] = fragment.shape;
    for word in words {
        if let Some([wm, wn, wk]) = word.shape
            && [wm, wn, wk] != fragment.shape
        {
            let text = format!("`{name}` has a part in a product {wm}x{wn}x{wk}, and in one {m}x{n}x{k}");
            let found = error(func, tiles, word.op, "shape", text).help("give each shape a buffer of its own");
            return Err(against(found, word, format!("{m}x{n}x{k} here")));
        }
        let wanted = fragment.layout.unwrap_or_default();
        if let Some(layout) = word.layout.filter(|&layout| layout != wanted) {
            let (text, help) = match fragment.part {
                Use::Accumulator => (
                    format!("`{name}` is an accumulator, which lies row by row, and here it is {}", layout.name()),
                    "write `layout = row_major`, and let the tile in memory lie row by row".to_string(),
                ),
                _ => (
                    format!("a tile of `{name}` is {} here, and {} elsewhere", layout.name(), wanted.name()),
                    format!(
                        "name the layout that it is loaded with: `{}` at the product",
                        keyed(fragment, layout, wanted)
                    ),
                ),
            };
            let found = error(func, tiles, word.op, "layout", text).help(help);
            return Err(against(found, word, format!("{} here", wanted.name())));
        }
        if word.image != fragment.image() {
            let ((rows, cols), (frows, fcols)) = (word.image, fragment.image());
            let text = format!("a tile of `{name}` has {rows} x {cols} elements here, and {frows} x {fcols} elsewhere");
            let found = error(func, tiles, word.op, "shape", text).help("give each shape a buffer of its own");
            return Err(against(found, word, format!("{frows} x {fcols} here")));
        }
    }
    Ok(())
}

/// What a product would have to say for the layout that a load has.
fn keyed(fragment: Fragment, one: Layout, other: Layout) -> String {
    let key = if fragment.part == Use::A { "a_layout" } else { "b_layout" };
    let layout = if one == Layout::ColMajor { one } else { other };
    format!("{key} = {}", layout.name())
}
