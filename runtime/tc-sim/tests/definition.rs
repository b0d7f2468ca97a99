//! Operators by definition.

mod common;

use common::{lines, parse};
use tc_ir::Elem;
use tc_sim::{Definition, Limits, Sizes, Tensor};

fn tensor(shape: &[u64], values: &[f64]) -> Tensor {
    Tensor::from_f64s(Elem::F32, shape, values).expect("it fits")
}

fn evaluate(text: &str, name: &str, inputs: &[Tensor]) -> Vec<Vec<f64>> {
    let module = parse(text);
    let mut definition = Definition::new(&module, name, &Sizes::new(), Limits::default()).expect("compiles");
    let evaluation = definition.evaluate(inputs).expect("runs");
    assert!(evaluation.diagnostics.is_empty(), "{:?}", evaluation.diagnostics);
    evaluation.tensors().iter().map(Tensor::to_f64s).collect()
}

#[test]
fn a_convolution_reads_beyond_its_input_only_where_it_may() {
    let text = "te.func @conv(A: f32[4], W: f32[2]) -> f32[5] {
      compute B[i: 5] = sum[r: 2](if_then_else(0 <= i - r && i - r < 4, A[i - r], 0.0) * W[r])
      return B
    }";
    let inputs = [tensor(&[4], &[1.0, 2.0, 3.0, 4.0]), tensor(&[2], &[10.0, 1.0])];
    assert_eq!(evaluate(text, "conv", &inputs), [[10.0, 21.0, 32.0, 43.0, 4.0]]);
}

#[test]
fn a_select_may_read_out_of_range_what_it_does_not_choose() {
    let text = "te.func @pad(A: f32[3]) -> f32[5] {
      compute B[i: 5] = select(i >= 1 && i < 4, A[i - 1], 0.0)
      return B
    }";
    assert_eq!(evaluate(text, "pad", &[tensor(&[3], &[1.0, 2.0, 3.0])]), [[0.0, 1.0, 2.0, 3.0, 0.0]]);
}

#[test]
fn poison_in_a_stage_is_harmless_until_it_is_used() {
    let stages = |read: &str| {
        format!(
            "te.func @f(A: f32[4]) -> f32[4] {{
               compute S[i: 8] = A[i] * 2.0
               compute B[i: 4] = {read}
               return B
             }}"
        )
    };
    let input = [tensor(&[4], &[1.0, 2.0, 3.0, 4.0])];
    assert_eq!(evaluate(&stages("S[i]"), "f", &input), [[2.0, 4.0, 6.0, 8.0]]);
    let module = parse(&stages("S[i + 1]"));
    let mut definition = Definition::new(&module, "f", &Sizes::new(), Limits::default()).expect("compiles");
    let evaluation = definition.evaluate(&input).expect("runs");
    let found = evaluation.diagnostics.iter().next().expect("cell 3 uses S[4]");
    assert_eq!(found.diagnostic.message, "cell [3] uses what is read out of range");
    assert_eq!(lines(&module, &found.diagnostic)[0], 3);
    // Asked for one cell, the stage is computed where it is read.
    let at = definition.evaluate_at(&input, &[vec![vec![3]]]).expect("runs");
    assert!(!at.diagnostics.is_empty());
    let at = definition.evaluate_at(&input, &[vec![vec![2], vec![0]]]).expect("runs");
    assert!(at.diagnostics.is_empty(), "{:?}", at.diagnostics);
    assert_eq!(at.tensors()[0].to_f64s(), [8.0, 4.0]);
}

#[test]
fn a_combiner_of_two_results() {
    let text = "te.combiner @argmax(lv: f32, li: i32, rv: f32, ri: i32) -> (f32, i32) {
      identity {
        yield -inf, -1
      }
      yield select(lv >= rv, lv, rv), select(lv >= rv, li, ri)
    }
    te.func @rowmax<n = 2, m = 4>(A: f32[n, m]) -> (f32[n], i32[n]) {
      compute V, I[i: n] = argmax[k: m](A[i, k], cast<i32>(k))
      return V, I
    }";
    let input = [tensor(&[2, 4], &[1.0, 7.0, 7.0, 2.0, -5.0, -9.0, -4.0, -4.5])];
    assert_eq!(evaluate(text, "rowmax", &input), [[7.0, -4.0], [1.0, 2.0]]);
}

