//! What is shown on the way.

use super::run::Emit;
use clap::ValueEnum;
use std::path::PathBuf;
use tc::target::{Machine, Target};

/// What is printed of a pass that changed the program.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum ShowChanged {
    /// What differs.
    Diff,
    /// The program after it.
    Ir,
}

/// When colours are used.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Colour {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How the speed of kernels is told.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum ShowAccess {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// What findings of the lint are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum LintLevel {
    /// Warnings.
    Warn,
    /// Errors, and so is what was not looked at.
    Deny,
}

fn machine(name: &str) -> Result<Machine, String> {
    Machine::named(name).ok_or_else(|| {
        let names: Vec<&str> = Machine::all().iter().map(|machine| machine.name).collect();
        format!("there is {}", names.join(", "))
    })
}

impl ShowArgs {
    /// What is wrong with how the speed of kernels is asked for, where `emit` is written for `target`.
    pub(crate) fn stray_speed(&self, emit: Emit, target: &Target) -> Option<String> {
        if self.access.is_some() && emit != Emit::Tir {
            let code = emit.to_possible_value().map_or(String::new(), |name| name.get_name().to_string());
            return Some(format!("`--access` is told in the place of code: leave `--emit={code}` out"));
        }
        if self.lint.is_some() && emit != Emit::Tir {
            let code = emit.to_possible_value().map_or(String::new(), |name| name.get_name().to_string());
            return Some(format!("`--lint` is told in the place of code: leave `--emit={code}` out"));
        }
        let machine = self.machine?;
        if self.access.is_none() && self.report.is_none() {
            return Some(
                "`--machine` names the GPU whose speed `--access` and `--report` tell: it wants one of them".into(),
            );
        }
        if machine.capability == target.capability {
            return None;
        }
        let of_machine = Target::all().iter().find(|target| target.capability == machine.capability);
        let way_out = of_machine.map_or(String::new(), |target| format!(": `--target={target}` compiles for it"));
        Some(format!("`--machine` names the {}, and code for {target} is not code for it{way_out}", machine.name))
    }
}

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

    /// Print the program after each pass that changed it, as --print-changed=ir does
    #[arg(long, conflicts_with = "print_changed")]
    pub print_ir_after_change: bool,

    /// Print the program as a pass that failed left it
    #[arg(long)]
    pub print_ir_after_failure: bool,

    /// Tell of each pass what it changed, as a difference or as the program after it
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "diff")]
    pub print_changed: Option<ShowChanged>,

    /// When to use colours, in differences and in diagnostics
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub color: Colour,

    /// Write the program after each pass into a folder, with a page that shows them side by side; what an earlier dump left
    /// there goes. So does the environment variable TC_DUMP_IR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list_space", "list_space_points", "member_of"])]
    pub dump_dir: Option<PathBuf>,

    /// Write a page that tells all of the compilation: passes, differences, diagnostics, kernels. It is written where the
    /// compilation fails, too
    #[arg(long, value_name = "OUT.html", conflicts_with_all = ["list_space", "list_space_points", "member_of"])]
    pub report: Option<PathBuf>,

    /// Tell how long each pass took, and how many ops there are
    #[arg(long)]
    pub timing: bool,

    /// Write what took how long as a trace that Perfetto and chrome://tracing read
    #[arg(long, value_name = "OUT.json", conflicts_with_all = ["list_space", "list_space_points", "member_of"])]
    pub chrome_trace: Option<PathBuf>,

    /// Tell what the passes counted
    #[arg(long)]
    pub stats: bool,

    /// Tell what passes left undone and why, or this pass alone; without it, only what a schedule or the program asked for
    #[arg(long, value_name = "PASS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub remarks: Vec<String>,

    /// Print every op in the generic form, one a line
    #[arg(long)]
    pub generic: bool,

    /// Print where each op comes from: in a program, in CUDA C++ by `#line`, in MLIR by `loc`
    #[arg(long, alias = "print-locations")]
    pub locations: bool,

    /// Print the program after each line of the schedule
    #[arg(long)]
    pub trace_schedule: bool,

    /// Tell why each stage computes what it does, or the one named, instead of printing the program
    #[arg(long, value_name = "STAGE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(requires = "pass_pipeline")]
    pub explain_bounds: Option<String>,

    /// Tell what the accesses and instructions of each kernel say of its speed, instead of printing the program; no GPU is
    /// asked
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    #[arg(requires = "pass_pipeline", conflicts_with = "explain_bounds")]
    pub access: Option<ShowAccess>,

    /// Tell what an assembler made of each kernel, and what of it is slow and not what the program says, instead of printing
    /// the program; no GPU is asked, but NVIDIA's compiler and its `nvdisasm`. Findings are warnings, or errors
    #[arg(long, value_enum, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "warn")]
    #[arg(requires = "pass_pipeline", conflicts_with_all = ["explain_bounds", "access"])]
    pub lint: Option<LintLevel>,

    /// The GPU whose speed `--access` and `--report` tell; without it, one of the target's
    #[arg(long, value_name = "NAME", value_parser = machine)]
    pub machine: Option<Machine>,

    /// Answer in JSON: diagnostics, one object a line, and all that the tool is asked (docs/tc-opt.md has the fields)
    #[arg(long)]
    pub json: bool,
}
