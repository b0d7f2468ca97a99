//! Runs programs.

use crate::cell::Cell;
use crate::clock::clock_bytes;
use crate::code::{Instr, Kernel, NO_SITE, Preload, Reg};
use crate::compile::function::{Program, Request, compile};
use crate::diagnostic::{DiagnosticKind, SimDiagnostics};
use crate::domain::Domain;
use crate::exec::{Launch, launch};
use crate::limits::Limits;
use crate::memory::{Global, GlobalSpec, Role};
use crate::sample::{BlockSample, Sampling};
use crate::tensor::{Tensor, show_index, unravel};
use crate::watch::Log;
use crate::{Result, Sizes};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tc_dialects::tir;
use tc_ir::{Func, Module};
use tc_support::{Diagnostic, Location, counted, suggest};

/// An argument of a program.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// Holds values when the program starts; a scalar is an array without dimensions.
    Input(Tensor),
    /// A buffer that the program fills: its cells count as unwritten.
    Output,
}

/// How a program is run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Values of symbols; those not given have their defaults.
    pub sizes: Sizes,
    /// What the run may cost.
    pub limits: Limits,
    /// Warps run last to first between barriers, not first to last.
    pub descending: bool,
    /// All on one core.
    pub serial: bool,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The buffers after the run, by parameter; `None` for scalars.
    pub outputs: Vec<Option<Tensor>>,
    /// What was found.
    pub diagnostics: SimDiagnostics,
    /// Steps done: ops times threads.
    pub steps: u64,
}

/// Runs the program `@name` of `module`.
pub fn run(module: &Module, name: &str, args: &[Arg], options: &RunOptions) -> Result<RunReport> {
    let func = program_named(module, name)?;
    let execution = Execution::of(module, func, args, options, Domain::Numbers, None)?;
    let outputs = execution.outputs(func.params().len());
    Ok(RunReport { outputs, diagnostics: execution.diagnostics, steps: execution.steps })
}

/// The tir.func called `name`.
pub(crate) fn program_named<'m>(module: &'m Module, name: &str) -> Result<&'m Func> {
    match module.function(name) {
        Some(func) if func.header.opcode == tir::FUNC => Ok(func),
        Some(func) => {
            let at = func.location(func.header.loc);
            Err(Box::new(Diagnostic::error("not-a-program", at, format!("`@{name}` is no `tir.func`"))))
        }
        None => {
            let names: Vec<&str> = module.items.iter().map(Func::symbol).collect();
            let mut diagnostic = Diagnostic::error(
                "unknown-function",
                Location::None,
                format!("there is no function `@{}`", suggest::shorten(name)),
            );
            diagnostic.help = suggest::did_you_mean(name, names.iter().copied());
            Err(Box::new(diagnostic))
        }
    }
}

/// A program that has run.
pub(crate) struct Execution {
    pub(crate) program: Program,
    pub(crate) globals: Vec<Arc<Global>>,
    pub(crate) diagnostics: SimDiagnostics,
    pub(crate) steps: u64,
    /// Only some blocks were run.
    pub(crate) sampled: bool,
    /// Which.
    pub(crate) sample: Arc<BlockSample>,
    pub(crate) aborted: bool,
}

impl Execution {
    pub(crate) fn of(
        module: &Module,
        func: &Func,
        args: &[Arg],
        options: &RunOptions,
        domain: Domain,
        sampling: Option<Sampling>,
    ) -> Result<Execution> {
        check_args(func, args)?;
        let mut scalars = BTreeMap::new();
        for (nth, (arg, &param)) in args.iter().zip(func.params()).enumerate() {
            if let (Arg::Input(tensor), None) = (arg, func.as_shaped(func.value_type(param))) {
                scalars.insert(nth, tensor.cell(0));
            }
        }
        let program = compile(module, func, Request { sizes: &options.sizes, scalars: &scalars, domain })?;
        check_memory(&program, options, domain)?;
        let how = How { domain, sampling: sampling.as_ref(), serial: options.serial, watch: None };
        let mut done = once(&program, args, options, how)?;
        if done.blocks_raced && !options.serial {
            // Which of two blocks came first is chance; told is what happens in order.
            done = once(&program, args, options, How { serial: true, ..how })?;
        }
        let Done { globals, diagnostics, steps, sample, aborted, .. } = done;
        Ok(Execution { program, globals, diagnostics, steps, sampled: sample.is_part(), sample, aborted })
    }

