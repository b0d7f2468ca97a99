//! The executable form: flat code over registers, made once from a function and run for every group of threads.
//!
//! A register holds one cell for each lane of the group, or a single cell where the value is the same for all
//! (*uniform*). A vector value holds its components one after the other, each with all lanes. Control is flat: the
//! lanes that take part are a mask, and a stack of masks remembers those that wait, so that a group can stop at a
//! barrier and go on later.

use crate::field::FieldInstr;
use crate::warp::{AsyncCopy, BarrierInstr, BulkCopy, StoreStep, WarpInstr};
use std::collections::BTreeMap;
use tc_dialects::arith::Predicate;
use tc_dialects::arith::functions::Function;
use tc_dialects::tir::Coordinate;
use tc_dialects::update::{UpdateClass, UpdateKind};
use tc_ir::Elem;
use tc_support::Location;

/// A register.
pub(crate) type Reg = u32;
/// A place in the code.
pub(crate) type Pc = u32;
/// A number that stands for an op's location.
pub(crate) type Site = u32;
/// A buffer of a kernel.
pub(crate) type BufId = u32;

/// No register.
pub(crate) const NO_REG: Reg = Reg::MAX;
/// No site.
pub(crate) const NO_SITE: Site = Site::MAX;

/// Operations on integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IntOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    TruncDiv,
    TruncMod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Min,
    Max,
}

/// Operations on two floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Min,
    Max,
    Pow,
}

/// Functions of one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnaryOp {
    Neg,
    Abs,
    Popcount,
    /// Of a float.
    Function(&'static Function),
}

/// How a magnitude follows from those of the operands; see [`crate::magnitude`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MagRule {
    /// That of the value itself.
    Own,
    Binary(FloatOp),
    Unary(UnaryOp),
    Fma,
}

