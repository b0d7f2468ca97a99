//! `tc-tune`: searches the space of a schedule for the fastest point. The library does everything.

use std::process::ExitCode;

/// Passes make and drop many small things, which takes a tenth of their time with the allocator of the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tc_cli::main(tc_tune::run)
}
