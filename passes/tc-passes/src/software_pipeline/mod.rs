//! Fills the buffers of later iterations while the current one computes: software pipelining; double buffering is the
//! case of two stages.
//!
//! An alloc with `stages = n` in the body of a serial loop requests the buffers of `n` iterations at once. The
//! statements that fill such buffers (the producer) then run `n - 1` iterations ahead of all others (the consumer),
//! each iteration in its own version of the buffer. The copy of the next tile overlaps with the computation on the
//! current one, and `thread-sync` needs one barrier an iteration instead of two.
//!
//! # Input form
//!
//! `flat`, and not `threaded`: before `thread-sync`. An alloc with `stages` is directly in the body of a serial loop.
//!
//! # Output form
//!
//! No `stages` remains; other buffers and loops are unchanged. The allocs of a pipelined loop are before it.
//!
//! # Example
//!
//! ```tir
//! for i in 0..8 {
//!   alloc S: f32[32] in shared attributes {stages = 2}
//!   S[tx] = A[i * 32 + tx]
//!   C[i * 32 + tx] = S[31 - tx]
//! }
//! ->
//! alloc S: f32[64] in shared
//! S[tx] = A[tx]
//! for i in 0..7 {
//!   S[(i + 1) % 2 * 32 + tx] = A[(i + 1) * 32 + tx]
//!   C[i * 32 + tx] = S[i % 2 * 32 + (31 - tx)]
//! }
//! C[tx + 224] = S[63 - tx]
//! ```
//!
//! # Algorithm
//!
//! 1. Visit the loops with such allocs, inner ones first. Divide the statements of the body: the producer consists of
//!    those that write a buffer with `stages`, of those that fill buffers which only the producer reads, and of the
//!    values that they use. A statement that accesses such a buffer after the consumer does, and is or follows a write,
//!    belongs to the consumer: within an iteration every buffer is written and read in the order of the text.
//! 2. Refuse a producer that must not run ahead: one that reads what the consumer writes or computes, or that also
//!    writes something else.
//! 3. Give each buffer `n` consecutive versions, each as aligned as a buffer of its own, and move the allocs of the
//!    body before the loop.
//! 4. Build the prologue, the producer of the first `n - 1` iterations (or fewer, if there are fewer); the steady
//!    state, which in iteration `i` produces `i + n - 1` into version `(i + n - 1) % n` and consumes `i` from version
//!    `i % n`; and the epilogue, the consumer of the last `n - 1` iterations. Without `peel` there is no epilogue: the
//!    steady state runs to the end, with a condition around the producer.
//! 5. With `register-stage`, if the producer copies from global to shared memory and each thread copies a known, small
//!    number of elements: the steady state loads them into registers before the consumer and stores them to the buffer
//!    after it. So the loads are outstanding during the computation, and no op waits for them before it.
//! 6. If the producer consists of asynchronous copies (see `inject-async-copy`), the copies of each iteration form one
//!    group, and the groups and waits of the software pipeline replace those of the body. The prologue makes the first
//!    `n - 1` groups. Iteration `i` waits until at most `n - 2` groups are outstanding, starts the copies of
//!    `i + n - 1` if there is such an iteration, makes a group in any case, so that the count stays right, and
//!    consumes. There is no epilogue. `thread-sync` then inserts one barrier after the wait: it makes the copied data
//!    visible to all threads, and orders the new copies, which overwrite what iteration `i - 1` read, after those
//!    reads.
//! 7. A statement that fills a buffer with `stages` from asynchronous copies (dequantized weights, a product of
//!    attention) must wait for these. Such statements are a phase of their own, the follower, which runs one iteration
//!    ahead: the copies that it reads run `n` iterations ahead and all others `n - 1`, in one group a step. Step `i`
//!    waits as above, starts the copies of `i + n`, fills the buffers of `i + 1`, and consumes `i`, with one barrier. A
//!    buffer has as many versions as iterations access it at the same time: two if the follower fills it, `n` if it is
//!    copied, one more if follower and consumer both read the copies. A statement that cannot run ahead, because it
//!    depends on the consumer or on a carried value or fills registers, stays in the consumer, with one version of its
//!    buffer; the copies still run ahead.
//!
//! # Limits
//!
//! Buffers of one loop have the same number of stages (or one). With asynchronous copies the loop is not peeled,
//! whatever `peel` says, and no copy goes through registers. A remainder selects the version, which costs a
//! multiplication if the number of versions is no power of two. The pass does not split a statement that is both
//! producer and consumer. It makes dependence tests only for statements that write the destination of an asynchronous
//! copy, and keeps the order of all others. Asynchronous copies whose addresses depend on asynchronously copied data
//! keep their own wait. A loop variable of fewer than 32 bits is refused.
//!
//! # Remarks
//!
//! `no-registers`: a pipelined loop whose copies do not go through registers, and why. `not-ahead`: a statement that
//! fills a buffer with `stages` and stays in the consumer, and why.
//!
//! # References
//!
//! Lam (1988), "Software pipelining: an effective scheduling technique for VLIW machines"; Huang et al. (2023), "ALCOP:
//! automatic load-compute pipelining in deep learning compiler for AI-GPUs", for several levels of copies. TVM 0.16,
//! `src/tir/transforms/inject_double_buffer.cc` and `inject_software_pipeline.cc`.

