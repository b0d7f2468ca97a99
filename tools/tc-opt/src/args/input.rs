//! What is read, and where the result goes.

use std::ffi::OsString;
use std::path::PathBuf;

/// What is read, and where the result goes.
#[derive(Clone, clap::Args, Debug)]
#[command(next_help_heading = "Input and output")]
pub struct InputArgs {
    /// The file to read; `-` is the standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["list_passes", "help_pass", "dump_pass_pipeline"])]
    pub file: Option<OsString>,

    /// The file to write; it is only touched if all went well
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Take the parts of the file between lines `// -----` for files of their own
    #[arg(long)]
    pub split_input_file: bool,

    /// Check diagnostics against `// expected-error@+1 {{text}}` comments (also -warning, -remark, -note)
    #[arg(long)]
    pub verify_diagnostics: bool,

    /// Keep ops that no dialect declares
    #[arg(long)]
    pub allow_unknown_ops: bool,
}
