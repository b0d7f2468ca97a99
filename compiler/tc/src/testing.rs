//! For the tests of other crates: what the compiler makes of a text, as text that a snapshot pins.
//!
//! With [insta](https://insta.rs) a test of a pass is three lines:
//!
//! ```
//! # const TEXT: &str = "tir.func @f(A: i32[8]) {\n  A[0] = 1 + 2\n}\n";
//! // #[test]
//! fn sums_of_literals_are_folded() {
//!     insta::assert_snapshot!(tc::testing::after("canonicalize", TEXT), @r"
//!     tir 1
//!
//!     tir.func @f(A: i32[8]) {
//!       A[0] = 3
//!     }
//!     ");
//! }
//! # sums_of_literals_are_folded();
//! ```
//!
//! Three lines are enough where the snapshot is a file, which is what insta does without the part from `@` on.
//!
//! What is returned is the program, one line an op, as `tc-opt` prints it, so that a snapshot that changed shows as a
//! small diff; where something failed it is the diagnostics, with the lines that they point at. Diagnostics that are no errors
//! stand below the program, as comments. Times, paths and addresses never occur, and the number of cores makes no
//! difference.
//!
//! ```
//! let folded = tc::testing::after("canonicalize", "tir.func @f(A: i32[8]) {\n  A[0] = 1 + 2\n}\n");
//! assert_eq!(folded, "tir 1\n\ntir.func @f(A: i32[8]) {\n  A[0] = 3\n}\n");
//!
//! let refused = tc::testing::after("canonicalize", "tir.func @f(A: i32[8]) {\n  A[0] = b\n}\n");
//! assert!(refused.starts_with("error[") && refused.contains("input.tir:2:10"), "{refused}");
//! ```
//!
//! Passes and dialects of one's own are tested by a compiler that knows them:
//!
//! ```
//! let compiler = tc::Compiler::new(); // with passes of one's own
//! let shown = tc::testing::with(&compiler).after("cse", "tir.func @f(A: i32[8]) {\n  A[0] = 1\n}\n");
//! assert!(shown.starts_with("tir 1\n"));
//! ```

use crate::{Compiler, Failure};
use tc_ir::Module;
use tc_support::{Diagnostics, Sources, render};

/// What messages call the text of a test.
pub const NAME: &str = "input.tir";

/// The program that `pipeline` makes of `text`, or why it does not; without a pipeline, the program as it reads.
pub fn after(pipeline: &str, text: &str) -> String {
    with(&Compiler::new()).after(pipeline, text)
}

/// The lines that `pipeline` changes in `text`: gone ones with `-`, new ones with `+`, three others around each.
pub fn changed(pipeline: &str, text: &str) -> String {
    with(&Compiler::new()).changed(pipeline, text)
}

/// The CUDA C++ that `text` becomes by `pipeline`, which is `cuda` or a longer one.
pub fn cuda(pipeline: &str, text: &str) -> String {
    with(&Compiler::new()).cuda(pipeline, text)
}

/// Tests with a compiler of one's own.
pub fn with(compiler: &Compiler) -> Tester<'_> {
    Tester { compiler }
}

/// A compiler under test.
#[derive(Clone, Copy)]
pub struct Tester<'c> {
    compiler: &'c Compiler,
}

impl Tester<'_> {
    /// As [`after`].
    pub fn after(&self, pipeline: &str, text: &str) -> String {
        shown(self.parsed(text).and_then(|(mut module, warnings)| {
            let found = self.run(pipeline, &mut module, warnings)?;
            Ok(self.compiler.print(&module)? + &comments(&found, &module.sources))
        }))
    }

    /// As [`after`], of a module that was built rather than parsed.
    pub fn module_after(&self, pipeline: &str, module: &Module) -> String {
        let mut module = module.clone();
        shown(
            self.run(pipeline, &mut module, Diagnostics::new())
                .and_then(|found| Ok(self.compiler.print(&module)? + &comments(&found, &module.sources))),
        )
    }

    /// As [`changed`].
    pub fn changed(&self, pipeline: &str, text: &str) -> String {
        shown(self.parsed(text).and_then(|(mut module, warnings)| {
            let before = self.compiler.print(&module)?;
            let found = self.run(pipeline, &mut module, warnings)?;
            let after = self.compiler.print(&module)?;
            Ok(diff(&before, &after) + &comments(&found, &module.sources))
        }))
    }

    /// As [`cuda`]. The first line, which names the version of the compiler, is left out.
    pub fn cuda(&self, pipeline: &str, text: &str) -> String {
        shown(self.parsed(text).and_then(|(mut module, warnings)| {
            let found = self.run(pipeline, &mut module, warnings)?;
            let source = self.compiler.emit_cuda(&module)?.source;
            let source = source.split_once('\n').map_or("", |(_, rest)| rest);
            Ok(source.to_string() + &comments(&found, &module.sources))
        }))
    }

    fn parsed(&self, text: &str) -> Result<(Module, Diagnostics), Failure> {
        self.compiler.parse(NAME, text).map(|parsed| (parsed.module, parsed.warnings))
    }

    fn run(&self, pipeline: &str, module: &mut Module, mut found: Diagnostics) -> Result<Diagnostics, Failure> {
        if !pipeline.is_empty() {
            found.append(self.compiler.run(module, pipeline)?.diagnostics);
        }
        Ok(found)
    }
}

fn shown(made: Result<String, Failure>) -> String {
    made.unwrap_or_else(|failure| failure.text().trim_end().to_string() + "\n")
}

/// Diagnostics as comments of a program.
fn comments(found: &Diagnostics, sources: &Sources) -> String {
    let text = render::text(found, sources, false);
    text.trim_end().lines().map(|line| format!("// {line}").trim_end().to_string() + "\n").collect()
}

/// What changed from `before` to `after`.
fn diff(before: &str, after: &str) -> String {
    similar::TextDiff::from_lines(before, after).unified_diff().context_radius(3).to_string()
}
