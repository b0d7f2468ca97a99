//! What a run knows, and its steps.

use crate::failure::Failure;
use crate::guard::guarded;
use crate::libraries;
use crate::native::Via;
use crate::run::Define;
use crate::semantics::{options_within, race_oracle};
use std::borrow::Cow;
use std::sync::Arc;
use tc_cuda::{CudaModule, EmitOptions};
use tc_dialects::forms::is_device;
use tc_dialects::{sched, te};
use tc_ir::registry::{Dialect, RegisterError};
use tc_ir::{Func, Module, Registry, walk};
use tc_mlir::MlirModule;
use tc_pass::{Limits, Manager, PassTable, Pipeline, Remarks, Report, RunOptions, parse_pipeline};
use tc_passes::schedule::Defines;
use tc_passes::tensorize_to_wmma::Library;
use tc_passes::{legalize_arith, legalize_dtype};
use tc_report::index::write_index;
use tc_report::recorder::{Recorder, dump_folder_of_environment};
use tc_schedule::auto;
use tc_schedule::calls::{Library as ScheduleLibrary, has_calls, prepare_all};
use tc_schedule::has_followed_bounds;
use tc_support::{Diagnostic, Diagnostics, Location, Sources};
use tc_syntax::ParseOptions;
use tc_target::Target;

/// A text that was read.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The module.
    pub module: Module,
    /// Diagnostics that are no errors.
    pub warnings: Diagnostics,
}

/// What a run knows: dialects, passes, named pipelines, a target.
#[derive(Clone)]
pub struct Compiler {
    /// The dialects. [`Compiler::add_dialect`] adds one.
    pub registry: Arc<Registry>,
    /// The passes and named pipelines.
    pub passes: PassTable,
    /// The target that passes and emitters ask.
    pub target: Target,
    /// How many functions a pass runs on at a time, four a core at the most; 0 stands for as many as there are cores.
    pub threads: usize,
    /// Verify what a pass has changed. Whoever runs one pipeline on thousands of candidates may do without, and verify
    /// those that are kept.
    pub verify: bool,
    /// Programs that are built of operators leave sizes open that have a default and no value, as they do those without a
    /// default.
    pub symbolic: bool,
    /// Rules that make schedules may round the factors of products of `f32` to tf32, 10 bits behind the point.
    pub allow_tf32: bool,
    /// Values for parameters of schedules and sizes of operators, as `schedule{param="…"}` gives them, for every run.
    pub defines: Vec<Define>,
    /// Which remarks passes make: by default those that answer what a schedule or a program asked for.
    pub remarks: Remarks,
    /// Steps that one run on the simulator may take, where a pass or a check asks it: one is one op done by one thread.
    /// Without a number, what is usual.
    pub step_limit: Option<u64>,
    /// What ends a run of passes from outside: a number of steps, a request to cancel.
    pub limits: Limits,
    /// The tensor intrinsics that programs may name beside their own.
    pub intrinsics: Library,
    /// The schedule functions that schedules may call beside those of their module.
    pub schedules: ScheduleLibrary,
    /// How programs are made into what a GPU takes.
    pub via: Via,
    /// CUDA text that is made for a GPU tells by `#line` which lines of a program it comes from.
    pub line_directives: bool,
}

impl Default for Compiler {
    fn default() -> Compiler {
        Compiler::new()
    }
}

impl Compiler {
    /// The name of the target that is compiled for where none is named.
    pub const DEFAULT_TARGET: &'static str = Target::DEFAULT;

    /// The dialects, passes and pipelines of this repository, and the default target.
    pub fn new() -> Compiler {
        let registry = tc_dialects::shared_registry();
        Compiler {
            intrinsics: libraries::intrinsics(registry.clone()),
            schedules: libraries::schedules(registry.clone()),
            registry,
            passes: PassTable::of_own(tc_passes::table::PASSES, tc_passes::table::PIPELINES),
            target: Target::default(),
            threads: 0,
            verify: true,
            symbolic: false,
            allow_tf32: false,
            defines: Vec::new(),
            via: Via::default(),
            line_directives: false,
            remarks: Remarks::default(),
            step_limit: None,
            limits: Limits::default(),
        }
    }

    /// Adds a dialect of one's own, before anything is parsed or built. One that names no number is allotted one.
    pub fn add_dialect(&mut self, dialect: Dialect) -> Result<(), RegisterError> {
        Arc::make_mut(&mut self.registry).register(dialect)
    }

