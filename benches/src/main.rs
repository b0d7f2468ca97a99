//! Benchmarks that run the peer beside us and print ratios from one run. `scripts/bench` runs them.
//!
//! - [`throughput`]: parse, print and cse of a module of a million ops against `mlir-opt-22` on the same program.
//! - [`candidate`]: one schedule candidate from parsed module to CUDA text, against TVM's recorded time; and the share of the
//!   verifier in such a pipeline.
//! - [`growth`]: how the time of passes grows with the program.
//! - [`space`]: a thousand candidates of a search space, on two threads.

mod budget;
mod candidate;
mod growth;
mod program;
mod space;
mod throughput;

use std::process::ExitCode;

/// Passes make and drop many small things, which takes a tenth of their time with the allocator of the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let which = std::env::args().nth(1).unwrap_or_default();
    let done = match which.as_str() {
        "throughput" => throughput::run(std::env::args().nth(2).as_deref() != Some("alone")),
        "candidate" => match std::env::args().nth(2) {
            Some(name) => {
                let runs = std::env::args().nth(3).and_then(|runs| runs.parse().ok()).unwrap_or(1000);
                candidate::repeat(&name, runs, std::env::args().nth(4).as_deref() == Some("verify"))
            }
            None => candidate::run(),
        },
        "growth" => growth::run(std::env::args().nth(2).as_deref()),
        "verifier" => candidate::verifier(),
        "space" => space::run(),
        "" => throughput::run(true)
            .and_then(|()| growth::run(None))
            .and_then(|()| candidate::run())
            .and_then(|()| candidate::verifier())
            .and_then(|()| space::run()),
        other => {
            Err(format!("there is no benchmark `{other}`; there are throughput, growth, candidate, verifier, space"))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            report(&format!("error: {reason}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Writes to standard output; a closed pipe is no fault.
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
