//! The convolution on tensor cores of the documents, at smaller sizes, against its operator.

mod common;

use common::parse;
use tc_sim::{CheckOptions, CheckReport, DiagnosticKind, agree, check_against_definition};

/// Layout NHWCnc, f16 in, f32 out.
const OPERATOR: &str =
    "te.func @conv(A: f16[8, 2, 2, 2, 16, 16], W: f16[3, 3, 2, 8, 16, 16]) -> f32[8, 2, 2, 8, 16, 16] {
  compute Apad[n: 8, h: 4, w: 4, i: 2, nn: 16, ii: 16] =
    if_then_else(h >= 1 && h - 1 < 2 && w >= 1 && w - 1 < 2, A[n, h - 1, w - 1, i, nn, ii], 0.0f16)
  compute Conv[n: 8, h: 2, w: 2, o: 8, nn: 16, oo: 16] = sum[ic: 2, kh: 3, kw: 3, ii: 16](
    cast<f32>(Apad[n, h + kh, w + kw, ic, nn, ii]) * cast<f32>(W[kh, kw, ic, o, ii, oo]))
  return Conv
}";

const PROGRAM: &str = include_str!("data/conv_tensorcore.tir");

fn check(text: &str, real_inputs: u32) -> CheckReport {
    let (operator, program) = (parse(OPERATOR), parse(text));
    let options = CheckOptions { real_inputs, ..CheckOptions::default() };
    check_against_definition((&operator, "conv"), (&program, "conv"), &options).expect("it runs")
}

#[test]
fn the_program_of_the_document_computes_its_operator() {
    let phased = PROGRAM.replace(", threaded", "").replace("gpu.barrier(shared)", "");
    for text in [PROGRAM, &phased] {
        let report = check(text, 1);
        assert!(report.is_ok(), "{:?}", report.diagnostics());
        assert_eq!((report.cells, report.races, report.sampled), (2 * 65536, 0, false));
        assert_eq!(report.diagnostics.iter().count(), 0, "{:#?}", report.diagnostics);
    }
    let (one, other) = (parse(PROGRAM), parse(&phased));
    let report = agree(&other, &one, "conv", &CheckOptions::default()).expect("they run");
    assert!(report.agrees() && !report.in_tf32, "{report}");
}

#[test]
fn a_missing_barrier_and_a_wrong_tile_are_found() {
    let unordered = PROGRAM.replacen("            gpu.barrier(shared)\n            for ki", "            for ki", 1);
    assert_ne!(unordered, PROGRAM);
    let report = check(&unordered, 0);
    assert!(
        report.races > 0 || report.diagnostics.count(DiagnosticKind::Uninitialised) > 0,
        "{:?}",
        report.diagnostics()
    );
    let swapped = PROGRAM.replace("&AF[n], &WF[o])", "&AF[n], &WF[3 - o])");
    let report = check(&swapped, 0);
    assert_eq!(report.diagnostics.iter().count(), 0);
    let difference = report.difference.expect("other columns");
    assert_eq!((difference.allowed, difference.inputs), (0.0, "integers"));
}

/// A product of f32 by way of tf32, against itself in f32.
#[test]
fn factors_of_tf32_are_as_far_off_as_they_say() {
    let program = |body: &str| {
        format!(
            "tir.func @f(A: f32[16, 64], B: f32[64, 16], C: f32[16, 16]) {{
               alloc AF: f32[16, 8] in wmma.matrix_a
               alloc BF: f32[8, 16] in wmma.matrix_b
               alloc CF: f32[16, 16] in wmma.accumulator
               for tx in 0..32 bind(threadIdx.x) {{
                 wmma.fill(&CF[0 : 16, 0 : 16], 0.0)
                 for k in 0..8 {{
                   wmma.load(&AF[0 : 16, 0 : 8], &A[0, k * 8], stride = 64, layout = row_major)
                   wmma.load(&BF[0 : 8, 0 : 16], &B[k * 8, 0], stride = 16, layout = row_major)
                   {body}
                 }}
                 wmma.store(&C[0, 0], &CF[0 : 16, 0 : 16], stride = 16, layout = row_major)
               }}
             }}"
        )
    };
    let product = program("wmma.mma(&CF[0 : 16, 0 : 16], &AF[0 : 16, 0 : 8], &BF[0 : 8, 0 : 16])");
    let term = "CF[i, j] = CF[i, j] + AF[i, r] * BF[r, j]";
    let loops =
        |term: &str| program(&format!("for i in 0..16 {{\nfor j in 0..16 {{\nfor r in 0..8 {{\n{term}\n}}\n}}\n}}"));
    let compare = |before: &str, after: &str| {
        agree(&parse(before), &parse(after), "f", &CheckOptions::default()).expect("they run")
    };
    let report = compare(&loops(term), &product);
    assert!(report.agrees() && report.in_tf32, "{report}");
    assert!(report.to_string().ends_with("as far as tf32 tells"), "{report}");
    // Integers are exact all the same, and reals are not off by more than their rounding.
    let wrong = compare(&loops("CF[i, j] = CF[i, j] + AF[i, r] * BF[r, 15 - j]"), &product);
    assert_eq!(wrong.difference.expect("other columns").inputs, "integers");
    let off = loops("CF[i, j] = CF[i, j] + AF[i, r] * BF[r, j] * 1.03");
    let only_reals = CheckOptions { integer_inputs: 0, ..CheckOptions::default() };
    let report = agree(&parse(&off), &parse(&product), "f", &only_reals).expect("they run");
    assert!(!report.agrees(), "{report}");
}
