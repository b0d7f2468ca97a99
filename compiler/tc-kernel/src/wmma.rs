//! What fragments of `wmma` ask of a program, whoever writes them.

use tc_dialects::fragment::{Family, Fragment, Layout, PRODUCTS, Use, tile, transfer};
use tc_dialects::wmma;
use tc_ir::{Func, Name, Op, Type, keys};

/// Why fragments of type `ty` cannot be declared.
pub fn unwritable(func: &Func, ty: Type, language: &str) -> Option<String> {
    let shown = func.show_type(ty);
    let Some(fragment) = Fragment::of(func, ty) else {
        return Some(format!("the type `{shown}` cannot be written in {language} yet"));
    };
    let known = PRODUCTS.iter().filter(|known| known.family == Family::Wmma).any(|known| {
        let elem = match fragment.part {
            Use::Accumulator | Use::Rows => known.sums.contains(&fragment.elem),
            Use::A | Use::B => known.factors == fragment.elem,
        };
        elem && known.shapes.contains(&fragment.shape)
    });
    (!known).then(|| format!("`nvcuda::wmma` has no `{shown}`"))
}

/// What is wrong with the op `op` of `wmma`, beyond what its row asks for: the message, and the help.
pub fn unwritable_op(func: &Func, op: Op) -> Option<(String, &'static str)> {
    match func.opcode(op) {
        wmma::MMA => layouts(func, op),
        _ => stride(func, op),
    }
}

/// A product takes each factor in the layout that its fragment has.
fn layouts(func: &Func, op: Op) -> Option<(String, &'static str)> {
    for (nth, key) in [(1, keys::A_LAYOUT), (2, keys::B_LAYOUT)] {
        let has = tile(func, func.operand(op, nth)).and_then(|tile| tile.fragment).and_then(|fragment| fragment.layout);
        // Products of fragments need not name what these know.
        let told = layout(func, op, key);
        if let Some(has) = has.filter(|&has| has != told && func.attr_of(op, key).is_some()) {
            let text = format!("the fragment is {}, and is multiplied as {}", has.name(), told.name());
            return Some((text, "give the fragment the layout in which the product takes it"));
        }
    }
    None
}

/// Rows of a tile are apart by a multiple of 16 bytes.
fn stride(func: &Func, op: Op) -> Option<(String, &'static str)> {
    let moved = transfer(func, op)?;
    let (elem, _, _) = tc_dialects::tir::place_type(func, func.operand(op, moved.memory))?;
    let elem = func.as_scalar(elem)?.elem;
    let stride = func.const_int(func.operand(op, moved.stride))?;
    let bytes = i128::from(stride) * i128::from(elem.bytes());
    (stride <= 0 || bytes % 16 != 0).then(|| {
        let text = format!("rows that are {stride} of `{}` apart are not apart by a multiple of 16 bytes", elem.name());
        (text, "pad the rows: `storage_align`, or a copy in shared memory with longer rows")
    })
}

/// The layout that the attribute `key` of `op` tells; by rows where it tells none.
pub fn layout(func: &Func, op: Op, key: Name) -> Layout {
    func.word_of(op, key).and_then(Layout::parse).unwrap_or_default()
}
