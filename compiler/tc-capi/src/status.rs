//! What a call came to.

use std::ffi::CStr;

/// What a call came to. Codes from 3 to 14 say that the call was wrong: it had no effect, and all that it would have given
/// is 0.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcStatus {
    /// It went well.
    Ok = 0,
    /// The text or the pipeline is at fault; the diagnostics say why.
    Failed = 1,
    /// The compiler is at fault; the diagnostics say what to report.
    Bug = 2,
    /// A pointer is null that must not be.
    NullArgument = 3,
    /// A handle that this library never gave.
    BadHandle = 4,
    /// A handle of something that was freed, itself or with its context.
    FreedHandle = 5,
    /// A handle of something of another kind.
    WrongKind = 6,
    /// `struct_size` is less than what the first version of the struct has, or absurd.
    BadStructSize = 7,
    /// A field that this library does not know is set: the program was made for a newer one.
    UnknownField = 8,
    /// The program was made for another version of this interface.
    BadAbiVersion = 9,
    /// A string is not UTF-8.
    NotUtf8 = 10,
    /// A number is none of those that are allowed here, or a string no name that is known.
    BadValue = 11,
    /// An index is past the end.
    OutOfRange = 12,
    /// Another thread is using the module.
    Busy = 13,
    /// A pipeline failed on this module: it can only be freed.
    Spoiled = 14,
    /// A run was ended from outside, by its limit of steps or a request to cancel. The module is as it was before.
    Ended = 15,
}

impl TcStatus {
    /// All codes, in the order of their numbers.
    pub(crate) const ALL: [TcStatus; 16] = [
        TcStatus::Ok,
        TcStatus::Failed,
        TcStatus::Bug,
        TcStatus::NullArgument,
        TcStatus::BadHandle,
        TcStatus::FreedHandle,
        TcStatus::WrongKind,
        TcStatus::BadStructSize,
        TcStatus::UnknownField,
        TcStatus::BadAbiVersion,
        TcStatus::NotUtf8,
        TcStatus::BadValue,
        TcStatus::OutOfRange,
        TcStatus::Busy,
        TcStatus::Spoiled,
        TcStatus::Ended,
    ];

    /// What it says, in a few words.
    pub(crate) const fn text(self) -> &'static CStr {
        match self {
            TcStatus::Ok => c"ok",
            TcStatus::Failed => c"the input is at fault",
            TcStatus::Bug => c"the compiler is at fault",
            TcStatus::NullArgument => c"a pointer is null",
            TcStatus::BadHandle => c"no such handle was ever given",
            TcStatus::FreedHandle => c"the handle was freed",
            TcStatus::WrongKind => c"the handle is of another kind",
            TcStatus::BadStructSize => c"a struct has a wrong size",
            TcStatus::UnknownField => c"a struct has a field that this library does not know",
            TcStatus::BadAbiVersion => c"the program was made for another version of this interface",
            TcStatus::NotUtf8 => c"a string is not UTF-8",
            TcStatus::BadValue => c"a value is not allowed here",
            TcStatus::OutOfRange => c"an index is past the end",
            TcStatus::Busy => c"another thread is using the module",
            TcStatus::Spoiled => c"a pipeline failed on this module",
            TcStatus::Ended => c"the run was ended from outside",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_list() {
        TcStatus::ALL.iter().enumerate().for_each(|(nth, status)| assert_eq!(*status as usize, nth));
    }
}
