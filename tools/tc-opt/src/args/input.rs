//! What is read, and where the result goes.

use clap::ValueEnum;
use std::ffi::OsString;
use std::path::PathBuf;

/// What becomes of a file that has comments, which no program that is printed has.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum InPlace {
    /// It stays as it is, and the call is refused.
    Keep,
    /// It loses them.
    DropComments,
}

/// What is read, and where the result goes.
#[derive(Clone, clap::Args, Debug)]
#[command(next_help_heading = "Input and output")]
pub struct InputArgs {
    /// The files to read; `-` is the standard input. Their outputs follow each other, with `// -----` between them
    #[arg(value_name = "FILE")]
    #[arg(required_unless_present_any = ["list_passes", "help_pass", "dump_pass_pipeline", "completion", "man_page"])]
    pub files: Vec<OsString>,

    /// The file to write; it is only touched if all went well
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Write each file back, if all of it went well; one with comments only with `=drop-comments`
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "keep")]
    #[arg(conflicts_with_all = ["output", "list_space", "list_space_points", "member_of", "reduce", "bisect"])]
    #[arg(conflicts_with = "verify_diagnostics")]
    pub in_place: Option<InPlace>,

    /// Take the parts of a file between lines `// -----` for files of their own, several at a time
    #[arg(long)]
    pub split_input_file: bool,

    /// Check diagnostics against `// expected-error@+1 {{text}}` comments (also -warning, -remark, -note; also @-1,
    /// @above, @below, @none)
    #[arg(long)]
    pub verify_diagnostics: bool,

    /// Write those comments: what is missing is added to the files, what nothing meets is dropped
    #[arg(long, requires = "verify_diagnostics", conflicts_with_all = ["output", "in_place"])]
    pub update: bool,

    /// Keep ops that no dialect declares
    #[arg(long)]
    pub allow_unknown_ops: bool,
}
