//! Tiles that warps hold: fragments, images, and what lanes hold, phased and threaded.

mod common;

use common::{only, output, parse, run_f};
use tc_ir::Elem;
use tc_sim::{Arg, DiagnosticKind, Tensor};

fn input(elem: Elem, shape: &[u64], values: &[f64]) -> Arg {
    Arg::Input(Tensor::from_f64s(elem, shape, values).expect("it fits"))
}

/// Small integers without a pattern.
fn numbers(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|nth| ((nth * 37 + nth / 7 * 5 + seed * 11) % 13) as f64 - 6.0).collect()
}

/// `c + a * b`, a m x k, b k x n.
fn product(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let cell = |nth: usize| (0..k).map(|step| a[nth / n * k + step] * b[step * n + nth % n]).sum();
    (0..m * n).map(cell).collect()
}

fn transposed(values: &[f64], rows: usize, cols: usize) -> Vec<f64> {
    (0..rows * cols).map(|nth| values[nth % rows * cols + nth / rows]).collect()
}

/// `text` phased and threaded, in which nothing is found; the last argument.
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

#[test]
fn fragments_of_all_shapes_and_layouts() {
    for (elem, total, [m, n, k]) in [
        (Elem::F16, Elem::F32, [16, 16, 16]),
        (Elem::F16, Elem::F16, [32, 8, 16]),
        (Elem::BF16, Elem::F32, [8, 32, 16]),
        (Elem::I8, Elem::I32, [16, 16, 16]),
        (Elem::TF32, Elem::F32, [16, 16, 8]),
    ] {
        for (a_col, b_col, c_col) in
            [(false, false, false), (true, false, true), (false, true, false), (true, true, true)]
        {
            let word = |col: bool| if col { "col_major" } else { "row_major" };
            let (la, lb, lc) = (word(a_col), word(b_col), word(c_col));
            let (a_stride, b_stride, c_stride) =
                (if a_col { m } else { k }, if b_col { k } else { n }, if c_col { m } else { n });
            let memory = if elem == Elem::TF32 { Elem::F32 } else { elem };
            let (of, memory_name, to) = (elem.name(), memory.name(), total.name());
            let zero = match total {
                Elem::F16 => "0.0f16",
                Elem::I32 => "0i32",
                _ => "0.0",
            };
            // Two warps, each with tiles of its own.
            let text = format!(
                "tir.func @f(A: {memory_name}[{ma}], B: {memory_name}[{nb}], C: {to}[{mc}]) {{
                   alloc AF: wmma.fragment<matrix_a, {m}, {n}, {k}, {of}, {la}>[1] in wmma.matrix_a
                   alloc BF: wmma.fragment<matrix_b, {m}, {n}, {k}, {of}, {lb}>[2] in wmma.matrix_b
                   alloc CF: wmma.fragment<accumulator, {m}, {n}, {k}, {to}>[1] in wmma.accumulator
                   for ty in 0..2 bind(threadIdx.y) {{
                     for tx in 0..32 bind(threadIdx.x) {{
                       wmma.fill(&CF[0], {zero})
                       wmma.load(&AF[0], &A[ty * {sa}], stride = {a_stride}, layout = {la})
                       wmma.load(&BF[1], &B[0], stride = {b_stride}, layout = {lb})
                       wmma.mma(&CF[0], &AF[0], &BF[1])
                       wmma.store(&C[ty * {sc}], &CF[0], stride = {c_stride}, layout = {lc})
                     }}
                   }}
                 }}",
                ma = 2 * m * k,
                nb = k * n,
                mc = 2 * m * n,
                sa = m * k,
                sc = m * n,
            );
            let (a, b) = (numbers(2 * m * k, 1), numbers(k * n, 2));
            let found = result(
                &text,
                &[input(memory, &[2 * (m * k) as u64], &a), input(memory, &[(k * n) as u64], &b), Arg::Output],
            );
            for warp in 0..2 {
                let a = &a[warp * m * k..(warp + 1) * m * k];
                let a = if a_col { transposed(a, k, m) } else { a.to_vec() };
                let b = if b_col { transposed(&b, n, k) } else { b.clone() };
                let wanted = product(&a, &b, [m, n, k]);
                let wanted = if c_col { transposed(&wanted, m, n) } else { wanted };
                let found = &found[warp * m * n..(warp + 1) * m * n];
                assert_eq!(found, wanted, "{of} {m}x{n}x{k} {la} {lb} {lc}");
            }
        }
    }
}

/// A product of images: b stands transposed. Plain loops fill the sum, add to it and write it back.
const IMAGES: &str = "tir.func @f(A: f16[16, 16], B: f16[16, 16], C: f32[16, 16]) {
  alloc AF: f16[2, 16, 16] in wmma.matrix_a
  alloc BF: f16[16, 16] in wmma.matrix_b
  alloc CF: f32[16, 16] in wmma.accumulator
  for tx in 0..32 bind(threadIdx.x) {
    for i in 0..16 {
      for j in 0..16 {
        CF[i, j] = cast<f32>(i)
      }
    }
    wmma.load(&AF[1 : 1, 0 : 16, 0 : 16], &A[0, 0], stride = 16, layout = row_major)
    wmma.load(&BF[0 : 16, 0 : 16], &B[0 : 16, 0 : 16], stride = 16, layout = col_major)
    wmma.mma(&CF[0 : 16, 0 : 16], &AF[1 : 1, 0 : 16, 0 : 16], &BF[0 : 16, 0 : 16], b_layout = col_major)
    for i in 0..16 {
      for j in 0..16 {
        CF[i, j] = CF[i, j] * 2.0
      }
    }
    wmma.store(&C[0, 0], &CF[0 : 16, 0 : 16], stride = 16, layout = row_major)
  }
}";

