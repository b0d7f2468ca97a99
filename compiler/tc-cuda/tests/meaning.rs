//! Arithmetic on a GPU against the simulator: every op on every type, bit for bit where the op is rounded once, and
//! within the error of NVIDIA's functions elsewhere. Where there is no GPU the kernels are compiled and no more; with
//! the variable `TC_REQUIRE_GPU` set the test fails instead.

#[path = "emit/legal.rs"]
mod legal;

use legal::legal;
use tc_cuda::{EmitOptions, emit};
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Module};
use tc_runtime::device::{Code, Device, Program, RunOptions};
use tc_runtime::nvrtc;
use tc_runtime::{Array, CudaDevice, DType};
use tc_sim::{Arg, Tensor};
use tc_target::Target;

/// Elements of each operand.
const N: usize = 4096;

/// How far a result may be off.
#[derive(Clone, Copy, PartialEq)]
enum Error {
    /// Not at all.
    None,
    /// As far as a function of f32, or f64, rounded to the type.
    Function,
}

use Error::{Function, None as Exact};

/// Ops of numbers; `A` and `B` stand for the operands.
const NUMBERS: &[(&str, Error)] = &[
    ("A + B", Exact),
    ("A - B", Exact),
    ("A * B", Exact),
    ("min(A, B)", Exact),
    ("max(A, B)", Exact),
    ("-A", Exact),
    ("abs(A)", Exact),
    ("select(A < B, A, B)", Exact),
    ("select(A <= B, A, B)", Exact),
    ("select(A != B, A, B)", Exact),
    ("select(A == B || A > B, A, B)", Exact),
    ("if_then_else(A >= B, A * B, A - B)", Exact),
];

const INTEGERS: &[(&str, Error)] = &[
    ("tdiv(A, B | 1)", Exact),
    ("tmod(A, B | 1)", Exact),
    ("A & B", Exact),
    ("A | B", Exact),
    ("A ^ B", Exact),
    ("A << (B & 7)", Exact),
    ("A >> (B & 7)", Exact),
    ("popcount(A)", Exact),
    ("abs(-A) - B - -A", Exact),
];

const FLOATS: &[(&str, Error)] = &[
    ("A / B", Exact),
    ("A % B", Exact),
    ("A * B + A", Exact),
    ("A * 0.1 - B * 3.0", Exact),
    ("fma(A, B, A)", Exact),
    ("sqrt(A)", Exact),
    ("floor(A)", Exact),
    ("ceil(A)", Exact),
    ("round(A)", Exact),
    ("trunc(A)", Exact),
    ("exp(A)", Function),
    ("exp2(A)", Function),
    ("log(A)", Function),
    ("log2(A)", Function),
    ("rsqrt(A)", Function),
    ("tanh(A)", Function),
    ("sin(A)", Function),
    ("cos(A)", Function),
    ("erf(A)", Function),
    ("sigmoid(A)", Function),
    ("pow(abs(A), B)", Function),
];

const SHUFFLES: &[(&str, Error)] = &[
    ("gpu.shuffle(A, 5i32, down)", Exact),
    ("gpu.shuffle(A, 5i32, up)", Exact),
    ("gpu.shuffle(A, 5i32, xor)", Exact),
    ("gpu.shuffle(A, 31i32 - (tx & 31i32), idx)", Exact),
    ("gpu.shuffle(A, 3i32, down, width = 8)", Exact),
    ("gpu.shuffle(A, tx & 7i32, up, width = 8)", Exact),
    ("gpu.shuffle(A, tx & 7i32, xor, width = 8)", Exact),
    ("gpu.shuffle(A, 7i32, idx, width = 8)", Exact),
];

fn elems() -> impl Iterator<Item = Elem> {
    Elem::ALL.iter().copied().filter(|elem| !matches!(elem, Elem::Index | Elem::TF32))
}

