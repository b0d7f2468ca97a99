//! A text that was read: its items, passes over it, checks, and kernels made of it.

use crate::arrays::{Named, given, shown};
use crate::core::Core;
use crate::error::{alone, failure, raised, refused};
use crate::kernel::Kernel;
use crate::options::{self, check_inputs, check_names, compiler, values};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use tc::pass::{Instrument, PassAt, PassRecord, Pipeline};
use tc::perf::MachineCode;
use tc::report::page::{Emitted, Page, Run};
use tc::report::recorder::Recorder;
use tc::run::cases::{is_operator, is_program, to_check, to_evaluate};
use tc::run::{Argument, Case, CheckOptions, Choice, Define, Machine, Verdict};
use tc::support::{Diagnostic, Diagnostics, Location, render};
use tc::target::Target;
use tc::{Compiler, Failure, Via, dialects, ir, report, sim};

/// Operators, schedules and programs of one text. It never changes: passes give a new one.
#[pyclass(frozen, module = "tirc._native")]
pub(crate) struct Module {
    module: ir::Module,
    name: String,
    warnings: String,
}

/// Reads a text; `name` is what messages call it, and one that ends in `.py` or `.mlir` says that it is TVMScript or MLIR.
#[pyfunction]
#[pyo3(signature = (text, name = "<string>"))]
pub(crate) fn parse(py: Python<'_>, text: &str, name: &str) -> PyResult<Module> {
    let parsed = py.detach(|| Compiler::new().parse_file(name, text)).map_err(|failed| raised(py, &failed))?;
    let warnings = render::text(&parsed.warnings, &parsed.module.sources, false);
    Ok(Module { module: parsed.module, name: name.to_string(), warnings })
}

/// The names of all targets.
#[pyfunction]
pub(crate) fn targets() -> Vec<&'static str> {
    Target::all().iter().map(|target| target.name).collect()
}

/// The target of the first GPU, or that which tc compiles for where there is none.
#[pyfunction]
pub(crate) fn default_target() -> &'static str {
    options::default().name
}

/// Adds a folder that may hold NVIDIA's run-time compiler, to be looked into last.
#[pyfunction]
pub(crate) fn add_toolkit_folder(folder: PathBuf) {
    tc::runtime::toolkit::add_folder(folder);
}

/// What is checked or made: an operator or program, and a schedule, by name.
type Chosen = (Option<String>, Option<String>);

#[pymethods]
impl Module {
    /// The name that messages call the text.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// What was found when the text was read, as text; empty where nothing was.
    #[getter]
    fn warnings(&self) -> &str {
        &self.warnings
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        Compiler::new().print(&self.module).map_err(|failed| raised(py, &failed))
    }

    /// The items as JSON: kind, name, what a schedule is for, parameters with types, sizes with defaults.
    fn items_json(&self) -> String {
        Value::from(self.module.items.iter().map(|item| describe(&self.module, item)).collect::<Vec<_>>()).to_string()
    }

