//! Programs with vectorized loops and virtual threads, through the whole pipeline: the CUDA compiles for three generations
//! of GPUs.

use std::path::Path;
use tc::Compiler;
use tc::runtime::nvrtc;
use tc::target::Target;

/// Corpus files whose loops are launched: what the corpus checks as text is compiled here.
const FILES: &[&str] = &[
    "passes/inject-virtual-thread/basic.tir",
    "passes/inject-virtual-thread/depthwise.tir",
    "passes/inject-virtual-thread/loops-and-conditions.tir",
    "passes/inject-virtual-thread/shared-buffers.tir",
    "passes/vectorize-loop/alignment.tir",
    "passes/vectorize-loop/basic.tir",
    "passes/vectorize-loop/buffers-inside.tir",
    "passes/vectorize-loop/conditions.tir",
    "passes/vectorize-loop/element-types.tir",
    "pipeline/conv2d.tir",
    "pipeline/vectors-at-a-tail.tir",
    "pipeline/vectors-of-narrow-elements.tir",
    "pipeline/vectors-through-shared-memory.tir",
];

/// Every element type in arithmetic, choices, casts and gathers of vectors, at all widths that a loop can get.
fn of_type(elem: &str, extent: usize) -> String {
    format!(
        "tir.func @f(A: {elem}[1025], B: {elem}[1024], C: f32[1024], I: i32[1024]) attributes {{noalias}} {{
  for tx in 0..32 bind(threadIdx.x) {{
    for i in 0..{extent} vectorize {{
      let p = tx * {extent} + i
      B[p] = max(A[p] * A[p + 1], A[1]) + select(i % 3 == 1, A[p], A[i * 2])
      C[p] = cast<f32>(A[1023 - p]) * cast<f32>(p) + cast<f32>(I[p])
      if tx < 16 {{
        B[p] = if_then_else(tx > 3, A[cast<index>(I[i]) % 1024], B[p])
      }}
    }}
  }}
}}
"
    )
}

fn compiles(compiler: &Compiler, name: &str, text: &str) {
    let source = match compiler.compile_to_cuda(name, text, "cuda") {
        Ok(emitted) => emitted.source,
        Err(why) => panic!("{name} for {}: {why}", compiler.target),
    };
    let compiled = nvrtc::compile(&source, name, &compiler.target, &nvrtc::Options::default());
    assert!(compiled.is_ok(), "{name} for {}: {:?}\n{source}", compiler.target, compiled.err());
}

#[test]
fn vectors_and_virtual_threads_compile_for_three_targets() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filecheck-tests");
    for target in ["sm_70", "sm_80", "sm_90"] {
        let compiler = Compiler { target: Target::parse(target).expect("one of the targets"), ..Compiler::new() };
        for file in FILES {
            let text = std::fs::read_to_string(folder.join(file)).expect("the corpus file is there");
            compiles(&compiler, file, &text);
        }
    }
}

#[test]
fn vectors_of_every_element_type_and_width_compile() {
    let compiler = Compiler { target: Target::parse("sm_90").expect("one of the targets"), ..Compiler::new() };
    for elem in ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"] {
        for extent in [2, 4, 6, 8, 16, 32] {
            compiles(&compiler, &format!("{elem}-{extent}.tir"), &of_type(elem, extent));
        }
    }
}
