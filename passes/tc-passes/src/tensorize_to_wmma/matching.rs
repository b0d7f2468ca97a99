//! Does a nest compute what an intrinsic computes? Names of axes, the order of commutative operands and where the tiles
//! lie may differ; all else may not.

use super::find::{Chain, Loop};
use super::show;
use super::site::{Site, Theirs};
use super::tile::{self, Tile};
use indexmap::IndexMap;
use tc_dialects::te::{self, Axis, Intrinsic};
use tc_dialects::{arith, tir};
use tc_ir::attrs::AttrData;
use tc_ir::opdef::Role;
use tc_ir::{Func, Op, Value, keys};
use tc_support::Location;

/// Expressions deeper than this, and of more ops, are not compared.
const MAX_DEPTH: u32 = 128;
const MAX_STEPS: u32 = 4096;

/// Of this many commutative ops of an intrinsic all orders of operands are tried.
const MAX_COMMUTED: usize = 6;

/// What of the intrinsic a nest is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// All of one that reduces nothing.
    Whole,
    /// The first step of a reduction, which sets the result to the combiner's identity.
    First,
    /// Further steps of a reduction.
    Further,
    /// The first step and the further ones.
    Both,
}

/// A nest that computes what an intrinsic computes.
#[derive(Debug)]
pub(super) struct Matched {
    pub(super) step: Step,
    /// Where the parameters and the result lie.
    pub(super) tiles: IndexMap<Value, Tile>,
}

/// The first thing in which a nest and an intrinsic differ.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    /// How much was compared before.
    steps: u32,
    pub(super) text: String,
    pub(super) ours: (Location, String),
    pub(super) theirs: (Location, String),
    /// Which axis was taken for which loop so far.
    pub(super) map: String,
}

/// Compares the nest of `site` with `intrinsic`. With `scopes` false the scopes of buffers are not compared.
pub(super) fn unify(site: &mut Site<'_>, intrinsic: &Intrinsic<'_>, scopes: bool) -> Result<Matched, Difference> {
    let mut theirs = Theirs::new(intrinsic);
    let commuted = commutative(intrinsic);
    let mut worst: Option<Difference> = None;
    // The written order first: of differences that are equally far on, it gives the one that is told.
    for order in 0..1u32 << commuted.len() {
        let mut attempt = Attempt::new(site, &mut theirs, &commuted, order, scopes);
        match attempt.nest() {
            Ok(matched) => return Ok(matched),
            Err(found) if worst.as_ref().is_none_or(|worst| worst.steps < found.steps) => worst = Some(found),
            Err(_) => {}
        }
    }
    Err(worst.expect("the written order is always tried"))
}

/// The commutative ops of what `intrinsic` computes, in the order in which they are compared.
fn commutative(intrinsic: &Intrinsic<'_>) -> Vec<Op> {
    let func = intrinsic.func;
    let mut found = Vec::new();
    let (mut pending, mut steps) = (vec![intrinsic.element], 0);
    while let Some(value) = pending.pop() {
        steps += 1;
        let Some(op) = func.def_op(value).filter(|&op| steps < MAX_STEPS && func.role(op) != Role::Load) else {
            continue;
        };
        if func.row(op).commutative && found.len() < MAX_COMMUTED && !found.contains(&op) {
            found.push(op);
        }
        pending.extend(inputs(func, op).into_iter().rev());
    }
    found
}

/// What the value of `op` is computed from.
fn inputs(func: &Func, op: Op) -> Vec<Value> {
    let mut inputs = func.operands(op).to_vec();
    inputs.extend(func.op_regions(op).iter().flat_map(|&region| func.yielded(region).iter().copied()));
    inputs
}

/// One try, with one order of commutative operands.
struct Attempt<'a, 'f, 'i> {
    site: &'a mut Site<'f>,
    theirs: &'a mut Theirs<'i>,
    commuted: &'a [Op],
    order: u32,
    scopes: bool,
    steps: u32,
    loops: Vec<Loop>,
    axes: Vec<Axis>,
    /// Which axis is which loop, by their places in the lists.
    bound: Vec<(usize, usize)>,
    /// Indices to compare once all axes are bound: coefficients of axes, of loops.
    later: Vec<(Vec<i64>, Vec<i64>, Op, Op)>,
    tiles: IndexMap<Value, Tile>,
}