    /// What a pass pipeline makes of it.
    #[pyo3(signature = (pipeline, target = None, defines = None))]
    fn run(
        &self,
        py: Python<'_>,
        pipeline: &str,
        target: Option<&str>,
        defines: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Module> {
        let compiler = compiler(py, target, defines)?;
        let mut module = self.module.clone();
        let done = py.detach(|| compiler.run(&mut module, pipeline)).map_err(|failed| raised(py, &failed))?;
        let warnings = render::text(&done.diagnostics, &module.sources, false);
        Ok(Module { module, name: self.name.clone(), warnings })
    }

    /// The text after each pass of a pipeline: names and texts.
    #[pyo3(signature = (pipeline, target = None, defines = None))]
    fn trace(
        &self,
        py: Python<'_>,
        pipeline: &str,
        target: Option<&str>,
        defines: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<(String, String)>> {
        let compiler = compiler(py, target, defines)?;
        let run = || {
            let mut texts = Texts::default();
            let mut module = self.module.clone();
            let steps = compiler.pipeline(pipeline, &mut module)?;
            watched(&compiler, &mut module, &steps, &mut texts)?;
            Ok(texts.0)
        };
        py.detach(|| tc::on_big_stack(run).and_then(|done| done)).map_err(|failed| raised(py, &failed))
    }

    /// A page of HTML that shows a run of the pipeline `cuda` and what came of it, as `tc-opt --report` does.
    #[pyo3(signature = (pipeline, target = None, defines = None))]
    fn page(
        &self,
        py: Python<'_>,
        pipeline: &str,
        target: Option<&str>,
        defines: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let compiler = compiler(py, target, defines)?;
        let run = || self.page_of(&compiler, pipeline);
        py.detach(|| tc::on_big_stack(run).and_then(|done| done)).map_err(|failed| raised(py, &failed))
    }

    /// What is emitted for a module that went through the pipeline `cuda`: `cuda`, `mlir` or `ptx`, and the manifests as JSON.
    #[pyo3(signature = (form, target = None))]
    fn emit(&self, py: Python<'_>, form: &str, target: Option<&str>) -> PyResult<(String, String)> {
        let compiler = compiler(py, target, None)?;
        let emitted = py.detach(|| match form {
            "cuda" => compiler.emit_cuda(&self.module).map(|made| (made.source, made.manifests)),
            "mlir" => compiler.emit_mlir(&self.module, &Default::default()).map(|made| (made.text, made.manifests)),
            "ptx" => compiler.emit_ptx(&self.module, Via::Cuda).map(|made| (made.text, made.manifests)),
            other => {
                let text = format!("there is no form `{other}`; there are `cuda`, `mlir` and `ptx`");
                let wrong = Diagnostic::error("bad-argument", Location::None, text);
                Err(failure(wrong, &self.module.sources))
            }
        });
        let (text, manifests) = emitted.map_err(|failed| raised(py, &failed))?;
        Ok((text, tc::manifest_json(&manifests)))
    }

    /// Checks cases against their operator's definition on the simulator; a JSON array with an object for each.
    #[pyo3(signature = (chosen, defines = None, inputs = Vec::new(), seed = 0, target = None))]
    fn check(
        &self,
        py: Python<'_>,
        chosen: Chosen,
        defines: Option<&Bound<'_, PyDict>>,
        inputs: Vec<Named<'_>>,
        seed: u64,
        target: Option<&str>,
    ) -> PyResult<String> {
        let compiler = compiler(py, target, None)?;
        let options = self.options(py, defines, inputs, seed)?;
        let checked = py.detach(|| self.check_all(&compiler, &chosen, &options));
        Ok(Value::from(checked.map_err(|failed| raised(py, &failed))?).to_string())
    }

    /// Runs one case on the simulator, and gives its results; what is wrong with it is raised.
    #[pyo3(signature = (chosen, defines = None, inputs = Vec::new(), seed = 0, target = None))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        chosen: Chosen,
        defines: Option<&Bound<'_, PyDict>>,
        inputs: Vec<Named<'_>>,
        seed: u64,
        target: Option<&str>,
    ) -> PyResult<Vec<Named<'py>>> {
        let compiler = compiler(py, target, None)?;
        let options = self.options(py, defines, inputs, seed)?;
        let evaluated = py
            .detach(|| {
                let case = self.one(to_evaluate(&self.module, choice(&chosen)))?;
                let done = tc::run::evaluate(&compiler, &self.module, &case, &mut Machine::Simulator, &options)?;
                let is_missing =
                    |argument: &&Argument| argument.is_input && !argument.given && !options.inputs.is_empty();
                if let Some(missing) = done.arguments.iter().find(is_missing) {
                    let text = format!("no array is given for `{}`", missing.name);
                    let wrong = Diagnostic::error("bad-argument", Location::None, text);
                    return Err(failure(wrong.help("give all inputs, or none: they are drawn then"), &done.sources));
                }
                if done.ok { Ok(done) } else { Err(Failure { diagnostics: done.diagnostics, sources: done.sources }) }
            })
            .map_err(|failed| raised(py, &failed))?;
        let results = evaluated.arguments.iter().filter(|argument| argument.is_output);
        Ok(results.map(|argument| shown(py, &argument.name, &argument.array)).collect())
    }

    /// Makes a kernel of one case. Sizes without a value and with a default stay open where `symbolic`.
    #[pyo3(signature = (chosen, defines = None, target = None, symbolic = false, tf32 = false, keep_lines = false))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn compile(
        &self,
        py: Python<'_>,
        chosen: Chosen,
        defines: Option<&Bound<'_, PyDict>>,
        target: Option<&str>,
        symbolic: bool,
        tf32: bool,
        keep_lines: bool,
    ) -> PyResult<Kernel> {
        let compiler = Compiler { symbolic, allow_tf32: tf32, ..compiler(py, target, None)? };
        let defines = self.defines(py, defines)?;
        py.detach(|| self.kernel(&compiler, &chosen, &defines, keep_lines)).map_err(|failed| raised(py, &failed))
    }
}

