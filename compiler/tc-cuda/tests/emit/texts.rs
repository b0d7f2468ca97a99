//! What the text looks like, and what stands in the manifest.

use crate::legal::legal;
use crate::support::{compile, emit, emit_all, kernels, one_kernel, parse, shown, target};
use tc_cuda::EmitOptions;
use tc_target::{Access, Param};

/// The files of the corpus that are emitted.
fn corpus() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../filecheck-tests/emit-cuda");
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "tir"));
    files.sort();
    let name = |path: &std::path::Path| path.file_name().expect("a file").to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).expect("readable"))).collect()
}

/// The target that has all that is emitted.
const NEWEST: &str = "sm_90a";

#[test]
fn the_corpus_compiles_for_every_target_with_and_without_lines() {
    let mut n_compiled = 0;
    for (name, text) in corpus().into_iter().filter(|(name, _)| !name.starts_with("refuses-")) {
        // Some programs are for the newest target alone, and all compile for it.
        for target_name in crate::support::TARGETS.into_iter().chain([NEWEST]) {
            let target = target(target_name);
            let module = legal(&parse(&text), &target);
            for line_directives in [false, true] {
                let made = tc_cuda::emit_module(&module, &target, &EmitOptions { line_directives });
                let again =
                    tc_cuda::emit_module(&legal(&parse(&text), &target), &target, &EmitOptions { line_directives });
                assert_eq!(made, again, "{name}");
                match made {
                    Ok(made) => {
                        let ptx = compile(&made.source, target_name);
                        n_compiled += usize::from(ptx.contains(".entry"));
                    }
                    // An instruction that an older target does not have.
                    Err(found) if target_name != NEWEST && found.iter().any(|one| one.code == "target-feature") => {}
                    Err(found) => panic!("{name} for {target_name}: {}", shown(&found, &module.sources)),
                }
            }
        }
    }
    assert!(n_compiled >= 60, "{n_compiled}");
}

#[test]
fn nothing_is_contracted_in_the_convolution() {
    let (_, text) = corpus().into_iter().find(|(name, _)| name == "conv1d.tir").expect("it is there");
    let ptx = compile(&emit_all(&parse(&text)).source, "sm_90");
    assert!(ptx.contains("mul.rn.f32") && !ptx.contains("fma."), "{ptx}");
}

#[test]
fn what_is_above_a_kernel_is_only_what_it_uses() {
    let source = emit(&one_kernel("A: f32[32]", "A", "    A[tx] = A[tx] + 1.0")).source;
    let version = env!("CARGO_PKG_VERSION");
    let want = format!(
        "// Made by tc {version} for sm_80. Compile with --fmad=false.
// @f:
//   f_kernel: grid (1, 1, 1), block (32, 1, 1)

extern \"C\" __global__ void __launch_bounds__(32) f_kernel(float* __restrict__ A) {{
  const int tx = threadIdx.x;
  A[tx] = A[tx] + 1.0f;
}}
"
    );
    assert_eq!(source, want);
    let half = emit(&one_kernel("A: f16[32]", "A", "    A[tx] = A[tx] + A[tx]")).source;
    assert!(half.contains("#include <cuda_fp16.h>\n\nextern"), "{half}");
}

#[test]
fn a_vector_access_is_one_instruction() {
    let body = "    B[ramp(tx * 8, 1, 8)] = tir.load(A, ramp(tx * 8, 1, 8), aligned = 16) attributes {aligned = 16}";
    for (elem, load) in [("f16", "ld.global.nc.v4"), ("f32", "ld.global.nc.v4"), ("i8", "ld.global.nc.v4")] {
        let params = format!("A: {elem}[256], B: {elem}[256]");
        // Eight bytes: an alignment of 16 is more than is needed.
        let ptx = compile(&emit(&one_kernel(&params, "A, B", body)).source, "sm_90");
        assert!(ptx.contains(load) && ptx.contains("st.global.v"), "{elem}: {ptx}");
    }
    let unaligned = body.replace(", aligned = 16", "").replace(" attributes {aligned = 16}", "");
    let ptx = compile(&emit(&one_kernel("A: f32[256], B: f32[256]", "A, B", &unaligned)).source, "sm_90");
    assert!(!ptx.contains(".v2") && !ptx.contains(".v4"), "{ptx}");
}

