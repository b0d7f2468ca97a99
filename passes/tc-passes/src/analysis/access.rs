//! Accesses to memory that several threads can reach, with their indices as linear forms and the guards they stand under.

pub(crate) use super::form::{Footprint, Form};

use super::guards::Guards;
use super::launch::{Extent, Nest};
use super::rows::by_rows;
use super::uniform::Uniform;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tc_arith::{Expr, Interval, Var};
use tc_dialects::algebra::Algebra;
use tc_dialects::forms::is_global;
use tc_dialects::fragment::{Fragment, Layout, Use, tile, transfer};
use tc_dialects::scope::Scope;
use tc_dialects::tir;
use tc_dialects::update::{self, UpdateClass};
use tc_ir::opdef::Role;
use tc_ir::verify::has_flag;
use tc_ir::{Attr, Func, Op, Region, Type, TypeData, Value, effects, keys};

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
    /// What holds where it is executed.
    pub(crate) guards: Rc<Guards>,
    pub(crate) writes: bool,
    /// It is an atomic update, which does not conflict with others of its class.
    pub(crate) update: Option<UpdateClass>,
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
    /// The type of the view.
    pub(super) fn ty(self) -> Type {
        self.ty
    }

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
        // Of a view whose start is not known, only that it lies somewhere is known.
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
    pub(crate) fn is_same(self, other: Window) -> bool {
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
    pub(super) guards: FxHashMap<Region, Rc<Guards>>,
    /// How many points may still be tried where proofs end.
    pub(super) points_left: u64,
}

impl Access {
    /// Do the two touch memory of one buffer, as far as the place alone tells?
    pub(crate) fn may_share_memory(&self, other: &Access) -> bool {
        self.buffer == other.buffer
            && self.window.zip(other.window).is_none_or(|(window, others)| !window.is_apart(others))
    }

    /// Does the order of the two matter, where they touch one cell?
    pub(crate) fn conflicts(&self, other: &Access) -> bool {
        (self.writes || other.writes) && (self.update.is_none() || self.update != other.update)
    }

    /// Does the other touch the same cells of the same place, under the same guards?
    pub(crate) fn is_alike(&self, other: &Access) -> bool {
        (self.buffer, self.root, self.window) == (other.buffer, other.root, other.window)
            && (self.writes, self.update, self.by_warp, self.begun_before)
                == (other.writes, other.update, other.by_warp, other.begun_before)
            && self.index == other.index
            && (Rc::ptr_eq(&self.guards, &other.guards) || self.guards == other.guards)
    }

    /// Do equal indices of the two name one cell, and different ones different cells?
    pub(crate) fn is_comparable(&self, other: &Access) -> bool {
        let rows =
            |access: &Access| -> Vec<Option<Expr>> { access.index.iter().flatten().map(|form| form.row).collect() };
        let of_one_length = rows(self) == rows(other);
        // Indices of two buffers that may be one say nothing: where they begin is not known.
        of_one_length
            && self.root == other.root
            && match (self.window, other.window) {
                (None, None) => true,
                (Some(window), Some(others)) => window.is_same(others),
                _ => false,
            }
    }
}

impl<'f> NestFacts<'f> {
    /// Collects the facts of `nest`.
    pub(crate) fn new(func: &'f Func, nest: &Nest) -> NestFacts<'f> {
        let uniform = Uniform::of(func, nest);
        let mut facts = NestFacts {
            func,
            uniform,
            algebra: Algebra::of_func(func),
            coordinate_vars: [None; 6],
            substitutes: FxHashMap::default(),
            noalias: has_flag(func, func.header.attrs, keys::NOALIAS),
            injective: FxHashMap::default(),
            at_threads: FxHashMap::default(),
            guards: FxHashMap::default(),
            points_left: super::points::MAX_POINTS_OF_A_NEST,
            nest: nest.clone(),
        };
        facts.declare_loops();
        facts
    }

    /// The facts of `op` and what is inside where all loops count as loops that run in order, launch loops too.
    pub(crate) fn serial(func: &'f Func, op: Op) -> NestFacts<'f> {
        NestFacts::new(func, &Nest { op, loops: Vec::new(), extents: [Extent::One; 6] })
    }

    fn declare_loops(&mut self) {
        let func = self.func;
        self.algebra.enter_place(func, self.nest.op);
        for op in std::iter::once(self.nest.op).chain(self.nest.ops(func)) {
            if func.opcode(op) != tir::FOR {
                continue;
            }
            self.algebra.enter_loop(func, op);
            let Some(&(_, coordinate)) = self.nest.loops.iter().find(|of| of.0 == op) else { continue };
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
            let guards = func.region_of(op).map_or_else(Rc::default, |region| self.guards_in(region));
            let index = index.map(|forms| by_rows(self, &guards, forms));
            let by_warp = func.row(op).effect.convergent;
            let writes = access.writes();
            let update = update::class(func, op).filter(|_| writes);
            let begun_before = false;
            list.push(Access {
                op,
                buffer,
                root,
                window,
                index,
                guards,
                writes,
                update,
                global,
                by_warp,
                begun_before,
            });
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
        let footprint = match func.opcode(reference) {
            tir::REF if is_access || func.opcode(op) == tir::ATOMIC_RMW => Footprint::NONE,
            tir::REF => footprint_of(func, op, place)?,
            tir::REGION if !is_access && transfer(func, op).is_none() => {
                return self.region_index(reference);
            }
            _ => return None,
        };
        let mut forms = Vec::new();
        for &index in &func.operands(reference)[1..] {
            forms.push(self.form(index)?);
        }
        if let Some(last) = forms.last_mut().filter(|_| footprint != Footprint::NONE) {
            last.footprint = footprint;
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
            form.footprint = Footprint::row(length, 1);
            forms.push(form);
        }
        Some(forms)
    }
}

/// Does each thread have a buffer of its own, or each warp, whose threads use it together only?
pub(crate) fn is_private(func: &Func, buffer: Value) -> bool {
    Scope::of(func, buffer).is_some_and(|scope| scope == Scope::Local || scope.is_tile())
}

/// How far `op` reaches beyond the element that `place` refers to; `None` where that is not known.
fn footprint_of(func: &Func, op: Op, place: Value) -> Option<Footprint> {
    let (elem, shape, _) = tir::place_type(func, place)?;
    if shape.is_empty() && Fragment::of(func, elem).is_some() {
        return Some(Footprint::NONE);
    }
    // A tile in memory; its rows are found in a flat buffer only.
    let reference = func.def_op(place).filter(|&def| func.operands(def).len() == 2)?;
    let (_, dims, _) = func.as_shaped(func.value_type(func.operand(reference, 0)))?;
    let moved = transfer(func, op).filter(|moved| place == func.operand(op, moved.memory))?;
    let tile = tile(func, func.operand(op, moved.held)).filter(|_| dims.len() == 1)?;
    let is_turned = tile.part == Use::Accumulator && func.word_of(op, keys::LAYOUT) == Some(Layout::ColMajor.name());
    let (rows, cols) = if is_turned { (tile.image.1, tile.image.0) } else { tile.image };
    let stride = func.const_int(func.operand(op, moved.stride))?;
    (rows > 0 && cols > 0).then_some(Footprint([(rows, stride), (cols, 1)]))
}
