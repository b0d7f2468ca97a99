//! Tiles of `mma`, whole and as the lanes of a warp hold them, and rows that `ldmatrix` loads.

mod common;

use common::{only, output, parse, run_f};
use tc_ir::Elem;
use tc_sim::{Arg, DiagnosticKind, Tensor};

fn numbers(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|nth| ((nth * 37 + nth / 7 * 5 + seed * 11) % 13) as f64 - 6.0).collect()
}

fn input(elem: Elem, rows: usize, cols: usize, seed: usize) -> (Vec<f64>, Arg) {
    let values = numbers(rows * cols, seed);
    let tensor = Tensor::from_f64s(elem, &[rows as u64, cols as u64], &values).expect("it fits");
    (values, Arg::Input(tensor))
}

fn product(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
    (0..m * n).map(|nth| (0..k).map(|step| a[nth / n * k + step] * b[step * n + nth % n]).sum()).collect()
}

/// Phased and threaded, in which nothing is found.
#[track_caller]
fn result(text: &str, args: &[Arg]) -> Vec<f64> {
    let threaded = text.replacen(") {", ") attributes {threaded} {", 1);
    let [one, other] = [text, &threaded].map(|text| {
        let report = run_f(&parse(text), args);
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
        output(&report, args.len() - 1)
    });
    assert_eq!(one, other);
    one
}

/// Factors are loaded element by element, as PTX says which thread holds what.
#[test]
fn lanes_hold_what_the_hardware_says() {
    for (elem, total, zero, [m, n, k]) in [
        (Elem::F16, Elem::F32, "0.0", [16, 8, 16]),
        (Elem::F16, Elem::F16, "0.0f16", [16, 16, 16]),
        (Elem::BF16, Elem::F32, "0.0", [16, 16, 16]),
        (Elem::F32, Elem::F32, "0.0", [16, 8, 8]),
        (Elem::F32, Elem::F32, "0.0", [16, 16, 8]),
        (Elem::I8, Elem::I32, "0i32", [16, 8, 32]),
        (Elem::U8, Elem::I32, "0i32", [16, 16, 32]),
    ] {
        let (of, to, packed) = (elem.name(), total.name(), 4 / elem.bytes());
        let (n_a, n_b, n_c) = (m * k / 32, k * n / 32, m * n / 32);
        let text = format!(
            "tir.func @f(A: {of}[{m}, {k}], B: {of}[{k}, {n}], C: {to}[{m}, {n}]) {{
               alloc AF: {of}[2, {n_a}] in local
               alloc BF: {of}[{n_b}] in local
               alloc CF: {to}[3, {n_c}] in local
               for tx in 0..32 bind(threadIdx.x) {{
                 let g = tx / 4
                 let t = tx % 4
                 for e in 0..{n_a} {{
                   AF[1, e] = A[g + e / {packed} % 2 * 8, t * {packed} + e % {packed} + e / {packed} / 2 * {far}]
                 }}
                 for e in 0..{n_b} {{
                   BF[e] = B[t * {packed} + e % {packed} + e / {packed} % 2 * {far}, g + e / {packed} / 2 * 8]
                 }}
                 for e in 0..{n_c} {{
                   CF[2, e] = {zero}
                 }}
                 mma.sync(&CF[2 : 1, 0 : {n_c}], &AF[1], &BF[0 : {n_b}])
                 for e in 0..{n_c} {{
                   C[g + e / 2 % 2 * 8, t * 2 + e % 2 + e / 4 * 8] = CF[2, e]
                 }}
               }}
             }}",
            far = 4 * packed,
        );
        let ((mut a, mut a_arg), (mut b, mut b_arg)) = (input(elem, m, k, 1), input(elem, k, n, 2));
        if elem == Elem::U8 {
            a = a.iter().map(|value| value + 6.0).collect();
            b = b.iter().map(|value| value + 200.0).collect();
            let of = |values: &[f64], rows: usize, cols: usize| {
                Arg::Input(Tensor::from_f64s(elem, &[rows as u64, cols as u64], values).expect("it fits"))
            };
            (a_arg, b_arg) = (of(&a, m, k), of(&b, k, n));
        }
        let found = result(&text, &[a_arg, b_arg, Arg::Output]);
        assert_eq!(found, product(&a, &b, [m, n, k]), "{of} {m}x{n}x{k}");
    }
}

