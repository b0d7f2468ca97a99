//! Which blocks are run of a program that costs too much to be run as a whole.
//!
//! Of the last launch the corners of the grid are run, and random blocks. Of the launches before it, if they cost much,
//! those blocks that write what the others read: which blocks write which cells, and which cells the chosen blocks read,
//! [slices](crate::slice) of the kernels tell. Where a slice cannot tell, because an address depends on what an earlier
//! launch computes, the launches before are run as a whole.

use crate::cell::Cell;
use crate::cells::{CellSet, Trace};
use crate::code::Kernel;
use crate::compile::function::Program;
use crate::cone::RequiredCells;
use crate::domain::Domain;
use crate::exec::{Launch, launch};
use crate::inputs::SplitMix;
use crate::limits::Limits;
use crate::memory::Global;
use crate::run::{shape_of, work};
use crate::slice::{Wanted, slice};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Launches of no more blocks than this are run as a whole, where those before them cost little.
const FEW_BLOCKS: u64 = 16;
/// So many blocks, the corners of a plane and two others, are run even where they cost more than the budget:
/// up to [`Sampling::most_cost`] times as much.
const USUAL_BLOCKS: u64 = 6;
/// A sample never has more blocks.
const MOST_BLOCKS: u64 = 4096;
/// What [`Sampling::most_cost`] is without a reason to save.
pub(crate) const USUAL_COST: u64 = 4;
/// Slices may cost so many times the budget.
const SLICE_COST: u64 = 8;
/// A sample never has fewer.
const LEAST_BLOCKS: u64 = 2;

/// When blocks are chosen, and which.
#[derive(Clone, Debug)]
pub(crate) struct Sampling {
    /// Steps past which a program is sampled, and that the sample may take.
    pub(crate) budget: u64,
    /// What a step of a sample costs, in steps on numbers.
    pub(crate) weight: u64,
    /// The sample costs up to so many times the budget before it has fewer blocks than usual.
    pub(crate) most_cost: u64,
    pub(crate) seed: u64,
    /// What was chosen for the same program before, on other inputs.
    pub(crate) before: Option<Arc<BlockSample>>,
}

impl Sampling {
    pub(crate) fn new(budget: u64, seed: u64) -> Sampling {
        Sampling { budget, weight: 1, most_cost: USUAL_COST, seed, before: None }
    }
}

/// The blocks that are run.
#[derive(Debug, Default)]
pub(crate) struct BlockSample {
    /// By kernel; `None` for all of them.
    pub(crate) blocks: Vec<Option<Vec<u64>>>,
    /// Of buffers that several launches write: the cells of which all writers are run.
    pub(crate) done: BTreeMap<usize, CellSet>,
    /// With other inputs the program may access other cells.
    by_inputs: bool,
}

impl BlockSample {
    /// Chooses blocks of `program`, whose buffers are `globals`; none where it is run as a whole.
    pub(crate) fn choose(
        program: &Program,
        globals: &[Arc<Global>],
        sampling: &Sampling,
        limits: Limits,
    ) -> Arc<BlockSample> {
        if let Some(before) = sampling.before.as_ref().filter(|before| !before.by_inputs) {
            return before.clone();
        }
        let mut look = Look::new(program, globals, limits, sampling);
        let blocks = look.choose().unwrap_or_default();
        let done = if blocks.iter().all(Option::is_none) { Some(BTreeMap::new()) } else { look.done(&blocks) };
        Arc::new(match done {
            Some(done) => BlockSample { blocks, done, by_inputs: look.by_inputs },
            None => BlockSample::default(),
        })
    }

    /// Are only some blocks run?
    pub(crate) fn is_part(&self) -> bool {
        self.blocks.iter().any(Option::is_some)
    }
}

