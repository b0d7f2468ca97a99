//! The stage graph: the tensors of an operator, the loops that compute each, and what a schedule made of them.
//!
//! A stage computes one tensor, or several in one go. Its root axes are those that the operator declares; splits and
//! fusions make new axes of old ones; the leaves, in order, are its loops. The graph is plain data: a primitive
//! changes it, bound inference and lowering read it.

use crate::origin::Origin;
use crate::primitives::{AxisParts, StageParts};
use crate::scope::Scope;
use crate::size::Size;
use tc_arith::Pool;
use tc_dialects::tir::Coordinate;
use tc_ir::{Loc, Op, Type, Value};

macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in its table.
            pub fn idx(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A stage of a [`Graph`].
    StageId
}
id! {
    /// An axis of a [`Graph`].
    AxisId
}

/// A tensor: the n-th result of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TensorRef {
    /// The stage.
    pub stage: StageId,
    /// Which of its results.
    pub result: u32,
}

/// One result of a stage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// The name.
    pub name: Box<str>,
    /// The type of an element, in the operator's function.
    pub elem: Type,
}

/// What a stage computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Nothing: it is an argument of the operator.
    Arg(Value),
    /// What a `te.compute` says.
    Compute(Op),
    /// A part of the reduction that a `te.compute` says, started from the combiner's identity.
    Partial(Op),
    /// What a `te.compute` reduces, from parts: result k combines the tensor that its k-th read is served from.
    Merge {
        /// The `te.compute`.
        op: Op,
        /// The dimension of the parts that is reduced.
        at: u32,
    },
    /// Copies: result k is a copy of the tensor that its k-th read is served from.
    Copy,
}

impl Source {
    /// The `te.compute` that says what is computed.
    pub fn op(self) -> Option<Op> {
        match self {
            Source::Compute(op) | Source::Partial(op) | Source::Merge { op, .. } => Some(op),
            Source::Arg(_) | Source::Copy => None,
        }
    }
}

/// Where a stage is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    /// Whole, before its consumers.
    Root,
    /// In the place of each read of it.
    Inline,
    /// Inside the loop of a consumer's axis.
    At(AxisId),
}

/// How the loop of a leaf runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// In order.
    Serial,
    /// In order, the body copied.
    Unroll,
    /// As lanes of a vector.
    Vectorize,
    /// As a coordinate of the launch.
    Launch(Coordinate),
    /// As threads that one thread plays.
    Vthread,
}

impl Kind {
    /// 0 for block coordinates, 1 for threads, as the storage rank of a scope is compared with it; `None` for a loop
    /// that is run.
    pub fn thread_rank(self) -> Option<u8> {
        match self {
            Kind::Launch(coordinate) => Some(u8::from(coordinate.is_thread())),
            Kind::Vthread => Some(1),
            _ => None,
        }
    }
}

/// The directive that took an axis, and the axes that it made of it.
#[derive(Clone, Debug)]
pub struct Consumed {
    /// The directive's location, in the schedule's function.
    pub loc: Loc,
    /// Its name.
    pub by: &'static str,
    /// What became of the axis.
    pub into: Vec<AxisId>,
}

/// A loop of a stage, or what loops were made of.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The author's name.
    pub name: Box<str>,
    /// The stage.
    pub stage: StageId,
    /// Is it an axis of a reduction?
    pub reduce: bool,
    /// The declared range of a root axis: where it starts and how long it is.
    pub domain: Option<(i64, Size)>,
    /// How its loop runs.
    pub kind: Kind,
    /// The directive that said so.
    pub kind_loc: Loc,
    /// The directive that made it; of a root axis, nothing.
    pub made_by: Loc,
    /// Set once it is a leaf no more.
    pub consumed: Option<Consumed>,
    /// What primitives say of its loop beyond how it runs.
    pub(crate) parts: AxisParts,
}

impl Axis {
    /// The directive that speaks of its loop, or else the one that made it.
    pub(crate) fn made_or_kept_by(&self) -> Loc {
        if self.kind_loc == Loc::NONE { self.made_by } else { self.kind_loc }
    }