fn sixteen(a: &[f64], b: &[f64]) -> [Arg; 3] {
    [input(Elem::F16, &[16, 16], a), input(Elem::F16, &[16, 16], b), Arg::Output]
}

#[test]
fn plain_loops_work_on_images() {
    let (a, b) = (numbers(256, 3), numbers(256, 4));
    let found = result(IMAGES, &sixteen(&a, &b));
    let wanted = product(&a, &transposed(&b, 16, 16), [16, 16, 16]);
    let wanted: Vec<f64> = wanted.iter().enumerate().map(|(nth, sum)| 2.0 * (sum + (nth / 16) as f64)).collect();
    assert_eq!(found, wanted);
}

#[test]
fn what_is_wrong_with_tiles_is_found() {
    let args = || sixteen(&numbers(256, 3), &numbers(256, 4));
    let check = |from: &str, to: &str, kind: DiagnosticKind, text: &str| {
        let changed = IMAGES.replacen(from, to, 1);
        assert_ne!(changed, IMAGES, "{from}");
        let module = parse(&changed);
        let (message, lines) = only(&module, &run_f(&module, &args()), kind);
        assert!(message.contains(text), "{message}");
        assert!(lines[0] > 4, "{lines:?}");
    };
    check(
        "&A[0, 0]",
        "&A[0, 8]",
        DiagnosticKind::OutOfBounds,
        "a tile of 16 x 16, with a stride of 16, from `A[0, 8]` on",
    );
    check("&A[0, 0], stride = 16", "&A[0, 0], stride = 15", DiagnosticKind::Misaligned, "stride of `wmma.load` is 15");
    check(
        "&A[0, 0], stride = 16",
        "&A[0, 8], stride = 8",
        DiagnosticKind::Misaligned,
        "byte 16, which is no multiple of 32",
    );
    check("CF[i, j] = cast<f32>(i)", "CF[i, j] = cast<f32>(tx)", DiagnosticKind::Race, "race on `CF[0, 0]`");
    check("for j in 0..16", "for j in 0..15", DiagnosticKind::Uninitialised, "`CF[0, 15]`, which no thread wrote");
    check(
        "wmma.load(&AF[1 :",
        "wmma.load(&AF[0 :",
        DiagnosticKind::Uninitialised,
        "`AF[1, 0, 0]`, which no thread wrote",
    );
    let report = run_f(&parse(&IMAGES.replace("&C[0, 0]", "&C[8, 0]")), &args());
    let found =
        report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::OutOfBounds).expect("it is too far");
    assert!(found.diagnostic.message.contains("writes a tile of 16 x 16"), "{}", found.diagnostic.message);
}

#[test]
fn a_warp_comes_as_a_whole() {
    let (a, b) = (numbers(256, 3), numbers(256, 4));
    let text = IMAGES
        .replace("    wmma.mma(", "    if tx < 16 {\n wmma.mma(")
        .replace("b_layout = col_major)", "b_layout = col_major)\n}");
    for text in [text.clone(), text.replacen(") {", ") attributes {threaded} {", 1)] {
        let module = parse(&text);
        let (message, lines) = only(&module, &run_f(&module, &sixteen(&a, &b)), DiagnosticKind::DivergentWarp);
        assert_eq!(message, "warp 0 comes to `wmma.mma` with 16 of 32 threads");
        assert_eq!(lines, [14, 13]);
    }
    let small = IMAGES.replace("0..32", "0..16");
    let module = parse(&small);
    let report = run_f(&module, &sixteen(&a, &b));
    let (message, _) = only(&module, &report, DiagnosticKind::DivergentWarp);
    assert_eq!(message, "warp 0 comes to `wmma.load` with 16 of 32 threads");
    let notes = &report.diagnostics.iter().next().expect("one").diagnostic.notes;
    assert_eq!(notes[0], "the block has 16 threads");
}

#[test]
fn operands_are_the_same_in_all_threads_of_a_warp() {
    let text = "tir.func @f(A: f16[4096], C: f16[256]) {
      alloc AF: wmma.fragment<accumulator, 16, 16, 16, f16>[2] in wmma.accumulator
      for tx in 0..64 bind(threadIdx.x) {
        wmma.fill(&AF[0], 1.0f16)
        wmma.fill(&AF[1], 1.0f16)
        wmma.load(&AF[tx / 32], &A[tx / 32 * 256], stride = 16, layout = row_major)
        if tx / 32 == 1 {
          wmma.store(&C[0], &AF[tx / 32], stride = 16, layout = row_major)
        }
      }
    }";
    let a = numbers(4096, 5);
    let args = [input(Elem::F16, &[4096], &a), Arg::Output];
    assert_eq!(result(text, &args), &a[256..512]);
    for (from, to, what) in [
        ("&A[tx / 32 * 256]", "&A[tx / 16 * 256]", "place in `A`"),
        ("wmma.load(&AF[tx / 32]", "wmma.load(&AF[tx / 16 % 2]", "place in `AF`"),
        ("256], stride = 16", "256], stride = tx / 16 * 16", "stride"),
        ("wmma.fill(&AF[1], 1.0f16)", "wmma.fill(&AF[1], A[tx])", "value"),
    ] {
        let changed = text.replace(from, to);
        let module = parse(&changed);
        let report = run_f(&module, &args);
        let found = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::DivergentWarp);
        let message = &found.unwrap_or_else(|| panic!("{to}: {:#?}", report.diagnostics)).diagnostic.message;
        assert!(message.ends_with(&format!("with a different {what}")), "{message}");
    }
}
