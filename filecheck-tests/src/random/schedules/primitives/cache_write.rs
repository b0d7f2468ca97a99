//! Stages that are computed in another scope, and copied out.

use crate::random::schedules::graph::{Node, NodeId, loops, node};
use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let is_drawn = maker.rng.chance(if maker.graph.nodes[node].output { 35 } else { 8 });
    if is_drawn {
        cache_write(maker, node);
    }
    is_drawn
}

fn cache_write(maker: &mut Maker<'_>, id: NodeId) {
    let scope = maker.rng.pick(&["local", "local", "shared", "shared.dyn", "registers", "global"]);
    let name = maker.name("C");
    let of = maker.graph.nodes[id].clone();
    maker.schedule.add("cache_write", &[&name], format!("({}, {scope})", of.name));
    let reduced: Vec<(String, i64)> = of
        .loops
        .iter()
        .filter(|one| one.reduce)
        .map(|one| (one.name.split('.').nth(1).unwrap_or("").to_string(), one.extent))
        .collect();
    let mut cache = Node { reads: of.reads.clone(), scope: Some(scope), ..node(&name, of.data.clone()) };
    cache.n_results = of.n_results;
    cache.of_result = of.output && of.n_results == 1;
    cache.loops = [loops(&name, &of.data, false), loops(&name, &reduced, true)].concat();
    let cache = maker.graph.insert(cache, id, false);
    maker.graph.nodes[id].reads = vec![cache];
    maker.graph.nodes[id].loops.retain(|one| !one.reduce);
}
