//! Which stages are inlined, and which are computed together.

use super::Level;
use super::facts::{Facts, Known};
use crate::graph::StageId;
use tc_support::Diagnostic;

/// Stages that one kernel computes.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    /// The stage whose elements leave.
    pub(super) root: StageId,
    /// A reduction of the same shape that the root reads element by element.
    pub(super) sum: Option<StageId>,
    /// What is computed for a row of the root: numbers of a row, and rows. Producers come first.
    pub(super) of_rows: Vec<StageId>,
}

/// How an operator is divided.
#[derive(Default)]
pub(super) struct Kernels {
    pub(super) inlined: Vec<StageId>,
    /// Producers first.
    pub(super) list: Vec<Kernel>,
}

impl Kernels {
    pub(super) fn of(facts: &mut Facts<'_>, level: Level) -> Result<Kernels, Diagnostic> {
        let mut kernels = Kernels::default();
        for stage in facts.graph.order.clone() {
            if is_inlined(facts, stage) {
                facts.inline(stage);
                kernels.inlined.push(stage);
            }
        }
        facts.look()?;
        let live = facts.graph.live();
        let mut taken: Vec<StageId> = Vec::new();
        // Consumers choose first what they compute themselves.
        for &root in facts.graph.order.iter().rev() {
            if facts.known(root).is_none() || !live[root.idx()] || taken.contains(&root) {
                continue;
            }
            let mut kernel = Kernel { root, sum: None, of_rows: Vec::new() };
            if level != Level::Plain && facts.known(root).is_some_and(|known| known.reduce().is_empty()) {
                kernel.sum = sum_of(facts, root);
                if kernel.sum.is_none() {
                    kernel.of_rows = rows_of(facts, root).unwrap_or_default();
                }
            }
            taken.extend(kernel.sum.iter().chain(&kernel.of_rows));
            kernels.list.push(kernel);
        }
        kernels.list.reverse();
        Ok(kernels)
    }
}

/// Element-wise stages are computed where they are read, but for those that cost much and are read many times over.
fn is_inlined(facts: &Facts<'_>, stage: StageId) -> bool {
    let data = &facts.graph[stage];
    if data.is_arg() || data.output || !data.reduce.is_empty() || data.tensors.len() != 1 {
        return false;
    }
    let readers: Vec<StageId> = facts.graph.consumers(stage).collect();
    let again = readers.len() > 1 || readers.iter().any(|&reader| !facts.graph[reader].reduce.is_empty());
    !(again && facts.is_costly(stage))
}

/// The only readers of `stage` are `readers`.
fn is_read_by(facts: &Facts<'_>, stage: StageId, readers: &[StageId]) -> bool {
    let reads = |reader: StageId| {
        facts.known(reader).is_some_and(|known| known.loads.iter().any(|load| load.tensor.stage == stage))
    };
    let mut all = facts.graph.order.iter().copied().filter(|&reader| reads(reader));
    !facts.graph[stage].output && all.all(|reader| readers.contains(&reader))
}

/// The reduction that `root` reads at its own place alone, where it reads no other.
fn sum_of(facts: &Facts<'_>, root: StageId) -> Option<StageId> {
    let known = facts.known(root)?;
    let computed = |stage: StageId| !facts.is_arg(stage);
    let mut sums = known.loads.iter().filter(|load| computed(load.tensor.stage));
    let first = sums.next()?.tensor.stage;
    let sum = facts.known(first)?;
    let at_own_place = known.loads.iter().filter(|load| computed(load.tensor.stage)).all(|load| {
        load.tensor.stage == first
            && load.forms.len() == known.n_data
            && (0..known.n_data).all(|at| load.is_axis(at, at))
    });
    let fits = at_own_place && !sum.reduce().is_empty() && sum.n_data == known.n_data;
    (fits && facts.graph[first].tensors.len() == 1 && is_read_by(facts, first, &[root])).then_some(first)
}

/// All that `root` is computed of, where that is numbers of its rows and rows: the reductions along its last axis, and what is
/// computed element by element in between. Producers come first.
fn rows_of(facts: &Facts<'_>, root: StageId) -> Option<Vec<StageId>> {
    let known = facts.known(root)?;
    let n_rows = known.n_data.checked_sub(1)?;
    let (mut members, mut worklist) = (Vec::new(), vec![root]);
    while let Some(stage) = worklist.pop() {
        for load in &facts.known(stage)?.loads {
            let of = load.tensor.stage;
            if facts.is_arg(of) {
                continue;
            }
            if !(0..n_rows).all(|at| load.is_axis(at, at)) {
                return None;
            }
            if !members.contains(&of) {
                is_of_row(facts.known(of)?, known, n_rows).then_some(())?;
                members.push(of);
                worklist.push(of);
            }
        }
    }
    let readers: Vec<StageId> = members.iter().copied().chain([root]).collect();
    let own = members.iter().all(|&of| facts.graph[of].tensors.len() == 1 && is_read_by(facts, of, &readers));
    let position = |stage: &StageId| facts.graph.order.iter().position(|other| other == stage);
    members.sort_by_key(position);
    let reduces = members.iter().any(|&of| facts.known(of).is_some_and(|known| !known.reduce().is_empty()));
    (own && reduces).then_some(members)
}

/// Is `of` a number for each row of `root`, reduced along one axis, or a row?
fn is_of_row(of: &Known, root: &Known, n_rows: usize) -> bool {
    let extents =
        |known: &Known| known.data()[..n_rows.min(known.n_data)].iter().map(|dim| dim.extent).collect::<Vec<_>>();
    let is_number = of.n_data == n_rows && of.reduce().len() == 1;
    let is_row = of.n_data == root.n_data && of.reduce().is_empty();
    (is_number || is_row) && extents(of) == extents(root)
}