    /// Has no directive spoken of its loop?
    pub fn is_plain(&self) -> bool {
        self.kind == Kind::Serial && self.parts.iter().next().is_none()
    }
}

/// How axes of a stage were made of others. Relations stand in the order in which they were made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// `parent` is `outer * extent of inner + inner`.
    Split {
        /// The axis that was split.
        parent: AxisId,
        /// The outer part.
        outer: AxisId,
        /// The inner part.
        inner: AxisId,
        /// The extent asked for: of the inner part, or with `nparts` of the outer one.
        factor: i64,
        /// Which of the two `factor` is about.
        nparts: bool,
        /// The directive.
        loc: Loc,
    },
    /// `fused` is `outer * extent of inner + inner`.
    Fuse {
        /// The outer axis.
        outer: AxisId,
        /// The inner axis.
        inner: AxisId,
        /// What became of both.
        fused: AxisId,
    },
}

/// A read that a stage's definition makes, and the tensor that it is served from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The tensor that the operator's text reads; `None` for a copy, which has no text.
    pub of: Option<Value>,
    /// The tensor that holds it now.
    pub from: TensorRef,
}

/// A stage.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The name of its first result.
    pub name: Box<str>,
    /// What it computes.
    pub source: Source,
    /// Its results.
    pub tensors: Vec<Tensor>,
    /// The axes of its tensors.
    pub data: Vec<AxisId>,
    /// The axes of its reduction.
    pub reduce: Vec<AxisId>,
    /// Its loops, outermost first.
    pub leaves: Vec<AxisId>,
    /// How the leaves came from the root axes.
    pub relations: Vec<Relation>,
    /// Where it is computed.
    pub attach: Attach,
    /// The directive that said so.
    pub attach_loc: Loc,
    /// Where its buffer lies, if a directive said so.
    pub scope: Option<Scope>,
    /// What it reads.
    pub reads: Vec<Read>,
    /// Is one of its tensors a result of the operator?
    pub output: bool,
    /// Where the operator says what it computes.
    pub loc: Loc,
    /// The directive that made it: a cache.
    pub made_by: Loc,
    /// The first directive about its loops or its buffer, which would be lost where the stage is inlined.
    pub touched: Option<(Loc, &'static str)>,
    /// How the axes that its `te.compute` declares come from its root axes, where they are not these.
    pub origin: Option<Origin>,
    /// Of a copy: how the axes of what it copies are made of its own, where they are not these.
    pub through: Option<Origin>,
    /// What primitives say of it beyond where it is computed, where its buffer lies and how its loops run.
    pub(crate) parts: StageParts,
}

impl Stage {
    /// The directive that says where it is computed, or else the one that made it.
    pub(crate) fn placed_by(&self) -> Option<Loc> {
        [self.attach_loc, self.made_by].into_iter().find(|loc| *loc != Loc::NONE)
    }

    /// The same, or else the first about its loops or its buffer.
    pub(crate) fn spoken_of_by(&self) -> Option<Loc> {
        self.placed_by().or_else(|| self.touched.map(|(loc, _)| loc))
    }

    /// Is it an argument of the operator?
    pub fn is_arg(&self) -> bool {
        matches!(self.source, Source::Arg(_))
    }

    /// The root axes: those of the data, then those of the reduction.
    pub fn roots(&self) -> impl Iterator<Item = AxisId> + '_ {
        self.data.iter().chain(&self.reduce).copied()
    }
}

/// The stages of an operator under a schedule. Producers stand before their consumers.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All stages, in no order that means anything; [`Graph::order`] is the order.
    pub stages: Vec<Stage>,
    /// The stages, producers first.
    pub order: Vec<StageId>,
    /// All axes.
    pub axes: Vec<Axis>,
    /// The results of the operator, in its order.
    pub outputs: Vec<TensorRef>,
    /// The expressions of the extents that depend on sizes which stay open.
    pub(crate) pool: Pool,
}

impl std::ops::Index<StageId> for Graph {
    type Output = Stage;

    fn index(&self, stage: StageId) -> &Stage {
        &self.stages[stage.idx()]
    }
}

impl std::ops::IndexMut<StageId> for Graph {
    fn index_mut(&mut self, stage: StageId) -> &mut Stage {
        &mut self.stages[stage.idx()]
    }
}

