//! The tool itself: reads, chooses, runs, tells.

use crate::args::{Args, DeviceName, Pair};
use crate::inputs::{self, Wrong};
use crate::output::Out;
use crate::table::{self, Row};
use crate::{BUG, CALL, FINE, INPUT, json};
use std::io::Read;
use std::path::{Path, PathBuf};
use tc::ir::Module;
use tc::run::cases::{to_check, to_evaluate};
use tc::run::{Case, CheckOptions, Choice, Machine, Refused, build};
use tc::runtime::{BenchOptions, CudaDevice, Device, npy};
use tc::support::{Diagnostic, Diagnostics, Fault, Location, Sources, render, suggest};
use tc::{Compiler, Failure, LoadError};

/// Where the tool writes.
pub(crate) struct Streams<'s, 'w> {
    pub(crate) stdout: &'s mut Out<'w>,
    pub(crate) stderr: &'s mut Out<'w>,
    pub(crate) colour_stdout: bool,
    pub(crate) colour_stderr: bool,
    pub(crate) progress: bool,
}

/// Runs the tool; returns the exit status.
pub(crate) fn drive(args: &Args, stdin: &mut (dyn Read + Send), streams: Streams<'_, '_>) -> u8 {
    let mut tool = Tool { args, streams };
    tool.run(stdin).unwrap_or_else(|status| status)
}

struct Tool<'t, 's, 'w> {
    args: &'t Args,
    streams: Streams<'s, 'w>,
}

/// What is the same for all cases.
struct Job<'j> {
    compiler: &'j Compiler,
    module: &'j Module,
    options: CheckOptions,
    device: String,
}