/// An access to an element of a buffer, or to several by a vector.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) buf: BufId,
    /// One register for each dimension.
    pub(crate) indices: Vec<Reg>,
    /// The lanes of the last index.
    pub(crate) index_lanes: u16,
    /// The register loaded to or stored from.
    pub(crate) value: Reg,
    /// The register of the value's magnitude, or `NO_REG`.
    pub(crate) mag: Reg,
    /// The bytes that the access is said to be aligned to, or 0.
    pub(crate) aligned: u32,
    pub(crate) site: Site,
    /// In an operator: out of range is poison. The indices that may themselves be poison.
    pub(crate) poison: Option<Vec<Reg>>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) enum Instr {
    Int {
        op: IntOp,
        elem: Elem,
        dst: Reg,
        a: Reg,
        b: Reg,
        site: Site,
    },
    Float {
        op: FloatOp,
        elem: Elem,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    And {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Or {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Not {
        dst: Reg,
        a: Reg,
    },
    Unary {
        op: UnaryOp,
        elem: Elem,
        dst: Reg,
        a: Reg,
        site: Site,
    },
    Fma {
        elem: Elem,
        dst: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    Cmp {
        predicate: Predicate,
        elem: Elem,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Select {
        dst: Reg,
        cond: Reg,
        a: Reg,
        b: Reg,
    },
    Cast {
        from: Elem,
        to: Elem,
        dst: Reg,
        a: Reg,
        site: Site,
    },
    Ramp {
        elem: Elem,
        dst: Reg,
        base: Reg,
        stride: Reg,
        lanes: u16,
        site: Site,
    },
    Broadcast {
        dst: Reg,
        a: Reg,
    },
    /// Arithmetic in the field, ranges included.
    Field(Box<FieldInstr>),
    Mag {
        rule: MagRule,
        elem: Elem,
        dst: Reg,
        value: Reg,
        args: [Reg; 3],
        mags: [Reg; 3],
    },
    /// `dst := src` in the lanes that take part.
    Copy {
        dst: Reg,
        src: Reg,
    },
    Load(Box<Access>),
    Store(Box<Access>),
    /// An atomic update: what is in `access.value` is combined with what is there.
    Update {
        access: Box<Access>,
        kind: UpdateKind,
    },
    Alloc {
        buf: BufId,
    },
    /// Poison of `dst` from that of the sources.
    Poison {
        dst: Reg,
        srcs: Box<[Reg]>,
    },
    /// The same for `select`, which uses one arm only.
    PoisonSelect {
        dst: Reg,
        cond: Reg,
        arms: [Reg; 3],
    },
    /// The same for a copy in the lanes that take part.
    PoisonCopy {
        dst: Reg,
        src: Reg,
    },
    /// A branch by `cond`: poison is an error.
    PoisonUse {
        cond: Reg,
        site: Site,
    },
    /// A branch that lanes take differently.
    If {
        cond: Reg,
        otherwise: Pc,
        site: Site,
    },
    Else {
        end: Pc,
    },
    EndIf,
    /// A branch that all lanes take alike.
    JumpIfNot {
        cond: Reg,
        to: Pc,
    },
    Jump {
        to: Pc,
    },
    LoopUniform {
        iv: Reg,
        lo: Reg,
        hi: Reg,
        end: Pc,
        site: Site,
    },
    NextUniform {
        iv: Reg,
        hi: Reg,
        body: Pc,
        site: Site,
    },
    LoopVarying {
        iv: Reg,
        lo: Reg,
        hi: Reg,
        end: Pc,
        site: Site,
    },
    NextVarying {
        iv: Reg,
        hi: Reg,
        body: Pc,
        site: Site,
    },
    Barrier {
        scope: BarrierScope,
        site: Site,
    },
    Shuffle(Box<Shuffle>),
    /// What a warp does as a whole.
    Warp(Box<WarpInstr>),
    AsyncCopy(Box<AsyncCopy>),
    BulkCopy(Box<BulkCopy>),
    /// What a thread does with a barrier in shared memory.
    Mbarrier(Box<BarrierInstr>),
    BulkStep(StoreStep),
    /// The copies that a thread has begun since the last group are one.
    CommitGroup,
    /// Waits for all but the youngest `pending` groups.
    WaitGroup {
        pending: u32,
    },
    /// The threads of a block wait for one another and lay these values out for all of them.
    Offer {
        values: Box<[Reg]>,
        site: Site,
    },
    /// `values := ` what was laid out by the member number `nth` of the own group: the threads that differ in the
    /// coordinates `axes` alone, `x` counted first.
    Take {
        values: Box<[Reg]>,
        nth: Reg,
        axes: [bool; 3],
    },
    End,
}

/// Which lane a shuffle reads from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShuffleMode {
    Down,
    Up,
    Xor,
    Idx,
}

/// An exchange within a warp.
#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    pub(crate) mode: ShuffleMode,
    /// The lanes of a group.
    pub(crate) width: u32,
    pub(crate) lane: Reg,
    pub(crate) dst: Reg,
    pub(crate) value: Reg,
    /// The same for magnitudes, or `NO_REG`.
    pub(crate) mag_dst: Reg,
    pub(crate) mag: Reg,
    pub(crate) site: Site,
}

/// What a barrier orders; each includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum BarrierScope {
    Warp,
    Warpgroup,
    Shared,
    Global,
    /// All blocks of a cluster.
    Cluster,
    /// A reduction across threads, at which all threads of a block meet as at a barrier.
    Reduction,
}

/// Where a buffer lies, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Space {
    /// One in all.
    Global(usize),
    /// One a block.
    Shared(usize),
    /// One a warp, or one a warpgroup.
    Warp(usize),
    /// One a thread.
    Local(usize),
}

/// How a buffer that shares memory with others lies in it: its cells hold bits, of as many bytes as all of them can be
/// divided into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    /// The byte it starts at.
    pub(crate) start_byte: usize,
    /// The cell it starts at.
    pub(crate) start: usize,
    /// The bytes that a cell holds.
    pub(crate) cell_bytes: usize,
    /// The cells that a component of an element takes.
    pub(crate) n_cells: usize,
}

/// A buffer that a kernel knows.
#[derive(Clone, Debug)]
pub(crate) struct BufDecl {
    pub(crate) name: String,
    pub(crate) elem: Elem,
    /// The lanes of one element; of a fragment, its numbers.
    pub(crate) lanes: u16,
    pub(crate) shape: Vec<u64>,
    /// In elements.
    pub(crate) strides: Vec<i64>,
    /// Cells: elements times lanes.
    pub(crate) cells: usize,
    pub(crate) space: Space,
    /// How many threads have one together, where it is neither one a block nor one in all.
    pub(crate) threads: usize,
    /// Set where it shares memory with other buffers.
    pub(crate) window: Option<Window>,
    /// Where it is made.
    pub(crate) location: Location,
}