/// How many blocks of one launch are run.
fn n_blocks(per_block: u64, (budget, most_cost): (u64, u64)) -> u64 {
    let most = budget.saturating_mul(most_cost) / per_block;
    (budget / per_block).clamp(USUAL_BLOCKS.min(most.max(LEAST_BLOCKS)), MOST_BLOCKS)
}

/// `n` blocks of a launch, or all: the corners of the grid first, then random ones.
fn pick(kernel: &Kernel, n: u64, seed: u64) -> Vec<u64> {
    if n >= kernel.blocks() {
        return (0..kernel.blocks()).collect();
    }
    // A block of a cluster does not run without the others.
    let per_cluster = if kernel.is_clustered() { u64::from(kernel.batch) } else { 1 };
    let n = n.div_ceil(per_cluster);
    let mut blocks = BTreeSet::new();
    let [x, y, z] = kernel.grid;
    for corner in [7u64, 0, 6, 5, 3, 4, 2, 1] {
        let at = |bit: u64, extent: u64| if corner >> bit & 1 == 1 { extent - 1 } else { 0 };
        if (blocks.len() as u64) < n {
            blocks.insert(at(0, x) + x * (at(1, y) + y * at(2, z)));
        }
    }
    let mut random = SplitMix::new(seed);
    for _ in blocks.len() as u64..n {
        blocks.insert(random.below(kernel.blocks()));
    }
    let of_cluster = |block: &u64| block / per_cluster * per_cluster..(block / per_cluster + 1) * per_cluster;
    let blocks: BTreeSet<u64> = blocks.iter().flat_map(of_cluster).collect();
    blocks.into_iter().collect()
}

/// What slices of the kernels tell.
struct Look<'p> {
    program: &'p Program,
    globals: &'p [Arc<Global>],
    limits: Limits,
    budget: u64,
    weight: u64,
    most_cost: u64,
    seed: u64,
    by_inputs: bool,
    /// What the functions computed before each launch, once that is known.
    host: Option<Vec<Vec<Cell>>>,
    /// By kernel and buffer: the block that writes each cell; `None` where that is not known.
    writers: BTreeMap<(usize, usize), Option<Arc<Global>>>,
}

