//! The tool itself: reads, chooses, runs, tells.

use crate::against::{self, Peer};
use crate::args::{Args, DeviceName, Pair, Via};
use crate::inputs::{self, Wrong};
use crate::profile;
use crate::table::{self, Row};
use crate::{BUG, CALL, FINE, INPUT, json};
use std::path::PathBuf;
use tc::ir::Module;
use tc::run::cases::{to_check, to_evaluate};
use tc::run::{Case, CheckOptions, Choice, Define, Machine, Refused, build};
use tc::runtime::{BenchOptions, Clocks, CudaDevice, Device, L2, npy};
use tc::support::{Diagnostic, Diagnostics, Fault, Location, Sources, render, suggest};
use tc::{Compiler, Failure};
use tc_cli::Session;

/// Runs the tool; returns the exit status.
pub(crate) fn drive(args: &Args, session: &Session<'_>) -> u8 {
    Tool { args, session }.run().unwrap_or_else(|status| status)
}

pub(crate) struct Tool<'t, 'i> {
    pub(crate) args: &'t Args,
    pub(crate) session: &'t Session<'i>,
}

/// What is the same for all cases.
#[derive(Clone)]
pub(crate) struct Job<'j> {
    pub(crate) compiler: &'j Compiler,
    pub(crate) module: &'j Module,
    pub(crate) options: CheckOptions,
    device: String,
}

impl Tool<'_, '_> {
    fn run(&self) -> Result<u8, u8> {
        let args = self.args;
        let mut compiler = Compiler::new();
        if let Some(name) = &args.target {
            compiler.target = tc::target::Target::parse(name).map_err(|wrong| self.session.refuse_with(&wrong))?;
        }
        compiler.symbolic = args.symbolic;
        compiler.allow_tf32 = args.allow_tf32;
        compiler.via = self.via()?;
        if (args.rotate || args.flush) && args.device == DeviceName::Sim {
            let text = "`--rotate` and `--flush` are about the cache of a GPU, and want `--device=cuda`";
            return Err(self.session.refuse(text));
        }
        if args.profile || args.profiled {
            profile::check(args).map_err(|message| self.session.refuse(message))?;
        }
        inputs::check_files(args).map_err(|message| self.session.refuse(&message))?;
        let defines: Vec<Define> = args.defines.iter().map(|Pair { name, value }| (name.clone(), *value)).collect();
        let text = self.session.load(args.file())?;
        let parsed = compiler.load(&args.file_name(), &text).map_err(|failure| self.failure(&failure))?;
        let mut module = parsed.module;
        self.session.tell(&parsed.warnings, &module.sources);
        let wants_auto = args.schedule.as_deref() == Some(tc::schedule::auto::NAME);
        if args.allow_tf32 && !wants_auto {
            return Err(self.session.refuse("--allow-tf32 is about what rules make: it goes with --schedule @auto"));
        }
        // What rules make depends on the GPU.
        let mut gpu = if wants_auto { self.gpu(&mut compiler)? } else { None };
        if wants_auto {
            let func = args.func.as_deref().unwrap_or("");
            compiler.auto_schedule(&mut module, func, &defines).map_err(|failure| self.failure(&failure))?;
        }
        let cases = self.cases(&module)?;
        self.check_defines(&module, &cases)?;
        inputs::check_outputs(&module, &cases, &args.outputs).map_err(|message| self.session.refuse(&message))?;
        let given = match inputs::read(&module, &cases, &args.inputs) {
            Ok(given) => given,
            Err(Wrong::Name(message)) => return Err(self.session.refuse(&message)),
            Err(Wrong::File(wrong)) => {
                self.session.tell(&(*wrong).into(), &module.sources);
                return Err(INPUT);
            }
        };
        let peer =
            args.peer.as_deref().map(against::read).transpose().map_err(|message| self.session.refuse(&message))?;
        let peer = peer.unwrap_or_default();
        if !wants_auto {
            gpu = self.gpu(&mut compiler)?;
        }
        compiler.line_directives = args.profiled;
        let options =
            CheckOptions { seed: args.seed, defines, inputs: given, limits: args.limits(), n_cases: cases.len() };
        let device = gpu.as_ref().map_or("sim".to_string(), Device::name);
        let job = Job { compiler: &compiler, module: &module, options, device };
        if args.profile {
            return profile::profile(self, &job, &cases);
        }
        if let Some(gpu) = gpu.as_mut().filter(|_| args.profiled) {
            return profile::launch(&job, &cases, gpu).map_err(|found| self.refused(&found, &module));
        }
        let mut machine = match &mut gpu {
            Some(gpu) => Machine::Device(gpu),
            None => Machine::Simulator,
        };
        let mut rows = Vec::new();
        for size in self.sizes() {
            let mut job = job.clone();
            job.options.defines.extend(size.iter().cloned());
            let from = rows.len();
            self.cases_of(&job, &cases, &mut machine, &mut rows);
            let shown = table::values(&size);
            for row in rows[from..].iter_mut().filter(|_| !shown.is_empty()) {
                row.case = format!("{} {shown}", row.case);
                row.sizes.clone_from(&shown);
            }
        }
        self.progress("");
        let written = if args.check || args.bench { FINE } else { self.write_outputs(&rows)? };
        self.show(&rows, &job.device, &peer);
        self.session.tell(&against::strays(&rows, &peer).into_iter().collect(), &Sources::new());
        Ok(rows.iter().map(status_of).max().unwrap_or(FINE).max(written))
    }

