//! The one list of passes and named pipelines.
//!
//! The order of [`PASSES`] is that of the documents: operators, algebra, loops, storage, hardware, checks. [`PIPELINES`]
//! holds the named pipelines; [`cuda`] is the default one, with the reason for the position of each line, and the places
//! where an embedder's passes are put.

use crate::{
    auto_inline, auto_schedule, canonicalize, check_bounds, check_channels, check_races, contract, cse, dce,
    distribute_fragments, distribute_registers, hoist_alloc, hoist_if, hoist_invariant, infer_fragment,
    inject_async_copy, inject_bulk_copy, inject_bulk_sync, inject_virtual_thread, inject_wgmma_sync, inline,
    inline_schedule_calls, legalize_arith, legalize_dtype, loop_partition, lower_intrin, lower_thread_allreduce,
    merge_shared_memory, narrow_index, overlap_launches, remove_no_op, schedule, simplify, software_pipeline,
    split_host_device, spread_stores, storage_flatten, tensorize_to_wmma, thread_sync, unify_launch, unroll_loop,
    vectorize_loop, verify_gpu_limits, verify_memory, warp_specialize,
};
use tc_pass::pipeline::quote_value;
use tc_pass::{OptionError, PassInfo, PipelineInfo, PipelineStep, RawOption};

/// The passes, in the order in which the documents list them.
pub static PASSES: &[&PassInfo] = &[
    // Operators.
    &auto_schedule::INFO,
    &inline_schedule_calls::INFO,
    &schedule::INFO,
    &inline::INFO,
    &auto_inline::INFO,
    // Algebra.
    &simplify::INFO,
    &canonicalize::INFO,
    &cse::INFO,
    &dce::INFO,
    &remove_no_op::INFO,
    &narrow_index::INFO,
    &contract::INFO,
    // Loops.
    &loop_partition::INFO,
    &hoist_if::INFO,
    &hoist_invariant::INFO,
    &vectorize_loop::INFO,
    &inject_virtual_thread::INFO,
    &unroll_loop::INFO,
    &inject_async_copy::INFO,
    &software_pipeline::INFO,
    // Storage.
    &storage_flatten::INFO,
    &hoist_alloc::INFO,
    &merge_shared_memory::INFO,
    &legalize_dtype::INFO,
    // Hardware.
    &tensorize_to_wmma::INFO,
    &inject_bulk_copy::INFO,
    &infer_fragment::INFO,
    &distribute_fragments::INFO,
    &distribute_registers::INFO,
    &inject_wgmma_sync::INFO,
    &inject_bulk_sync::INFO,
    &warp_specialize::INFO,
    &spread_stores::INFO,
    &lower_thread_allreduce::INFO,
    &thread_sync::INFO,
    &unify_launch::INFO,
    &lower_intrin::INFO,
    &legalize_arith::INFO,
    &split_host_device::INFO,
    &overlap_launches::INFO,
    // Checks.
    &verify_memory::INFO,
    &verify_gpu_limits::INFO,
    &check_bounds::INFO,
    &check_races::INFO,
    &check_channels::INFO,
];

/// The named pipelines.
pub static PIPELINES: &[&PipelineInfo] = &[&CUDA];

tc_pass::options! {
    /// The options of the pipeline `cuda`; each is passed on to the pass that it belongs to.
    pub struct CudaOptions {
        /// The schedule to apply, where an operator has several.
        schedule: String = String::new(),
        /// The operator to schedule; without it, all.
        func: String = String::new(),
        /// Values for the schedule's parameters and the operator's sizes: `block=64 lanes=8`.
        param: String = String::new(),
        /// Leave sizes with a default open, as those without one are.
        symbolic: bool = false,
        /// Keep the operators beside the programs.
        keep: bool = false,
        /// Divide loops with constant bounds at their guards too.
        partition_const_loop: bool = false,
        /// Copy the bodies of unrolled loops; otherwise `#pragma unroll` leaves that to the CUDA compiler.
        explicit_unroll: bool = true,
        /// Unroll serial loops up to this many stores.
        auto_max_step: i64 = 0,
    }
}

