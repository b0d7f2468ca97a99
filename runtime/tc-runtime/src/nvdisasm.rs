//! NVIDIA's disassembler: machine code to text, by the program `nvdisasm`.

use crate::ptxas::finished;
use crate::scratch::ScratchFolder;
use crate::toolkit;
use std::path::PathBuf;
use std::process::Command;

/// The machine code `code` as text, with the lines that it was made of where it has them, by the first disassembler that
/// reads it. The error is a sentence without its end: why it was not looked at.
pub fn disassemble(code: &[u8]) -> Result<String, String> {
    disassemble_with(&toolkit::disassemblers(), code)
}

fn disassemble_with(programs: &[PathBuf], code: &[u8]) -> Result<String, String> {
    if programs.is_empty() {
        return Err("no disassembler found: `nvdisasm` is neither in a CUDA toolkit nor in the `PATH`".into());
    }
    let folder =
        ScratchFolder::new("tc-nvdisasm").map_err(|error| format!("no temporary folder can be made: {error}"))?;
    let input = folder.path().join("kernels.cubin");
    std::fs::write(&input, code).map_err(|error| format!("`{}`: {error}", input.display()))?;
    let mut refusals = Vec::new();
    for program in programs {
        let mut command = Command::new(program);
        // One that is older than the code may refuse it.
        match finished(command.args(["--print-code", "--print-line-info-inline"]).arg(&input)) {
            Ok(text) => return Ok(text),
            Err(why) => refusals.push(format!("`{}`: {why}", program.display())),
        }
    }
    Err(format!("no disassembler took the machine code: {}", refusals.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_disassembler_it_says_why() {
        assert!(disassemble_with(&[], b"").expect_err("none").starts_with("no disassembler found"));
        let why = disassemble_with(&["/nowhere/nvdisasm".into()], b"").expect_err("none");
        assert!(why.contains("`/nowhere/nvdisasm`: it cannot be run"), "{why}");
    }

    #[test]
    fn what_is_no_machine_code_is_refused() {
        let why = disassemble(b"no ELF").expect_err("refused");
        assert!(why.starts_with("no disassembler took the machine code: "), "scripts/install-nvrtc has run: {why}");
    }
}