    /// The sets of sizes that the call goes through; one without any where it names none.
    fn sizes(&self) -> Vec<Vec<Define>> {
        self.args.sizes.iter().fold(vec![Vec::new()], |sets, Pair { name, value }| {
            let with = |set: &Vec<Define>, &size: &i64| set.iter().cloned().chain([(name.clone(), size)]).collect();
            sets.iter().flat_map(|set| value.0.iter().map(|size| with(set, size)).collect::<Vec<_>>()).collect()
        })
    }

    /// A row, or several, for each case.
    fn cases_of(&self, job: &Job<'_>, cases: &[Case], machine: &mut Machine<'_>, rows: &mut Vec<Row>) {
        let args = self.args;
        for (nth, case) in cases.iter().enumerate() {
            self.progress(&format!("[{}/{}] {} on {}", nth + 1, cases.len(), case.name(job.module), job.device));
            if let (Some(n), Some(_), true) = (args.points, case.schedule, args.check || args.bench) {
                let started = (nth + 1, cases.len());
                rows.extend(self.points(job, case, machine, (n as usize, started)));
                continue;
            }
            rows.push(if args.check || args.bench {
                measure(job, case, machine, args)
            } else {
                evaluate(job, case, machine)
            });
        }
    }

    /// A row for each of `n` valid points of a case; one row for a schedule without parameters.
    fn points(
        &self,
        job: &Job<'_>,
        case: &Case,
        machine: &mut Machine<'_>,
        (n, (nth, of)): (usize, (usize, usize)),
    ) -> Vec<Row> {
        let args = self.args;
        let points = match tc::run::points(job.compiler, job.module, case, &job.options, n) {
            Ok(points) if points.is_empty() => return vec![measure(job, case, machine, args)],
            Ok(points) => points,
            Err(failure) => {
                let mut row = row(job, case);
                row.fail(failure);
                return vec![row];
            }
        };
        let mut rows = Vec::new();
        for (at, point) in points.iter().enumerate() {
            let name = format!("{} {}", case.name(job.module), table::values(point));
            self.progress(&format!("[{nth}/{of}] {}/{} {name} on {}", at + 1, points.len(), job.device));
            let mut defines = job.options.defines.clone();
            defines.retain(|(name, _)| point.iter().all(|(other, _)| other != name));
            defines.extend(point.iter().cloned());
            let options = CheckOptions { defines, ..job.options.clone() };
            let job = Job { compiler: job.compiler, module: job.module, options, device: job.device.clone() };
            let mut row = measure(&job, case, machine, args);
            row.point.clone_from(point);
            row.case = name;
            rows.push(row);
        }
        rows
    }

    fn cases(&self, module: &Module) -> Result<Vec<Case>, u8> {
        let args = self.args;
        let choice = Choice { func: args.func.as_deref(), schedule: args.schedule.as_deref() };
        let cases = if args.check || args.bench || args.profile {
            to_check(module, choice)
        } else {
            to_evaluate(module, choice)
        };
        let cases = cases.map_err(|refused| match refused {
            Refused::Call(found) => self.session.refuse_with(&found),
            Refused::Input(found) => {
                self.session.tell(&(*found).into(), &module.sources);
                INPUT
            }
        })?;
        if args.device != DeviceName::Sim && cases.iter().any(Case::is_definition) {
            let text = "an operator's definition runs on `sim`; choose a schedule for a GPU with `--schedule`, or all with `--check`";
            return Err(self.session.refuse(text));
        }
        Ok(cases)
    }

