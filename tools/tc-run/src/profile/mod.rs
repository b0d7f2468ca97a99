//! `tc-run --profile`: what Nsight Compute counts in each kernel, beside what is estimated of it, line by line of the program.
//!
//! The tool runs itself under `ncu`: this process builds the program and knows its lines, the other one launches it. Both build
//! the same program of the same text, so that a line of one is a line of the other.

mod counters;
mod csv;
mod join;
mod show;

use crate::args::{Args, DeviceName, Via};
use crate::drive::{Job, Tool};
use crate::{CALL, FINE, INPUT};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tc::run::{Case, Machine, evaluate};
use tc::runtime::CudaDevice;
use tc::runtime::scratch::ScratchFolder;
use tc::support::{Diagnostic, Diagnostics, Location};

/// What ncu collects besides the metrics that [`counters`] names.
const SECTIONS: [&str; 4] = ["SourceCounters", "WarpStateStats", "Occupancy", "LaunchStats"];

/// Where ncu is, where the `PATH` has none.
const NCU: &str = "/usr/local/cuda/bin/ncu";

/// Profiles each case; the exit status.
pub(crate) fn profile(tool: &Tool<'_, '_>, job: &Job<'_>, cases: &[Case]) -> Result<u8, u8> {
    let (mut cases_shown, mut status) = (Vec::new(), FINE);
    for (nth, case) in cases.iter().enumerate() {
        let name = case.name(job.module);
        tool.progress(&format!("[{}/{}] {name} under ncu", nth + 1, cases.len()));
        let built =
            job.compiler.build(job.module, case, &job.options.defines, true).map_err(|wrong| tool.failure(&wrong))?;
        let refuse = |wrong: Diagnostic| {
            tool.progress("");
            tool.session.tell(&wrong.into(), &built.module.sources);
            CALL
        };
        let report = collect(tool, job, case).map_err(refuse)?;
        let counted = counters::read(&report).map_err(refuse)?;
        let machine = counted.first().and_then(|kernel| tc::target::Machine::named(&kernel.device));
        let machine = machine.unwrap_or_else(|| tc::target::Machine::of(&job.compiler.target));
        let estimated = job.compiler.performance_of(&built, &machine).map_err(|wrong| tool.failure(&wrong))?;
        if counted.is_empty() {
            let text = format!("{name} launches no kernel");
            tool.session.tell(&Diagnostic::warning("profile", Location::None, text).into(), &built.module.sources);
            status = status.max(INPUT);
        }
        cases_shown.push(join::join(&name, &counted, &estimated, &built.module.sources));
    }
    tool.progress("");
    tool.session.print(&match tool.args.json {
        true => format!("{:#}\n", show::json(&cases_shown)),
        false => show::text(&cases_shown),
    });
    Ok(status)
}

/// Launches what is profiled: in the process that ncu watches. Nothing is shown.
pub(crate) fn launch(job: &Job<'_>, cases: &[Case], gpu: &mut CudaDevice) -> Result<u8, Diagnostics> {
    gpu.keep_lines = true;
    let mut machine = Machine::Device(gpu);
    for case in cases {
        evaluate(job.compiler, job.module, case, &mut machine, &job.options).map_err(|failure| failure.diagnostics)?;
    }
    Ok(FINE)
}

/// What ncu tells of a run, as its two pages.
pub(crate) struct Pages {
    /// Each kernel with its metrics.
    pub(crate) raw: String,
    /// Each line of each kernel.
    pub(crate) source: String,
}

/// Runs `case` under ncu.
fn collect(tool: &Tool<'_, '_>, job: &Job<'_>, case: &Case) -> Result<Pages, Diagnostic> {
    let ncu = tool.args.ncu.clone().map_or_else(ncu, Ok)?;
    let own = std::env::current_exe().map_err(|error| wrong(format!("tc-run does not find itself: {error}")))?;
    let folder = ScratchFolder::new("tc-run-profile");
    let folder = folder.map_err(|error| wrong(format!("no temporary folder can be made: {error}")))?;
    let report = folder.path().join("report.ncu-rep");
    let mut command = Command::new(&ncu);
    command.args(["--force-overwrite", "--clock-control", "none", "--target-processes", "application-only"]);
    command.args(SECTIONS.iter().flat_map(|section| ["--section", section]));
    command.arg("--metrics").arg(counters::METRICS.join(",")).arg("--export").arg(&report).arg(own);
    command.args(tool.args.of_case(job.module, case));
    ended("profiling", &command.output().map_err(|error| not_started(&ncu, &error))?, &report)?;
    let page = |words: &[&str]| {
        let mut command = Command::new(&ncu);
        command.arg("--import").arg(&report).args(["--csv", "--print-units", "base", "--page"]).args(words);
        let output = command.output().map_err(|error| not_started(&ncu, &error))?;
        ended("reading its report", &output, &report)?;
        Ok::<String, Diagnostic>(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    Ok(Pages { raw: page(&["raw"])?, source: page(&["source", "--print-source", "cuda,sass"])? })
}

fn wrong(text: String) -> Diagnostic {
    Diagnostic::error("profile", Location::None, text)
}

fn not_started(ncu: &Path, error: &std::io::Error) -> Diagnostic {
    wrong(format!("{} cannot be started: {error}", ncu.display()))
}

/// The program `ncu`.
fn ncu() -> Result<PathBuf, Diagnostic> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("ncu")).chain([PathBuf::from(NCU)]);
    found.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let text = "`--profile` needs Nsight Compute, and there is no `ncu` in the `PATH`".to_string();
        wrong(text).help("install Nsight Compute, or put the folder of `ncu` into the `PATH`")
    })
}

/// An error where ncu, or what it watched, went wrong.
fn ended(doing: &str, output: &Output, report: &Path) -> Result<(), Diagnostic> {
    if output.status.success() && report.exists() {
        return Ok(());
    }
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut wrong = wrong(format!("ncu ended with {} in {doing}", output.status));
    wrong.notes.extend(lines.iter().rev().take(8).rev().map(ToString::to_string));
    if said.contains("ERR_NVGPUCTRPERM") {
        return Err(wrong.help("the driver keeps counters for the administrator: run as root, or ask for them"));
    }
    Err(wrong)
}

/// What the call lacks.
pub(crate) fn check(args: &Args) -> Result<(), &'static str> {
    if args.device == DeviceName::Sim {
        return Err("`--profile` counts on a GPU, and wants `--device=cuda`");
    }
    if args.via == Some(Via::Mlir) {
        return Err("`--profile` knows the lines of what CUDA text becomes, and wants `--via=cuda`");
    }
    // It is read twice.
    if args.file() == "-" {
        return Err("`--profile` wants a file, not the standard input");
    }
    Ok(())
}