/// Both factors come by `ldmatrix`: b from rows along n, transposed on the way, or from rows along k.
fn by_rows(transposed: bool) -> String {
    let (b_shape, row, note) = match transposed {
        true => ("BS[i, j] = B[i, j]", "&BS[tx % 16 : 1, tx / 16 * 8 : 8]", ", transposed = true"),
        false => ("BS[j, i] = B[i, j]", "&BS[tx / 16 * 8 + tx % 8 : 1, tx / 8 % 2 * 8 : 8]", ""),
    };
    format!(
        "tir.func @f(A: f16[16, 16], B: f16[16, 16], C: f32[16, 16]) {{
           alloc AS: f16[16, 24] in shared
           alloc BS: f16[16, 24] in shared
           alloc AF: f16[8] in local
           alloc BF: f16[8] in local
           alloc CF: f32[8] in local
           for tx in 0..32 bind(threadIdx.x) {{
             for q in 0..8 {{
               let i = q * 2 + tx / 16
               let j = tx % 16
               AS[i, j] = A[i, j]
               {b_shape}
             }}
             gpu.barrier(shared)
             mma.ldmatrix(&AF[0 : 8], &AS[tx % 16 : 1, tx / 16 * 8 : 8])
             mma.ldmatrix(&BF[0 : 8], {row}{note})
             for e in 0..8 {{
               CF[e] = 1.0
             }}
             mma.sync(&CF[0 : 8], &AF[0 : 8], &BF[0 : 8])
             for e in 0..8 {{
               C[tx / 4 + e / 2 % 2 * 8, tx % 4 * 2 + e % 2 + e / 4 * 8] = CF[e]
             }}
           }}
         }}"
    )
}

#[test]
fn ldmatrix_deals_rows_out() {
    let ((a, a_arg), (b, b_arg)) = (input(Elem::F16, 16, 16, 3), input(Elem::F16, 16, 16, 4));
    let wanted: Vec<f64> = product(&a, &b, [16, 16, 16]).into_iter().map(|sum| sum + 1.0).collect();
    for transposed in [true, false] {
        assert_eq!(result(&by_rows(transposed), &[a_arg.clone(), b_arg.clone(), Arg::Output]), wanted);
    }
}

/// Whole tiles: images, of which b stands transposed, loaded by plain loops or by `ldmatrix`.
#[test]
fn tiles_as_a_whole_say_the_same() {
    let ((a, a_arg), (b, b_arg)) = (input(Elem::F16, 16, 16, 5), input(Elem::F16, 16, 16, 6));
    let program = |load: &str| {
        format!(
            "tir.func @f(A: f16[16, 16], B: f16[16, 16], C: f32[16, 16]) {{
               alloc BS: f16[16, 16] in shared
               alloc AF: f16[1, 16, 16] in mma.matrix_a
               alloc BF: f16[16, 16] in mma.matrix_b
               alloc CF: f32[16, 16] in mma.accumulator
               for tx in 0..32 bind(threadIdx.x) {{
                 for q in 0..8 {{
                   BS[q * 2 + tx / 16, tx % 16] = B[tx % 16, q * 2 + tx / 16]
                 }}
                 gpu.barrier(shared)
                 for i in 0..16 {{
                   for j in 0..16 {{
                     AF[0, i, j] = A[i, j]
                     CF[i, j] = 0.0
                   }}
                 }}
                 {load}
                 mma.sync(&CF[0 : 16, 0 : 16], &AF[0 : 1, 0 : 16, 0 : 16], &BF[0 : 16, 0 : 16], b_layout = col_major)
                 C[tx / 2, tx % 2] = CF[tx / 2, tx % 2]
                 for j in 2..16 {{
                   if tx < 16 {{
                     C[tx, j] = CF[tx, j]
                   }}
                 }}
               }}
             }}"
        )
    };
    let rows =
        "mma.ldmatrix(&BF[0 : 16, 0 : 16], &BS[tx / 16 * 8 + tx % 8 : 1, tx / 8 % 2 * 8 : 8], layout = col_major)";
    let plain = "for i in 0..16 {\nfor j in 0..16 {\nBF[i, j] = BS[i, j]\n}\n}";
    for load in [rows, plain] {
        let found = result(&program(load), &[a_arg.clone(), b_arg.clone(), Arg::Output]);
        assert_eq!(found, product(&a, &b, [16, 16, 16]));
    }
}