#[test]
fn reductions_start_from_their_identity_or_an_initial_value_and_skip_where_told() {
    let text = "te.func @f(A: f32[4], M: bool[4]) -> (f32, f32[1], f32[1], f32[1]) {
      compute S[] = sum[k: 4](A[k], where = M[k], init = 100.0)
      compute P[i: 1] = prod[k: 4](A[k])
      compute L[i: 1] = min[k: 1..4](A[k])
      compute G[i: 1] = max[k: 0..0](A[k])
      return S, P, L, G
    }";
    let module = parse(text);
    let mut definition = Definition::new(&module, "f", &Sizes::new(), Limits::default()).expect("compiles");
    let mask = Tensor::new(Elem::Bool, vec![4], vec![1, 0, 0, 1]).expect("fits");
    let evaluation = definition.evaluate(&[tensor(&[4], &[-2.0, 3.0, 5.0, 7.0]), mask]).expect("runs");
    let results: Vec<f64> = evaluation.tensors().iter().flat_map(Tensor::to_f64s).collect();
    assert_eq!(results, [105.0, -210.0, 3.0, f64::NEG_INFINITY]);
}

#[test]
fn axes_may_start_anywhere_and_sizes_may_be_given() {
    let text = "te.func @f<n = 3>(A: f32[n + 2]) -> f32[n] {
      let last = n + 2
      compute B[i: 2..last] = A[i] - A[i - 2]
      return B
    }";
    let input = [tensor(&[5], &[1.0, 2.0, 4.0, 8.0, 16.0])];
    assert_eq!(evaluate(text, "f", &input), [[3.0, 6.0, 12.0]]);
    let module = parse(text);
    let sizes = Sizes::from([("n".to_string(), 1)]);
    let mut definition = Definition::new(&module, "f", &sizes, Limits::default()).expect("compiles");
    assert_eq!(definition.inputs()[0].shape, [3]);
    let evaluation = definition.evaluate(&[tensor(&[3], &[1.0, 2.0, 4.0])]).expect("runs");
    assert_eq!(evaluation.tensors()[0].to_f64s(), [3.0]);
}

#[test]
fn chosen_cells_are_those_of_the_whole() {
    // A stage with a reduction below a stage with one, and one that is read twice.
    let text = "te.func @f(A: f32[16, 16], W: f32[3]) -> f32[14, 14] {
      compute S[i: 16, j: 14] = sum[r: 3](A[i, j + r] * W[r])
      compute T[i: 14, j: 14] = sum[r: 3](S[i + r, j] * W[r])
      compute B[i: 14, j: 14] = T[i, j] - T[j, i]
      return B
    }";
    let module = parse(text);
    let mut definition = Definition::new(&module, "f", &Sizes::new(), Limits::default()).expect("compiles");
    let values: Vec<f64> = (0..256).map(|i| f64::from((i * 37 + 11) % 19) - 9.0).collect();
    let inputs = [tensor(&[16, 16], &values), tensor(&[3], &[1.0, -2.0, 3.0])];
    let whole = definition.evaluate(&inputs).expect("runs").tensors()[0].to_f64s();
    let cells: Vec<Vec<u64>> = (0..14).map(|i| vec![i, (i * 5) % 14]).collect();
    let some = definition.evaluate_at(&inputs, std::slice::from_ref(&cells)).expect("runs").tensors()[0].to_f64s();
    let want: Vec<f64> = cells.iter().map(|cell| whole[(cell[0] * 14 + cell[1]) as usize]).collect();
    assert_eq!(some, want);
    assert!(want.iter().any(|&value| value != 0.0));
}
