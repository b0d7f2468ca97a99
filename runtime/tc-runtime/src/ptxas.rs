//! NVIDIA's assembler: PTX to machine code, by the program `ptxas`.
//!
//! The compiler of [`nvrtc`](crate::nvrtc) assembles what it has compiled itself, and nothing else.

use crate::scratch::ScratchFolder;
use crate::toolkit;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tc_support::suggest::shorten;
use tc_support::{Diagnostic, Location};
use tc_target::Target;

/// The machine code of `ptx` for `target`, by the first assembler that takes it.
pub fn assemble(ptx: &str, target: &Target) -> Result<Vec<u8>, Diagnostic> {
    assemble_with(&toolkit::assemblers(), ptx, target)
}

fn assemble_with(assemblers: &[PathBuf], ptx: &str, target: &Target) -> Result<Vec<u8>, Diagnostic> {
    let mut refusals = Vec::new();
    if !assemblers.is_empty() {
        let folder = ScratchFolder::new("tc-ptxas")
            .map_err(|error| wrong(&format!("no temporary folder can be made: {error}")))?;
        let input = folder.path().join("kernels.ptx");
        std::fs::write(&input, ptx).map_err(|error| wrong(&format!("`{}`: {error}", input.display())))?;
        for assembler in assemblers {
            match call(assembler, &input, &folder.path().join("kernels.cubin"), target) {
                Ok(code) => return Ok(code),
                // One can be too old for the text, and another too new for the target.
                Err(why) => refusals.push(format!("`{}`: {why}", assembler.display())),
            }
        }
    }
    let message = if refusals.is_empty() {
        "no assembler found: `ptxas` is in none of the usual folders"
    } else {
        "no assembler took the PTX"
    };
    let found =
        wrong(message).help("run `scripts/install-nvrtc`, or name the folder of a CUDA toolkit in `TC_CUDA_HOME`");
    Err(refusals.into_iter().fold(found, Diagnostic::note))
}

fn call(assembler: &Path, input: &Path, output: &Path, target: &Target) -> Result<Vec<u8>, String> {
    let mut command = Command::new(assembler);
    command.arg(format!("--gpu-name={}", target.name)).arg(input).arg("--output-file").arg(output);
    let done = command.stdin(Stdio::null()).output().map_err(|error| format!("it cannot be run: {error}"))?;
    if !done.status.success() {
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        return Err(shorten(first).to_string());
    }
    std::fs::read(output).map_err(|error| format!("what it wrote cannot be read: {error}"))
}

fn wrong(message: &str) -> Diagnostic {
    Diagnostic::error("ptxas", Location::None, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_assembler_there_is_a_way_out() {
        let target = Target::parse("sm_80").expect("known");
        let found = assemble_with(&[], "", &target).expect_err("none");
        assert!(found.message.starts_with("no assembler found") && found.help.is_some());
        let found = assemble_with(&["/nowhere/ptxas".into()], "", &target).expect_err("none");
        assert_eq!(found.message, "no assembler took the PTX");
        assert!(found.notes[0].starts_with("`/nowhere/ptxas`: it cannot be run"), "{:?}", found.notes);
    }
}
