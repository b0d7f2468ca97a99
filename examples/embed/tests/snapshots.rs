//! What the pass of this crate makes, pinned by snapshots: three lines a test.

/// What `pipeline` makes of the sum `text`.
fn after(pipeline: &str, text: &str, shapes: &[&[u64]]) -> String {
    let compiler = einsum_embed::compiler();
    let shapes: Vec<Vec<u64>> = shapes.iter().map(|shape| shape.to_vec()).collect();
    match einsum_embed::module(&compiler, text, &shapes) {
        Ok(module) => tc::testing::with(&compiler).module_after(pipeline, &module),
        Err(failure) => failure.to_string(),
    }
}

const LOWER: &str = "te.func(lower-einsum)";

#[test]
fn what_is_built() {
    insta::assert_snapshot!(after("", "ij,jk->ik", &[&[64, 32], &[32, 48]]));
}

#[test]
fn a_product_of_matrices() {
    insta::assert_snapshot!(after(LOWER, "ij,jk->ik", &[&[64, 32], &[32, 48]]));
}

#[test]
fn a_batch_of_products() {
    insta::assert_snapshot!(after(LOWER, "bij,bjk->bik", &[&[8, 64, 32], &[8, 32, 48]]));
}

#[test]
fn a_trace() {
    insta::assert_snapshot!(after(LOWER, "ii->", &[&[100, 100]]));
}

#[test]
fn nothing_to_sum() {
    insta::assert_snapshot!(after(LOWER, "i,j->ij", &[&[5], &[7]]));
}

#[test]
fn extents_that_differ() {
    insta::assert_snapshot!(after(LOWER, "ij,jk->ik", &[&[64, 32], &[31, 48]]));
}

#[test]
fn its_own_op_reads_back_as_text() {
    let compiler = einsum_embed::compiler();
    let text = "te.func @f(A: f32[4, 5]) -> f32[4] {\n  R = einsum.contract(A, spec = \"ij->i\")\n  return R\n}\n";
    insta::assert_snapshot!(tc::testing::with(&compiler).after(LOWER, text));
}
