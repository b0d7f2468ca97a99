//! What the generator knows of the stages: who reads whom, and the loops as the schedule can name them.

use crate::random::operator::{Axis, Operator};

/// The number of a node.
pub(super) type NodeId = usize;

/// A loop.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) name: String,
    pub(super) extent: i64,
    pub(super) reduce: bool,
    /// A directive has said how it runs.
    pub(super) said: bool,
    /// The coordinate that it is bound to.
    pub(super) bound: Option<&'static str>,
    /// Stages are computed in it.
    pub(super) holds: bool,
}

/// An argument or a stage.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) argument: bool,
    pub(super) output: bool,
    pub(super) inlined: bool,
    /// It holds what another one does, element by element.
    pub(super) copy: bool,
    /// `cache_write` left it of a result.
    pub(super) of_result: bool,
    pub(super) n_results: usize,
    /// The names and extents of the axes over data.
    pub(super) data: Vec<(String, i64)>,
    pub(super) reads: Vec<NodeId>,
    pub(super) loops: Vec<Loop>,
    /// The scope, where a directive named it.
    pub(super) scope: Option<&'static str>,
    /// What stands around it: loops over blocks, loops over threads.
    pub(super) in_blocks: bool,
    pub(super) in_threads: bool,
    /// The node at the root of the loops around it.
    pub(super) root: NodeId,
    /// The loop that it is computed in.
    pub(super) attached: Option<(NodeId, String)>,
}

impl Node {
    /// Has it loops of its own?
    pub(super) fn is_scheduled(&self) -> bool {
        !self.argument && !self.inlined
    }

    pub(super) fn reduces(&self) -> bool {
        self.loops.iter().any(|one| one.reduce)
    }
}

/// All nodes, and their order: producers first.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) order: Vec<NodeId>,
}

impl Graph {
    pub(super) fn of(op: &Operator) -> Graph {
        let mut graph = Graph { nodes: Vec::new(), order: Vec::new() };
        let mut names: Vec<(String, NodeId)> = Vec::new();
        for param in &op.params {
            let data = param.shape.iter().enumerate();
            let data = data.map(|(at, extent)| (format!("ax{at}"), op.value(extent).unwrap_or(1))).collect();
            names.push((param.name.clone(), graph.nodes.len()));
            graph.add(Node { argument: true, ..node(&param.name, data) });
        }
        for stage in &op.stages {
            let extent = |axis: &Axis| (axis.name.clone(), op.value(&axis.high).unwrap_or(1) - axis.low);
            let name = stage.results[0].0.clone();
            let mut made = node(&name, stage.axes.iter().map(extent).collect());
            made.n_results = stage.results.len();
            made.output = stage.results.iter().any(|(name, _)| op.outputs.contains(name));
            made.loops = loops(&name, &made.data, false);
            if let Some(reduce) = &stage.reduce {
                made.loops.extend(loops(&name, &reduce.axes.iter().map(extent).collect::<Vec<_>>(), true));
            }
            let of = |name: &String| names.iter().find(|(known, _)| known == name).map(|&(_, id)| id);
            made.reads = stage.reads().iter().filter_map(of).collect();
            made.reads.sort_unstable();
            made.reads.dedup();
            names.extend(stage.results.iter().map(|(name, _)| (name.clone(), graph.nodes.len())));
            graph.add(made);
        }
        graph
    }

    /// Adds a node at the end.
    fn add(&mut self, mut node: Node) {
        node.root = self.nodes.len();
        self.order.push(self.nodes.len());
        self.nodes.push(node);
    }

    /// Adds a node right before or after another one in the order.
    pub(super) fn insert(&mut self, mut node: Node, beside: NodeId, after: bool) -> NodeId {
        let id = self.nodes.len();
        node.root = id;
        let at = self.order.iter().position(|&other| other == beside).unwrap_or(0);
        self.order.insert(at + usize::from(after), id);
        self.nodes.push(node);
        id
    }

    /// Who reads `node`, at once or through what is inlined.
    pub(super) fn readers(&self, node: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut pending = vec![node];
        while let Some(at) = pending.pop() {
            for (id, reader) in self.nodes.iter().enumerate().filter(|(_, reader)| reader.reads.contains(&at)) {
                match reader.inlined {
                    true => pending.push(id),
                    false if !found.contains(&id) => found.push(id),
                    false => {}
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Who reads `node`, as the operator and the caches say.
    pub(super) fn direct_readers(&self, node: NodeId) -> Vec<NodeId> {
        (0..self.nodes.len()).filter(|&id| self.nodes[id].reads.contains(&node)).collect()
    }
}

/// A computed node without loops.
pub(super) fn node(name: &str, data: Vec<(String, i64)>) -> Node {
    Node {
        name: name.to_string(),
        argument: false,
        output: false,
        inlined: false,
        copy: false,
        of_result: false,
        n_results: 1,
        data,
        reads: Vec::new(),
        loops: Vec::new(),
        scope: None,
        in_blocks: false,
        in_threads: false,
        root: 0,
        attached: None,
    }
}

/// The loops over the axes of a stage.
pub(super) fn loops(stage: &str, axes: &[(String, i64)], reduce: bool) -> Vec<Loop> {
    let of = |(axis, extent): &(String, i64)| Loop { reduce, ..plain(format!("{stage}.{axis}"), *extent) };
    axes.iter().map(of).collect()
}

/// A loop of which nothing was said.
pub(super) fn plain(name: String, extent: i64) -> Loop {
    Loop { name, extent, reduce: false, said: false, bound: None, holds: false }
}