impl std::ops::Index<AxisId> for Graph {
    type Output = Axis;

    fn index(&self, axis: AxisId) -> &Axis {
        &self.axes[axis.idx()]
    }
}

impl std::ops::IndexMut<AxisId> for Graph {
    fn index_mut(&mut self, axis: AxisId) -> &mut Axis {
        &mut self.axes[axis.idx()]
    }
}

impl Graph {
    /// Adds an axis; it is not a leaf yet.
    pub fn add_axis(
        &mut self,
        stage: StageId,
        name: &str,
        reduce: bool,
        domain: Option<(i64, Size)>,
        made_by: Loc,
    ) -> AxisId {
        let id = AxisId(self.axes.len() as u32);
        self.axes.push(Axis {
            name: name.into(),
            stage,
            reduce,
            domain,
            kind: Kind::Serial,
            kind_loc: Loc::NONE,
            made_by,
            consumed: None,
            parts: AxisParts::default(),
        });
        id
    }

    /// Adds a stage without axes; it is not in the order yet.
    pub fn add_stage(&mut self, name: &str, source: Source, tensors: Vec<Tensor>, loc: Loc) -> StageId {
        let id = StageId(self.stages.len() as u32);
        self.stages.push(Stage {
            name: name.into(),
            source,
            tensors,
            data: Vec::new(),
            reduce: Vec::new(),
            leaves: Vec::new(),
            relations: Vec::new(),
            attach: Attach::Root,
            attach_loc: Loc::NONE,
            scope: None,
            reads: Vec::new(),
            output: false,
            loc,
            made_by: Loc::NONE,
            touched: None,
            origin: None,
            through: None,
            parts: StageParts::default(),
        });
        id
    }

    /// Puts `stage` into the order before or after `place`.
    pub fn insert_in_order(&mut self, stage: StageId, place: StageId, after: bool) {
        let at = self.order.iter().position(|&other| other == place).unwrap_or(self.order.len());
        self.order.insert((at + usize::from(after)).min(self.order.len()), stage);
    }

    /// The stage or result called `name`; of equal names the one that was made first.
    pub fn tensor_named(&self, name: &str) -> Option<TensorRef> {
        for (nth, stage) in self.stages.iter().enumerate() {
            if let Some(result) = stage.tensors.iter().position(|tensor| &*tensor.name == name) {
                return Some(TensorRef { stage: StageId(nth as u32), result: result as u32 });
            }
        }
        None
    }

