//! Which stages there are: what is inlined, cached, and reduced in parts.

use super::Maker;
use super::graph::{Node, NodeId, loops, node, plain};

impl Maker<'_> {
    pub(super) fn structure(&mut self) {
        let stages: Vec<NodeId> =
            self.graph.order.iter().copied().filter(|&id| self.graph.nodes[id].is_scheduled()).collect();
        for &id in &stages {
            let node = &self.graph.nodes[id];
            let plain = !node.output && !node.reduces() && node.n_results == 1;
            let name = node.name.clone();
            if plain && self.rng.chance(28) {
                self.line("inline", format!("({name})"));
                self.graph.nodes[id].inlined = true;
            } else if self.graph.nodes[id].reduces() && self.rng.chance(16) {
                self.rfactor(id);
            } else if self.rng.chance(if self.graph.nodes[id].output { 35 } else { 8 }) {
                self.cache_write(id);
            }
        }
        for id in 0..self.graph.nodes.len() {
            let node = &self.graph.nodes[id];
            let percent = if node.argument { 28 } else { 14 };
            if node.n_results == 1 && !node.data.is_empty() && self.rng.chance(percent) {
                self.cache_read(id);
            }
        }
    }

    fn cache_write(&mut self, id: NodeId) {
        let scope = self.rng.pick(&["local", "local", "shared", "shared.dyn", "global"]);
        let name = self.name("C");
        let of = self.graph.nodes[id].clone();
        self.schedule.add("cache_write", &[&name], format!("({}, {scope})", of.name));
        let reduced: Vec<(String, i64)> = of
            .loops
            .iter()
            .filter(|one| one.reduce)
            .map(|one| (one.name.split('.').nth(1).unwrap_or("").to_string(), one.extent))
            .collect();
        let mut cache = Node { reads: of.reads.clone(), scope: Some(scope), ..node(&name, of.data.clone()) };
        cache.n_results = of.n_results;
        cache.loops = [loops(&name, &of.data, false), loops(&name, &reduced, true)].concat();
        let cache = self.graph.insert(cache, id, false);
        self.graph.nodes[id].reads = vec![cache];
        self.graph.nodes[id].loops.retain(|one| !one.reduce);
    }

    /// The parts of a reduction become a stage; sometimes the axis is split before.
    fn rfactor(&mut self, id: NodeId) {
        let of = self.graph.nodes[id].clone();
        let mut reduced: Vec<_> = of.loops.iter().filter(|one| one.reduce).cloned().collect();
        let mut at = self.rng.below(reduced.len());
        if self.rng.chance(65) {
            let (outer, inner) = (self.name("k"), self.name("k"));
            let (text, by) = self.factor(&[2, 3, 4, 8]);
            self.schedule.add("split factor", &[&outer, &inner], format!("({}, factor = {text})", reduced[at].name));
            let whole = reduced.remove(at);
            let part = |name: &str, extent| super::graph::Loop { reduce: true, ..plain(name.to_string(), extent) };
            reduced.insert(at, part(&inner, by.min(whole.extent)));
            reduced.insert(at, part(&outer, (whole.extent + by - 1) / by));
            at += usize::from(self.rng.chance(70));
        }
        let axis = reduced.remove(at);
        let short = axis.name.split('.').next_back().unwrap_or("").to_string();
        let name = self.name("F");
        let place = if self.rng.chance(40) { self.rng.below(of.data.len() + 1) } else { 0 };
        let told = if place > 0 { format!(", factor_axis = {place}") } else { String::new() };
        self.schedule.add("rfactor", &[&name], format!("({}, {}{told})", of.name, axis.name));
        let mut data = of.data.clone();
        data.insert(place, (short.clone(), axis.extent));
        let rest: Vec<(String, i64)> =
            reduced.iter().map(|one| (one.name.split('.').next_back().unwrap_or("").to_string(), one.extent)).collect();
        let mut parts = Node { reads: of.reads.clone(), ..node(&name, data.clone()) };
        parts.n_results = of.n_results;
        parts.loops = [loops(&name, &data, false), loops(&name, &rest, true)].concat();
        let parts = self.graph.insert(parts, id, false);
        let stage = &mut self.graph.nodes[id];
        stage.reads = vec![parts];
        stage.loops.retain(|one| !one.reduce);
        stage.loops.extend(loops(&stage.name.clone(), &[(short, axis.extent)], true));
    }

    /// One copy that all read, or one for a reader; sometimes a copy of the copy.
    fn cache_read(&mut self, id: NodeId) {
        let readers = self.graph.direct_readers(id);
        if readers.is_empty() {
            return;
        }
        let scope = self.rng.pick(&["shared", "shared", "shared.dyn", "local", "global"]);
        let of = self.graph.nodes[id].clone();
        let name = self.name("R");
        let only = if self.rng.chance(35) { Some(self.rng.pick(&readers)) } else { None };
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
