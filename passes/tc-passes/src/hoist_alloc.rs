//! Moves every alloc to the head of its kernel, and those of global memory to the top of the function.
//!
//! An emitter declares on-chip buffers once, at the head of a kernel, and the host allocates the global ones before the
//! launch. The storage scope of an alloc, and not the loops around it, determines the number of its instances. So
//! moving it out of loops does not change a program that writes before it reads.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! `hoisted`: on-chip allocs are in the outermost launch loop, before everything else there, in the order of their
//! first use; global ones are at the top of the function, or where they were in a branch of the host. Without a launch nest all are at the top. A view stays, or
//! moves along after its base.
//!
//! # Example
//!
//! ```tir
//! for bx in 0..4 bind(blockIdx.x) {
//!   for ro in 0..8 {
//!     alloc WS: f32[4] in shared
//!     WS[0] = W[ro]
//!   }
//! }
//! ->
//! for bx in 0..4 bind(blockIdx.x) {
//!   alloc WS: f32[4] in shared
//!   for ro in 0..8 {
//!     WS[0] = W[ro]
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Find for each alloc its launch nest: the one around it, or, for an on-chip buffer allocated outside, the only one
//!    that uses it.
//! 2. Order the allocs of a nest by first use and move them.
//!
//! # Limits
//!
//! An on-chip buffer that two launch nests use is refused: it does not outlive a kernel. Buffers whose live ranges do
//! not overlap keep their own memory; `merge-shared-memory` lets shared ones share bytes.
//!
//! # Remarks
//!
//! None: an alloc that cannot be moved is refused.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/storage_rewrite.cc`, the part that attaches allocations.

use crate::analysis::launch::{LaunchNests, nest_of};
use indexmap::IndexMap;
use tc_dialects::{forms, tir};
use tc_ir::uses::{Use, Uses};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Rewriter};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `hoist-alloc` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "hoist-alloc",
    page: tc_support::page!("hoist_alloc.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[&forms::HOISTED],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(HoistAlloc))),
};

/// The pass.
pub struct HoistAlloc;

impl FuncPass for HoistAlloc {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let Some(homes) = find_homes(func, cx) else { return false };
        // What moves is used where it was.
        let uses = cx.analysis::<Uses>(func);
        let mut changed = false;
        for (home, allocs) in homes {
            let region = home.map_or(func.body(), |nest| func.op_regions(nest)[0]);
            if func.ops(region).zip(&allocs).filter(|(op, alloc)| op == *alloc).count() == allocs.len() {
                continue;
            }
            cx.count("allocs moved", allocs.len() as u64);
            let mut rw = Rewriter::new(func);
            for op in allocs.into_iter().rev() {
                match rw.func().first_op(region) {
                    Some(first) if first != op => rw.move_before(op, first),
                    _ => {}
                }
                // Views that stood outside the nest stay with their base.
                for view in views(rw.func(), &uses, op).into_iter().rev() {
                    if let (Some(nest), Some(next)) = (home, rw.func().next_op(op))
                        && nest_of(rw.func(), view) != Some(nest)
                    {
                        rw.move_before(view, next);
                    }
                }
            }
            changed = true;
        }
        changed
    }
}

/// The nest at whose head each alloc belongs, or `None` for the top; the allocs of each in the order of first use.
fn find_homes(func: &Func, cx: &mut PassCx) -> Option<IndexMap<Option<Op>, Vec<Op>>> {
    let uses = cx.analysis::<Uses>(func);
    // The top comes first: nests stand after what the host makes for them.
    let mut homes: IndexMap<Option<Op>, Vec<(usize, Op)>> = IndexMap::new();
    homes.insert(None, Vec::new());
    homes.extend(cx.analysis::<LaunchNests>(func).iter().map(|nest| (Some(nest.op), Vec::new())));
    let mut positions = vec![usize::MAX; func.n_op_ids()];
    for (nth, op) in all_ops(func).enumerate() {
        positions[op.as_u32() as usize] = nth;
    }
    let mut failed = false;
    for alloc in all_ops(func).filter(|&op| func.opcode(op) == tir::ALLOC) {
        let buffer = func.result(alloc).expect("the row has one result");
        let views = views(func, &uses, alloc);
        let places = std::iter::once(buffer).chain(views.iter().flat_map(|&view| func.results(view)));
        let users = places.flat_map(|place| uses.of_value(place)).filter(|user| !is_view(func, user));
        let users: Vec<Op> = users.map(|user| user.op).collect();
        let home = if forms::is_global(func, buffer) {
            // A branch of the host makes what it alone needs: the extent may make sense only there.
            if tir::is_in_branch(func, alloc) {
                continue;
            }
            None
        } else {
            match nest_of(func, alloc).or_else(|| users.iter().find_map(|&user| nest_of(func, user))) {
                Some(nest) => {
                    if let Some(&stray) = users.iter().find(|&&user| nest_of(func, user) != Some(nest)) {
                        cx.report(two_kernels(func, alloc, stray));
                        failed = true;
                    }
                    Some(nest)
                }
                None => None,
            }
        };
        let first = users.iter().map(|user| positions[user.as_u32() as usize]).min().unwrap_or(usize::MAX);
        homes.entry(home).or_default().push((first, alloc));
    }
    if failed {
        return None;
    }
    let sorted = homes.into_iter().map(|(home, mut allocs)| {
        allocs.sort_by_key(|&(first, op)| (first, positions[op.as_u32() as usize]));
        (home, allocs.into_iter().map(|(_, op)| op).collect())
    });
    Some(sorted.collect())
}

/// The views of the buffer that `alloc` makes, and those of these; a base comes before its views.
fn views(func: &Func, uses: &Uses, alloc: Op) -> Vec<Op> {
    let mut found: Vec<Op> = Vec::new();
    let mut worklist = vec![alloc];
    while let Some(op) = worklist.pop() {
        for user in func.results(op).flat_map(|place| uses.of_value(place)).filter(|user| is_view(func, user)) {
            found.push(user.op);
            worklist.push(user.op);
        }
    }
    found
}

fn is_view(func: &Func, user: &Use) -> bool {
    user.idx == 0 && func.opcode(user.op) == tir::VIEW
}

fn two_kernels(func: &Func, alloc: Op, stray: Op) -> Diagnostic {
    let buffer = func.result(alloc).expect("the row has one result");
    let (name, ty) = (func.value_text(buffer), func.show_type(func.value_type(buffer)));
    let text = format!("`{name}: {ty}` does not outlive a kernel, and is used by more than one launch nest");
    Diagnostic::error("alloc-scope", func.op_location(alloc), text)
        .label(func.op_location(stray), "used outside the nest it belongs to")
        .help(format!("make `{name}` in global memory"))
}
