//! Which nest fills a buffer, and of which box of which tensor.

use super::padding;
use super::place::{Access, Place};
use crate::analysis::copied::{self, NoCopy};
use crate::analysis::invariant::arguments;
use crate::analysis::launch::{coordinate, loop_var};
use crate::analysis::structure::{is_one_armed, runs_in_order};
use crate::analysis::tiles;
use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_dialects::scope::{Scope, scope_text};
use tc_dialects::tma::{MAX_BOX, unfit_box};
use tc_dialects::{forms, tir};
use tc_ir::uses::Uses;
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{AttrData, Elem, Func, Op, Value, effects, keys};
use tc_support::{Diagnostic, counted};

/// The widths of rows that the copy engine swizzles, widest first.
const WIDTHS: [i64; 3] = [128, 64, 32];

/// The rows of a swizzle's pattern, which panels and parts of swizzled buffers begin at.
const SWIZZLED_ROWS: i64 = 8;

/// Bytes: where the copy engine puts a box begins at a multiple of it.
const ALIGN_OF_BOX: i64 = 128;

/// Bytes: strides of a tensor are multiples of it.
const GRAIN: i64 = 16;

/// A buffer that bulk copies fill.
pub(super) struct Copy {
    pub(super) alloc: Op,
    pub(super) buffer: Value,
    pub(super) elem: Elem,
    /// The outermost op of the nest that fills it.
    pub(super) root: Op,
    /// The tensor.
    pub(super) from: Value,
    /// Where the box starts in each dimension of the tensor.
    pub(super) starts: Vec<Expr>,
    pub(super) algebra: Algebra,
    /// How far an element of the box is from the next, in each dimension of the tensor.
    pub(super) steps: Vec<i64>,
    /// The extents of all that is copied, in each dimension of the tensor.
    pub(super) sides: Vec<i64>,
    /// The extents of the buffer.
    pub(super) extents: Vec<i64>,
    /// The bytes of a swizzled row, or 0.
    pub(super) swizzle: i64,
    /// The elements of a panel.
    pub(super) panel: i64,
    /// The elements of the first dimension of the tensor that one copy brings.
    pub(super) rows: i64,
}

impl Copy {
    /// The extents of the box of one copy.
    pub(super) fn box_extents(&self) -> Vec<i64> {
        let mut sides = self.sides.clone();
        if sides.len() > 1 {
            sides[0] = self.rows;
        }
        if let Some(last) = sides.last_mut() {
            *last = self.panel;
        }
        sides
    }
}

