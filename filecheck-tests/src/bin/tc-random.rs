//! `tc-random`: random operators, schedules and pipelines through the whole compiler.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool talks to its user")]

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;
use tc_filetest::random::run::{Failed, Plan, run};
use tc_filetest::random::{Case, passes};

/// Random operators, schedules and pipelines: every program agrees with its operator after every pass.
#[derive(Parser)]
struct Args {
    /// How many cases.
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// The seed of all cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this case of the seed.
    #[arg(long)]
    only: Option<u64>,
    /// Print the case instead of running it.
    #[arg(long, requires = "only")]
    print: bool,
    /// How many cases run at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// A folder for what fails, as files of the corpus.
    #[arg(long)]
    keep: Option<PathBuf>,
}

static KEEP: OnceLock<(u64, PathBuf)> = OnceLock::new();

fn main() -> ExitCode {
    let args = Args::parse();
    let (first, count) = args.only.map_or((0, args.count), |only| (only, 1));
    if args.print {
        let case = Case::new(&tc::Compiler::new(), args.seed, first);
        println!("{}\n// {}", case.text(), passes::text(&case.passes));
        return ExitCode::SUCCESS;
    }
    if let Some(folder) = args.keep {
        if let Err(error) = std::fs::create_dir_all(&folder) {
            eprintln!("error: cannot make `{}`: {error}", folder.display());
            return ExitCode::from(2);
        }
        let _ = KEEP.set((args.seed, folder));
    }
    // A panic is told as a failure of its case.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = run(Plan { seed: args.seed, first, count, jobs: args.jobs }, tell);
    print!("{}", outcome.tally);
    if outcome.kinds.is_empty() {
        println!("\nno failure");
        return ExitCode::SUCCESS;
    }
    println!("\nfailures");
    for (kind, n) in &outcome.kinds {
        println!("  {n:>6}  {kind}");
    }
    // Threads that hang end with the process.
    std::process::exit(3)
}

fn tell(failed: &Failed) {
    let about = format!("Case {}: {}", failed.number, failed.failure.key);
    println!("---- {about}\n{}\n{}", failed.failure.text, failed.case.corpus_text(&about));
    if let Some((seed, folder)) = KEEP.get() {
        let path = folder.join(format!("{seed}-{:05}.tir", failed.number));
        if let Err(error) = std::fs::write(&path, failed.case.corpus_text(&about)) {
            eprintln!("error: cannot write `{}`: {error}", path.display());
        }
    }
}
