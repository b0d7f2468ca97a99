//! Questions about the tool.

use tc_cli::AboutArgs;

/// Questions about the tool.
#[derive(Clone, clap::Args, Debug)]
#[command(next_help_heading = "Asking")]
pub struct AnswerArgs {
    /// List passes and named pipelines
    #[arg(long)]
    pub list_passes: bool,

    /// Print the page of a pass
    #[arg(long, value_name = "NAME")]
    pub help_pass: Option<String>,

    /// Print the pipeline with named pipelines and files expanded, and run nothing
    #[arg(long, requires = "pass_pipeline")]
    pub dump_pass_pipeline: bool,

    /// What every tool is asked.
    #[command(flatten)]
    pub about: AboutArgs,
}
