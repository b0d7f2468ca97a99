//! TVMScript as programs: a snapshot for each construct, and what is refused, with its place.

use tc_ir::Module;
use tc_support::{Diagnostic, Diagnostics};
use tc_tvm::emit::emit_module;
use tc_tvm::import::import_module;

fn read(text: &str) -> (Module, Diagnostics) {
    let (module, mut found) = import_module("test.py", text, &tc_dialects::shared_registry());
    if !found.has_errors() {
        found.append(tc_ir::symbols::verify_module(&module));
    }
    (module, found)
}

fn place(module: &Module, one: &Diagnostic) -> String {
    match &one.location {
        tc_support::Location::Span(span) => match module.sources.line_col(span.start) {
            Some((_, at)) => format!("{}:{}", at.line, at.col),
            None => "nowhere".to_string(),
        },
        _ => "nowhere".to_string(),
    }
}

fn messages(text: &str) -> Vec<String> {
    let (module, found) = read(text);
    found.iter().map(|one| format!("{}: {}: {}", place(&module, one), one.code, one.message)).collect()
}

/// A function with the parameters `params` and the lines `body`.
fn function(params: &str, body: &str) -> String {
    let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
    format!("@T.prim_func\ndef f({params}):\n{lines}")
}

/// The program that a text becomes; TVMScript of it becomes the same program again.
fn imported(text: &str) -> String {
    let (module, found) = read(text);
    assert!(found.is_empty(), "{:?}", messages(text));
    let program = module.to_string();
    if let Ok(again) = emit_module(&module) {
        let (module, _) = read(&again);
        assert!(!module.items.is_empty(), "{again}\n{:?}", messages(&again));
    }
    program
}

const TWO: &str = "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")";

