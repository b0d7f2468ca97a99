//! Failing runs made small: a run as data, run again, cut down to the pass that fails, and made small.
//!
//! A [`Reproducer`] is a run as data: a program, a pipeline, and what else the run is given. It is text as well, and
//! `tc-opt FILE --run-reproducer` runs that. Nothing here writes a file.
//!
//! ```
//! use tc::debug::Limits;
//!
//! let compiler = tc::Compiler::new();
//! let text = "tir 1
//!
//! tir.func @f(A: f32[64]) {
//!   for i in 0..64 {
//!     A[i] = A[i] + 1.0
//!   }
//!   A[0] = 2.0
//! }
//! ";
//! let attempt = compiler.attempt(text, "module(tir.func(simplify,cse,verify-memory,dce))");
//! let failing = compiler.narrowed(&attempt).expect("no GPU can run this");
//! assert_eq!(failing.pipeline, "module(tir.func(verify-memory,dce))");
//! let small = compiler.reduce(&failing, &Limits::default()).expect("it still fails");
//! assert!(small.after.ops < small.before.ops);
//! ```

use crate::compiler::Compiler;
use crate::guard;
use crate::native::Via;
use crate::semantics::SemanticsCheck;
use std::sync::mpsc;
use std::time::Duration;
use tc_debug::reduce::{NotReduced, Progress};
use tc_ir::Module;
use tc_pass::{Manager, Pipeline, parse_pipeline};
use tc_support::workers::workers;
use tc_support::{Diagnostic, Diagnostics, Location, Sources, render};
use tc_syntax::{ParseOptions, parse_file};
use tc_target::Target;

#[cfg(unix)]
pub use tc_debug::{Asked, Command};
pub use tc_debug::{Bisected, Reduced, Reproducer, Signature, Verify, shape};
pub use tc_debug::{bisect, reduce, replay, reproducer};

/// Where a run failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The text does not read or does not verify, or the pipeline, the target or what is emitted is none.
    Start,
    /// In the pass with this index.
    Pass(usize),
    /// After the last pass, in the emitter.
    Emit,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Rerun {
    /// All diagnostics.
    pub diagnostics: Diagnostics,
    /// The files that they point into.
    pub sources: Sources,
    /// Where it failed; none if it went well.
    pub failed: Option<Stage>,
    /// How it failed.
    pub signature: Option<Signature>,
}

/// What making a run small may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many candidates are run at a time; at least one.
    pub threads: usize,
    /// A candidate that runs for longer hangs, and does not fail as it should.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { threads: 1, time: Duration::from_secs(10) }
    }
}

/// What a run did, as far as it came.
struct Ran {
    module: Module,
    found: Diagnostics,
    failed: Option<Stage>,
    pass: Option<&'static str>,
}

impl Compiler {
    /// The run of `pipeline` over `text`, as data: on this compiler's target, with programs verified, and nothing
    /// emitted. Its fields are there to be set.
    pub fn attempt(&self, text: &str, pipeline: &str) -> Reproducer {
        Reproducer {
            version: env!("CARGO_PKG_VERSION").to_string(),
            pipeline: pipeline.to_string(),
            target: self.target.to_string(),
            verify: Verify::Structure,
            step_limit: self.step_limit,
            program: text.to_string(),
            name: "program.tir".to_string(),
            ..Reproducer::default()
        }
    }

    /// Runs what `run` says.
    pub fn rerun(&self, run: &Reproducer) -> Rerun {
        let ran = guard::guarded("running a reproducer", &Sources::new(), || Ok(self.ran(run)));
        match ran {
            Ok(Ran { module, found, failed, pass }) => {
                Rerun { signature: Signature::of(&found, pass), diagnostics: found, sources: module.sources, failed }
            }
            Err(failure) => Rerun {
                signature: Signature::of(&failure.diagnostics, None),
                diagnostics: failure.diagnostics,
                sources: failure.sources,
                failed: Some(Stage::Start),
            },
        }
    }

    /// The reproducer of `run`, if that fails in a pass or in the emitter: the program as it was before, and the rest
    /// of the pipeline.
    pub fn narrowed(&self, run: &Reproducer) -> Option<Reproducer> {
        let rerun = self.rerun(run);
        let fails = rerun.signature?;
        let stage = rerun.failed.filter(|stage| *stage != Stage::Start)?;
        guard::guarded("writing a reproducer", &rerun.sources, || Ok(self.narrowed_at(run, stage, fails))).ok()?
    }

