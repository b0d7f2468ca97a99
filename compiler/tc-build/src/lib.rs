//! Kernels of tc in a Rust program, compiled when it is built: what a `build.rs` calls.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), tc_build::Error> {
//!     tc_build::Bundle::new("src/kernels.tir").pipeline("cuda{schedule=threads}").targets(["sm_80", "sm_90"]).compile()
//! }
//! ```
//!
//! [`Bundle::compile`] writes a bundle into cargo's folder for outputs, compiles its C by the crate `cc`, and tells cargo to
//! link it. The program includes the Rust module that is there, too:
//!
//! ```text
//! mod kernels {
//!     include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
//! }
//! ```
//!
//! `examples/aot_rust/` is a whole program. Machine code is made by NVRTC, without a GPU; the program itself opens the CUDA
//! driver when it calls a kernel, and needs nothing else. docs/bundles.md says what its functions check.

use std::fmt;
use std::path::{Path, PathBuf};
use tc::bundles::{Link, Options};
use tc::target::Target;
use tc::{BundleTarget, Compiler, Failure};

/// A `.tir` file that becomes a part of the program.
#[derive(Clone, Debug)]
pub struct Bundle {
    file: PathBuf,
    name: Option<String>,
    pipeline: String,
    targets: Vec<String>,
    own: Vec<(String, String)>,
}

/// Why a bundle was not made. `build.rs` returns it from `main`, which prints all of it.
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As it is displayed: that is what Rust prints of an error of `main`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error(format!("\n{}", failure.text()))
    }
}

impl Bundle {
    /// The programs of `file`, whose path is that from the folder of `Cargo.toml`. By default the pipeline is `cuda`, the
    /// target that of tc, and the name that of the file.
    pub fn new(file: impl Into<PathBuf>) -> Bundle {
        Bundle { file: file.into(), name: None, pipeline: "cuda".into(), targets: Vec::new(), own: Vec::new() }
    }

    /// The name of the module, and of the C library.
    pub fn name(mut self, name: impl Into<String>) -> Bundle {
        self.name = Some(name.into());
        self
    }

    /// The passes to run, for all targets that have none of their own.
    pub fn pipeline(mut self, pipeline: impl Into<String>) -> Bundle {
        self.pipeline = pipeline.into();
        self
    }

    /// The targets to compile for: `sm_80`, `sm_90a`.
    pub fn targets<S: Into<String>>(mut self, targets: impl IntoIterator<Item = S>) -> Bundle {
        self.targets.extend(targets.into_iter().map(Into::into));
        self
    }

    /// One more target, with passes of its own.
    pub fn target_with(mut self, target: impl Into<String>, pipeline: impl Into<String>) -> Bundle {
        self.own.push((target.into(), pipeline.into()));
        self
    }

    /// Makes the bundle as [`Bundle::write`] does, compiles its C, and tells cargo what to link and when to do so again.
    /// It is for a `build.rs`: it reads the variables that cargo sets, and prints what cargo reads.
    #[expect(clippy::print_stdout, reason = "that is how a build script talks to cargo")]
    pub fn compile(&self) -> Result<(), Error> {
        let out = std::env::var_os("OUT_DIR").ok_or_else(|| Error("cargo sets `OUT_DIR` for a build script".into()))?;
        let made = self.write(Path::new(&out))?;
        for warning in made.warnings.lines() {
            println!("cargo::warning={warning}");
        }
        println!("cargo::rerun-if-changed={}", self.file.display());
        let name = &made.name;
        let mut cc = cc::Build::new();
        cc.file(made.folder.join(format!("{name}.c"))).include(&made.folder).warnings(true).extra_warnings(true);
        cc.try_compile(&format!("{name}_bundle"))
            .map_err(|error| Error(format!("`cc` failed on `{name}.c`: {error}")))?;
        for library in ["dl", "pthread"] {
            println!("cargo::rustc-link-lib={library}");
        }
        Ok(())
    }

    /// Writes the files into `folder`: the C, the machine code, and the module `NAME.rs`.
    pub fn write(&self, folder: &Path) -> Result<Made, Error> {
        let shown = self.file.display().to_string();
        let text = tc::load(&self.file).map_err(|error| match error {
            tc::LoadError::Io(error) => Error(format!("cannot read `{shown}`: {error}")),
            tc::LoadError::Text(found, sources) => Failure { diagnostics: (*found).into(), sources }.into(),
        })?;
        let stem = || self.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let options = Options { name: self.name.clone().unwrap_or_else(stem), link: Link::Embedded, rust: true };
        let compiler = Compiler::new();
        let module = compiler.parse(&shown, &text)?.module;
        let bundle = compiler.bundle(&module, &self.bundle_targets()?, &options)?;
        for file in &bundle.files {
            let path = folder.join(&file.name);
            let written = std::fs::write(&path, &file.bytes);
            written.map_err(|error| Error(format!("cannot write `{}`: {error}", path.display())))?;
        }
        let warnings = Failure { diagnostics: bundle.warnings, sources: bundle.sources }.text();
        Ok(Made { name: options.name, folder: folder.to_path_buf(), warnings })
    }

    fn bundle_targets(&self) -> Result<Vec<BundleTarget>, Error> {
        let common = self.targets.iter().map(|target| (target.as_str(), self.pipeline.as_str()));
        let own = self.own.iter().map(|(target, pipeline)| (target.as_str(), pipeline.as_str()));
        let mut named: Vec<(&str, &str)> = common.chain(own).collect();
        if named.is_empty() {
            named.push((Compiler::DEFAULT_TARGET, &self.pipeline));
        }
        let target = |(name, pipeline): (&str, &str)| {
            let target = Target::parse(name).map_err(|wrong| {
                let help = wrong.help.map_or(String::new(), |help| format!("; {help}"));
                Error(format!("{}{help}", wrong.message))
            })?;
            Ok(BundleTarget { target, pipeline: pipeline.to_string() })
        };
        named.into_iter().map(target).collect()
    }
}

/// What was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    /// The name of the bundle.
    pub name: String,
    /// Where its files are.
    pub folder: PathBuf,
    /// What the passes warned of.
    pub warnings: String,
}
