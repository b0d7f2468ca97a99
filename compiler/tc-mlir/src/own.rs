//! What kernels and their module carry for those who read the text back: functions of tc as text, in attributes that MLIR
//! keeps and does not look at.
//!
//! `tc.kernel` is the kernel without what its threads do: parameters with all their dimensions and element types, sizes, and
//! the loops over blocks and threads. `tc.hosts` are the functions that launch kernels. Neither changes what MLIR makes of
//! the text.

use tc_dialects::tir::{self, LoopKind};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Region, Rewriter};

/// The attribute of a kernel that holds its head.
pub(crate) const KERNEL: &str = "tc.kernel";
/// The attribute of a kernel that names the sizes that it takes after its parameters.
pub(crate) const SIZES: &str = "tc.sizes";
/// The attribute of a kernel that says how many tensor maps it takes, as its last parameters. `convert-gpu-to-nvvm` forgets what the
/// text says of a parameter that is no memref, and a `gpu.func` may not say that one is constant in memory, so that
/// `lower/annotate.rs` says both of those again.
pub(crate) const MAPS: &str = "tc.maps";
/// What is said of a parameter that is a tensor map.
pub(crate) const MAP_PARAM: &str = "llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>";
/// The attribute of a module that holds the functions of the host.
pub(crate) const HOSTS: &str = "tc.hosts";

/// The kernel `func` without what its threads do: a nest of the first of its loops over each coordinate.
pub(crate) fn head(func: &Func) -> Func {
    let mut axes = Vec::new();
    let mut loops = Vec::new();
    let all: Vec<Op> = all_ops(func).collect();
    for &op in all.iter().filter(|&&op| func.opcode(op) == tir::FOR) {
        if let Some(LoopKind::Launch(coordinate)) = tir::loop_kind(func, op).filter(|kind| !seen(&axes, *kind)) {
            axes.push(coordinate);
            loops.push(op);
        }
    }
    let mut kept = vec![false; func.n_op_ids()];
    let mut head = func.clone();
    let mut rewriter = Rewriter::new(&mut head);
    let mut region: Region = func.body();
    for &op in &loops {
        // What the bounds are made of goes before the loop, where that is not in this nest yet.
        for needed in needed_by(func, op).into_iter().rev() {
            let is_kept = std::mem::replace(&mut kept[needed.as_u32() as usize], true);
            if !is_kept && rewriter.func().region_of(needed) != Some(region) {
                rewriter.move_to_end(needed, region);
            }
        }
        region = func.op_regions(op)[0];
    }
    // Users come after what they use, and what an op holds after the op.
    all.into_iter().rev().filter(|op| !kept[op.as_u32() as usize]).for_each(|op| rewriter.erase(op));
    drop(rewriter);
    head
}

fn seen(axes: &[tir::Coordinate], kind: LoopKind) -> bool {
    matches!(kind, LoopKind::Launch(coordinate) if axes.contains(&coordinate))
}

/// `op` and what its operands are made of, each after what uses it.
fn needed_by(func: &Func, op: Op) -> Vec<Op> {
    let mut found = vec![op];
    let mut at = 0;
    while let Some(&op) = found.get(at) {
        at += 1;
        for made in func.operands(op).iter().filter_map(|&operand| func.def_op(operand)) {
            // What several use comes after the last of them.
            found.retain(|&other| other != made);
            at = at.min(found.len());
            found.push(made);
        }
    }
    found
}

/// `text` as a string of MLIR's.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.trim_end().chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_ascii_control() => out.push_str(&format!("\\{:02X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list of strings.
pub(crate) fn list(texts: impl IntoIterator<Item = String>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(|text| quoted(&text)).collect();
    format!("[{}]", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_syntax::{ParseOptions, parse_module};

    fn head_of(text: &str) -> String {
        let (module, found) = parse_module("test", text, &tc_dialects::shared_registry(), &ParseOptions::default());
        assert!(!found.has_errors(), "{found:?}");
        head(&module.items[0]).to_string()
    }

    #[test]
    fn a_head_is_the_loops_of_a_launch_and_what_their_bounds_are() {
        let text = "tir.func @f<n: 1..64>(A: f32[n]) attributes {device} {\n  let m = cast<i32>(n)\n  \
                    for b in 0..m + 31 >> 5 bind(blockIdx.x) {\n    alloc S: f32[4] in shared\n    \
                    for t in 0i32..32i32 bind(threadIdx.x) {\n      for i in 0i32..4i32 {\n        A[i] = 1.0\n      }\n    \
                    }\n  }\n}\n";
        let head = head_of(text);
        assert!(head.contains("bind(blockIdx.x)") && head.contains("bind(threadIdx.x)"), "{head}");
        assert!(!head.contains("alloc") && !head.contains("A[i]") && head.contains("cast<i32>(n)"), "{head}");
    }

    #[test]
    fn loops_side_by_side_are_one_if_they_are_alike() {
        let nest = |axis: &str| format!("  for t in 0i32..32i32 bind({axis}) {{\n    A[t] = 1.0\n  }}\n");
        let func = |second: &str| {
            let body = nest("threadIdx.x") + &nest(second);
            head_of(&format!("tir.func @f(A: f32[32]) attributes {{device}} {{\n{body}}}\n"))
        };
        assert_eq!(func("threadIdx.x").matches("bind").count(), 1);
        assert!(func("threadIdx.y").contains("\n    for "), "the second stands in the first");
        assert_eq!(quoted("a \"b\"\n"), "\"a \\\"b\\\"\"");
        assert_eq!(quoted("a\nb"), "\"a\\0Ab\"");
    }
}
