//! A case as a file for a machine with a GPU: the operator, and the program that the pipeline left of it.
//!
//! `tc-run --check` compares the two there, on whatever way the program becomes PTX. Here nothing has to be built for that
//! machine but `tc-run`: what was drawn, and what was refused of it, is settled before the file is written.

use super::check::settle;
use super::tally::Tally;
use super::{Case, passes};
use tc::Compiler;

/// The file of case `number` of `seed`; none where the case has no kernel, or has failed already.
pub fn file(compiler: &Compiler, seed: u64, number: u64) -> Option<String> {
    let mut case = Case::new(compiler, seed, number);
    let mut tally = Tally::default();
    settle(compiler, &mut case, &mut tally).ok()?;
    if tally.emitted == 0 {
        return None;
    }
    let mut module = compiler.parse("case.tir", &case.text()).ok()?.module;
    compiler.run(&mut module, &passes::text(&case.passes)).ok()?;
    let program = compiler.print(&module).ok()?;
    let program = program.strip_prefix("tir 1\n").unwrap_or(&program);
    // The operator has the name that the program has, and a program says whose it is.
    let (head, rest) = program.split_once("tir.func @op(")?;
    let (params, rest) = rest.split_once(") attributes {")?;
    let schedule = case.schedule.text().lines().fold(String::new(), |text, line| text + "// " + line + "\n");
    Some(format!(
        "tir 1\n\n// Case {number} of seed {seed}.\n{schedule}// {}\n\n{}\n{head}tir.func @program({params}) attributes \
         {{implements = @op, {rest}",
        passes::text(&case.passes),
        case.operator.text(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_the_operator_and_a_program_that_implements_it() {
        let compiler = Compiler { threads: 1, ..Compiler::new() };
        let files: Vec<String> = (0..8).filter_map(|number| file(&compiler, 1, number)).collect();
        assert!(!files.is_empty());
        for text in files {
            let parsed = compiler.parse("case.tir", &text);
            let module = parsed.unwrap_or_else(|failure| panic!("{}\n{text}", failure.text())).module;
            let options = tc::sim::CheckOptions::default();
            let report = tc::sim::check_against_definition((&module, "op"), (&module, "program"), &options);
            assert!(report.is_ok_and(|report| report.is_ok() && report.cells > 0), "{text}");
            let emitted = compiler.emit_cuda(&module).unwrap_or_else(|failure| panic!("{}\n{text}", failure.text()));
            assert!(emitted.source.contains("__global__"), "{text}");
            if tc::mlir::lower::AVAILABLE {
                let ptx = compiler.emit_ptx(&module, tc::Via::Mlir);
                let ptx = ptx.unwrap_or_else(|failure| panic!("{}\n{text}", failure.text()));
                assert!(ptx.text.contains(".entry"), "{text}");
            }
        }
    }
}
