//! Makes each launch nest a kernel of its own and leaves a host function that launches them in order.
//!
//! # Input form
//!
//! `scheduled`. Global allocs are outside the nests (`hoist-alloc`).
//!
//! # Output form
//!
//! For each function `@f` with launch nests: kernels `@f_kernel`, `@f_kernel_1`, … with the attribute `device`, whose
//! body is one nest, with its `bind` loops for the extents; and `@f`, which allocates and calls them. The parameters of
//! a kernel are the buffers and numbers that it uses, in the order of `@f`'s parameters, then the buffers that `@f`
//! allocates.
//!
//! # Example
//!
//! ```tir
//! tir.func @f(A: f32[64], B: f32[64]) attributes {noalias, threaded} {
//!   for tx in 0..64 bind(threadIdx.x) {
//!     B[tx] = A[tx]
//!   }
//! }
//! ->
//! tir.func @f(A: f32[64], B: f32[64]) attributes {noalias} {
//!   tir.call(A, B, callee = @f_kernel)
//! }
//! tir.func @f_kernel(A: f32[64], B: f32[64]) attributes {noalias, threaded, device} {
//!   for tx in 0..64 bind(threadIdx.x) {
//!     B[tx] = A[tx]
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Find the values that a nest takes from outside. The kernel recomputes values of literals, parameters and symbols;
//!    buffers and other numbers become parameters.
//! 2. Copy the nest into a new function, replace it by a call, and remove what the host no longer uses.
//!
//! # Limits
//!
//! A nest that takes a reference or a vector from outside is refused. A kernel keeps all symbols of its function.
//!
//! # Remarks
//!
//! None: a nest that cannot be a kernel is refused.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/split_host_device.cc`.

mod outline;

use crate::analysis::fold;
use crate::analysis::launch::LaunchNests;
use rustc_hash::FxHashSet;
use tc_dialects::{forms, tir};
use tc_ir::opdef::SymbolTable;
use tc_ir::paged::Paged;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Module, Rewriter, keys};
use tc_pass::{ModulePass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// `split-host-device` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "split-host-device",
    page: tc_support::page!("mod.rs"),
    anchor: PassInfo::MODULE,
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Module(Box::new(SplitHostDevice))),
};

/// The pass.
pub struct SplitHostDevice;

impl ModulePass for SplitHostDevice {
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        let mut changed = false;
        let mut taken = symbols(module);
        let mut idx = 0;
        while idx < module.items.len() {
            let func = &module.items[idx];
            idx += 1;
            if func.header.opcode != tir::FUNC || forms::is_device(func) || cx.analysis::<LaunchNests>(func).is_empty()
            {
                continue;
            }
            let host = &mut module.items[idx - 1];
            let Some(kernels) = outline_all(host, &mut taken, cx) else { continue };
            cx.count("kernels made", kernels.len() as u64);
            let n_kernels = kernels.len();
            module.items.splice(idx..idx, kernels);
            idx += n_kernels;
            changed = true;
        }
        changed
    }
}

fn symbols(module: &Module) -> FxHashSet<String> {
    let functions = module.items.iter().filter(|item| Module::table_of(item) == SymbolTable::Functions);
    functions.map(|item| item.symbol().to_string()).collect()
}

/// Makes a kernel of every nest of `host`; `None`, with diagnostics, if one cannot be.
fn outline_all(host: &mut Func, taken: &mut FxHashSet<String>, cx: &mut PassCx) -> Option<Vec<Func>> {
    let mut plans = Vec::new();
    let nests = cx.analysis::<LaunchNests>(host);
    let mut positions = Paged::default();
    all_ops(host).enumerate().for_each(|(nth, op)| positions.set(op, nth));
    for nest in nests.iter() {
        match outline::inputs(host, nest.op, &positions) {
            Ok(inputs) => plans.push((nest.op, inputs)),
            Err(diagnostic) => cx.report(diagnostic),
        }
    }
    if plans.len() != nests.iter().len() {
        return None;
    }
    let mut kernels = Vec::new();
    let plain = format!("{}_kernel", host.symbol());
    let numbered = (1u64..).map(|nth| format!("{plain}_{nth}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    for (nest, inputs) in plans {
        // `f_kernel`, or the first of `f_kernel_1`, `f_kernel_2`, … that is free.
        let symbol = names.find(|name| taken.insert(name.clone())).expect("numbers do not end");
        kernels.push(outline::kernel(host, nest, &inputs, &symbol));
        outline::call(host, nest, &inputs, &symbol);
    }
    host.header.attrs = host.without_entry(host.header.attrs, keys::THREADED);
    drop_unused(host);
    Some(kernels)
}

/// Takes out arithmetic and on-chip buffers that only the kernels used.
fn drop_unused(host: &mut Func) {
    fold::erase_unused(host, fold::Mark::ALL);
    let ops: Vec<_> = all_ops(host).filter(|&op| host.opcode(op) == tir::ALLOC).collect();
    let mut rw = Rewriter::new(host);
    for op in ops {
        if rw.func().results(op).all(|value| rw.func().n_uses(value) == 0) {
            rw.erase(op);
        }
    }
}