impl Tool<'_, '_, '_> {
    fn run(&mut self, stdin: &mut (dyn Read + Send)) -> Result<u8, u8> {
        let args = self.args;
        let mut compiler = Compiler::new();
        if let Some(name) = &args.target {
            compiler.target = tc::target::Target::parse(name).map_err(|wrong| self.refuse_with(&wrong))?;
        }
        compiler.symbolic = args.symbolic;
        let text = self.read(stdin)?;
        let parsed = compiler.parse(&args.file_name(), &text).map_err(|failure| self.failure(&failure))?;
        let module = parsed.module;
        self.tell(&parsed.warnings, &module.sources);
        let cases = self.cases(&module)?;
        self.check_defines(&module, &cases)?;
        inputs::check_outputs(&module, &cases, &args.outputs).map_err(|message| self.refuse(&message))?;
        let given = match inputs::read(&module, &cases, &args.inputs) {
            Ok(given) => given,
            Err(Wrong::Name(message)) => return Err(self.refuse(&message)),
            Err(Wrong::File(wrong)) => {
                self.tell(&(*wrong).into(), &module.sources);
                return Err(INPUT);
            }
        };
        let mut gpu = self.gpu(&mut compiler)?;
        let defines = args.defines.iter().map(|Pair { name, value }| (name.clone(), *value)).collect();
        let options = CheckOptions { seed: args.seed, defines, inputs: given, limits: args.limits() };
        let device = gpu.as_ref().map_or("sim".to_string(), Device::name);
        let job = Job { compiler: &compiler, module: &module, options, device };
        let mut machine = match &mut gpu {
            Some(gpu) => Machine::Device(gpu),
            None => Machine::Simulator,
        };
        let mut rows = Vec::new();
        for (nth, case) in cases.iter().enumerate() {
            self.progress(&format!("[{}/{}] {} on {}", nth + 1, cases.len(), case.name(&module), job.device));
            if let (Some(n), Some(_), true) = (args.points, case.schedule, args.check || args.bench) {
                let started = (nth + 1, cases.len());
                rows.extend(self.points(&job, case, &mut machine, (n as usize, started)));
                continue;
            }
            rows.push(if args.check || args.bench {
                measure(&job, case, &mut machine, args)
            } else {
                evaluate(&job, case, &mut machine)
            });
        }
        self.progress("");
        let written = if args.check || args.bench { FINE } else { self.write_outputs(&rows)? };
        self.show(&rows, &job.device);
        Ok(rows.iter().map(status_of).max().unwrap_or(FINE).max(written))
    }

    /// A row for each of `n` valid points of a case; one row for a schedule without parameters.
    fn points(
        &mut self,
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

    fn read(&mut self, stdin: &mut (dyn Read + Send)) -> Result<String, u8> {
        let name = self.args.file_name();
        let loaded = if self.args.file == "-" {
            let mut bytes = Vec::new();
            let read = stdin.read_to_end(&mut bytes).map_err(LoadError::Io);
            read.and_then(|_| tc::decode(&name, bytes))
        } else {
            tc::load(Path::new(&self.args.file))
        };
        loaded.map_err(|error| match error {
            LoadError::Io(error) => self.refuse(&format!("cannot read `{name}`: {error}")),
            LoadError::Text(found, sources) => {
                self.tell(&(*found).into(), &sources);
                INPUT
            }
        })
    }

    fn cases(&mut self, module: &Module) -> Result<Vec<Case>, u8> {
        let args = self.args;
        let choice = Choice { func: args.func.as_deref(), schedule: args.schedule.as_deref() };
        let cases = if args.check || args.bench { to_check(module, choice) } else { to_evaluate(module, choice) };
        let cases = cases.map_err(|refused| match refused {
            Refused::Call(found) => self.refuse_with(&found),
            Refused::Input(found) => {
                self.tell(&(*found).into(), &module.sources);
                INPUT
            }
        })?;
        if args.device != DeviceName::Sim && cases.iter().any(Case::is_definition) {
            let text = "an operator's definition runs on `sim`; choose a schedule for a GPU with `--schedule`, or all with `--check`";
            return Err(self.refuse(text));
        }
        Ok(cases)
    }

    /// Every name that is defined must be known to a case.
    fn check_defines(&mut self, module: &Module, cases: &[Case]) -> Result<(), u8> {
        let mut names: Vec<String> = cases.iter().flat_map(|case| build::definable(module, case)).collect();
        names.sort_unstable();
        names.dedup();
        for (nth, Pair { name, .. }) in self.args.defines.iter().enumerate() {
            let shown = suggest::shorten(name);
            if self.args.defines[..nth].iter().any(|other| other.name == *name) {
                return Err(self.refuse(&format!("`-D {shown}` is given twice")));
            }
            if !names.contains(name) {
                let help = suggest::did_you_mean(name, names.iter().map(String::as_str));
                let help = help.map_or(String::new(), |help| format!("; {help}"));
                return Err(self.refuse(&format!("there is no size and no parameter `{shown}`{help}")));
            }
        }
        Ok(())
    }

    /// The GPU, if one is asked for; what is emitted is for it, unless the caller said otherwise.
    fn gpu(&mut self, compiler: &mut Compiler) -> Result<Option<CudaDevice>, u8> {
        let DeviceName::Cuda(ordinal) = self.args.device else { return Ok(None) };
        let device = CudaDevice::open(ordinal).map_err(|wrong| self.refuse_with(&wrong))?;
        if let (None, Some(target)) = (&self.args.target, device.target()) {
            compiler.target = target;
        }
        Ok(Some(device))
    }

    /// Writes the arrays that are asked for, if all went well.
    fn write_outputs(&mut self, rows: &[Row]) -> Result<u8, u8> {
        let [Row { ok: true, evaluated: Some(evaluated), .. }] = rows else { return Ok(FINE) };
        for Pair { name, value: path } in &self.args.outputs {
            let Some(argument) =
                evaluated.arguments.iter().find(|argument| argument.is_output && argument.name == *name)
            else {
                return Err(self.refuse(&format!("`{}` is no result", suggest::shorten(name))));
            };
            npy::write(path, &argument.array).map_err(|wrong| self.refuse_with(&wrong))?;
        }
        Ok(FINE)
    }

    fn show(&mut self, rows: &[Row], device: &str) {
        let args = self.args;
        if args.json {
            let document = json::document(rows, device);
            self.streams.stdout.write(&format!("{document:#}\n"));
            return;
        }
        if args.check || args.bench {
            self.streams.stdout.write(&table::render(rows, device, args.check, args.bench));
        } else {
            let file = |name: &str| {
                let shown = |pair: &Pair<PathBuf>| pair.value.display().to_string();
                args.outputs.iter().find(|pair| pair.name == name).map(shown)
            };
            let texts: Vec<String> = rows.iter().map(|row| table::evaluated(row, device, &file)).collect();
            self.streams.stdout.write(&texts.join("\n"));
        }
        for row in rows.iter().filter(|row| !row.diagnostics.is_empty()) {
            let found = render::text(&row.diagnostics, &row.sources, self.streams.colour_stdout);
            self.streams.stdout.write(&format!("\n{}:\n{found}", row.case));
        }
    }

    /// Shows what goes on in a line that the next one replaces.
    fn progress(&mut self, text: &str) {
        if self.streams.progress {
            self.streams.stderr.write(&format!("\r\x1b[2K{text}"));
        }
    }

    /// Tells what is wrong with the call; returns the status for it.
    fn refuse(&mut self, message: &str) -> u8 {
        self.refuse_with(&Diagnostic::error("call", Location::None, message))
    }

    fn refuse_with(&mut self, wrong: &Diagnostic) -> u8 {
        self.tell(&wrong.clone().into(), &Sources::new());
        CALL
    }

    fn failure(&mut self, failure: &Failure) -> u8 {
        self.tell(&failure.diagnostics, &failure.sources);
        if failure.is_bug() { BUG } else { INPUT }
    }

    fn tell(&mut self, found: &Diagnostics, sources: &Sources) {
        let text = if self.args.json {
            found.iter().map(|one| render::json(one, sources).to_string() + "\n").collect()
        } else {
            render::text(found, sources, self.streams.colour_stderr)
        };
        self.streams.stderr.write(&text);
    }
}

/// A row without results.
fn row(job: &Job<'_>, case: &Case) -> Row {
    let symbol = |idx: usize| job.module.items[idx].symbol().to_string();
    Row {
        case: case.name(job.module),
        func: symbol(case.func),
        schedule: case.schedule.map(symbol),
        point: Vec::new(),
        ok: false,
        checked: None,
        timing: None,
        kernels: Vec::new(),
        evaluated: None,
        diagnostics: Diagnostics::new(),
        sources: Sources::new(),
    }
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
        let how = BenchOptions::default();
        match tc::run::bench(job.compiler, job.module, case, machine, (&job.options, &how)) {
            Ok(measured) => {
                row.point = measured.point;
                row.timing = Some(measured.timing);
                row.kernels = measured.kernels;
            }
            Err(failure) => row.fail(failure),
        }
    }
    row
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
