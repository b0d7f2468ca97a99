//! Which nest copies between a buffer and a tensor, and which box of the tensor.

use super::join::{self, Dim};
use super::layout;
use super::owner;
use super::padding;
use super::place::{Access, Place};
use super::widen;
use crate::analysis::copied::{self, NoCopy, Source};
use crate::analysis::launch::{coordinate, launch_var};
use crate::analysis::structure::{is_one_armed, runs_in_order};
use crate::analysis::tiles;
use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_dialects::tir::Coordinate;
use tc_dialects::tma::{MAX_PIECES, align_of_box, cuts, unfit_box};
use tc_dialects::{forms, tir};
use tc_ir::uses::Uses;
use tc_ir::walk::{ancestors, is_inside, ops_under};
use tc_ir::{Def, Elem, Func, Name, Op, Value, effects, keys};
use tc_support::{Diagnostic, counted};

/// A copy between a buffer in shared memory and a tensor.
pub(super) struct Copy {
    pub(super) alloc: Op,
    pub(super) buffer: Value,
    pub(super) elem: Elem,
    pub(super) way: Way,
    /// The outermost op of the nest that copies.
    pub(super) root: Op,
    pub(super) tensor: Value,
    /// The extents of the tensor as the copy engine sees it: of its dimensions some may be joined.
    pub(super) shape: Vec<Dim>,
    /// Where the box starts in each of these dimensions.
    pub(super) starts: Vec<Expr>,
    pub(super) algebra: Algebra,
    /// How far an element of the box is from the next, in each dimension of the tensor.
    pub(super) steps: Vec<i64>,
    /// See [`Place::apart`].
    pub(super) apart: Option<usize>,
    /// The extents of all that is copied, in each dimension of the tensor.
    pub(super) sides: Vec<i64>,
    /// The extents of the buffer, as the copy engine sees it.
    pub(super) extents: Vec<i64>,
    /// It sees longer rows than the program.
    pub(super) is_wide: bool,
    /// Where in the buffer all that is copied lies.
    pub(super) offsets: Vec<Expr>,
    pub(super) lengths: Vec<i64>,
    /// The bytes of a swizzled row, or 0.
    pub(super) swizzle: i64,
    /// The elements of a panel.
    pub(super) panel: i64,
    /// The elements of the first dimension of the tensor that one copy moves.
    pub(super) rows: i64,
    /// In how many pieces each copy may go, where it is asked for.
    pub(super) pieces: Option<i64>,
}

/// Which way a copy goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// From the tensor to the buffer.
    In,
    /// From the buffer to the tensor.
    Out,
}

impl Way {
    /// The way that the buffer of `alloc` is asked to be copied.
    pub(super) fn asked(func: &Func, alloc: Op) -> Option<Way> {
        [Way::In, Way::Out].into_iter().find(|way| func.attr_of(alloc, way.key()).is_some())
    }

    /// The key that asks for it.
    pub(super) fn key(self) -> Name {
        match self {
            Way::In => keys::BULK,
            Way::Out => keys::BULK_OUT,
        }
    }

    fn fills(self) -> &'static str {
        match self {
            Way::In => "fills",
            Way::Out => "copies",
        }
    }

    fn filled(self) -> &'static str {
        match self {
            Way::In => "filled",
            Way::Out => "copied",
        }
    }
}

impl Copy {
    /// How many copies there are, by what divides them: elements that lie apart, rows of the first dimension, panels.
    pub(super) fn n_boxes(&self) -> [i64; 3] {
        let Some((last, _)) = self.sides.split_last() else { return [1; 3] };
        let parts = if self.sides.len() > 1 { self.sides[0] / self.rows } else { 1 };
        [self.apart.map_or(1, |dim| self.sides[dim]), parts, last / self.panel]
    }