    /// The reproducer of `run`, which fails at `stage` as `fails` says. None if the passes before fail now.
    pub fn narrowed_at(&self, run: &Reproducer, stage: Stage, fails: Signature) -> Option<Reproducer> {
        let compiler = self.with_target(run).ok()?;
        let Start { mut module, pipeline, found } = read(&compiler, run);
        let pipeline = pipeline.ok()?;
        let n = match stage {
            Stage::Start => return None,
            Stage::Pass(idx) => idx,
            Stage::Emit => pipeline.passes.len(),
        };
        if found.has_errors() {
            return None;
        }
        let before = replay::text_before(&compiler.passes, compiler.run_options(), &pipeline, n, &mut module).ok()?;
        Some(Reproducer {
            pipeline: before.pipeline,
            program: before.program,
            fails: Some(fails),
            name: "reproducer.tir".to_string(),
            first_line: 0,
            ..run.clone()
        })
    }

    /// Does `run` fail as `want` says, on a smaller program perhaps? A run that takes longer than `limit` does not; its
    /// thread cannot be ended and is left to itself.
    pub fn fails_like(&self, run: &Reproducer, want: &Signature, limit: Duration) -> bool {
        self.failure_within(run, limit).is_some_and(|got| want.is_like(&got))
    }

    /// How `run` fails, if it does; none if it takes longer than `limit`, too. Its thread is then left to itself.
    pub fn failure_within(&self, run: &Reproducer, limit: Duration) -> Option<Signature> {
        let (sender, receiver) = mpsc::channel();
        let (compiler, run) = (Compiler { threads: 1, ..self.clone() }, run.clone());
        let work = move || {
            guard::begin_thread();
            // The receiver is gone if it took too long.
            let _ = sender.send(compiler.rerun(&run).signature);
        };
        let thread = std::thread::Builder::new().name(guard::THREAD.to_string()).stack_size(guard::STACK);
        thread.spawn(work).ok()?;
        receiver.recv_timeout(limit).ok().flatten()
    }

    /// Makes a failing run small: program, pipeline, sizes and names, as long as it fails in the same way. The text of
    /// the answer is a reproducer.
    pub fn reduce(&self, run: &Reproducer, limits: &Limits) -> Result<Reduced, NotReduced> {
        let made = guard::guarded("making a run small", &Sources::new(), || {
            Ok(self.reduce_watched(run, limits, &mut |_, _| Ok(())))
        });
        made.unwrap_or_else(|failure| Err(NotReduced::Ask(failure.text())))
    }

    /// [`Compiler::reduce`], which tells `watch` of its progress, with the best text so far. It runs on the stack of
    /// the caller, which has to be as deep as that of [`crate::on_big_stack`].
    pub fn reduce_watched(
        &self,
        run: &Reproducer,
        limits: &Limits,
        watch: &mut dyn FnMut(&Progress, &str) -> Result<(), String>,
    ) -> Result<Reduced, NotReduced> {
        self.check_head(run)?;
        let Some(want) = self.rerun(run).signature else { return Err(NotReduced::NotInteresting) };
        let run = Reproducer { fails: Some(want.clone()), ..run.clone() };
        let ask = |text: &str| {
            let candidate = Reproducer::parse("candidate", text);
            Ok(candidate.is_ok_and(|candidate| self.fails_like(&candidate, &want, limits.time)))
        };
        let options = reduce::Options {
            threads: workers(limits.threads.max(1), usize::MAX),
            registry: self.registry.clone(),
            allow_unknown_ops: run.allow_unknown_ops,
            watch,
        };
        let mut reduced = reduce::reduce(&run.to_string(), options, &ask)?;
        // The message speaks of the small program now.
        if let Ok(small) = Reproducer::parse("reduced", &reduced.text) {
            let fails = self.rerun(&small).signature.or(small.fails.clone());
            reduced.text = Reproducer { fails, ..small }.to_string();
        }
        Ok(reduced)
    }

