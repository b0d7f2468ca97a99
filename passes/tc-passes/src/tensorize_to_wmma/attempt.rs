//! One try to take a nest for what an intrinsic computes, with one order of the operands of its commutative ops.

use super::find::{Chain, Loop};
use super::matching::{Difference, Matched, NestRole};
use super::show;
use super::site::{Site, Theirs};
use super::tile::Tile;
use indexmap::IndexMap;
use tc_dialects::te::{self, Axis};
use tc_ir::{Op, Value};
use tc_support::counted;

/// The first difference, where there is one.
pub(super) type Compared = Result<(), Difference>;

/// One try, with one order of commutative operands.
pub(super) struct Attempt<'a, 'f, 'i> {
    pub(super) site: &'a mut Site<'f>,
    pub(super) theirs: &'a mut Theirs<'i>,
    pub(super) commuted: &'a [Op],
    pub(super) order: u32,
    pub(super) scopes: bool,
    pub(super) steps: u32,
    pub(super) loops: Vec<Loop>,
    pub(super) axes: Vec<Axis>,
    /// Which axis is which loop, by their places in the lists.
    pub(super) bound: Vec<(usize, usize)>,
    /// Indices to compare once all axes are bound: coefficients of axes, of loops.
    pub(super) later: Vec<(Vec<i64>, Vec<i64>, Op, Op)>,
    pub(super) tiles: IndexMap<Value, Tile>,
}

