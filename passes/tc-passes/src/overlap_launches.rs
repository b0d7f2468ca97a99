//! Lets a kernel be launched while the one before it ends: it waits by itself.
//!
//! The host launches the kernels of a function one after another. Without this pass the GPU begins with one when the one
//! before has ended and all that it wrote is in memory. With it blocks start as those of the kernel before end, and wait for the
//! rest (programmatic dependent launch).
//!
//! # Input form
//!
//! `scheduled`, after `split-host-device`: host functions, and kernels that they call.
//!
//! # Output form
//!
//! A kernel that follows another waits for it by `gpu.griddepcontrol(action = wait)` before all else; the manifest says so
//! (`overlaps`).
//!
//! # Example
//!
//! ```tir
//! tir.func @f(A: f32[64], B: f32[64], C: f32[64]) attributes {noalias} {
//!   @f_kernel(A, B)
//!   @f_kernel_1(B, C)
//! }
//! tir.func @f_kernel_1(B: f32[64], C: f32[64]) attributes {noalias, threaded, device} {
//!   for tx in 0..64 bind(threadIdx.x) {
//!     C[tx] = B[tx]
//!   }
//! }
//! ->
//! tir.func @f_kernel_1(B: f32[64], C: f32[64]) attributes {noalias, threaded, device} {
//!   for tx in 0..64 bind(threadIdx.x) {
//!     gpu.griddepcontrol(action = wait)
//!     C[tx] = B[tx]
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Collect the calls of kernels of each host function, in the order of the text.
//! 2. A kernel that is not the first of one function waits, before what its threads do first.
//!
//! Whoever waits waits for all that the kernel before it did, and that one had waited for what stands before; so a kernel
//! sees all kernels before it, and may write what they read.
//!
//! # Limits
//!
//! Targets before sm_90 have no such launches; there the pass does nothing. Nothing is done before the wait. A kernel does
//! not let the next one be launched before its blocks end (`launch_dependents`): the waiting blocks take registers and shared
//! memory, which made some kernels up to a tenth slower (docs/performance.md).
//!
//! # Remarks
//!
//! None.
//!
//! # References
//!
//! PTX ISA 8.7, "griddepcontrol". CUDA programming guide 13.0, "Programmatic Dependent Launch and Synchronization".

use crate::analysis::target;
use rustc_hash::FxHashSet;
use tc_dialects::algebra::is_launch;
use tc_dialects::{forms, gpu, tir};
use tc_ir::effects::summary;
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Builder, Func, Module, Op, keys};
use tc_pass::{ModulePass, PassCx, PassInfo, PassKind};
use tc_target::Feature;

tc_pass::options! {
    /// `overlap-launches` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "overlap-launches",
    page: tc_support::page!("overlap_launches.rs"),
    anchor: PassInfo::MODULE,
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Module(Box::new(OverlapLaunches))),
};

/// The pass.
pub struct OverlapLaunches;

impl ModulePass for OverlapLaunches {
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        if !target::of_run(cx).has(Feature::GridDepControl) {
            return false;
        }
        let hosts = module.items.iter().filter(|item| item.header.opcode == tir::FUNC && !forms::is_device(item));
        let follows: FxHashSet<String> = hosts.flat_map(|host| launched(host).into_iter().skip(1)).collect();
        for kernel in module.items.iter_mut().filter(|item| forms::is_device(item)) {
            if follows.contains(kernel.symbol()) {
                wait_first(kernel);
                cx.count("kernels that wait", 1);
            }
        }
        !follows.is_empty()
    }
}

/// The symbols of what `host` calls, in the order of the text.
fn launched(host: &Func) -> Vec<String> {
    let calls = all_ops(host).filter(|&op| host.opcode(op) == tir::CALL);
    let callee = |op| match host.attr_data(host.attr_of(op, keys::CALLEE)?) {
        AttrData::Symbol(name) => Some(name.to_string()),
        _ => None,
    };
    calls.filter_map(callee).collect()
}

/// Lets the threads of `kernel` begin with a wait.
fn wait_first(kernel: &mut Func) {
    let mut region = kernel.body();
    // Into the loop that is the first to do anything.
    let acts = |func: &Func, op: Op| func.opcode(op) != tir::ALLOC && !summary(func, op).is_pure();
    while let Some(first) = kernel.ops(region).find(|&op| acts(kernel, op)).filter(|&op| is_launch(kernel, op)) {
        region = kernel.op_regions(first)[0];
    }
    let mut b = Builder::at_start(kernel, region);
    let wait = b.func.word_attr("wait");
    gpu::GridDepControl::build(&mut b, &[(keys::ACTION, wait)], &[]);
}