#[test]
fn lines_point_into_the_source() {
    let text =
        one_kernel("A: f32[32], n: i32", "A, n", "    for i in 0i32..n unroll {\n      A[tx] = A[tx] + 1.0\n    }");
    let module = parse(&text);
    let made = tc_cuda::emit(&module, "f", &target("sm_80"), &EmitOptions { line_directives: true });
    let source = made.expect("can be emitted").source;
    compile(&source, "sm_80");
    let want = "#line 5 \"test.tir\"
  const int tx = threadIdx.x;
  #pragma unroll
#line 6 \"test.tir\"
  for (int i = 0; i < n; ++i) {
#line 7 \"test.tir\"
    A[tx] = A[tx] + 1.0f;
  }
}
";
    assert!(source.ends_with(want), "{source}");
}

#[test]
fn the_manifest_tells_launches_and_accesses() {
    let (_, text) = corpus().into_iter().find(|(name, _)| name == "two-kernels.tir").expect("it is there");
    let manifest = emit(&text).manifest;
    let access = |param: &Param| match param {
        Param::Buffer(buffer) => format!("{}: {} {:?} {:?}", buffer.name, buffer.dtype, buffer.shape, buffer.access),
        Param::Scalar(scalar) => format!("{}: {}", scalar.name, scalar.dtype),
    };
    let params: Vec<String> = manifest.params.iter().map(access).collect();
    assert_eq!(params, ["A: f32 [256] Read", "n: i32", "B: f32 [256] Write"]);
    let [temporary] = &manifest.temporaries[..] else { panic!("{manifest:?}") };
    assert_eq!((temporary.name.as_str(), temporary.bytes, temporary.access), ("T", 1024, Access::ReadWrite));
    let [first, second] = &manifest.kernels[..] else { panic!("{manifest:?}") };
    assert_eq!((first.name.as_str(), &first.args[..]), ("f_kernel", &["A".to_string(), "T".into()][..]));
    assert_eq!((first.grid, first.block, first.static_shared), ([8, 1, 1], [32, 1, 1], 0));
    assert_eq!(
        (second.name.as_str(), &second.args[..]),
        ("f_kernel_1", &["T".to_string(), "n".into(), "B".into()][..])
    );
    assert_eq!((second.grid, second.block, second.static_shared), ([1, 2, 1], [64, 1, 1], 256));
    assert_eq!(manifest.validate(), Ok(()));
}

#[test]
fn one_kernel_launched_twice_is_written_once() {
    let text = "tir.func @f(A: f32[32], B: f32[32]) {
  @step(A, B)
  @step(B, A)
}
tir.func @g(A: f32[32] attributes {align = 128}, B: f32[32]) {
  @step(B, A)
}
tir.func @step(X: f32[32], Y: f32[32]) attributes {device, threaded} {
  for tx in 0i32..32i32 bind(threadIdx.x) {
    Y[tx] = X[tx]
  }
}
";
    let made = emit_all(&parse(text));
    assert_eq!(made.source.matches("__global__").count(), 1);
    let [f, g] = &made.manifests[..] else { panic!("{made:?}") };
    assert_eq!(f.kernels.iter().map(|kernel| kernel.args.join(" ")).collect::<Vec<_>>(), ["A B", "B A"]);
    assert!(f.params.iter().all(|param| matches!(param, Param::Buffer(buffer) if buffer.access == Access::ReadWrite)));
    let align = |param: &Param| if let Param::Buffer(buffer) = param { buffer.alignment } else { 0 };
    assert_eq!(g.params.iter().map(align).collect::<Vec<_>>(), [128, 16]);
    // Without `noalias` nothing is promised.
    assert!(!made.source.contains("__restrict__") && made.source.contains("const float* X"));
}

