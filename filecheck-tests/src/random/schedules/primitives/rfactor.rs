//! Reductions in parts.

use crate::random::schedules::graph::{Loop, Node, NodeId, loops, node, plain};
use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let is_drawn = maker.graph.nodes[node].reduces() && maker.rng.chance(16);
    if is_drawn {
        rfactor(maker, node);
    }
    is_drawn
}

/// The parts of a reduction become a stage; sometimes the axis is split before.
fn rfactor(maker: &mut Maker<'_>, id: NodeId) {
    let of = maker.graph.nodes[id].clone();
    let mut reduced: Vec<_> = of.loops.iter().filter(|one| one.reduce).cloned().collect();
    let mut at = maker.rng.below(reduced.len());
    if maker.rng.chance(65) {
        let (outer, inner) = (maker.name("k"), maker.name("k"));
        let (text, by) = maker.factor(&[2, 3, 4, 8]);
        maker.schedule.add("split factor", &[&outer, &inner], format!("({}, factor = {text})", reduced[at].name));
        let whole = reduced.remove(at);
        let part = |name: &str, extent| Loop { reduce: true, ..plain(name.to_string(), extent) };
        reduced.insert(at, part(&inner, by.min(whole.extent)));
        reduced.insert(at, part(&outer, (whole.extent + by - 1) / by));
        at += usize::from(maker.rng.chance(70));
    }
    let axis = reduced.remove(at);
    let short = axis.name.split('.').next_back().unwrap_or("").to_string();
    let name = maker.name("F");
    let place = if maker.rng.chance(40) { maker.rng.below(of.data.len() + 1) } else { 0 };
    let told = if place > 0 { format!(", factor_axis = {place}") } else { String::new() };
    maker.schedule.add("rfactor", &[&name], format!("({}, {}{told})", of.name, axis.name));
    let mut data = of.data.clone();
    data.insert(place, (short.clone(), axis.extent));
    let rest: Vec<(String, i64)> =
        reduced.iter().map(|one| (one.name.split('.').next_back().unwrap_or("").to_string(), one.extent)).collect();
    let mut parts = Node { reads: of.reads.clone(), ..node(&name, data.clone()) };
    parts.n_results = of.n_results;
    parts.loops = [loops(&name, &data, false), loops(&name, &rest, true)].concat();
    let parts = maker.graph.insert(parts, id, false);
    let stage = &mut maker.graph.nodes[id];
    stage.reads = vec![parts];
    stage.loops.retain(|one| !one.reduce);
    stage.loops.extend(loops(&stage.name.clone(), &[(short, axis.extent)], true));
}
