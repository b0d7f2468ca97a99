//! Instructions on parts of buffers: what a warp or a warpgroup does as a whole to tiles, asynchronous copies, and what
//! threads do with barriers in shared memory.
//!
//! A matrix is worked on as its elements in one order, whatever holds it. [`Operand::at`] says where each of them is: in
//! the memory of the warp, where a tile stands as a whole, or in the registers of the lanes.

use crate::code::{Access, Reg, Site};
use tc_dialects::update::UpdateKind;
use tc_dialects::wgmma::{Descriptor, Major};
use tc_ir::Elem;

/// A part of a buffer that an op names: where it starts, and how long it is in each dimension.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// An access to its first element.
    pub(crate) access: Access,
    pub(crate) lengths: Vec<u64>,
}

/// A matrix that a warp holds.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) region: Region,
    /// The elements of the matrix.
    pub(crate) size: usize,
    /// Of a tile: the cell of each element, counted from the tile's first. Of what lanes hold: the element that each
    /// cell is, those of one lane after those of another.
    pub(crate) at: Box<[u32]>,
    /// Of what lanes hold: the cells of one lane, counted from its first.
    pub(crate) held: Option<Box<[u32]>>,
}

/// A tile in global or shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) region: Region,
    /// The elements from one row to the next.
    pub(crate) stride: Reg,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

/// Where the elements of a factor of a warpgroup product lie.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    /// So many elements after its first.
    Elements(Box<[usize]>),
    /// By a descriptor; how many steps the factor has, and rows or columns.
    Described { descriptor: Descriptor, major: Major, mn: usize, k: usize },
}

/// A factor in shared memory: m x k or k x n elements, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    pub(crate) region: Region,
    pub(crate) places: Places,
    pub(crate) size: usize,
    /// The steps of the reduction are its rows.
    pub(crate) by_steps: bool,
}

/// Where a factor of a warpgroup product lies.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// In shared memory.
    Memory(Factor),
    /// In registers: the left one.
    Registers(Operand),
}

impl Source {
    /// The part of a buffer that it is.
    pub(crate) fn region(&self) -> &Region {
        match self {
            Source::Memory(factor) => &factor.region,
            Source::Registers(operand) => &operand.region,
        }
    }
}

/// What a warpgroup does besides products.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meeting {
    /// What its threads did with sums is ordered before the products that follow.
    Fence,
    /// The products since the last group are one.
    Commit,
    /// All groups but so many are waited for.
    Wait(u32),
    /// The number of registers changes, and nothing else.
    Registers,
}

/// What a warp does.
#[derive(Clone, Debug)]
pub(crate) enum WarpOp {
    Fill {
        tile: Operand,
        value: Reg,
        mag: Reg,
    },
    Load {
        tile: Operand,
        from: Memory,
    },
    Store {
        to: Memory,
        tile: Operand,
    },
    /// Loads 8 x 8 matrices of 16-bit pieces, whose rows the lanes name.
    LoadMatrix {
        tile: Operand,
        row: Region,
        /// The elements of a row.
        row_len: usize,
        transposed: bool,
    },
    Product {
        sum: Operand,
        a: Operand,
        b: Operand,
        /// m, n, k.
        shape: [usize; 3],
        factors: Elem,
        total: Elem,
    },
    /// A product of a warpgroup: sums, m x k, k x n.
    GroupProduct {
        sum: Operand,
        sides: [Source; 2],
        shape: [usize; 3],
        factors: Elem,
        total: Elem,
    },
    Meet(Meeting),
}

/// An op of a warp.
#[derive(Clone, Debug)]
pub(crate) struct WarpInstr {
    pub(crate) op: WarpOp,
    /// As it is written.
    pub(crate) name: &'static str,
    /// How many threads do it together.
    pub(crate) width: usize,
    pub(crate) site: Site,
}