    /// A module without items, for those who build it.
    pub fn module(&self) -> Module {
        Module::new(self.registry.clone())
    }

    /// Checks a module that was built: what it says must be what the rows of its ops allow. What is returned are
    /// diagnostics that are no errors.
    pub fn verify(&self, module: &Module) -> Result<Diagnostics, Failure> {
        guarded("verifying", &module.sources, || {
            self.accept(module)?;
            let found = tc_ir::symbols::verify_module(module);
            if found.has_errors() {
                return Err(Failure { diagnostics: found, sources: module.sources.clone() });
            }
            Ok(found)
        })
    }

    /// Reads a text; `name` is what messages call it.
    pub fn parse(&self, name: &str, text: &str) -> Result<Parsed, Failure> {
        self.parse_with(name, text, &ParseOptions::default())
    }

    /// Reads a text, told how.
    pub fn parse_with(&self, name: &str, text: &str, options: &ParseOptions) -> Result<Parsed, Failure> {
        guarded(&format!("reading `{name}`"), &Sources::new(), || {
            let (mut module, mut found) = tc_syntax::parse_module(name, text, &self.registry, options);
            if !found.has_errors() {
                found.append(tc_ir::symbols::verify_module_edited(&mut module));
            }
            if found.has_errors() {
                return Err(Failure { diagnostics: found, sources: module.sources });
            }
            Ok(Parsed { module, warnings: found })
        })
    }

    /// Reads the text of the file `name`: TVMScript where that ends in `.py`, MLIR where it ends in `.mlir`, and else as
    /// [`Compiler::parse`] does.
    pub fn parse_file(&self, name: &str, text: &str) -> Result<Parsed, Failure> {
        match std::path::Path::new(name).extension().and_then(|ending| ending.to_str()) {
            Some("py") => self.parse_tvmscript(name, text),
            Some("mlir") => self.parse_mlir(name, text),
            _ => self.parse(name, text),
        }
    }

    /// Reads a text as [`Compiler::parse_file`] does, and puts the directives of schedule functions in the place of their calls: what
    /// asks for the space of a schedule, or for one of its points, takes schedules without calls.
    pub fn load(&self, name: &str, text: &str) -> Result<Parsed, Failure> {
        let mut parsed = self.parse_file(name, text)?;
        self.inline_calls(&mut parsed.module)?;
        Ok(parsed)
    }

    /// Puts the directives of schedule functions in the place of the calls in the schedules of `module`.
    pub fn inline_calls(&self, module: &mut Module) -> Result<(), Failure> {
        let sources = module.sources.clone();
        guarded("putting calls of schedules in place", &sources, || self.put_calls_in_place(module))
    }

    /// Adds a schedule `@auto`, made by rules for this target, to the operator `func`, or to all, and puts its calls in place;
    /// those that have one keep it. `defines` give sizes their values. The schedule builds by the pipeline `cuda`: where that
    /// refuses what the rules made, simpler ones are used.
    pub fn auto_schedule(&self, module: &mut Module, func: &str, defines: &[Define]) -> Result<(), Failure> {
        let mut compiler = self.clone();
        compiler.defines.extend_from_slice(defines);
        let is_wanted = |item: &&Func| item.header.opcode == te::FUNC && (func.is_empty() || item.symbol() == func);
        let operators: Vec<String> =
            module.items.iter().filter(is_wanted).map(|item| item.symbol().to_string()).collect();
        for operator in operators {
            compiler.auto_schedule_one(module, &operator)?;
        }
        Ok(())
    }

    fn auto_schedule_one(&self, module: &mut Module, operator: &str) -> Result<(), Failure> {
        let mut refused = None;
        for level in auto::Level::ALL {
            let mut made = module.clone();
            let (rules, tf32, symbolic) = (level.name(), self.allow_tf32, self.symbolic);
            let options = format!("func={operator} rules={rules} tf32={tf32} symbolic={symbolic}");
            self.run(&mut made, &format!("module(auto-schedule{{{options}}},inline-schedule-calls)"))?;
            let options = format!("func={operator} schedule={} symbolic={}", auto::NAME, self.symbolic);
            match self.run(&mut made.clone(), &format!("module(cuda{{{options}}})")) {
                Ok(_) => {
                    *module = made;
                    return Ok(());
                }
                // What the rules that ask most come to says most.
                Err(failure) => refused = refused.or(Some((failure, made))),
            }
        }
        // It is left to whoever builds it to say why.
        if let Some((_, made)) = refused {
            *module = made;
        }
        Ok(())
    }