impl<'a, 'f, 'i> Attempt<'a, 'f, 'i> {
    pub(super) fn new(
        site: &'a mut Site<'f>,
        theirs: &'a mut Theirs<'i>,
        commuted: &'a [Op],
        order: u32,
        scopes: bool,
    ) -> Attempt<'a, 'f, 'i> {
        let (loops, axes) = (Vec::new(), theirs.intrinsic.all_axes().collect());
        let (bound, later, tiles) = (Vec::new(), Vec::new(), IndexMap::new());
        Attempt { site, theirs, commuted, order, scopes, steps: 0, loops, axes, bound, later, tiles }
    }

    pub(super) fn nest(&mut self) -> Result<Matched, Difference> {
        let (nest, intrinsic) = (self.site.nest, self.theirs.intrinsic);
        let main = nest.main.store;
        self.loops = nest.loops().collect();
        let Some(first) = &nest.first else {
            let step = match &intrinsic.reduction {
                None => NestRole::Whole,
                Some(_) if self.is_literal(main) => NestRole::First,
                Some(_) => NestRole::Further,
            };
            self.step(step, main)?;
            return Ok(Matched { step, tiles: std::mem::take(&mut self.tiles) });
        };
        if intrinsic.reduction.is_none() {
            let text = "two things are done here, and one there".to_string();
            return Err(self.differ(text, main, show::store(self.site.func, main), intrinsic.compute));
        }
        self.step(NestRole::Further, main)?;
        self.first_step(first)?;
        Ok(Matched { step: NestRole::Both, tiles: std::mem::take(&mut self.tiles) })
    }

    /// The first step that stands beside the further ones, which are compared: the same elements of the same buffer.
    fn first_step(&mut self, first: &Chain) -> Compared {
        let intrinsic = self.theirs.intrinsic;
        let (tiles, bound) = (std::mem::take(&mut self.tiles), std::mem::take(&mut self.bound));
        self.loops = self.site.nest.first_loops().collect();
        let shared = self.site.nest.shared.len();
        self.bound = bound.iter().copied().filter(|&(_, nth)| nth < shared).collect();
        self.step(NestRole::First, first.store)?;
        let here = tiles.get(&intrinsic.result).zip(self.tiles.get(&intrinsic.result));
        let same = here.is_some_and(|(a, b)| a.is_same(b, &mut self.site.algebra));
        if !same {
            let text = "the first step sets other elements than the further ones add to".to_string();
            return Err(self.differ(text, first.store, show::store(self.site.func, first.store), intrinsic.compute));
        }
        self.tiles = tiles;
        Ok(())
    }

    /// Does `store` store a literal?
    fn is_literal(&self, store: Op) -> bool {
        let func = self.site.func;
        func.operands(store).last().is_some_and(|&value| func.constant(value).is_some())
    }

    /// Compares what `store` does with `step`.
    fn step(&mut self, step: NestRole, store: Op) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let [buffer, indices @ .., stored] = func.operands(store) else {
            let text = "this store has no place".to_string();
            return Err(self.differ(text, store, show::store(func, store), intrinsic.compute));
        };
        let (buffer, indices, stored) = (*buffer, indices.to_vec(), *stored);
        let axes: Vec<Value> = intrinsic.axes.iter().map(|axis| axis.value).collect();
        self.place(intrinsic.result, intrinsic.compute, &axes, store, buffer, &indices)?;
        match step {
            NestRole::Whole => self.value(intrinsic.element, intrinsic.compute, stored, store, 0)?,
            NestRole::First => self.identity(stored, store)?,
            NestRole::Further | NestRole::Both => {
                let added = self.added(store, buffer, &indices, stored)?;
                let at = intrinsic.reduction.as_ref().map_or(intrinsic.compute, |reduction| reduction.op);
                self.value(intrinsic.element, at, added, store, 0)?;
            }
        }
        self.all_bound(step, store)?;
        for (axes, loops, ours, theirs) in std::mem::take(&mut self.later) {
            self.equation(&axes, &loops, ours, theirs)?;
        }
        Ok(())
    }

    /// Every loop is an axis, and every axis of the step a loop; those that run once may be missing.
    fn all_bound(&mut self, step: NestRole, store: Op) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let n_axes = if step == NestRole::First { intrinsic.axes.len() } else { self.axes.len() };
        let loops: Vec<usize> = (0..self.loops.len())
            .filter(|&nth| self.loops[nth].extent != 1 && !self.bound.iter().any(|&(_, of)| of == nth))
            .collect();
        let axes: Vec<usize> = (0..n_axes)
            .filter(|&axis| self.axes[axis].extent != 1 && !self.bound.iter().any(|&(of, _)| of == axis))
            .collect();
        // What is not told apart by any index is taken in order.
        for (&axis, &nth) in axes.iter().zip(&loops) {
            self.bind(axis, nth)
                .map_err(|text| self.differ(text, self.loops[nth].op, self.head(nth), intrinsic.compute))?;
        }
        if let Some(&nth) = loops.get(axes.len()) {
            let (name, extent) = (func.value_text(self.loops[nth].var), self.loops[nth].extent);
            let text = format!("no axis stands for the loop `{name}`, which has {}", counted(extent, "iteration"));
            return Err(self.differ(text, self.loops[nth].op, self.head(nth), intrinsic.compute));
        }
        if let Some(&axis) = axes.get(loops.len()) {
            let Axis { value, extent } = self.axes[axis];
            let name = intrinsic.func.value_text(value);
            let text = format!("no loop stands for the axis `{name}`, which has {}", counted(extent, "iteration"));
            return Err(self.differ(text, store, show::store(func, store), intrinsic.compute));
        }
        Ok(())
    }

    /// The head of a loop as text.
    fn head(&self, nth: usize) -> String {
        let Loop { var, lo, extent, .. } = self.loops[nth];
        format!("for {} in {lo}..{}", self.site.func.value_text(var), lo.saturating_add(extent))
    }

    pub(super) fn differ(&self, text: String, ours: Op, here: String, theirs: Op) -> Difference {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let name = |axis: usize, nth: usize| {
            let (axis, of) = (self.axes[axis].value, self.loops[nth].var);
            format!("{} = {}", intrinsic.func.value_text(axis), func.value_text(of))
        };
        let map: Vec<String> = self.bound.iter().map(|&(axis, nth)| name(axis, nth)).collect();
        let element = show::value(intrinsic.func, self.element_of(theirs));
        Difference {
            steps: self.steps,
            text,
            ours: (func.op_location(ours), here),
            theirs: (intrinsic.func.op_location(theirs), element),
            map: map.join(", "),
        }
    }

    /// The value that the op `theirs` of the intrinsic is shown by.
    fn element_of(&self, theirs: Op) -> Value {
        let func = self.theirs.intrinsic.func;
        let is_compute = func.opcode(theirs) == te::COMPUTE;
        let yielded = func.op_regions(theirs).first().and_then(|&region| func.yielded(region).first().copied());
        let shown = if is_compute { yielded } else { func.result(theirs) };
        shown.unwrap_or(self.theirs.intrinsic.element)
    }
}