impl WarpInstr {
    /// The parts of buffers that it accesses.
    pub(crate) fn regions(&self) -> Vec<&Region> {
        match &self.op {
            WarpOp::Fill { tile, .. } => vec![&tile.region],
            WarpOp::Load { tile, from: memory } | WarpOp::Store { to: memory, tile } => {
                vec![&tile.region, &memory.region]
            }
            WarpOp::LoadMatrix { tile, row, .. } => vec![&tile.region, row],
            WarpOp::Product { sum, a, b, .. } => vec![&sum.region, &a.region, &b.region],
            WarpOp::GroupProduct { sum, sides: [a, b], .. } => vec![&sum.region, a.region(), b.region()],
            WarpOp::Meet(_) => Vec::new(),
        }
    }

    /// What it costs, in steps of each of its threads.
    pub(crate) fn steps(&self) -> u64 {
        match &self.op {
            // Dense loops do eight products in the time of an instruction.
            WarpOp::Product { shape: [m, n, k], .. } | WarpOp::GroupProduct { shape: [m, n, k], .. } => {
                (m * n * k) as u64 / 256 + 1
            }
            WarpOp::Meet(_) => 1,
            WarpOp::LoadMatrix { tile, .. }
            | WarpOp::Fill { tile, .. }
            | WarpOp::Load { tile, .. }
            | WarpOp::Store { tile, .. } => tile.size as u64 / 32 + 1,
        }
    }

    /// The terms that it adds to an element.
    pub(crate) fn terms(&self) -> u64 {
        match self.op {
            WarpOp::Product { shape: [_, _, k], .. } | WarpOp::GroupProduct { shape: [_, _, k], .. } => k as u64,
            _ => 1,
        }
    }
}

/// An asynchronous copy of elements that lie side by side.
#[derive(Clone, Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) to: Region,
    pub(crate) from: Region,
    /// The elements.
    pub(crate) n: usize,
    /// Of all of them.
    pub(crate) bytes: usize,
    /// Zeros are written where this does not hold, if it is a register.
    pub(crate) when: Reg,
}

/// A bulk copy of a box of a tensor.
#[derive(Clone, Debug)]
pub(crate) struct BulkCopy {
    pub(crate) to: Region,
    /// One of the two is a box in its tensor, out of which it may reach.
    pub(crate) from: Region,
    /// How far an element of the box is from the next, in each dimension.
    pub(crate) steps: Vec<i64>,
    /// The elements.
    pub(crate) n: usize,
    pub(crate) bytes: usize,
    /// The bytes of a row whose pieces change places; 0 where none do.
    pub(crate) swizzle: usize,
    pub(crate) way: BulkWay,
    /// It goes to the same place of all blocks of the cluster.
    pub(crate) multicast: bool,
    pub(crate) site: Site,
}

/// Which way a bulk copy goes, and how it is known that it is done.
#[derive(Clone, Debug)]
pub(crate) enum BulkWay {
    /// To shared memory, reporting at a barrier if there is one.
    Load(Option<BarrierPlace>),
    /// To a tensor, in a group of the thread where it goes on in the background; perhaps combined with what is there.
    Store { background: bool, update: Option<UpdateKind> },
}

/// What a thread does about its bulk copies to tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreStep {
    Commit,
    /// Until they have read what they copy, with `read`.
    Wait {
        pending: usize,
        read: bool,
    },
    /// Lets later ones see what is in shared memory.
    Fence,
}

/// A barrier in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct BarrierPlace {
    pub(crate) region: Region,
    /// The number of the first barrier of its buffer.
    pub(crate) first: usize,
}

/// What is done with a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BarrierOp {
    /// It is made ready for so many arrivals a phase.
    Init(u32),
    /// Bulk copies may see the barriers that the thread has made ready.
    FenceInit,
    /// An arrival; with so many bytes that are announced, if it announces any.
    Arrive(Option<u64>),
    /// The phase of this parity is waited for.
    Wait(Reg),
}

/// What threads do with a barrier, which `fence_init` does not name.
#[derive(Clone, Debug)]
pub(crate) struct BarrierInstr {
    pub(crate) op: BarrierOp,
    pub(crate) place: Option<BarrierPlace>,
    /// The number in its cluster of the block whose barrier it is, where it may be another.
    pub(crate) block: Option<Reg>,
    pub(crate) name: &'static str,
    pub(crate) site: Site,
}