#[test]
fn a_print_of_tvm_0_16() {
    insta::assert_snapshot!(imported(
        "@T.prim_func
def main(A: T.Buffer((16384,), \"float32\"), W: T.Buffer((32,), \"float32\"), B: T.Buffer((16415,), \"float32\")):
    T.func_attr({\"from_legacy_te_schedule\": T.bool(True), \"tir.noalias\": T.bool(True)})
    blockIdx_x = T.launch_thread(\"blockIdx.x\", 513)
    B_local = T.allocate([1], \"float32\", \"local\")
    W_shared = T.allocate([4], \"float32\", \"shared\")
    threadIdx_x = T.launch_thread(\"threadIdx.x\", 32)
    B_local_1 = T.Buffer((1,), data=B_local, scope=\"local\", align=4) # an accumulator
    B_local_1[0] = T.float32(0)
    for r_outer in range(8):
        W_shared_1 = T.Buffer((4,), data=W_shared, scope=\"shared\", align=16)
        for ax0 in range(4):
            W_shared_1[ax0] = W[r_outer * 4 + ax0]
        for r_inner in range(4):
            cse_var_1: T.int32 = blockIdx_x * 32 + threadIdx_x - r_inner - r_outer * 4
            if T.likely(blockIdx_x * 32 + threadIdx_x < 16415):
                B_local_1[0] = B_local_1[0] + T.if_then_else(0 <= cse_var_1 and cse_var_1 < 16384, A[cse_var_1], T.float32(0)) * W_shared_1[r_inner]
    if T.likely(blockIdx_x * 32 + threadIdx_x < 16415):
        B[blockIdx_x * 32 + threadIdx_x] = B_local_1[0]
"
    ));
}

#[test]
fn a_parameter_seen_through_a_flat_view_alone_is_flat() {
    insta::assert_snapshot!(imported(
        "def main(A: T.Buffer((4, 8), \"float32\"), B: T.Buffer((4, 8), \"float32\")):
    for i, j in T.grid(4, 8):
        A_1 = T.Buffer((32,), data=A.data)
        B_1 = T.Buffer((32,), data=B.data)
        B_1[i * 8 + j] = A_1[i * 8 + j] + B[0, 0]
"
    ));
}

#[test]
fn a_print_of_tvm_0_27() {
    insta::assert_snapshot!(imported(
        "# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def blur(n: T.int32, A: T.Buffer((n, 4), \"float32\"), B: T.Buffer((n,), \"float32\")):
        T.func_attr({\"tirx.noalias\": True})
        for bx in T.thread_binding(8, thread=\"blockIdx.x\"):
            S = T.alloc_shared((4,), annotations={\"tc.stages\": 3, \"tc.swizzle\": \"[1, 3, 3]\"})
            i: T.let[T.int32] = bx * 128
            acc: T.float32 = T.float32(0.0)
            x: T.float32
            once: T.float32 = A[i, 0]
            for q in T.unroll(2, 4):
                S[q] = T.Select(q > 1, T.float32(1.0), once) * T.exp(A[q // 2, 0])
            for v in T.vectorized(4):
                acc = acc + S[v]
            T.ptx.ex2(x, acc, \"approx\", \"ftz\", \"f32\", \"\")
            if i < n:
                B[i] = x
            else:
                if i == 7:
                    B[0] = T.float32(\"-inf\")
            B[0:4] = A[0, T.Ramp(0, 1, 4)] + T.Broadcast(T.float32(1.0), 4)
"
    ));
}

#[test]
fn integers_that_count_are_indices_and_mix_with_data() {
    insta::assert_snapshot!(imported(&function(
        "I: T.Buffer((64,), \"int32\"), J: T.Buffer((64,), \"int64\"), B: T.Buffer((64,), \"float32\")",
        "for i in range(64):
    k: T.let[T.int32] = I[i] + 1
    B[I[i] * 2 + i] = T.Cast(\"float32\", i)
    I[i] = i * 2 + k
    J[i] = T.Cast(\"int64\", I[i]) + T.int64(5)
for i in range(T.int64(8)):
    B[i] = B[i + T.int64(1)]"
    )));
}

#[test]
fn a_handle_is_matched_and_its_sizes_are_found() {
    insta::assert_snapshot!(imported(
        "@T.prim_func
def f(a: T.handle, m: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n, m), \"float16\", align=32)
    tx = T.env_thread(\"threadIdx.x\")
    with T.launch_thread(tx, 32):
        A[tx, 0] = T.float16(1)
        A[tx, 1] += A[tx, 0]
"
    ));
}

#[test]
fn threads_exchange_values() {
    insta::assert_snapshot!(imported(&function(
        TWO,
        "for tx in T.thread_binding(32, thread=\"threadIdx.x\"):
    x: T.float32
    with T.attr(T.comm_reducer(lambda a, b: a + b, [T.float32(0.0)]), \"reduce_scope\", T.reinterpret(\"handle\", T.uint64(0))):
        T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), x, tx)
    T.tvm_storage_sync(\"shared\", T.bool(False), -1)
    B[tx] = x + T.tvm_warp_shuffle_xor(T.uint32(4294967295), A[tx], 1, 32, 32)"
    )));
}

#[test]
fn what_tc_lacks_is_refused_at_its_line() {
    let body = "while A[0] < T.float32(3):
    A[0] = A[1]
for i in T.parallel(8):
    A[i] = B[i]
assert A[0] > T.float32(0), \"positive\"
B[0] = T.round(A[0])
B[0] = T.expp(A[0])
B[0] = C[0]
B[0, 1] = A[0]
B[1] = A[0] if A[1] > T.float32(0) else A[2]
B[2] = 0 < A[0] < 1
T.evaluate(T.call_extern(\"float32\", \"f\", A[0]))
with T.sblock(\"block\"):
    B[0] = A[0]
for i in T.serial(4, annotations={\"software_pipeline_stage\": [0, 1]}):
    B[i] = A[i]
S = T.alloc_buffer((4,), \"float31\")
S[0] = A[0]
A[0] = 3 // A[1]
B[A[0]] = A[1]";
    insta::assert_snapshot!(messages(&function(TWO, body)).join("\n"));
}

#[test]
fn what_is_no_python_or_too_deep_is_an_error() {
    assert_eq!(
        messages("def f(:\n"),
        ["1:7: syntax: this is no Python: expected a parameter or the end of the parameter list"]
    );
    assert_eq!(messages(""), ["1:1: no-program: there is no function here: a `@T.prim_func` becomes a program"]);
    let deep = function(TWO, &format!("A[0] = {}1", "1 + ".repeat(20_000)));
    assert_eq!(messages(&deep), ["3:1: too-deep: a statement may have 10000 words and signs"]);
    let deep = function(TWO, &format!("A[0] = {}1{}", "T.exp(".repeat(400), ")".repeat(400)));
    assert_eq!(messages(&deep).len(), 1);
    assert!(messages(&deep)[0].contains("nested 256 deep"), "{:?}", messages(&deep));
    let blocks: String = (0..300).map(|depth| format!("{}if a:\n", " ".repeat(depth))).collect();
    let deep = format!("{blocks}{}pass\n", " ".repeat(300));
    assert!(messages(&deep)[0].contains("blocks may be nested"), "{:?}", messages(&deep));
}

#[test]
fn long_chains_of_operators_are_read() {
    let text = function(TWO, &format!("A[0] = {}A[2]", "A[1] + ".repeat(1_000)));
    assert!(messages(&text).is_empty(), "{:?}", messages(&text));
}