    /// Every name that is defined must be known to a case.
    fn check_defines(&self, module: &Module, cases: &[Case]) -> Result<(), u8> {
        let mut names: Vec<String> = cases.iter().flat_map(|case| build::definable(module, case)).collect();
        names.sort_unstable();
        names.dedup();
        let defined = self.args.defines.iter().map(|pair| &pair.name);
        let given: Vec<&String> = defined.chain(self.args.sizes.iter().map(|pair| &pair.name)).collect();
        for (nth, name) in given.iter().enumerate() {
            let shown = suggest::shorten(name);
            if given[..nth].contains(name) {
                return Err(self.session.refuse(&format!("`-D {shown}` is given twice")));
            }
            if !names.contains(*name) {
                let help = suggest::did_you_mean(name, names.iter().map(String::as_str));
                let help = help.map_or(String::new(), |help| format!("; {help}"));
                return Err(self.session.refuse(&format!("there is no size and no parameter `{shown}`{help}")));
            }
        }
        Ok(())
    }

    /// The way to a GPU.
    fn via(&self) -> Result<tc::Via, u8> {
        let Some(via) = self.args.via else { return Ok(tc::Via::default()) };
        if self.args.device == DeviceName::Sim {
            return Err(self.session.refuse("`--via` tells the way to a GPU, and wants `--device=cuda`"));
        }
        match via {
            Via::Cuda => Ok(tc::Via::Cuda),
            Via::Mlir if tc::mlir::lower::AVAILABLE => Ok(tc::Via::Mlir),
            Via::Mlir => Err(self.session.refuse_with(&tc::mlir::lower::not_built())),
        }
    }

    /// The GPU, if one is asked for; what is emitted is for it, unless the caller said otherwise.
    fn gpu(&self, compiler: &mut Compiler) -> Result<Option<CudaDevice>, u8> {
        let DeviceName::Cuda(ordinal) = self.args.device else { return Ok(None) };
        // Another process has the GPU.
        if self.args.profile && self.args.target.is_some() {
            return Ok(None);
        }
        let device = CudaDevice::open(ordinal).map_err(|wrong| self.session.refuse_with(&wrong))?;
        if let (None, Some(target)) = (&self.args.target, device.target()) {
            compiler.target = target;
        }
        Ok(Some(device))
    }

    /// Writes the arrays that are asked for, if all went well.
    fn write_outputs(&self, rows: &[Row]) -> Result<u8, u8> {
        let [Row { ok: true, evaluated: Some(evaluated), .. }] = rows else { return Ok(FINE) };
        for Pair { name, value: path } in &self.args.outputs {
            let Some(argument) =
                evaluated.arguments.iter().find(|argument| argument.is_output && argument.name == *name)
            else {
                return Err(self.session.refuse(&format!("`{}` is no result", suggest::shorten(name))));
            };
            npy::write(path, &argument.array).map_err(|wrong| self.session.refuse_with(&wrong))?;
        }
        Ok(FINE)
    }

    fn show(&self, rows: &[Row], device: &str, peer: &Peer) {
        let args = self.args;
        if args.json {
            let document = json::document(rows, device, peer);
            self.session.print(&format!("{document:#}\n"));
            return;
        }
        if args.check || args.bench {
            self.session.print(&table::render(rows, device, args.check, args.bench, peer));
        } else {
            let file = |name: &str| {
                let shown = |pair: &Pair<PathBuf>| pair.value.display().to_string();
                args.outputs.iter().find(|pair| pair.name == name).map(shown)
            };
            let texts: Vec<String> = rows.iter().map(|row| table::evaluated(row, device, &file)).collect();
            self.session.print(&texts.join("\n"));
        }
        for row in rows.iter().filter(|row| !row.diagnostics.is_empty()) {
            let found = render::text(&row.diagnostics, &row.sources, self.session.colour_out);
            self.session.print(&format!("\n{}:\n{found}", row.case));
        }
    }

