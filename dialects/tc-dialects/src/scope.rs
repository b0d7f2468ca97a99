//! Memory scopes: a row for each, with what others ask of it.
//!
//! To add one, write its row. A kind of memory that no scope lies in yet ([`Memory`]) also wants its word in each
//! emitter and a store in the simulator.

use crate::fragment::{Family, Use};
use crate::tir::place_type;
use tc_ir::{Func, Name, Value, keys};

scopes! {
    /// What all threads of a launch see.
    Global "global" = row(Memory::Global, Owner::Grid),
    /// What the threads of a block see, of a size fixed when the kernel is compiled.
    Shared "shared" = row(Memory::Shared, Owner::Block),
    /// What the threads of a block see, of a size that the launch says.
    SharedDyn "shared.dyn" = row(Memory::Shared, Owner::Block).sized_by_launch(),
    /// Elements that the threads of a block hold together in their registers: the pass `distribute-registers` gives each its own.
    Registers "registers" = row(Memory::Registers, Owner::Block).only_before_passes(),
    /// What one thread has.
    Local "local" = row(Memory::Registers, Owner::Thread),
    /// Left factors of `wmma`.
    WmmaA "wmma.matrix_a" = tiles(Family::Wmma, Use::A),
    /// Right factors of `wmma`.
    WmmaB "wmma.matrix_b" = tiles(Family::Wmma, Use::B),
    /// Sums of `wmma`.
    WmmaAccumulator "wmma.accumulator" = tiles(Family::Wmma, Use::Accumulator),
    /// Left factors of `mma`.
    MmaA "mma.matrix_a" = tiles(Family::Mma, Use::A),
    /// Right factors of `mma`.
    MmaB "mma.matrix_b" = tiles(Family::Mma, Use::B),
    /// Sums of `mma`.
    MmaAccumulator "mma.accumulator" = tiles(Family::Mma, Use::Accumulator),
    /// Numbers for the rows of sums of `mma`.
    MmaRows "mma.rows" = tiles(Family::Mma, Use::Rows),
    /// Left factors of `wgmma` that lie in registers.
    WgmmaA "wgmma.matrix_a" = tiles(Family::Wgmma, Use::A),
    /// Sums of `wgmma`.
    WgmmaAccumulator "wgmma.accumulator" = tiles(Family::Wgmma, Use::Accumulator),
    /// Numbers for the rows of sums of `wgmma`.
    WgmmaRows "wgmma.rows" = tiles(Family::Wgmma, Use::Rows),
}

/// What others ask of a scope.
#[derive(Clone, Copy, Debug)]
struct Row {
    memory: Memory,
    owner: Owner,
    tiles: Option<(Family, Use)>,
    sized_by_launch: bool,
    only_before_passes: bool,
}

/// The kinds of memory that a GPU has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Device memory.
    Global,
    /// The memory of a multiprocessor.
    Shared,
    /// Registers, and the local memory that they spill to.
    Registers,
}

/// Whose one buffer of a scope is: the threads that see the same elements, from many to one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Owner {
    /// All threads of a launch.
    Grid,
    /// The threads of a block.
    Block,
    /// The threads of a warp, or of a warpgroup.
    Warp,
    /// One thread.
    Thread,
}

const fn row(memory: Memory, owner: Owner) -> Row {
    Row { memory, owner, tiles: None, sized_by_launch: false, only_before_passes: false }
}

const fn tiles(family: Family, part: Use) -> Row {
    Row { tiles: Some((family, part)), ..row(Memory::Registers, Owner::Warp) }
}

impl Row {
    const fn sized_by_launch(self) -> Row {
        Row { sized_by_launch: true, ..self }
    }

    const fn only_before_passes(self) -> Row {
        Row { only_before_passes: true, ..self }
    }
}

