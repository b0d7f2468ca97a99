//! Launch nests: which loops name the coordinates of a launch, and how far each coordinate runs.

use super::invariant::arguments;
use tc_dialects::algebra::{const_extent, is_launch};
use tc_dialects::tir::{self, Coordinate, LoopKind};
use tc_dialects::{arith, wgmma};
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{AttrData, Builder, Func, Op, Region, Value, keys};
use tc_pass::Analysis;

/// From so many virtual threads on, their statements go into a loop; copies of fewer are written out.
pub(crate) const MANY_VIRTUAL_THREADS: i64 = 16;

/// The outermost launch loops of `func`, in the order of the text. Each is a kernel to be.
fn nests(func: &Func) -> Vec<Op> {
    let mut found = Vec::new();
    let mut worklist: Vec<Op> = func.first_op(func.body()).into_iter().collect();
    while let Some(op) = worklist.pop() {
        worklist.extend(func.next_op(op));
        if is_launch(func, op) {
            found.push(op);
        } else {
            worklist.extend(func.op_regions(op).iter().rev().filter_map(|&region| func.first_op(region)));
        }
    }
    found
}

/// The launch loop around `op` that stands outermost.
pub(crate) fn nest_of(func: &Func, op: Op) -> Option<Op> {
    ancestors(func, op).filter(|&outer| is_launch(func, outer)).last()
}

/// The coordinate that the loop `op` names.
pub(crate) fn coordinate(func: &Func, op: Op) -> Option<Coordinate> {
    match tir::loop_kind(func, op) {
        Some(LoopKind::Launch(coordinate)) if func.opcode(op) == tir::FOR => Some(coordinate),
        _ => None,
    }
}

/// Does it tell rows of threads along threadIdx.x apart?
pub(crate) fn is_row(of: Coordinate) -> bool {
    of.is_thread() && of != Coordinate::ThreadX
}

/// The variable of the loop `op`.
pub(crate) fn loop_var(func: &Func, op: Op) -> Value {
    func.region_args(func.op_regions(op)[0])[0]
}

/// The launch nests of a function, in the order of the text.
#[derive(PartialEq, Eq)]
pub(crate) struct LaunchNests(Vec<Nest>);

impl LaunchNests {
    /// The nests.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Nest> {
        self.0.iter()
    }

    /// Is there none?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Analysis for LaunchNests {
    const NAME: &'static str = "launch-nests";

    fn of(func: &Func) -> LaunchNests {
        LaunchNests(nests(func).into_iter().map(|op| Nest::of(func, op)).collect())
    }
}

/// How far a coordinate of a nest runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// No loop names it.
    One,
    /// A constant.
    Const(i64),
    /// An expression.
    Symbolic,
}

/// A launch nest: a kernel to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Nest {
    /// The outermost launch loop.
    pub(crate) op: Op,
    /// All launch loops, in the order of the text.
    pub(crate) loops: Vec<(Op, Coordinate)>,
    /// How far each coordinate runs, by [`Coordinate::index`].
    pub(crate) extents: [Extent; 6],
}

impl Nest {
    /// The number of values of a coordinate, where it is constant.
    pub(crate) fn extent(&self, of: Coordinate) -> Option<i64> {
        match self.extents[of.index()] {
            Extent::One => Some(1),
            Extent::Const(n) => Some(n),
            Extent::Symbolic => None,
        }
    }

    /// The nest whose outermost launch loop is `op`.
    pub(crate) fn of(func: &Func, op: Op) -> Nest {
        let mut loops = Vec::new();
        let mut extents = [Extent::One; 6];
        let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
        for op in std::iter::once(op).chain(inner) {
            let Some(coordinate) = coordinate(func, op) else { continue };
            loops.push((op, coordinate));
            let extent = &mut extents[coordinate.index()];
            *extent = match (const_extent(func, op), *extent) {
                (Some(new), Extent::Const(old)) => Extent::Const(old.max(new)),
                (Some(new), Extent::One) => Extent::Const(new),
                _ => Extent::Symbolic,
            };
        }
        Nest { op, loops, extents }
    }

    /// The loop whose blocks make clusters, and how many are one.
    pub(crate) fn cluster(&self, func: &Func) -> Option<(Op, i64)> {
        self.loops.iter().find_map(|&(op, _)| Some((op, tir::cluster_of(func, op)?)))
    }

    /// Are the threads of a block one row along threadIdx.x?
    pub(crate) fn is_one_row(&self) -> bool {
        Coordinate::ALL.into_iter().filter(|&of| is_row(of)).all(|of| self.extent(of) == Some(1))
    }

    /// The ops in it.
    pub(crate) fn ops<'f>(&self, func: &'f Func) -> impl Iterator<Item = Op> + use<'f> {
        func.op_regions(self.op).iter().flat_map(|&region| ops_under(func, region))
    }

    /// Does the coordinate have more than one value, as far as is known?
    pub(crate) fn varies(&self, coordinate: Coordinate) -> bool {
        !matches!(self.extents[coordinate.index()], Extent::One | Extent::Const(..=1))
    }
}

/// What is said of `blocks` that clusters of `size` do not divide, and what helps.
pub(crate) fn no_whole_clusters(blocks: i64, size: i64) -> (String, &'static str) {
    let text = format!("{blocks} blocks along blockIdx.x are no whole clusters of {size}");
    (text, "let the size of a cluster divide the number of blocks")
}

/// The variable of a loop around `at` that `values` depend on, and that names a coordinate which `is` so.
pub(crate) fn launch_var(func: &Func, at: Op, values: &[Value], is: impl Fn(Coordinate) -> bool) -> Option<Value> {
    values.iter().flat_map(|&value| arguments(func, value)).find(|&arg| {
        let by = ancestors(func, at).find(|&op| func.opcode(op) == tir::FOR && loop_var(func, op) == arg);
        by.and_then(|op| coordinate(func, op)).is_some_and(&is)
    })
}

/// A loop over a coordinate where `b` stands; gives its body and its variable.
pub(crate) fn build_launch(b: &mut Builder<'_>, of: Coordinate, extent: i64, name: &str) -> (Region, Value) {
    let (zero, end) = (b.index(0), b.index(extent));
    let kind = b.func.word_attr("bind");
    let axis = b.func.attr(AttrData::Str(of.name().into()));
    let loop_op = tir::For::build(b, zero, end, &[], &[(keys::KIND, kind), (keys::AXIS, axis)], &[]);
    let region = b.func.op_regions(loop_op)[0];
    let ty = b.func.index_ty();
    (region, b.arg(region, ty, Some(name)))
}

/// What `build` builds is done by the first thread of a warpgroup; gives where that stands.
pub(crate) fn by_first_thread(b: &mut Builder<'_>, build: impl FnOnce(&mut Builder<'_>)) -> Region {
    let (body, lane) = build_launch(b, Coordinate::ThreadX, wgmma::WARPGROUP, "tx");
    let mut region = body;
    b.within(body, |b| {
        let (zero, equal) = (b.index(0), b.func.word_attr("eq"));
        let is_first = b.value(arith::CMP, &[lane, zero], &[(keys::PREDICATE, equal)]);
        let branch = tir::If::build(b, is_first, &[], &[]);
        region = b.func.op_regions(branch)[0];
        b.within(region, build);
    });
    region
}
