//! The command line, in groups: a file for each heading of `--help`.

mod answer;
mod debug;
mod input;
mod run;
mod show;
mod space;

pub use answer::AnswerArgs;
pub use debug::DebugArgs;
pub use input::{InPlace, InputArgs};
pub use run::{BundleLink, Emit, RunArgs, VerifyEach, Via};
pub use show::{Colour, ShowArgs, ShowChanged};
pub(crate) use show::{LintLevel, ShowAccess};
pub use space::SpaceArgs;

use clap::Parser;
use tc_cli::AboutArgs;

/// Reads tensor programs as text, runs passes over them and writes them as text.
#[derive(Clone, Parser, Debug)]
#[command(name = "tc-opt", version, max_term_width = 120)]
#[command(
    after_help = "`tc-opt lsp` serves editors: docs/editors.md.\n\nExit status: 0 fine, 1 the input is at fault, 2 the call is at fault, 3 a bug of tc."
)]
pub struct Args {
    /// What is read, and where the result goes.
    #[command(flatten)]
    pub input: InputArgs,
    /// What is done to it.
    #[command(flatten)]
    pub run: RunArgs,
    /// What is shown on the way.
    #[command(flatten)]
    pub show: ShowArgs,
    /// What helps where a run fails.
    #[command(flatten)]
    pub debug: DebugArgs,
    /// Questions about search spaces.
    #[command(flatten)]
    pub space: SpaceArgs,
    /// Questions about the tool.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

impl tc_cli::CommandLine for Args {
    const NAME: &'static str = "tc-opt";

    fn json(&self) -> bool {
        self.show.json
    }

    fn about(&self) -> &AboutArgs {
        &self.answer.about
    }

    fn with_names(command: clap::Command) -> clap::Command {
        let compiler = tc::Compiler::new();
        let passes: Vec<&str> = compiler.passes.passes().map(|info| info.name).collect();
        let all: Vec<&str> = compiler.passes.names().collect();
        let targets: Vec<&str> = tc::target::Target::all().iter().map(|target| target.name).collect();
        let command = tc_cli::complete(command, &["print_ir_before", "print_ir_after", "remarks"], &passes);
        let command = tc_cli::complete(command, &["help_pass", "pass_pipeline"], &all);
        tc_cli::complete(command, &["target", "targets"], &targets)
    }

    fn colour(&self) -> Option<bool> {
        match self.show.color {
            Colour::Auto => None,
            Colour::Always => Some(true),
            Colour::Never => Some(false),
        }
    }
}

impl Args {
    /// What the first file is called in messages.
    pub fn file_name(&self) -> String {
        self.input.files.first().map_or("<no file>".to_string(), |file| tc_cli::file_name(file))
    }
}