impl Module {
    fn defines(&self, py: Python<'_>, defines: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Define>> {
        let defines = defines.map_or(Ok(Vec::new()), |defines| values(py, defines))?;
        check_names(&self.module, &defines).map_err(|wrong| alone(py, wrong))?;
        Ok(defines)
    }

    fn options(
        &self,
        py: Python<'_>,
        defines: Option<&Bound<'_, PyDict>>,
        inputs: Vec<Named<'_>>,
        seed: u64,
    ) -> PyResult<CheckOptions> {
        let (defines, inputs) = (self.defines(py, defines)?, given(py, inputs)?);
        check_inputs(&self.module, inputs.iter().map(|(name, _)| name)).map_err(|wrong| alone(py, wrong))?;
        Ok(CheckOptions { seed, defines, inputs, ..CheckOptions::default() })
    }

    /// The only case among `cases`.
    fn one(&self, cases: Result<Vec<Case>, tc::run::Refused>) -> Result<Case, Failure> {
        let sources = &self.module.sources;
        let cases = cases.map_err(|why| refused(why, sources))?;
        if let [case] = cases[..] {
            return Ok(case);
        }
        let names: Vec<String> = cases.iter().map(|case| format!("`{}`", case.name(&self.module))).collect();
        let text = format!("there are {} cases, and one is wanted: {}", cases.len(), names.join(", "));
        let wrong = Diagnostic::error("choice", Location::None, text);
        Err(failure(wrong.help("name the operator or program, and the schedule"), sources))
    }

    fn check_all(&self, compiler: &Compiler, chosen: &Chosen, options: &CheckOptions) -> Result<Vec<Value>, Failure> {
        let module = &self.with_rules(compiler, chosen, &options.defines)?;
        let cases = to_check(module, choice(chosen)).map_err(|why| refused(why, &module.sources))?;
        let options = CheckOptions { n_cases: cases.len(), ..options.clone() };
        let check = |case: &Case| {
            let checked = tc::run::check(compiler, module, case, &mut Machine::Simulator, &options)?;
            Ok(json!({
                "name": case.name(module),
                "ok": checked.ok,
                "cells": checked.cells,
                "sampled": checked.sampled,
                "max_abs_err": checked.max_abs_err,
                "max_rel_err": checked.max_rel_err,
                "exact": checked.field.map(exactness),
                "races": checked.races.map(verdict),
                "bounds": checked.bounds.map(verdict),
                "point": checked.point.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "seconds": checked.time.as_secs_f64(),
                "text": render::text(&checked.diagnostics, &checked.sources, false),
                "diagnostics": diagnostics(&checked.diagnostics, &checked.sources),
            }))
        };
        cases.iter().map(check).collect()
    }

    fn kernel(
        &self,
        compiler: &Compiler,
        chosen: &Chosen,
        defines: &[Define],
        keep_lines: bool,
    ) -> Result<Kernel, Failure> {
        let module = self.with_rules(compiler, chosen, defines)?.into_owned();
        let whole = Module { module, name: self.name.clone(), warnings: String::new() };
        let case = whole.one(to_check(&whole.module, choice(chosen)))?;
        let built = compiler.build(&whole.module, &case, defines, true)?;
        let program = compiler.program(&built)?;
        let signature = built.signature(&whole.module, &case, &program.manifest);
        let core = Core::new((program, signature), (case.name(&whole.module), built.point), keep_lines);
        let core = core.map_err(|wrong| failure(wrong, &whole.module.sources))?;
        Ok(Kernel { core: Arc::new(core) })
    }

