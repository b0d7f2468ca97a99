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

/// What the assembler made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assembled {
    /// The machine code.
    pub code: Vec<u8>,
    /// What it said: its messages, and what each kernel takes.
    pub log: String,
}

/// The machine code of `ptx` for `target`, by the first assembler that takes it.
pub fn assemble(ptx: &str, target: &Target) -> Result<Assembled, Diagnostic> {
    assemble_with(&toolkit::assemblers(), ptx, target)
}

fn assemble_with(assemblers: &[PathBuf], ptx: &str, target: &Target) -> Result<Assembled, Diagnostic> {
    if assemblers.is_empty() {
        let message = "no assembler found: `ptxas` is in none of the usual folders";
        return Err(Diagnostic::error(MISSING, Location::None, message).help(HELP));
    }
    let folder =
        ScratchFolder::new("tc-ptxas").map_err(|error| wrong(&format!("no temporary folder can be made: {error}")))?;
    let input = folder.path().join("kernels.ptx");
    std::fs::write(&input, ptx).map_err(|error| wrong(&format!("`{}`: {error}", input.display())))?;
    let mut refusals = Vec::new();
    for assembler in assemblers {
        match call(assembler, &input, &folder.path().join("kernels.cubin"), target) {
            Ok(made) => return Ok(made),
            // One can be too old for the text, and another too new for the target.
            Err(why) => refusals.push(format!("`{}`: {why}", assembler.display())),
        }
    }
    Err(refusals.into_iter().fold(wrong("no assembler took the PTX").help(HELP), Diagnostic::note))
}

/// The code of the error that there is no assembler.
pub const MISSING: &str = "no-ptxas";
const HELP: &str = "run `scripts/install-nvrtc`, or name the folder of a CUDA toolkit in `TC_CUDA_HOME`";

fn call(assembler: &Path, input: &Path, output: &Path, target: &Target) -> Result<Assembled, String> {
    let mut command = Command::new(assembler);
    command.args(["--verbose", &format!("--gpu-name={}", target.name)]).arg(input).arg("--output-file").arg(output);
    let said = finished(&mut command)?;
    let code = std::fs::read(output).map_err(|error| format!("what it wrote cannot be read: {error}"))?;
    Ok(Assembled { code, log: said })
}

/// All that a program said, which ended well, or the first line of what it said else.
pub(crate) fn finished(command: &mut Command) -> Result<String, String> {
    let done = command.stdin(Stdio::null()).output().map_err(|error| format!("it cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    if !done.status.success() {
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        return Err(shorten(first).to_string());
    }
    Ok(said)
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
