//! Types of variables and casts: width, signedness, and whether arithmetic in the type wraps.

use crate::interval::Interval;

/// The type of a variable, and the target of a cast.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum IntType {
    /// A truth value, 0 or 1.
    Bool,
    /// 8 bits, two's complement; arithmetic wraps.
    I8,
    /// 16 bits, two's complement; arithmetic wraps.
    I16,
    /// 32 bits, two's complement; overflow is an error of the program.
    I32,
    /// 64 bits, two's complement; overflow is an error of the program.
    I64,
    /// 8 bits; arithmetic wraps.
    U8,
    /// 16 bits; arithmetic wraps.
    U16,
    /// 32 bits; arithmetic wraps.
    U32,
    /// 64 bits; arithmetic wraps.
    U64,
    /// What counts elements: 64 bits, and narrower where that is proved to suffice; overflow is an error of the program.
    Index,
}

impl IntType {
    /// All of them.
    pub const ALL: [IntType; 10] = {
        use IntType::*;
        [Bool, I8, I16, I32, I64, U8, U16, U32, U64, Index]
    };

    /// The name in the language.
    pub fn name(self) -> &'static str {
        match self {
            IntType::Bool => "bool",
            IntType::I8 => "i8",
            IntType::I16 => "i16",
            IntType::I32 => "i32",
            IntType::I64 => "i64",
            IntType::U8 => "u8",
            IntType::U16 => "u16",
            IntType::U32 => "u32",
            IntType::U64 => "u64",
            IntType::Index => "index",
        }
    }

    /// How many bits a value takes.
    pub fn bits(self) -> u32 {
        match self {
            IntType::Bool => 1,
            IntType::I8 | IntType::U8 => 8,
            IntType::I16 | IntType::U16 => 16,
            IntType::I32 | IntType::U32 => 32,
            IntType::I64 | IntType::U64 | IntType::Index => 64,
        }
    }

    /// Whether values may be negative.
    pub fn is_signed(self) -> bool {
        matches!(self, IntType::I8 | IntType::I16 | IntType::I32 | IntType::I64 | IntType::Index)
    }

    /// Whether arithmetic in the type is modulo `2^bits`; in other types overflow is an error of the program.
    pub fn wraps(self) -> bool {
        !matches!(self, IntType::Bool | IntType::I32 | IntType::I64 | IntType::Index)
    }

    /// The values. The ends of the types of 64 bits that a signed number of 64 bits does not hold are open.
    pub fn range(self) -> Interval {
        match (self.bits(), self.is_signed()) {
            (64, true) => Interval::FULL,
            (64, false) => Interval::at_least(0),
            (bits, true) => Interval::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (bits, false) => Interval::new(0, (1 << bits) - 1),
        }
    }

    /// The values of `cast<self>(x)` where those of `x` lie in `bounds`.
    pub(crate) fn bounds_of_cast(self, bounds: Interval) -> Interval {
        let range = self.range();
        let above = range.min().is_none_or(|min| bounds.all_at_least(min));
        let below = range.max().is_none_or(|max| bounds.all_at_most(max));
        if above && below { bounds } else { range }
    }

    /// Whether every value of `other` is a value of this type.
    pub fn holds(self, other: IntType) -> bool {
        match (self.is_signed(), other.is_signed()) {
            (true, false) => self.bits() > other.bits(),
            (false, true) => false,
            _ => self.bits() >= other.bits(),
        }
    }

    /// The type in which values of both are computed with: the one that holds the other, `index` before `i64`, or the next
    /// signed one that holds both. `None` where no type holds both.
    pub fn join(self, other: IntType) -> Option<IntType> {
        match (self.holds(other), other.holds(self)) {
            (true, true) if self != other => Some(IntType::Index),
            (true, _) => Some(self),
            (_, true) => Some(other),
            _ => [IntType::I16, IntType::I32, IntType::I64].into_iter().find(|ty| ty.holds(self) && ty.holds(other)),
        }
    }

    /// The value of this type that is congruent to `value` modulo `2^bits`; `None` where 64 signed bits do not hold it.
    pub fn wrap(self, value: i64) -> Option<i64> {
        match (self.bits(), self.is_signed()) {
            (64, true) => Some(value),
            (64, false) => (value >= 0).then_some(value),
            (bits, signed) => {
                let low = value & ((1 << bits) - 1);
                Some(if signed && low >> (bits - 1) != 0 { low - (1 << bits) } else { low })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_holds_both() {
        for a in IntType::ALL {
            for b in IntType::ALL {
                assert_eq!(a.join(b), b.join(a), "{a:?} {b:?}");
                match a.join(b) {
                    Some(both) => assert!(both.holds(a) && both.holds(b), "{a:?} {b:?}"),
                    None => assert!(!IntType::I64.holds(a) || !IntType::I64.holds(b), "{a:?} {b:?}"),
                }
            }
        }
        assert_eq!(IntType::U32.join(IntType::I32), Some(IntType::I64));
        assert_eq!(IntType::U64.join(IntType::I8), None);
    }

    #[test]
    fn wrapped_values_lie_in_the_range_and_are_congruent() {
        for ty in [IntType::Bool, IntType::I8, IntType::U8, IntType::I16, IntType::U16] {
            for value in -70_000..70_000_i64 {
                let wrapped = ty.wrap(value).expect("narrow types hold all of theirs");
                assert!(ty.range().contains(wrapped));
                assert_eq!((wrapped - value).rem_euclid(1 << ty.bits()), 0);
                assert!(!ty.range().contains(value) || wrapped == value);
            }
        }
    }
}
