//! Measures the parser: `cargo run --release -p tirc-syntax --example parse_speed [FILE]`.
//!
//! Without a file it makes three modules of a million ops each: in the concise form, in the generic form, and in one
//! huge function.

use std::time::Instant;
use tc_support::Pos;
use tc_syntax::tree::{Item, Tree};

const N_OPS: usize = 1_000_000;

fn main() -> std::io::Result<()> {
    if let Some(path) = std::env::args().nth(1) {
        measure(&path, &std::fs::read_to_string(&path)?);
        return Ok(());
    }
    measure("concise", &concise(N_OPS / 80));
    measure("generic", &generic(N_OPS / 10, true));
    measure("one item", &generic(N_OPS / 10, false));
    Ok(())
}

fn measure(name: &str, text: &str) {
    let mut best = f64::INFINITY;
    let mut n_items = 0;
    for _ in 0..5 {
        n_items = 0;
        let start = Instant::now();
        let diagnostics = tc_syntax::parse(text, Pos(1), &mut |_: &Tree, _: &Item| n_items += 1);
        best = best.min(start.elapsed().as_secs_f64());
        assert!(diagnostics.is_empty(), "{:?}", diagnostics.iter().next());
    }
    let megabytes = text.len() as f64 / 1e6;
    #[expect(clippy::print_stdout, reason = "it is what the program is for")]
    {
        println!("{name}: {megabytes:.1} MB, {n_items} items, {best:.3} s, {:.0} MB/s", megabytes / best);
    }
}

/// Functions of 80 ops each, constants not counted.
fn concise(n_functions: usize) -> String {
    let mut text = String::from("tir 1\n\n");
    for idx in 0..n_functions {
        text.push_str(&format!(
            "tir.func @f{idx}(A: f32[1024], B: f32[1024]) attributes {{noalias}} {{\n  \
             for bx in 0..32 bind(blockIdx.x) {{\n    for tx in 0..32 bind(threadIdx.x) {{\n"
        ));
        for line in 0..6 {
            text.push_str(&format!(
                "      let i{line} = bx * 32 + tx + {line}\n      \
                 B[i{line}] = B[i{line}] + if_then_else(0 <= i{line} && i{line} < 1024, A[i{line}], 0.0) * A[tx]\n"
            ));
        }
        text.push_str("    }\n  }\n}\n\n");
    }
    text
}

/// One op a line, in functions of ten ops or in one function.
fn generic(n_functions: usize, many: bool) -> String {
    let mut text = String::from("tir 1\n\n");
    let head = "(X: f32[1024], Y: f32[1024], c0: index, c8: index) {\n";
    if !many {
        text.push_str(&format!("tir.func @f{head}"));
    }
    for idx in 0..n_functions {
        if many {
            text.push_str(&format!("tir.func @f{idx}{head}"));
        }
        for line in 0..5 {
            text.push_str(&format!("  mul{line} = arith.mul(c0, c8, overflow = wrap) : index\n"));
            text.push_str(&format!("  x{line} = tir.load(X, mul{line}, aligned = 16) : f32\n"));
        }
        if many {
            text.push_str("}\n");
        }
    }
    if !many {
        text.push_str("}\n");
    }
    text
}
