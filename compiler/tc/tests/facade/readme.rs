//! The demo of the README: what it says comes out, does.

use tc::Compiler;
use tc::ir::print::{PrintOptions, print_module};

/// The fenced blocks of the README, in order.
fn blocks() -> Vec<String> {
    let readme = include_str!("../../../../README.md");
    readme.split("```").skip(1).step_by(2).map(|block| block.trim_start_matches('\n').to_string()).collect()
}

#[test]
fn the_demo_gives_the_program_that_the_readme_shows() {
    let blocks = blocks();
    let (demo, shown) = (&blocks[0], &blocks[1]);
    assert!(demo.starts_with("// demo.tir") && shown.starts_with("tir 1"), "the first two blocks are the demo");
    let compiler = Compiler::new();
    let mut module = compiler.parse("demo.tir", demo).expect("the demo is right").module;
    compiler.run(&mut module, "schedule{name=threads}").expect("the schedule is right");
    assert_eq!(&print_module(&module, &PrintOptions::default()), shown);
}

#[test]
fn the_demo_is_emitted_as_cuda() {
    let compiler = Compiler::new();
    let blocks = blocks();
    let emitted =
        compiler.compile_to_cuda("demo.tir", &blocks[0], "cuda{schedule=threads}").expect("the demo compiles");
    assert_eq!(emitted.source, blocks[2]);
}
