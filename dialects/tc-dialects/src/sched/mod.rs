//! Schedules: how an operator is computed.
//!
//! A schedule is a straight list of directives over the stages of an operator and their axes. Stages and axes
//! are values; what a directive makes of an axis is a new one. `sched.if` chooses by parameters and opens no scope:
//! what either branch names is a result of it.

mod call;
mod verify;

use tc_ir::opdef::{Context, Effect, Infer, ItemDef, RegionDef, Results, Role, SymbolTable};

pub use call::{arguments, callee, wrong_results};
pub use verify::{axis_type, stage_type};

const BRANCHES: &[RegionDef] =
    &[RegionDef { name: "then", optional: false }, RegionDef { name: "else", optional: true }];
const MAP: &[RegionDef] = &[RegionDef { name: "map", optional: false }];
const AXIS: Infer = Infer::By(verify::infer_axis);
const STAGE: Infer = Infer::By(verify::infer_stage);
const TWO_AXES: Infer = Infer::All(verify::infer_two_axes);
const FOUR_AXES: Infer = Infer::All(verify::infer_four_axes);

tc_ir::dialect! {
    /// The rows of `sched`.
    dialect "sched" = 4, types = ["sched.stage", "sched.axis"];

    /// A schedule of one or more operators; with parameters, a space of them.
    ScheduleItem SCHEDULE "schedule" ()
    { open_attrs: true, effect: Effect::UNKNOWN, verify_symbols: Some(verify::targets),
      item: Some(ItemDef { keyword: "schedule", context: Context::Sched, table: SymbolTable::Schedules }) }

    /// Directives that schedules call, over the stages, axes and numbers that they are given.
    ScheduleFunc SCHEDULE_FUNC "func" ()
    { open_attrs: true, effect: Effect::UNKNOWN, verify_symbols: Some(call::verify_function),
      item: Some(ItemDef { keyword: "schedule.func", context: Context::Sched, table: SymbolTable::ScheduleFunctions }) }

    /// Runs the directives of a schedule function; the last arguments may be given by name.
    Call CALL "call" (args: values, callee: symbol key, named: any key opt)
    { context: Context::Sched, results: Results::Many, effect: Effect::UNKNOWN, role: Role::Call,
      verify_symbols: Some(call::verify_call) }

    /// Ends a schedule function: what it gives back.
    Return RETURN "return" (values: values)
    { context: Context::Sched, terminator: true, effect: Effect::UNKNOWN, role: Role::Return, verify: Some(call::verify_schedule) }

    /// An axis of a stage by its number, from 0, in the order in which the stage declares them; -1 is the last.
    DataAxis DATA_AXIS "data_axis" (stage: value, nth: int)
    { context: Context::Sched, results: Results::Count(1), infer: AXIS, short: Some("axis"), verify: Some(verify::nth_axis) }

    /// A reduction axis of a stage by its number, from 0; -1 is the last.
    ReduceAxis REDUCE_AXIS "reduce_axis" (stage: value, nth: int)
    { context: Context::Sched, results: Results::Count(1), infer: AXIS, short: Some("reduce_axis"), verify: Some(verify::nth_axis) }

    /// A stage of the operator: a tensor it computes, or an argument.
    Stage STAGE_OP "stage" (name: str)
    { context: Context::Sched, results: Results::Count(1), infer: STAGE, role: Role::Stage }

    /// An axis of a stage.
    Axis AXIS_OP "axis" (stage: value, name: str)
    { context: Context::Sched, results: Results::Count(1), infer: AXIS, role: Role::Axis }

    /// Chooses directives by the parameters.
    If IF "if" (condition: value)
    { context: Context::Sched, results: Results::Many, regions: BRANCHES, effect: Effect::UNKNOWN, role: Role::If }

    /// What a name stands for on the way through a branch that does not bind it; to use it is an error.
    Undefined UNDEFINED "undefined" ()
    { context: Context::Sched, results: Results::Count(1), role: Role::Undefined }

    /// Splits an axis into an outer and an inner one, by the extent of the inner (`factor`) or the outer (`nparts`); the tail is guarded where it does not divide.
    Split SPLIT "split" (axis: value, factor: value key opt, nparts: value key opt)
    { context: Context::Sched, results: Results::Count(2), infer: TWO_AXES, effect: Effect::UNKNOWN, short: Some("split"), verify: Some(verify::split) }

    /// Fuses adjacent axes into one, outer first; a stage stands for all its data axes.
    Fuse FUSE "fuse" (axes: values)
    { context: Context::Sched, results: Results::Count(1), infer: AXIS, effect: Effect::UNKNOWN, short: Some("fuse"), verify: Some(verify::axes_or_stage) }

    /// Splits two axes and reorders: outer, outer, inner, inner.
    Tile TILE "tile" (x: value, y: value, x_factor: value, y_factor: value)
    { context: Context::Sched, results: Results::Count(4), infer: FOUR_AXES, effect: Effect::UNKNOWN, short: Some("tile"), verify: Some(verify::tile) }

    /// Puts the named axes, in this order, into the places they had.
    Reorder REORDER "reorder" (axes: values)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("reorder"), verify: Some(verify::axes) }

    /// Gives the first statement of a loop of a program a loop of its own, before the one with the rest.
    Distribute DISTRIBUTE "distribute" (axis: value)
    { context: Context::Sched, results: Results::Count(2), infer: TWO_AXES, effect: Effect::UNKNOWN, short: Some("distribute"), verify: Some(verify::axes) }

    /// Binds an axis to a launch coordinate or to virtual threads.
    Bind BIND "bind" (axis: value, thread: word)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("bind"), verify: Some(verify::bind) }

    /// Runs an axis as lanes of a vector.
    Vectorize VECTORIZE "vectorize" (axis: value)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("vectorize"), verify: Some(verify::axes) }

    /// Unrolls an axis.
    Unroll UNROLL "unroll" (axis: value)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("unroll"), verify: Some(verify::axes) }

    /// Lets a tensor intrinsic stand for the loops from an axis inwards.
    Tensorize TENSORIZE "tensorize" (axis: value, intrin: symbol)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("tensorize"), verify: Some(verify::axis_first) }

    /// Hints to passes about the loop of an axis.
    Pragma PRAGMA "pragma" (axis: value, auto_unroll_max_step: value key opt, unroll_explicit: any key opt, loop_partition_hint: any key opt)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("pragma"), verify: Some(verify::axis_first) }

    /// Makes clusters of so many blocks along an axis that follow each other.
    Cluster CLUSTER "cluster" (axis: value, size: value key)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("cluster"), verify: Some(verify::axis_and_number) }

    /// Reads a tensor through a copy in another scope; without readers, for all of them.
    CacheRead CACHE_READ "cache_read" (tensor: value, scope: word, readers: list opt)
    { context: Context::Sched, results: Results::Count(1), infer: STAGE, effect: Effect::UNKNOWN, short: Some("cache_read"), verify: Some(verify::cache) }

    /// Computes a tensor in another scope and copies it out.
    CacheWrite CACHE_WRITE "cache_write" (tensor: value, scope: word)
    { context: Context::Sched, results: Results::Count(1), infer: STAGE, effect: Effect::UNKNOWN, short: Some("cache_write"), verify: Some(verify::cache) }

    /// Computes a stage inside the loop of a consumer's axis, as much of it as that needs.
    ComputeAt COMPUTE_AT "compute_at" (stage: value, axis: value)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("compute_at"), verify: Some(verify::stage_and_axis) }

    /// Computes a buffer of a program inside a loop of what it is computed of, as much of it as that completes.
    ReverseComputeAt REVERSE_COMPUTE_AT "reverse_compute_at" (stage: value, axis: value)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("reverse_compute_at"), verify: Some(verify::stage_and_axis) }

    /// Puts what a stage computes in the place of each read of it.
    Inline INLINE "inline" (stage: value)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("inline"), verify: Some(verify::stage_first) }

    /// Computes a stage whole, before its consumers.
    ComputeRoot COMPUTE_ROOT "compute_root" (stage: value)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("compute_root"), verify: Some(verify::stage_first) }

    /// Sets where a stage's buffer lies.
    SetScope SET_SCOPE "set_scope" (stage: value, scope: word)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("set_scope"), verify: Some(verify::cache) }

    /// Pads the stride of a dimension to `factor * n + offset` elements.
    StorageAlign STORAGE_ALIGN "storage_align" (axis: value, factor: value key, offset: value key)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("storage_align"), verify: Some(verify::axis_first) }

    /// Lets an axis run to the next multiple of a number, over zeros.
    Pad PAD "pad" (axis: value, multiple: value key)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("pad"), verify: Some(verify::axis_and_number) }

    /// XORs bits of the positions in a stage's buffer by higher ones, so that the rows of a tile fall into different banks.
    Swizzle SWIZZLE "swizzle" (stage: value, bits: value key, base: value key, shift: value key)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("swizzle"), verify: Some(verify::stage_and_numbers) }

    /// Stores a stage's buffer by other indices.
    TransformLayout TRANSFORM_LAYOUT "transform_layout" (stage: value)
    { context: Context::Sched, regions: MAP, effect: Effect::UNKNOWN, short: Some("transform_layout"), verify: Some(verify::stage_first) }

    /// Gives a stage two buffers, so that the next copy runs while one is read.
    DoubleBuffer DOUBLE_BUFFER "double_buffer" (stage: value)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("double_buffer"), verify: Some(verify::stage_first) }

    /// Lets the copies attached at a loop run ahead of it.
    Pipeline PIPELINE "pipeline" (axis: value, stages: value key, async_copies: list key opt)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("pipeline"), verify: Some(verify::pipeline) }

    /// Fills a stage's buffer by bulk copies, with the 16-byte pieces of rows of `swizzle` bytes mixed.
    BulkCopy BULK_COPY "bulk_copy" (stage: value, swizzle: value key opt, pieces: value key opt)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("bulk_copy"), verify: Some(verify::stage_and_numbers) }

    /// Makes a reduction axis a data axis of a new stage, which the old one then reduces.
    Rfactor RFACTOR "rfactor" (stage: value, axis: value, factor_axis: int key opt)
    { context: Context::Sched, results: Results::Count(1), infer: STAGE, effect: Effect::UNKNOWN, short: Some("rfactor"), verify: Some(verify::stage_and_axis) }

    /// Stores a stage's result only where a condition holds.
    SetStorePredicate SET_STORE_PREDICATE "set_store_predicate" (stage: value, condition: any)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("set_store_predicate"), verify: Some(verify::stage_first) }

    /// Takes another schedule of the operator, for sizes for which a condition holds.
    Dispatch DISPATCH "dispatch" (schedule: symbol, when: any key opt, params: any key opt)
    { context: Context::Sched, effect: Effect::UNKNOWN, short: Some("dispatch") }

}
