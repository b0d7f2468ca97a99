//! Which stores can be asynchronous copies, and what keeps others from it.

use crate::analysis::copied::{self, NoCopy, Source};
use crate::analysis::invariant::runs_anywhere;
use crate::analysis::overflow::Ranges;
use indexmap::IndexSet;
use tc_dialects::tir::{self, LoopKind};
use tc_dialects::{arith, forms};
use tc_ir::walk::{ancestors, is_inside};
use tc_ir::{Func, Op, Region, Value, effects, keys};
use tc_support::Diagnostic;

/// A copy to be made.
pub(super) struct Copy {
    pub(super) store: Op,
    /// The buffer that is written, and the first element.
    pub(super) to: (Value, Value),
    /// The buffer that is read, and the first element.
    pub(super) from: (Value, Value),
    /// How many elements.
    pub(super) n: i64,
    /// The condition without which there are zeros, and the answer to it that asks for a copy.
    pub(super) when: Option<(Value, bool)>,
    /// What computes the position under the condition, in the order of the text.
    pub(super) moved: Vec<Op>,
}

/// Why a store is none: in words, and the help.
pub(super) struct Obstacle {
    text: String,
    help: &'static str,
}

impl Obstacle {
    fn new(text: impl Into<String>, help: &'static str) -> Obstacle {
        Obstacle { text: text.into(), help }
    }

    /// The remark at the store.
    pub(super) fn remark(self, func: &Func, store: Op) -> Diagnostic {
        let name = func.value_text(func.operand(store, 0));
        let text = format!("`{name}` is not copied asynchronously here: {}", self.text);
        Diagnostic::remark("not-async", func.op_location(store), text).help(self.help)
    }
}

/// The copy that the store `store` is.
pub(super) fn find(func: &Func, store: Op) -> Result<Copy, Obstacle> {
    let (buffer, index) = (func.operand(store, 0), func.operand(store, 1));
    let value = func.operand(store, 2);
    let source = source(func, value)?;
    let (load, from) = (source.load, func.operand(source.load, 0));
    if !forms::is_global(func, from) {
        let text = format!("`{}` is not in global memory", func.value_text(from));
        return Err(Obstacle::new(text, "the hardware copies from global to shared memory alone"));
    }
    let elem = |buffer: Value| tir::place_type(func, buffer).map(|(elem, _, _)| elem);
    let width = elem(buffer).and_then(|elem| func.as_scalar(elem)).filter(|scalar| scalar.lanes == 1);
    let (Some(width), true, true) = (width, elem(buffer) == elem(from), func.operands(load).len() == 2) else {
        return Err(converted());
    };
    let (width, n) = (i64::from(width.bytes()), func.value_scalar(value).map_or(1, |scalar| i64::from(scalar.lanes)));
    let (Some(to_start), Some(from_start)) = (start(func, index), start(func, func.operand(load, 1))) else {
        let help = "it is vectorized over elements that are apart in one of the buffers: vectorize the loop over those that \
                    lie side by side in both";
        return Err(Obstacle::new("its elements do not lie side by side", help));
    };
    let bytes = width * n;
    if !matches!(bytes, 4 | 8 | 16) {
        return Err(Obstacle::new(
            format!("one copy is of 4, 8 or 16 bytes, not {bytes}"),
            other_width(func, store, n),
        ));
    }
    for op in [store, load] {
        let aligned = func.int_of(op, keys::ALIGNED).unwrap_or(width);
        if aligned < bytes {
            let name = func.value_text(func.operand(op, 0));
            let text = format!("it is not proved that it starts at a multiple of {bytes} bytes in `{name}`");
            let help = "make the rows of both buffers multiples of that, or vectorize by fewer elements";
            return Err(Obstacle::new(text, help));
        }
    }
    if !is_beside(func, source.outermost, store) {
        let help = "load the value in the statement that stores it";
        return Err(Obstacle::new("memory is written between the load and the store", help));
    }
    let moved = match source.branch {
        Some(branch) => movable(func, from_start, branch)?,
        None => Vec::new(),
    };
    let to = (buffer, to_start);
    Ok(Copy { store, to, from: (from, from_start), n, when: source.when, moved })
}

/// The help for a copy of `n` elements that has a width which the hardware lacks.
fn other_width(func: &Func, store: Op, n: i64) -> &'static str {
    let is_marked = |op: Op| tir::loop_kind(func, op) == Some(LoopKind::Vectorize);
    if ancestors(func, store).any(is_marked) {
        "run `vectorize-loop` before this pass, as the pipeline `cuda` does"
    } else if n > 1 {
        "it is vectorized by a number of elements that comes to another size: vectorize the copy by 4, 8 or 16 bytes"
    } else {
        "vectorize the copy by 4, 8 or 16 bytes; where a directive does so, a remark of `vectorize-loop` tells why it is scalar"
    }
}

/// The load that `value` is copied from.
fn source(func: &Func, value: Value) -> Result<Source, Obstacle> {
    copied::source(func, value).map_err(|found| match found {
        NoCopy::Computed => {
            Obstacle::new("the value is computed", "copy the values as they are, and compute where they are used")
        }
        NoCopy::Converted => converted(),
        NoCopy::NotZero => {
            let help = "copy under one condition, and put zeros where it does not hold";
            Obstacle::new("what stands there without a copy is not zero", help)
        }
        NoCopy::DiffersByLane => {
            let help = "pad by whole vectors, or vectorize by fewer elements";
            Obstacle::new("the condition differs between the elements of one copy", help)
        }
    })
}

fn converted() -> Obstacle {
    Obstacle::new("an element changes its type on the way", "cast where the values are used")
}

/// The first of the elements that `index` names side by side.
fn start(func: &Func, index: Value) -> Option<Value> {
    if func.value_scalar(index)?.lanes == 1 {
        return Some(index);
    }
    let ramp = func.def_op(index).filter(|&op| func.opcode(op) == arith::RAMP)?;
    (func.const_int(func.operand(ramp, 1)) == Some(1)).then(|| func.operand(ramp, 0))
}

/// Does `op` stand in the region of `store`, with nothing between the two that writes or orders memory?
fn is_beside(func: &Func, op: Op, store: Op) -> bool {
    if func.region_of(op) != func.region_of(store) {
        return false;
    }
    let between = std::iter::successors(func.next_op(op), |&at| func.next_op(at)).take_while(|&at| at != store);
    between.into_iter().all(|at| effects::only_reads(func, at) || func.row(at).effect.allocates)
}

/// What `value` is computed from under the branch; all of that must be able to run without the condition.
fn movable(func: &Func, value: Value, branch: Region) -> Result<Vec<Op>, Obstacle> {
    let Some(parent) = func.region_parent(branch) else { return Ok(Vec::new()) };
    let (mut found, mut pending): (IndexSet<Op>, Vec<Value>) = (IndexSet::new(), vec![value]);
    let mut ranges = Ranges::default();
    while let Some(value) = pending.pop() {
        let Some(op) = func.def_op(value).filter(|&op| is_inside(func, op, parent)) else { continue };
        let is_plain = func.op_regions(op).is_empty() && runs_anywhere(func, op);
        if func.region_of(op) != Some(branch) || !is_plain || !ranges.fits(func, op, parent) {
            let help = "compute the position from values that are there in any case";
            return Err(Obstacle::new("its position is known only where the condition holds", help));
        }
        if found.insert(op) {
            pending.extend_from_slice(func.operands(op));
        }
    }
    Ok(func.ops(branch).filter(|op| found.contains(op)).collect())
}