    /// The extents of the box of one copy.
    pub(super) fn box_extents(&self) -> Vec<i64> {
        let mut sides = self.sides.clone();
        if sides.len() > 1 {
            sides[0] = self.rows;
        }
        if let Some(dim) = self.apart {
            sides[dim] = 1;
        }
        if let Some(last) = sides.last_mut() {
            *last = self.panel;
        }
        sides
    }
}

type Found<T> = Result<T, Box<Diagnostic>>;

fn error(func: &Func, alloc: Op, at: Op, text: String, help: &str) -> Box<Diagnostic> {
    let found = Diagnostic::error("bulk-copy", func.op_location(at), text).help(help.to_string());
    Box::new(if at == alloc { found } else { found.label(func.op_location(alloc), "the buffer is made here") })
}

/// What the copy by which the buffer of `alloc` is filled or read is, or why it is none for the copy engine.
pub(super) fn find(func: &Func, alloc: Op, way: Way) -> Found<Copy> {
    let refuse = |at: Op, text: String, help: &str| error(func, alloc, at, text, help);
    let Some(buffer) = func.result(alloc) else {
        return Err(refuse(alloc, "an alloc makes one buffer".to_string(), ""));
    };
    let name = func.value_text(buffer).to_string();
    let (elem, extents) = layout::shape(func, alloc, buffer)?;
    let (store, source) = match way {
        Way::In => from_tensor(func, alloc, buffer)?,
        Way::Out => to_tensor(func, alloc, buffer)?,
    };
    let (root, loops) = nest(func, alloc, store, way, &name)?;
    let indices_of_store = &func.operands(store)[1..func.operands(store).len() - 1];
    let indices_of_load = &func.operands(source.load)[1..];
    let (tensor, of_buffer, of_tensor) = match way {
        Way::In => (func.operand(source.load, 0), indices_of_store, indices_of_load),
        Way::Out => (func.operand(store, 0), indices_of_load, indices_of_store),
    };
    let tensor_name = func.value_text(tensor).to_string();
    // The ranges of loops alone: the box has to be right where conditions do not hold, too.
    let mut algebra = tiles::algebra(func);
    let access = Access { loops: &loops, buffer, extents: &extents, tensor, is_whole: way == Way::In };
    let found = access.place(func, &mut algebra, of_buffer, of_tensor);
    let mut place = found.map_err(|(text, help)| refuse(store, text, help))?;
    let mut shape = join::join(func, &mut algebra, &mut place, tensor);
    let mut seen = extents.clone();
    let is_wide = widen::widen(func, (alloc, way), elem, &algebra, (&mut place, &mut shape), &mut seen);
    let extents = seen;
    let Place { starts, sides, steps, apart, offsets, lengths } = place;
    if let Some(var) = of_thread(func, store, of_tensor, way) {
        let text = format!(
            "the box that {} `{name}` differs between the threads of a {}, by `{}`",
            way.fills(),
            if way == Way::In { "block" } else { "warpgroup" },
            func.value_text(var)
        );
        return Err(refuse(store, text, "compute the copy outside of the loops over threads, for all of them"));
    }
    let inside = |value: Value| func.def_op(value).is_some_and(|op| op != root && is_inside(func, op, root));
    let mut vars = starts.iter().flat_map(|&start| algebra.analyzer.pool.vars(start)).map(Algebra::value);
    if let Some(value) = vars.find(|&value| inside(value)) {
        let text = format!(
            "where the box lies that {} `{name}` is told by `{}`, inside of the copy",
            way.fills(),
            func.def_op(value).map_or("", |op| func.op_name(op))
        );
        return Err(refuse(
            store,
            text,
            "compute it before the copy, `let start = …`; in a schedule, copy the tensor by `cache_read`, and pad it where it is read",
        ));
    }
    if !layout::starts_at_grain(&mut algebra, &starts, elem) {
        let text = format!(
            "the box that {} `{name}` is not proved to start at a multiple of 16 bytes of a row of `{tensor_name}`",
            way.fills()
        );
        return Err(refuse(
            store,
            text,
            "let boxes start at such columns: pad or divide other dimensions than the last",
        ));
    }
    let conditions = match way {
        Way::In => source.when.into_iter().collect(),
        Way::Out => guards(func, store, root),
    };
    if !padding::hold_inside(func, &mut algebra, (tensor, of_tensor), &conditions) {
        let text = match way {
            Way::In => format!(
                "it is not proved that `{name}` is padded only where it lies outside of `{tensor_name}`, as the copy engine pads"
            ),
            Way::Out => format!(
                "it is not proved that all of `{name}` is copied that lies inside of `{tensor_name}`, as the copy engine does"
            ),
        };
        return Err(refuse(
            store,
            text,
            "copy all that lies inside of the tensor, or leave out `bulk_copy` (in a program, `bulk`)",
        ));
    }
    if way == Way::Out
        && let Some(stray) = owner::stray(func, &mut algebra, buffer, (&offsets, &lengths), store)
    {
        let text = format!("it is not proved that each warpgroup copies what its own threads write to `{name}`");
        let found =
            refuse(stray, text, "bind the same part of the rows to threadIdx.y where it is computed and copied");
        return Err(Box::new(found.label(func.op_location(store), "the copy")));
    }
    // Of an argument all is there; of what the program computes only what its loops reach.
    let is_argument = matches!(func.def(tensor), Def::Arg(..));
    if way == Way::In
        && !is_argument
        && !padding::hold_inside(func, &mut algebra, (tensor, of_tensor), &guards(func, store, root))
    {
        let text = format!(
            "it is not proved that all of the box of `{tensor_name}` that fills `{name}` is computed before: a condition keeps \
             a part of it from being copied"
        );
        return Err(refuse(
            store,
            text,
            "let the tiles divide the extents, or leave out `bulk_copy` (in a program, `bulk`)",
        ));
    }
    let (swizzle, panel) = layout::row(func, alloc, way.key(), elem, &extents)?;
    let rows = layout::rows_of_box((&sides, apart), (&extents, panel), elem, swizzle).ok_or_else(|| {
        let begins = align_of_box(swizzle);
        let text = format!(
            "`{name}` takes several boxes, as a side of one has at most {} elements, and none of its parts begins at a \
             multiple of {begins} bytes",
            tc_dialects::tma::MAX_BOX
        );
        refuse(alloc, text, "take tiles of fewer rows, or of a multiple of 8")
    })?;
    if !layout::begins_right(&mut algebra, &offsets, (&extents, panel), elem, swizzle) {
        let begins = align_of_box(swizzle);
        let text =
            format!("the part of `{name}` that is copied is not proved to begin at a multiple of {begins} bytes");
        return Err(refuse(store, text, "copy parts of a multiple of 8 rows"));
    }
    let copy = Copy {
        alloc,
        buffer,
        elem,
        way,
        root,
        tensor,
        shape,
        starts,
        algebra,
        steps,
        apart,
        sides,
        extents,
        is_wide,
        offsets,
        lengths,
        swizzle,
        panel,
        rows,
        pieces: None,
    };
    let copy = Copy { pieces: pieces(func, &copy)?, ..copy };
    let fit = unfit_box(&copy.box_extents(), &copy.steps, elem, (swizzle > 0).then_some(swizzle));
    if let Some((text, help)) = fit {
        let verb = if way == Way::In { "fill" } else { "take" };
        return Err(refuse(alloc, format!("bulk copies cannot {verb} `{name}`: {text}"), &help));
    }
    layout::strides(func, tensor, elem).map_err(|(text, help)| refuse(alloc, text, &help))?;
    Ok(copy)
}