impl BufDecl {
    /// The bytes of all its cells.
    pub(crate) fn bytes(&self) -> usize {
        self.cells * self.elem.bytes() as usize
    }

    /// The elements, those between elements that lie apart included.
    pub(crate) fn elements(&self) -> usize {
        if self.shape.contains(&0) {
            return 0;
        }
        let last = |(&extent, &stride): (&u64, &i64)| (extent as usize - 1).saturating_mul(stride as usize);
        self.shape.iter().zip(&self.strides).map(last).fold(1, usize::saturating_add)
    }

    /// `WS[3, 4]`, the element that lies so many elements after the first.
    pub(crate) fn element(&self, flat: usize) -> String {
        let mut left = flat as u64;
        let mut index = Vec::with_capacity(self.shape.len());
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            let position = left.checked_div(stride.max(0) as u64).unwrap_or(0).min(extent.saturating_sub(1));
            left -= position * stride.max(0) as u64;
            index.push(position);
        }
        format!("{}{}", self.name, crate::tensor::show_index(&index))
    }

    /// Where the elements of an array of this shape lie, row-major; `None` where they lie one after another.
    pub(crate) fn places(&self) -> Option<Vec<usize>> {
        let n: u64 = self.shape.iter().product();
        let lanes = usize::from(self.lanes);
        let mut row_major = 1;
        let is_dense = self.shape.iter().zip(&self.strides).rev().all(|(&extent, &stride)| {
            let fits = stride as u64 == row_major || extent <= 1;
            row_major = row_major.saturating_mul(extent);
            fits
        });
        if is_dense {
            return None;
        }
        let place = |flat: u64| {
            let index = crate::tensor::unravel(flat, &self.shape);
            let element: u64 = index.iter().zip(&self.strides).map(|(&idx, &stride)| idx * stride as u64).sum();
            (0..lanes).map(move |lane| element as usize * lanes + lane)
        };
        Some((0..n).flat_map(place).collect())
    }
}

/// What fills a register before a group starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Preload {
    /// The same cell for all lanes.
    Const(u64),
    /// A coordinate of the launch.
    Coordinate(Coordinate),
    /// An axis of a stage of an operator.
    Axis(usize),
    /// What the function computed before the launch; the number of its first slot. Each lane of a vector has one.
    Host(usize),
    /// The magnitudes of such a value.
    HostMag(usize, Elem),
}

/// Code that a launch runs, with all it needs to know.
#[derive(Clone, Default, Debug)]
pub(crate) struct Kernel {
    pub(crate) code: Vec<Instr>,
    /// Cells of each register: 0 for a uniform one, else the components of its value.
    pub(crate) regs: Vec<u16>,
    /// Registers whose lanes may be poison.
    pub(crate) poisoned: Vec<bool>,
    pub(crate) preloads: Vec<(Reg, Preload)>,
    pub(crate) buffers: Vec<BufDecl>,
    /// The buffers that are one a block, one a warp, and one a thread.
    pub(crate) shared: Vec<BufId>,
    pub(crate) tiles: Vec<BufId>,
    pub(crate) local: Vec<BufId>,
    /// Globals that the code reads, and writes.
    pub(crate) reads: Vec<bool>,
    pub(crate) writes: Vec<bool>,
    /// Those that it updates atomically, which it reads and writes as well.
    pub(crate) updates: Vec<bool>,
    /// Where it does so, and how.
    pub(crate) update_sites: BTreeMap<Site, UpdateClass>,
    pub(crate) grid: [u64; 3],
    pub(crate) block: [u64; 3],
    /// Blocks that one group runs side by side.
    pub(crate) batch: u32,
    pub(crate) threaded: bool,
    pub(crate) warpgroups: Warpgroups,
    /// The barriers in shared memory.
    pub(crate) barriers: Vec<BarrierArray>,
    /// The values that a thread lays out for others at once, at the most.
    pub(crate) offered: usize,
    /// Values that later kernels may use; their components take the next host slots.
    pub(crate) exports: Vec<Reg>,
    /// The locations of this kernel's sites, whose numbers start at `site_base`.
    pub(crate) sites: Vec<Location>,
    pub(crate) site_base: Site,
    /// Which of them write.
    pub(crate) stores: Vec<bool>,
    pub(crate) location: Location,
}