    fn refused(&self, found: &Diagnostics, module: &Module) -> u8 {
        self.session.tell(found, &module.sources);
        INPUT
    }

    /// Shows what goes on in a line that the next one replaces.
    pub(crate) fn progress(&self, text: &str) {
        if self.session.progress {
            self.session.note(&format!("\r\x1b[2K{text}"));
        }
    }

    pub(crate) fn failure(&self, failure: &Failure) -> u8 {
        self.session.tell(&failure.diagnostics, &failure.sources);
        if failure.is_bug() { BUG } else { INPUT }
    }
}

/// A row without results.
fn row(job: &Job<'_>, case: &Case) -> Row {
    let symbol = |idx: usize| job.module.items[idx].symbol().to_string();
    Row { case: case.name(job.module), func: symbol(case.func), schedule: case.schedule.map(symbol), ..Row::default() }
}

impl Row {
    fn fail(&mut self, failure: Failure) {
        self.ok = false;
        self.diagnostics = failure.diagnostics;
        self.sources = failure.sources;
    }
}

/// Checks `case`, and measures it if it is right.
fn measure(job: &Job<'_>, case: &Case, machine: &mut Machine<'_>, args: &Args) -> Row {
    let mut row = row(job, case);
    row.ok = true;
    if args.check {
        match tc::check(job.compiler, job.module, case, machine, &job.options) {
            Ok(checked) => {
                row.ok = checked.ok;
                row.point = checked.point.clone();
                row.diagnostics = checked.diagnostics.clone();
                row.sources = checked.sources.clone();
                row.checked = Some(checked);
            }
            Err(failure) => row.fail(failure),
        }
    }
    if args.bench && row.ok {
        let how = BenchOptions { l2: l2(args), ..BenchOptions::default() };
        match tc::run::bench(job.compiler, job.module, case, machine, (&job.options, &how)) {
            Ok(measured) => {
                row.point = measured.point;
                row.timing = Some(measured.timing);
                row.clocks = measured.clocks;
                row.diagnostics.append(invalid_clock(measured.clocks));
                row.bound_us = bound(&job.device, &measured.speed);
                row.kernels = measured.kernels;
            }
            Err(failure) => row.fail(failure),
        }
    }
    row
}

/// The microseconds that all kernels take at least on a GPU that is known, called as its driver calls it.
fn bound(device: &str, speed: &[tc::perf::KernelReport]) -> Option<f64> {
    tc::target::Machine::named(device)?;
    (!speed.is_empty()).then(|| speed.iter().map(|kernel| kernel.time.bound_us).sum())
}

/// What the second-level cache holds when a launch that is timed begins.
fn l2(args: &Args) -> L2 {
    match (args.flush, args.rotate) {
        (true, _) => L2::Flushed,
        (false, true) => L2::Rotated,
        (false, false) => L2::Kept,
    }
}

/// A time under a clock that says nothing of the program is told.
fn invalid_clock(clocks: Option<Clocks>) -> Diagnostics {
    let Some(clocks) = clocks.filter(|clocks| !clocks.class.is_valid()) else { return Diagnostics::new() };
    let text = format!("the GPU's clock was invalid in three tries, and the time with it: {}", clocks.class.name());
    Diagnostic::warning("invalid-clock", Location::None, text).into()
}

fn evaluate(job: &Job<'_>, case: &Case, machine: &mut Machine<'_>) -> Row {
    let mut row = row(job, case);
    match tc::run::evaluate(job.compiler, job.module, case, machine, &job.options) {
        Ok(evaluated) => {
            row.ok = evaluated.ok;
            row.point = evaluated.point.clone();
            row.diagnostics = evaluated.diagnostics.clone();
            row.sources = evaluated.sources.clone();
            row.evaluated = Some(evaluated);
        }
        Err(failure) => row.fail(failure),
    }
    row
}

/// The exit status that a row comes to.
fn status_of(row: &Row) -> u8 {
    let status = |found: &Diagnostic| match (found.fault, found.code) {
        _ if !found.is_error() => FINE,
        // What we emitted does not compile.
        (Fault::Bug, _) | (_, "nvrtc") => BUG,
        (_, "no-nvrtc") => CALL,
        _ => INPUT,
    };
    let worst = row.diagnostics.iter().map(status).max().unwrap_or(FINE);
    if row.ok { worst } else { worst.max(INPUT) }
}
