//! What is refused: all of it at once, each at its line, and nothing brings the emitter down.

use crate::legal::legal;
use crate::support::{compile, one_kernel, parse, shown, target, try_emit};
use tc_cuda::EmitOptions;
use tc_dialects::{arith, tir};
use tc_ir::{Builder, Elem, Func, Module, TypeData, Value, keys};
use tc_support::Location;

/// Emits `@f` of `text`, in which each guilty line ends with `// ! message`, and checks that just those diagnostics are
/// made, each on its line.
#[track_caller]
fn refuses(text: &str) {
    let module = parse(text);
    let found = try_emit(&module, "sm_80").expect_err("it cannot be emitted");
    assert_eq!(tc_cuda::accepts(&module, "f", &target("sm_80")), found);
    let mut have: Vec<(u32, String)> = found
        .iter()
        .map(|diagnostic| match &diagnostic.location {
            Location::Span(span) => {
                (module.sources.line_col(span.start).expect("in the text").1.line, diagnostic.message.clone())
            }
            other => panic!("{other:?} is no place: {}", diagnostic.message),
        })
        .collect();
    let expected = |(line, number): (&str, u32)| Some((number, line.split_once("// ! ")?.1.to_string()));
    let mut want: Vec<(u32, String)> = text.lines().zip(1..).filter_map(expected).collect();
    have.sort();
    want.sort();
    assert_eq!(have, want, "{}", shown(&found, &module.sources));
    assert!(!want.is_empty(), "the test expects nothing");
}

#[test]
fn what_passes_should_have_removed_is_found_in_one_go() {
    refuses(
        "tir.func @f(A: f32[64], B: i32[64]) {
  @k(A, B)
}
tir.func @k(A: f32[64], B: i32[64]) attributes {device} {  // ! the threads of `@k` are not synchronised yet
  for tx in 0i32..32i32 bind(threadIdx.x) {
    for v in 0i32..2i32 bind(vthread) {      // ! the directive `bind(vthread)` of this loop was not carried out
      A[tx] = 1.0
    }
    for i in 0i32..4i32 vectorize {          // ! the directive `vectorize` of this loop was not carried out
      A[tx] = 2.0
    }
    B[tx] = B[tx] / 3                        // ! a division that rounds down is left over
    if likely(tx < 4) {                      // ! a hint `likely` is left over
      A[tx] = 3.0
    }
    alloc W: f32[4] in registers             // ! a kernel cannot declare `W` in `registers`
    W[tx] = 0.0
    tir.call(A, callee = @k)                 // ! a kernel cannot call a function
  }
}
",
    );
}

#[test]
fn arithmetic_that_passes_write_in_other_ops_is_refused_without_them() {
    let lines = [
        "A[tx] = tmod(A[tx], A[tx + 1])",
        "H[tx] = exp(H[tx])",
        "H[tx] = cast<f16>(A[tx])",
        "F[tx] = sigmoid(F[tx])",
        "F[tx] = F[tx] % 3.0",
        "T[tx] = cast<bool>(A[tx])",
        "F[tx] = exp(F[tx]) + cast<f32>(H[tx])",
    ];
    let body = lines.map(|line| format!("    {line}")).join("\n");
    let text = one_kernel("A: i32[64], H: f16[64], F: f32[64], T: bool[64]", "A, H, F, T", &body);
    let module = parse(&text);
    let emit = |module: &Module| tc_cuda::emit(module, "f", &target("sm_80"), &EmitOptions::default());
    let found = emit(&module).expect_err("the last line is the only one that has words");
    assert_eq!(found.len(), lines.len() - 1, "{}", shown(&found, &module.sources));
    for diagnostic in found.iter() {
        let help = diagnostic.help.as_deref().unwrap_or_default();
        assert_eq!(help, "run the passes `legalize-dtype` and `legalize-arith`; the pipeline `cuda` does");
    }
    emit(&legal(&module, &target("sm_80"))).expect("nothing is left for the passes");
}

#[test]
fn launches_that_the_target_does_not_allow_are_refused() {
    refuses(
        "tir.func @f(A: f32[64], n: i32) {
  @k(A, n)
  @l(A)
  @m(A)
}
tir.func @k(A: f32[64], n: i32) attributes {device, threaded} {
  for bx in 0i32..n bind(blockIdx.x) {            // ! the extent of the launch along `blockIdx.x` is not constant
    for by in 0i32..65536i32 bind(blockIdx.y) {   // ! an extent of 65536 along `blockIdx.y`, where `sm_80` allows 65535
      for tx in 0i32..32i32 bind(threadIdx.x) {
        A[tx] = 1.0
      }
      for tx in 0i32..16i32 bind(threadIdx.x) {   // ! two loops over `threadIdx.x` have extents 32 and 16
        A[tx] = 1.0
      }
    }
  }
}
tir.func @l(A: f32[64]) attributes {device, threaded} {
  for tx in 0i32..64i32 bind(threadIdx.x) {
    for ty in 0i32..64i32 bind(threadIdx.y) {     // ! a block has 64 x 64 x 1 threads, where `sm_80` allows 1024 in all
      A[tx] = cast<f32>(ty)
    }
  }
}
tir.func @m(A: f32[64]) attributes {device, threaded} {
  for tx in 4i32..4i32 bind(threadIdx.x) {        // ! nothing is launched: `threadIdx.x` runs from 4 to 4
    A[tx] = 1.0
  }
}
",
    );
}

