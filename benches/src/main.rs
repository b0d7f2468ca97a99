//! Benchmarks that run the peer beside us and print ratios from one run. `scripts/bench` runs them.
//!
//! - [`throughput`]: parse, print and cse of a module of a million ops against `mlir-opt-22` on the same program.
//! - [`candidate`]: one schedule candidate from parsed module to CUDA text, against TVM's recorded time.
//! - [`space`]: a thousand candidates of a search space, on two threads.

mod candidate;
mod program;
mod space;
mod throughput;

use std::process::ExitCode;

fn main() -> ExitCode {
    let which = std::env::args().nth(1).unwrap_or_default();
    let done = match which.as_str() {
        "throughput" => throughput::run(),
        "candidate" => candidate::run(),
        "space" => space::run(),
        "" => throughput::run().and_then(|()| candidate::run()).and_then(|()| space::run()),
        other => Err(format!("there is no benchmark `{other}`; there are throughput, candidate, space")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            report(&format!("error: {reason}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Writes to standard output; a closed pipe is nobody's fault.
fn report(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// The median of some seconds.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
