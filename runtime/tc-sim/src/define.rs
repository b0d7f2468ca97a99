//! Operators by definition.
//!
//! A stage is evaluated cell by cell, reductions in the order of their axes from their identity. Where only some
//! cells of the results are asked for, of each stage those cells are evaluated, once, that they depend on.

use crate::cell::{self, Cell};
use crate::compile::operator::Operator;
use crate::cone::RequiredCells;
use crate::diagnostic::{DiagnosticKind, SimDiagnostics};
use crate::domain::Domain;
use crate::exec::{Launch, launch};
use crate::limits::Limits;
use crate::memory::{Global, GlobalSpec, Role};
use crate::run::{shape_of, too_large};
use crate::slice::Slice;
use crate::tensor::{Tensor, show_index};
use crate::{Result, Sizes};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tc_dialects::te;
use tc_ir::{Elem, Func, Module, Opcode};
use tc_support::{Diagnostic, Location, counted, suggest};

/// A tensor that an operator takes or gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The name.
    pub name: String,
    /// The type of an element.
    pub elem: Elem,
    /// The extents.
    pub shape: Vec<u64>,
}

/// An operator with its sizes put in, ready to be evaluated.
pub struct Definition<'m> {
    pub(crate) operator: Operator<'m>,
    pub(crate) limits: Limits,
    /// What each stage reads, once someone has asked.
    pub(crate) slices: Option<Arc<Vec<Slice>>>,
}

/// Results of an operator.
pub struct Evaluation {
    /// Values of the results' cells, by result; all cells, or those that were asked for.
    pub(crate) values: Vec<Vec<Cell>>,
    /// Their magnitudes, if they were asked for.
    pub(crate) mags: Vec<Vec<f64>>,
    /// Reads out of range that are used, arithmetic that fails, limits.
    pub diagnostics: SimDiagnostics,
    /// Steps done.
    pub steps: u64,
    signatures: Vec<Signature>,
}

impl Evaluation {
    /// The results as arrays; of an evaluation at chosen cells, one-dimensional.
    pub fn tensors(&self) -> Vec<Tensor> {
        let tensor = |(signature, values): (&Signature, &Vec<Cell>)| {
            let n: u64 = signature.shape.iter().product();
            let shape = if n == values.len() as u64 { signature.shape.clone() } else { vec![values.len() as u64] };
            Tensor::from_cells(signature.elem, shape, values.iter().copied())
        };
        self.signatures.iter().zip(&self.values).map(tensor).collect()
    }
}

/// Cells of one result, by their index.
pub type CellList = Vec<Vec<u64>>;

impl<'m> Definition<'m> {
    /// The operator `@name` of `module`.
    pub fn new(module: &'m Module, name: &str, sizes: &Sizes, limits: Limits) -> Result<Definition<'m>> {
        let func = operator_named(module, name)?;
        let operator = Operator::new(module, func, sizes)?;
        let mut total = 0u64;
        for &number in (0..operator.n_params).collect::<Vec<_>>().iter().chain(&operator.outputs) {
            let decl = &operator.declarations.list[number];
            total = total.saturating_add((decl.cells as u64).saturating_mul(9));
            if total > limits.memory {
                return Err(too_large(&decl.name, decl.location.clone(), limits.memory));
            }
        }
        Ok(Definition { operator, limits, slices: None })
    }

    /// The tensors that it takes.
    pub fn inputs(&self) -> Vec<Signature> {
        (0..self.operator.n_params).map(|number| self.signature(number)).collect()
    }

    /// The tensors that it gives.
    pub fn outputs(&self) -> Vec<Signature> {
        self.operator.outputs.iter().map(|&number| self.signature(number)).collect()
    }

    /// The most terms that a cell of the results is summed from, stages that feed each other multiplied.
    pub(crate) fn n_terms(&self) -> u64 {
        let stages = &self.operator.stages;
        let mut terms = vec![1u64; stages.len()];
        for (number, stage) in stages.iter().enumerate() {
            let below = stage.reads.iter().map(|&read| terms[read]).max().unwrap_or(1);
            terms[number] = stage.terms.saturating_mul(below);
        }
        terms.into_iter().max().unwrap_or(1)
    }

    pub(crate) fn func(&self) -> &'m Func {
        self.operator.func
    }

    /// Steps of evaluating all cells.
    pub(crate) fn estimate(&self) -> u64 {
        let of = |stage: &crate::compile::operator::Stage| stage.n_cells().saturating_mul(stage.steps);
        self.operator.stages.iter().fold(0, |sum: u64, stage| sum.saturating_add(of(stage)))
    }