/// The row of `cuda`.
pub static CUDA: PipelineInfo = PipelineInfo {
    name: "cuda",
    summary: "From an operator and its schedule, or a program, to a host function and kernels that the CUDA emitter accepts.",
    options: CudaOptions::INFO,
    steps: |raw| cuda(raw),
};

/// The lines of `cuda`.
pub fn cuda(raw: &[RawOption]) -> Result<Vec<PipelineStep>, OptionError> {
    let options = CudaOptions::read(raw)?;
    let on = |text: &str| format!("tir.func({text})");
    Ok(vec![
        PipelineStep::place(
            "before-schedule",
            "Operators are what they were written as, each with its schedules beside it.",
        ),
        PipelineStep::new(schedule_line(&options), "Operators become loops; what follows knows programs only."),
        PipelineStep::new("inline{calls}", "Calls go next, so that all that follows sees whole kernels."),
        PipelineStep::place(
            "after-schedule",
            "Programs: loops over buffers with all their dimensions, guards with `likely`, no calls of functions.",
        ),
        PipelineStep::new(
            on("verify-memory"),
            "A program that binds nothing has no kernel; it is cheapest to say so at once.",
        ),
        PipelineStep::new(
            on("simplify"),
            "Guards that loop ranges prove go, and the rest reaches loop-partition in canonical form.",
        ),
        PipelineStep::new(
            on("inject-bulk-copy"),
            "On whole loops over buffers with all their dimensions, of which the copy engine takes boxes; products count on its zeros.",
        ),
        PipelineStep::new(
            "tensorize-to-wmma",
            "In canonical form indices can be compared; loops that become ops must not be divided or copied first.",
        ),
        PipelineStep::new(
            on("infer-fragment"),
            "Right after the ops are there: what a fragment is follows from them, while each tile has its own indices.",
        ),
        PipelineStep::new(
            on("distribute-fragments"),
            "As early, for loops over elements must be whole; what follows knows registers and threads, and no tiles.",
        ),
        PipelineStep::new(
            on("distribute-registers"),
            "It needs to see which loops are over threads, and the numbers of elements before positions take their place.",
        ),
        PipelineStep::new(
            on(&format!("loop-partition{{partition-const-loop={}}}", options.partition_const_loop)),
            "It needs `likely`, and loops that are not copied yet; no pass after it needs `likely`.",
        ),
        PipelineStep::new(
            on("check-bounds"),
            "While each dimension has its own extent; flat, an index may stray into the next row.",
        ),
        PipelineStep::new(
            on("storage-flatten"),
            "The passes below share and fold position arithmetic, so it has to be there.",
        ),
        PipelineStep::place(
            "after-storage-flatten",
            "Buffers have one dimension, and loops still stand as the schedule made them.",
        ),
        PipelineStep::new(
            on("vectorize-loop"),
            "Flat, neighbours differ in one index; before loops are copied, each statement is widened once.",
        ),
        PipelineStep::new(
            on("inject-virtual-thread"),
            "Before allocs are moved and loops copied: what is made inside a virtual thread belongs to it.",
        ),
        PipelineStep::new(
            on("inject-async-copy"),
            "Copies have their final width, and the pipeline has to see which of them can be outstanding.",
        ),
        PipelineStep::new(
            on("inject-wgmma-sync"),
            "Products are final, and what follows has to see how long each may run.",
        ),
        PipelineStep::new(
            on("inject-bulk-sync"),
            "Like it, for copies to tensors; a producer that `warp-specialize` makes has no part in them.",
        ),
        PipelineStep::new(
            on("warp-specialize"),
            "While a buffer's alloc still tells which loop it is filled in; what software-pipeline gets is copied by threads.",
        ),
        PipelineStep::new(
            on("spread-stores"),
            "Once each role has its loops: the steps of one are what pieces of its results go in.",
        ),
        PipelineStep::new(
            on("software-pipeline"),
            "While a buffer's alloc still tells which loop it is filled in, and before barriers, which copies cannot cross.",
        ),
        PipelineStep::new(
            on("lower-thread-allreduce"),
            "It makes buffers, which hoist-alloc places, and accesses to them, which thread-sync keeps apart.",
        ),
        PipelineStep::new(
            on("hoist-alloc"),
            "Before thread-sync, which must see a buffer's accesses in all iterations of the loop it was made in.",
        ),
        PipelineStep::new(
            on("merge-shared-memory"),
            "Before limits are looked at, and long before thread-sync: buffers that follow each other need a barrier between.",
        ),
        PipelineStep::new(
            on("verify-gpu-limits"),
            "Sizes are final, and unrolling, the first pass that may cost time, has not run.",
        ),
        PipelineStep::new(
            on("hoist-if{support-block-scope-hoisting}"),
            "After virtual threads, whose copies would stand in the way; before loops are copied, and conditions with them.",
        ),
        PipelineStep::new(
            on(&unroll(&options)),
            "After storage-flatten, so that positions in the copies fold to literals.",
        ),
        PipelineStep::new(
            on("simplify"),
            "Folds the copies and the positions, and drops conditions that a copy settles.",
        ),
        PipelineStep::new(on("canonicalize"), "One spelling for what is equal, which cse then finds."),
        PipelineStep::new(on("cse"), "Copies and flat positions compute much twice."),
        PipelineStep::new(on("remove-no-op"), "Loops and branches that the above left empty would cost barriers."),
        PipelineStep::new(
            on("dce"),
            "What nothing uses any more, buffers included, so that thread-sync does not guard it.",
        ),
        PipelineStep::place(
            "before-thread-sync",
            "Loops are copied and indices simplified; the last place where an access may be moved, added or removed.",
        ),
        PipelineStep::new(
            on("thread-sync"),
            "The last to look at accesses: nothing after it moves, adds or removes one.",
        ),
        PipelineStep::new(
            on("check-channels"),
            "Once all that orders threads is there; what waits for ever must not reach a GPU.",
        ),
        PipelineStep::new(
            "split-host-device",
            "Kernels get functions of their own; what follows treats integers as kernels do.",
        ),
        PipelineStep::new(
            "inline{calls}",
            "A program that the host chooses by sizes stood apart until its kernels were out of it: what is left of it goes to the chooser.",
        ),
        PipelineStep::new(
            on("unify-launch"),
            "Once nothing asks any more which statement runs for which threads; a kernel is one nest now.",
        ),
        PipelineStep::new(
            on("hoist-invariant"),
            "After thread-sync, to which sums in another order would be harder to compare; on `index`, so that parts of sums are narrowed with it.",
        ),
        PipelineStep::new(
            on("narrow-index"),
            "By proof over launch extents, which stand in the kernel; before lower-intrin, which makes narrow ops then.",
        ),
        PipelineStep::new(
            on("lower-intrin"),
            "Division goes late: the algebra understands `/` and `%`, not shifts and masks.",
        ),
        PipelineStep::new(on("contract"), "Products and sums are final; the emitter contracts nothing on its own."),
        PipelineStep::new(
            on("legalize-dtype"),
            "After all that makes arithmetic; after contract, so that a narrow product and sum are one op where the target has it.",
        ),
        PipelineStep::new(
            on("legalize-arith"),
            "After legalize-dtype, whose casts and wide ops it writes out; after contract, which would fuse the product and difference of a remainder.",
        ),
        PipelineStep::new(
            on("cse"),
            "What lower-intrin wrote out twice, and values that the two before cast for several users.",
        ),
        PipelineStep::new(on("dce"), "And what it left unused."),
        PipelineStep::new("overlap-launches", "Kernels are whole: what it puts at their head stays there."),
        PipelineStep::place("before-emit", "A host function and kernels, as the emitters take them."),
    ])
}

fn unroll(options: &CudaOptions) -> String {
    let (explicit, step) = (options.explicit_unroll, options.auto_max_step);
    format!("unroll-loop{{explicit-unroll={explicit} auto-max-step={step}}}")
}

/// The line that schedules, with what it is given.
fn schedule_line(options: &CudaOptions) -> String {
    let mut told = Vec::new();
    for (key, value) in [("name", &options.schedule), ("func", &options.func), ("param", &options.param)] {
        if !value.is_empty() {
            told.push(format!("{key}={}", quote_value(value)));
        }
    }
    for (flag, is_on) in [("symbolic", options.symbolic), ("keep", options.keep)] {
        if is_on {
            told.push(flag.to_string());
        }
    }
    if told.is_empty() { "schedule".to_string() } else { format!("schedule{{{}}}", told.join(" ")) }
}