    fn put_calls_in_place(&self, module: &mut Module) -> Result<(), Failure> {
        let sources = module.sources.clone();
        prepare_all(module, self.schedules.items()).map(drop).map_err(|diagnostics| Failure { diagnostics, sources })
    }

    /// `module` without calls in its schedules, a copy where there are any.
    pub(crate) fn without_calls<'m>(&self, module: &'m Module) -> Result<Cow<'m, Module>, Failure> {
        let is_open = |item: &Func| match item.header.opcode {
            sched::SCHEDULE => has_calls(item),
            te::FUNC => has_followed_bounds(item),
            _ => false,
        };
        if !module.items.iter().any(is_open) {
            return Ok(Cow::Borrowed(module));
        }
        let mut copy = module.clone();
        self.put_calls_in_place(&mut copy)?;
        Ok(Cow::Owned(copy))
    }

    /// Reads items whose operators, callees and intrinsics may be elsewhere. What they name is looked for when the module
    /// that they are put into is verified or run.
    pub fn parse_part(&self, name: &str, text: &str) -> Result<Parsed, Failure> {
        guarded(&format!("reading `{name}`"), &Sources::new(), || {
            let (module, mut found) = tc_syntax::parse_module(name, text, &self.registry, &ParseOptions::default());
            if !found.has_errors() {
                found.append(module.items.iter().flat_map(tc_ir::verify::verify).collect());
            }
            if found.has_errors() {
                return Err(Failure { diagnostics: found, sources: module.sources });
            }
            Ok(Parsed { module, warnings: found })
        })
    }

    /// Reads TVMScript: what TVM 0.27 prints of its dialect `tirx`, and TVM 0.16 of `tir`. Nothing of the Python text runs.
    pub fn parse_tvmscript(&self, name: &str, text: &str) -> Result<Parsed, Failure> {
        guarded(&format!("reading `{name}`"), &Sources::new(), || {
            let (module, mut found) = tc_tvm::import::import_module(name, text, &self.registry);
            if !found.has_errors() {
                found.append(tc_ir::symbols::verify_module(&module));
            }
            if found.has_errors() {
                return Err(Failure { diagnostics: found, sources: module.sources });
            }
            Ok(Parsed { module, warnings: found })
        })
    }

    /// Reads MLIR: each `gpu.func` of a `gpu.module` becomes a program. What the emitter of MLIR writes comes back as it was;
    /// of others' kernels docs/mlir.md lists what is read. Wants the feature `mlir`.
    pub fn parse_mlir(&self, name: &str, text: &str) -> Result<Parsed, Failure> {
        guarded(&format!("reading `{name}`"), &Sources::new(), || {
            let (module, mut found) = tc_mlir::import::import_module(name, text, &self.registry);
            if !found.has_errors() {
                found.append(tc_ir::symbols::verify_module(&module));
            }
            if found.has_errors() {
                return Err(Failure { diagnostics: found, sources: module.sources });
            }
            Ok(Parsed { module, warnings: found })
        })
    }

    /// A pass for a pass manager of MLIR's, on `builtin.module`: the kernels of each `gpu.module` are read as programs, run
    /// through `pipeline`, and written back in their place, under their names; launches in the same module follow. What is
    /// wrong is told by MLIR's diagnostics, at the op. `compiler/tc/examples/mlir_opt.rs` is a tool around it.
    #[cfg(feature = "mlir")]
    pub fn mlir_pass(&self, pipeline: &str) -> tc_mlir::plug::Pass {
        let (compiler, pipeline) = (self.clone(), pipeline.to_string());
        tc_mlir::plug::pass(self.registry.clone(), move |mut programs| {
            let emit = |programs: &Module| compiler.emit_mlir(programs, &tc_mlir::EmitOptions::default());
            let made = compiler.run(&mut programs, &pipeline).and_then(|_| emit(&programs));
            made.map_err(|failure| failure.diagnostics)
        })
    }

    /// The text of a module. Of one that a pass failed on there is none here: `module.to_string()` shows what the pass left.
    pub fn print(&self, module: &Module) -> Result<String, Failure> {
        guarded("printing", &module.sources, || {
            whole(module)?;
            Ok(module.to_string())
        })
    }

    /// The CUDA C++ of all programs of a module that went through the pipeline `cuda`, and how they are launched.
    pub fn emit_cuda(&self, module: &Module) -> Result<CudaModule, Failure> {
        self.emit_cuda_with(module, &EmitOptions::default())
    }

    /// The same, told how.
    pub fn emit_cuda_with(&self, module: &Module, options: &EmitOptions) -> Result<CudaModule, Failure> {
        guarded("emitting CUDA", &module.sources, || {
            self.accept(module)?;
            tc_cuda::emit_module(&self.legal(module), &self.target, options)
                .map_err(|diagnostics| Failure { diagnostics, sources: module.sources.clone() })
        })
    }

    /// The MLIR of all programs of a module that went through the pipeline `cuda`, for `mlir-opt` of LLVM 22, and how they
    /// are launched.
    pub fn emit_mlir(&self, module: &Module, options: &tc_mlir::EmitOptions) -> Result<MlirModule, Failure> {
        guarded("emitting MLIR", &module.sources, || {
            self.accept(module)?;
            tc_mlir::emit_module(&self.legal(module), &self.target, options)
                .map_err(|diagnostics| Failure { diagnostics, sources: module.sources.clone() })
        })
    }

    /// The programs of a module as TVMScript, which TVM 0.27 reads: loops, buffers and accesses, at any point of a pipeline
    /// until tensor cores and bulk copies have instructions of their own. Operators and schedules are left out.
    pub fn emit_tvmscript(&self, module: &Module) -> Result<String, Failure> {
        guarded("emitting TVMScript", &module.sources, || {
            self.accept(module)?;
            tc_tvm::emit::emit_module(module)
                .map_err(|diagnostics| Failure { diagnostics, sources: module.sources.clone() })
        })
    }

    /// `module` in the arithmetic that emitters have words for. The pipeline `cuda` ends in the passes that see to it; kernels
    /// that did not come through them do so here. What is wrong with a module, its emitter tells.
    pub(crate) fn legal<'m>(&self, module: &'m Module) -> Cow<'m, Module> {
        let is_legal = |func: &Func| legalize_dtype::is_legal(func, &self.target) && legalize_arith::is_legal(func);
        if module.items.iter().filter(|item| is_device(item)).all(is_legal) {
            return Cow::Borrowed(module);
        }
        let mut legal = module.clone();
        let text = "tir.func(legalize-dtype,legalize-arith)";
        match parse_pipeline(text, &self.passes, &self.registry, &mut legal.sources) {
            Ok(pipeline) if self.manager().run(&pipeline, &mut legal).is_ok() => Cow::Owned(legal),
            _ => Cow::Borrowed(module),
        }
    }

    /// From text to CUDA in one call: reads, runs `pipeline`, emits.
    #[deprecated(since = "0.2.0", note = "it is called `compile_to_cuda`, as what it gives is CUDA")]
    pub fn compile(&self, name: &str, text: &str, pipeline: &str) -> Result<CudaModule, Failure> {
        self.compile_to_cuda(name, text, pipeline)
    }

    /// From text to CUDA in one call: reads, runs `pipeline`, which is `cuda` or a longer one, emits.
    pub fn compile_to_cuda(&self, name: &str, text: &str, pipeline: &str) -> Result<CudaModule, Failure> {
        guarded(&format!("compiling `{name}`"), &Sources::new(), || {
            let mut module = self.parse(name, text)?.module;
            self.run(&mut module, pipeline)?;
            self.emit_cuda(&module)
        })
    }

    /// Reads a pipeline string. It becomes a file of the module's sources, which diagnostics of the run point into.
    pub fn pipeline(&self, text: &str, module: &mut Module) -> Result<Pipeline, Failure> {
        let sources = module.sources.clone();
        guarded("reading a pipeline", &sources, || {
            parse_pipeline(text, &self.passes, &self.registry, &mut module.sources)
                .map_err(|diagnostics| Failure { diagnostics, sources: module.sources.clone() })
        })
    }

    /// A manager that knows this compiler's passes and lends them its target, for those who put instruments into it. It
    /// runs on the stack of whoever calls it: [`on_big_stack`](crate::on_big_stack) has one that is deep enough.
    pub fn manager(&self) -> Manager<'_> {
        Manager::new(&self.passes, self.run_options())
    }

    /// How this compiler runs passes: it lends them its target, the simulator to find races, and its tensor intrinsics.
    pub fn run_options(&self) -> RunOptions {
        let oracle = race_oracle(options_within(self.step_limit));
        RunOptions {
            threads: self.threads,
            verify: self.verify,
            remarks: self.remarks.clone(),
            limits: self.limits.clone(),
            extensions: vec![
                Arc::new(self.target),
                Arc::new(oracle),
                Arc::new(self.intrinsics.clone()),
                Arc::new(self.schedules.clone()),
                Arc::new(Defines(self.defines.clone())),
            ],
            ..RunOptions::default()
        }
    }

    /// Runs the pipeline that `text` names.
    ///
    /// A pass that fails spoils the module, which is as that pass left it: [`Module::spoiled_by`] says which, and no call of
    /// the compiler takes the module from then on; whoever wants to go on clones it before. A pipeline that cannot be read
    /// leaves the module as it is, and so does a run that [`limits`](Compiler::limits) ended.
    ///
    /// Where the environment variable `TC_DUMP_IR` names a folder, the program after each pass is written there.
    pub fn run(&self, module: &mut Module, text: &str) -> Result<Report, Failure> {
        let sources = module.sources.clone();
        guarded("running a pipeline", &sources, || self.run_here(module, text))
    }

    fn run_here(&self, module: &mut Module, text: &str) -> Result<Report, Failure> {
        self.accept(module)?;
        let pipeline = self.pipeline(text, module)?;
        let kept = self.limits.is_any().then(|| module.clone());
        let mut found = tc_ir::symbols::verify_symbols(module);
        if found.has_errors() {
            return Err(Failure { diagnostics: found, sources: module.sources.clone() });
        }
        let mut recorder = None;
        if let Some(folder) = dump_folder_of_environment() {
            match Recorder::new(Box::new(Module::to_string)).dump_into(&folder) {
                Ok(dump) => recorder = Some(dump),
                Err(error) => {
                    let message = format!("cannot dump into `{}`: {error}", folder.display());
                    found.push(Diagnostic::warning("dump", Location::None, message));
                }
            }
        }
        let mut manager = self.manager();
        if let Some(recorder) = &mut recorder {
            found.append(recorder.parsed(module));
            manager.instrument(recorder);
        }
        let mut report = manager.run(&pipeline, module);
        drop(manager);
        found.append(std::mem::take(&mut report.diagnostics));
        if let Some(recorder) = &recorder {
            found.append(write_index(recorder, "a program", &pipeline.to_string()));
        }
        report.diagnostics = found;
        if report.is_ok() {
            return Ok(report);
        }
        let sources = module.sources.clone();
        if let Some(kept) = kept.filter(|_| tc_pass::limits::is_ended(&report.diagnostics)) {
            *module = kept;
        }
        Err(Failure { diagnostics: report.diagnostics, sources })
    }

    /// Refuses a module that a pass failed on, and one with ops of a dialect that this compiler lacks.
    pub(crate) fn accept(&self, module: &Module) -> Result<(), Failure> {
        whole(module)?;
        if Arc::ptr_eq(&module.registry, &self.registry) {
            return Ok(());
        }
        let known = |name: &str| self.registry.dialects().iter().any(|dialect| dialect.name == name);
        let lacking = |opcode| module.registry.dialect(opcode).filter(|dialect| !known(dialect.name));
        for item in &module.items {
            let header = lacking(item.header.opcode).map(|dialect| (dialect, item.location(item.header.loc)));
            let of_op = |op| Some((lacking(item.opcode(op))?, item.op_location(op)));
            let Some((dialect, place)) = header.or_else(|| walk::all_ops(item).find_map(of_op)) else { continue };
            let message =
                format!("`@{}` holds ops of the dialect `{}`, which this compiler lacks", item.symbol(), dialect.name);
            let found = Diagnostic::error("missing-dialect", place, message)
                .help("add it with `Compiler::add_dialect`, or use the compiler that made the module");
            return Err(Failure { diagnostics: found.into(), sources: module.sources.clone() });
        }
        Ok(())
    }
}

/// Refuses a module that a pass failed on.
fn whole(module: &Module) -> Result<(), Failure> {
    let Some(pass) = module.spoiled_by else { return Ok(()) };
    let message = format!("`{pass}` failed on this module and left it half changed");
    let found = Diagnostic::assumption("spoiled-module", Location::None, message)
        .help("clone a module before a run that may fail, and go on with the copy");
    Err(Failure { diagnostics: found.into(), sources: module.sources.clone() })
}
