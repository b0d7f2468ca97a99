//! NVIDIA's compiler, without a GPU. `scripts/install-nvrtc` puts both versions where these tests find them.

use tc_runtime::nvrtc::{Options, Output, available, compile};
use tc_support::{Diagnostic, Fault, LineCol, Location};
use tc_target::Target;

const AXPY: &str = r#"
extern "C" __global__ void axpy(const float* __restrict__ x, float* __restrict__ y, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i] + y[i];
}
"#;

fn target(name: &str) -> Target {
    Target::parse(name).expect("a target")
}

fn shown(wrong: Diagnostic) -> String {
    tc_support::render::one(&wrong, &tc_support::Sources::new(), false)
}

#[test]
fn every_target_has_a_compiler_that_contracts_nothing() {
    for target in Target::all() {
        let made = compile(AXPY, "axpy.cu", target, &Options::default()).map_err(shown).unwrap();
        let ptx = made.text();
        assert!(ptx.contains(&format!(".target {}", target.name)), "{target}");
        assert!(ptx.contains(".entry axpy"), "{target}");
        assert!(ptx.contains("mul.") && !ptx.contains("fma."), "{target}: a product was contracted:\n{ptx}");
        assert!(!made.code.contains(&0), "{target}: text ends in no zero byte");
    }
}

#[test]
fn volta_takes_the_compiler_that_still_knows_it() {
    // CUDA 13.0 dropped compute capability 7.0 ("CUDA 13.0 Release Notes", section 1.5 on deprecated architectures).
    let (version, path) = available(&target("sm_70"), None).map_err(shown).unwrap();
    assert!(version < (13, 0), "{version:?} at {}", path.display());
    let (version, _) = available(&target("sm_90a"), Some((12, 9))).map_err(shown).unwrap();
    assert!(version <= (12, 9), "a driver that knows CUDA 12.9 reads no newer PTX");
    let wrong = available(&target("sm_90a"), Some((1, 0))).unwrap_err();
    assert_eq!((wrong.code, wrong.message.as_str()), ("no-nvrtc", "no NVRTC found that compiles for `sm_90a`"));
    assert!(wrong.notes.iter().any(|note| note.ends_with("is newer than the driver")), "{:?}", wrong.notes);
}

#[test]
fn headers_are_found_for_both_versions() {
    let source = r#"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void gemm(const half* a, const half* b, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
"#;
    for name in ["sm_70", "sm_80", "sm_90a"] {
        let made = compile(source, "gemm.cu", &target(name), &Options::default()).map_err(shown).unwrap();
        assert!(made.text().contains("wmma.mma.sync"), "{name}");
    }
}

#[test]
fn machine_code_is_made_on_request() {
    let options = Options { output: Output::Cubin, line_info: true, ..Options::default() };
    for name in ["sm_70", "sm_90a"] {
        let made = compile(AXPY, "axpy.cu", &target(name), &options).map_err(shown).unwrap();
        assert!(made.code.starts_with(b"\x7fELF"), "{name}");
    }
    // What ptxas refuses is an error here already: more shared memory than there is.
    let source = "extern \"C\" __global__ void k(int* p) { __shared__ int s[1 << 16]; s[*p] = 1; *p = s[p[1]]; }";
    let wrong = compile(source, "k.cu", &target("sm_80"), &options).unwrap_err();
    assert_eq!(wrong.code, "nvrtc");
    assert!(shown(wrong.clone()).contains("too much shared data"), "{}", shown(wrong));
}

#[test]
fn an_error_stands_where_the_line_directive_says() {
    let source = "extern \"C\" __global__ void k(float* p) {\n#line 42 \"conv.tir\"\n  p[0] = q;\n}\n";
    let wrong = compile(source, "k.cu", &target("sm_80"), &Options::default()).unwrap_err();
    assert_eq!((wrong.code, wrong.fault), ("nvrtc", Fault::Bug));
    assert_eq!(wrong.message, "NVRTC refused the program: identifier \"q\" is undefined");
    assert_eq!(wrong.location, Location::Point { file: "conv.tir".into(), at: LineCol { line: 42, col: 1 } });
    assert!(wrong.notes[0].contains("conv.tir(42): error"), "{}", wrong.notes[0]);
}

#[test]
fn no_source_brings_the_process_down() {
    let refused = |source: &str| compile(source, "k.cu", &target("sm_80"), &Options::default()).unwrap_err();
    assert_eq!(refused("int x = \0;").message, "the source given to NVRTC holds a zero byte");
    let deep =
        format!("extern \"C\" __global__ void k(int* p) {{ *p = {}1{}; }}", "(".repeat(20_000), ")".repeat(20_000));
    // Accepted or refused: it comes back.
    match compile(&deep, "deep.cu", &target("sm_80"), &Options::default()) {
        Ok(made) => assert!(made.text().contains(".entry k")),
        Err(wrong) => assert!(shown(wrong).len() < 100_000),
    }
    let options = Options { extra: vec!["--no-such-option".into()], ..Options::default() };
    let wrong = compile(AXPY, "k.cu", &target("sm_80"), &options).unwrap_err();
    assert!(shown(wrong.clone()).contains("no-such-option"), "{}", shown(wrong));
}