    /// The names of all tensors.
    pub fn tensor_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.stages.iter().flat_map(|stage| stage.tensors.iter().map(|tensor| &*tensor.name))
    }

    /// The names of axes.
    pub(crate) fn names<'a>(&'a self, axes: impl IntoIterator<Item = &'a AxisId>) -> Vec<&'a str> {
        axes.into_iter().map(|&axis| &*self[axis].name).collect()
    }

    /// Does `consumer` read a tensor of `producer`?
    pub fn reads(&self, consumer: StageId, producer: StageId) -> bool {
        self[consumer].reads.iter().any(|read| read.from.stage == producer)
    }

    /// The stages that read `producer`, in order.
    pub fn consumers(&self, producer: StageId) -> impl Iterator<Item = StageId> + '_ {
        self.order.iter().copied().filter(move |&consumer| self.reads(consumer, producer))
    }

    /// Does `consumer` read `producer`, at once or through others?
    pub fn depends_on(&self, consumer: StageId, producer: StageId) -> bool {
        let mut seen = vec![false; self.stages.len()];
        let mut worklist = vec![consumer];
        while let Some(stage) = worklist.pop() {
            for read in &self[stage].reads {
                if read.from.stage == producer {
                    return true;
                }
                if !std::mem::replace(&mut seen[read.from.stage.idx()], true) {
                    worklist.push(read.from.stage);
                }
            }
        }
        false
    }

    /// Which stages are computed at all: those that the results need and that are not inlined.
    pub fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.stages.len()];
        let mut worklist: Vec<StageId> = self.outputs.iter().map(|output| output.stage).collect();
        while let Some(stage) = worklist.pop() {
            if !std::mem::replace(&mut live[stage.idx()], true) {
                worklist.extend(self[stage].reads.iter().map(|read| read.from.stage));
            }
        }
        live
    }

    /// The place of `axis` among the leaves of its stage.
    pub fn leaf_position(&self, axis: AxisId) -> Option<usize> {
        self[self[axis].stage].leaves.iter().position(|&leaf| leaf == axis)
    }

    /// The axis that the loop of `axis` went into: itself while it is a leaf; the inner part of a split; the fusion.
    pub fn leaf_of(&self, mut axis: AxisId) -> AxisId {
        while let Some(consumed) = &self[axis].consumed {
            match consumed.into.last() {
                Some(&next) => axis = next,
                None => break,
            }
        }
        axis
    }

    /// The stage whose nest `stage` stands in: itself if it is computed at the root.
    pub fn nest_of(&self, mut stage: StageId) -> StageId {
        // Attachments lead from producers to consumers, so the walk ends; the count guards against a broken graph.
        for _ in 0..self.stages.len() {
            match self[stage].attach {
                Attach::At(axis) => stage = self[axis].stage,
                _ => break,
            }
        }
        stage
    }

    /// The loops around `stage`, innermost first: of the axis it is attached at, then those around that.
    pub fn path(&self, stage: StageId) -> Vec<AxisId> {
        let mut path = Vec::new();
        let mut at = stage;
        for _ in 0..self.stages.len() {
            let Attach::At(axis) = self[at].attach else { break };
            let leaf = self.leaf_of(axis);
            let owner = self[leaf].stage;
            let end = self.leaf_position(leaf).map_or(0, |position| position + 1);
            path.extend(self[owner].leaves[..end].iter().rev().copied());
            at = owner;
        }
        path
    }

    /// Where the buffers of `stage` lie: as a directive said, or as the innermost launch coordinate around it has it:
    /// registers under threads, shared memory under blocks, global memory otherwise.
    pub fn scope_of(&self, stage: StageId) -> Scope {
        if let Some(scope) = self[stage].scope {
            return scope;
        }
        let rank = self.path(stage).into_iter().filter_map(|axis| self[axis].kind.thread_rank()).max();
        match rank {
            None => Scope::Global,
            Some(0) => Scope::Shared,
            Some(_) => Scope::Local,
        }
    }

    /// Is `leaf` a loop over threads, or blocks, of which each has a buffer of its own for what the stage computes? A
    /// reduction across threads hands each of them the result, so the work is shared all the same.
    pub fn is_private(&self, leaf: AxisId) -> bool {
        let Kind::Launch(coordinate) = self[leaf].kind else { return false };
        if self[leaf].reduce {
            return false;
        }
        let scope = self.scope_of(self[leaf].stage);
        let shared_by_warp = scope.is_per_warp() && coordinate == Coordinate::ThreadX;
        scope.rank() > u8::from(coordinate.is_thread()) && !shared_by_warp
    }

    /// The axes of the reduction of `stage` that are bound to threads.
    pub fn reduced_by_threads(&self, stage: StageId) -> impl Iterator<Item = AxisId> + '_ {
        let is_it = |leaf: &AxisId| self[*leaf].reduce && matches!(self[*leaf].kind, Kind::Launch(_));
        self[stage].leaves.iter().copied().filter(is_it)
    }

    /// For how many iterations of the loop around it the buffer of `stage` is kept: as many as there are buffers.
    pub fn n_buffers(&self, stage: StageId) -> i64 {
        let data = &self[stage];
        let own = data.parts.iter().find_map(|part| part.n_buffers());
        let of_loop = || match data.attach {
            Attach::At(axis) => self[self.leaf_of(axis)].parts.iter().find_map(|part| part.n_buffers_of(self, stage)),
            _ => None,
        };
        own.or_else(of_loop).unwrap_or(1)
    }

    /// `stage` is touched by the directive `by`, which would be lost if the stage were inlined.
    pub fn touch(&mut self, stage: StageId, loc: Loc, by: &'static str) {
        self[stage].touched.get_or_insert((loc, by));
    }
}
