//! Runs compiled kernels.
//!
//! - [`group`]: a group of threads, and its arithmetic. [`control`]: its masks, loops, branches, barriers.
//! - [`field`]: arithmetic in the domain of that name.
//! - [`exchange`]: values that threads hand one another, by shuffles and reductions.
//! - [`access`]: what loads and stores have in common. [`load`], [`store`]: the two, with their checks; [`on_chip`]: cells
//!   of shared memory and registers.
//! - [`update`]: atomic updates.
//! - [`window`]: accesses to buffers that lie inside one another.
//! - [`warp`]: what ops of whole warps have in common; [`tiles`], [`elements`]: matrices that warps hold, as a whole and
//!   one by one; [`tile_memory`]: where they come from and go to; [`product`]: their products.
//! - [`products`], [`factors`]: products of warpgroups, which run in the background, and what they read.
//! - [`async_copy`]: asynchronous copies. [`bulk`]: bulk copies. [`mbarrier`]: barriers in shared memory; [`deadlock`]:
//!   blocks of which no thread goes on.
//! - [`report`], [`warp_report`], [`background_report`], [`barrier_report`]: what is reported of a diagnostic.
//! - [`block`]: blocks, phased and threaded, and launches of many.

mod access;
mod async_copy;
mod background_report;
mod barrier_report;
mod block;
mod bulk;
mod bulk_store;
mod control;
mod deadlock;
mod elements;
mod exchange;
mod factors;
mod field;
mod group;
mod load;
mod mbarrier;
mod on_chip;
mod product;
mod products;
mod report;
mod store;
mod tile_memory;
mod tiles;
mod update;
mod warp;
mod warp_report;
mod watch;
mod window;

pub(crate) use block::{Cells, Launch, launch};
