//! Which reductions there are, and by which path each goes.

use crate::analysis::exchange::WARP;
use crate::analysis::launch::{Extent, LaunchNests, Nest, coordinate, loop_var};
use crate::analysis::uniform::{Uniform, divergent_branch};
use tc_dialects::gpu;
use tc_dialects::tir::Coordinate;
use tc_ir::verify::is_threaded;
use tc_ir::walk::{all_ops, ancestors, is_inside};
use tc_ir::{Func, Op, Region, Value};
use tc_support::{Diagnostic, counted};

/// The most threads that a reduction counts on; no GPU has as many in a block.
const MAX_THREADS: i64 = 1 << 16;

/// How a reduction is written out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Path {
    /// There is nothing to combine, or nothing uses the result.
    Copy,
    /// A group lies within a warp.
    Warp,
    /// A group is made of whole warps, or is all there is.
    Warps,
    /// Through shared memory alone.
    Shared,
}

impl Path {
    /// What the pass counts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Path::Copy => "reductions of nothing",
            Path::Warp => "reductions within a warp",
            Path::Warps => "reductions across warps",
            Path::Shared => "reductions through shared memory",
        }
    }
}

/// A coordinate of a thread that has more than one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digit {
    pub(super) coordinate: Coordinate,
    pub(super) extent: i64,
    pub(super) reduced: bool,
    /// The variable of the loop around the reduction that names it, and where that starts.
    pub(super) var: Option<(Value, i64)>,
}

/// What is to be done with one reduction.
pub(super) struct AllReduce {
    pub(super) op: Op,
    pub(super) path: Path,
    /// The body of the launch nest.
    pub(super) home: Option<Region>,
    /// `x` first.
    pub(super) digits: Vec<Digit>,
    /// The threads of a group, and of the block.
    pub(super) n: i64,
    pub(super) total: i64,
    /// Does the combiner commute, by its row?
    pub(super) commutes: bool,
}

impl AllReduce {
    /// Does every lane get the result by exchanging with others, bit by bit?
    pub(super) fn is_butterfly(&self, n: i64) -> bool {
        self.commutes && n & (n - 1) == 0
    }
}

type Found = Result<AllReduce, Box<Diagnostic>>;

/// All reductions of `func`, in the order of the text.
pub(super) fn all(func: &Func, nests: &LaunchNests, shuffles: bool) -> Vec<Found> {
    let ops: Vec<Op> = all_ops(func).filter(|&op| func.opcode(op) == gpu::ALL_REDUCE).collect();
    if ops.is_empty() {
        return Vec::new();
    }
    let nests = nests.iter().filter(|nest| ops.iter().any(|&op| is_inside(func, op, nest.op)));
    let nests: Vec<(&Nest, Uniform)> = nests.map(|nest| (nest, Uniform::of(func, nest))).collect();
    ops.into_iter()
        .map(|op| {
            let around = nests.iter().find(|(nest, _)| is_inside(func, op, nest.op));
            plan(func, op, around, shuffles)
        })
        .collect()
}

fn plan(func: &Func, op: Op, around: Option<&(&Nest, Uniform)>, shuffles: bool) -> Found {
    if is_threaded(func) {
        let text =
            format!("the threads of `@{}` are independent already: this reduction comes too late", func.symbol());
        let help = "run `lower-thread-allreduce` before `thread-sync`";
        return Err(Box::new(Diagnostic::assumption("form", func.op_location(op), text).help(help)));
    }
    if let Some((nest, uniform)) = around
        && let Some(branch) = divergent_branch(func, uniform, nest.op, op)
    {
        return Err(Box::new(divergent(func, op, branch)));
    }
    let mut plan = AllReduce {
        op,
        path: Path::Copy,
        home: around.map(|(nest, _)| func.op_regions(nest.op)[0]),
        digits: Vec::new(),
        n: 1,
        total: 1,
        commutes: commutes(func, op),
    };
    if let Some((nest, _)) = around {
        digits(func, nest, &mut plan)?;
    }
    plan.path = path(func, &plan, shuffles);
    match plan.digits.iter().find(|digit| digit.var.is_none() && asks_for(&plan, digit)) {
        Some(digit) => Err(Box::new(unnamed(func, op, digit))),
        None => Ok(plan),
    }
}

