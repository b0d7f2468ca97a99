//! `tc-opt`: reads `.tir` text, runs passes over it, writes text. The library does everything.

use std::ffi::OsString;
use std::process::ExitCode;

/// Passes make and drop many small things, which takes a tenth of their time with the allocator of the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if let Some(status) = tc_opt::serve(&args) {
        return ExitCode::from(status);
    }
    tc_cli::main(|args, io| {
        // Whoever makes a crash small meets it a hundred times, and reads of it once.
        if std::env::args_os().any(|arg| arg.to_string_lossy().starts_with("--reduce")) {
            std::panic::set_hook(Box::new(|_| {}));
        }
        tc_opt::run(args, io)
    })
}
