//! Accesses to memory that several threads can reach, with their indices as linear forms.

use super::caps::Cap;
use super::launch::Nest;
use super::rows::by_rows;
use super::uniform::{Uniform, is_global};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tc_arith::{BinaryOp, Expr, Interval, Node, Pool, Var};
use tc_dialects::algebra::Algebra;
use tc_dialects::fragment::{Fragment, Layout, Use, scope_use, tile};
use tc_dialects::tir::{self, LoopKind};
use tc_dialects::{arith, wmma};
use tc_ir::opdef::Role;
use tc_ir::verify::has_flag;
use tc_ir::{Attr, Func, Op, Region, Type, TypeData, Value, effects, keys};

/// What one access covers beside its first element: `step * i` for all `i` below `count`, in up to two directions. A
/// vector has one, a tile two: its rows, and the elements of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reach(pub(crate) [(i64, i64); 2]);

impl Reach {
    /// The first element alone.
    pub(crate) const NONE: Reach = Reach([(1, 0); 2]);

    /// `count` elements, `step` from one to the next.
    pub(crate) fn row(count: i64, step: i64) -> Reach {
        Reach([(count, step), (1, 0)])
    }

    /// How far it goes below the first element and above it; `None` where that is too far to tell.
    pub(super) fn span(self) -> Option<(i64, i64)> {
        self.0.iter().try_fold((0i64, 0i64), |(lo, hi), &(count, step)| {
            let last = step.checked_mul(count - 1)?;
            Some((lo.checked_add(last.min(0))?, hi.checked_add(last.max(0))?))
        })
    }
}

/// `sum of coef * atom + constant`, and how far the access reaches beyond it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    pub(crate) terms: Vec<(Expr, i64)>,
    pub(crate) constant: i64,
    /// How far the access goes beyond the sum.
    pub(crate) reach: Reach,
    /// The length of the rows in which this is a column: the dimension before says which row.
    pub(crate) row: Option<Expr>,
    /// What the conditions around the access say of parts of the sum.
    pub(crate) caps: Rc<[Cap]>,
}

/// One access of one op.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) op: Op,
    /// The buffer behind the place, or the class of buffers that may be one another.
    pub(crate) buffer: Value,
    /// For the reader of a message.
    pub(crate) root: Value,
    /// The part of the buffer that the place is, where it is a view.
    pub(crate) window: Option<Window>,
    /// One form a dimension; `None` where the cell is not known.
    pub(crate) index: Option<Vec<Form>>,
    pub(crate) writes: bool,
    pub(crate) global: bool,
    /// It is done by a warp together: which of its threads touches which cell is not known.
    pub(crate) by_warp: bool,
    /// It is a copy that was begun before and is there from here on: the index is that of an earlier iteration.
    pub(crate) begun_before: bool,
}

/// A view: which bytes of its base it covers, and how its indices are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    start: i64,
    /// Past the last byte; `None` where the size is not constant.
    end: Option<i64>,
    ty: Type,
    strides: Option<Attr>,
}

impl Window {
    /// The window that `place` is, seen from the buffer behind it; `None` where it is that buffer.
    fn of(func: &Func, place: Value) -> Option<Window> {
        let (mut at, mut first, mut start) = (place, None, Some(0i64));
        while let Some(op) = func.def_op(at) {
            if func.opcode(op) == tir::VIEW {
                first = first.or(Some(at));
                let offset = func.const_int(func.operand(op, 1));
                start = start.zip(offset).and_then(|(sum, offset)| sum.checked_add(offset));
            } else if !matches!(func.opcode(op), tir::REF | tir::REGION) {
                break;
            }
            at = func.operand(op, 0);
        }
        let view = first?;
        let size = tir::view_bytes(func, view);
        // Of a view that starts nobody knows where, only that it lies somewhere is known.
        let end = start.zip(size).and_then(|(start, size)| start.checked_add(size));
        let strides = func.buffer_attr(view, keys::STRIDES);
        Some(Window { start: start.unwrap_or(0), end, ty: func.value_type(view), strides })
    }

    /// Have the two no byte in common?
    pub(crate) fn is_apart(self, other: Window) -> bool {
        let before = |a: Window, b: Window| a.end.is_some_and(|end| end <= b.start) && b.end.is_some();
        before(self, other) || before(other, self)
    }