#[test]
fn reads_stay_before_the_writes_that_follow_them() {
    let body = "    $1 = tir.load(A, tx)
    A[tx] = 1.0
    for i in 0i32..2i32 {
      A[tx + i] = $1
    }
    $2 = tir.load(A, tx)
    $3 = arith.add($2, $2)
    B[tx] = $3 + A[tx + 1]
    $4 = tir.load(B, tx)
    if $4 < 1.0 {
      B[tx] = $4
    }";
    let made = emit(&one_kernel("A: f32[64], B: f32[64]", "A, B", body));
    let want = "  const float t1 = A[tx];
  A[tx] = 1.0f;
  for (int i = 0; i < 2; ++i) {
    A[tx + i] = t1;
  }
  const float t2 = A[tx];
  B[tx] = t2 + t2 + A[tx + 1];
  const float t3 = B[tx];
  if (t3 < 1.0f) {
    B[tx] = t3;
  }
}
";
    assert!(kernels(&made.source).ends_with(want), "{}", made.source);
}

#[test]
fn a_condition_is_evaluated_only_where_the_program_does() {
    // An arm of a conditional never moves out of it, nor does what it needs.
    let body = "    let x = if_then_else(tx < n, A[tx], if_then_else(tdiv(tx, n) == 0 || A[tx - n] < 0.0, 1.0, 2.0))
    B[tx] = x + select(x < 1.0, A[0i32], x)";
    let made = emit(&one_kernel("A: f32[64], n: i32, B: f32[64]", "A, n, B", body));
    let want = "  const float x = tx < n ? A[tx] : tx / n == 0 || A[tx - n] < 0.0f ? 1.0f : 2.0f;
  B[tx] = x + (x < 1.0f ? A[0] : x);
}
";
    assert!(kernels(&made.source).ends_with(want), "{}", made.source);
}

#[test]
fn what_nothing_needs_is_left_out() {
    let body = "    alloc L: f32[4] in local
    alloc M: f32[4] in local
    let unused = tx * 2 + n
    let read = A[tx]
    count, sum = for i in 0i32..n carry(c = 0i32, s = 0.0) {
      yield c + 1, s + A[i]
    }
    low, high = if n < 4 { yield 1.0, 2.0 } else { yield 2.0, A[tx] }
    M[0i32] = sum
    A[tx] = high";
    // `c` goes round, although nothing uses `count`.
    let made = emit(&one_kernel("A: f32[64], n: i32", "A, n", body));
    let text = kernels(&made.source);
    assert!(text.contains("[[maybe_unused]] float M[4];") && text.contains("int c = 0;"), "{text}");
    for absent in ["L[", "unused =", "read =", "low"] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
}

#[test]
fn names_of_numbers_are_used_where_they_are_declared() {
    let body = "    let first = 8i32
    let one = 1i32
    let half = 0.5f16
    let no = false
    let none = 0u32
    for i in none..U[tx] {
      H[ramp(first, one, 2)] = exp(H[ramp(first, one, 2)])
    }
    H[tx] = exp(half) + H[first + one]
    let both = if_then_else(U[tx] > none, tx < first, no)
    H[tx + 8] = if_then_else(both, half, 1.0)";
    let made = emit(&one_kernel("H: f16[64], U: u32[64]", "H, U", body));
    let text = kernels(&made.source);
    for kept in [
        "const int first = 8;",
        "= none; i < t",
        "expf(0.5f)",
        "both ? half :",
        "H[first + one]",
        "H[first + 1]",
        ": no;",
    ] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
}

#[test]
fn tiles_of_known_registers_stay_in_registers() {
    for (name, n_products) in [("mma-sync.tir", 32), ("mma-types.tir", 8)] {
        let (_, text) = corpus().into_iter().find(|(file, _)| file == name).expect("it is there");
        let ptx = compile(&emit_all(&parse(&text)).source, "sm_80");
        // What is not in registers is in the thread's own memory, which has a depot.
        assert!(!ptx.contains(".local"), "{name}:\n{ptx}");
        assert_eq!(ptx.matches("mma.sync.aligned").count(), n_products, "{name}:\n{ptx}");
    }
}

#[test]
fn tiles_count_on_more_alignment_than_numbers_do() {
    let (_, text) = corpus().into_iter().find(|(file, _)| file == "fragments.tir").expect("it is there");
    let manifest = &emit_all(&parse(&text)).manifests[0];
    let alignment = |param: &Param| match param {
        Param::Buffer(buffer) => buffer.alignment,
        Param::Scalar(_) => 0,
    };
    assert_eq!(manifest.params.iter().map(alignment).collect::<Vec<_>>(), [32; 7]);
}
