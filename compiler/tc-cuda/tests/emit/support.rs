//! What the tests share: from text to CUDA, and from CUDA to PTX.

use crate::legal::legal;
use tc_cuda::{CudaModule, CudaProgram, EmitOptions};
use tc_ir::Module;
use tc_runtime::nvrtc;
use tc_support::{Diagnostic, Diagnostics, Sources, render};
use tc_syntax::{ParseOptions, parse_module};
use tc_target::Target;

pub(crate) const TARGETS: [&str; 3] = ["sm_70", "sm_80", "sm_90"];

/// What has a fused multiply-add in it: the op, and the bodies of quotients and functions in NVIDIA's library.
const FUSED: [&str; 13] =
    ["fma(", " / ", " % ", "exp", "log", "sqrt", "pow(", "tanh(", "sin(", "cos(", "tan(", "erf(", "sigmoid("];

pub(crate) fn target(name: &str) -> Target {
    Target::parse(name).expect("a target")
}

/// The module that `text` is; it must be right.
#[track_caller]
pub(crate) fn parse(text: &str) -> Module {
    let registry = tc_dialects::shared_registry();
    let (module, mut found) = parse_module("test.tir", text, &registry, &ParseOptions::default());
    for item in &module.items {
        found.append(tc_ir::verify::verify(item));
    }
    assert!(found.is_empty(), "{}", render::text(&found, &module.sources, false));
    module
}

/// `@f` of `text` as CUDA for `target`, its arithmetic made legal before.
pub(crate) fn try_emit(module: &Module, target_name: &str) -> Result<CudaProgram, Diagnostics> {
    let target = target(target_name);
    tc_cuda::emit(&legal(module, &target), "f", &target, &EmitOptions::default())
}

#[track_caller]
pub(crate) fn shown(found: &Diagnostics, sources: &Sources) -> String {
    render::text(found, sources, false)
}

/// `@f` of `text` as CUDA, the same twice, and compiled for all targets without a warning; contracted only where
/// the program says so.
#[track_caller]
pub(crate) fn emit(text: &str) -> CudaProgram {
    let module = parse(text);
    let program = try_emit(&module, "sm_80").unwrap_or_else(|found| panic!("{}", shown(&found, &module.sources)));
    assert_eq!(try_emit(&parse(text), "sm_80").expect("as before"), program, "the same text gives the same bytes");
    for name in TARGETS {
        let program = try_emit(&module, name).unwrap_or_else(|found| panic!("{}", shown(&found, &module.sources)));
        let ptx = compile(&program.source, name);
        // On sm_80 a sum of bf16 is `fma` with the factor 1, a product one with the addend -0: CUDA's header says so in
        // assembly, which no compiler contracts.
        let is_contracted = ptx.lines().any(|line| line.contains("fma.") && !line.contains("fma.rn.bf16"));
        assert!(
            FUSED.iter().any(|used| text.contains(used)) || !is_contracted,
            "{name}: contracted:\n{}\n{ptx}",
            program.source
        );
    }
    program
}

/// The PTX of `source`, which must compile without a warning.
#[track_caller]
pub(crate) fn compile(source: &str, target_name: &str) -> String {
    let made = nvrtc::compile(source, "test.cu", &target(target_name), &nvrtc::Options::default());
    let made = made.unwrap_or_else(|wrong| panic!("{}\n{source}", explain(&wrong)));
    // CUDA 12.9 says of every compilation for it that sm_70 will go.
    let log: Vec<&str> =
        made.log.lines().filter(|line| !line.contains("Architectures prior to") && !line.is_empty()).collect();
    assert!(log.is_empty(), "{target_name}: {}\n{source}", log.join("\n"));
    made.text()
}

pub(crate) fn explain(wrong: &Diagnostic) -> String {
    render::one(wrong, &Sources::new(), false)
}

/// The kernels of `source`, without the comment and what stands before them.
pub(crate) fn kernels(source: &str) -> &str {
    &source[source.find("extern \"C\"").unwrap_or(source.len())..]
}

/// Host `@f(params)` and its kernel `@f_kernel` with `body` inside one loop over `threadIdx.x`.
pub(crate) fn one_kernel(params: &str, args: &str, body: &str) -> String {
    format!(
        "tir.func @f({params}) {{
  @f_kernel({args})
}}
tir.func @f_kernel({params}) attributes {{device, noalias, threaded}} {{
  for tx in 0i32..32i32 bind(threadIdx.x) {{
{body}
  }}
}}
"
    )
}

/// All functions of `module`.
pub(crate) fn emit_all(module: &Module) -> CudaModule {
    tc_cuda::emit_module(module, &target("sm_80"), &EmitOptions::default()).expect("can be emitted")
}