    /// A head that names what is not there fails on any program, the empty one included.
    fn check_head(&self, run: &Reproducer) -> Result<(), NotReduced> {
        let wrong = |found: &Diagnostics, sources: &Sources| NotReduced::Head(render::text(found, sources, false));
        let compiler = self.with_target(run).map_err(|found| wrong(&(*found).into(), &Sources::new()))?;
        let Start { module, pipeline, .. } = read(&compiler, run);
        pipeline.map(drop).map_err(|found| wrong(&found, &module.sources))
    }

    fn with_target(&self, run: &Reproducer) -> Result<Compiler, Box<Diagnostic>> {
        let target = if run.target.is_empty() { self.target } else { Target::parse(&run.target).map_err(Box::new)? };
        let step_limit = run.step_limit.or(self.step_limit);
        Ok(Compiler { target, step_limit, ..self.clone() })
    }

    fn ran(&self, run: &Reproducer) -> Ran {
        let stopped =
            |module: Module, found: Diagnostics| Ran { module, found, failed: Some(Stage::Start), pass: None };
        let compiler = match self.with_target(run) {
            Ok(compiler) => compiler,
            Err(wrong) => return stopped(Module::new(self.registry.clone()), wrong.into()),
        };
        let Start { mut module, pipeline, mut found } = read(&compiler, run);
        if found.has_errors() {
            return stopped(module, found);
        }
        let pipeline = match pipeline {
            Ok(pipeline) => pipeline,
            Err(wrong) => return stopped(module, wrong),
        };
        let mut options = compiler.run_options();
        options.verify = run.verify != Verify::None;
        let mut manager = Manager::new(&compiler.passes, options);
        if run.verify == Verify::Semantics {
            manager.instrument(SemanticsCheck::within(compiler.step_limit));
        }
        let report = manager.run(&pipeline, &mut module);
        let (is_ok, failed) = (report.is_ok(), report.failed);
        found.append(report.diagnostics);
        if !is_ok {
            let pass = failed.map(|idx| pipeline.passes[idx].info.name);
            return Ran { module, found, failed: Some(failed.map_or(Stage::Start, Stage::Pass)), pass };
        }
        let (stage, more) = compiler.emitted(&module, run);
        let failed = more.has_errors().then_some(stage);
        found.append(more);
        Ran { module, found, failed, pass: None }
    }

    /// What emitting has to say, and at which stage it says so.
    fn emitted(&self, module: &Module, run: &Reproducer) -> (Stage, Diagnostics) {
        let via = match run.via.as_deref() {
            Some("mlir") => Via::Mlir,
            _ => Via::Cuda,
        };
        let emitted = match run.emit.as_deref() {
            None | Some("tir") => Ok(()),
            Some("cuda") => self.emit_cuda(module).map(drop),
            Some("mlir") => self.emit_mlir(module, &tc_mlir::EmitOptions::default()).map(drop),
            Some("ptx") => self.emit_ptx(module, via).map(drop),
            Some("llvm") => self.emit_llvm(module).map(drop),
            Some(other) => {
                let message = format!("nothing is called `{other}` that could be emitted");
                return (Stage::Start, Diagnostic::error("call", Location::None, message).into());
            }
        };
        (Stage::Emit, emitted.err().map_or_else(Diagnostics::new, |failure| failure.diagnostics))
    }
}

/// What a run begins with.
struct Start {
    module: Module,
    pipeline: Result<Pipeline, Diagnostics>,
    found: Diagnostics,
}

/// Reads the pipeline and the program of `run`. The pipeline is the first file, so that places in the program are reported
/// with the name of its file, as a text that is moved elsewhere needs them.
fn read(compiler: &Compiler, run: &Reproducer) -> Start {
    let mut module = Module::new(compiler.registry.clone());
    let pipeline = parse_pipeline(&run.pipeline, &compiler.passes, &compiler.registry, &mut module.sources);
    let options = ParseOptions { allow_unknown_ops: run.allow_unknown_ops };
    let found = match module.sources.add_part(&run.name, &run.program, run.first_line.max(1)) {
        Ok(file) => {
            let mut found = parse_file(&mut module, file, &options);
            if !found.has_errors() {
                found.append(tc_ir::symbols::verify_symbols(&module));
            }
            found
        }
        Err(_) => Diagnostic::error("call", Location::None, "the program is too large: a file may have 2 GiB").into(),
    };
    Start { module, pipeline, found }
}
