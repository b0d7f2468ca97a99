//! Which stages are inlined, and which are computed together.

use super::Level;
use super::facts::{Dim, Facts, Known};
use crate::graph::StageId;
use tc_support::Diagnostic;
use tc_target::Target;

/// Rows of more bytes than this are not kept in shared memory beside those of arguments.
const MAX_KEPT: i64 = 32 << 10;

/// Stages that one kernel computes.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    /// The stage whose elements leave.
    pub(super) root: StageId,
    /// A reduction of the same shape that the root reads element by element.
    pub(super) sum: Option<StageId>,
    /// A product of matrices for each step of the sum, which takes it in with other numbers.
    pub(super) parts: Option<StageId>,
    /// What is computed for a row of the root: numbers of a row, and rows. Producers come first.
    pub(super) of_rows: Vec<StageId>,
    /// How many axes of the root are those over rows: all but the last, or all where an element is computed of numbers of a row.
    pub(super) n_rows: usize,
}

/// How an operator is divided.
#[derive(Default)]
pub(super) struct Kernels {
    pub(super) inlined: Vec<StageId>,
    /// Producers first.
    pub(super) list: Vec<Kernel>,
}

impl Kernels {
    pub(super) fn of(facts: &mut Facts<'_>, target: &Target, level: Level) -> Result<Kernels, Diagnostic> {
        let mut kernels = Kernels::default();
        let whole = if level == Level::All { super::tensor::factors_in_memory(facts, target) } else { Vec::new() };
        for stage in facts.graph.order.clone() {
            if is_inlined(facts, stage) && !whole.contains(&stage) {
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
            let mut kernel = Kernel { root, sum: None, parts: None, of_rows: Vec::new(), n_rows: 0 };
            let known = facts.known(root).filter(|known| known.reduce().is_empty() && level != Level::Plain);
            if let Some(known) = known {
                let all = known.n_data;
                let rows = |n_rows: usize| Some((n_rows, rows_of(facts, root, n_rows)?));
                let found = all.checked_sub(1).and_then(rows).or_else(|| rows(all));
                match found.filter(|(n_rows, members)| super::rows::fit(facts, root, *n_rows, members, target)) {
                    Some((n_rows, members)) => (kernel.n_rows, kernel.of_rows) = (n_rows, members),
                    None => kernel.sum = sum_of(facts, root),
                }
            }
            if level == Level::All {
                kernel.parts = kernel.sum.and_then(|sum| super::scaled::parts_of(facts, sum, target));
            }
            taken.extend(kernel.sum.iter().chain(&kernel.parts).chain(&kernel.of_rows));
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
    // One number is cheap, and no thread of its own computes it.
    let is_number = data.data.is_empty();
    is_number || !(again && facts.is_costly(stage)) || is_long_row(facts, stage, &readers)
}

/// Is `stage` a row that no block keeps, of which each reader reads each element once? To compute it again is cheaper than memory.
fn is_long_row(facts: &Facts<'_>, stage: StageId, readers: &[StageId]) -> bool {
    let Some(known) = facts.direct(stage) else { return false };
    let length = known.data().last().map_or(1, Dim::length);
    let once = |&reader: &StageId| {
        facts.direct(reader).is_some_and(|known| {
            let mut loads = known.loads.iter().filter(|load| load.tensor.stage == stage);
            loads.all(|load| (0..known.dims.len()).all(|nth| load.uses(nth)))
        })
    };
    length.saturating_mul(facts.bytes(stage)) > MAX_KEPT && readers.iter().all(once)
}

/// The only readers of `stage` are `readers`.
pub(super) fn is_read_by(facts: &Facts<'_>, stage: StageId, readers: &[StageId]) -> bool {
    let reads = |reader: StageId| {
        facts.known(reader).is_some_and(|known| known.loads.iter().any(|load| load.tensor.stage == stage))
    };
    let mut all = facts.graph.order.iter().copied().filter(|&reader| reads(reader));
    !facts.graph[stage].output && all.all(|reader| readers.contains(&reader))
}

/// A reduction that `root` alone reads, at its own place; of several the one of most steps.
fn sum_of(facts: &Facts<'_>, root: StageId) -> Option<StageId> {
    let known = facts.known(root)?;
    let at_own_place = |of: StageId| {
        let mut loads = known.loads.iter().filter(|load| load.tensor.stage == of);
        loads.all(|load| load.forms.len() == known.n_data && (0..known.n_data).all(|at| load.is_axis(at, at)))
    };
    let fits = |&of: &StageId| {
        let sums = |of: &Known| !of.reduce().is_empty() && of.n_data == known.n_data;
        facts.known(of).is_some_and(sums)
            && facts.graph[of].tensors.len() == 1
            && at_own_place(of)
            && is_read_by(facts, of, &[root])
    };
    let read = known.loads.iter().map(|load| load.tensor.stage).filter(|&of| !facts.is_arg(of));
    read.filter(fits).max_by_key(|&of| facts.known(of).map_or(0, Known::n_reduced))
}

/// All that `root` is computed of, where that is numbers of its rows and rows, `n_rows` of its axes being those over rows: the
/// reductions along a row, and what is computed element by element in between. Producers come first.
fn rows_of(facts: &Facts<'_>, root: StageId, n_rows: usize) -> Option<Vec<StageId>> {
    let known = facts.known(root)?;
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
    (own && reduces && n_rows > 0).then_some(members)
}

/// Is `of` a number for each row of `root`, reduced along one axis, or a row?
fn is_of_row(of: &Known, root: &Known, n_rows: usize) -> bool {
    let extents =
        |known: &Known| known.data()[..n_rows.min(known.n_data)].iter().map(|dim| dim.extent).collect::<Vec<_>>();
    let is_number = of.n_data == n_rows && of.reduce().len() == 1;
    let is_row = of.n_data == n_rows + 1 && of.reduce().is_empty();
    (is_number || is_row) && extents(of) == extents(root)
}
