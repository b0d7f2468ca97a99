//! `cargo xtask …`

use clap::{Parser, Subcommand};
use std::process::{Command, ExitCode};

/// Chores of the repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check layout, dependency arrows, tables and their pages
    Tidy,
    /// Write the generated pages: docs/passes.md, docs/schedule.md, the tables of docs/ir.md, the header for C
    Gen {
        /// Write nothing; fail where a page is not up to date
        #[arg(long)]
        check: bool,
    },
    /// Take the outputs of the corpus for right: writes the snapshots
    Bless {
        /// Only tests whose names hold this
        filter: Option<String>,
    },
    /// Write the file, the row and the corpus folder of a new pass over functions
    NewPass {
        /// The name in kebab case, such as `rotate-loop`
        name: String,
    },
    /// Write the folder, the generator, the lines and the corpus folder of a new schedule primitive about a stage
    NewPrimitive {
        /// The name in snake case, such as `prefetch_at`
        name: String,
    },
}

fn main() -> ExitCode {
    let root = xtask::root();
    let wrong = match Args::parse().chore {
        Chore::Tidy => xtask::tidy::check(&root),
        Chore::Gen { check: true } => xtask::generate::stale(&root),
        Chore::Gen { check: false } => xtask::generate::write(&root),
        Chore::Bless { filter } => bless(filter),
        Chore::NewPass { name } => xtask::scaffold::new_pass(&root, &name),
        Chore::NewPrimitive { name } => xtask::scaffold::new_primitive(&root, &name),
    };
    report(&wrong);
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[allow(clippy::print_stderr, reason = "this is a tool, and people read what is wrong")]
fn report(wrong: &[String]) {
    for line in wrong {
        eprintln!("{line}");
    }
}

/// Runs the corpus with snapshots being written, then once more as ever.
fn bless(filter: Option<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for update in ["always", "no"] {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["test", "--quiet", "--package", "tc-filetest", "--test", "corpus", "--"]).args(&filter);
        cargo.env("INSTA_UPDATE", update).current_dir(xtask::root());
        // The first run may fail for other reasons, which the second one tells again.
        match cargo.status() {
            Ok(status) if update == "no" && !status.success() => wrong.push("the corpus does not pass".to_string()),
            Ok(_) => {}
            Err(error) => wrong.push(format!("cannot run cargo: {error}")),
        }
    }
    wrong
}
