//! Buffers, views, loads and stores.

use super::state::{Known, Reader, integer};
use super::types::{self, BufferType, Known as KnownType};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, ValueLike};
use tc_dialects::scope::Scope;
use tc_dialects::tir;
use tc_ir::{Attr, Elem, Name, Scalar, TypeData, Value, keys};

/// The help where a buffer is made in a way that programs have not.
const HELP: &str =
    "buffers are parameters, `memref.alloca` at the head, workgroup buffers of the kernel, or views of bytes";

/// Kinds of `memref.atomic_rmw` by MLIR's number: ours, and whether the numbers have no sign.
const UPDATES: &[(i64, &str, bool)] = &[
    (0, "add", false),
    (1, "add", false),
    (2, "and", false),
    (6, "max", false),
    (7, "max", true),
    (10, "min", false),
    (11, "min", true),
    (14, "or", false),
    (15, "xor", false),
];

impl Reader<'_> {
    /// An op of memory, if `name` is one.
    pub(crate) fn memory(&mut self, op: OperationRef<'_, '_>, name: &str) -> bool {
        match name {
            "memref.load" | "vector.load" => self.load(op),
            "memref.store" | "vector.store" => self.store(op),
            "memref.alloca" => self.alloca(op),
            "memref.view" => self.view(op),
            "memref.reinterpret_cast" => self.reinterpret(op),
            "memref.get_global" => self.get_global(op),
            "memref.memory_space_cast" | "memref.assume_alignment" => {
                let known = self.operand(op, 0);
                self.give(op, known);
            }
            "memref.dim" => self.dim(op),
            "memref.atomic_rmw" => self.update(op),
            _ => return false,
        }
        true
    }

    /// The indices of an access from operand `first` on; without any, the one element.
    fn indices(&mut self, op: OperationRef<'_, '_>, first: usize) -> Option<Vec<Value>> {
        let found: Vec<Option<Value>> = (first..op.operand_count()).map(|nth| self.number(op, nth)).collect();
        let mut found: Vec<Value> = found.into_iter().collect::<Option<_>>()?;
        if found.is_empty() {
            found.push(self.builder(op).index(0));
        }
        Some(found)
    }

    /// The last index becomes those of `lanes` neighbours.
    fn widened(&mut self, op: OperationRef<'_, '_>, indices: &mut [Value], lanes: u16) -> Option<()> {
        if lanes > 1
            && let Some(last) = indices.last_mut()
        {
            *last = self.neighbours(op, *last, lanes)?;
        }
        Some(())
    }

    /// How far the text says that an access of `scalar` is aligned.
    fn alignment(&mut self, op: OperationRef<'_, '_>) -> Vec<(Name, Attr)> {
        match integer(op, "alignment") {
            Some(bytes) if bytes > 0 => vec![(keys::ALIGNED, self.func.int_attr(bytes))],
            _ => Vec::new(),
        }
    }

    /// An index counts numbers, and the elements of `buffer` may be vectors: the index of the element.
    fn element_index(
        &mut self,
        op: OperationRef<'_, '_>,
        buffer: Value,
        scalar: Scalar,
        indices: &mut [Value],
    ) -> Option<()> {
        let elem =
            self.func.as_shaped(self.func.value_type(buffer)).and_then(|(elem, ..)| self.func.as_scalar(elem))?;
        let stored = op.operands().find_map(|operand| match types::known(operand.r#type()) {
            KnownType::Buffer(ty) => Some(ty.elem),
            _ => None,
        });
        if stored == Some(elem) || elem.lanes == 1 {
            return Some(());
        }
        let last = indices.last_mut()?;
        let whole = match self.func.def_op(*last).filter(|&made| self.func.opcode(made) == tc_dialects::arith::MUL) {
            Some(made) if self.func.const_int(self.func.operand(made, 1)) == Some(elem.lanes.into()) => {
                Some(self.func.operand(made, 0))
            }
            _ => None,
        };
        let number = self.func.const_int(*last).filter(|number| number % i64::from(elem.lanes) == 0);
        *last = match (whole, number) {
            _ if scalar.lanes != elem.lanes => None,
            (Some(whole), _) => Some(whole),
            (None, Some(number)) => Some(self.builder(op).index(number / i64::from(elem.lanes))),
            _ => None,
        }
        .or_else(|| {
            self.refuse(op, "a part of an element that is a vector has no counterpart", "access whole elements");
            None
        })?;
        Some(())
    }

    /// Lanes that a `vector.load` or `vector.store` of `scalar` needs of a buffer, whose elements may be vectors themselves.
    fn lanes_beside(&self, buffer: Value, scalar: Scalar) -> u16 {
        let of = self.func.as_shaped(self.func.value_type(buffer)).and_then(|(elem, ..)| self.func.as_scalar(elem));
        if of.is_some_and(|of| of.lanes == scalar.lanes) { 1 } else { scalar.lanes }
    }

    fn load(&mut self, op: OperationRef<'_, '_>) {
        let made = self.result_type(op, 0).and_then(|scalar| {
            let (buffer, indices) = (self.buffer(op, 0), self.indices(op, 1));
            let (buffer, mut indices) = (buffer?, indices?);
            self.element_index(op, buffer, scalar, &mut indices)?;
            let lanes = self.lanes_beside(buffer, scalar);
            self.widened(op, &mut indices, lanes)?;
            let attrs = if lanes > 1 { self.alignment(op) } else { Vec::new() };
            indices.insert(0, buffer);
            self.infer(op, tir::LOAD, &indices, &attrs)
        });
        self.give_value(op, made);
    }

    fn store(&mut self, op: OperationRef<'_, '_>) {
        if let Known::Register(made, nth) = self.operand(op, 0) {
            let (buffer, indices) = (self.buffer(op, 1), self.indices(op, 2));
            let (Some(buffer), Some(&[index])) = (buffer, indices.as_deref()) else { return self.lost(op) };
            return self.put(op, (made, nth), buffer, index);
        }
        let (value, buffer, indices) = (self.number(op, 0), self.buffer(op, 1), self.indices(op, 2));
        let (Some(value), Some(buffer), Some(mut indices)) = (value, buffer, indices) else { return self.lost(op) };
        let scalar = self.scalar(value);
        if self.element_index(op, buffer, scalar, &mut indices).is_none() {
            return;
        }
        let lanes = self.lanes_beside(buffer, scalar);
        if self.widened(op, &mut indices, lanes).is_none() {
            return;
        }
        let attrs = if lanes > 1 { self.alignment(op) } else { Vec::new() };
        let value = self.stored(op, value, buffer);
        indices.insert(0, buffer);
        indices.push(value);
        self.make(op, tir::STORE, &indices, &attrs, &[], 0);
    }

    /// `value` as an element of `buffer`. The byte that a truth value was made is that value again.
    fn stored(&mut self, op: OperationRef<'_, '_>, value: Value, buffer: Value) -> Value {
        let elem = self.func.as_shaped(self.func.value_type(buffer)).and_then(|(elem, ..)| self.func.as_scalar(elem));
        let Some(elem) = elem.map(|scalar| scalar.elem) else { return value };
        if elem == Elem::Bool
            && let Some(made) =
                self.func.def_op(value).filter(|&made| self.func.opcode(made) == tc_dialects::arith::CAST)
            && self.scalar(self.func.operand(made, 0)).elem == Elem::Bool
        {
            return self.func.operand(made, 0);
        }
        self.as_elem(op, value, elem)
    }

    /// The type of `buffer`'s elements.
    fn elem_of(&self, buffer: Value) -> Elem {
        let elem = self.func.as_shaped(self.func.value_type(buffer)).and_then(|(elem, ..)| self.func.as_scalar(elem));
        elem.map_or(Elem::I32, |scalar| scalar.elem)
    }

    /// Makes a buffer, which its own thread or block has.
    pub(crate) fn alloc(&mut self, op: OperationRef<'_, '_>, ty: &BufferType, align: Option<i64>) -> Option<Value> {
        if ty.has_layout || ty.shape.contains(&None) {
            let text = "a buffer on the chip has literal extents, and lies row after row";
            self.refuse(op, text, "write the extents as numbers, and add strides to the indices");
            return None;
        }
        let mut shape: Vec<Attr> = Vec::new();
        for extent in ty.shape.iter().flatten() {
            shape.push(self.func.int_attr(*extent));
        }
        if shape.is_empty() {
            shape.push(self.func.int_attr(1));
        }
        let (elem, scope) = (self.func.scalar_ty(ty.elem), Some(self.func.name(ty.scope)));
        let ty = self.func.ty(TypeData::Shaped { elem, shape: shape.into(), scope });
        let attrs: Vec<(Name, Attr)> = align
            .filter(|&align| align > 0)
            .map(|align| (keys::ALIGN, self.func.int_attr(align)))
            .into_iter()
            .collect();
        let made = self.make(op, tir::ALLOC, &[], &attrs, &[ty], 0);
        self.func.result(made)
    }

    fn buffer_type(&mut self, op: OperationRef<'_, '_>) -> Option<BufferType> {
        match types::known(op.result(0).ok()?.r#type()) {
            KnownType::Buffer(ty) => Some(ty),
            _ => {
                self.refuse(op, "this buffer has no counterpart", HELP);
                None
            }
        }
    }

    fn alloca(&mut self, op: OperationRef<'_, '_>) {
        let align = integer(op, "alignment");
        let made = self.buffer_type(op).and_then(|ty| {
            // What is made in a kernel is its thread's own, whatever the space is called.
            let scope = if ty.scope == "global" { "local" } else { ty.scope };
            self.alloc(op, &BufferType { scope, ..ty }, align)
        });
        self.give(op, made.map_or(Known::Missing, Known::Buffer));
    }

    /// Does `buffer` have the elements and the extents of `ty`?
    pub(crate) fn is_alike(&self, buffer: Value, ty: &BufferType) -> bool {
        let Some((elem, shape, _)) = self.func.as_shaped(self.func.value_type(buffer)) else { return false };
        let Some(elem) = self.func.as_scalar(elem) else { return false };
        let extents: Vec<Option<i64>> = shape.iter().map(|&extent| self.func.as_int(extent)).collect();
        let n = |extents: &[Option<i64>]| extents.iter().try_fold(1i64, |n, &extent| n.checked_mul(extent?));
        let all = n(&extents);
        let numbers = all.and_then(|n| n.checked_mul(elem.lanes.into()));
        crate::types::stored(elem.elem) == crate::types::number(ty.elem.elem)
            && (ty.shape == [None] || numbers == n(&ty.shape))
    }

    /// `memref.view`: a buffer in the bytes of another one.
    fn view(&mut self, op: OperationRef<'_, '_>) {
        let Some(ty) = self.buffer_type(op) else { return self.give(op, Known::Missing) };
        let offset = self.number(op, 1).and_then(|offset| self.func.const_int(offset));
        let base = match self.operand(op, 0) {
            Known::Dynamic => match self.dynamic {
                Some(base) => Some(base),
                None => return self.open_dynamic(op, &ty, offset),
            },
            Known::Buffer(base) => Some(base),
            _ => None,
        };
        let Some(base) = base else { return self.give(op, Known::Missing) };
        if offset == Some(0) && self.is_alike(base, &ty) {
            return self.give(op, Known::Buffer(base));
        }
        let Some(offset) = offset else {
            let help = "make one view, and add what varies to its indices";
            self.refuse(op, "the offset of a view is a literal number of bytes", help);
            return self.give(op, Known::Missing);
        };
        let made = self.view_of(op, base, &ty, offset);
        self.give(op, made.map_or(Known::Missing, Known::Buffer));
    }

    fn view_of(&mut self, op: OperationRef<'_, '_>, base: Value, ty: &BufferType, offset: i64) -> Option<Value> {
        let scope = self.func.as_shaped(self.func.value_type(base)).and_then(|(_, _, scope)| scope);
        let elem = self.func.scalar_ty(ty.elem);
        let mut shape: Vec<Attr> = Vec::new();
        for extent in &ty.shape {
            let Some(extent) = extent else {
                self.refuse(op, "a view has literal extents", "write them as numbers");
                return None;
            };
            shape.push(self.func.int_attr(*extent));
        }
        let ty = self.func.ty(TypeData::Shaped { elem, shape: shape.into(), scope });
        let offset = self.builder(op).int(offset, Elem::I32);
        let made = self.make(op, tir::VIEW, &[base, offset], &[], &[ty], 0);
        self.func.result(made)
    }

    /// The first view of dynamic shared memory covers all of it.
    fn open_dynamic(&mut self, op: OperationRef<'_, '_>, ty: &BufferType, offset: Option<i64>) {
        if offset != Some(0) {
            let help = "let the first view in the kernel start at 0, and cover all that the kernel uses";
            self.refuse(op, "how much dynamic shared memory there is is not known", help);
            return self.give(op, Known::Missing);
        }
        let Some(scope) = Scope::ALL.iter().find(|scope| scope.is_sized_by_launch()) else { return self.lost(op) };
        let made = self.alloc(op, &BufferType { scope: scope.name(), ..ty.clone() }, None);
        self.dynamic = made;
        self.give(op, made.map_or(Known::Missing, Known::Buffer));
    }

    /// A parameter with open extents, which get to be known in the kernel, is the parameter.
    fn reinterpret(&mut self, op: OperationRef<'_, '_>) {
        let base = self.buffer(op, 0);
        let is_whole = base.is_some_and(|base| {
            let is_param = self.func.params().contains(&base);
            let zeros = super::state::attribute(op, "static_offsets").is_some_and(|text| text == "array<i64: 0>");
            let ones = super::state::attribute(op, "static_strides").is_some_and(|text| text == "array<i64: 1>");
            let is_alike = match op.result(0).map(|result| types::known(result.r#type())) {
                Ok(KnownType::Buffer(ty)) => self.is_alike(base, &ty),
                _ => false,
            };
            is_param && zeros && ones && is_alike
        });
        if !is_whole && base.is_some() {
            self.refuse(op, "a buffer seen with other extents has no counterpart", HELP);
        }
        self.give(op, base.filter(|_| is_whole).map_or(Known::Missing, Known::Buffer));
    }

    /// The dynamic shared memory is a symbol of no size.
    fn get_global(&mut self, op: OperationRef<'_, '_>) {
        let is_dynamic = op.result(0).is_ok_and(|result| {
            matches!(types::known(result.r#type()), KnownType::Buffer(ty) if ty.scope == "shared" && ty.shape == [Some(0)])
        });
        if !is_dynamic {
            self.refuse(op, "a global variable has no counterpart", HELP);
            return self.give(op, Known::Missing);
        }
        self.give(op, Known::Dynamic);
    }

    /// `memref.dim`: an extent, a literal or a size of the program.
    fn dim(&mut self, op: OperationRef<'_, '_>) {
        let dim = self.number(op, 1).and_then(|dim| self.func.const_int(dim));
        let made = self.buffer(op, 0).and_then(|buffer| {
            let (_, shape, _) = self.func.as_shaped(self.func.value_type(buffer))?;
            let extent = *shape.get(usize::try_from(dim?).ok()?)?;
            if let Some(extent) = self.func.as_int(extent) {
                return Some(self.builder(op).index(extent));
            }
            let tc_ir::AttrData::Word(name) = self.func.attr_data(extent) else { return None };
            let nth = self.func.header.symbols.iter().position(|symbol| symbol.name == *name)?;
            self.func.region_args(self.func.body()).get(nth).copied()
        });
        if made.is_none() && !matches!(self.operand(op, 0), Known::Missing) {
            self.refuse(op, "this extent is not known", "ask for a dimension of a parameter, by a literal number");
        }
        self.give_value(op, made);
    }

    fn update(&mut self, op: OperationRef<'_, '_>) {
        let kind = integer(op, "kind");
        let row = UPDATES.iter().find(|(known, ..)| Some(*known) == kind);
        self.give(
            op,
            Known::Unreadable("the value before an atomic update", "load it before, where nothing else writes it"),
        );
        let Some(&(_, kind, is_unsigned)) = row else {
            let help = "there are add, min, max, and, or, xor";
            return self.refuse(op, "this kind of atomic update has no counterpart", help);
        };
        let (value, buffer, indices) = (self.number(op, 0), self.buffer(op, 1), self.indices(op, 2));
        let (Some(value), Some(buffer), Some(mut indices)) = (value, buffer, indices) else { return self.lost(op) };
        if matches!(kind, "max" | "min") && is_unsigned != crate::arith::is_unsigned(self.elem_of(buffer)) {
            let help = "integers of a buffer have a sign: update them by `maxs` and `mins`";
            return self.refuse(op, "an update that takes the sign otherwise than the buffer has no counterpart", help);
        }
        let value = self.stored(op, value, buffer);
        indices.insert(0, buffer);
        let Some(place) = self.infer(op, tir::REF, &indices, &[]) else { return self.lost(op) };
        let kind = self.word(keys::KIND, kind);
        self.make(op, tir::ATOMIC_RMW, &[place, value], &[kind], &[], 0);
    }
}
