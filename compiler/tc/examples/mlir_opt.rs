//! A tool like `mlir-opt` that knows one pass more: `tc{…}`, which runs a pass pipeline of tc on the kernels of GPU modules.
//!
//! ```text
//! mlir_opt [FILE] [PIPELINE]
//! mlir_opt kernel.mlir 'canonicalize,tc{cuda},cse'
//! ```
//!
//! `PIPELINE` is a list of MLIR's passes on `builtin.module` and of `tc{…}` with a pipeline of tc. MLIR's C interface cannot
//! register a pass of Rust by name, so the tool divides the list itself: what is between passes of tc goes to MLIR as it is.
//! Without a file it reads an example of its own; without a pipeline it runs `canonicalize,tc{cuda},cse`.
//!
//! `cargo run -p tirc --features mlir --example mlir_opt -- examples/mlir/matmul.mlir`

use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::Module;
use melior::pass::PassManager;
use melior::utility::parse_pass_pipeline;
use std::cell::RefCell;
use std::rc::Rc;
use tc::Compiler;

/// What runs where no pipeline is given.
const USUAL: &str = "canonicalize,tc{cuda},cse";

/// What is read where no file is given.
const EXAMPLE: &str = include_str!("../../../examples/mlir/matmul.mlir");

/// A step of a pipeline.
#[derive(PartialEq, Debug)]
enum Step<'t> {
    /// Passes of MLIR, as text.
    Mlir(&'t str),
    /// A pipeline of tc.
    Tc(&'t str),
}

/// The steps of `pipeline`, divided at the commas outside of brackets.
fn steps(pipeline: &str) -> Vec<Step<'_>> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0i32);
    let mut put = |text: &str, range: std::ops::Range<usize>| {
        let one = pipeline[range].trim();
        debug_assert!(text.len() >= one.len());
        match one.strip_prefix("tc{").and_then(|rest| rest.strip_suffix('}')) {
            Some(own) => found.push(Step::Tc(own)),
            None if one.is_empty() => {}
            None => found.push(Step::Mlir(one)),
        }
    };
    for (at, c) in pipeline.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                put(pipeline, start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    put(pipeline, start..pipeline.len());
    found
}

/// Runs `pipeline` on a text; gives the module that results, or what MLIR said.
fn compile(text: &str, pipeline: &str) -> Result<String, Vec<String>> {
    let registry = DialectRegistry::new();
    tc::mlir::lower::add_dialects(&registry);
    tc::mlir::lower::register_passes();
    let context = Context::new_with_registry(&registry, false);
    let said = Rc::new(RefCell::new(Vec::new()));
    let list = said.clone();
    context.attach_diagnostic_handler(move |diagnostic| {
        list.borrow_mut().push(format!("{}: {diagnostic}", diagnostic.location()));
        true
    });
    if text.contains('\0') {
        return Err(vec!["there is a zero in this text".to_string()]);
    }
    let mut module = Module::parse(&context, text).ok_or_else(|| said.take())?;
    let compiler = Compiler::new();
    for step in steps(pipeline) {
        let manager = PassManager::new(&context);
        match step {
            Step::Tc(own) => manager.add_pass(compiler.mlir_pass(own)),
            Step::Mlir(text) => {
                let text = format!("builtin.module({text})");
                parse_pass_pipeline(manager.as_operation_pass_manager(), &text).map_err(|why| vec![why.to_string()])?;
            }
        }
        if manager.run(&mut module).is_err() {
            return Err(said.take());
        }
    }
    Ok(module.as_operation().to_string())
}

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool prints")]
fn main() {
    let mut args = std::env::args().skip(1);
    let text = match args.next() {
        Some(file) => std::fs::read_to_string(&file).map_err(|why| vec![format!("{file}: {why}")]),
        None => Ok(EXAMPLE.to_string()),
    };
    let pipeline = args.next().unwrap_or_else(|| USUAL.to_string());
    match text.and_then(|text| compile(&text, &pipeline)) {
        Ok(module) => println!("{module}"),
        Err(said) => {
            eprintln!("{}", said.join("\n"));
            std::process::exit(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipelines_are_divided_at_passes_of_tc() {
        let found = steps("canonicalize,tc{tir.func(simplify,cse)}, gpu.module(cse,canonicalize)");
        let wanted = [
            Step::Mlir("canonicalize"),
            Step::Tc("tir.func(simplify,cse)"),
            Step::Mlir("gpu.module(cse,canonicalize)"),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn kernels_are_compiled_in_their_place_and_launches_follow() {
        let module = compile(EXAMPLE, USUAL).unwrap_or_else(|said| panic!("{said:?}"));
        assert!(module.contains("gpu.module @kernels") && module.contains("gpu.func @matmul("), "{module}");
        assert!(module.contains("memref.collapse_shape") && module.contains("memref.memory_space_cast"), "{module}");
        assert!(module.contains("gpu.launch_func  @kernels::@matmul"), "{module}");
        assert!(module.contains("overflow<nsw>"), "indices are narrow, and do not overflow: {module}");
    }

    #[test]
    fn what_has_no_counterpart_is_an_error_of_mlir_at_its_op() {
        let wrong = EXAMPLE.replace("%p = arith.mulf %l, %r : f32", "%p = arith.maximumf %l, %r : f32");
        let said = compile(&wrong, USUAL).expect_err("there is no such op in a program");
        let line = wrong.lines().position(|line| line.contains("maximumf")).expect("it is there") + 1;
        assert!(said[0].contains(&format!("\"-\":{line}:")) && said[0].contains("`arith.maximumf`"), "{said:?}");
    }
}
