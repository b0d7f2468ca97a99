//! Refuses a program that the target cannot launch: too many threads, blocks, or bytes of shared or local memory, or an
//! instruction that the target lacks.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! The same program.
//!
//! # Example
//!
//! ```tir
//! for tx in 0..2048 bind(threadIdx.x) {
//! }
//! ->
//! error: a block of 2048 threads is too large for `sm_80`, which allows 1024
//! ```
//!
//! # Algorithm
//!
//! For each launch nest the pass compares the extents of launch coordinates, their product over the threads of a block,
//! and the bytes of all shared buffers with the limits of the target (`sm_80` by default). Static and dynamic shared
//! memory count together. The buffers of a thread count together if their regions are nested, so that they exist at the
//! same time: the CUDA compiler reuses the memory of others, and buffers small enough for registers are negligible
//! beside the limit of a thread. A message on memory lists every buffer that counts.
//!
//! Clusters of blocks are whole, and the target has them (sm_90 and newer).
//!
//! A table gives the least target of matrix products, loads of their tiles and asynchronous copies (`wmma` on f16 needs
//! `sm_70`, on 8-bit integers `sm_72`, on bf16 and tf32 `sm_80`; `mma.sync` and copies need `sm_80`; `mma.ldmatrix`
//! needs `sm_75`; barriers in shared memory need `sm_80`, bulk copies `sm_90`, `wgmma` and `gpu.setmaxnreg` `sm_90a`).
//! Warps run the matrix ops, so the extent of `threadIdx.x` must be 32; for `wgmma` a block is whole warpgroups of 128. If the tiles of a thread exceed
//! its registers (255, or its share of the block's), the pass prints a warning.
//!
//! # Limits
//!
//! The launch checks non-constant extents. The pass counts only registers for tiles.
//!
//! # Remarks
//!
//! None: its diagnostics are errors and warnings.
//!
//! # References
//!
//! CUDA C++ Programming Guide 12.9, section 17.2; PTX ISA 8.8, sections 9.7.9 and 9.7.14.

mod matrix;
mod memory;

use crate::analysis::launch::{Extent, LaunchNests, Nest, no_whole_clusters};
use crate::analysis::target;
use tc_dialects::forms;
use tc_dialects::tir::{self, Coordinate};
use tc_ir::{Func, Op};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;
use tc_target::{Feature, Target};

tc_pass::options! {
    /// `verify-gpu-limits` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "verify-gpu-limits",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(VerifyGpuLimits))),
};

/// The pass.
pub struct VerifyGpuLimits;

impl FuncPass for VerifyGpuLimits {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let target = target::of_run(cx);
        for nest in cx.analysis::<LaunchNests>(func).iter() {
            let extents = extents(func, nest, &target);
            let [shared, local] = memory::ALL.map(|memory| memory.check(func, nest, &target));
            let tiles = matrix::check(func, nest, &target);
            let of_blocks = threads(func, nest, &target).into_iter().chain(clusters(func, nest, &target));
            let found = extents.into_iter().chain(of_blocks).chain(shared).chain(local).chain(tiles);
            found.for_each(|found| cx.report(found));
        }
        false
    }
}

fn extents(func: &Func, nest: &Nest, target: &Target) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for coordinate in Coordinate::ALL {
        let Extent::Const(extent) = nest.extents[coordinate.index()] else { continue };
        let limits = if coordinate.is_thread() { &target.max_block } else { &target.max_grid };
        let limit = limits[coordinate.dim()];
        if u64::try_from(extent).is_ok_and(|extent| extent <= limit) {
            continue;
        }
        let op = nest.loops.iter().find(|(_, other)| *other == coordinate).map_or(nest.op, |&(op, _)| op);
        let text = format!("`{}` runs to {extent}, and `{target}` allows {limit}", coordinate.name());
        let help = if coordinate.dim() == 0 { "split the axis" } else { "split the axis, or bind it to `.x`" };
        found.push(blamed(func, op, Diagnostic::error("launch-extent", func.op_location(op), text).help(help)));
    }
    found
}

fn threads(func: &Func, nest: &Nest, target: &Target) -> Option<Diagnostic> {
    let extent = |coordinate: &Coordinate| match nest.extents[coordinate.index()] {
        Extent::Const(extent) => i128::from(extent),
        Extent::One | Extent::Symbolic => 1,
    };
    let dims: Vec<Coordinate> = Coordinate::ALL.into_iter().filter(|coordinate| coordinate.is_thread()).collect();
    let n_threads = dims.iter().map(extent).fold(1i128, i128::saturating_mul);
    if n_threads <= i128::from(target.max_threads_per_block) {
        return None;
    }
    let (op, _) = *nest.loops.iter().find(|(_, coordinate)| coordinate.is_thread())?;
    let limit = target.max_threads_per_block;
    let text = format!("a block of {n_threads} threads is too large for `{target}`, which allows {limit}");
    let parts = dims.iter().filter(|dim| extent(dim) > 1).map(|dim| format!("`{}`: {}", dim.name(), extent(dim)));
    let note = parts.collect::<Vec<_>>().join(", ");
    let diagnostic = Diagnostic::error("block-size", func.op_location(op), text);
    Some(blamed(func, op, diagnostic.note(note).help("bind smaller axes to threads")))
}

/// The target has clusters, and they divide the blocks.
fn clusters(func: &Func, nest: &Nest, target: &Target) -> Option<Diagnostic> {
    let (op, size) = nest.cluster(func)?;
    let (text, help) = if !target.has(Feature::Cluster) {
        let help = Target::first_with(Feature::Cluster).map(|first| format!("compile for `{first}` or newer"));
        (format!("`{target}` has no clusters of blocks"), help.unwrap_or_default())
    } else {
        match nest.extent(Coordinate::BlockX) {
            Some(blocks) if blocks % size == 0 => return None,
            Some(blocks) => {
                let (text, help) = no_whole_clusters(blocks, size);
                (text, help.to_string())
            }
            None => (
                "the number of blocks along blockIdx.x is not constant, and clusters divide it".to_string(),
                "let blocks stay and do tile after tile: their number is then a constant".to_string(),
            ),
        }
    };
    let found = Diagnostic::error("cluster", func.op_location(op), text).help(help);
    Some(blamed(func, op, found))
}

/// `diagnostic`, with the directive of the schedule that made `op`.
fn blamed(func: &Func, op: Op, diagnostic: Diagnostic) -> Diagnostic {
    let directive = func.op_locs(op).directive;
    if directive.is_none() {
        diagnostic
    } else {
        diagnostic.label(func.location(directive), "this directive made it so")
    }
}