    /// Do equal indices name equal bytes, and different ones different bytes?
    pub(crate) fn is_alike(self, other: Window) -> bool {
        self == other && self.end.is_some()
    }
}

/// What is asked again and again of one launch nest.
pub(crate) struct NestFacts<'f> {
    pub(crate) func: &'f Func,
    pub(crate) nest: Nest,
    pub(crate) uniform: Uniform,
    pub(crate) algebra: Algebra,
    /// The variable that stands for a coordinate, whichever loop names it.
    pub(crate) coordinate_vars: [Option<Var>; 6],
    substitutes: FxHashMap<Var, Expr>,
    noalias: bool,
    /// Which lists of expressions tell points of which coordinates apart, as far as it was asked.
    pub(crate) injective: FxHashMap<(Vec<Expr>, Vec<Var>), bool>,
    /// The value of expressions in each thread of a block, as far as it was asked; `None` where there is no telling.
    pub(super) at_threads: FxHashMap<Expr, Option<Rc<[i64]>>>,
    /// What the conditions around a region say, as far as it was asked.
    pub(super) caps: FxHashMap<Region, Rc<[Cap]>>,
}

impl Access {
    /// Do the two touch memory of one buffer, as far as the place alone tells?
    pub(crate) fn may_meet(&self, other: &Access) -> bool {
        self.buffer == other.buffer
            && self.window.zip(other.window).is_none_or(|(window, others)| !window.is_apart(others))
    }

    /// Do equal indices of the two name one cell, and different ones different cells?
    pub(crate) fn is_comparable(&self, other: &Access) -> bool {
        let rows =
            |access: &Access| -> Vec<Option<Expr>> { access.index.iter().flatten().map(|form| form.row).collect() };
        let of_one_length = rows(self) == rows(other);
        of_one_length
            && match (self.window, other.window) {
                (None, None) => true,
                (Some(window), Some(others)) => window.is_alike(others),
                _ => false,
            }
    }
}