/// In how many pieces each of the copies goes, all of them in as many as the alloc asks for.
fn pieces(func: &Func, copy: &Copy) -> Found<Option<i64>> {
    let Some(wanted) = func.int_of(copy.alloc, keys::PIECES) else { return Ok(None) };
    let (n_boxes, extents) = (copy.n_boxes().iter().product::<i64>(), copy.box_extents());
    let can_be =
        |n: i64| n % n_boxes == 0 && cuts(&extents, n / n_boxes, i64::from(copy.elem.bytes()), copy.swizzle).is_some();
    if can_be(wanted) {
        return Ok(Some(wanted / n_boxes));
    }
    let name = func.value_text(copy.buffer);
    let shown = extents.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ");
    let text = format!(
        "`{name}` cannot leave in {wanted} pieces: a warpgroup copies {} of {shown}",
        if n_boxes == 1 { "one box".to_string() } else { format!("{n_boxes} boxes") }
    );
    let legal: Vec<String> = (2..=MAX_PIECES).filter(|&n| can_be(n)).map(|n| n.to_string()).collect();
    let help = match legal.split_last() {
        Some((last, [])) => format!("let it leave in {last}, or leave out `pieces`"),
        Some((last, others)) => format!("let it leave in {} or {last}, or leave out `pieces`", others.join(", ")),
        None => "leave out `pieces`: it cannot be cut".to_string(),
    };
    Err(Box::new(Diagnostic::error("pieces", func.asked_location(copy.alloc), text).help(help)))
}

