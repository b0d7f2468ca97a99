//! Orders warpgroup products: fences, commits and waits around each run of them.
//!
//! A product of `wgmma` goes on in the background: it may read its factors and write its sums until its group is waited
//! for. This pass makes a program right by the simplest order: products that follow each other are one group, which is
//! waited for at once. `warp-specialize` lets one group run on where that is legal.
//!
//! # Input form
//!
//! `flat`. A launch nest that has a `wgmma.fence`, `commit_group` or `wait_group` is left as it is: its author orders it.
//!
//! # Output form
//!
//! Loops of constant extent in a run have the kind `unroll`. A `wgmma.fence()` before, and a `wgmma.commit_group()` and a `wgmma.wait_group(pending = 0)` after each run of products.
//!
//! # Example
//!
//! ```tir
//! for kt in 0..4 {
//!   wgmma.mma(&C[0 : 64], &A[kt * 16], &B[kt * 1024])
//! }
//! C[0] = C[0] * 2.0
//! ->
//! wgmma.fence()
//! for kt in 0..4 unroll {
//!   wgmma.mma(&C[0 : 64], &A[kt * 16], &B[kt * 1024])
//! }
//! wgmma.commit_group()
//! wgmma.wait_group(pending = 0)
//! C[0] = C[0] * 2.0
//! ```
//!
//! # Algorithm
//!
//! 1. A statement is *of products* if all that it does is to make products: a product, or a loop that runs in order or over
//!    threads whose body is of products and of what computes indices.
//! 2. In each region take the runs of such statements that follow each other, from the outside in, and put a fence before
//!    and a commit and a wait after each.
//! 3. Unroll the loops of a run that are short: then all descriptors of it are one address plus literals, and no product
//!    stands behind a branch, which the compiler of the hardware would have wait for the one before.
//!
//! # Limits
//!
//! Products under a condition are ordered inside of it.
//!
//! # Remarks
//!
//! None.
//!
//! # References
//!
//! PTX ISA 8.7, "Asynchronous Warpgroup Level Matrix Instructions".

use crate::analysis::launch::LaunchNests;
use tc_dialects::algebra::const_extent;
use tc_dialects::tir::LoopKind;
use tc_dialects::{forms, tir, wgmma};
use tc_ir::walk::{all_ops, ops_under};
use tc_ir::{Builder, Func, Op, Region, Rewriter, effects, keys};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};

tc_pass::options! {
    /// `inject-wgmma-sync` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "inject-wgmma-sync",
    page: tc_support::page!("inject_wgmma_sync.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::FLAT],
    establishes: &[],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(InjectWgmmaSync))),
};

/// The pass.
pub struct InjectWgmmaSync;

impl FuncPass for InjectWgmmaSync {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        if !all_ops(func).any(|op| func.opcode(op) == wgmma::MMA) {
            return false;
        }
        let mut runs = Vec::new();
        for nest in cx.analysis::<LaunchNests>(func).iter() {
            if !nest.ops(func).any(|op| is_order(func, op)) {
                let regions = func.op_regions(nest.op);
                regions.iter().for_each(|&region| find(func, region, &mut runs));
            }
        }
        let runs_on: Vec<Op> = runs.iter().flat_map(|&(first, last)| statements(func, first, last)).collect();
        let unroll = func.word_attr("unroll");
        for op in runs_on.into_iter().flat_map(|op| short_loops(func, op)).collect::<Vec<Op>>() {
            Rewriter::new(func).set_attr(op, keys::KIND, unroll);
        }
        for &(first, last) in &runs {
            wgmma::Fence::build(&mut Builder::before(func, first), &[], &[]);
            let none = func.int_attr(0);
            let mut b = Builder::after(func, last);
            wgmma::Commit::build(&mut b, &[], &[]);
            wgmma::Wait::build(&mut b, &[(keys::PENDING, none)], &[]);
        }
        cx.count("groups of products", runs.len() as u64);
        !runs.is_empty()
    }
}

/// The most iterations of a loop of products that is unrolled.
const MAX_UNROLLED: i64 = 16;

/// The statements from `first` to `last` of one region.
fn statements(func: &Func, first: Op, last: Op) -> Vec<Op> {
    let mut found: Vec<Op> = std::iter::successors(Some(first), |&op| func.next_op(op)).collect();
    let end = found.iter().position(|&op| op == last).map_or(0, |end| end + 1);
    found.truncate(end);
    found
}

/// The serial loops of few iterations among `op` and what is in it.
fn short_loops(func: &Func, op: Op) -> Vec<Op> {
    let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
    let is_short = |&op: &Op| {
        func.opcode(op) == tir::FOR
            && tir::loop_kind(func, op) == Some(LoopKind::Serial)
            && const_extent(func, op).is_some_and(|extent| extent <= MAX_UNROLLED)
    };
    std::iter::once(op).chain(inner).filter(is_short).collect()
}

/// Does `op` order products?
fn is_order(func: &Func, op: Op) -> bool {
    matches!(func.opcode(op), wgmma::FENCE | wgmma::COMMIT | wgmma::WAIT)
}

/// The runs of statements of products in `region`, first and last, and those in the regions of other statements.
fn find(func: &Func, region: Region, runs: &mut Vec<(Op, Op)>) {
    let mut run: Option<(Op, Op)> = None;
    for op in func.ops(region) {
        if is_of_products(func, op) {
            run = Some(run.map_or((op, op), |(first, _)| (first, op)));
        } else if !is_plain(func, op) {
            runs.extend(run.take());
            func.op_regions(op).iter().for_each(|&inner| find(func, inner, runs));
        }
    }
    runs.extend(run);
}

/// Does `op` compute, or end its region, and no more?
fn is_plain(func: &Func, op: Op) -> bool {
    func.row(op).terminator || effects::summary(func, op).is_pure()
}

/// Does `op` make products, and nothing else?
fn is_of_products(func: &Func, op: Op) -> bool {
    match func.opcode(op) {
        wgmma::MMA => true,
        tir::FOR => {
            let body = func.op_regions(op)[0];
            let mut statements = func.ops(body).filter(|&inner| !is_plain(func, inner)).peekable();
            statements.peek().is_some() && statements.all(|inner| is_of_products(func, inner))
        }
        _ => false,
    }
}