type Compared = Result<(), Difference>;

impl<'a, 'f, 'i> Attempt<'a, 'f, 'i> {
    fn new(
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

    fn nest(&mut self) -> Result<Matched, Difference> {
        let (nest, intrinsic) = (self.site.nest, self.theirs.intrinsic);
        let main = nest.main.store;
        self.loops = nest.loops().collect();
        let Some(first) = &nest.first else {
            let step = match &intrinsic.reduction {
                None => Step::Whole,
                Some(_) if self.is_literal(main) => Step::First,
                Some(_) => Step::Further,
            };
            self.step(step, main)?;
            return Ok(Matched { step, tiles: std::mem::take(&mut self.tiles) });
        };
        if intrinsic.reduction.is_none() {
            let text = "two things are done here, and one there".to_string();
            return Err(self.differ(text, main, show::store(self.site.func, main), intrinsic.compute));
        }
        self.step(Step::Further, main)?;
        self.first_step(first)?;
        Ok(Matched { step: Step::Both, tiles: std::mem::take(&mut self.tiles) })
    }

    /// The first step that stands beside the further ones, which are compared: the same elements of the same buffer.
    fn first_step(&mut self, first: &Chain) -> Compared {
        let intrinsic = self.theirs.intrinsic;
        let (tiles, bound) = (std::mem::take(&mut self.tiles), std::mem::take(&mut self.bound));
        self.loops = self.site.nest.first_loops().collect();
        let shared = self.site.nest.shared.len();
        self.bound = bound.iter().copied().filter(|&(_, nth)| nth < shared).collect();
        self.step(Step::First, first.store)?;
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
    fn step(&mut self, step: Step, store: Op) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let [buffer, indices @ .., stored] = func.operands(store) else {
            let text = "this store has no place".to_string();
            return Err(self.differ(text, store, show::store(func, store), intrinsic.compute));
        };
        let (buffer, indices, stored) = (*buffer, indices.to_vec(), *stored);
        let axes: Vec<Value> = intrinsic.axes.iter().map(|axis| axis.value).collect();
        self.place(intrinsic.result, intrinsic.compute, &axes, store, buffer, &indices)?;
        match step {
            Step::Whole => self.value(intrinsic.element, intrinsic.compute, stored, store, 0)?,
            Step::First => self.identity(stored, store)?,
            Step::Further | Step::Both => {
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

    /// The first step of a reduction stores the combiner's identity.
    fn identity(&mut self, stored: Value, store: Op) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let Some(reduction) = &intrinsic.reduction else { return Ok(()) };
        let elem = func.value_scalar(stored).map(|scalar| scalar.elem);
        let wanted = elem.and_then(|elem| te::identity_of(&reduction.combiner, elem));
        let have = func.constant(stored).map(|attr| func.attr_data(attr));
        if wanted.as_ref().zip(have).is_some_and(|(wanted, have)| same_literal(wanted, have)) {
            return Ok(());
        }
        let wanted = wanted.map_or_else(|| "…".to_string(), |data| literal(&data));
        let stored = show::value(func, stored);
        let text = format!("the first step of `{}` sets {wanted}, and `{stored}` is set here", reduction.combiner);
        Err(self.differ(text, store, show::store(func, store), reduction.op))
    }

    /// What `stored` adds to the element that it replaces.
    fn added(&mut self, store: Op, buffer: Value, indices: &[Value], stored: Value) -> Result<Value, Difference> {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let Some(reduction) = &intrinsic.reduction else { return Ok(stored) };
        let opcode = match &*reduction.combiner {
            "sum" => arith::ADD,
            "prod" => arith::MUL,
            "min" => arith::MIN,
            _ => arith::MAX,
        };
        if let Some(op) = func.def_op(stored).filter(|&op| func.opcode(op) == opcode) {
            let &[a, b] = func.operands(op) else { return Ok(stored) };
            for (so_far, added) in [(a, b), (b, a)] {
                if self.reads(so_far, buffer, indices) {
                    return Ok(added);
                }
            }
        }
        let place = show::place(func, buffer, indices);
        let text = format!("`{place}` does not become the `{}` of itself and one more", reduction.combiner);
        Err(self.differ(text, store, show::store(func, store), reduction.op))
    }

    /// Is `value` the element of `buffer` at `indices`?
    fn reads(&mut self, value: Value, buffer: Value, indices: &[Value]) -> bool {
        let func = self.site.func;
        let Some(op) = func.def_op(value).filter(|&op| func.opcode(op) == tir::LOAD) else { return false };
        let operands = func.operands(op);
        operands.first() == Some(&buffer)
            && operands.len() == indices.len() + 1
            && operands[1..].iter().zip(indices).all(|(&a, &b)| {
                let (a, b) = (self.site.algebra.expr(func, a), self.site.algebra.expr(func, b));
                self.site.algebra.analyzer.can_prove_equal(a, b)
            })
    }

    /// Compares `theirs`, used by the op `user`, with `ours`, used by `by`.
    fn value(&mut self, theirs: Value, user: Op, ours: Value, by: Op, depth: u32) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            let text = "what is computed is too large to be compared".to_string();
            return Err(self.differ(text, by, show::value(func, ours), user));
        }
        let differs = |this: &Self| {
            let (here, there) = (show::value(func, ours), show::value(intrinsic.func, theirs));
            let types =
                (func.show_type(func.value_type(ours)), intrinsic.func.show_type(intrinsic.func.value_type(theirs)));
            let (here, there) = if here == there {
                (format!("{here}: {}", types.0), format!("{there}: {}", types.1))
            } else {
                (here, there)
            };
            let text = format!("`{here}` stands here, and `{there}` there");
            let mut found = this.differ(text, func.def_op(ours).unwrap_or(by), here, user);
            found.theirs.1 = there;
            found
        };
        let Some(their_op) = intrinsic.func.def_op(theirs) else {
            return self.variable(theirs, ours).map_err(|()| differs(self));
        };
        let Some(our_op) = func.def_op(ours) else { return Err(differs(self)) };
        let same_type = func.value_scalar(ours) == intrinsic.func.value_scalar(theirs);
        match (intrinsic.func.opcode(their_op), func.opcode(our_op)) {
            (te::READ, tir::LOAD) => {
                let (Some((&tensor, theirs)), Some((&buffer, ours))) =
                    (intrinsic.func.operands(their_op).split_first(), func.operands(our_op).split_first())
                else {
                    return Err(differs(self));
                };
                let (theirs, ours) = (theirs.to_vec(), ours.to_vec());
                self.place(tensor, their_op, &theirs, our_op, buffer, &ours)
            }
            (theirs, ours) if theirs == ours && same_type => self.op(their_op, our_op, depth, differs),
            _ => Err(differs(self)),
        }
    }

    /// Compares two ops of one row.
    fn op(&mut self, theirs: Op, ours: Op, depth: u32, differs: impl Fn(&Self) -> Difference) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let (mut there, here) = (inputs(intrinsic.func, theirs), inputs(func, ours));
        if there.len() != here.len() || !self.same_attrs(theirs, ours) {
            return Err(differs(self));
        }
        if let Some(bit) = self.commuted.iter().position(|&op| op == theirs)
            && self.order >> bit & 1 == 1
            && there.len() == 2
        {
            there.swap(0, 1);
        }
        for (theirs_input, ours_input) in there.into_iter().zip(here) {
            self.value(theirs_input, theirs, ours_input, ours, depth + 1)?;
        }
        Ok(())
    }

