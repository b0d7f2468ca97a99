//! What an operator has to compute for some cells of its results: of each stage the cells that those depend on.
//!
//! From the last stage to the first, the [slice](crate::slice) of a stage that says which cells it reads is run at the
//! cells that are wanted of it; they are added to what is wanted of the stages below. A cell that many cells depend on is
//! wanted once. A stage whose values say where another one reads is wanted whole, and so is all that it depends on.

use crate::Result;
use crate::cells::{CellSet, Trace};
use crate::define::{CellList, Definition, flat};
use crate::domain::Domain;
use crate::exec::{Cells, Launch, launch};
use crate::limits::Limits;
use crate::memory::{Global, GlobalSpec, Role};
use crate::run::shape_of;
use crate::slice::{Slice, Wanted, slice};
use crate::tensor::Tensor;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Fewer cells than these are not left out.
const LEAST_CELLS: usize = 16;

/// What is wanted of a stage.
#[derive(Clone, Debug)]
pub(crate) enum RequiredCells {
    Nothing,
    All,
    /// These cells, by their place in the tensors of the stage.
    Cells(CellSet),
}

impl RequiredCells {
    pub(crate) fn add(&mut self, cells: &CellSet) {
        match self {
            RequiredCells::All => {}
            RequiredCells::Nothing if cells.len() == 0 => {}
            RequiredCells::Nothing => *self = RequiredCells::Cells(cells.clone()),
            RequiredCells::Cells(own) => own.add(cells),
        }
    }
}

/// The parts of all stages that some cells of the results depend on.
#[derive(Debug)]
pub(crate) struct Cone {
    pub(crate) parts: Vec<RequiredCells>,
    /// Steps of evaluating them, if they are known to be no more than was asked for.
    pub(crate) cost: Option<u64>,
}