#[test]
fn ldmatrix_loads_bytes_in_pieces_of_two() {
    let ((a, a_arg), (b, b_arg)) = (input(Elem::I8, 16, 32, 7), input(Elem::I8, 8, 32, 8));
    let text = "tir.func @f(A: i8[16, 32], B: i8[8, 32], C: i32[16, 8]) {
      alloc AS: i8[16, 32] in shared
      alloc BS: i8[8, 32] in shared
      alloc AF: i8[16] in local
      alloc BF: i8[8] in local
      alloc CF: i32[4] in local
      for tx in 0..32 bind(threadIdx.x) {
        for i in 0..16 {
          AS[i, tx] = A[i, tx]
        }
        for i in 0..8 {
          BS[i, tx] = B[i, tx]
        }
        gpu.barrier(shared)
        mma.ldmatrix(&AF[0 : 16], &AS[tx % 16 : 1, tx / 16 * 16 : 16])
        mma.ldmatrix(&BF[0 : 8], &BS[tx % 8 : 1, tx / 8 % 2 * 16 : 16])
        for e in 0..4 {
          CF[e] = 0i32
        }
        mma.sync(&CF[0 : 4], &AF[0 : 16], &BF[0 : 8])
        for e in 0..4 {
          C[tx / 4 + e / 2 * 8, tx % 4 * 2 + e % 2] = CF[e]
        }
      }
    }";
    let turned: Vec<f64> = (0..256).map(|nth| b[nth % 8 * 32 + nth / 8]).collect();
    assert_eq!(result(text, &[a_arg, b_arg, Arg::Output]), product(&a, &turned, [16, 8, 32]));
}

#[test]
fn what_is_wrong_with_lanes_is_found() {
    let args = || [input(Elem::F16, 16, 16, 3).1, input(Elem::F16, 16, 16, 4).1, Arg::Output];
    let check = |from: &str, to: &str, kind: DiagnosticKind, text: &str| {
        let base = by_rows(true);
        let changed = base.replacen(from, to, 1);
        assert_ne!(changed, base, "{from}");
        let module = parse(&changed);
        let (message, _) = only(&module, &run_f(&module, &args()), kind);
        assert!(message.contains(text), "{message}");
    };
    check(
        "AS: f16[16, 24]",
        "AS: f16[16, 20]",
        DiagnosticKind::Misaligned,
        "`AS[1, 0]` at byte 40, which is no multiple of 16",
    );
    check("&AS[tx % 16 : 1", "&AS[tx % 17 : 1", DiagnosticKind::OutOfBounds, "`AS[16, 8]` on, out of bounds");
    check(
        "for e in 0..8 {\n               CF[e] = 1.0",
        "for e in 0..7 {\n CF[e] = 1.0",
        DiagnosticKind::Uninitialised,
        "`CF[7]`",
    );
    let swap = "if tx / 16 == 0 {\n mma.sync(&CF[0 : 8], &AF[0 : 8], &BF[0 : 8])\n }";
    check("mma.sync(&CF[0 : 8], &AF[0 : 8], &BF[0 : 8])", swap, DiagnosticKind::DivergentWarp, "16 of 32 threads");
    check("mma.ldmatrix(&AF[0 : 8]", "mma.ldmatrix(&AF[0 : 4]", DiagnosticKind::Uninitialised, "`AF[4]`");
}
