//! Kinds of loops and launch coordinates.

use tc_ir::{AttrData, Func, Op, keys};

levels! {
    /// Blocks of a grid.
    Block "block" = BlockX "blockIdx.x" "bx", BlockY "blockIdx.y" "by", BlockZ "blockIdx.z" "bz";
    /// Threads of a block.
    Thread "thread" = ThreadX "threadIdx.x" "tx", ThreadY "threadIdx.y" "ty", ThreadZ "threadIdx.z" "tz";
}

/// Makes [`Level`] and [`Coordinate`] of one row for each level, from the widest to the narrowest: its word, and for each
/// dimension the coordinate with its name in text and its short name.
macro_rules! levels {
    ($($(#[$doc:meta])* $level:ident $word:literal = $($coordinate:ident $text:literal $short:literal),*;)*) => {
        /// A level of the launch: what the threads of a kernel are divided into.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Level {
            $($(#[$doc])* $level),*
        }

        /// A coordinate of a launch.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "the coordinates name themselves")]
        pub enum Coordinate {
            $($($coordinate),*),*
        }

        impl Level {
            /// The coordinates of the level, `x` first.
            pub const fn coordinates(self) -> [Coordinate; 3] {
                match self { $(Level::$level => [$(Coordinate::$coordinate),*]),* }
            }

            /// What one of it is called.
            pub const fn word(self) -> &'static str {
                match self { $(Level::$level => $word),* }
            }
        }

        impl Coordinate {
            /// All of them: blocks, then threads, `x` first.
            pub const ALL: [Coordinate; [$($(Coordinate::$coordinate),*),*].len()] = [$($(Coordinate::$coordinate),*),*];

            /// The level that it is of.
            pub const fn level(self) -> Level {
                match self { $($(Coordinate::$coordinate)|* => Level::$level),* }
            }

            /// The name in text.
            pub const fn name(self) -> &'static str {
                match self { $($(Coordinate::$coordinate => $text),*),* }
            }

            /// What a loop over it is called that has no name.
            pub const fn short_name(self) -> &'static str {
                match self { $($(Coordinate::$coordinate => $short),*),* }
            }

            /// The coordinate called `name`.
            pub fn parse(name: &str) -> Option<Coordinate> {
                match name { $($($text => Some(Coordinate::$coordinate),)*)* _ => None }
            }
        }
    };
}
use levels;

impl Coordinate {
    /// Does it number threads within a block?
    pub const fn is_thread(self) -> bool {
        matches!(self.level(), Level::Thread)
    }

    /// 0, 1, 2 for `x`, `y`, `z`.
    pub const fn dim(self) -> usize {
        self as usize % 3
    }

    /// Its place in [`Coordinate::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What a loop is bound to that one thread runs as if it were several.
pub(super) const VTHREAD: &str = "vthread";

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
            let axis = func.word_of(op, keys::AXIS)?;
            if axis == VTHREAD { Some(LoopKind::Vthread) } else { Coordinate::parse(axis).map(LoopKind::Launch) }
        }
        _ => None,
    }
}

/// The most blocks of a cluster that every GPU with clusters runs (CUDA programming guide 13.0, "Thread Block Clusters").
pub const MAX_CLUSTER: i64 = 8;

/// How many blocks that follow each other along the loop `op`, which is bound to `blockIdx.x`, are a cluster.
pub fn cluster_of(func: &Func, op: Op) -> Option<i64> {
    let size = func.int_of(op, keys::CLUSTER)?;
    (loop_kind(func, op) == Some(LoopKind::Launch(Coordinate::BlockX))).then_some(size)
}
