//! What ops of MLIR mean, where a program's op beside it means something else: kernels that were read compute what MLIR says,
//! before and after the pipeline, or are refused.

use tc::Compiler;
use tc::run::{CheckOptions, Choice, Machine, cases, evaluate};
use tc::runtime::{Array, DType};
use tc::sim::Limits;
use tc::target::Target;

/// Threads of each kernel, and elements of its buffers.
const N: usize = 32;

fn compiler() -> Compiler {
    Compiler { target: Target::parse("sm_80").expect("one of the targets"), ..Compiler::new() }
}

/// A kernel whose thread `%tx` has `%v` of `x` and `%w` of `y`, 32-bit integers, and stores `%r` to `y`.
fn kernel(body: &str) -> String {
    format!(
        "gpu.module @m {{\n  gpu.func @k(%x: memref<32xi32>, %y: memref<32xi32>) kernel attributes {{\n    \
         known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}} {{\n    \
         %tx = gpu.thread_id x\n    %v = memref.load %x[%tx] : memref<32xi32>\n    \
         %w = memref.load %y[%tx] : memref<32xi32>\n    {body}\n    \
         memref.store %r, %y[%tx] : memref<32xi32>\n    gpu.return\n  }}\n}}\n"
    )
}

/// What `y` holds after the kernel, for the numbers `x` and `y`; by the program as read, or after the pipeline `cuda`.
fn results(text: &str, [x, y]: [&[i32]; 2], is_compiled: bool) -> Vec<i32> {
    let compiler = compiler();
    let mut module = compiler.parse_mlir("k.mlir", text).unwrap_or_else(|why| panic!("{why}\n{text}")).module;
    if is_compiled {
        compiler.run(&mut module, "cuda").unwrap_or_else(|why| panic!("{why}\n{text}"));
    }
    let case = cases::to_evaluate(&module, Choice { func: Some("k"), schedule: None }).expect("a case").remove(0);
    let array = |numbers: &[i32]| {
        let numbers: Vec<f64> = numbers.iter().map(|&number| number.into()).collect();
        Array::from_f64s(DType::I32, &[N as u64], &numbers).expect("integers")
    };
    let inputs = vec![("x".to_string(), array(x)), ("y".to_string(), array(y))];
    let options = CheckOptions { seed: 0, defines: Vec::new(), inputs, limits: Limits::default(), n_cases: 1 };
    let done = evaluate(&compiler, &module, &case, &mut Machine::Simulator, &options)
        .unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert!(done.ok, "{:?}\n{text}", done.diagnostics);
    let y = done.arguments.iter().find(|argument| argument.name == "y").expect("the parameter");
    (0..N as u64).map(|nth| y.array.get(nth as usize).to_f64() as i32).collect()
}

/// The numbers that kernels get: near 0, where a byte changes its sign, and at the ends.
fn numbers(seed: i32) -> Vec<i32> {
    let ends = [0, 1, 2, -1, -2, -16, 90, 127, 128, -105, -128, 200, 255, 256, 1000, i32::MAX - 200, i32::MIN + 200];
    (0..N as i32).map(|nth| ends[((nth * 7 + seed * 5) as usize) % ends.len()]).collect()
}

fn byte(number: i32) -> i64 {
    i64::from(number as i8)
}

fn unsigned_byte(number: i32) -> i64 {
    i64::from(number as u8)
}

