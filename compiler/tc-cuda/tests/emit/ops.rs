//! Every op on every type that takes it, alone and in vectors: all of it compiles, without a warning.

use crate::support::{TARGETS, compile, emit, one_kernel, parse, shown, try_emit};
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Scalar};

const NUMBERS: &[&str] = &[
    "A[tx] + B[tx]",
    "A[tx] - B[tx]",
    "A[tx] * B[tx]",
    "min(A[tx], B[tx])",
    "max(A[tx], B[tx])",
    "-A[tx]",
    "abs(A[tx])",
    "select(A[tx] < B[tx], A[tx], B[tx])",
];

const INTEGERS: &[&str] = &[
    "tdiv(A[tx], B[tx])",
    "tmod(A[tx], B[tx])",
    "A[tx] & B[tx]",
    "A[tx] | B[tx]",
    "A[tx] ^ B[tx]",
    "A[tx] << B[tx]",
    "A[tx] >> B[tx]",
    "popcount(A[tx])",
    "abs(-A[tx] * 3) - -A[tx]",
];

const FLOATS: &[&str] = &[
    "A[tx] / B[tx]",
    "A[tx] % B[tx]",
    "pow(A[tx], B[tx])",
    "exp(A[tx])",
    "exp2(A[tx])",
    "log(A[tx])",
    "log2(A[tx])",
    "sqrt(A[tx])",
    "rsqrt(A[tx])",
    "tanh(A[tx])",
    "sin(A[tx])",
    "cos(A[tx])",
    "tan(A[tx])",
    "erf(A[tx])",
    "floor(A[tx])",
    "ceil(A[tx])",
    "round(A[tx])",
    "trunc(A[tx])",
    "sigmoid(A[tx])",
    "A[tx] * inf + -inf * nan",
    "A[tx] * 0.1 - 1.5",
];

const TRUTHS: &[&str] =
    &["arith.and(A[tx], B[tx])", "arith.or(A[tx], B[tx])", "!A[tx]", "A[tx] == B[tx]", "select(A[tx], B[tx], true)"];

fn comparisons() -> impl Iterator<Item = String> {
    ["==", "!=", "<", "<=", ">", ">="].into_iter().map(|op| format!("A[tx] {op} B[tx]"))
}

fn elems() -> impl Iterator<Item = Elem> {
    Elem::ALL.iter().copied().filter(|elem| !matches!(elem, Elem::Index | Elem::TF32))
}

/// The expressions on operands of type `elem` that have that type too.
fn expressions(elem: Elem) -> Vec<&'static str> {
    let mut all = match elem.kind() {
        ElemKind::Bool => return TRUTHS.to_vec(),
        ElemKind::Signed | ElemKind::Unsigned => INTEGERS.to_vec(),
        ElemKind::Float => FLOATS.to_vec(),
    };
    all.extend(NUMBERS);
    all
}

/// A kernel of `body`, which reads `A` and `B` of type `elem`, and writes `C` of it and `D` of truth values.
fn kernel(elem: &str, body: &str) -> String {
    let params = format!("A: {elem}[64], B: {elem}[64], C: {elem}[64], D: bool[64]");
    one_kernel(&params, "A, B, C, D", body)
}

#[test]
fn every_op_compiles_on_every_number() {
    for elem in elems() {
        let mut body = String::new();
        for (nth, expression) in expressions(elem).into_iter().enumerate() {
            body += &format!("    C[tx + {nth}] = {expression}\n");
        }
        if elem != Elem::Bool {
            for comparison in comparisons() {
                body += &format!("    D[tx] = {comparison}\n");
            }
        }
        emit(&kernel(elem.name(), &body));
    }
}

