//! The scopes that a buffer may lie in, and their ranks.

/// Where a buffer lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the scopes name themselves")]
pub enum Scope {
    Global,
    Shared,
    SharedDyn,
    Warp,
    Local,
    WmmaA,
    WmmaB,
    WmmaAccumulator,
    MmaA,
    MmaB,
    MmaAccumulator,
}

impl Scope {
    /// All of them, from the widest to the narrowest.
    pub const ALL: [Scope; 11] = [
        Scope::Global,
        Scope::Shared,
        Scope::SharedDyn,
        Scope::Warp,
        Scope::Local,
        Scope::WmmaA,
        Scope::WmmaB,
        Scope::WmmaAccumulator,
        Scope::MmaA,
        Scope::MmaB,
        Scope::MmaAccumulator,
    ];

    /// The name in text.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Global => "global",
            Scope::Shared => "shared",
            Scope::SharedDyn => "shared.dyn",
            Scope::Warp => "warp",
            Scope::Local => "local",
            Scope::WmmaA => "wmma.matrix_a",
            Scope::WmmaB => "wmma.matrix_b",
            Scope::WmmaAccumulator => "wmma.accumulator",
            Scope::MmaA => "mma.matrix_a",
            Scope::MmaB => "mma.matrix_b",
            Scope::MmaAccumulator => "mma.accumulator",
        }
    }

    /// The scope called `name`.
    pub fn parse(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }

    /// How many threads share a buffer, from all (0) to one: a loop over threads of a rank at least this great is
    /// covered by one buffer.
    pub const fn rank(self) -> u8 {
        match self {
            Scope::Global => 0,
            Scope::Shared | Scope::SharedDyn => 1,
            Scope::Warp => 2,
            Scope::Local => 3,
            Scope::WmmaA | Scope::MmaA => 4,
            Scope::WmmaB | Scope::MmaB => 5,
            Scope::WmmaAccumulator | Scope::MmaAccumulator => 6,
        }
    }

    /// Does each warp have one buffer, whose elements its threads hold together?
    pub const fn is_per_warp(self) -> bool {
        matches!(self, Scope::Warp) || self.is_tile()
    }

    /// Is it for the tiles of matrix ops? Then which thread of the warp holds which element is not the schedule's to say.
    pub const fn is_tile(self) -> bool {
        matches!(
            self,
            Scope::WmmaA | Scope::WmmaB | Scope::WmmaAccumulator | Scope::MmaA | Scope::MmaB | Scope::MmaAccumulator
        )
    }

    /// Is it shared memory?
    pub const fn is_shared(self) -> bool {
        matches!(self, Scope::Shared | Scope::SharedDyn)
    }
}
