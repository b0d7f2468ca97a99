//! Passes, emitters and the report.

use crate::request::{Answer, NAME, Request, refused};
use crate::shown::diagnostics;
use serde_json::{Value, json};
use tc::ir::Module;
use tc::pass::{PassRecord, Pipeline};
use tc::report::diff;
use tc::report::page::{Emitted, Page, Run};
use tc::report::recorder::Recorder;
use tc::report::recording::Recording;
use tc::support::{Diagnostics, Severity};
use tc::target::Machine;
use tc::{Compiler, Failure};

/// A pipeline that was run over a text.
struct Ran {
    module: Module,
    pipeline: Pipeline,
    recording: Recording,
    /// The texts after the passes that changed it: the number of the pass, its name, the text.
    texts: Vec<(usize, &'static str, String)>,
    records: Vec<PassRecord>,
    found: Diagnostics,
    ok: bool,
    /// The number of the pass that failed.
    failed: Option<usize>,
}

/// Runs the pipeline of a request. Values for sizes and parameters are those of all schedules: what builds a case takes its own.
fn run_passes(request: &Request) -> Result<Ran, Failure> {
    let compiler = &Compiler { defines: request.defines()?, ..request.compiler.clone() };
    let mut module = compiler.parse(NAME, request.text("text"))?.module;
    let pipeline = compiler.pipeline(request.text("pipeline"), &mut module)?;
    let mut recorder = Recorder::new(Box::new(Module::to_string));
    let mut found = recorder.parsed(&module);
    let mut texts = vec![(0, "parse", module.to_string())];
    let report = {
        let mut manager = compiler.manager();
        manager.instrument(&mut recorder);
        manager.instrument(Texts { list: &mut texts });
        manager.run(&pipeline, &mut module)
    };
    found.append(report.diagnostics);
    let (ok, failed) = (!found.has_errors(), report.failed.map(|idx| idx + 1));
    let recording = recorder.into_recording();
    Ok(Ran { module, pipeline, recording, texts, records: report.records, found, ok, failed })
}

/// Keeps the text after each pass that changed it.
struct Texts<'t> {
    list: &'t mut Vec<(usize, &'static str, String)>,
}

impl tc::pass::Instrument for Texts<'_> {
    fn after_pass(&mut self, at: &tc::pass::PassAt<'_>, module: &Module, record: &PassRecord) -> Diagnostics {
        if record.changed {
            self.list.push((at.number, at.name, module.to_string()));
        }
        Diagnostics::new()
    }

    fn pass_failed(&mut self, at: &tc::pass::PassAt<'_>, module: &Module, _: &Diagnostics) {
        self.list.push((at.number, at.name, tc::report::text_of(&(Box::new(Module::to_string) as _), module)));
    }
}

/// The program after each pass, and the text that an emitter makes of the last.
pub(crate) fn run(request: &Request) -> Answer {
    let mut ran = run_passes(request)?;
    let emitted = match request.text("emit") {
        _ if !ran.ok => Ok(None),
        "" => Ok(None),
        language => emit(&request.compiler, &ran.module, language).map(Some),
    };
    let emitted = emitted.unwrap_or_else(|failure| {
        ran.ok = false;
        ran.found.append(failure.diagnostics);
        None
    });
    let steps: Vec<Value> = steps(&ran);
    Ok(json!({
        "ok": ran.ok,
        "steps": steps,
        "pipeline": ran.pipeline.to_string(),
        "emitted": emitted.map(|(language, text, manifests)| json!({
            "language": language, "text": text, "manifests": serde_json::from_str::<Value>(&tc::manifest_json(&manifests)).unwrap_or_default(),
        })),
        "diagnostics": diagnostics(&worth_telling(&ran.found), &ran.module.sources),
    }))
}

fn worth_telling(found: &Diagnostics) -> Diagnostics {
    found.iter().filter(|one| one.severity != Severity::Remark).cloned().collect()
}

fn emit(
    compiler: &Compiler,
    module: &Module,
    language: &str,
) -> Result<(&'static str, String, Vec<tc::target::KernelManifest>), Failure> {
    match language {
        "cuda" => compiler.emit_cuda(module).map(|cuda| ("CUDA C++", cuda.source, cuda.manifests)),
        "mlir" => {
            let emitted = compiler.emit_mlir(module, &tc::mlir::EmitOptions { locations: false })?;
            Ok(("MLIR", emitted.text, emitted.manifests))
        }
        other => Err(refused(format!("there is no emitter for `{other}`"))),
    }
}

/// Each pass: its text where it changed something, and what differs from the text before.
fn steps(ran: &Ran) -> Vec<Value> {
    let mut steps = Vec::new();
    let mut before: Option<&str> = None;
    for (nth, name) in
        std::iter::once("parse").chain(ran.pipeline.passes.iter().map(|planned| planned.info.name)).enumerate()
    {
        let text = ran.texts.iter().find(|(number, ..)| *number == nth).map(|(_, _, text)| text.as_str());
        let failed = ran.failed == Some(nth);
        let ran_at_all = ran.failed.is_none_or(|last| nth <= last);
        let parts = match (before, text) {
            (Some(old), Some(new)) => parts(old, new),
            _ => Value::Null,
        };
        steps.push(json!({
            "number": nth, "name": name, "text": text, "parts": parts, "failed": failed, "ran": ran_at_all,
        }));
        before = text.or(before);
    }
    steps
}

/// Stretches of lines: `[same, old line, how many, new line, how many]`.
fn parts(old: &str, new: &str) -> Value {
    let (old, new) = (diff::lines(old), diff::lines(new));
    let part =
        |part: &diff::DiffBlock| json!([part.same, part.old.start, part.old.len(), part.new.start, part.new.len()]);
    diff::parts(&old, &new).iter().map(part).collect()
}

/// The page of `tc-opt --report`: the program after each pass, kernels, their accesses, the roof.
pub(crate) fn report(request: &Request) -> Answer {
    let ran = run_passes(request)?;
    let compiler = &request.compiler;
    let mut found = ran.found;
    let emitted = if ran.ok { emitted(compiler, &ran.module) } else { Ok(None) };
    let emitted = emitted.unwrap_or_else(|failure| {
        found.append(failure.diagnostics);
        None
    });
    let run = Run {
        name: NAME.to_string(),
        recording: ran.recording,
        records: ran.records,
        planned: ran.pipeline.passes.iter().map(|planned| (planned.info.name, planned.info.anchor)).collect(),
        diagnostics: found,
        sources: ran.module.sources,
        emitted,
    };
    let ok = !run.diagnostics.has_errors();
    let page = Page {
        command: format!("tc-opt {NAME} --pass-pipeline='{}' --emit=cuda --report", request.text("pipeline")),
        version: env!("CARGO_PKG_VERSION").to_string(),
        target: compiler.target,
        pipeline: ran.pipeline.to_string(),
        runs: vec![run],
    };
    Ok(json!({ "ok": ok, "html": page.html(), "diagnostics": [] }))
}

fn emitted(compiler: &Compiler, module: &Module) -> Result<Option<Emitted>, Failure> {
    let cuda = compiler.emit_cuda(module)?;
    let machine = Machine::of(&compiler.target);
    Ok(Some(Emitted {
        language: "CUDA C++",
        text: cuda.source,
        manifests: cuda.manifests,
        assembled: Err("there is no assembler in a browser".to_string()),
        speed: compiler.performance(module, &machine, &[]).unwrap_or_default(),
        held: tc::report::held_buffers(module),
        machine_code: tc::perf::MachineCode::default(),
    }))
}