    /// The buffers after the run, by parameter.
    pub(crate) fn outputs(&self, n_params: usize) -> Vec<Option<Tensor>> {
        let mut outputs = vec![None; n_params];
        for (info, global) in self.program.globals.iter().zip(&self.globals) {
            if let Some(param) = info.param {
                outputs[param] = Some(global.tensor());
            }
        }
        outputs
    }

    /// Is this element what the program leaves there: it was written, and by all launches that write it?
    pub(crate) fn is_done(&self, global: &Arc<Global>, idx: usize) -> bool {
        let is_it = |number: &&usize| Arc::ptr_eq(&self.globals[**number], global);
        let done = &self.sample.done;
        let of_all = done.keys().find(is_it).and_then(|number| done.get(number));
        global.is_written(idx) && of_all.is_none_or(|cells| cells.contains(global.place(idx)))
    }

    /// The global that is parameter `param`.
    pub(crate) fn param(&self, param: usize) -> Option<&Arc<Global>> {
        let idx = self.program.globals.iter().position(|info| info.param == Some(param))?;
        Some(&self.globals[idx])
    }
}

/// How a compiled program is run.
#[derive(Clone, Copy)]
pub(crate) struct How<'r> {
    pub(crate) domain: Domain,
    pub(crate) sampling: Option<&'r Sampling>,
    pub(crate) serial: bool,
    /// The block that is watched: of its launch it runs alone, and the run ends with it.
    pub(crate) watch: Option<&'r Log>,
}

pub(crate) struct Done {
    globals: Vec<Arc<Global>>,
    pub(crate) diagnostics: SimDiagnostics,
    steps: u64,
    sample: Arc<BlockSample>,
    aborted: bool,
    blocks_raced: bool,
}

pub(crate) fn once(program: &Program, args: &[Arg], options: &RunOptions, how: How<'_>) -> Result<Done> {
    let How { domain, sampling, serial, watch } = how;
    let globals = make_globals(program, args, domain)?;
    let steps = AtomicU64::new(0);
    let mut host: Vec<Cell> = Vec::with_capacity(program.n_host);
    let sample = match sampling {
        Some(sampling) => BlockSample::choose(program, &globals, sampling, options.limits),
        None => Arc::default(),
    };
    let mut done =
        Done { globals, diagnostics: SimDiagnostics::default(), steps: 0, sample, aborted: false, blocks_raced: false };
    for (nth, kernel) in program.kernels.iter().enumerate() {
        let watch = watch.filter(|log| log.launch == nth);
        let alone = watch.map(|log| kernel.beside(log.block));
        let outcome = launch(&Launch {
            kernel,
            globals: &done.globals,
            host: &host,
            cells: None,
            domain,
            limits: options.limits,
            steps: &steps,
            parallel: !serial,
            descending: options.descending,
            blocks: alone.as_deref().or(done.sample.blocks.get(nth).and_then(Option::as_deref)),
            watch,
        });
        host.extend(outcome.exports);
        done.diagnostics.merge(outcome.diagnostics, options.limits.diagnostics);
        done.blocks_raced |= outcome.blocks_raced;
        done.aborted |= outcome.aborted;
        if done.aborted || watch.is_some() {
            break;
        }
        done.globals.iter().for_each(|global| global.end_launch());
    }
    done.steps = steps.load(Relaxed);
    if !done.aborted && !done.sample.is_part() && watch.is_none() {
        report_unwritten(program, &done.globals, &mut done.diagnostics, options.limits.diagnostics);
    }
    Ok(done)
}

