//! Copies of tensors that stages read.

use crate::random::schedules::graph::{Node, NodeId, loops, node};
use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node: id, .. }: Site) -> bool {
    let node = &maker.graph.nodes[id];
    let percent = if node.argument { 28 } else { 14 };
    let is_drawn = node.n_results == 1 && !node.data.is_empty() && maker.rng.chance(percent);
    if is_drawn {
        let readers = maker.graph.direct_readers(id);
        let only = if !readers.is_empty() && maker.rng.chance(35) { Some(maker.rng.pick(&readers)) } else { None };
        maker.copied(id, only);
    }
    is_drawn
}

impl Maker<'_> {
    /// One copy that all read, or the one for a reader; sometimes a copy of the copy.
    pub(super) fn copied(&mut self, id: NodeId, only: Option<NodeId>) {
        let readers = self.graph.direct_readers(id);
        if readers.is_empty() {
            return;
        }
        let scope = self.rng.pick(&["shared", "shared", "shared.dyn", "registers", "local", "global"]);
        let of = self.graph.nodes[id].clone();
        let name = self.name("R");
        let list = only.map_or(String::new(), |reader| format!(", [{}]", self.graph.nodes[reader].name));
        self.schedule.add("cache_read", &[&name], format!("({}, {scope}{list})", of.name));
        let mut cache = Node { reads: vec![id], copy: true, scope: Some(scope), ..node(&name, of.data.clone()) };
        cache.loops = loops(&name, &of.data, false);
        let cache = self.graph.insert(cache, id, true);
        for reader in readers.into_iter().filter(|&reader| only.is_none_or(|only| only == reader)) {
            let reads = &mut self.graph.nodes[reader].reads;
            reads.iter_mut().filter(|read| **read == id).for_each(|read| *read = cache);
        }
        if scope.starts_with("shared") && self.rng.chance(30) {
            let inner = self.name("L");
            self.schedule.add("cache_read chain", &[&inner], format!("({name}, local)"));
            let mut copy =
                Node { reads: vec![cache], copy: true, scope: Some("local"), ..node(&inner, of.data.clone()) };
            copy.loops = loops(&inner, &of.data, false);
            let readers = self.graph.direct_readers(cache);
            let copy = self.graph.insert(copy, cache, true);
            for reader in readers {
                let reads = &mut self.graph.nodes[reader].reads;
                reads.iter_mut().filter(|read| **read == cache).for_each(|read| *read = copy);
            }
        }
    }
}
