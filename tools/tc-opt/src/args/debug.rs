//! What helps where a run fails.

use std::path::PathBuf;

/// What the flags of this group that ask questions of their own have nothing to do with.
const OTHER_MODES: [&str; 5] =
    ["split_input_file", "verify_diagnostics", "list_space", "list_space_points", "member_of"];

/// What helps where a run fails.
#[derive(Clone, clap::Args, Debug)]
#[command(next_help_heading = "Debugging")]
pub struct DebugArgs {
    /// Where the reproducer goes if a pass or the emitter fails; else it goes into the folder for temporary files, or
    /// the one that TC_REPRODUCER_DIR names
    #[arg(long, value_name = "FILE", conflicts_with = "no_reproducer")]
    pub reproducer: Option<PathBuf>,

    /// Write no reproducer
    #[arg(long)]
    pub no_reproducer: bool,

    /// Run what the head of FILE, a reproducer, says: its pipeline, target, checks and emitter
    #[arg(long, conflicts_with_all = OTHER_MODES)]
    #[arg(conflicts_with_all = ["pass_pipeline", "target", "emit", "via", "verify_each", "allow_unknown_ops"])]
    pub run_reproducer: bool,

    /// Make FILE small while `sh -c COMMAND` ends with status 0, the path of a candidate in the place of `{}` or at the
    /// end; without COMMAND, while the run of its pipeline fails in the same way
    #[arg(long, value_name = "COMMAND", num_args = 0..=1, default_missing_value = "")]
    #[arg(conflicts_with_all = OTHER_MODES, conflicts_with_all = ["reproducer", "explain_bounds", "trace_schedule"])]
    pub reduce: Option<String>,

    /// Tell after which pass the status of COMMAND changes, asked about the program after some of the passes; without
    /// COMMAND, which pass is the first to change what the program means
    #[arg(long, value_name = "COMMAND", num_args = 0..=1, default_missing_value = "")]
    #[arg(conflicts_with_all = OTHER_MODES, conflicts_with_all = ["reduce", "reproducer"])]
    pub bisect: Option<String>,

    /// How long a COMMAND or the run of a candidate may take; one that takes longer says no
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub command_timeout: u64,
}
