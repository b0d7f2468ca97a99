//! From IR to CUDA C++, and the manifest that says how the kernels are launched.
//!
//! The module comes out of `split-host-device`, `narrow-index` and `lower-intrin`: functions of the host that make
//! global buffers and call kernels, and kernels in the form `device`. Anything else is refused, all of it at once,
//! each finding at its place.
//!
//! - [`accepts`]: what can be written. `facts` is what is known of a kernel before it is written: launch, shared
//!   memory, accesses. `host` takes a function of the host apart.
//! - `plan` says which ops are printed inside the op that uses them; `access` how a load or store touches memory.
//! - `kernel`, `stmt`, `value`, `arith` write heads, statements, values and arithmetic; `place` references; `wmma`,
//!   `mma` matrix products and asynchronous copies, and `matrix` says what these ask of a kernel. `expr`, `types`,
//!   `literals`, `names`, `preamble`, `ptx`, `writer` are what they write with.
//! - `manifest` builds the manifest; `sizes` says what in it follows from sizes that the program leaves open.
//!
//! The text is meant to be read: it keeps the author's names, and an op that has one use and no name stands where it
//! is used. It is meant to be exact: literals read back as the numbers they stand for, nothing is contracted (compile
//! with `--fmad=false`), no function is a fast variant, conditionals evaluate what the program evaluates. The same
//! module gives the same bytes.

mod accepts;
mod access;
mod arith;
mod expr;
mod facts;
mod host;
mod kernel;
mod literals;
mod manifest;
mod matrix;
mod mma;
mod names;
mod place;
mod plan;
mod preamble;
mod ptx;
mod residency;
mod shuffle;
mod sizes;
mod stmt;
mod types;
mod value;
mod wmma;
mod writer;

use facts::Facts;
use host::Host;
use manifest::Written;
use names::Globals;
use preamble::Needs;
use std::fmt::Write;
use tc_ir::verify::verify;
use tc_ir::{Func, Module};
use tc_support::{Diagnostic, Diagnostics, Location};
use tc_target::{KernelManifest, Slot, Target};

/// How to write.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EmitOptions {
    /// Tell the line of the `.tir` file that each statement comes from, by `#line`.
    pub line_directives: bool,
}

/// One function of the host as CUDA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CudaProgram {
    /// The text of its kernels.
    pub source: String,
    /// How they are launched.
    pub manifest: KernelManifest,
}

/// All functions of a module as CUDA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CudaModule {
    /// The text of all kernels.
    pub source: String,
    /// How they are launched, for each function of the host, in the order of the module.
    pub manifests: Vec<KernelManifest>,
}

/// Writes the kernels of the host function `function`.
pub fn emit(
    module: &Module,
    function: &str,
    target: &Target,
    options: &EmitOptions,
) -> Result<CudaProgram, Diagnostics> {
    let func = host::find(module, function)?;
    let mut emitted = emit_hosts(module, &[func], target, options)?;
    let manifest = emitted
        .manifests
        .pop()
        .ok_or_else(|| Diagnostic::bug("emitter", Location::None, "a function was emitted without a manifest"))?;
    Ok(CudaProgram { source: emitted.source, manifest })
}

/// Writes the kernels of all host functions of `module` into one text.
pub fn emit_module(module: &Module, target: &Target, options: &EmitOptions) -> Result<CudaModule, Diagnostics> {
    let hosts: Vec<&Func> = module.items.iter().filter(|item| host::is_host(item)).collect();
    if hosts.is_empty() {
        let text = "there is no program to emit";
        let help = "run the pipeline `cuda` on the operators first";
        return Err(Diagnostic::assumption("no-function", Location::None, text).help(help).into());
    }
    emit_hosts(module, &hosts, target, options)
}

/// What keeps the host function `function` and its kernels from being written; nothing if [`emit`] will do it.
pub fn accepts(module: &Module, function: &str, target: &Target) -> Diagnostics {
    match host::find(module, function) {
        Ok(func) => {
            let mut found = Diagnostics::new();
            read(module, &[func], target, &mut found);
            found
        }
        Err(wrong) => wrong.into(),
    }
}

