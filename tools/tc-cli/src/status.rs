//! Exit statuses: they tell who has to act.

use tc::support::{Diagnostic, Diagnostics, Fault};

/// All went well.
pub const FINE: u8 = 0;
/// The text or the arrays that came in are at fault.
pub const INPUT: u8 = 1;
/// The call is at fault.
pub const CALL: u8 = 2;
/// The compiler is at fault.
pub const BUG: u8 = 3;

/// The exit status that diagnostics come to.
pub fn status_of(found: &Diagnostics) -> u8 {
    let status = |one: &Diagnostic| match one.fault {
        _ if !one.is_error() => FINE,
        Fault::Input => INPUT,
        // Passes in an order in which they do not work were asked for by the caller.
        Fault::PassAssumption => CALL,
        // So was a pass that somebody added.
        Fault::ForeignPass => CALL,
        Fault::Bug => BUG,
    };
    found.iter().map(status).max().unwrap_or(FINE)
}