impl Definition<'_> {
    /// All stages that the results depend on, as a whole.
    pub(crate) fn everything(&self) -> Vec<RequiredCells> {
        let mut parts = vec![RequiredCells::Nothing; self.operator.stages.len()];
        for tensor in &self.operator.outputs {
            if let Some(stage) = self.stage_of(*tensor) {
                parts[stage] = RequiredCells::All;
            }
        }
        self.complete(&mut parts);
        parts
    }

    /// What a whole stage depends on is whole.
    fn complete(&self, parts: &mut [RequiredCells]) {
        for number in (0..parts.len()).rev() {
            if matches!(parts[number], RequiredCells::All) {
                self.operator.stages[number].reads.iter().for_each(|&read| parts[read] = RequiredCells::All);
            }
        }
    }

    fn stage_of(&self, tensor: usize) -> Option<usize> {
        self.operator.stages.iter().position(|stage| stage.tensors.contains(&tensor))
    }

    /// The slices of all stages that say which cells of others they read.
    fn slices(&mut self) -> Result<Arc<Vec<Slice>>> {
        if let Some(known) = &self.slices {
            return Ok(known.clone());
        }
        let reads: BTreeSet<usize> =
            self.operator.stages.iter().flat_map(|stage| stage.tensors.iter().copied()).collect();
        let mut slices = Vec::new();
        for number in 0..self.operator.stages.len() {
            let kernel = self.operator.compile(number, Domain::Numbers, 0)?;
            slices.push(slice(&kernel, Wanted { reads: &reads, writes: &BTreeSet::new() }));
        }
        Ok(self.slices.insert(Arc::new(slices)).clone())
    }

    /// What the given cells of each result depend on. The look itself takes no more steps than `budget`.
    pub(crate) fn cone(&mut self, inputs: &[Tensor], cells: &[CellList], budget: u64) -> Result<Cone> {
        let slices = self.slices()?;
        let n_params = self.operator.n_params;
        let mut parts = vec![RequiredCells::Nothing; slices.len()];
        let by_value = slices.iter().flat_map(|slice| &slice.needs).filter_map(|&tensor| self.stage_of(tensor));
        by_value.collect::<BTreeSet<_>>().into_iter().for_each(|stage| parts[stage] = RequiredCells::All);
        self.complete(&mut parts);
        let is_needed = |tensor: usize| slices.iter().any(|slice| slice.needs.contains(&tensor));
        let mut known = match parts.iter().any(|part| matches!(part, RequiredCells::All)) {
            true => self.evaluate_parts(inputs, &parts, Domain::Numbers)?.globals,
            false => Vec::new(),
        };
        known.truncate(self.operator.declarations.list.len());
        for (nth, &tensor) in self.operator.outputs.iter().enumerate() {
            let Some(stage) = self.stage_of(tensor) else { continue };
            match cells.get(nth) {
                Some(list) => {
                    let decl = &self.operator.declarations.list[tensor];
                    let shape = shape_of(decl);
                    let cells = list.iter().map(|index| flat(index, &shape));
                    parts[stage].add(&CellSet::of_cells(decl.cells, cells));
                }
                None => parts[stage] = RequiredCells::All,
            }
        }
        self.complete(&mut parts);
        let steps = AtomicU64::new(0);
        let mut cost = 0u64;
        for number in (0..parts.len()).rev() {
            let stage = &self.operator.stages[number];
            let n_cells = match &parts[number] {
                RequiredCells::Nothing => continue,
                RequiredCells::All => stage.n_cells(),
                RequiredCells::Cells(set) => set.len() as u64,
            };
            cost = cost.saturating_add(n_cells.saturating_mul(stage.steps));
            if cost > budget {
                return Ok(Cone { parts, cost: None });
            }
            if matches!(parts[number], RequiredCells::All) || stage.reads.is_empty() {
                continue;
            }
            let at = self.cells_of(number, &parts[number]);
            let global = |(tensor, decl): (usize, &crate::code::BufDecl)| {
                if tensor < n_params {
                    let n = if is_needed(tensor) { decl.cells } else { 0 };
                    let global = Global::new((decl.elem, n), shape_of(decl), Role::Input, GlobalSpec::default());
                    if let Some(input) = inputs.get(tensor).filter(|_| n > 0) {
                        global.fill(input);
                    }
                    return Arc::new(global);
                }
                match known.get(tensor).filter(|_| is_needed(tensor)) {
                    Some(known) => known.clone(),
                    None => Arc::new(Global::traced(decl.elem, shape_of(decl), Trace::accessed(decl.cells))),
                }
            };
            let globals: Vec<Arc<Global>> = self.operator.declarations.list.iter().enumerate().map(global).collect();
            let outcome = launch(&Launch {
                kernel: &slices[number].kernel,
                globals: &globals,
                host: &[],
                cells: Some(&at),
                domain: Domain::Numbers,
                limits: Limits { steps: budget, ..self.limits },
                steps: &steps,
                parallel: true,
                descending: false,
                blocks: None,
                watch: None,
            });
            if outcome.aborted {
                return Ok(Cone { parts, cost: None });
            }
            for &read in &self.operator.stages[number].reads {
                for &tensor in &self.operator.stages[read].tensors {
                    if let Some(trace) = &globals[tensor].trace {
                        parts[read].add(&trace.cells());
                    }
                }
            }
        }
        Ok(Cone { parts, cost: Some(cost) })
    }

    /// As many of `cells`, evenly spread, as are evaluated in about `budget` steps; a few in any case.
    pub(crate) fn affordable(
        &mut self,
        inputs: &[Tensor],
        mut cells: Vec<CellList>,
        budget: u64,
    ) -> Result<Vec<CellList>> {
        while cells.iter().any(|list| list.len() > LEAST_CELLS) && self.cone(inputs, &cells, budget)?.cost.is_none() {
            for list in &mut cells {
                let step = if list.len() >= 4 * LEAST_CELLS { 4 } else { list.len().div_ceil(LEAST_CELLS).max(1) };
                *list = std::mem::take(list).into_iter().step_by(step).collect();
            }
        }
        Ok(cells)
    }

    /// The cells of a stage that a launch of its kernel runs at.
    pub(crate) fn cells_of(&self, number: usize, part: &RequiredCells) -> Cells {
        let stage = &self.operator.stages[number];
        let (lows, extents) = (stage.lows.clone(), stage.extents.clone());
        match part {
            RequiredCells::Cells(set) => {
                Cells::Some { flat: set.iter().map(|cell| cell as u64).collect(), lows, extents }
            }
            _ => Cells::Dense { lows, extents },
        }
    }
}