    fn signature(&self, number: usize) -> Signature {
        let decl = &self.operator.declarations.list[number];
        Signature { name: decl.name.clone(), elem: decl.elem, shape: shape_of(decl) }
    }

    /// Evaluates all cells of the results.
    pub fn evaluate(&mut self, inputs: &[Tensor]) -> Result<Evaluation> {
        self.evaluate_with(inputs, None, Domain::Numbers)
    }

    /// Evaluates the given cells of each result.
    pub fn evaluate_at(&mut self, inputs: &[Tensor], cells: &[CellList]) -> Result<Evaluation> {
        self.evaluate_with(inputs, Some(cells), Domain::Numbers)
    }

    /// The magnitudes of the cells. An error where they cost more than the limits allow: what they are is unknown then, and
    /// with it how far two results may be apart.
    pub(crate) fn magnitudes(&mut self, inputs: &[Tensor], cells: Option<&[CellList]>) -> Result<Evaluation> {
        let evaluation = self.evaluate_with(inputs, cells, Domain::Magnitudes)?;
        evaluation.diagnostics.limit().map_or(Ok(evaluation), Err)
    }

    pub(crate) fn evaluate_with(
        &mut self,
        inputs: &[Tensor],
        cells: Option<&[CellList]>,
        domain: Domain,
    ) -> Result<Evaluation> {
        self.check_inputs(inputs, cells)?;
        let parts = match cells {
            Some(cells) => self.cone(inputs, cells, u64::MAX)?.parts,
            None => self.everything(),
        };
        let Evaluated { globals, diagnostics, steps } = self.evaluate_parts(inputs, &parts, domain)?;
        let signatures = self.outputs();
        let mut evaluation = Evaluation { values: Vec::new(), mags: Vec::new(), diagnostics, steps, signatures };
        for (nth, (&number, output)) in self.operator.outputs.iter().zip(&evaluation.signatures).enumerate() {
            let global = &globals[number];
            let at: Vec<usize> = match cells.and_then(|cells| cells.get(nth)) {
                Some(list) => list.iter().filter_map(|index| global.find(flat(index, &output.shape))).collect(),
                None => (0..global.cells.len()).collect(),
            };
            evaluation.values.push(at.iter().map(|&idx| global.cells[idx].load(Relaxed)).collect());
            if let Some(plane) = &global.mags {
                evaluation.mags.push(at.iter().map(|&idx| f64::from_bits(plane[idx].load(Relaxed))).collect());
            }
        }
        Ok(evaluation)
    }

    /// Evaluates the parts of the stages, from the first to the last.
    pub(crate) fn evaluate_parts(
        &mut self,
        inputs: &[Tensor],
        parts: &[RequiredCells],
        domain: Domain,
    ) -> Result<Evaluated> {
        let globals = self.make_tensors(inputs, parts, domain)?;
        let steps = AtomicU64::new(0);
        let mut diagnostics = SimDiagnostics::default();
        let mut site_base = 0;
        for (number, part) in parts.iter().enumerate().filter(|(_, part)| !matches!(part, RequiredCells::Nothing)) {
            let kernel = self.operator.compile(number, domain, site_base)?;
            site_base += kernel.sites.len() as u32;
            let outcome = launch(&Launch {
                kernel: &kernel,
                globals: &globals,
                host: &[],
                cells: Some(&self.cells_of(number, part)),
                domain,
                limits: self.limits,
                steps: &steps,
                parallel: true,
                descending: false,
                blocks: None,
                watch: None,
            });
            diagnostics.merge(outcome.diagnostics, self.limits.diagnostics);
            if outcome.aborted {
                break;
            }
        }
        if let Some(number) = globals.iter().position(|global| global.missed.load(Relaxed)) {
            let decl = &self.operator.declarations.list[number];
            let text = format!("a cell of `{}` is read that was not taken for one that is needed", decl.name);
            return Err(Box::new(Diagnostic::bug("sample", decl.location.clone(), text)));
        }
        Ok(Evaluated { globals, diagnostics, steps: steps.load(Relaxed) })
    }