mod body;
mod dependents;
mod divide;
mod emit;
mod groups;
mod phases;
mod refuse;
mod registers;

use crate::analysis::{fold, launch, structure};
use indexmap::IndexSet;
use std::cmp::Reverse;
use tc_dialects::{forms, tir};
use tc_ir::verify::is_threaded;
use tc_ir::walk::{all_ops, ancestors};
use tc_ir::{Func, Op, Rewriter, keys};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// What `software-pipeline` can be told.
    pub struct Options {
        /// Give the last iterations a loop of their own, which produces nothing; otherwise the producer gets a condition.
        peel: bool = true,
        /// Load into registers before the consumer and store to shared memory after it, where that can be done.
        register_stage: bool = true,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "software-pipeline",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::FLAT],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Func(tir::FUNC, Box::new(SoftwarePipeline { options }))),
};

/// The pass.
pub struct SoftwarePipeline {
    /// What it was given.
    pub options: Options,
}

impl FuncPass for SoftwarePipeline {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let staged: Vec<Op> = all_ops(func).filter(|&op| stages(func, op).is_some()).collect();
        let Some(&first) = staged.first() else { return false };
        if is_threaded(func) {
            let text = "the threads of this program are synchronised already, and its copies cannot run ahead any more";
            let help = "run `software-pipeline` before `thread-sync`";
            cx.report(Diagnostic::assumption("threaded", func.op_location(first), text).help(help));
            return false;
        }
        let misplaced =
            staged.iter().filter(|&&op| stages(func, op) > Some(1)).filter_map(|&op| divide::misplaced(func, op));
        let misplaced: Vec<Diagnostic> = misplaced.collect();
        if !misplaced.is_empty() {
            misplaced.into_iter().for_each(|found| cx.report(found));
            return false;
        }
        // A refusal leaves the program as it was.
        let before = func.clone();
        let new = fold::mark(func);
        drop_single_stages(func, &staged);
        for loop_op in from_the_inside(func, &staged) {
            match divide::divide(func, loop_op) {
                Ok(division) => {
                    cx.count("loops pipelined", 1);
                    division.stays.iter().for_each(|found| cx.missed(|| found.clone()));
                    let by_registers = self.options.register_stage && !division.is_async();
                    let staged = by_registers.then(|| registers::plan(func, &division));
                    if let Some(Err((at, reason))) = &staged {
                        cx.missed(|| without_registers(func, loop_op, *at, reason));
                    }
                    let staged = staged.and_then(Result::ok);
                    cx.count("loops that copy asynchronously", u64::from(division.is_async()));
                    cx.count("loops that copy through registers", u64::from(staged.is_some()));
                    emit::emit(func, &division, staged.as_ref(), self.options.peel);
                }
                Err(found) => {
                    found.into_iter().for_each(|found| cx.report(found));
                    *func = before;
                    return false;
                }
            }
        }
        fold::fold_new(func, new);
        collapse_loops(func, new);
        fold::fold_new(func, new);
        true
    }
}

/// What is reported of a pipelined loop whose loads do not run ahead in registers.
fn without_registers(func: &Func, loop_op: Op, at: Op, reason: &str) -> Diagnostic {
    let var = func.value_text(launch::loop_var(func, loop_op));
    let text = format!("the copies of the pipelined loop `{var}` do not go through registers: {reason}");
    let found = Diagnostic::remark("no-registers", func.asked_location(loop_op), text);
    let found = if at == loop_op { found } else { found.label(func.op_location(at), "here") };
    found.help("copy at most 64 elements a thread from global to shared memory, in loops of constant extent")
}

/// The number of iterations whose buffers are wanted at once.
fn stages(func: &Func, op: Op) -> Option<i64> {
    if func.opcode(op) == tir::ALLOC { func.int_of(op, keys::STAGES) } else { None }
}

/// A buffer of one stage is a buffer.
fn drop_single_stages(func: &mut Func, staged: &[Op]) {
    for &op in staged.iter().filter(|&&op| stages(func, op).is_some_and(|n| n <= 1)).collect::<Vec<_>>() {
        let attrs = func.op_attrs(op);
        let attrs = func.without_entry(attrs, keys::STAGES);
        Rewriter::new(func).set_attrs(op, attrs);
    }
}

/// The loops with staged buffers, those that hold others after these. A loop that was pipelined leaves no staged buffer to
/// the loop around it, so what is found at first is all.
fn from_the_inside(func: &Func, staged: &[Op]) -> Vec<Op> {
    let still_staged = staged.iter().filter(|&&op| stages(func, op).is_some());
    let loops: IndexSet<Op> = still_staged.filter_map(|&op| func.parent_op(op)).collect();
    let mut loops: Vec<(usize, Op)> = loops.into_iter().map(|op| (ancestors(func, op).count(), op)).collect();
    // The sort is stable: loops of one depth are taken in the order of the text.
    loops.sort_by_key(|&(depth, _)| Reverse(depth));
    loops.into_iter().map(|(_, op)| op).collect()
}

/// Puts the body in the place of the loops made since that run never or once.
fn collapse_loops(func: &mut Func, since: fold::Mark) {
    let loops: Vec<Op> = all_ops(func).filter(|&op| func.opcode(op) == tir::FOR && since.is_new(op)).collect();
    for op in loops.into_iter().rev() {
        structure::collapse_loop(&mut Rewriter::new(func), op);
    }
}