/// What the copy that fills the buffer of `alloc` is, or why it is none for the copy engine.
pub(super) fn find(func: &Func, alloc: Op) -> Result<Copy, Box<Diagnostic>> {
    let error = |at: Op, text: String, help: &str| {
        let found = Diagnostic::error("bulk-copy", func.op_location(at), text).help(help.to_string());
        let found = if at == alloc { found } else { found.label(func.op_location(alloc), "the buffer is made here") };
        Box::new(found)
    };
    let Some(buffer) = func.result(alloc) else {
        return Err(error(alloc, "an alloc makes one buffer".to_string(), ""));
    };
    let name = func.value_text(buffer).to_string();
    let (elem, extents) = shape(func, alloc, buffer)?;
    let uses = Uses::of(func);
    let writes = |op: Op| effects::accesses(func, op).iter().any(|&(place, access)| place == buffer && access.writes());
    let writers: Vec<Op> = uses.of_value(buffer).iter().map(|user| user.op).filter(|&op| writes(op)).collect();
    let &[store] = &writers[..] else {
        let text = format!(
            "`{name}` is filled by {}, and bulk copies fill it as a whole",
            counted(writers.len(), "statement")
        );
        let at = writers.get(1).copied().unwrap_or(alloc);
        return Err(error(at, text, "let one copy fill it, or take `bulk` off"));
    };
    if func.opcode(store) != tir::STORE {
        let text = format!("`{}` fills `{name}`, and a bulk copy stands for loops that copy", func.op_name(store));
        return Err(error(store, text, "take `bulk` off"));
    }
    let home = func.region_of(alloc);
    let around: Vec<Op> = ancestors(func, store).take_while(|&op| func.region_of(op).is_some()).collect();
    let inside = around.iter().position(|&op| func.region_of(op) == home);
    let nest: Vec<Op> = match inside {
        Some(last) => around[..=last].to_vec(),
        None if func.region_of(store) == home => Vec::new(),
        None => return Err(error(store, format!("`{name}` is filled outside of where it is made"), "take `bulk` off")),
    };
    let root = nest.last().copied().unwrap_or(store);
    let mut loops: Vec<Op> = Vec::new();
    for &op in &nest {
        match func.opcode(op) {
            tir::FOR if func.n_results(op) == 0 && runs_in_order(func, op) && coordinate(func, op).is_none() => {
                loops.push(op)
            }
            tir::IF if is_one_armed(func, op) => {}
            _ => {
                let text = format!("`{name}` is filled under a `{}` that is no plain loop", func.op_name(op));
                return Err(error(op, text, "let loops that run in order fill it, bound to no threads"));
            }
        }
        let stray = ops_under(func, func.op_regions(op)[0]).find(|&inner| {
            inner != store && !nest.contains(&inner) && !func.row(inner).terminator && !effects::only_reads(func, inner)
        });
        if let Some(stray) = stray {
            let text = format!("the nest that fills `{name}` does something else, too");
            return Err(error(stray, text, "copy in loops of their own"));
        }
    }
    let operands = func.operands(store);
    let source = copied::source(func, operands[operands.len() - 1]).map_err(|found| {
        let (what, help) = match found {
            NoCopy::Converted => ("converted", "convert where the elements are used, or take `bulk` off"),
            NoCopy::NotZero => ("padded by more than zeros", "pad by zeros, or take `bulk` off"),
            _ => ("computed", "compute where the elements are used, or take `bulk` off"),
        };
        let text = format!("what `{name}` is filled with is {what}, and a bulk copy moves elements as they are");
        error(store, text, help)
    })?;
    let from = func.operand(source.load, 0);
    let from_name = func.value_text(from).to_string();
    if !forms::is_global(func, from) || func.as_shaped(func.value_type(from)).is_none() {
        let text = format!("`{name}` is filled from `{from_name}`, which is no buffer in global memory");
        return Err(error(store, text, "bulk copies move boxes of tensors in global memory"));
    }
    // The ranges of loops alone: the box has to be right where conditions do not hold, too.
    let mut algebra = tiles::algebra(func);
    let (to_indices, from_indices) = (&operands[1..operands.len() - 1], &func.operands(source.load)[1..]);
    let access = Access { loops: &loops, buffer, extents: &extents, tensor: from };
    let found = access.place(func, &mut algebra, to_indices, from_indices);
    let Place { starts, sides, steps } = found.map_err(|(text, help)| error(store, text, help))?;
    for &at in from_indices {
        let varies = arguments(func, at).into_iter().find(|&arg| {
            let by = ancestors(func, store).find(|&op| func.opcode(op) == tir::FOR && loop_var(func, op) == arg);
            by.and_then(|op| coordinate(func, op)).is_some_and(|coordinate| coordinate.is_thread())
        });
        if let Some(var) = varies {
            let text = format!(
                "the box that fills `{name}` differs between the threads of a block, by `{}`",
                func.value_text(var)
            );
            return Err(error(store, text, "compute the copy outside of the loops over threads, for all of them"));
        }
    }
    if !padding::is_outside(func, &mut algebra, &source) {
        let text = format!(
            "it is not proved that `{name}` is padded only where it lies outside of `{from_name}`, as the copy engine pads"
        );
        return Err(error(store, text, "pad by what lies outside of the tensor, or compute the padded tensor first"));
    }
    let (swizzle, panel) = row(func, alloc, elem, &extents)?;
    let is_plain = sides == extents;
    let rows = if sides.len() > 1 {
        let mut row = sides.clone();
        (row[0], row[sides.len() - 1]) = (1, panel);
        let bytes = row.iter().fold(i64::from(elem.bytes()), |product, &side| product.saturating_mul(side));
        let begins = if swizzle > 0 { SWIZZLED_ROWS * swizzle } else { ALIGN_OF_BOX };
        let part = largest_part(sides[0], bytes, begins).filter(|&part| is_plain || part == sides[0]);
        part.ok_or_else(|| {
            let text = format!(
                "`{name}` takes several boxes, as a side of one has at most {MAX_BOX} elements, and none of its parts \
                 begins at a multiple of {begins} bytes"
            );
            error(alloc, text, "take tiles of fewer rows, or of a multiple of 8")
        })?
    } else {
        1
    };
    let copy =
        Copy { alloc, buffer, elem, root, from, starts, steps, sides, algebra, extents, swizzle, panel, rows };
    let fit = unfit_box(&copy.box_extents(), &copy.steps, elem, (swizzle > 0).then_some(swizzle));
    if let Some((text, help)) = fit {
        return Err(error(alloc, format!("bulk copies cannot fill `{name}`: {text}"), &help));
    }
    strides(func, &copy).map_err(|(text, help)| error(alloc, text, &help))?;
    Ok(copy)
}

