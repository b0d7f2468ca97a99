//! One program in two syntaxes: functions of two nested loops around groups of eight ops, half of them redundant.

use std::fmt::Write;

/// The program in the syntax of tc, with `n_funcs` functions of `n_groups` groups.
pub(crate) fn tc(n_funcs: usize, n_groups: usize) -> String {
    let mut out = String::new();
    for f in 0..n_funcs {
        let _ = writeln!(out, "tir.func @f{f}<n, m>(A: f32[n, m], B: f32[m, n], C: f32[n, m]) {{");
        out.push_str("  for i in 0..n {\n    for j in 0..m {\n");
        for g in 0..n_groups {
            let k = g / 2;
            let _ = writeln!(out, "      let a{g} = j + {k}");
            let _ = writeln!(out, "      let t{g} = i * a{g}");
            let _ = writeln!(out, "      let x{g} = A[i, a{g}]");
            let _ = writeln!(out, "      let y{g} = B[a{g}, i]");
            let _ = writeln!(out, "      let z{g} = x{g} * y{g}");
            let _ = writeln!(out, "      let w{g} = z{g} + x{g}");
            let _ = writeln!(out, "      C[i, a{g}] = w{g}");
        }
        out.push_str("    }\n  }\n}\n\n");
    }
    out
}

/// The same program in the syntax of MLIR.
pub(crate) fn mlir(n_funcs: usize, n_groups: usize) -> String {
    let mut out = String::new();
    for f in 0..n_funcs {
        let _ = writeln!(
            out,
            "func.func @f{f}(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>, %n: index, %m: index) {{"
        );
        out.push_str("  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n");
        out.push_str("  scf.for %i = %c0 to %n step %c1 {\n    scf.for %j = %c0 to %m step %c1 {\n");
        for g in 0..n_groups {
            let k = g / 2;
            let _ = writeln!(out, "      %o{g} = arith.constant {k} : index");
            let _ = writeln!(out, "      %a{g} = arith.addi %j, %o{g} : index");
            let _ = writeln!(out, "      %t{g} = arith.muli %i, %a{g} : index");
            let _ = writeln!(out, "      %x{g} = memref.load %A[%i, %a{g}] : memref<?x?xf32>");
            let _ = writeln!(out, "      %y{g} = memref.load %B[%a{g}, %i] : memref<?x?xf32>");
            let _ = writeln!(out, "      %z{g} = arith.mulf %x{g}, %y{g} : f32");
            let _ = writeln!(out, "      %w{g} = arith.addf %z{g}, %x{g} : f32");
            let _ = writeln!(out, "      memref.store %w{g}, %C[%i, %a{g}] : memref<?x?xf32>");
        }
        out.push_str("    }\n  }\n  return\n}\n");
    }
    out
}
