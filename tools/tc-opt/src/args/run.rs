//! What is done to the input.

use clap::ValueEnum;

/// What is written in the end.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Emit {
    /// The program as text.
    Tir,
    /// CUDA C++.
    Cuda,
    /// The GPU dialects of MLIR, for `mlir-opt` of LLVM 22.
    Mlir,
    /// TVMScript, for TVM 0.27.
    Tvmscript,
    /// PTX; `--via` says how.
    Ptx,
    /// LLVM IR, through MLIR.
    Llvm,
    /// A folder with machine code for each of `--targets`, a header and a C source that launches it.
    Bundle,
}

/// Where the C source of a bundle has the machine code.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum BundleLink {
    /// In itself.
    Embedded,
    /// In files, which it reads.
    Files,
}

/// The way from a program to PTX.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Via {
    /// CUDA C++ and NVIDIA's run-time compiler.
    Cuda,
    /// MLIR and LLVM, in process; for that the tool is built with the feature `tc/mlir`.
    Mlir,
}

/// What is checked around each pass.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum VerifyEach {
    /// Nothing.
    None,
    /// What the verifier checks.
    Structure,
    /// The verifier, and on the simulator that the program still means the same.
    Semantics,
}

/// What is done to the input.
#[derive(Clone, clap::Args, Debug)]
#[command(next_help_heading = "Running")]
pub struct RunArgs {
    /// The passes to run, such as 'module(schedule{name=v5},tir.func(simplify,cse))'; '@FILE' reads one
    #[arg(long, value_name = "STR")]
    pub pass_pipeline: Option<String>,

    /// What to write
    #[arg(long, value_enum, default_value = "tir")]
    pub emit: Emit,

    /// The way to PTX, with --emit=ptx and --lint; without it, CUDA
    #[arg(long, value_enum, value_name = "HOW")]
    pub via: Option<Via>,

    /// The GPU to compile for
    #[arg(long, value_name = "NAME", default_value = tc::Compiler::DEFAULT_TARGET)]
    pub target: String,

    /// The GPUs to compile for, with --emit=bundle
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "target")]
    pub targets: Vec<String>,

    /// The passes to run for one of --targets, in the place of --pass-pipeline, such as sm_90a=cuda{schedule=hopper}
    #[arg(long, value_name = "NAME=STR")]
    pub target_pipeline: Vec<String>,

    /// What the files and C names of a bundle begin with; without it, the name of FILE
    #[arg(long, value_name = "NAME")]
    pub bundle_name: Option<String>,

    /// Where the C source of a bundle has the machine code
    #[arg(long, value_enum, value_name = "HOW", default_value = "embedded")]
    pub bundle_link: BundleLink,

    /// What to check around each pass
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "structure", default_missing_value = "structure")]
    pub verify_each: VerifyEach,

    /// Steps that one run on the simulator may take, with --verify-each=semantics, --bisect and passes that ask it: one is
    /// one op done by one thread; without it 2e10, and a sixteenth of that around each pass
    #[arg(long, value_name = "N")]
    pub step_limit: Option<u64>,

    /// How many functions to work on at a time, four a core at the most; 0 stands for as many as there are cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

impl RunArgs {
    /// The way to PTX.
    pub fn via(&self) -> tc::Via {
        match self.via {
            Some(Via::Mlir) => tc::Via::Mlir,
            Some(Via::Cuda) | None => tc::Via::Cuda,
        }
    }

    /// What is wrong with a way that was given.
    pub fn stray_via(emit: Emit, via: Option<Via>) -> Option<&'static str> {
        match (emit, via) {
            (Emit::Ptx | Emit::Bundle, _) | (_, None) | (Emit::Llvm, Some(Via::Mlir)) => None,
            (Emit::Llvm, Some(Via::Cuda)) => Some("`--via=cuda` makes no LLVM IR: `--emit=llvm` goes through MLIR"),
            _ => Some("`--via` tells the way to PTX, and wants `--emit=ptx`, `--emit=bundle` or `--lint`"),
        }
    }
}