fn check_args(func: &Func, args: &[Arg]) -> Result<()> {
    let refuse = |text: String| Err(Box::new(Diagnostic::error("bad-argument", func.location(func.header.loc), text)));
    if args.len() != func.params().len() {
        return refuse(format!("`@{}` takes {} arguments, not {}", func.symbol(), func.params().len(), args.len()));
    }
    for (arg, &param) in args.iter().zip(func.params()) {
        if let Some(scalar) = func.value_scalar(param) {
            let fits = matches!(arg, Arg::Input(tensor) if tensor.elem == scalar.elem && tensor.len() == 1);
            if !fits || scalar.lanes != 1 {
                return refuse(format!(
                    "argument `{}` of `@{}` must be one `{scalar}`",
                    func.value_text(param),
                    func.symbol()
                ));
            }
        }
    }
    Ok(())
}

fn make_globals(program: &Program, args: &[Arg], domain: Domain) -> Result<Vec<Arc<Global>>> {
    let mut globals = Vec::with_capacity(program.globals.len());
    for info in &program.globals {
        let decl = &program.declarations.list[info.decl];
        let arg = info.param.and_then(|param| args.get(param));
        let role = match arg {
            Some(Arg::Input(_)) => Role::Input,
            Some(Arg::Output) => Role::Output,
            None => Role::Temporary,
        };
        let spec = GlobalSpec {
            domain,
            poison: false,
            writable: info.written || role != Role::Input,
            readable: info.written && info.read,
            updated: info.updated,
        };
        let mut global = Global::new((decl.elem, decl.cells), shape_of(decl), role, spec);
        global.places = decl.places();
        if let Some(Arg::Input(tensor)) = arg {
            if tensor.elem != decl.elem || tensor.len() != global.n_elements() {
                let text = format!(
                    "argument `{}` must have shape {} of `{}`, not {} of `{}`",
                    decl.name,
                    show_index(&shape_of(decl)),
                    decl.elem.name(),
                    show_index(&tensor.shape),
                    tensor.elem.name()
                );
                return Err(Box::new(Diagnostic::error("bad-argument", decl.location.clone(), text)));
            }
            global.fill(tensor);
        }
        globals.push(Arc::new(global));
    }
    Ok(globals)
}

/// The shape of a buffer, the lanes of its vectors last.
pub(crate) fn shape_of(decl: &crate::code::BufDecl) -> Vec<u64> {
    let lanes = (decl.lanes > 1).then_some(u64::from(decl.lanes));
    decl.shape.iter().copied().chain(lanes).collect()
}

/// Sizes are compared with the limit before anything is made.
pub(crate) fn check_memory(program: &Program, options: &RunOptions, domain: Domain) -> Result<()> {
    let limit = options.limits.memory;
    let mut total = 0u64;
    for info in &program.globals {
        let decl = &program.declarations.list[info.decl];
        let spec = GlobalSpec { domain, poison: false, writable: true, readable: true, updated: info.updated };
        total = total.saturating_add((decl.cells as u64).saturating_mul(spec.bytes_per_cell()));
        if total > limit {
            return Err(too_large(&decl.name, decl.location.clone(), limit));
        }
    }
    let cores = tc_support::parallel::width() as u64;
    for kernel in &program.kernels {
        let lanes = kernel.threads().saturating_mul(u64::from(kernel.batch));
        let regs: u64 = kernel.regs.iter().map(|&comps| 8 * u64::from(comps) * lanes).sum();
        let mut on_chip = regs;
        // A shared cell of a threaded program has a shadow, and a set of threads.
        let warps = kernel.threads().div_ceil(32).saturating_mul(u64::from(kernel.batch));
        let shared_bytes = 22 + if kernel.threaded { 128 + kernel.threads() / 8 } else { 0 };
        if kernel.warpgroups.clocked {
            // The blocks of a cluster share their clocks.
            let barriers = (kernel.n_barriers() as u64).saturating_mul(kernel.batch.into());
            on_chip = on_chip.saturating_add(clock_bytes(lanes, barriers, kernel.warpgroups.stores));
            if total.saturating_add(on_chip.saturating_mul(cores)) > limit {
                return Err(too_large("the clocks of its threads", kernel.location.clone(), limit));
            }
        }
        for (list, copies, bytes) in [
            (&kernel.shared, u64::from(kernel.batch), shared_bytes),
            (&kernel.tiles, if kernel.warpgroups.lone { lanes } else { warps }, 25),
            (&kernel.local, lanes, 17),
        ] {
            for &buf in list {
                let decl = &kernel.buffers[buf as usize];
                on_chip = on_chip.saturating_add((decl.cells as u64).saturating_mul(copies).saturating_mul(bytes));
                if total.saturating_add(on_chip.saturating_mul(cores)) > limit {
                    return Err(too_large(&decl.name, decl.location.clone(), limit));
                }
            }
        }
        if total.saturating_add(on_chip.saturating_mul(cores)) > limit {
            return Err(too_large("the program", kernel.location.clone(), limit));
        }
    }
    Ok(())
}

