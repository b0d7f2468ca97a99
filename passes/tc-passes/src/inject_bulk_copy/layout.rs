//! How a buffer lies that bulk copies fill or read: rows, panels, and boxes that the copy engine takes.

use super::place::flat;
use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_dialects::scope::{Scope, scope_text};
use tc_dialects::tma::{MAX_BOX, SWIZZLED_ROWS, align_of_box};
use tc_ir::{AttrData, Elem, Func, Name, Op, Value, keys};
use tc_support::{Diagnostic, counted};

/// The widths of rows that the copy engine swizzles, widest first.
const WIDTHS: [i64; 3] = [128, 64, 32];

/// Bytes: strides of a tensor are multiples of it.
const GRAIN: i64 = 16;

/// Element type and extents of the buffer.
pub(super) fn shape(func: &Func, alloc: Op, buffer: Value) -> Result<(Elem, Vec<i64>), Box<Diagnostic>> {
    let error = |text: String, help: &str| {
        Box::new(Diagnostic::error("bulk-copy", func.op_location(alloc), text).help(help.to_string()))
    };
    let name = func.value_text(buffer);
    let shaped = func.as_shaped(func.value_type(buffer));
    let scope = shaped.and_then(|(_, _, scope)| scope);
    if !Scope::of_name(func, scope).is_some_and(Scope::is_shared) {
        let text = format!("`{name}` is in `{}`, and bulk copies go to shared memory", scope_text(func, scope));
        return Err(error(text, "make the buffer in `shared`, or leave out `bulk_copy` (in a program, `bulk`)"));
    }
    let numbers = shaped.and_then(|(elem, shape, _)| {
        let scalar = func.as_scalar(elem).filter(|scalar| scalar.lanes == 1)?;
        let extents: Option<Vec<i64>> = shape.iter().map(|&extent| func.as_int(extent)).collect();
        Some((scalar.elem, extents.filter(|extents| extents.iter().all(|&extent| extent > 0))?))
    });
    let Some((elem, extents)) = numbers else {
        let text = format!("`{name}` is no buffer of numbers with constant extents, as bulk copies fill");
        return Err(error(text, "leave out `bulk_copy` (in a program, `bulk`)"));
    };
    let given = [keys::STRIDES, keys::SWIZZLE, keys::PANEL].into_iter().find(|&key| func.attr_of(alloc, key).is_some());
    if let Some(key) = given {
        let text = format!("`{name}` has `{}`, and how it lies is for the copy engine to choose", func.text(key));
        return Err(error(text, "leave out one of the two"));
    }
    Ok((elem, extents))
}

/// The bytes of a swizzled row, 0 for none, and the elements of a panel.
pub(super) fn row(
    func: &Func,
    alloc: Op,
    key: Name,
    elem: Elem,
    extents: &[i64],
) -> Result<(i64, i64), Box<Diagnostic>> {
    let last = extents.last().copied().unwrap_or(1);
    let size = i64::from(elem.bytes());
    let bytes = last.saturating_mul(size);
    let name = func.result(alloc).map_or("", |buffer| func.value_text(buffer));
    let divides = |&width: &i64| bytes % width == 0;
    let above = &extents[..extents.len().saturating_sub(1)];
    let n_rows = above.iter().fold(1i64, |product, &side| product.saturating_mul(side));
    // The mixing of a panel is by address: each begins where the pattern does.
    let begins_right = |width: i64| bytes == width || n_rows % SWIZZLED_ROWS == 0;
    let width = match func.attr_of(alloc, key).map(|attr| func.attr_data(attr)) {
        Some(AttrData::Int(0, _)) => return Ok((0, last)),
        Some(&AttrData::Int(width, _)) => {
            WIDTHS.into_iter().find(|&known| i128::from(known) == width).ok_or_else(|| {
                let text = format!("rows of 32, 64 or 128 bytes are swizzled, and not of {width}");
                Box::new(Diagnostic::error("bulk-copy", func.op_location(alloc), text).help("write 128, or `any`"))
            })?
        }
        _ => match WIDTHS.into_iter().find(|width| divides(width) && begins_right(*width)) {
            Some(width) => width,
            None => return Ok((0, last)),
        },
    };
    if !divides(&width) {
        let text = format!("a row of `{name}` has {bytes} bytes, which rows of {width} do not divide");
        let help = match WIDTHS.into_iter().find(divides) {
            Some(width) => format!("take `swizzle = {width}`"),
            None => "take `swizzle = 0`, or another tile".to_string(),
        };
        return Err(Box::new(Diagnostic::error("bulk-copy", func.op_location(alloc), text).help(help)));
    }
    if !begins_right(width) {
        let text = format!(
            "`{name}` takes panels of {width} bytes a row, and of {}: panels that are swizzled have a multiple of \
             {SWIZZLED_ROWS}",
            counted(n_rows as usize, "row")
        );
        let help = "take a tile of a multiple of 8 rows, or `swizzle = 0`".to_string();
        return Err(Box::new(Diagnostic::error("bulk-copy", func.op_location(alloc), text).help(help)));
    }
    Ok((width, width / size))
}