/// The one statement that fills the buffer, and what it copies.
fn from_tensor(func: &Func, alloc: Op, buffer: Value) -> Found<(Op, Source)> {
    let refuse = |at: Op, text: String, help: &str| error(func, alloc, at, text, help);
    let name = func.value_text(buffer);
    let uses = Uses::of(func);
    let writes = |op: Op| effects::accesses(func, op).iter().any(|&(place, access)| place == buffer && access.writes());
    let writers: Vec<Op> = uses.of_value(buffer).iter().map(|user| user.op).filter(|&op| writes(op)).collect();
    let &[store] = &writers[..] else {
        let text = format!(
            "`{name}` is filled by {}, and bulk copies fill it as a whole",
            counted(writers.len(), "statement")
        );
        let at = writers.get(1).copied().unwrap_or(alloc);
        return Err(refuse(at, text, "let one copy fill it, or leave out `bulk_copy` (in a program, `bulk`)"));
    };
    if func.opcode(store) != tir::STORE {
        let text = format!("`{}` fills `{name}`, and a bulk copy stands for loops that copy", func.op_name(store));
        return Err(refuse(store, text, "leave out `bulk_copy` (in a program, `bulk`)"));
    }
    let value = func.operands(store).last().copied();
    let source = value.ok_or(NoCopy::Computed).and_then(|value| copied::source(func, value)).map_err(|found| {
        let (what, help) = match found {
            NoCopy::Converted => {
                ("converted", "convert where the elements are used, or leave out `bulk_copy` (in a program, `bulk`)")
            }
            NoCopy::NotZero => (
                "padded by more than zeros",
                "pad by zeros, under one condition (`a && b`), or leave out `bulk_copy` (in a program, `bulk`)",
            ),
            _ => ("computed", "compute where the elements are used, or leave out `bulk_copy` (in a program, `bulk`)"),
        };
        let text = format!("what `{name}` is filled with is {what}, and a bulk copy moves elements as they are");
        refuse(store, text, help)
    })?;
    let from = func.operand(source.load, 0);
    if !is_tensor(func, from) {
        let text = format!("`{name}` is filled from `{}`, which is no buffer in global memory", func.value_text(from));
        return Err(refuse(store, text, "bulk copies move boxes of tensors in global memory"));
    }
    Ok((store, source))
}