/// What is to be written.
struct Job<'m> {
    hosts: Vec<Host<'m>>,
    /// The kernels, each once, in the order of their first launches.
    kernels: Vec<(&'m Func, Option<Facts>)>,
}

impl<'m> Job<'m> {
    fn kernel_idx(&self, func: &'m Func) -> Option<usize> {
        self.kernels.iter().position(|(kernel, _)| std::ptr::eq(*kernel, func))
    }
}

fn read<'m>(module: &'m Module, funcs: &[&'m Func], target: &Target, found: &mut Diagnostics) -> Job<'m> {
    let mut job = Job { hosts: Vec::new(), kernels: Vec::new() };
    for &func in funcs {
        let wrong = verify(func);
        if wrong.has_errors() {
            found.append(wrong);
            continue;
        }
        let host = host::read(module, func, found);
        for launch in &host.launches {
            if job.kernel_idx(launch.kernel).is_none() {
                job.kernels.push((launch.kernel, accepts::kernel(launch.kernel, target, found)));
            }
        }
        job.hosts.push(host);
    }
    job
}

fn emit_hosts(
    module: &Module,
    funcs: &[&Func],
    target: &Target,
    options: &EmitOptions,
) -> Result<CudaModule, Diagnostics> {
    let mut found = Diagnostics::new();
    let job = read(module, funcs, target, &mut found);
    if found.has_errors() {
        return Err(found);
    }
    let lines = options.line_directives.then_some(&module.sources);
    let mut globals = Globals::default();
    let mut needs = Needs::default();
    let mut texts = Vec::new();
    let mut written = Vec::new();
    for (func, facts) in &job.kernels {
        let facts = facts.as_ref().ok_or_else(|| {
            Diagnostic::bug("emitter", func.location(func.header.loc), "a kernel was refused without a reason")
        })?;
        let name = globals.declare(func.symbol());
        let kernel::Text { text, sizes } = kernel::write(func, facts, &name, target, &mut needs, lines)?;
        texts.push(text);
        written.push((facts, name, sizes));
    }
    let mut manifests = Vec::new();
    for host in &job.hosts {
        let kernels: Vec<Written<'_>> = host
            .launches
            .iter()
            .filter_map(|launch| job.kernel_idx(launch.kernel))
            .map(|idx| Written { facts: written[idx].0, name: &written[idx].1, sizes: &written[idx].2 })
            .collect();
        manifests.push(manifest::build(host, &kernels, target)?);
    }
    let mut source = header(&manifests, target);
    needs.write(&mut source);
    source.push_str(&texts.join("\n"));
    Ok(CudaModule { source, manifests })
}

/// The comment at the top: what was made of what, for whom, and how it is launched.
fn header(manifests: &[KernelManifest], target: &Target) -> String {
    let mut out = format!("// Made by tc {} for {target}. Compile with --fmad=false.\n", env!("CARGO_PKG_VERSION"));
    let shown = |text: &str| text.chars().map(|c| if c.is_control() { '?' } else { c }).collect::<String>();
    for manifest in manifests {
        // A backslash at its end would make the next line part of the comment.
        let _ = writeln!(out, "// @{}:", shown(&manifest.function).replace('\\', "?"));
        for (nth, kernel) in manifest.kernels.iter().enumerate() {
            let grid = |dim: usize| match manifest.formula(&Slot::Grid { kernel: nth, dim }) {
                Some(formula) => formula.to_string(),
                None => kernel.grid[dim].to_string(),
            };
            let ([gx, gy, gz], [bx, by, bz]) = ([0, 1, 2].map(grid), kernel.block);
            let _ = write!(out, "//   {}: grid ({gx}, {gy}, {gz}), block ({bx}, {by}, {bz})", kernel.name);
            let shared = kernel.static_shared.saturating_add(kernel.dynamic_shared);
            if shared > 0 {
                let _ = write!(out, ", {shared} bytes of shared memory");
            }
            out.push('\n');
        }
    }
    out.push('\n');
    out
}