#[test]
fn shared_memory_is_counted() {
    refuses(
        "tir.func @f(A: f32[64]) {
  @k(A)
}
tir.func @k(A: f32[64]) attributes {device, threaded} {
  for tx in 0i32..32i32 bind(threadIdx.x) {
    alloc S: f32[1] in shared
    alloc T: f32[12287] in shared      // ! with `T` the kernel has 49164 bytes of shared memory of fixed size, where `sm_80` allows 49152
    alloc U: f32[1] in shared
    alloc D: u8[16] in shared.dyn
    alloc E: u8[16] in shared.dyn      // ! a kernel has one buffer in `shared.dyn`, and this is another
    S[tx] = A[tx] + T[tx] + U[tx]
    D[tx] = E[tx]
    A[tx] = S[0i32]
  }
}
",
    );
    refuses(
        "tir.func @f(A: f32[64]) {
  @k(A)
}
tir.func @k(A: f32[64]) attributes {device, threaded} {
  for tx in 0i32..32i32 bind(threadIdx.x) {
    alloc D: u8[166913] in shared.dyn  // ! 166913 bytes of shared memory, where `sm_80` allows 166912
    A[tx] = cast<f32>(D[tx])
  }
}
",
    );
}

#[test]
fn a_host_function_launches_kernels_and_does_nothing_else() {
    refuses(
        "tir.func @f(A: f32[64], n: i32) {
  alloc T: f32[64] in shared           // ! the host cannot make `T` in `shared`
  for i in 0..64 {                     // ! `tir.for` is left for the host, which only launches kernels
    A[i] = 1.0
  }
}
",
    );
    refuses(
        "tir.func @f(A: f32[64], H: f16[64], n: i32) {
  tir.call(A, callee = @nowhere)       // ! there is no kernel `@nowhere`
  tir.call(A, callee = @g)             // ! `@g` is no kernel: it lacks the attribute `device`
  tir.call(A, n, callee = @k)          // ! `@k` takes 1 argument, not 2
  tir.call(H, callee = @k)             // ! the parameter `A` of `@k` is `f32[64]`, not `f16[64]`
}
tir.func @g(A: f32[64]) { }
tir.func @k(A: f32[64]) attributes {device, threaded} {
  for tx in 0i32..32i32 bind(threadIdx.x) {
    A[tx] = 1.0
  }
}
",
    );
}

#[test]
fn types_that_no_kernel_holds_are_refused() {
    refuses(
        "tir.func @f(A: f32[64], n: index) {
  @k(A, n)
}
tir.func @k(A: f32[64], n: index) attributes {device, threaded} { // ! the `index` of `n` has no width in a kernel
  for tx in 0i32..32i32 bind(threadIdx.x) {
    if tx < 3 {
      gpu.barrier(shared)
    }
  }
}
",
    );
}

#[test]
fn functions_that_cannot_be_emitted_are_named() {
    let module =
        parse("tir.func @conv(A: f32[4]) { @k(A) }\ntir.func @k(A: f32[4]) attributes {device, threaded} { }\n");
    let refused = |name: &str| {
        let found = tc_cuda::emit(&module, name, &target("sm_80"), &EmitOptions::default()).expect_err("no such one");
        shown(&found, &module.sources)
    };
    assert!(refused("k").contains("emit `@conv`, which launches it"), "{}", refused("k"));
    assert!(refused("cnv").contains("did you mean `conv`?"), "{}", refused("cnv"));
    assert!(refused(&"x".repeat(1 << 20)).len() < 500);
    let empty = parse("");
    let found = tc_cuda::emit_module(&empty, &target("sm_80"), &EmitOptions::default()).expect_err("nothing in it");
    assert_eq!(found.len(), 1);
}

