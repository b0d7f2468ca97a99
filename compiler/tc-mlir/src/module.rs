//! What stands around the kernels: aliases, the module, dynamic shared memory.

use crate::kernel::Uses;
use crate::memory::{DYNAMIC, DYNAMIC_TYPE};
use crate::own;
use std::fmt::Write;
use tc_ir::Func;
use tc_target::Target;

/// Addresses are computed with 64 bits, whatever a pass would choose, and integers of 64 bits lie at multiples of 8 bytes:
/// LLVM would split every access to them, for it knows no target yet when it is given alignments.
const LAYOUT: &str = "index = 64 : i64, i64 = dense<64> : vector<2xi64>";

/// The alias that says how a loop is unrolled: whole, or by a factor.
pub(crate) fn unrolling(factor: Option<i64>) -> String {
    match factor {
        None => "#unroll".to_string(),
        Some(factor) => format!("#unroll_by_{factor}"),
    }
}

/// The text of the module that holds the kernels `kernels`, which `hosts` launch, after the comment `comment`.
pub(crate) fn write(comment: &str, kernels: &[String], hosts: &[&Func], uses: &Uses, target: &Target) -> String {
    let mut out = format!("// Made by tc {} for {target}.\n{comment}\n", env!("CARGO_PKG_VERSION"));
    let body = kernels.join("\n");
    for (alias, space) in [("#global", "global"), ("#shared", "workgroup"), ("#private", "private")] {
        if body.contains(alias) || alias == "#shared" && uses.dynamic_shared > 0 {
            let _ = writeln!(out, "{alias} = #gpu.address_space<{space}>");
        }
    }
    for &factor in &uses.unrolled {
        let how = match factor {
            None => "full = true".to_string(),
            Some(1) => "disable = true".to_string(),
            Some(factor) => format!("count = {factor} : i32"),
        };
        let _ = writeln!(out, "{} = #llvm.loop_annotation<unroll = <{how}>>", unrolling(factor));
    }
    let _ = writeln!(out, "#layout = #dlti.dl_spec<{LAYOUT}>");
    out.push_str("\nmodule attributes {gpu.container_module} {\n");
    let own = format!(", {} = {}", own::HOSTS, own::list(hosts.iter().map(|host| host.to_string())));
    let _ = writeln!(out, "  gpu.module @kernels attributes {{dlti.dl_spec = #layout{own}}} {{");
    if uses.dynamic_shared > 0 {
        let _ = writeln!(
            out,
            "    memref.global @{DYNAMIC} : {DYNAMIC_TYPE} {{alignment = {} : i64}}\n",
            uses.dynamic_shared
        );
    }
    for function in &uses.functions {
        let _ = writeln!(out, "{}", function.text());
    }
    out.push_str(&body);
    out.push_str("  }\n}\n");
    out
}
