//! Blocks on a multiprocessor by the rules of this crate, for points that are read from the standard input.
//!
//!     echo 256 40 16384 | cargo run -p tirc-target --example occupancy -- sm_80
//!
//! Without a target it answers for the default one.
//!
//! A line is threads, registers of a thread and bytes of shared memory; the answer is a line with the number of blocks.
//! `scripts/device/occupancy.py` holds the answers against those of a GPU's driver.

use std::io::{BufWriter, Read, Write};
use std::process::ExitCode;
use tc_target::Target;
use tc_target::occupancy::{Usage, occupancy};

fn main() -> ExitCode {
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Where this fails as well, it cannot be told.
            let _ = writeln!(std::io::stderr(), "occupancy: {why}");
            ExitCode::FAILURE
        }
    }
}

fn answer() -> Result<(), String> {
    let name = std::env::args().nth(1).unwrap_or_else(|| Target::DEFAULT.to_string());
    let target = Target::parse(&name).map_err(|wrong| wrong.message)?;
    let mut points = String::new();
    std::io::stdin().read_to_string(&mut points).map_err(|error| error.to_string())?;
    let mut out = BufWriter::new(std::io::stdout());
    for line in points.lines() {
        let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        let Ok([threads, registers, shared]) = numbers.as_deref() else {
            return Err(format!("`{line}` is not threads, registers and bytes of shared memory"));
        };
        let usage = Usage { threads: *threads, registers: *registers, shared: *shared };
        writeln!(out, "{}", occupancy(&target, &usage).blocks).map_err(|error| error.to_string())?;
    }
    out.flush().map_err(|error| error.to_string())
}