    /// The module with a schedule made by rules, where `@auto` is asked for, or an operator that has none.
    fn with_rules(
        &self,
        compiler: &Compiler,
        (operator, schedule): &Chosen,
        defines: &[Define],
    ) -> Result<Cow<'_, ir::Module>, Failure> {
        let items = &self.module.items;
        let has_none = || items.iter().all(|item| item.header.opcode != dialects::sched::SCHEDULE && !is_program(item));
        let is_wanted = match schedule.as_deref() {
            Some(name) => name == tc::schedule::auto::NAME,
            None => has_none() && items.iter().any(is_operator),
        };
        if !is_wanted {
            return Ok(Cow::Borrowed(&self.module));
        }
        let mut module = self.module.clone();
        compiler.auto_schedule(&mut module, operator.as_deref().unwrap_or_default(), defines)?;
        Ok(Cow::Owned(module))
    }

    fn page_of(&self, compiler: &Compiler, pipeline: &str) -> Result<String, Failure> {
        let mut module = self.module.clone();
        let mut recorder = Recorder::new(Box::new(ir::Module::to_string));
        recorder.parsed(&module);
        let steps = compiler.pipeline(pipeline, &mut module)?;
        let run = watched(compiler, &mut module, &steps, &mut recorder)?;
        let planned = steps.passes.iter().map(|planned| (planned.info.name, planned.info.anchor)).collect();
        let machine_code = compiler.machine_code(&module, Via::Cuda);
        let machine_code = machine_code.unwrap_or_else(|failed| MachineCode::not_made(failed.text()));
        let emitted = compiler.emit_cuda(&module).ok().map(|cuda| Emitted {
            language: "CUDA C++",
            text: cuda.source,
            manifests: cuda.manifests,
            assembled: machine_code.resources.clone().unwrap_or_else(|| Ok(Vec::new())),
            machine_code,
            speed: compiler.performance(&module, &tc::target::Machine::of(&compiler.target), &[]).unwrap_or_default(),
            held: report::held_buffers(&module),
        });
        let run = Run {
            name: self.name.clone(),
            recording: recorder.into_recording(),
            records: run.records,
            planned,
            diagnostics: run.diagnostics,
            sources: module.sources.clone(),
            emitted,
        };
        let page = Page {
            command: format!("tirc: {} --pass-pipeline='{pipeline}'", self.name),
            version: env!("CARGO_PKG_VERSION").to_string(),
            target: compiler.target,
            pipeline: steps.to_string(),
            runs: vec![run],
        };
        Ok(page.html())
    }
}

/// The text after each pass.
#[derive(Default)]
struct Texts(Vec<(String, String)>);

impl Instrument for &mut Texts {
    fn after_pass(&mut self, at: &PassAt<'_>, module: &ir::Module, _: &PassRecord) -> Diagnostics {
        self.0.push((at.name.to_string(), module.to_string()));
        Diagnostics::new()
    }
}

/// Runs `steps` while `instrument` looks on.
fn watched<'m>(
    compiler: &'m Compiler,
    module: &mut ir::Module,
    steps: &Pipeline,
    instrument: impl Instrument + 'm,
) -> Result<tc::pass::Report, Failure> {
    let mut manager = compiler.manager();
    manager.instrument(instrument);
    let report = manager.run(steps, module);
    if report.is_ok() {
        return Ok(report);
    }
    Err(Failure { diagnostics: report.diagnostics, sources: module.sources.clone() })
}

fn choice(chosen: &Chosen) -> Choice<'_> {
    Choice { func: chosen.0.as_deref(), schedule: chosen.1.as_deref() }
}

fn verdict(verdict: Verdict) -> Value {
    match verdict {
        Verdict::Clean => json!("clean"),
        Verdict::SameValue(n) => json!(format!("{n} of same values")),
        Verdict::Found(n) => json!(format!("{n} found")),
    }
}

fn exactness(verdict: sim::FieldVerdict) -> Value {
    match verdict {
        sim::FieldVerdict::NotRun => Value::Null,
        sim::FieldVerdict::Equal => json!("equal"),
        sim::FieldVerdict::Undecided => json!("undecided"),
        sim::FieldVerdict::Different => json!("differs"),
    }
}

fn diagnostics(found: &Diagnostics, sources: &tc::support::Sources) -> Value {
    found.iter().map(|one| render::json(one, sources)).collect()
}

/// An item as JSON.
fn describe(module: &ir::Module, item: &ir::Func) -> Value {
    let kind = match item.header.opcode {
        opcode if opcode == dialects::sched::SCHEDULE => "schedule",
        opcode if opcode == dialects::te::INTRIN => "intrinsic",
        opcode if opcode == dialects::te::COMBINER => "combiner",
        _ if is_operator(item) => "operator",
        _ if is_program(item) => "program",
        _ => "kernel",
    };
    let sizes = item.header.symbols.iter().map(|symbol| {
        json!({ "name": item.text(symbol.name), "default": symbol.default.map(|default| item.show_attr(default)) })
    });
    let params = item
        .params()
        .iter()
        .map(|&param| json!({ "name": item.value_text(param), "type": item.show_type(item.value_type(param)) }));
    let line = match item.location(item.header.loc) {
        Location::Span(span) => module.sources.line_col(span.start).map(|(_, at)| at.line),
        Location::Point { at, .. } => Some(at.line),
        Location::None => None,
    };
    json!({
        "kind": kind,
        "name": item.symbol(),
        "for": item.header.targets,
        "sizes": sizes.collect::<Vec<_>>(),
        "params": params.collect::<Vec<_>>(),
        "line": line,
    })
}