fn digits(func: &Func, nest: &Nest, plan: &mut AllReduce) -> Result<(), Box<Diagnostic>> {
    let reduced = gpu::reduced_axes(func, plan.op).unwrap_or_default();
    for axis in Coordinate::ALL.into_iter().filter(|axis| axis.is_thread()) {
        let extent = match nest.extents[axis.index()] {
            Extent::One => 1,
            Extent::Const(extent) => extent,
            Extent::Symbolic => {
                let text = format!("`{}` runs to no constant, and the threads of a reduction are counted", axis.name());
                let help = "bind a loop with constant bounds to it";
                return Err(Box::new(Diagnostic::error("launch-extent", func.op_location(plan.op), text).help(help)));
            }
        };
        if extent <= 1 {
            continue;
        }
        let reduced = reduced.contains(&axis);
        plan.total = plan.total.saturating_mul(extent);
        plan.n = if reduced { plan.n.saturating_mul(extent) } else { plan.n };
        let named = ancestors(func, plan.op).find(|&outer| coordinate(func, outer) == Some(axis));
        let var = named.and_then(|outer| Some((loop_var(func, outer), func.const_int(func.operand(outer, 0))?)));
        plan.digits.push(Digit { coordinate: axis, extent, reduced, var });
    }
    if plan.total > MAX_THREADS {
        let text = format!("a block of {} threads is too large to reduce across", plan.total);
        let diagnostic = Diagnostic::error("block-size", func.op_location(plan.op), text);
        return Err(Box::new(diagnostic.help("bind smaller axes to threads")));
    }
    Ok(())
}

fn path(func: &Func, plan: &AllReduce, shuffles: bool) -> Path {
    let (n, total) = (plan.n, plan.total);
    // The numbers of a group's threads follow each other if the reduced coordinates come first.
    let first = plan.digits.iter().take_while(|digit| digit.reduced).count();
    let contiguous = plan.digits[first..].iter().all(|digit| !digit.reduced);
    let exchange = shuffles && contiguous && func.operands(plan.op).iter().all(|&value| is_exchanged(func, value));
    // What nothing uses is not computed: in a phased program the reduction does nothing else.
    let is_used = func.results(plan.op).any(|value| func.n_uses(value) > 0);
    match n {
        1 => Path::Copy,
        _ if !is_used => Path::Copy,
        _ if exchange && (WARP % n == 0 || total <= WARP) => Path::Warp,
        _ if exchange && (n % WARP == 0 || n == total) => Path::Warps,
        _ => Path::Shared,
    }
}

/// Why a reduction goes through shared memory where shuffles are allowed.
pub(super) fn why_shared(func: &Func, plan: &AllReduce) -> String {
    let first = plan.digits.iter().take_while(|digit| digit.reduced).count();
    if let Some(late) = plan.digits[first..].iter().find(|digit| digit.reduced) {
        let kept = plan.digits[..].iter().find(|digit| !digit.reduced).map_or("", |digit| digit.coordinate.name());
        let name = late.coordinate.name();
        return format!(
            "`{name}` is reduced and `{kept}` is not, so a group's threads are not numbered one after another"
        );
    }
    let odd = func.operands(plan.op).iter().find(|&value| !is_exchanged(func, *value));
    if let Some(scalar) = odd.and_then(|&value| func.value_scalar(value)) {
        return format!("no shuffle hands on values of `{}`", scalar.elem.name());
    }
    format!("a group of {} is no part of a warp of {WARP}, and no number of whole warps", counted(plan.n, "thread"))
}

/// Can a shuffle hand on such a value?
fn is_exchanged(func: &Func, value: Value) -> bool {
    func.value_scalar(value).is_some_and(|scalar| !scalar.elem.is_for_products())
}

/// Is the coordinate asked for on this path?
fn asks_for(plan: &AllReduce, digit: &Digit) -> bool {
    match plan.path {
        Path::Copy => false,
        // Who exchanges with whom is told by the number of the lane; who is first in a group need not be computed where
        // groups are counted in lanes.
        Path::Warp => !plan.is_butterfly(plan.n) && (digit.reduced || WARP % plan.n != 0),
        Path::Warps | Path::Shared => true,
    }
}

/// Is the combiner one commuting op a value?
fn commutes(func: &Func, op: Op) -> bool {
    let body = func.op_regions(op)[0];
    let (args, yielded) = (func.region_args(body), func.yielded(body));
    let n = yielded.len();
    yielded.iter().enumerate().all(|(nth, &value)| {
        func.def_op(value).is_some_and(|def| {
            let (lower, upper) = (args[nth], args[nth + n]);
            let operands = func.operands(def);
            func.row(def).commutative && (operands == [lower, upper] || operands == [upper, lower])
        })
    })
}

fn divergent(func: &Func, op: Op, branch: Op) -> Diagnostic {
    let text = "not all threads of the block reach this reduction";
    Diagnostic::error("divergent-reduction", func.op_location(op), text)
        .label(func.op_location(branch), "threads of one block part here")
        .help(
            "move it out, and let threads that have no part bring the identity: `if_then_else(condition, value, 0.0)`",
        )
}

fn unnamed(func: &Func, op: Op, digit: &Digit) -> Diagnostic {
    let (name, extent) = (digit.coordinate.name(), digit.extent);
    let text = format!(
        "`{name}` has {}, and no loop from a constant on around this reduction names it",
        counted(extent, "thread")
    );
    Diagnostic::error("launch-extent", func.op_location(op), text)
        .help(format!("put the reduction inside a loop bound to `{name}`"))
}
