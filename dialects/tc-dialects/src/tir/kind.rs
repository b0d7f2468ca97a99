//! Kinds of loops and launch coordinates.

use tc_ir::{AttrData, Func, Name, Op, keys};

/// A coordinate of a launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "the coordinates name themselves")]
pub enum Coordinate {
    BlockX,
    BlockY,
    BlockZ,
    ThreadX,
    ThreadY,
    ThreadZ,
}

impl Coordinate {
    /// All of them: blocks, then threads, `x` first.
    pub const ALL: [Coordinate; 6] = [
        Coordinate::BlockX,
        Coordinate::BlockY,
        Coordinate::BlockZ,
        Coordinate::ThreadX,
        Coordinate::ThreadY,
        Coordinate::ThreadZ,
    ];

    /// The name in text.
    pub const fn name(self) -> &'static str {
        match self {
            Coordinate::BlockX => "blockIdx.x",
            Coordinate::BlockY => "blockIdx.y",
            Coordinate::BlockZ => "blockIdx.z",
            Coordinate::ThreadX => "threadIdx.x",
            Coordinate::ThreadY => "threadIdx.y",
            Coordinate::ThreadZ => "threadIdx.z",
        }
    }

    /// The coordinate called `name`.
    pub fn parse(name: &str) -> Option<Coordinate> {
        Coordinate::ALL.into_iter().find(|coordinate| coordinate.name() == name)
    }

    /// Does it number threads within a block?
    pub const fn is_thread(self) -> bool {
        matches!(self, Coordinate::ThreadX | Coordinate::ThreadY | Coordinate::ThreadZ)
    }

    /// 0, 1, 2 for `x`, `y`, `z`.
    pub const fn dim(self) -> usize {
        match self {
            Coordinate::BlockX | Coordinate::ThreadX => 0,
            Coordinate::BlockY | Coordinate::ThreadY => 1,
            Coordinate::BlockZ | Coordinate::ThreadZ => 2,
        }
    }

    /// Its place in [`Coordinate::ALL`].
    pub const fn index(self) -> usize {
        self.dim() + if self.is_thread() { 3 } else { 0 }
    }
}

/// How a loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopKind {
    /// In order.
    Serial,
    /// In order, the body copied: this many times, or wholly.
    Unroll(Option<i64>),
    /// As lanes of a vector.
    Vectorize,
    /// Not at all: it names a coordinate of the launch.
    Launch(Coordinate),
    /// In order, as threads that one thread plays.
    Vthread,
}

/// How the loop `op` runs; `None` if its attributes say nothing that exists.
pub fn loop_kind(func: &Func, op: Op) -> Option<LoopKind> {
    // Words that the language knows have the same number in every function, so that nothing need be spelled out.
    let kind = match func.attr_of(op, keys::KIND).map(|attr| func.attr_data(attr)) {
        Some(AttrData::Word(name)) => *name,
        Some(AttrData::Str(text)) => func.find_name(text)?,
        _ => keys::SERIAL,
    };
    match kind {
        keys::SERIAL => Some(LoopKind::Serial),
        keys::UNROLL => Some(LoopKind::Unroll(func.int_of(op, keys::FACTOR))),
        keys::VECTORIZE => Some(LoopKind::Vectorize),
        keys::BIND => {
            let axis = match func.attr_data(func.attr_of(op, keys::AXIS)?) {
                AttrData::Word(name) => *name,
                AttrData::Str(text) => func.find_name(text)?,
                _ => return None,
            };
            if axis == keys::VTHREAD {
                return Some(LoopKind::Vthread);
            }
            AXES.iter().position(|&name| name == axis).map(|nth| LoopKind::Launch(Coordinate::ALL[nth]))
        }
        _ => None,
    }
}

/// The names of [`Coordinate::ALL`].
const AXES: [Name; 6] = [keys::BLOCK_X, keys::BLOCK_Y, keys::BLOCK_Z, keys::THREAD_X, keys::THREAD_Y, keys::THREAD_Z];