/// The one statement that reads the buffer, and what it copies.
fn to_tensor(func: &Func, alloc: Op, buffer: Value) -> Found<(Op, Source)> {
    let refuse = |at: Op, text: String, help: &str| error(func, alloc, at, text, help);
    let name = func.value_text(buffer);
    let uses = Uses::of(func);
    let reads = |op: Op| effects::accesses(func, op).iter().any(|&(place, access)| place == buffer && access.reads());
    let readers: Vec<Op> = uses.of_value(buffer).iter().map(|user| user.op).filter(|&op| reads(op)).collect();
    let &[load] = &readers[..] else {
        let text =
            format!("`{name}` is read by {}, and bulk copies read it as a whole", counted(readers.len(), "statement"));
        let at = readers.get(1).copied().unwrap_or(alloc);
        return Err(refuse(at, text, "let one copy read it, or leave out `bulk_copy` (in a program, `bulk_out`)"));
    };
    let users = func.result(load).filter(|_| func.opcode(load) == tir::LOAD).map(|value| uses.of_value(value));
    let store = match users {
        Some([user]) if func.opcode(user.op) == tir::STORE && user.idx + 1 == func.operands(user.op).len() => user.op,
        _ => {
            let text = format!("what `{name}` holds is computed with, and a bulk copy moves elements as they are");
            return Err(refuse(load, text, "compute before, or leave out `bulk_copy` (in a program, `bulk_out`)"));
        }
    };
    let to = func.operand(store, 0);
    if !is_tensor(func, to) {
        let text = format!("`{name}` is copied to `{}`, which is no buffer in global memory", func.value_text(to));
        return Err(refuse(store, text, "bulk copies move boxes of tensors in global memory"));
    }
    Ok((store, Source { load, when: None, branch: None, outermost: load }))
}

fn is_tensor(func: &Func, buffer: Value) -> bool {
    forms::is_global(func, buffer) && func.as_shaped(func.value_type(buffer)).is_some()
}

/// The outermost op that does nothing but copy, and the loops in it.
fn nest(func: &Func, alloc: Op, store: Op, way: Way, name: &str) -> Found<(Op, Vec<Op>)> {
    let refuse = |at: Op, text: String, help: &str| error(func, alloc, at, text, help);
    let home = func.region_of(alloc);
    let around: Vec<Op> = ancestors(func, store).take_while(|&op| func.region_of(op).is_some()).collect();
    let inside = around.iter().position(|&op| func.region_of(op) == home);
    let nest: Vec<Op> = match inside {
        Some(last) => around[..=last].to_vec(),
        None if func.region_of(store) == home => Vec::new(),
        None => {
            let text = format!("`{name}` is {} outside of where it is made", way.filled());
            return Err(refuse(store, text, "make the copy in the region of the buffer, or leave out `bulk_copy`"));
        }
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
                let text = format!("`{name}` is {} under a `{}` that is no plain loop", way.filled(), func.op_name(op));
                let help = "let loops that run in order copy it, bound to no threads";
                return Err(refuse(op, text, help));
            }
        }
        let stray = ops_under(func, func.op_regions(op)[0]).find(|&inner| {
            inner != store && !nest.contains(&inner) && !func.row(inner).terminator && !effects::only_reads(func, inner)
        });
        if let Some(stray) = stray {
            let text = format!("the nest that {} `{name}` does something else, too", way.fills());
            return Err(refuse(stray, text, "copy in loops of their own"));
        }
    }
    Ok((root, loops))
}

/// A number of threads that `indices` depend on and may not: of any that a block has, or, of a copy to a tensor, of those of
/// a warpgroup, which come to it together.
fn of_thread(func: &Func, store: Op, indices: &[Value], way: Way) -> Option<Value> {
    let differs = |of: Coordinate| match way {
        Way::In => of.is_thread(),
        Way::Out => of == Coordinate::ThreadX,
    };
    launch_var(func, store, indices, differs)
}

/// The conditions around `store`, up to `root`.
fn guards(func: &Func, store: Op, root: Op) -> Vec<(Value, bool)> {
    let mut found = Vec::new();
    if store == root {
        return found;
    }
    for op in ancestors(func, store) {
        if func.opcode(op) == tir::IF {
            found.push((func.operand(op, 0), true));
        }
        if op == root {
            break;
        }
    }
    found
}