/// A module of `@f` and its kernel, whose body inside one loop over threads `build` makes. It is given the
/// coordinate and a buffer of 1024 f32.
fn built(build: impl FnOnce(&mut Builder<'_>, Value, Value)) -> Module {
    let mut module =
        parse("tir.func @f(A: f32[1024]) { @k(A) }\ntir.func @k(A: f32[1024]) attributes {device, threaded} { }\n");
    let kernel = module.items.iter_mut().find(|item| item.symbol() == "k").expect("it is there");
    let (body, buffer) = (kernel.body(), kernel.params()[0]);
    let mut b = Builder::at_end(kernel, body);
    let region = for_loop(&mut b, Some("threadIdx.x"));
    let var = b.func.region_args(region)[0];
    b.within(region, |b| build(b, var, buffer));
    module
}

/// A loop of 4 rounds; its region.
fn for_loop(b: &mut Builder<'_>, axis: Option<&str>) -> tc_ir::Region {
    let (lo, hi) = (b.int(0, Elem::I32), b.int(4, Elem::I32));
    let mut attrs = Vec::new();
    if let Some(axis) = axis {
        attrs = vec![(keys::KIND, b.func.word_attr("bind")), (keys::AXIS, b.func.str_attr(axis))];
    }
    let op = tir::For::build(b, lo, hi, &[], &attrs, &[]);
    let region = b.func.op_regions(op)[0];
    let int = b.func.elem_ty(Elem::I32);
    b.arg(region, int, Some("i"));
    region
}

#[test]
fn a_sum_of_many_terms_becomes_many_statements() {
    let module = built(|b, var, buffer| {
        let mut sum = tir::Load::build(b, buffer, &[var], &[], &[]);
        let mut value = b.func.result(sum).expect("a load has a value");
        for _ in 0..20_000 {
            let next = tir::Load::build(b, buffer, &[var], &[], &[]);
            let next = b.func.result(next).expect("a load has a value");
            value = b.value(arith::ADD, &[next, value], &[]);
        }
        sum = tir::Store::build(b, buffer, &[var], value, &[], &[]);
        assert_eq!(b.func.opcode(sum), tir::STORE);
    });
    let source = try_emit(&module, "sm_80").expect("can be emitted").source;
    assert!(source.lines().all(|line| line.len() < 1000), "a line is too long to read");
    assert_eq!(source.matches("A[i]").count(), 20_002);
}

#[test]
fn loops_nested_too_deeply_are_refused() {
    for (depth, is_fine) in [(100, true), (20_000, false)] {
        let module = built(|b, var, buffer| {
            let one = b.float(1.0, Elem::F32);
            let mut region = b.region();
            for _ in 0..depth {
                region = b.within(region, |b| for_loop(b, None));
            }
            b.within(region, |b| tir::Store::build(b, buffer, &[var], one, &[], &[]));
        });
        let made = try_emit(&module, "sm_80");
        assert_eq!(made.is_ok(), is_fine, "{depth}");
        if let Err(found) = made {
            assert!(found.iter().any(|diagnostic| diagnostic.code == "too-deep"), "{}", shown(&found, &module.sources));
        }
    }
}

#[test]
fn vectors_of_many_lanes_compile() {
    let module = built(|b, var, buffer| {
        let (stride, lanes) = (b.int(1, Elem::I32), b.func.int_attr(1000));
        let ramp = b.value(arith::RAMP, &[var, stride], &[(keys::LANES, lanes)]);
        let loaded = tir::Load::build(b, buffer, &[ramp], &[], &[]);
        let loaded = b.func.result(loaded).expect("a load has a value");
        let sum = b.value(arith::ADD, &[loaded, loaded], &[]);
        let product = b.value(arith::MUL, &[sum, loaded], &[]);
        tir::Store::build(b, buffer, &[ramp], product, &[], &[]);
    });
    compile(&try_emit(&module, "sm_80").expect("can be emitted").source, "sm_80");
}

#[test]
fn what_the_verifier_refuses_is_not_emitted() {
    let mut module =
        parse("tir.func @f(A: f32[8]) { @k(A) }\ntir.func @k(A: f32[8]) attributes {device, threaded} { }\n");
    let kernel: &mut Func = module.items.iter_mut().find(|item| item.symbol() == "k").expect("it is there");
    let body = kernel.body();
    let buffer = kernel.params()[0];
    let mut b = Builder::at_end(kernel, body);
    let zero = b.int(0, Elem::I32);
    // Integers into a buffer of floats, and a buffer of buffers.
    tir::Store::build(&mut b, buffer, &[zero], zero, &[], &[]);
    let (elem, extent) = (b.func.value_type(buffer), b.func.int_attr(2));
    let scope = Some(b.func.name("local"));
    let ty = b.func.ty(TypeData::Shaped { elem, shape: [extent].into(), scope });
    tir::Alloc::build(&mut b, &[], &[ty]);
    let found = try_emit(&module, "sm_80").expect_err("it is wrong");
    assert!(!found.is_empty());
}
