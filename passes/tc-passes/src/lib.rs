//! The passes over programs, one file each, and the table that lists them.
//!
//! [`table`] has every pass and the named pipelines. A pass never imports another pass; facts that several ask for stand
//! in `analysis`.

mod analysis;
pub mod auto_inline;
pub mod auto_schedule;
pub mod canonicalize;
pub mod check_bounds;
pub mod check_channels;
pub mod check_races;
pub mod contract;
pub mod cse;
pub mod dce;
pub mod distribute_fragments;
pub mod distribute_registers;
pub mod hoist_alloc;
pub mod hoist_if;
pub mod hoist_invariant;
pub mod infer_fragment;
pub mod inject_async_copy;
pub mod inject_bulk_copy;
pub mod inject_bulk_sync;
pub mod inject_virtual_thread;
pub mod inject_wgmma_sync;
pub mod inline;
pub mod inline_schedule_calls;
pub mod legalize_arith;
pub mod legalize_dtype;
pub mod loop_partition;
pub mod lower_intrin;
pub mod lower_thread_allreduce;
pub mod merge_shared_memory;
pub mod narrow_index;
pub mod overlap_launches;
pub mod program_schedule;
pub mod remove_no_op;
pub mod schedule;
pub mod simplify;
pub mod software_pipeline;
pub mod split_host_device;
pub mod spread_stores;
pub mod storage_flatten;
pub mod table;
pub mod tensorize_to_wmma;
pub mod thread_sync;
pub mod unify_launch;
pub mod unroll_loop;
pub mod vectorize_loop;
pub mod verify_gpu_limits;
pub mod verify_memory;
pub mod warp_specialize;
