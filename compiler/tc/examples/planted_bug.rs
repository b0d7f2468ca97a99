//! From a wrong pass to a program of a few lines: a bug is planted, found, reproduced and made small.
//!
//! `cargo run -p tirc --example planted_bug`

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;
use std::fmt::Write;
use std::time::Instant;
use tc::debug::{Limits, Reproducer, Verify};
use tc::dialects::arith;
use tc::ir::rewrite::rewrite_ops;
use tc::ir::walk::ancestors;
use tc::ir::{Func, Role};
use tc::pass::{FuncPass, OptionError, PassCx, PassInfo, PassKind, RawOption};

/// The pass with the bug: inside of two loops it takes `max` for `min`.
struct Clamp;

impl FuncPass for Clamp {
    fn run(&self, func: &mut Func, _: &mut PassCx) -> bool {
        rewrite_ops(func, |rw, op| {
            let func = rw.func();
            let n_loops = ancestors(func, op).filter(|&around| func.role(around) == Role::For).count();
            if n_loops >= 2 && func.opcode(op) == arith::MAX {
                rw.set_opcode(op, arith::MIN);
            }
        })
    }
}

fn make(_: &[RawOption]) -> Result<PassKind, OptionError> {
    Ok(PassKind::Func(tc::dialects::tir::FUNC, Box::new(Clamp)))
}

static CLAMP: PassInfo = PassInfo {
    name: "clamp",
    page: "Clamps.",
    anchor: "tir.func",
    options: &[],
    requires: &[],
    establishes: &[],
    preserves: &[],
    make,
};

/// A program of some three hundred ops in which one `max` in four stands in two loops.
fn program() -> Result<String, std::fmt::Error> {
    let mut text = "tir 1\n\ntir.func @blend(left: f32[16, 32], right: f32[16, 32], out: f32[16, 32]) {\n".to_string();
    for nth in 0..28 {
        writeln!(text, "  for row in 0..16 {{")?;
        writeln!(text, "    let scale = right[row, {nth}] * {nth}.5 + left[row, 0]")?;
        writeln!(text, "    if row < {nth} {{")?;
        writeln!(text, "      out[row, {nth}] = max(scale, 0.0) + left[row, {nth}]")?;
        writeln!(text, "    }}")?;
        if nth % 4 == 3 {
            writeln!(text, "    for column in 0..32 {{")?;
            writeln!(text, "      if column < {} {{", nth + 4)?;
            writeln!(text, "        out[row, column] = max(scale, left[row, column]) * right[row, column]")?;
            writeln!(text, "      }}")?;
            writeln!(text, "    }}")?;
        }
        writeln!(text, "  }}")?;
    }
    Ok(text + "}\n")
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut compiler = tc::Compiler::new();
    compiler.passes.add_pass(&CLAMP).map_err(|taken| format!("the name `{}` is taken", taken.0))?;

    // The run that fails: on the simulator a pass is seen to change what the program means.
    let mut run = compiler.attempt(&program()?, "module(tir.func(simplify,cse,clamp,simplify,dce,canonicalize))");
    run.verify = Verify::Semantics;
    let found = compiler.rerun(&run);
    let shown = || tc::support::render::text(&found.diagnostics, &found.sources, false);
    let signature = found.signature.clone().ok_or_else(|| format!("the bug was not found:\n{}", shown()))?;
    println!("found:      {signature}");

    // Its reproducer: the program before that pass, and the passes from there on. It is a text.
    let reproducer = compiler.narrowed(&run).ok_or("no reproducer was made")?;
    let text = reproducer.to_string();
    println!("reproducer: {} lines, passes {}", text.lines().count(), reproducer.pipeline);

    // The reproducer reads back, and fails in the same way.
    let again = Reproducer::parse("reproducer.tir", &text).map_err(|(wrong, _)| wrong.message)?;
    if compiler.rerun(&again).signature.as_ref() != Some(&signature) {
        return Err("the reproducer does not fail as the run did".into());
    }

    let start = Instant::now();
    let limits = Limits { threads: 2, ..Limits::default() };
    let small = compiler.reduce(&again, &limits).map_err(|why| format!("it was not reduced: {why:?}"))?;
    let (before, after) = (small.before.ops.unwrap_or(0), small.after.ops.unwrap_or(0));
    println!("reduced:    {before} ops to {after}, by {} runs in {:.1} s", small.asked, start.elapsed().as_secs_f64());
    println!("\n{}", small.text);

    let left = Reproducer::parse("reduced.tir", &small.text).map_err(|(wrong, _)| wrong.message)?;
    if before < 200 || after >= 10 || !compiler.fails_like(&left, &signature, limits.time) {
        return Err("the program that is left is too large, or fails in another way".into());
    }
    Ok(())
}
