//! The command line.

use clap::{Parser, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// What is written in the end.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Emit {
    /// The program as text.
    Tir,
    /// CUDA C++.
    Cuda,
}

/// What is checked around each pass.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum VerifyEach {
    /// Nothing.
    None,
    /// What the verifier checks.
    Structure,
    /// The verifier, and on the simulator that the program still means the same.
    Semantics,
}

/// `NAME=VALUE`; a truth value is 0 or 1.
fn define(text: &str) -> Result<(String, i64), String> {
    let wrong = || "expected NAME=VALUE, the value an integer, `true` or `false`".to_string();
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
    let value = match value {
        "true" => 1,
        "false" => 0,
        value => value.parse().map_err(|_| wrong())?,
    };
    Ok((name.to_string(), value))
}

/// Reads tensor programs as text, runs passes over them and writes them as text.
#[derive(Clone, Parser, Debug)]
#[command(name = "tc-opt", version, max_term_width = 120)]
#[command(after_help = "Exit status: 0 fine, 1 the input is at fault, 2 the call is at fault, 3 a bug of tc.")]
pub struct Args {
    /// The file to read; `-` is the standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["list_passes", "help_pass", "dump_pass_pipeline"])]
    pub file: Option<OsString>,

    /// The passes to run, such as 'module(schedule{name=v5},tir.func(simplify,cse))'; '@FILE' reads one
    #[arg(long, value_name = "STR")]
    pub pass_pipeline: Option<String>,

    /// What to write
    #[arg(long, value_enum, default_value = "tir")]
    pub emit: Emit,

    /// The GPU to compile for
    #[arg(long, value_name = "NAME", default_value = tc::Compiler::DEFAULT_TARGET)]
    pub target: String,

    /// The file to write; it is only touched if all went well
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// What to check around each pass
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "structure", default_missing_value = "structure")]
    pub verify_each: VerifyEach,

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

    /// Take the parts of the file between lines `// -----` for files of their own
    #[arg(long)]
    pub split_input_file: bool,

    /// Check diagnostics against `// expected-error@+1 {{text}}` comments (also -warning, -remark, -note)
    #[arg(long)]
    pub verify_diagnostics: bool,

    /// Print every op in the generic form, one a line
    #[arg(long)]
    pub generic: bool,

    /// Print where each op comes from
    #[arg(long, alias = "print-locations")]
    pub locations: bool,

    /// Keep ops that no dialect declares
    #[arg(long)]
    pub allow_unknown_ops: bool,

    /// List passes and named pipelines
    #[arg(long)]
    pub list_passes: bool,

    /// Print the page of a pass
    #[arg(long, value_name = "NAME")]
    pub help_pass: Option<String>,

    /// Print the pipeline with named pipelines and files expanded, and run nothing
    #[arg(long, requires = "pass_pipeline")]
    pub dump_pass_pipeline: bool,

    /// Print the program after each line of the schedule
    #[arg(long)]
    pub trace_schedule: bool,

    /// Tell why each stage computes what it does, or the one named, instead of printing the program
    #[arg(long, value_name = "STAGE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(requires = "pass_pipeline")]
    pub explain_bounds: Option<String>,

    /// Tell what the space of a schedule holds: choices, number of points, those valid on the target, why others are not
    #[arg(long, value_name = "SCHEDULE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with_all = ["pass_pipeline", "split_input_file", "verify_diagnostics"])]
    pub list_space: Option<String>,

    /// Print the valid points of the space of a schedule, one a line, as `schedule{param="…"}` reads them
    #[arg(long, value_name = "SCHEDULE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(conflicts_with_all = ["list_space", "pass_pipeline", "split_input_file", "verify_diagnostics", "output"])]
    pub list_space_points: Option<String>,

    /// Tell which point of this schedule's space each schedule without parameters is; the status is 1 if one is none
    #[arg(long, value_name = "SCHEDULE", require_equals = true)]
    #[arg(conflicts_with_all = ["list_space", "list_space_points", "pass_pipeline", "split_input_file"])]
    pub member_of: Option<String>,

    /// With --member-of, ask about this schedule alone
    #[arg(long, value_name = "SCHEDULE", require_equals = true, requires = "member_of")]
    #[arg(conflicts_with_all = ["list_space", "list_space_points"])]
    pub member: Option<String>,

    /// A value for a size or a parameter, with --list-space, --list-space-points and --member-of; a pipeline is told by
    /// `schedule{param="NAME=VALUE"}`
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = define, allow_hyphen_values = true)]
    #[arg(conflicts_with = "pass_pipeline")]
    pub defines: Vec<(String, i64)>,

    /// How many points of a space are judged or compared, from the first on
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub space_limit: u64,

    /// How many functions to work on at a time; 0 stands for as many as there are cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,

    /// Write diagnostics as JSON, one object a line
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// Is a space asked about, instead of passes run?
    pub fn asks_about_space(&self) -> bool {
        self.list_space.is_some() || self.list_space_points.is_some() || self.member_of.is_some()
    }

    /// What the file is called in messages.
    pub fn file_name(&self) -> String {
        match &self.file {
            None => "<no file>".to_string(),
            Some(file) if file == "-" => "<stdin>".to_string(),
            Some(file) => file.to_string_lossy().into_owned(),
        }
    }
}
