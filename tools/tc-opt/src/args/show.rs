//! What is shown on the way.

use std::path::PathBuf;

/// What is shown on the way.
#[derive(Clone, clap::Args, Debug)]
#[command(next_help_heading = "Showing")]
pub struct ShowArgs {
    /// Print the program before this pass, or before each
    #[arg(long, value_name = "PASS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub print_ir_before: Vec<String>,

    /// Print the program after this pass, or after each
    #[arg(long, value_name = "PASS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub print_ir_after: Vec<String>,

    /// Print the program before each pass
    #[arg(long)]
    pub print_ir_before_all: bool,

    /// Print the program after each pass
    #[arg(long)]
    pub print_ir_after_all: bool,

    /// Print the program after each pass that changed it
    #[arg(long)]
    pub print_ir_after_change: bool,

    /// Write the program after each pass into a folder; so does the environment variable TC_DUMP_IR
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,

    /// Tell how long each pass took
    #[arg(long)]
    pub timing: bool,

    /// Tell what the passes counted
    #[arg(long)]
    pub stats: bool,

    /// Print every op in the generic form, one a line
    #[arg(long)]
    pub generic: bool,

    /// Print where each op comes from
    #[arg(long, alias = "print-locations")]
    pub locations: bool,

    /// Print the program after each line of the schedule
    #[arg(long)]
    pub trace_schedule: bool,

    /// Tell why each stage computes what it does, or the one named, instead of printing the program
    #[arg(long, value_name = "STAGE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(requires = "pass_pipeline")]
    pub explain_bounds: Option<String>,

    /// Write diagnostics as JSON, one object a line
    #[arg(long)]
    pub json: bool,
}
