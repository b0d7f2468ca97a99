//! From programs to TVMScript.

mod buffer;
mod carry;
mod expr;
mod func;
mod gpu;
mod names;
mod nest;
mod stmt;

pub(crate) use func::OURS;
use func::Writer;
use std::fmt::Write;
pub(crate) use stmt::PRAGMAS;
use tc_dialects::tir;
use tc_ir::{Func, Module};
use tc_kernel::names::Globals;
use tc_support::{Diagnostic, Diagnostics, Location};

const HEAD: &str = "\
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
";

/// The programs of `module` as an `IRModule` in TVMScript, for TVM 0.27. Operators and schedules are left out: `te` has no
/// text in TVM. All that TVM has no counterpart of is reported, each at its line.
pub fn emit_module(module: &Module) -> Result<String, Diagnostics> {
    let programs: Vec<&Func> = module.items.iter().filter(|item| item.header.opcode == tir::FUNC).collect();
    if programs.is_empty() {
        let text = "there is no program to write as TVMScript";
        let help = "operators become programs by the pass `schedule`: `--pass-pipeline='schedule'`";
        return Err(Diagnostic::error("no-program", Location::None, text).help(help).into());
    }
    let (mut text, mut found) = (HEAD.to_string(), Diagnostics::new());
    let mut symbols = Globals::new(names::safe);
    for (nth, func) in programs.into_iter().enumerate() {
        let symbol = symbols.declare(func.symbol());
        match Writer::new(func).write(&symbol) {
            Ok(lines) => {
                let gap = if nth == 0 { "" } else { "\n" };
                let _ = write!(text, "{gap}{lines}");
            }
            Err(more) => found.append(more),
        }
    }
    if found.has_errors() { Err(found) } else { Ok(text) }
}
