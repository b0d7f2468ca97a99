//! Programs: loops, conditionals, buffers, references, calls.
//!
//! A loop's `kind` is `serial` where it is left out, `unroll` (with a `factor`, or whole), `vectorize`, or `bind`
//! with an `axis`: a launch coordinate, or `vthread`.

mod call;
mod choices;
mod kind;
mod strides;
mod verify;
mod view;

use tc_ir::opdef::{Context, Effect, Infer, ItemDef, RegionDef, Results, Role, SymbolTable};

pub use verify::place_type;

pub use choices::{choices, is_in_branch};
pub use kind::{Coordinate, Level, LoopKind, MAX_CLUSTER, cluster_of, loop_kind};
pub use view::view_bytes;

const BODY: &[RegionDef] = &[RegionDef { name: "body", optional: false }];
const BRANCHES: &[RegionDef] =
    &[RegionDef { name: "then", optional: false }, RegionDef { name: "else", optional: true }];

tc_ir::dialect! {
    /// The rows of `tir`.
    dialect "tir" = 2;

    /// A program: a function over buffers and scalars.
    FuncItem FUNC "func" ()
    { open_attrs: true, effect: Effect::UNKNOWN, verify: Some(verify::func),
      item: Some(ItemDef { keyword: "tir.func", context: Context::Tir, table: SymbolTable::Functions }) }

    /// Runs its body for each value of `lo .. hi` in order, or for every thread of a launch coordinate; carried values go in as `inits` and round by `yield`.
    For FOR "for" (lo: value, hi: value, inits: values, kind: word key opt, axis: str key opt, factor: int key opt)
    { open_attrs: true, results: Results::Many, regions: BODY, effect: Effect::REGIONS, role: Role::For, verify: Some(verify::for_loop) }

    /// Runs one of its regions; with results it hands on what that region yields, and the other one is not evaluated.
    If IF "if" (condition: value)
    { open_attrs: true, results: Results::Many, regions: BRANCHES, effect: Effect::REGIONS, role: Role::If, verify: Some(verify::branch) }

    /// Ends a region and hands on values.
    Yield YIELD "yield" (values: values)
    { terminator: true, role: Role::Yield }

    /// Reads an element; with a vector for its last index, several. Out of range is an error.
    Load LOAD "load" (buffer: place(Read), indices: values, aligned: int key opt)
    { results: Results::Count(1), infer: Infer::By(verify::infer_load), effect: Effect::NOT_SPECULATABLE, role: Role::Load, verify_alone: Some(verify::load) }

    /// Writes an element; with a vector for its last index, several. Out of range is an error.
    Store STORE "store" (buffer: place(Write), indices: values, value: value, aligned: int key opt)
    { effect: Effect::NOT_SPECULATABLE, role: Role::Store, verify_alone: Some(verify::store) }

    /// Combines an element of global or shared memory with `value`, atomically, as `kind` says: `add`, `min`, `max`, `and`, `or`, `xor`. Updates of one kind, as numbers of one type, are no race with each other, and not ordered: sums of floats are rounded in any order. Out of range is an error.
    AtomicRmw ATOMIC_RMW "atomic_rmw" (element: place(ReadWrite), value: value, kind: word key)
    { effect: Effect::NOT_SPECULATABLE, verify: Some(verify::atomic_rmw) }

    /// A reference to an element, or to a sub-array where there are fewer indices than dimensions.
    ElementRef REF "ref" (buffer: place(None), indices: values)
    { results: Results::Count(1), infer: Infer::By(verify::infer_ref), role: Role::RefElement }

    /// A reference to a region: where it starts in each dimension, and its lengths.
    RegionRef REGION "region" (buffer: place(None), starts: values, lengths: any)
    { results: Results::Count(1), infer: Infer::By(verify::infer_region), role: Role::RefRegion }

    /// A buffer inside another one, from a byte offset on.
    View VIEW "view" (buffer: place(None), offset: value)
    { open_attrs: true, results: Results::Count(1), verify: Some(view::verify) }

    /// Makes a buffer; its scope says how many there are. Fresh at each entry of the serial loop around it; `stages` asks for the buffers of so many iterations at once, so that what fills it may run ahead.
    Alloc ALLOC "alloc" (align: int key opt, stages: int key opt)
    { open_attrs: true, results: Results::Count(1), effect: Effect { allocates: true, ..Effect::NOT_SPECULATABLE }, role: Role::Alloc, verify: Some(verify::alloc) }

    /// Calls a function.
    Call CALL "call" (args: values, callee: symbol key)
    { open_attrs: true, results: Results::Many, effect: Effect::UNKNOWN, role: Role::Call,
      verify_symbols: Some(call::verify) }
}