#[test]
fn every_op_compiles_on_vectors() {
    for elem in elems() {
        let mut body = String::new();
        for lanes in [2, 3, 4, 8] {
            let index = format!("ramp(tx * {lanes}, 1, {lanes})");
            body += &format!("    let a{lanes} = A[{index}]\n    let b{lanes} = B[{index}]\n");
            // Literals are numbers, not vectors.
            let takes_vectors =
                |text: &str| !["1.5", " * 3", "inf", "true"].iter().any(|literal| text.contains(literal));
            // The functions are long, and no different for more lanes.
            let all = expressions(elem).into_iter().filter(|text| takes_vectors(text));
            for expression in all.filter(|text| lanes == 3 || !elem.is_float() || NUMBERS.contains(text)) {
                let named = expression.replace("A[tx]", &format!("a{lanes}")).replace("B[tx]", &format!("b{lanes}"));
                body += &format!("    C[{index}] = {named}\n");
            }
            body += &format!("    C[{index}] = select(A[{index}] == b{lanes}, a{lanes}, B[{index}])\n");
        }
        let text = kernel(elem.name(), &body);
        let module = parse(&text);
        let made = try_emit(&module, "sm_80").unwrap_or_else(|found| panic!("{}", shown(&found, &module.sources)));
        compile(&made.source, "sm_80");
    }
}

#[test]
fn every_number_converts_to_every_other() {
    for from in elems() {
        let mut params = format!("A: {}[64]", from.name());
        let mut args = "A".to_string();
        let mut body = String::new();
        for to in elems() {
            let name = to.name();
            params += &format!(", X{name}: {name}[64]");
            args += &format!(", X{name}");
            body += &format!("    X{name}[tx] = cast<{name}>(A[tx])\n");
            body += &format!("    X{name}[ramp(tx, 1, 4)] = cast<{name}x4>(A[ramp(tx, 1, 4)])\n");
        }
        emit(&one_kernel(&params, &args, &body));
    }
}

#[test]
fn a_product_and_a_sum_are_fused_only_by_their_own_op() {
    for elem in elems().filter(|elem| elem.is_float()) {
        let text = kernel(elem.name(), "    C[tx] = fma(A[tx], B[tx], C[tx])");
        let module = parse(&text);
        for name in TARGETS {
            let program = try_emit(&module, name).unwrap_or_else(|found| panic!("{}", shown(&found, &module.sources)));
            // bf16 has the instruction since sm_80; without it the exact product and the sum are taken in f64.
            let written_out = elem == Elem::BF16 && name == "sm_70";
            let instruction = if written_out { "add.rn.f64" } else { "fma.rn." };
            assert!(compile(&program.source, name).contains(instruction), "{} on {name}", elem.name());
        }
        // `emit` looks for contraction itself.
        emit(&kernel(elem.name(), "    C[tx] = A[tx] * B[tx] + C[tx] - A[tx] * C[tx]"));
    }
}

#[test]
fn buffers_of_vectors_hold_them_whole() {
    for elem in elems() {
        for lanes in [2, 3, 4, 8] {
            let vector = Scalar { elem, lanes }.to_string();
            let body = "    let v = A[tx]\n    B[tx] = A[tx + 1]\n    C[tx] = v\n    C[tx + 1] = v";
            emit(&kernel(&vector, body).replace("bool[64]", "bool[64] in global"));
        }
    }
}

#[test]
fn shuffles_of_every_type_in_blocks_of_any_size() {
    let exchanged = |elem: &Elem| !matches!(elem, Elem::Index | Elem::TF32 | Elem::F8E4M3 | Elem::F8E5M2);
    for elem in Elem::ALL.iter().copied().filter(exchanged) {
        let elem = elem.name();
        for n in [1, 20, 64, 100] {
            let params = format!("A: {elem}[{n}], B: {elem}[{n}], L: i64[{n}]");
            let mut text = format!(
                "tir.func @f({params}) attributes {{noalias}} {{
  @f_kernel(A, B, L)
}}
tir.func @f_kernel({params}) attributes {{device, noalias, threaded}} {{
  for tx in 0i32..{n}i32 bind(threadIdx.x) {{
    let v = A[tx]
"
            );
            for (nth, mode) in ["down", "up", "xor", "idx"].into_iter().enumerate() {
                text += &format!("    B[tx] = gpu.shuffle(v, {nth}i32, {mode})\n");
                text += &format!("    B[tx] = gpu.shuffle(v, tx & 3i32, {mode}, width = 4)\n");
                text += &format!("    B[tx] = gpu.shuffle(v, L[tx], {mode})\n");
            }
            let program = emit(&(text + "  }\n}\n"));
            assert_eq!(program.source.contains("tc_lanes(100)"), n == 100, "{}", program.source);
            assert_eq!(program.source.contains("tc_shuffle_xor"), n != 64, "{}", program.source);
        }
    }
}