    fn check_inputs(&self, inputs: &[Tensor], cells: Option<&[CellList]>) -> Result<()> {
        let func = self.operator.func;
        let refuse =
            |text: String| Err(Box::new(Diagnostic::error("bad-argument", func.location(func.header.loc), text)));
        let wanted = self.inputs();
        if inputs.len() != wanted.len() {
            return refuse(format!(
                "`@{}` takes {}, not {}",
                func.symbol(),
                counted(wanted.len(), "tensor"),
                inputs.len()
            ));
        }
        for (input, want) in inputs.iter().zip(&wanted) {
            if input.elem != want.elem || input.shape != want.shape {
                let (want_shape, have) = (show_index(&want.shape), show_index(&input.shape));
                let (want_elem, elem) = (want.elem.name(), input.elem.name());
                return refuse(format!(
                    "argument `{}` must be `{want_elem}{want_shape}`, not `{elem}{have}`",
                    want.name
                ));
            }
        }
        for (list, output) in cells.unwrap_or(&[]).iter().zip(self.outputs()) {
            let fits = |index: &Vec<u64>| {
                index.len() == output.shape.len() && index.iter().zip(&output.shape).all(|(idx, extent)| idx < extent)
            };
            if let Some(index) = list.iter().find(|index| !fits(index)) {
                return refuse(format!("`{}` has no cell {}", output.name, show_index(index)));
            }
        }
        Ok(())
    }

    fn make_tensors(&self, inputs: &[Tensor], parts: &[RequiredCells], domain: Domain) -> Result<Vec<Arc<Global>>> {
        let mut total = 0u64;
        let mut globals = Vec::new();
        for (number, decl) in self.operator.declarations.list.iter().enumerate() {
            let is_input = number < self.operator.n_params;
            let stage = self.operator.stages.iter().position(|stage| stage.tensors.contains(&number));
            let spec = GlobalSpec { domain, poison: !is_input, writable: false, readable: false, updated: false };
            let (cells, kept) = match stage.map(|stage| &parts[stage]) {
                None | Some(RequiredCells::All) => (decl.cells, None),
                Some(RequiredCells::Nothing) => (0, None),
                Some(RequiredCells::Cells(set)) => (set.len(), Some(set.clone())),
            };
            total = total.saturating_add((cells as u64).saturating_mul(spec.bytes_per_cell()));
            if total > self.limits.memory {
                return Err(too_large(&decl.name, decl.location.clone(), self.limits.memory));
            }
            let role = if is_input { Role::Input } else { Role::Temporary };
            let mut global = Global::new((decl.elem, cells), shape_of(decl), role, spec);
            global.kept = kept;
            if let Some(input) = inputs.get(number).filter(|_| is_input) {
                global.fill(input);
            }
            globals.push(Arc::new(global));
        }
        Ok(globals)
    }
}

/// What evaluating parts of stages gave.
pub(crate) struct Evaluated {
    /// The operator's tensors.
    pub(crate) globals: Vec<Arc<Global>>,
    pub(crate) diagnostics: SimDiagnostics,
    pub(crate) steps: u64,
}

/// The place of the cell `index` in an array of this shape.
pub(crate) fn flat(index: &[u64], shape: &[u64]) -> usize {
    index.iter().zip(shape).fold(0u64, |flat, (&idx, &extent)| flat * extent + idx) as usize
}

/// The te.func called `name`.
pub(crate) fn operator_named<'m>(module: &'m Module, name: &str) -> Result<&'m Func> {
    match module.function(name) {
        Some(func) if func.header.opcode == te::FUNC => Ok(func),
        Some(func) => {
            let at = func.location(func.header.loc);
            Err(Box::new(Diagnostic::error("not-an-operator", at, format!("`@{name}` is no `te.func`"))))
        }
        None => {
            let names = module.items.iter().filter(|item| is_operator(item.header.opcode)).map(Func::symbol);
            let names: Vec<&str> = names.collect();
            let text = format!("there is no operator `@{}`", suggest::shorten(name));
            let mut diagnostic = Diagnostic::error("unknown-function", Location::None, text);
            diagnostic.help = suggest::did_you_mean(name, names.iter().copied());
            Err(Box::new(diagnostic))
        }
    }
}

fn is_operator(opcode: Opcode) -> bool {
    opcode == te::FUNC
}

/// Did evaluating the definition itself go wrong?
pub(crate) fn is_sound(diagnostics: &SimDiagnostics) -> bool {
    !diagnostics
        .iter()
        .any(|found| matches!(found.kind, DiagnosticKind::Poison | DiagnosticKind::Arithmetic | DiagnosticKind::Limit))
}

/// The value of a cell, for messages.
pub(crate) fn show(elem: Elem, value: Cell) -> String {
    cell::show(elem, value)
}
