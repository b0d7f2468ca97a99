//! Turns copies from global to shared memory into asynchronous ones, which go on while the thread does.
//!
//! An alloc with `async = true` requests it: the pass replaces the stores that fill such a buffer by `gpu.copy_async`
//! if possible. Alone this gains nothing, since the thread waits for each group of copies at once; `software-pipeline`
//! lets the copies run ahead.
//!
//! # Input form
//!
//! `flat`, and not `threaded`: before `thread-sync`, and after `vectorize-loop`, since one copy is of 4, 8 or 16 bytes.
//!
//! # Output form
//!
//! No `async` remains. `gpu.commit_group()` and `gpu.wait_group(pending = 0)` follow the copies; all else is unchanged.
//!
//! # Example
//!
//! ```tir
//! for i in 0..8 {
//!   alloc S: f32[128] in shared attributes {async = true}
//!   S[ramp(tx * 4, 1, 4)] = if_then_else(i < m, tir.load(A, ramp(i * 128 + tx * 4, 1, 4), aligned = 16), broadcast(0.0, 4)) attributes {aligned = 16}
//!   C[i * 32 + tx] = S[tx * 4]
//! }
//! ->
//! for i in 0..8 {
//!   alloc S: f32[128] in shared
//!   gpu.copy_async(&S[tx * 4 : 4], &A[i * 128 + tx * 4 : 4], when = i < m)
//!   gpu.commit_group()
//!   gpu.wait_group(pending = 0)
//!   C[i * 32 + tx] = S[tx * 4]
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Check each store to such a buffer. It is a copy if the value is a load from global memory, or such a load under a
//!    condition and else zero, of contiguous elements of 4, 8 or 16 bytes together that provably start at a multiple of
//!    that size. Move the computation of the position out of the condition. Conditionals around the store stay.
//! 2. Replace these stores by copies. The others stay, and a remark gives the reason.
//! 3. End a group, and wait for it, after the last of adjacent statements that only make copies. If two copies of one
//!    group, or of two iterations, do not provably write different cells, wait between them.
//!
//! # Limits
//!
//! The pass does not recognise nested conditions, or a copy with a conversion. Single elements of 2 bytes are refused:
//! the hardware copies 4, 8 or 16 bytes, so such copies must be vectorized first. Buffers with different numbers of
//! `stages` get groups of their own. Targets before sm_80 have no such copies, and the emitter refuses them.
//!
//! # Remarks
//!
//! `not-async`, always printed: a store to such a buffer that stays a store, and the requirement that it does not
//! satisfy.
//!
//! # References
//!
//! PTX ISA 8, "Data Movement and Conversion Instructions: Asynchronous copy". TVM 0.16,
//! `src/tir/transforms/inject_ptx_async_copy.cc`.

mod emit;
mod find;
mod group;

use crate::analysis::launch::LaunchNests;
use indexmap::IndexSet;
use tc_dialects::scope::{Scope, scope_text};
use tc_dialects::{forms, tir};
use tc_ir::verify::is_threaded;
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Func, Op, Rewriter, Value, effects, keys};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `inject-async-copy` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "inject-async-copy",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::FLAT],
    establishes: &[],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(InjectAsyncCopy))),
};

/// The pass.
pub struct InjectAsyncCopy;

impl FuncPass for InjectAsyncCopy {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let allocs: Vec<Op> = all_ops(func).filter(|&op| asks(func, op)).collect();
        let Some(&first) = allocs.first() else { return false };
        if is_threaded(func) {
            let text =
                "the threads of this program are synchronised already, and its copies are waited for by no barrier";
            let help = "run `inject-async-copy` before `thread-sync`";
            cx.report(Diagnostic::assumption("threaded", func.op_location(first), text).help(help));
            return false;
        }
        let misplaced: Vec<Diagnostic> = allocs.iter().filter_map(|&op| misplaced(func, op)).collect();
        if !misplaced.is_empty() {
            misplaced.into_iter().for_each(|found| cx.report(found));
            return false;
        }
        let buffers: Vec<Value> = allocs.iter().filter_map(|&op| func.result(op)).collect();
        let mut copies: IndexSet<Op> = IndexSet::new();
        for store in fillers(func, &buffers) {
            match find::find(func, store) {
                Ok(copy) => drop(copies.insert(emit::emit(func, &copy))),
                Err(obstacle) => cx.report(obstacle.remark(func, store)),
            }
        }
        for op in allocs {
            let attrs = func.op_attrs(op);
            let attrs = func.without_entry(attrs, keys::ASYNC);
            Rewriter::new(func).set_attrs(op, attrs);
        }
        cx.count("asynchronous copies", copies.len() as u64);
        cx.count("groups of copies", group::close(func, &copies));
        true
    }
}

/// Does the alloc `op` ask for asynchronous copies?
fn asks(func: &Func, op: Op) -> bool {
    func.opcode(op) == tir::ALLOC
        && func.attr_of(op, keys::ASYNC).is_some_and(|attr| *func.attr_data(attr) != AttrData::Bool(false))
}

/// The error of an alloc that cannot be filled so.
fn misplaced(func: &Func, op: Op) -> Option<Diagnostic> {
    let buffer = func.result(op)?;
    let scope = func.as_shaped(func.value_type(buffer)).and_then(|(_, _, scope)| scope);
    let shared = Scope::of_name(func, scope).is_some_and(Scope::is_shared);
    let text = format!(
        "`{}` is in `{}`, and asynchronous copies go to shared memory",
        func.value_text(buffer),
        scope_text(func, scope)
    );
    let help = "make the buffer in `shared`, or take its `async` off";
    (!shared).then(|| Diagnostic::error("async", func.op_location(op), text).help(help))
}

/// The stores to the elements of `buffers`.
fn fillers(func: &Func, buffers: &[Value]) -> Vec<Op> {
    let writes = |op: Op| {
        let accesses = effects::accesses(func, op);
        func.opcode(op) == tir::STORE
            && accesses.iter().any(|&(place, access)| access.writes() && buffers.contains(&place))
    };
    all_ops(func).filter(|&op| writes(op)).collect()
}