impl<'f> NestFacts<'f> {
    /// Collects the facts of the nest whose outermost launch loop is `op`.
    pub(crate) fn new(func: &'f Func, op: Op) -> NestFacts<'f> {
        let nest = Nest::of(func, op);
        let uniform = Uniform::of(func, &nest);
        let mut facts = NestFacts {
            func,
            uniform,
            algebra: Algebra::of_func(func),
            coordinate_vars: [None; 6],
            substitutes: FxHashMap::default(),
            noalias: has_flag(func, func.header.attrs, keys::NOALIAS),
            injective: FxHashMap::default(),
            at_threads: FxHashMap::default(),
            caps: FxHashMap::default(),
            nest,
        };
        facts.declare_loops();
        facts
    }

    fn declare_loops(&mut self) {
        let func = self.func;
        self.algebra.enter_place(func, self.nest.op);
        let inner = func.op_regions(self.nest.op).iter().flat_map(|&region| tc_ir::walk::ops_under(func, region));
        for op in std::iter::once(self.nest.op).chain(inner) {
            if func.opcode(op) != tir::FOR {
                continue;
            }
            self.algebra.enter_loop(func, op);
            let Some(LoopKind::Launch(coordinate)) = tir::loop_kind(func, op) else { continue };
            // Loops that start elsewhere are not the coordinate itself.
            if func.const_int(func.operand(op, 0)) != Some(0) {
                continue;
            }
            let var = Algebra::var(super::launch::loop_var(func, op));
            match self.coordinate_vars[coordinate.index()] {
                None => self.coordinate_vars[coordinate.index()] = Some(var),
                Some(first) => {
                    let first = self.algebra.analyzer.pool.var(first);
                    self.substitutes.insert(var, first);
                }
            }
        }
    }

    /// Are no two parameters one buffer?
    pub(crate) fn is_noalias(&self) -> bool {
        self.noalias
    }

    /// The expression of `value`, in which one variable stands for each coordinate.
    pub(crate) fn expr(&mut self, value: Value) -> Expr {
        let expr = self.algebra.expr(self.func, value);
        if self.substitutes.is_empty() {
            return expr;
        }
        let substitutes = &self.substitutes;
        self.algebra.analyzer.pool.subst_with(expr, &|var| substitutes.get(&var).copied())
    }

    /// The interval of `expr` by the ranges of loops and coordinates.
    pub(crate) fn bounds(&mut self, expr: Expr) -> Interval {
        let bounds = self.algebra.analyzer.bounds(expr);
        self.bounds_at_threads(expr).map_or(bounds, |exact| bounds.narrowed(exact))
    }

    /// The accesses of `op` itself to memory that more than one thread can reach.
    pub(crate) fn accesses(&mut self, op: Op) -> Vec<Access> {
        self.collect(op, false)
    }

    /// The accesses of `op` itself, those to what belongs to one thread included.
    pub(crate) fn all_accesses(&mut self, op: Op) -> Vec<Access> {
        self.collect(op, true)
    }

    fn collect(&mut self, op: Op, with_private: bool) -> Vec<Access> {
        let func = self.func;
        let mut list = Vec::new();
        for (place, access) in effects::accesses(func, op) {
            let root = effects::root_buffer(func, place);
            if func.as_shaped(func.value_type(root)).is_none() || (!with_private && is_private(func, root)) {
                continue;
            }
            let window = Window::of(func, place);
            let is_buffer = func.as_shaped(func.value_type(place)).is_some();
            let index = if is_buffer { self.index(op) } else { self.ref_index(op, place) };
            let global = is_global(func, root);
            let buffer = if global && !self.noalias { self.alias_class(root) } else { root };
            // Indices of buffers that may be one another say nothing.
            let mut index = index.filter(|_| buffer == root).map(|forms| by_rows(self, op, forms));
            for form in index.iter_mut().flatten() {
                form.caps = self.caps_of(op, form);
            }
            let by_warp = func.row(op).effect.convergent;
            let writes = access.writes();
            list.push(Access { op, buffer, root, window, index, writes, global, by_warp, begun_before: false });
        }
        list
    }

    /// Parameters may be one buffer unless the function says that they are not; what it allocates is its own.
    fn alias_class(&self, root: Value) -> Value {
        if self.func.def_op(root).is_some() {
            return root;
        }
        let global = self.func.params().iter().find(|&&param| is_global(self.func, param));
        let only = self.func.params().iter().filter(|&&param| is_global(self.func, param)).count() == 1;
        if only { root } else { *global.unwrap_or(&root) }
    }

    fn index(&mut self, op: Op) -> Option<Vec<Form>> {
        let operands = self.func.operands(op);
        let indices = match self.func.role(op) {
            Role::Load => &operands[1..],
            Role::Store => &operands[1..operands.len() - 1],
            _ => return None,
        };
        indices.iter().map(|&index| self.form(index)).collect()
    }

    /// What `op` touches by the reference `place`. A region is named as a whole; beyond the element that a reference
    /// names only those ops reach that are known here.
    fn ref_index(&mut self, op: Op, place: Value) -> Option<Vec<Form>> {
        let func = self.func;
        let reference = func.def_op(place)?;
        func.as_shaped(func.value_type(func.operand(reference, 0)))?;
        let is_access = matches!(func.role(op), Role::Load | Role::Store);
        let reach = match func.opcode(reference) {
            tir::REF if is_access => Reach::NONE,
            tir::REF => reach_of(func, op, place)?,
            tir::REGION if !is_access && !matches!(func.opcode(op), wmma::LOAD | wmma::STORE) => {
                return self.region_index(reference);
            }
            _ => return None,
        };
        let mut forms = Vec::new();
        for &index in &func.operands(reference)[1..] {
            forms.push(self.form(index)?);
        }
        if let Some(last) = forms.last_mut().filter(|_| reach != Reach::NONE) {
            last.reach = reach;
        }
        if is_access {
            forms.extend(self.index(op)?);
        }
        Some(forms)
    }

    fn region_index(&mut self, region: Op) -> Option<Vec<Form>> {
        let func = self.func;
        let TypeData::Ref { shape, .. } = func.type_data(func.value_type(func.result(region)?)) else { return None };
        let starts = &func.operands(region)[1..];
        if starts.len() != shape.len() {
            return None;
        }
        let mut forms = Vec::new();
        for (&start, &length) in starts.iter().zip(shape) {
            let length = func.as_int(length).filter(|&length| length > 0)?;
            let mut form = self.form(start)?;
            form.reach = Reach::row(length, 1);
            forms.push(form);
        }
        Some(forms)
    }

    /// The index `value`, which may be a vector.
    pub(crate) fn form(&mut self, value: Value) -> Option<Form> {
        let func = self.func;
        let scalar = func.value_scalar(value)?;
        if scalar.lanes == 1 {
            let expr = self.expr(value);
            return Some(self.form_of(expr, Reach::NONE));
        }
        let op = func.def_op(value).filter(|&op| func.opcode(op) == arith::RAMP)?;
        let stride = func.const_int(func.operand(op, 1))?;
        let base = self.expr(func.operand(op, 0));
        Some(self.form_of(base, Reach::row(i64::from(scalar.lanes), stride)))
    }

    pub(super) fn form_of(&mut self, expr: Expr, reach: Reach) -> Form {
        let blank = Form { terms: Vec::new(), constant: 0, reach, row: None, caps: Rc::default() };
        let (mut form, pool) = (blank.clone(), &self.algebra.analyzer.pool);
        let plain = linear(pool, expr, 1, &mut form).is_some()
            && form.terms.iter().all(|&(atom, _)| matches!(pool.node(atom), Node::Var(_)));
        // Multiples of variables are as plain as they get.
        if !plain {
            let expr = self.algebra.analyzer.simplify(expr);
            form = blank.clone();
            if linear(&self.algebra.analyzer.pool, expr, 1, &mut form).is_none() {
                form = Form { terms: vec![(expr, 1)], ..blank };
            }
        }
        self.join_threads(&mut form);
        form
    }

    /// Joins terms over the same coordinates, where one of them is no plain multiple: `tx + tx / 8 * 16` tells the
    /// thread as a whole and not term by term, as `tx / 4 * 32 + tx % 4 * 2` does.
    fn join_threads(&mut self, form: &mut Form) {
        let pool = &mut self.algebra.analyzer.pool;
        let of_threads = |pool: &Pool, atom: Expr| {
            let vars = pool.vars(atom);
            (!vars.is_empty() && vars.iter().all(|&var| self.coordinate_vars.contains(&Some(var)))).then_some(vars)
        };
        let Some(at) = form
            .terms
            .iter()
            .position(|&(atom, _)| !matches!(pool.node(atom), Node::Var(_)) && of_threads(pool, atom).is_some())
        else {
            return;
        };
        let vars = of_threads(pool, form.terms[at].0).unwrap_or_default();
        let fits = |pool: &Pool, atom: Expr| {
            of_threads(pool, atom).is_some_and(|own| own.iter().all(|var| vars.contains(var)))
        };
        let (mut joined, rest): (Vec<_>, Vec<_>) = form.terms.iter().copied().partition(|&(atom, _)| fits(pool, atom));
        if joined.len() < 2 {
            return;
        }
        if let Some(mut digits) = self.digits(&joined) {
            form.terms = rest;
            form.terms.append(&mut digits);
            return;
        }
        let pool = &mut self.algebra.analyzer.pool;
        // In one order, so that two forms that have the same terms get one expression.
        joined.sort_unstable();
        let divisor = joined.iter().fold(0i64, |g, &(_, coef)| gcd(g, coef)).max(1);
        let mut sum = pool.int(0);
        for (atom, coef) in joined {
            let factor = pool.int(coef / divisor);
            let term = pool.mul(atom, factor);
            sum = pool.add(sum, term);
        }
        form.terms = rest;
        form.terms.push((sum, divisor));
    }

    /// The sum as one of digits: `tx * 8 - tx % 4 * 6` is `tx / 4 * 32 + tx % 4 * 2`.
    fn digits(&mut self, terms: &[(Expr, i64)]) -> Option<Vec<(Expr, i64)>> {
        if self.are_digits(terms) {
            return Some(terms.to_vec());
        }
        let pool = &self.algebra.analyzer.pool;
        let (var, factor) = *terms.iter().find(|&&(atom, _)| matches!(pool.node(atom), Node::Var(_)))?;
        let divided = terms.iter().find_map(|&(atom, _)| match pool.node(atom) {
            Node::Binary(BinaryOp::FloorMod | BinaryOp::FloorDiv, number, divisor) if number == var => Some(divisor),
            _ => None,
        })?;
        let by = pool.as_const(divided).filter(|&by| by > 0)?;
        let pool = &mut self.algebra.analyzer.pool;
        let parts = [(pool.floor_div(var, divided), factor.checked_mul(by)?), (pool.floor_mod(var, divided), factor)];
        let mut new: Vec<(Expr, i64)> = terms.iter().copied().filter(|&(atom, _)| atom != var).collect();
        for (atom, coef) in parts {
            match new.iter_mut().find(|(other, _)| *other == atom) {
                Some((_, sum)) => *sum = sum.checked_add(coef)?,
                None => new.push((atom, coef)),
            }
        }
        new.retain(|&(_, coef)| coef != 0);
        self.are_digits(&new).then_some(new)
    }

    /// Is each coefficient greater than all that the terms with smaller ones can differ by? Then equal sums have equal
    /// terms.
    fn are_digits(&mut self, terms: &[(Expr, i64)]) -> bool {
        let mut terms = terms.to_vec();
        terms.sort_by_key(|&(_, coef)| coef.unsigned_abs());
        let mut below = 0u64;
        terms.into_iter().all(|(atom, coef)| {
            let width = self.bounds(atom).count().map(|count| count.saturating_sub(1));
            let is_above = coef.unsigned_abs() > below;
            below = width.map_or(u64::MAX, |width| below.saturating_add(width.saturating_mul(coef.unsigned_abs())));
            is_above
        })
    }
}

/// Does each thread have a buffer of its own, or each warp, whose threads use it together only?
pub(crate) fn is_private(func: &Func, buffer: Value) -> bool {
    let scope = func.as_shaped(func.value_type(buffer)).and_then(|(_, _, scope)| scope);
    scope.is_some_and(|scope| scope == keys::LOCAL || scope_use(func.text(scope)).is_some())
}

/// How far `op` reaches beyond the element that `place` refers to; `None` where that is not known.
fn reach_of(func: &Func, op: Op, place: Value) -> Option<Reach> {
    let (elem, shape, _) = tir::place_type(func, place)?;
    if shape.is_empty() && Fragment::of(func, elem).is_some() {
        return Some(Reach::NONE);
    }
    // A tile in memory; its rows are found in a flat buffer only.
    let reference = func.def_op(place).filter(|&def| func.operands(def).len() == 2)?;
    let (_, dims, _) = func.as_shaped(func.value_type(func.operand(reference, 0)))?;
    let other = match func.opcode(op) {
        wmma::LOAD if place == func.operand(op, 1) => func.operand(op, 0),
        wmma::STORE if place == func.operand(op, 0) => func.operand(op, 1),
        _ => return None,
    };
    let tile = tile(func, other).filter(|_| dims.len() == 1)?;
    let is_turned = tile.part == Use::Accumulator && func.word_of(op, keys::LAYOUT) == Some(Layout::ColMajor.name());
    let (rows, cols) = if is_turned { (tile.image.1, tile.image.0) } else { tile.image };
    let stride = func.const_int(func.operand(op, 2))?;
    (rows > 0 && cols > 0).then_some(Reach([(rows, stride), (cols, 1)]))
}

/// Adds `factor * expr` to `form`; `None` on overflow.
pub(super) fn linear(pool: &Pool, expr: Expr, factor: i64, form: &mut Form) -> Option<()> {
    let mut pending = vec![(expr, factor)];
    while let Some((expr, factor)) = pending.pop() {
        match pool.node(expr) {
            Node::Const(value) => form.constant = form.constant.checked_add(value.checked_mul(factor)?)?,
            Node::Binary(BinaryOp::Add, a, b) => pending.extend([(b, factor), (a, factor)]),
            Node::Binary(BinaryOp::Sub, a, b) => pending.extend([(b, factor.checked_neg()?), (a, factor)]),
            Node::Binary(BinaryOp::Mul, a, b) if pool.as_const(b).is_some() => {
                pending.push((a, factor.checked_mul(pool.as_const(b)?)?));
            }
            _ => match form.terms.iter_mut().find(|(atom, _)| *atom == expr) {
                Some((_, coef)) => *coef = coef.checked_add(factor)?,
                None => form.terms.push((expr, factor)),
            },
        }
    }
    form.terms.retain(|&(_, coef)| coef != 0);
    Some(())
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}