    fn same_attrs(&self, theirs: Op, ours: Op) -> bool {
        let (func, other) = (self.site.func, self.theirs.intrinsic.func);
        if func.role(ours) == Role::Constant {
            let (ours, theirs) = (func.attr_of(ours, keys::VALUE), other.attr_of(theirs, keys::VALUE));
            return ours
                .zip(theirs)
                .is_some_and(|(ours, theirs)| same_literal(func.attr_data(ours), other.attr_data(theirs)));
        }
        func.row(ours).params.iter().filter(|param| !param.kind.is_operand()).all(|param| {
            let text = |func: &Func, op| func.attr_named(op, param.name).map(|attr| func.show_attr(attr));
            text(func, ours) == text(other, theirs)
        })
    }

    /// An axis that is a number of what is computed: the loop that it is bound to.
    fn variable(&mut self, theirs: Value, ours: Value) -> Result<(), ()> {
        let axis = self.axes.iter().position(|axis| axis.value == theirs).ok_or(())?;
        let nth = self.loops.iter().position(|each| each.var == ours && each.lo == 0).ok_or(())?;
        if self.bound.contains(&(axis, nth)) { Ok(()) } else { Err(()) }
    }

    /// Compares an element of `tensor` with one of `buffer`; where the tensor's tile lies in the buffer is noted.
    fn place(
        &mut self,
        tensor: Value,
        their_op: Op,
        their_indices: &[Value],
        our_op: Op,
        buffer: Value,
        our_indices: &[Value],
    ) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        self.steps += 1;
        let here = show::place(func, buffer, our_indices);
        let there = show::place(intrinsic.func, tensor, their_indices);
        let differs = |this: &Self, text: String| {
            let mut found = this.differ(text, our_op, here.clone(), their_op);
            found.theirs.1 = there.clone();
            found
        };
        if let Err(text) = tile::same_kind(func, buffer, intrinsic, tensor, self.scopes) {
            return Err(differs(self, text));
        }
        let mut ours = Vec::with_capacity(our_indices.len());
        for &index in our_indices {
            match self.site.index(index, &self.loops) {
                Ok(index) => ours.push(index),
                Err(why) => {
                    let text =
                        format!("the index `{}` of `{}` {why}", show::value(func, index), func.value_text(buffer));
                    return Err(differs(self, text));
                }
            }
        }
        let mut theirs = Vec::with_capacity(their_indices.len());
        for &index in their_indices {
            match self.theirs.index(index, &self.axes) {
                Some(index) => theirs.push(index),
                None => {
                    let text =
                        format!("the index `{}` is no sum of multiples of axes", show::value(intrinsic.func, index));
                    return Err(differs(self, text));
                }
            }
        }
        let moves = |coeffs: &[i64]| coeffs.iter().any(|&coeff| coeff != 0);
        let ours_move: Vec<bool> = ours.iter().map(|index| moves(&index.coeffs)).collect();
        let theirs_move: Vec<bool> = theirs.iter().map(|(coeffs, _)| moves(coeffs)).collect();
        let Some(dims) = tile::dims(&ours_move, &theirs_move) else {
            return Err(differs(
                self,
                format!("the loops do not run through `{here}` as the axes do through `{there}`"),
            ));
        };
        let mut base: Vec<_> = ours.iter().map(|index| index.base).collect();
        for (nth, &dim) in dims.iter().enumerate() {
            let (coeffs, start) = &theirs[nth];
            let start = self.site.algebra.analyzer.pool.int(*start);
            let at = self.site.algebra.analyzer.pool.sub(base[dim], start);
            base[dim] = self.site.algebra.analyzer.simplify(at);
            self.index(coeffs, &ours[dim].coeffs, our_op, their_op).map_err(|text| differs(self, text))?;
        }
        let tile = Tile { buffer, dims, base, at: our_op };
        match self.tiles.get(&tensor) {
            Some(known) if !known.is_same(&tile, &mut self.site.algebra) => {
                let name = intrinsic.func.value_text(tensor);
                Err(differs(
                    self,
                    format!("`{name}` was taken for other elements of `{}`", func.value_text(known.buffer)),
                ))
            }
            Some(_) => Ok(()),
            None => {
                self.tiles.insert(tensor, tile);
                Ok(())
            }
        }
    }

    /// Binds the axis and the loop of an index, where there is one each; other indices wait.
    fn index(&mut self, axes: &[i64], loops: &[i64], ours: Op, theirs: Op) -> Result<(), String> {
        let one = |coeffs: &[i64]| {
            let mut moving = coeffs.iter().enumerate().filter(|(_, coeff)| **coeff != 0);
            match (moving.next(), moving.next()) {
                (Some((nth, &coeff)), None) => Some((nth, coeff)),
                _ => None,
            }
        };
        match (one(axes), one(loops)) {
            (Some((axis, a)), Some((nth, b))) if a == b => self.bind(axis, nth),
            (Some((_, a)), Some((nth, b))) => {
                let var = self.site.func.value_text(self.loops[nth].var);
                Err(format!("`{var}` goes by steps of {b}, and the axis by steps of {a}"))
            }
            _ => {
                self.later.push((axes.to_vec(), loops.to_vec(), ours, theirs));
                Ok(())
            }
        }
    }

    fn bind(&mut self, axis: usize, nth: usize) -> Result<(), String> {
        if self.bound.contains(&(axis, nth)) {
            return Ok(());
        }
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let axis_name = |axis: usize| intrinsic.func.value_text(self.axes[axis].value);
        let loop_name = |nth: usize| func.value_text(self.loops[nth].var);
        if let Some(&(other, _)) = self.bound.iter().find(|&&(_, of)| of == nth) {
            let (want, have) = (axis_name(axis), axis_name(other));
            return Err(format!("the loop `{}` would be the axis `{want}`, and is `{have}` already", loop_name(nth)));
        }
        if let Some(&(_, other)) = self.bound.iter().find(|&&(of, _)| of == axis) {
            let (want, have) = (loop_name(nth), loop_name(other));
            return Err(format!("the axis `{}` would be the loop `{want}`, and is `{have}` already", axis_name(axis)));
        }
        let (ours, theirs) = (self.loops[nth].extent, self.axes[axis].extent);
        if ours != theirs {
            let (here, there) = (loop_name(nth), axis_name(axis));
            return Err(format!("the loop `{here}` has {ours} iterations, and the axis `{there}` has {theirs}"));
        }
        self.bound.push((axis, nth));
        Ok(())
    }

    /// Every loop is an axis, and every axis of the step a loop; those that run once may be missing.
    fn all_bound(&mut self, step: Step, store: Op) -> Compared {
        let (func, intrinsic) = (self.site.func, self.theirs.intrinsic);
        let n_axes = if step == Step::First { intrinsic.axes.len() } else { self.axes.len() };
        let loops: Vec<usize> = (0..self.loops.len())
            .filter(|&nth| self.loops[nth].extent != 1 && !self.bound.iter().any(|&(_, of)| of == nth))
            .collect();
        let axes: Vec<usize> = (0..n_axes)
            .filter(|&axis| self.axes[axis].extent != 1 && !self.bound.iter().any(|&(of, _)| of == axis))
            .collect();
        // What is not told apart by any index is taken in order.
        for (&axis, &nth) in axes.iter().zip(&loops) {
            self.bind(axis, nth)
                .map_err(|text| self.differ(text, self.loops[nth].op, "this loop".to_string(), intrinsic.compute))?;
        }
        if let Some(&nth) = loops.get(axes.len()) {
            let (name, extent) = (func.value_text(self.loops[nth].var), self.loops[nth].extent);
            let text = format!("no axis stands for the loop `{name}`, which has {extent} iterations");
            return Err(self.differ(text, self.loops[nth].op, format!("the loop `{name}`"), intrinsic.compute));
        }
        if let Some(&axis) = axes.get(loops.len()) {
            let Axis { value, extent } = self.axes[axis];
            let name = intrinsic.func.value_text(value);
            let text = format!("no loop stands for the axis `{name}`, which has {extent} iterations");
            return Err(self.differ(text, store, show::store(func, store), intrinsic.compute));
        }
        Ok(())
    }

    /// An index of several axes: each has the coefficient of its loop.
    fn equation(&mut self, axes: &[i64], loops: &[i64], ours: Op, theirs: Op) -> Compared {
        let mut wanted = vec![0; loops.len()];
        for &(axis, nth) in &self.bound {
            wanted[nth] = axes[axis];
        }
        if wanted == loops {
            return Ok(());
        }
        let text = format!("the loops take steps of {loops:?} here, and of {wanted:?} there");
        let here = self
            .site
            .func
            .result(ours)
            .map_or_else(|| show::store(self.site.func, ours), |value| show::value(self.site.func, value));
        Err(self.differ(text, ours, here, theirs))
    }

    fn differ(&self, text: String, ours: Op, here: String, theirs: Op) -> Difference {
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

/// Are the two literals one number?
fn same_literal(a: &AttrData, b: &AttrData) -> bool {
    match (a, b) {
        (AttrData::Int(a, _), AttrData::Int(b, _)) => a == b,
        (AttrData::Float(a, _), AttrData::Float(b, _)) => a == b,
        (AttrData::Bool(a), AttrData::Bool(b)) => a == b,
        _ => false,
    }
}

fn literal(data: &AttrData) -> String {
    match data {
        AttrData::Int(value, _) => value.to_string(),
        AttrData::Float(bits, _) => format!("{:?}", f64::from_bits(*bits)),
        _ => "…".to_string(),
    }
}
