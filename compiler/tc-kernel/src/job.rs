//! The way from a module to texts and manifests, which all emitters share.

use crate::accepts::{self, Emitter};
use crate::facts::Facts;
use crate::host::{self, Host};
use crate::manifest::{self, Written};
use crate::names::Globals;
use crate::reserved;
use tc_ir::verify::verify;
use tc_ir::{Func, Module};
use tc_support::{Diagnostic, Diagnostics, Location};
use tc_target::{KernelManifest, Target};

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

/// A kernel that was written.
pub struct Text {
    /// Its text.
    pub text: String,
    /// The sizes that it takes after its parameters, by name.
    pub sizes: Vec<String>,
}

/// All that was written.
pub struct Texts {
    /// The text of each kernel.
    pub kernels: Vec<String>,
    /// How they are launched, for each function of the host.
    pub manifests: Vec<KernelManifest>,
}

/// The functions of the host in `module`, of which there is at least one.
pub fn hosts(module: &Module) -> Result<Vec<&Func>, Diagnostic> {
    let hosts: Vec<&Func> = module.items.iter().filter(|item| host::is_host(item)).collect();
    if hosts.is_empty() {
        let text = "there is no program to emit";
        let help = "run the pipeline `cuda` on the operators first";
        return Err(Diagnostic::assumption("no-function", Location::None, text).help(help));
    }
    Ok(hosts)
}

/// What keeps the host function `function` and its kernels from being written by `emitter`.
pub fn accepts(module: &Module, function: &str, target: &Target, emitter: &Emitter) -> Diagnostics {
    match host::find(module, function) {
        Ok(func) => {
            let mut found = Diagnostics::new();
            read(module, &[func], target, emitter, &mut found);
            found
        }
        Err(wrong) => wrong.into(),
    }
}

fn read<'m>(
    module: &'m Module,
    funcs: &[&'m Func],
    target: &Target,
    emitter: &Emitter,
    found: &mut Diagnostics,
) -> Job<'m> {
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
                job.kernels.push((launch.kernel, accepts::kernel(launch.kernel, target, emitter, found)));
            }
        }
        job.hosts.push(host);
    }
    job
}

/// Asks what `emitter` accepts, lets `write` write each kernel under the name that it is given, and makes the manifests
/// of the host functions `funcs`.
pub fn emit(
    module: &Module,
    funcs: &[&Func],
    target: &Target,
    emitter: &Emitter,
    mut write: impl FnMut(&Func, &Facts, &str) -> Result<Text, Diagnostics>,
) -> Result<Texts, Diagnostics> {
    let mut found = Diagnostics::new();
    let job = read(module, funcs, target, emitter, &mut found);
    if found.has_errors() {
        return Err(found);
    }
    let mut globals = Globals::new(reserved::safe);
    let mut texts = Vec::new();
    let mut written = Vec::new();
    for (func, facts) in &job.kernels {
        let facts = facts.as_ref().ok_or_else(|| {
            Diagnostic::bug("emitter", func.location(func.header.loc), "a kernel was refused without a reason")
        })?;
        let name = globals.declare(func.symbol());
        let Text { text, sizes } = write(func, facts, &name)?;
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
    Ok(Texts { kernels: texts, manifests })
}