/// Numbers that look random, the same every time.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An operand. Of floats every other one has any bits at all, the rest lie near one. Of signed integers of 32
    /// and 64 bits neither sums nor products overflow, which would be an error of the program.
    fn operand(&mut self, elem: Elem, nth: usize) -> Vec<u8> {
        let bits = self.next();
        let width = elem.bytes() as usize;
        match elem {
            Elem::Bool => vec![(bits & 1) as u8],
            Elem::I32 => (bits as i32 >> 16).to_le_bytes().to_vec(),
            Elem::I64 => (bits as i64 >> 33).to_le_bytes().to_vec(),
            _ if elem.is_float() && nth.is_multiple_of(2) => {
                let near = (bits >> 11) as f64 / (1u64 << 53) as f64 * 16.0 - 8.0;
                Tensor::from_f64s(elem, &[1], &[near]).expect("one number").data
            }
            _ => bits.to_le_bytes()[..width].to_vec(),
        }
    }

    fn operands(&mut self, elem: Elem) -> Vec<u8> {
        (0..N).flat_map(|nth| self.operand(elem, nth)).collect()
    }
}

fn parse(text: &str) -> Module {
    let registry = tc_dialects::shared_registry();
    let (module, found) = tc_syntax::parse_module("meaning.tir", text, &registry, &Default::default());
    assert!(found.is_empty(), "{}", tc_support::render::text(&found, &module.sources, false));
    module
}