/// What a kernel has of warpgroups, and of barriers in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Warpgroups {
    /// Some op is done by four warps together, so that the threads of a warpgroup run side by side.
    pub(crate) together: bool,
    /// Barriers in shared memory order threads: what orders two accesses is followed thread by thread.
    pub(crate) clocked: bool,
    /// Fences, commits or waits order its products, which are outstanding until their groups are waited for.
    pub(crate) ordered: bool,
    /// There are bulk copies to tensors that go on in the background.
    pub(crate) stores: bool,
    /// There are barriers of a warpgroup.
    pub(crate) by_warpgroups: bool,
    /// Threads make fences for what the engine of copies and products sees.
    pub(crate) fenced: bool,
    /// No loop over the threads of a warpgroup is there yet: each thread of the launch stands for a whole one, or for a
    /// warp where there are tiles of warps.
    pub(crate) lone: bool,
}

impl Warpgroups {
    /// The threads of a warpgroup.
    pub(crate) fn width(self) -> usize {
        if self.lone { 1 } else { 128 }
    }
}

/// Barriers that lie one after another in a shared buffer.
#[derive(Clone, Debug)]
pub(crate) struct BarrierArray {
    /// The shared buffer, and the byte that they start at.
    pub(crate) place: (usize, usize),
    pub(crate) name: String,
    pub(crate) n: usize,
    /// The number of the first of them among all of the kernel.
    pub(crate) first: usize,
}

impl Kernel {
    /// The barriers that there are.
    pub(crate) fn n_barriers(&self) -> usize {
        self.barriers.last().map_or(0, |array| array.first + array.n)
    }

    /// `full[3]`.
    pub(crate) fn barrier_name(&self, number: usize) -> String {
        let number = number % self.n_barriers().max(1);
        let array = self.barriers.iter().rev().find(|array| array.first <= number);
        array.map_or_else(String::new, |array| format!("{}[{}]", array.name, number - array.first))
    }

    /// Do blocks of a cluster run side by side, and see one another?
    pub(crate) fn is_clustered(&self) -> bool {
        self.warpgroups.clocked && self.batch > 1
    }

    /// The blocks without which a block does not run, itself among them: those of its cluster.
    pub(crate) fn beside(&self, block: u64) -> Vec<u64> {
        let n = if self.is_clustered() { u64::from(self.batch) } else { 1 };
        (block / n * n..(block / n + 1) * n).collect()
    }

    pub(crate) fn threads(&self) -> u64 {
        self.block.iter().product()
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.grid.iter().product()
    }

    pub(crate) fn at(&self, site: Site) -> Location {
        self.sites.get(site.wrapping_sub(self.site_base) as usize).cloned().unwrap_or(Location::None)
    }

    /// Does it update memory that blocks share? Its blocks are then run in order, and all of them: a cell has many writers.
    pub(crate) fn updates_globals(&self) -> bool {
        self.updates.contains(&true)
    }

    /// What the op at `site` does to what it accesses.
    pub(crate) fn verb(&self, site: Site, writes: bool) -> &'static str {
        match writes {
            true if self.update_sites.contains_key(&site) => "updates",
            true => "writes",
            false => "reads",
        }
    }

    pub(crate) fn is_store(&self, site: Site) -> bool {
        self.stores.get(site.wrapping_sub(self.site_base) as usize).is_some_and(|&is_store| is_store)
    }

    /// "thread 3 of block 1", as precise as the launch needs; nothing where there is one thread in all.
    pub(crate) fn who(&self, block: u64, thread: u64) -> String {
        let part = |word: &str, linear: u64, dims: [u64; 3]| match dims {
            [_, 1, 1] => format!("{word} {linear}"),
            [x, y, _] => format!("{word} ({}, {}, {})", linear % x, linear / x % y, linear / (x * y)),
        };
        // The threads of a cluster are counted through its blocks.
        let (block, thread) = (block + thread / self.threads(), thread % self.threads());
        match (self.threads(), self.blocks()) {
            (1, 1) => "the only thread".to_string(),
            (1, _) => part("block", block, self.grid),
            (_, 1) => part("thread", thread, self.block),
            _ => format!("{} of {}", part("thread", thread, self.block), part("block", block, self.grid)),
        }
    }
}
