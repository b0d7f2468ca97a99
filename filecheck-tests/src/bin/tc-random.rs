//! `tc-random`: random operators with schedules, or random programs, through random pipelines.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool talks to its user")]

use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use tc_filetest::random::programs::{self, Programs};
use tc_filetest::random::run::{Failed, RandomCase, RandomRun, run};
use tc_filetest::random::scheduled::Scheduled;
use tc_filetest::random::{Case, device};

/// Random operators, schedules and pipelines: every program agrees with its operator after every pass. With --programs
/// random programs and pipelines: every program means after every pass what it meant before.
#[derive(Parser)]
struct Args {
    /// Programs of the language, not operators with schedules.
    #[arg(long)]
    programs: bool,
    /// Programs under schedules.
    #[arg(long, conflicts_with_all = ["programs", "write"])]
    scheduled: bool,
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
    /// Run nothing: write the cases that have kernels into this folder, each with the program that its pipeline made, for
    /// `scripts/device/random_programs.py`.
    #[arg(long, conflicts_with_all = ["print", "keep", "jobs"])]
    write: Option<PathBuf>,
}

static KEEP: OnceLock<(u64, PathBuf)> = OnceLock::new();

fn main() -> ExitCode {
    let args = Args::parse();
    if args.scheduled {
        return begin::<Scheduled>(args, |_, _, _| None);
    }
    match args.programs {
        true => begin::<Programs>(args, programs::device::file),
        false => begin::<Case>(args, device::file),
    }
}

/// Does what `args` ask for with cases of one kind; `file` is what a machine with a GPU is given of one.
fn begin<C: RandomCase>(args: Args, file: File) -> ExitCode {
    let (first, count) = args.only.map_or((0, args.count), |only| (only, 1));
    if args.print {
        println!("{}", C::draw(&tc::Compiler::new(), args.seed, first).shown());
        return ExitCode::SUCCESS;
    }
    if let Some(folder) = args.write {
        return write(&folder, args.seed, first..first + count, file);
    }
    if let Some(folder) = args.keep {
        if let Err(error) = std::fs::create_dir_all(&folder) {
            eprintln!("error: cannot make `{}`: {error}", folder.display());
            return ExitCode::from(2);
        }
        let _ = KEEP.set((args.seed, folder));
    }
    // A panic is reported as a failure of its case.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = run::<C>(RandomRun { seed: args.seed, first, count, jobs: args.jobs }, tell);
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

/// The file of case N of a seed; none where the case has no kernel, or has failed already.
type File = fn(&tc::Compiler, u64, u64) -> Option<String>;

/// Writes the cases `numbers` that have kernels.
fn write(folder: &Path, seed: u64, numbers: std::ops::Range<u64>, file: File) -> ExitCode {
    // A panic is a case without a file.
    std::panic::set_hook(Box::new(|_| {}));
    let compiler = tc::Compiler { threads: 1, ..tc::Compiler::new() };
    let n = numbers.end - numbers.start;
    let files = numbers.filter_map(|number| Some((number, file(&compiler, seed, number)?)));
    let wrote = std::fs::create_dir_all(folder).and_then(|()| {
        let mut wrote = 0u64;
        for (number, text) in files {
            std::fs::write(folder.join(format!("{seed}-{number:05}.tir")), text)?;
            wrote += 1;
        }
        Ok(wrote)
    });
    match wrote {
        Ok(wrote) => {
            println!("{wrote} of {n} cases have kernels: `{}`", folder.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: cannot write to `{}`: {error}", folder.display());
            ExitCode::from(2)
        }
    }
}

fn tell<C: RandomCase>(failed: &Failed<C>) {
    let about = format!("Case {}: {}", failed.number, failed.failure.key);
    println!("---- {about}\n{}\n{}", failed.failure.text, failed.case.corpus_text(&about));
    if let Some((seed, folder)) = KEEP.get() {
        let path = folder.join(format!("{seed}-{:05}.tir", failed.number));
        if let Err(error) = std::fs::write(&path, failed.case.corpus_text(&about)) {
            eprintln!("error: cannot write `{}`: {error}", path.display());
        }
    }
}