impl<'p> Look<'p> {
    fn new(program: &'p Program, globals: &'p [Arc<Global>], limits: Limits, sampling: &Sampling) -> Look<'p> {
        let &Sampling { budget, weight, most_cost, seed, .. } = sampling;
        let (by_inputs, host, writers) = (false, None, BTreeMap::new());
        Look { program, globals, limits, budget, weight, most_cost, seed, by_inputs, host, writers }
    }

    /// The blocks of each launch; `None` where the program is run as a whole.
    fn choose(&mut self) -> Option<Vec<Option<Vec<u64>>>> {
        let kernels = &self.program.kernels;
        let last = kernels.len().checked_sub(1)?;
        let per_block: Vec<u64> =
            kernels.iter().map(|kernel| work(kernel).steps.saturating_mul(kernel.threads()).max(1)).collect();
        let cost = |kernel: usize| per_block[kernel].saturating_mul(kernels[kernel].blocks());
        let before = (0..last).map(cost).fold(0, u64::saturating_add);
        let most = n_blocks(per_block[last].saturating_mul(self.weight), (self.budget, self.most_cost));
        if before <= self.budget {
            let is_whole = kernels[last].blocks() <= FEW_BLOCKS || kernels[last].updates_globals();
            if cost(last) <= self.budget || is_whole {
                return None;
            }
            let mut blocks = vec![None; last + 1];
            blocks[last] = Some(pick(&kernels[last], most, self.seed));
            return Some(blocks);
        }
        let weight = self.weight;
        let total = |blocks: &[Option<Vec<u64>>]| {
            let of = |(kernel, sample): (usize, &Option<Vec<u64>>)| match sample {
                Some(list) => per_block[kernel].saturating_mul(list.len() as u64),
                None => cost(kernel),
            };
            blocks.iter().enumerate().map(of).fold(0, u64::saturating_add).saturating_mul(weight)
        };
        let mut n = most.min(USUAL_BLOCKS);
        let mut blocks = self.blocks(n)?;
        // Fewer where what they need costs too much, more where it costs little.
        while total(&blocks) > self.budget.saturating_mul(self.most_cost) && n > LEAST_BLOCKS {
            n = (n / 2).max(LEAST_BLOCKS);
            blocks = self.blocks(n)?;
        }
        while total(&blocks).saturating_mul(4) <= self.budget && n < most {
            n = (4 * n).min(most);
            blocks = self.blocks(n)?;
        }
        Some(blocks)
    }

    fn writes(&self, kernel: usize) -> BTreeSet<usize> {
        let flags = &self.program.kernels[kernel].writes;
        (0..self.globals.len()).filter(|&global| flags.get(global) == Some(&true)).collect()
    }

    fn reads(&self, kernel: usize) -> BTreeSet<usize> {
        let flags = &self.program.kernels[kernel].reads;
        (0..self.globals.len()).filter(|&global| flags.get(global) == Some(&true)).collect()
    }

    /// The buffers that any launch writes: what is in them is not known before.
    fn written(&self) -> BTreeSet<usize> {
        (0..self.program.kernels.len()).flat_map(|kernel| self.writes(kernel)).collect()
    }

    /// Runs the slice of a kernel for accesses to `traced` buffers; `None` where it cannot tell.
    fn run(
        &mut self,
        (kernel, host): (usize, &[Cell]),
        (traced, of_writes): (&BTreeSet<usize>, bool),
        blocks: Option<&[u64]>,
    ) -> Option<(Vec<Arc<Global>>, Vec<Cell>)> {
        let none = BTreeSet::new();
        let (reads, writes) = if of_writes { (&none, traced) } else { (traced, &none) };
        let sliced = slice(&self.program.kernels[kernel], Wanted { reads, writes });
        if !sliced.needs.is_disjoint(&self.written()) {
            return None;
        }
        self.by_inputs |= !sliced.needs.is_empty();
        let global = |(number, global): (usize, &Arc<Global>)| {
            if !traced.contains(&number) {
                return global.clone();
            }
            let decl = &self.program.declarations.list[self.program.globals[number].decl];
            let trace = if of_writes { Trace::writers(decl.cells) } else { Trace::accessed(decl.cells) };
            Arc::new(Global::traced(decl.elem, shape_of(decl), trace))
        };
        let globals: Vec<Arc<Global>> = self.globals.iter().enumerate().map(global).collect();
        let steps = self.budget.saturating_mul(SLICE_COST);
        let outcome = launch(&Launch {
            kernel: &sliced.kernel,
            globals: &globals,
            host,
            cells: None,
            domain: Domain::Numbers,
            limits: Limits { steps, ..self.limits },
            steps: &AtomicU64::new(0),
            parallel: true,
            descending: false,
            blocks,
            watch: None,
        });
        (!outcome.aborted).then_some((globals, outcome.exports))
    }

    /// What the functions computed before each launch; `None` where slices do not tell.
    fn host(&mut self) -> Option<Vec<Vec<Cell>>> {
        if self.host.is_none() {
            let (mut all, mut host) = (Vec::new(), Vec::new());
            for (number, kernel) in self.program.kernels.iter().enumerate() {
                all.push(host.clone());
                if !kernel.exports.is_empty() {
                    host.extend(self.run((number, &host), (&BTreeSet::new(), true), None)?.1);
                }
            }
            self.host = Some(all);
        }
        self.host.clone()
    }

    /// Which block of a launch writes which cell of a buffer.
    fn writers(&mut self, kernel: usize, global: usize) -> Option<Arc<Global>> {
        if !self.writers.contains_key(&(kernel, global)) {
            let host = self.host()?;
            let traced = self.writes(kernel);
            let found = self.run((kernel, &host[kernel]), (&traced, true), None);
            for number in traced {
                let of = found.as_ref().map(|(globals, _)| globals[number].clone());
                self.writers.insert((kernel, number), of);
            }
        }
        self.writers.get(&(kernel, global)).cloned().flatten()
    }

    /// The blocks of each launch that `n` of the last one need.
    fn blocks(&mut self, n: u64) -> Option<Vec<Option<Vec<u64>>>> {
        let host = self.host()?;
        let kernels = &self.program.kernels;
        let mut wanted = vec![RequiredCells::Nothing; self.globals.len()];
        let mut blocks: Vec<Option<Vec<u64>>> = vec![None; kernels.len()];
        for number in (0..kernels.len()).rev() {
            let asked: Vec<usize> = self
                .writes(number)
                .into_iter()
                .filter(|&global| !matches!(wanted[global], RequiredCells::Nothing))
                .collect();
            let chosen = if kernels[number].updates_globals() {
                None
            } else if asked.is_empty() || number + 1 == kernels.len() {
                Some(pick(&kernels[number], n, self.seed))
            } else {
                self.writing(number, &asked, &wanted)
            };
            let earlier: BTreeSet<usize> = (0..number).flat_map(|earlier| self.writes(earlier)).collect();
            let traced: BTreeSet<usize> = self.reads(number).intersection(&earlier).copied().collect();
            if !traced.is_empty() {
                match self.run((number, &host[number]), (&traced, false), chosen.as_deref()) {
                    Some((globals, _)) => {
                        for &global in &traced {
                            if let Some(trace) = &globals[global].trace {
                                wanted[global].add(&trace.cells());
                            }
                        }
                    }
                    None => traced.iter().for_each(|&global| wanted[global] = RequiredCells::All),
                }
            }
            blocks[number] = chosen.filter(|list| (list.len() as u64) < kernels[number].blocks());
        }
        Some(blocks)
    }

    /// The blocks of a launch that write what is wanted of the buffers `asked`; `None` for all.
    fn writing(&mut self, kernel: usize, asked: &[usize], wanted: &[RequiredCells]) -> Option<Vec<u64>> {
        let mut blocks = BTreeSet::new();
        for &global in asked {
            let RequiredCells::Cells(cells) = &wanted[global] else { return None };
            let writers = self.writers(kernel, global)?;
            let trace = writers.trace.as_ref()?;
            blocks.extend(cells.iter().filter_map(|cell| trace.writer(cell)));
        }
        Some(blocks.into_iter().collect())
    }

    /// Of the parameters that several launches write: the cells of which all writers are among `blocks`; `None` where that
    /// is not known.
    fn done(&mut self, blocks: &[Option<Vec<u64>>]) -> Option<BTreeMap<usize, CellSet>> {
        let mut all = BTreeMap::new();
        for global in 0..self.globals.len() {
            let by: Vec<usize> = (0..blocks.len()).filter(|&kernel| self.writes(kernel).contains(&global)).collect();
            let is_param = self.program.globals[global].param.is_some();
            if !is_param || by.len() < 2 || by.iter().all(|&kernel| blocks[kernel].is_none()) {
                continue;
            }
            let n = self.program.declarations.list[self.program.globals[global].decl].cells;
            let mut done = vec![true; n];
            for kernel in by {
                let Some(list) = &blocks[kernel] else { continue };
                let run: BTreeSet<u64> = list.iter().copied().collect();
                let writers = self.writers(kernel, global)?;
                let trace = writers.trace.as_ref()?;
                for (cell, done) in done.iter_mut().enumerate() {
                    *done &= trace.writer(cell).is_none_or(|block| run.contains(&block));
                }
            }
            let cells = done.iter().enumerate().filter(|(_, done)| **done).map(|(cell, _)| cell);
            all.insert(global, CellSet::of_cells(n, cells));
        }
        Some(all)
    }
}
