//! Binds a loop to a coordinate of the launch, or to virtual threads.
//!
//! # Arguments
//!
//! `bind(axis, blockIdx.x)`, also `.y` and `.z`, and `threadIdx`; or `bind(axis, vthread)`: threads that one thread
//! plays, statement by statement (the pass `inject-virtual-thread`).
//!
//! # Legality
//!
//! - `axis` is a loop of its stage of which no directive has said how it runs.
//! - A coordinate is bound once in a stage.
//! - Loops of one kernel that are bound to one coordinate have equal extents; where one is shorter, what it runs is
//!   guarded. That cannot be done where shared memory is filled inside it: then both directives are named.
//! - An axis of a reduction takes threads, which then reduce together, but no blocks: nothing orders these. No loop over
//!   data may stand inside a loop of such a reduction, and all its loops over threads are as long as the launch.
//! - A stage in a scope `wmma.…` or `mma.…` has no loop that is bound to `threadIdx.x`: the 32 threads of a warp hold its
//!   tiles together. Where the kernel around it binds `threadIdx.x`, its extent is a multiple of 32.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..128 { A[i] = 0.0 }
//! ->
//! for i in 0..128 bind(threadIdx.x) { A[i] = 0.0 }
//! ```
//!
//! # Known elsewhere as
//!
//! `bind` (TVM), `gpu_blocks` and `gpu_threads` (Halide), mapping to `gpu.block` and `gpu.thread` (MLIR).

pub(crate) mod remedies;

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item, code_list};
use crate::graph::{AxisId, Kind};
use remedies::other_coordinate;
use tc_dialects::sched::Bind;
use tc_dialects::tir::Coordinate;

impl Primitive for Bind {
    const COMPARED: Compared = Compared::Graph;
    type Legal = (AxisId, Kind);

    fn legality(cx: &Cx<'_>) -> Done<(AxisId, Kind)> {
        let axis = cx.leaf(cx.operand(0))?;
        let word = cx.sched.attr_named(cx.at, "thread").and_then(|attr| cx.sched.as_word(attr)).unwrap_or("");
        let kind = match Coordinate::parse(word) {
            Some(coordinate) => Kind::Launch(coordinate),
            None if word == "vthread" => Kind::Vthread,
            None => {
                return Err(cx.error("launch-coordinate", format!("there is no launch coordinate `{word}`")).into());
            }
        };
        cx.check_unsaid(axis)?;
        if let Kind::Launch(coordinate) = kind {
            let stage = cx.graph[axis].stage;
            if let Some(&other) = cx.graph[stage].leaves.iter().find(|&&leaf| cx.graph[leaf].kind == kind) {
                let name = coordinate.name();
                let text = format!(
                    "`{name}` is bound twice in `{}`: to `{}` and to `{}`",
                    cx.graph[stage].name, cx.graph[other].name, cx.graph[axis].name
                );
                let place = cx.location(cx.graph[other].kind_loc);
                let free: Vec<&str> = Coordinate::ALL
                    .into_iter()
                    .filter(|free| free.is_thread() == coordinate.is_thread())
                    .filter(|&free| {
                        !cx.graph[stage].leaves.iter().any(|&leaf| cx.graph[leaf].kind == Kind::Launch(free))
                    })
                    .map(Coordinate::name)
                    .collect();
                let help = match free[..] {
                    [] => "`fuse` the loops, and bind the one that results".to_string(),
                    _ => format!("free are {}; or `fuse` the loops", code_list(&free)),
                };
                return Err(cx
                    .error("bound-twice", text)
                    .label(place, format!("`{name}` is bound here"))
                    .help(help)
                    .fix_its(&[other_coordinate])
                    .into());
            }
            if cx.graph[axis].reduce && !coordinate.is_thread() {
                let text = format!(
                    "`{}` is an axis of a reduction, and nothing orders the blocks that would add to one element",
                    cx.show(axis)
                );
                let help = "bind it to threads, or `rfactor` it and bind the axis of the parts";
                return Err(cx.error("bind-reduction", text).help(help).into());
            }
        }
        Ok((axis, kind))
    }

    fn edit(cx: &mut Cx<'_>, (axis, kind): (AxisId, Kind)) -> Vec<Item> {
        cx.set_kind(axis, kind);
        Vec::new()
    }
}