/// A body, and what it gives.
type Meaning = (&'static str, fn(i32, i32) -> i32);

const MEANINGS: &[Meaning] = &[
    // An index of a byte is wider than the byte: carried, compared, and beside others in a vector.
    (
        "%b = arith.trunci %v : i32 to i8\n%i = arith.index_cast %b : i8 to index\n%c0 = arith.constant 0 : index\n\
         %c1 = arith.constant 1 : index\n%c3 = arith.constant 3 : index\n%c100 = arith.constant 100 : index\n\
         %s = scf.for %n = %c0 to %c3 step %c1 iter_args(%a = %i) -> (index) {\n%t = arith.addi %a, %c100 : index\n\
         scf.yield %t : index\n}\n%r = arith.index_cast %s : index to i32",
        |v, _| (byte(v) + 300) as i32,
    ),
    (
        "%b = arith.trunci %v : i32 to i8\n%d = arith.trunci %w : i32 to i8\n%i = arith.index_castui %b : i8 to index\n\
         %j = arith.index_castui %d : i8 to index\n%p = arith.cmpi slt, %i, %j : index\n%r = arith.extui %p : i1 to i32",
        |v, w| i32::from(unsigned_byte(v) < unsigned_byte(w)),
    ),
    (
        "%b = arith.trunci %v : i32 to i8\n%i = arith.index_cast %b : i8 to index\n%c = arith.constant 1000 : index\n\
         %l = vector.from_elements %i, %c : vector<2xindex>\n%e = vector.extract %l[1] : index from vector<2xindex>\n\
         %f = vector.extract %l[0] : index from vector<2xindex>\n%s = arith.addi %e, %f : index\n\
         %r = arith.index_cast %s : index to i32",
        |v, _| (byte(v) + 1000) as i32,
    ),
    // A truth value with a sign is 0 or -1.
    (
        "%p = arith.trunci %v : i32 to i1\n%i = arith.index_cast %p : i1 to index\n%r = arith.index_cast %i : index to i32",
        |v, _| -(v & 1),
    ),
    (
        "%i = arith.index_cast %v : i32 to index\n%p = arith.index_cast %i : index to i1\n%r = arith.extui %p : i1 to i32",
        |v, _| v & 1,
    ),
    (
        "%p = arith.trunci %v : i32 to i1\n%q = arith.trunci %w : i32 to i1\n%o = arith.cmpi slt, %p, %q : i1\n\
         %r = arith.extui %o : i1 to i32",
        |v, w| i32::from(-(v & 1) < -(w & 1)),
    ),
    // Loops over narrow numbers, with and without a sign.
    (
        "%b = arith.trunci %v : i32 to i8\n%c0 = arith.constant 0 : i8\n%c100 = arith.constant 100 : i8\n\
         %z = arith.constant 0 : i32\n%o = arith.constant 1 : i32\n\
         %r = scf.for %n = %c0 to %b step %c100 iter_args(%a = %z) -> (i32) : i8 {\n%t = arith.addi %a, %o : i32\n\
         scf.yield %t : i32\n}",
        |v, _| ((byte(v) + 99).div_euclid(100)).max(0) as i32,
    ),
    (
        "%b = arith.trunci %v : i32 to i8\n%c0 = arith.constant 10 : i8\n%c7 = arith.constant 7 : i8\n\
         %z = arith.constant 0 : i32\n\
         %r = scf.for unsigned %n = %c0 to %b step %c7 iter_args(%a = %z) -> (i32) : i8 {\n\
         %e = arith.extui %n : i8 to i32\n%t = arith.addi %a, %e : i32\nscf.yield %t : i32\n}",
        |v, _| (10..unsigned_byte(v)).step_by(7).sum::<i64>() as i32,
    ),
    (
        "%big = arith.constant 2147483647 : i32\n%low = arith.constant -5 : i32\n%high = arith.constant 5 : i32\n\
         %z = arith.constant 0 : i32\n\
         %r = scf.for %n = %low to %high step %big iter_args(%a = %z) -> (i32) : i32 {\n%t = arith.addi %a, %n : i32\n\
         scf.yield %t : i32\n}",
        |_, _| -5,
    ),
    // A vector that is first looked at in a region is there after it.
    (
        "%c0 = arith.constant 0 : i32\n%l = vector.from_elements %v, %w : vector<2xi32>\n\
         %p = arith.cmpi sgt, %v, %w : i32\n%g = scf.if %p -> (i32) {\n%d = arith.addi %l, %l : vector<2xi32>\n\
         %e = vector.extract %d[0] : i32 from vector<2xi32>\nscf.yield %e : i32\n} else {\nscf.yield %c0 : i32\n}\n\
         %d2 = arith.xori %l, %l : vector<2xi32>\n%e2 = vector.extract %d2[1] : i32 from vector<2xi32>\n\
         %r = arith.addi %g, %e2 : i32",
        |v, w| if v > w { v.wrapping_add(v) } else { 0 },
    ),
];

#[test]
fn what_mlir_means_is_what_the_program_computes() {
    for (nth, (body, meaning)) in MEANINGS.iter().enumerate() {
        let text = kernel(body);
        let (x, y) = (numbers(nth as i32), numbers(nth as i32 + 3));
        let wanted: Vec<i32> = x.iter().zip(&y).map(|(&x, &y)| meaning(x, y)).collect();
        for is_compiled in [false, true] {
            assert_eq!(results(&text, [&x, &y], is_compiled), wanted, "compiled {is_compiled}, {x:?}, {y:?}\n{text}");
        }
    }
}

/// Bodies that have no counterpart, and why.
const REFUSED: &[(&str, &str)] = &[
    (
        "%r = arith.constant 0 : i32\n%u = memref.atomic_rmw maxu %v, %y[%tx] : (i32, memref<32xi32>) -> i32",
        "an update that takes the sign otherwise than the buffer",
    ),
    // Bits of a float that are not all of them, in their places.
    (
        "%f = arith.sitofp %v : i32 to f32\n%b = arith.bitcast %f : f32 to i32\n%h = arith.trunci %b : i32 to i16\n\
         %e = arith.extui %h : i16 to i32\n%g = arith.bitcast %e : i32 to f32\n%r = arith.fptosi %g : f32 to i32",
        "the bits of numbers are no number",
    ),
    (
        "%f = arith.sitofp %v : i32 to f64\n%c = arith.constant 16 : i64\n%b = arith.bitcast %f : f64 to i64\n\
         %s = arith.shrui %b, %c : i64\n%l = arith.shli %s, %c : i64\n%g = arith.bitcast %l : i64 to f64\n\
         %r = arith.fptosi %g : f64 to i32",
        "the bits of numbers are no number",
    ),
    // Nothing is left out in silence.
    (
        "%f = vector.from_elements %v, %w : vector<2xi32>\n%b = vector.bitcast %f : vector<2xi32> to vector<2xf32>\n\
         %e = vector.extract %b[0] : f32 from vector<2xf32>\n%r = arith.fptosi %e : f32 to i32",
        "`vector.bitcast` has no counterpart",
    ),
    (
        "%low = arith.constant -9223372036854775808 : index\n%high = arith.constant 9223372036854775807 : index\n\
         %two = arith.constant 2 : index\nscf.for %n = %low to %high step %two {\n\
         memref.store %v, %y[%tx] : memref<32xi32>\n}\n%r = arith.constant 0 : i32",
        "`scf.for` has no counterpart as it stands here",
    ),
    (
        "%all = arith.constant -1 : i32\n%one = arith.constant 1 : i32\n%clamp = arith.constant 7 : i32\n\
         %r = nvvm.shfl.sync down %all, %v, %one, %clamp : i32 -> i32",
        "the clamp 7 divides a warp in no groups",
    ),
    (
        "%some = arith.constant 255 : i32\n%one = arith.constant 1 : i32\n%clamp = arith.constant 31 : i32\n\
         %r = nvvm.shfl.sync down %some, %v, %one, %clamp : i32 -> i32",
        "an exchange of some lanes",
    ),
    (
        "%f = arith.sitofp %v : i32 to f32\n%h = arith.truncf %f toward_zero : f32 to f16\n\
         %e = arith.extf %h : f16 to f32\n%r = arith.fptosi %e : f32 to i32",
        "tc rounds to nearest",
    ),
    (
        "%z = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<32xi32> to \
         memref<8xi32, strided<[1]>>\n%c0 = arith.constant 0 : index\n\
         %d = memref.dim %z, %c0 : memref<8xi32, strided<[1]>>\n%r = arith.index_cast %d : index to i32",
        "a buffer seen with other extents",
    ),
];

/// Texts that are refused as a whole.
fn hostile() -> Vec<(String, &'static str)> {
    let whole = kernel("%r = arith.addi %v, %w : i32");
    let with =
        |key: &str, value: &str| whole.replace("known_block_size", &format!("{key} = {value}, known_block_size"));
    let doubled = |nth: usize| format!("#a{nth} = [#a{}, #a{}]\n", nth - 1, nth - 1);
    let aliases: String = std::iter::once("#a0 = [1, 2]\n".to_string()).chain((1..40).map(doubled)).collect();
    vec![
        (with("tc.kernel", "5 : i32"), "`tc.kernel` is one string"),
        (with("tc.kernel", "\"no tc\""), "holds no function of tc"),
        (
            with("tc.kernel", "\"tir.func @k(x: i32[32], y: i32[32]) { for t in 0..8 bind(threadIdx.x) { } }\""),
            "others than in `tc.kernel`",
        ),
        (
            with("tc.kernel", "\"tir.func @k(x: f16[32], y: i32[32]) { for t in 0..32 bind(threadIdx.x) { } }\""),
            "is another in `tc.kernel`",
        ),
        (
            with(
                "tc.kernel",
                "\"tir.func @k(x: i32[32], y: i32[32]) { for t in 0..32 bind(threadIdx.x) { x[t] = 7 } }\"",
            ),
            "more than loops",
        ),
        (whole.replace("array<i32: 32, 1, 1>", "array<i32: -32, 1, 1>"), "the kernel has -32 threads"),
        (format!("{aliases}module attributes {{a.a = #a39}} {{}}"), "stands for more than 1048576 bytes"),
        ("module attributes {gpu.a = array<index: 1>} {}".to_string(), "brings MLIR 22's parser down"),
        (whole.replace("@k", "@\"\""), "a symbol has a name"),
        (whole.replace("@k", "@\"\\FF\""), "no text in UTF-8"),
        (format!("#m = affine_map<(d0) -> ({}d0)>", "-".repeat(100_000)), "signs may follow one another"),
        ("scf.if %t { // }\n".repeat(1000), "brackets may be nested"),
    ]
}

#[test]
fn what_has_no_counterpart_is_refused() {
    let bodies = REFUSED.iter().map(|&(body, why)| (kernel(body), why));
    for (text, wanted) in bodies.chain(hostile()) {
        match compiler().parse_mlir("k.mlir", &text) {
            Ok(read) => panic!("read as {}\nof {text}", read.module),
            Err(why) => assert!(why.to_string().contains(wanted), "{wanted}: {why}"),
        }
    }
}
