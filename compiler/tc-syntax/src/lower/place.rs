//! Places: loads, stores, references.

use super::state::Lower;
use crate::tree::{ExprId, ExprKind, List, Slice, Tail, TextRange};
use tc_ir::attrs::AttrData;
use tc_ir::builder::OpSpec;
use tc_ir::opdef::{Context, Role};
use tc_ir::{Attr, Attrs, Op, Opcode, Scalar, Type, TypeData, Value, keys};
use tc_support::{counted, suggest};

impl<'a> Lower<'a> {
    /// The tensor, buffer or reference called by the name at `range`.
    fn place_named(&mut self, range: TextRange) -> Option<Value> {
        let name = self.text(range);
        let Some(value) = self.lookup(name) else {
            self.unknown_name(range, name);
            return None;
        };
        if !self.is_place(value) {
            let ty = self.func.show_type(self.func.value_type(value));
            let shown = suggest::shorten(name);
            self.error(range, "type", format!("`{shown}` is `{ty}`, which has no elements"));
            return None;
        }
        Some(value)
    }

    fn is_place(&self, value: Value) -> bool {
        matches!(self.func.type_data(self.func.value_type(value)), TypeData::Shaped { .. } | TypeData::Ref { .. })
    }

    /// The indices of an access; a slice with a colon is none.
    fn indices(&mut self, slices: List<Slice>) -> Option<Vec<Value>> {
        let mut indices = Vec::with_capacity(slices.len());
        let mut failed = false;
        for &slice in &self.tree[slices] {
            if slice.second.is_some() {
                self.error(slice.range, "place", "a region is no index; `&A[i : n]` refers to one");
                failed = true;
                continue;
            }
            match self.index_expr(slice.first) {
                Some(index) => indices.push(index),
                None => failed = true,
            }
        }
        (!failed).then_some(indices)
    }

    /// `A[i, j]` in an expression.
    pub(super) fn load(&mut self, expr: ExprId) -> Option<Value> {
        let ExprKind::Index { slices, .. } = self.tree[expr].kind else { return None };
        let place = self.place_named(self.tree.name(expr))?;
        let mut operands = vec![place];
        operands.extend(self.indices(slices)?);
        // An operator reads tensors; in what stands for an intrinsic its operands are buffers.
        let scope = match self.func.type_data(self.func.value_type(place)) {
            TypeData::Shaped { scope, .. } => *scope,
            _ => None,
        };
        let reads = self.in_compute() || (scope.is_none() && !self.in_program_block());
        let opcode = if self.context == Context::Te && reads { self.sugar.read } else { self.sugar.load };
        let loc = self.expr_loc(expr);
        match self.func.infer_type(opcode, &operands, Attrs::EMPTY) {
            Ok(ty) => Some(self.emit_value(loc, opcode, &operands, Attrs::EMPTY, ty)),
            Err(reason) => {
                self.error(self.tree[expr].range, "type", reason);
                None
            }
        }
    }

    /// Is the current region inside a `compute`?
    fn in_compute(&self) -> bool {
        let mut parent = self.func.region_parent(self.region);
        while let Some(op) = parent {
            if self.func.role(op) == Role::Compute {
                return true;
            }
            parent = self.func.parent_op(op);
        }
        false
    }

    /// `&A[i, j]`, `&A[i : n]`, `&A`.
    pub(super) fn reference(&mut self, expr: ExprId, place: ExprId) -> Option<Value> {
        let range = self.tree[place].range;
        let loc = self.expr_loc(expr);
        let (buffer, slices) = match self.tree[place].kind {
            ExprKind::Path => (self.place_named(range)?, List::EMPTY),
            ExprKind::Index { slices, .. } => (self.place_named(self.tree.name(place))?, slices),
            _ => {
                self.error(range, "place", "`&` takes a place, such as `&A[i]`");
                return None;
            }
        };
        let is_region = self.tree[slices].iter().any(|slice| slice.second.is_some());
        let role = if is_region { Role::RefRegion } else { Role::RefElement };
        let opcode = self.opcode_for(role, range)?;
        let mut operands = vec![buffer];
        let mut attrs = Attrs::EMPTY;
        if is_region {
            let mut lengths: Vec<Attr> = Vec::new();
            for &slice in &self.tree[slices] {
                operands.push(self.index_expr(slice.first)?);
                let length = match slice.second {
                    Some(length) => self.attr_expr(length)?,
                    None => self.func.int_attr(1),
                };
                if let Some(high) = slice.third {
                    self.error(self.tree[high].range, "place", "a region is `start : length`");
                    return None;
                }
                lengths.push(length);
            }
            let lengths = self.func.attr(AttrData::List(lengths.into()));
            let key = self.func.name("lengths");
            attrs = self.func.dict(&[(key, lengths)]);
        } else {
            operands.extend(self.indices(slices)?);
        }
        match self.func.infer_type(opcode, &operands, attrs) {
            Ok(ty) => Some(self.emit_value(loc, opcode, &operands, attrs, ty)),
            Err(reason) => {
                self.error(range, "type", reason);
                None
            }
        }
    }

    /// The operand of an op that takes a place: a bare name is a reference to all of it.
    pub(super) fn place_operand(&mut self, expr: ExprId) -> Option<Value> {
        match self.tree[expr].kind {
            ExprKind::Path => self.place_named(self.tree[expr].range),
            ExprKind::Ref(_) => self.expr(expr, None),
            ExprKind::Index { .. } => {
                let text = self.text(self.tree[expr].range);
                let help = Some(format!("a place is not a load: write `&{}`", suggest::shorten(text)));
                self.error_with(self.tree[expr].range, "place", "this op takes a place, not a value".to_string(), help);
                None
            }
            _ => {
                self.error(self.tree[expr].range, "place", "this op takes a place, such as `A` or `&A[i]`");
                None
            }
        }
    }

