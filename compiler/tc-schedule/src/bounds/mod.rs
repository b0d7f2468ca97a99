//! Bound inference: which part of each tensor a stage computes, and how long each loop is.
//!
//! From consumers to producers: where a stage is attached fixes the loops outside, and lets run those inside; so each
//! consumer's axes become sets, each read's indices become intervals over them, and the hull of these is the region that
//! the stage computes. The rules are those of TVM 0.16, whose schedules users know:
//!
//! - A loop inside the attach point runs, that of the attach point and those outside are fixed. A loop over threads
//!   runs if the stage's buffer is shared among them, wherever the attach point is. What a warp holds together is shared
//!   among the threads of `threadIdx.x`.
//! - A loop of one iteration is a point.
//! - A split axis runs whole if both parts do; otherwise it is `outer * extent of inner + inner`, which may reach past
//!   the axis' end: that is where guards come from.
//! - An axis under a fusion is tight while the fusion does not cross a row, and whole otherwise.
//! - An index that is an element of an argument, at a place where no loop inside of the attach point moves it, is a point:
//!   the element is read before the region. TVM takes all of the dimension.
//! - A region is cut to the tensor only where both ends are known to lie outside.
//! - A split by a factor has inner parts of that extent where the extent of what is split is not known.
//!
//! The result is plain data: nothing here makes IR.

mod fetch;
mod infer;
mod launch;
mod refuse;
mod region;
mod sets;
mod symbolic;
mod warps;

pub(crate) use infer::infer;
pub use launch::OverLimit;

use crate::body::{Body, Vars};
use crate::graph::{AxisId, Graph, StageId};
use crate::scope::Scope;
use crate::size::Size;
use tc_arith::{Analyzer, Expr, SymInterval, Var};
use tc_dialects::tir::Coordinate;
use tc_ir::Loc;

/// Which values of an axis a stage computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least one, over the counters of the loops around the stage.
    pub min: Expr,
    /// How many there are.
    pub extent: Size,
}

/// Why a stage computes what it does: one consumer's read of it.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The consumer.
    pub consumer: StageId,
    /// Where the operator says so.
    pub loc: Loc,
    /// What is read, by dimension, in coordinates of the tensor; an end that is missing is not known.
    pub ends: Vec<SymInterval>,
    /// The loops around the read, innermost first, and how they were taken.
    pub loops: Vec<(AxisId, Taken)>,
    /// The integers that the consumer computes of data, and of which the stage knows the one that they all are.
    pub(crate) fetched: Vec<(Var, Var)>,
    /// The dimensions whose indices follow data that differ within what is computed at once.
    pub(crate) scattered: Vec<usize>,
}

/// How a loop around a read was taken while the region of one part of a stage was inferred.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// It has one iteration.
    Point,
    /// It runs: it stands inside the attach point.
    Inside,
    /// It runs: its threads, or blocks, share the buffer.
    Shared,
    /// It stands still: it is the attach point's, or stands outside.
    Fixed,
}

impl Taken {
    /// Does the loop run?
    pub fn runs(self) -> bool {
        matches!(self, Taken::Inside | Taken::Shared)
    }
}

/// What is known of one stage.
#[derive(Clone, Debug)]
pub struct StageBounds {
    /// The values of each root axis: those of the data, then those of the reduction.
    pub ranges: Vec<Range>,
    /// Who demands it.
    pub demands: Vec<Demand>,
    /// Where its buffers lie.
    pub scope: Scope,
    /// The extents of its buffers; numbers but in global memory.
    pub shape: Vec<Size>,
    /// The bytes of its buffers, padding included; of buffers whose size stays open the most there may be.
    pub bytes: i64,
}

/// A coordinate of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// The stage at the root of the nest.
    pub nest: StageId,
    /// The coordinate.
    pub coordinate: Coordinate,
    /// Its extent; that of threads is a number.
    pub extent: Size,
}

/// The bounds of a scheduled operator.
pub struct Bounds {
    /// The stages.
    pub graph: Graph,
    /// The pool of all expressions, and the ranges of the loops' counters.
    pub analyzer: Analyzer,
    /// By stage; nothing for arguments, inlined stages and those that nothing needs.
    pub stages: Vec<Option<StageBounds>>,
    /// By axis: how many values it has.
    pub extents: Vec<Size>,
    /// The launches, by nest in the order in which they run, then by coordinate.
    pub launches: Vec<Launch>,
    /// By axis: its value relative to where it starts, over the counters of loops.
    pub(crate) relative: Vec<Option<Expr>>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) vars: Vars,
}

impl Bounds {
    /// What is known of `stage`.
    pub fn stage(&self, stage: StageId) -> Option<&StageBounds> {
        self.stages[stage.idx()].as_ref()
    }

    /// `expr` as text, with loops under their names.
    pub fn show(&self, expr: Expr) -> String {
        self.analyzer.pool.display(expr).to_string()
    }

    /// `size` as text.
    pub fn show_size(&self, size: Size) -> String {
        size.show(&self.analyzer.pool)
    }

    /// The bytes of shared memory that a block of the nest `nest` needs.
    pub fn shared_bytes(&self, nest: StageId) -> i64 {
        let of = |stage: StageId| {
            self.stage(stage).filter(|bounds| bounds.scope.is_shared()).map_or(0, |bounds| bounds.bytes)
        };
        let stages = self.graph.order.iter().copied().filter(|&stage| self.graph.nest_of(stage) == nest);
        stages.fold(0, |sum, stage| sum.saturating_add(of(stage)))
    }

    /// The extent that a launch coordinate has in the nest of `nest`; 1 if nothing is bound to it.
    pub fn launch_extent(&self, nest: StageId, coordinate: Coordinate) -> Size {
        let launch = self.launches.iter().find(|launch| launch.nest == nest && launch.coordinate == coordinate);
        launch.map_or(Size::Int(1), |launch| launch.extent)
    }
}