/// Makes the enum [`Scope`] of the rows.
macro_rules! scopes {
    ($($(#[$doc:meta])* $variant:ident $text:literal = $row:expr),* $(,)?) => {
        /// Where a buffer lies.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Scope {
            $($(#[$doc])* $variant),*
        }

        const ROWS: &[Row] = &[$($row),*];

        impl Scope {
            /// All of them, from the widest to the narrowest.
            pub const ALL: [Scope; ROWS.len()] = [$(Scope::$variant),*];

            /// The name in text.
            pub const fn name(self) -> &'static str {
                match self { $(Scope::$variant => $text),* }
            }

            /// The scope called `name`.
            pub fn parse(name: &str) -> Option<Scope> {
                match name { $($text => Some(Scope::$variant),)* _ => None }
            }
        }
    };
}
use scopes;

impl Scope {
    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The scope that a type says: global where it says none, `None` where there is none of that name.
    pub fn of_name(func: &Func, scope: Option<Name>) -> Option<Scope> {
        scope.map_or(Some(Scope::Global), |scope| Scope::parse(func.text(scope)))
    }

    /// Its name in `func`, for types and attributes.
    pub fn name_in(self, func: &mut Func) -> Name {
        func.name(self.name())
    }

    /// Where `place` lies, a buffer or a reference into one; `None` if it is neither.
    pub fn of(func: &Func, place: Value) -> Option<Scope> {
        let (_, _, scope) = place_type(func, place)?;
        Scope::of_name(func, scope)
    }

    /// The memory that it is in.
    pub const fn memory(self) -> Memory {
        self.row().memory
    }

    /// Is it shared memory?
    pub const fn is_shared(self) -> bool {
        matches!(self.memory(), Memory::Shared)
    }

    /// Is the size of its buffers said by the launch, so that a kernel has one that holds all?
    pub const fn is_sized_by_launch(self) -> bool {
        self.row().sized_by_launch
    }

    /// Who sees the elements of one buffer.
    pub const fn owner(self) -> Owner {
        self.row().owner
    }

    /// Is it gone from a program that runs on a GPU?
    pub const fn is_only_before_passes(self) -> bool {
        self.row().only_before_passes
    }

    /// The matrix ops that it holds tiles for, and what these are in a product.
    pub const fn tiles(self) -> Option<(Family, Use)> {
        self.row().tiles
    }

    /// Is it for the tiles of matrix ops? Then which thread of the warp holds which element is not the schedule's to say.
    pub const fn is_tile(self) -> bool {
        self.tiles().is_some()
    }

    /// Is it for the sums of matrix ops?
    pub const fn is_accumulator(self) -> bool {
        matches!(self.tiles(), Some((_, Use::Accumulator)))
    }

    /// Does each warp, or warpgroup, have one buffer, whose elements its threads hold together?
    pub const fn is_per_warp(self) -> bool {
        matches!(self.owner(), Owner::Warp)
    }

    /// How many threads whose numbers follow each other hold a buffer together.
    pub const fn threads(self) -> i64 {
        match self.row().tiles {
            Some((family, _)) => family.threads(),
            None => 32,
        }
    }

    /// What these threads are called.
    pub const fn crew(self) -> &'static str {
        match self.row().tiles {
            Some((family, _)) => family.crew(),
            None => "warp",
        }
    }

    /// How many threads share a buffer, from all (0) to one: a loop over threads of a rank at least this great is
    /// covered by one buffer.
    pub const fn rank(self) -> u8 {
        match self.tiles() {
            Some((_, part)) => Owner::Thread as u8 + 1 + part as u8,
            None => self.owner() as u8,
        }
    }
}

/// The word that a type says for its scope, `global` where it says none.
pub fn scope_text(func: &Func, scope: Option<Name>) -> &str {
    func.text(scope.unwrap_or(keys::GLOBAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_ranks_rise() {
        assert!(Scope::ALL.iter().all(|&scope| Scope::parse(scope.name()) == Some(scope)));
        assert_eq!(Scope::ALL.map(Scope::rank), [0, 1, 1, 1, 3, 4, 5, 6, 4, 5, 6, 7, 4, 6, 7]);
    }

    #[test]
    fn tiles_are_called_by_their_family_and_use() {
        for scope in Scope::ALL {
            let Some((family, part)) = scope.tiles() else { continue };
            assert_eq!(scope.name(), format!("{}.{}", family.name(), part.name()));
        }
    }
}
