//! Programs compiled ahead of time: machine code for several targets, and the C that launches it.

use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::guard::guarded;
use tc_bundle::{File, Options, TargetCode};
use tc_ir::Module;
use tc_support::{Diagnostic, Diagnostics, Sources};
use tc_target::Target;

/// A target of a bundle, and the pipeline that makes the program for it: what is best for one target another may lack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BundleTarget {
    /// The target.
    pub target: Target,
    /// The pass pipeline, `cuda` or a longer one.
    pub pipeline: String,
}

/// What came of a program that was compiled ahead of time.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The files, which belong into one folder.
    pub files: Vec<File>,
    /// Diagnostics of the passes that are no errors, each once.
    pub warnings: Diagnostics,
    /// The texts that they point into.
    pub sources: Sources,
}

impl Compiler {
    /// The files of a bundle with all programs of `module`, for each of `targets`: C that launches them, and machine code.
    /// Each target begins with a copy of `module`, which no pipeline was run on. No GPU is needed, but NVRTC.
    ///
    /// ```no_run
    /// use tc::bundles::{Link, Options};
    /// use tc::{BundleTarget, target::Target};
    ///
    /// let compiler = tc::Compiler::new();
    /// let module = compiler.parse("add.tir", &std::fs::read_to_string("examples/add.tir")?)?.module;
    /// let pipeline = "cuda{schedule=threads,symbolic=true}".to_string();
    /// let targets = [BundleTarget { target: Target::parse("sm_80").expect("known"), pipeline }];
    /// let options = Options { name: "add".into(), link: Link::Embedded, rust: false };
    /// for file in compiler.bundle(&module, &targets, &options)?.files {
    ///     std::fs::write(&file.name, &file.bytes)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bundle(&self, module: &Module, targets: &[BundleTarget], options: &Options) -> Result<Bundle, Failure> {
        let failed = |diagnostics| Failure { diagnostics, sources: module.sources.clone() };
        guarded("writing a bundle", &module.sources, || {
            // What is wrong with the name is told before minutes of work.
            tc_bundle::check_name(&options.name).map_err(|wrong| failed(wrong.into()))?;
            let mut sources = module.sources.clone();
            let mut warnings: Vec<Diagnostic> = Vec::new();
            let mut codes = Vec::with_capacity(targets.len());
            for BundleTarget { target, pipeline } in targets {
                let compiler = Compiler { target: *target, ..self.clone() };
                // The texts of all pipelines stay, as diagnostics point into them.
                let mut module = Module { sources, ..module.clone() };
                let found = compiler.run(&mut module, pipeline)?.diagnostics;
                warnings.extend(found.iter().filter(|one| !warnings.contains(one)).cloned().collect::<Vec<_>>());
                let cubin = compiler.emit_cubin(&module, compiler.via)?;
                codes.push(TargetCode { target: *target, manifests: cubin.manifests, cubin: cubin.code });
                sources = module.sources;
            }
            let files = tc_bundle::write(&codes, options).map_err(failed)?;
            Ok(Bundle { files, warnings: warnings.into_iter().collect(), sources })
        })
    }
}