/// `C[n * N + i] = expression n` for all `i`.
fn program(from: Elem, to: Elem, expressions: &[String]) -> String {
    let (from, to, n_results) = (from.name(), to.name(), N * expressions.len());
    let params = format!("A: {from}[{N}], B: {from}[{N}], C: {to}[{n_results}]");
    let mut text = format!(
        "tir.func @f({params}) {{
  @f_kernel(A, B, C)
}}
tir.func @f_kernel({params}) attributes {{device, noalias, threaded}} {{
  for bx in 0i32..{}i32 bind(blockIdx.x) {{
    for tx in 0i32..128i32 bind(threadIdx.x) {{
      let i = bx * 128 + tx
      let a = A[i]
      let b = B[i]
",
        N / 128
    );
    for (nth, expression) in expressions.iter().enumerate() {
        text += &format!("      C[i + {}] = {expression}\n", nth * N);
    }
    text + "    }\n  }\n}\n"
}

/// What the simulator makes of `A` and `B`.
fn simulated(module: &Module, from: Elem, a: &[u8], b: &[u8]) -> Tensor {
    let operand = |bytes: &[u8]| Arg::Input(Tensor::new(from, vec![N as u64], bytes.to_vec()).expect("of this size"));
    let report = tc_sim::run(module, "f", &[operand(a), operand(b), Arg::Output], &tc_sim::RunOptions::default());
    report.expect("the program runs").outputs.pop().flatten().expect("the last parameter is a buffer")
}

/// What the GPU makes of them.
fn computed(device: &mut CudaDevice, module: &Module, from: Elem, a: &[u8], b: &[u8], like: &Tensor) -> Tensor {
    let target = device.target().expect("a GPU has one");
    let program = emit(&legal(module, &target), "f", &target, &EmitOptions::default()).expect("can be emitted");
    let dtype = |elem: Elem| DType::parse(elem.name()).expect("memory holds it");
    let operand = |bytes: &[u8]| Array::from_bytes(dtype(from), &[N as u64], bytes.to_vec()).expect("of this size");
    let result = Array::zeros(dtype(like.elem), &like.shape).expect("a small array");
    let mut args = [operand(a), operand(b), result];
    let program = Program { manifest: program.manifest, target, code: Code::Cuda(program.source) };
    device.run(&program, &mut args, &RunOptions::default()).expect("the program runs");
    Tensor::new(like.elem, like.shape.clone(), args[2].bytes().to_vec()).expect("of this size")
}

/// Is `have` as good as `want`?
fn agrees(elem: Elem, error: Error, have: f64, want: f64) -> bool {
    if have == want || (have.is_nan() && want.is_nan()) {
        return true;
    }
    // One unit in the last place of the narrow types, a few of the wide ones.
    let (relative, least) = match elem {
        Elem::F64 => (1e-13, 1e-300),
        Elem::F32 => (2e-6, 1e-37),
        Elem::F16 => (1.0 / 1024.0, 6e-8),
        Elem::BF16 => (1.0 / 128.0, 1e-37),
        Elem::F8E4M3 => (1.0 / 8.0, 0.002),
        _ => (1.0 / 4.0, 0.00002),
    };
    error == Function && (have - want).abs() <= relative * want.abs() + least
}

fn device() -> Option<CudaDevice> {
    let device = CudaDevice::open(0);
    assert!(device.is_ok() || std::env::var_os("TC_REQUIRE_GPU").is_none(), "{:?}", device.err());
    device.ok()
}

/// Runs `expressions` on both and tells where the results differ; `counts` says which elements count.
fn compare(from: Elem, to: Elem, expressions: &[(String, Error)], counts: impl Fn(f64) -> bool) -> Vec<String> {
    let texts: Vec<String> = expressions.iter().map(|(text, _)| text.clone()).collect();
    let module = parse(&program(from, to, &texts));
    let mut draw = Draw(u64::from(from as u8) << 8 | u64::from(to as u8));
    let (a, b) = (draw.operands(from), draw.operands(from));
    let want = simulated(&module, from, &a, &b);
    let Some(mut device) = device() else {
        let target = Target::parse("sm_90").expect("a target");
        let program = emit(&legal(&module, &target), "f", &target, &EmitOptions::default()).expect("can be emitted");
        nvrtc::compile(&program.source, "meaning.cu", &target, &nvrtc::Options::default()).expect("it compiles");
        return Vec::new();
    };
    let have = computed(&mut device, &module, from, &a, &b, &want);
    let operands = |bytes: Vec<u8>| Tensor::new(from, vec![N as u64], bytes).expect("of this size").to_f64s();
    let (a, b) = (operands(a), operands(b));
    let mut wrong = Vec::new();
    for (idx, (have, want)) in have.to_f64s().into_iter().zip(want.to_f64s()).enumerate() {
        let ((text, error), at) = (&expressions[idx / N], idx % N);
        if counts(a[at]) && !agrees(to, *error, have, want) {
            wrong.push(format!(
                "{} -> {}: `{text}` of {} and {} is {have}, not {want}",
                from.name(),
                to.name(),
                a[at],
                b[at]
            ));
        }
    }
    // A few of each expression say it all.
    wrong.dedup_by_key(|line: &mut String| line.split(" of ").next().map(str::to_string));
    wrong.truncate(10);
    wrong
}

/// The expressions of a table, on the loaded operands.
fn on_operands(table: &[(&str, Error)]) -> Vec<(String, Error)> {
    table.iter().map(|(text, error)| (text.replace('A', "a").replace('B', "b"), *error)).collect()
}

#[test]
fn arithmetic_is_that_of_the_simulator() {
    let mut wrong = Vec::new();
    for elem in elems() {
        let table = match elem.kind() {
            ElemKind::Bool => {
                vec![("arith.and(A, B)", Exact), ("arith.or(A, B)", Exact), ("!A", Exact), ("A == B", Exact)]
            }
            ElemKind::Float => [NUMBERS, FLOATS].concat(),
            ElemKind::Signed | ElemKind::Unsigned => [NUMBERS, INTEGERS].concat(),
        };
        wrong.extend(compare(elem, elem, &on_operands(&table), |_| true));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn conversions_are_those_of_the_simulator() {
    let mut wrong = Vec::new();
    for from in elems() {
        for to in elems() {
            let expression = (format!("cast<{}>(a)", to.name()), Exact);
            // A float that the integer type does not hold is an error of the program.
            let range = to.int_range().filter(|_| from.is_float());
            let counts =
                |value: f64| range.is_none_or(|(min, max)| value.trunc() >= min as f64 && value.trunc() < max as f64);
            wrong.extend(compare(from, to, &[expression], counts));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn shuffles_are_those_of_the_simulator() {
    let mut wrong = Vec::new();
    for elem in elems().filter(|elem| !matches!(elem, Elem::F8E4M3 | Elem::F8E5M2)) {
        wrong.extend(compare(elem, elem, &on_operands(SHUFFLES), |_| true));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