/// Element type and extents of the buffer.
fn shape(func: &Func, alloc: Op, buffer: Value) -> Result<(Elem, Vec<i64>), Box<Diagnostic>> {
    let error = |text: String, help: &str| {
        Box::new(Diagnostic::error("bulk-copy", func.op_location(alloc), text).help(help.to_string()))
    };
    let name = func.value_text(buffer);
    let shaped = func.as_shaped(func.value_type(buffer));
    let scope = shaped.and_then(|(_, _, scope)| scope);
    if !Scope::of_name(func, scope).is_some_and(Scope::is_shared) {
        let text = format!("`{name}` is in `{}`, and bulk copies go to shared memory", scope_text(func, scope));
        return Err(error(text, "make the buffer in `shared`, or take its `bulk` off"));
    }
    let numbers = shaped.and_then(|(elem, shape, _)| {
        let scalar = func.as_scalar(elem).filter(|scalar| scalar.lanes == 1)?;
        let extents: Option<Vec<i64>> = shape.iter().map(|&extent| func.as_int(extent)).collect();
        Some((scalar.elem, extents.filter(|extents| extents.iter().all(|&extent| extent > 0))?))
    });
    let Some((elem, extents)) = numbers else {
        let text = format!("`{name}` is no buffer of numbers with constant extents, as bulk copies fill");
        return Err(error(text, "take its `bulk` off"));
    };
    let given = [keys::STRIDES, keys::SWIZZLE, keys::PANEL].into_iter().find(|&key| func.attr_of(alloc, key).is_some());
    if let Some(key) = given {
        let text = format!("`{name}` has `{}`, and how it lies is for the copy engine to choose", func.text(key));
        return Err(error(text, "leave out one of the two"));
    }
    Ok((elem, extents))
}

/// The bytes of a swizzled row, 0 for none, and the elements of a panel.
fn row(func: &Func, alloc: Op, elem: Elem, extents: &[i64]) -> Result<(i64, i64), Box<Diagnostic>> {
    let last = extents.last().copied().unwrap_or(1);
    let size = i64::from(elem.bytes());
    let bytes = last.saturating_mul(size);
    let name = func.result(alloc).map_or("", |buffer| func.value_text(buffer));
    let divides = |&width: &i64| bytes % width == 0;
    let above = &extents[..extents.len().saturating_sub(1)];
    let n_rows = above.iter().fold(1i64, |product, &side| product.saturating_mul(side));
    // The mixing of a panel is by address: each begins where the pattern does.
    let begins_right = |width: i64| bytes == width || n_rows % SWIZZLED_ROWS == 0;
    let width = match func.attr_of(alloc, keys::BULK).map(|attr| func.attr_data(attr)) {
        Some(AttrData::Int(0, _)) => return Ok((0, last)),
        Some(&AttrData::Int(width, _)) => {
            WIDTHS.into_iter().find(|&known| i128::from(known) == width).ok_or_else(|| {
                let text = format!("rows of 32, 64 or 128 bytes are swizzled, and not of {width}");
                Box::new(Diagnostic::error("bulk-copy", func.op_location(alloc), text).help("write `bulk = 128`"))
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

/// The most rows of a box, each of `bytes`, that divide `extent` into parts which begin at multiples of `begins` bytes.
fn largest_part(extent: i64, bytes: i64, begins: i64) -> Option<i64> {
    let fits = |&part: &i64| extent % part == 0 && (part == extent || part.saturating_mul(bytes) % begins == 0);
    (1..=MAX_BOX.min(extent)).rev().find(fits)
}

/// The strides of the tensor are multiples of 16 bytes.
fn strides(func: &Func, copy: &Copy) -> Result<(), (String, String)> {
    let name = func.value_text(copy.from);
    if func.buffer_attr(copy.from, keys::STRIDES).is_some() {
        let text = format!("`{name}` has strides, and a tensor map is of a row-major tensor");
        return Err((text, "take the bulk copy off, or copy the tensor first".to_string()));
    }
    let Some((_, shape, _)) = func.as_shaped(func.value_type(copy.from)) else { return Ok(()) };
    let shape = shape.to_vec();
    let mut algebra = Algebra::of_func(func);
    let mut stride = algebra.analyzer.pool.int(i64::from(copy.elem.bytes()));
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
            let of = GRAIN / i64::from(copy.elem.bytes()).max(1);
            let help =
                format!("copy it by threads, pad its rows, or state it of the size of a row: `where size % {of} == 0`");
            return Err((text, help));
        }
    }
    Ok(())
}