/// Does a box that starts there start at a multiple of 16 bytes of a row, as the hardware wants, inside of the tensor or not?
pub(super) fn starts_at_grain(algebra: &mut Algebra, starts: &[Expr], elem: Elem) -> bool {
    let Some(&start) = starts.last() else { return true };
    let analyzer = &mut algebra.analyzer;
    let bytes = analyzer.pool.int(i64::from(elem.bytes()));
    let start = analyzer.pool.mul(start, bytes);
    analyzer.modular(start).residue(GRAIN) == Some(0)
}

/// The most elements of the first dimension of the tensor that one copy moves, of all that `sides` say; `None` where none
/// will do.
pub(super) fn rows_of_box(
    (sides, apart): (&[i64], Option<usize>),
    (extents, panel): (&[i64], i64),
    elem: Elem,
    swizzle: i64,
) -> Option<i64> {
    let (Some(&first), true) = (sides.first(), sides.len() > 1) else { return Some(1) };
    let mut row = sides.to_vec();
    (row[0], row[sides.len() - 1]) = (1, panel);
    if let Some(dim) = apart {
        row[dim] = 1;
    }
    let bytes = row.iter().fold(i64::from(elem.bytes()), |product, &side| product.saturating_mul(side));
    let begins_right = |part: i64| part.saturating_mul(bytes) % align_of_box(swizzle) == 0;
    let fits = |&part: &i64| first % part == 0 && (part == first && apart.is_none() || begins_right(part));
    // Where the buffer has other dimensions than the tensor, it is not divided.
    let whole = |&part: &i64| part == first || (sides == extents && apart.is_none());
    (1..=MAX_BOX.min(first)).rev().find(fits).filter(whole)
}

/// Does what lies at `offsets` of the buffer begin where a box may, in each panel?
pub(super) fn begins_right(
    algebra: &mut Algebra,
    offsets: &[Expr],
    (extents, panel): (&[i64], i64),
    elem: Elem,
    swizzle: i64,
) -> bool {
    let Some((&last, rows)) = offsets.split_last() else { return true };
    let flat = flat(algebra, rows, extents);
    let analyzer = &mut algebra.analyzer;
    let bytes = analyzer.pool.int(panel.saturating_mul(i64::from(elem.bytes())));
    let flat = analyzer.pool.mul(flat, bytes);
    let of_rows = analyzer.modular(flat).residue(align_of_box(swizzle)) == Some(0);
    of_rows && analyzer.pool.as_const(last) == Some(0)
}

/// The strides of the tensor are multiples of 16 bytes.
pub(super) fn strides(func: &Func, tensor: Value, elem: Elem) -> Result<(), (String, String)> {
    let name = func.value_text(tensor);
    if func.buffer_attr(tensor, keys::STRIDES).is_some() {
        let text = format!("`{name}` has strides, and a tensor map is of a row-major tensor");
        return Err((text, "leave out `bulk_copy`, or copy the tensor first".to_string()));
    }
    let Some((_, shape, _)) = func.as_shaped(func.value_type(tensor)) else { return Ok(()) };
    let shape = shape.to_vec();
    let mut algebra = Algebra::of_func(func);
    let mut stride = algebra.analyzer.pool.int(i64::from(elem.bytes()));
    for &extent in shape[1..].iter().rev() {
        let Some(extent) = algebra.attr(func, extent) else { return Ok(()) };
        stride = algebra.analyzer.pool.mul(stride, extent);
        let set = algebra.analyzer.modular(stride);
        if set.coeff() % GRAIN != 0 || set.base() % GRAIN != 0 {
            let text = match algebra.analyzer.pool.as_const(stride) {
                Some(bytes) => {
                    format!("rows of `{name}` are {bytes} bytes apart, and tensor maps take multiples of {GRAIN}")
                }
                None => format!(
                    "it is not proved that rows of `{name}` are multiples of {GRAIN} bytes apart, as tensor maps take"
                ),
            };
            let of = GRAIN / i64::from(elem.bytes()).max(1);
            let pack = "pack it by `cache_read(…, global)` and `pad`, as `@wgmma_packed` does, or copy it by threads";
            let help = match algebra.analyzer.pool.as_const(stride) {
                Some(_) => pack.to_string(),
                None => format!("{pack}; or state it of the size of a row: `where size % {of} == 0`"),
            };
            return Err((text, help));
        }
    }
    Ok(())
}