pub(crate) fn too_large(what: &str, at: Location, limit: u64) -> Box<Diagnostic> {
    let text = format!("with `{what}` the program needs more than {limit} bytes");
    Box::new(Diagnostic::error("limit", at, text).help("raise `--memory-limit`, or run it at a smaller size"))
}

fn report_unwritten(program: &Program, globals: &[Arc<Global>], diagnostics: &mut SimDiagnostics, cap: usize) {
    for (info, global) in program.globals.iter().zip(globals).filter(|(_, global)| global.role == Role::Output) {
        let mut missing = (0..global.n_elements()).filter(|&idx| !global.is_written(idx));
        let Some(first) = missing.next() else { continue };
        let n = missing.count() + 1;
        let decl = &program.declarations.list[info.decl];
        diagnostics.add(DiagnosticKind::Unwritten, (NO_SITE, info.decl as u32), cap, || {
            let place = format!("{}{}", decl.name, show_index(&unravel(first as u64, &global.shape)));
            let text = format!("no thread writes `{place}`, a cell of the output");
            let are = if n == 1 { "is" } else { "are" };
            let cells = counted(global.n_elements(), "cell");
            let note = format!("{n} of {cells} of `{}` {are} not written", decl.name);
            let diagnostic =
                Diagnostic::error(DiagnosticKind::Unwritten.code(), decl.location.clone(), text).note(note);
            (Some(decl.name.clone()), diagnostic)
        });
    }
}

/// What one thread of a kernel does, as far as the code tells: loops whose extent is unknown count as 8 rounds.
pub(crate) struct Work {
    /// Ops.
    pub(crate) steps: u64,
    /// Rounds of the innermost loop, the most there are.
    pub(crate) rounds: u64,
}

pub(crate) fn work(kernel: &Kernel) -> Work {
    let mut known = BTreeMap::<Reg, i64>::new();
    for &(reg, preload) in &kernel.preloads {
        if let Preload::Const(value) = preload {
            known.insert(reg, value as i64);
        }
    }
    let mut work = Work { steps: 0, rounds: 1 };
    let (mut rounds, mut stack) = (1u64, Vec::new());
    for instr in &kernel.code {
        work.steps = work.steps.saturating_add(rounds);
        match instr {
            Instr::LoopUniform { lo, hi, .. } | Instr::LoopVarying { lo, hi, .. } => {
                let extent = known.get(lo).zip(known.get(hi)).map(|(lo, hi)| hi.saturating_sub(*lo).max(0));
                stack.push(rounds);
                rounds = rounds.saturating_mul(extent.unwrap_or(8) as u64);
                work.rounds = work.rounds.max(rounds);
            }
            Instr::NextUniform { .. } | Instr::NextVarying { .. } => rounds = stack.pop().unwrap_or(1),
            Instr::Warp(warp) => {
                work.steps = work.steps.saturating_add(rounds.saturating_mul(warp.steps()));
                work.rounds = work.rounds.max(rounds.saturating_mul(warp.terms()));
            }
            _ => {}
        }
    }
    work
}