    /// `A[i] = e`.
    pub(super) fn store(&mut self, range: TextRange, place: ExprId, value: ExprId, tail: Option<Tail>) -> Option<()> {
        let ExprKind::Index { slices, .. } = self.tree[place].kind else { return None };
        let buffer = self.place_named(self.tree.name(place))?;
        if self.context != Context::Tir && !self.in_program_block() {
            self.error(range, "place", "only a program stores; an operator says `compute`");
            return None;
        }
        let indices = self.indices(slices)?;
        let rank = match self.func.type_data(self.func.value_type(buffer)) {
            TypeData::Shaped { shape, .. } | TypeData::Ref { shape, .. } => shape.len(),
            _ => indices.len(),
        };
        if rank != indices.len() {
            let name = suggest::shorten(self.func.value_text(buffer));
            self.error(
                self.tree[place].range,
                "rank",
                format!("`{name}` has {}, not {}", counted(rank, "dimension"), indices.len()),
            );
            return None;
        }
        let expected = self.stored_type(buffer, &indices);
        let value = self.expr(value, expected)?;
        let mut operands = vec![buffer];
        operands.extend(indices);
        operands.push(value);
        let opcode = self.sugar.store;
        let (attrs, loc) = self.tail(tail, range);
        self.emit(loc, OpSpec { opcode, operands: &operands, keyed: 0, attrs, results: &[], n_regions: 0 });
        Some(())
    }

    /// Are we inside the program of an intrinsic?
    pub(super) fn in_program_block(&self) -> bool {
        let mut parent = self.func.region_parent(self.region);
        while let Some(op) = parent {
            if self.func.role(op) == Role::Block {
                return true;
            }
            parent = self.func.parent_op(op);
        }
        false
    }

    /// The type of what is stored to `buffer` at `indices`.
    fn stored_type(&mut self, buffer: Value, indices: &[Value]) -> Option<Type> {
        let elem = match self.func.type_data(self.func.value_type(buffer)) {
            TypeData::Shaped { elem, .. } | TypeData::Ref { elem, .. } => *elem,
            _ => return None,
        };
        let lanes = indices.last().and_then(|&index| self.func.value_scalar(index)).map_or(1, |scalar| scalar.lanes);
        match self.func.as_scalar(elem) {
            Some(Scalar { elem, lanes: 1 }) if lanes > 1 => Some(self.func.scalar_ty(Scalar { elem, lanes })),
            _ => Some(elem),
        }
    }

    /// `alloc A: f32[64] in shared`.
    pub(super) fn alloc(
        &mut self,
        range: TextRange,
        name: TextRange,
        ty: crate::tree::Id<crate::tree::Type>,
        scope: TextRange,
        tail: Option<Tail>,
    ) -> Option<()> {
        let opcode = self.opcode_for(Role::Alloc, range)?;
        let scope = self.func.name(self.text(scope));
        let ty = self.declared_type(ty, Some(scope))?;
        let (attrs, loc) = self.tail(tail, range);
        let op = self.emit(loc, OpSpec { opcode, operands: &[], keyed: 0, attrs, results: &[ty], n_regions: 0 });
        self.bind_result(op, name);
        Some(())
    }

    /// Binds a name to the one result of `op`.
    pub(super) fn bind_result(&mut self, op: Op, name: TextRange) {
        if let Some(value) = self.func.result(op) {
            self.bind(name, value);
        }
    }

    /// The op behind `role` here.
    pub(super) fn opcode_for(&mut self, role: Role, range: TextRange) -> Option<Opcode> {
        let found = self
            .func
            .registry()
            .by_role(self.context, role)
            .or_else(|| self.func.registry().by_role(Context::Tir, role));
        if found.is_none() {
            self.error(range, "context", "this cannot stand here");
        }
        found
    }

    /// Attributes and location that trail a statement.
    pub(super) fn tail(&mut self, tail: Option<Tail>, range: TextRange) -> (Attrs, tc_ir::Loc) {
        let Some(tail) = tail else { return (Attrs::EMPTY, self.loc(range)) };
        let attrs = self.op_attrs(tail.attrs);
        let loc = match tail.loc {
            Some(loc) => self.written_loc(self.tree[loc]),
            None => self.loc(range),
        };
        (attrs, loc)
    }

    /// The location of the directive that made a statement, where it is written.
    pub(super) fn written_directive(&mut self, tail: Option<Tail>) -> tc_ir::Loc {
        let directive = tail.and_then(|tail| tail.directive);
        directive.map_or(tc_ir::Loc::NONE, |loc| self.written_loc(self.tree[loc]))
    }

    /// `attrs` behind those of `first`; a key given twice is an error.
    pub(super) fn join_attrs(&mut self, range: TextRange, first: &[(tc_ir::Name, Attr)], attrs: Attrs) -> Attrs {
        let mut entries = first.to_vec();
        for (key, value) in self.func.entries(attrs).to_vec() {
            if entries.iter().any(|(name, _)| *name == key) {
                let text = suggest::shorten(self.func.text(key));
                self.error(range, "attribute", format!("attribute `{text}` is given twice"));
            } else {
                entries.push((key, value));
            }
        }
        self.func.dict(&entries)
    }

    /// The attribute that says which launch coordinate, by name.
    pub(super) fn axis_attr(&mut self, name: &str) -> (tc_ir::Name, Attr) {
        let attr = self.func.str_attr(name);
        (keys::AXIS, attr)
    }
}
