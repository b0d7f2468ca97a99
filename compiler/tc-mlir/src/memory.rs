//! Buffers: parameters, on-chip memory, views, and the places that references name.
//!
//! A buffer is a memref of one dimension, of numbers: an element that is a vector is as many of them. One that is viewed
//! as something else is made of bytes, and is itself a view of those; so every view is one of bytes, at an offset that
//! has been added up. A parameter whose size is open is handed over as a bare pointer to one element, for descriptors
//! would change what a launch hands over, and gets its size in the kernel.

use crate::kernel::Kernel;
use crate::types;
use std::rc::Rc;
use tc_dialects::scope::Scope;
use tc_dialects::tir;
use tc_ir::effects::root_buffer;
use tc_ir::{AttrData, Elem, Func, Op, Scalar, TypeData, Value};
use tc_kernel::access::{alignment, element, numbers_apart};
use tc_kernel::bulk::is_barriers;
use tc_kernel::facts::{self, declared_alignment, n_elements, scope_name};
use tc_kernel::place::{buffer_of, references};
use tc_kernel::sizes;
use tc_target::{BinaryOp, Formula};

/// The symbol of dynamic shared memory.
pub(crate) const DYNAMIC: &str = "dyn_shared";

/// The type of dynamic shared memory, which says nothing of its size: the launch does.
pub(crate) const DYNAMIC_TYPE: &str = "memref<0xi8, #shared>";

/// A buffer that was declared.
pub(crate) struct Memory {
    /// What it is called.
    pub(crate) name: Rc<str>,
    /// Its type.
    pub(crate) ty: String,
    /// Its elements; those that are vectors lie as numbers.
    pub(crate) elem: Scalar,
    /// The memory space, as an alias.
    pub(crate) space: &'static str,
    /// The bytes that it is a view of, with their type, and where it starts there.
    bytes: Option<(Rc<str>, String)>,
    offset: Option<Rc<str>>,
}

impl Memory {
    /// A buffer that nothing views.
    pub(crate) fn plain(name: Rc<str>, ty: String, elem: Scalar, space: &'static str) -> Memory {
        Memory { name, ty, elem, space, bytes: None, offset: None }
    }

    /// The type of a number in it.
    pub(crate) fn number(&self) -> &'static str {
        types::stored(self.elem.elem)
    }
}

/// For each value, whether it is a buffer that others are views of.
pub(crate) fn viewed(func: &Func, ops: &[Op]) -> Vec<bool> {
    let mut viewed = vec![false; func.n_value_ids()];
    for &op in ops.iter().filter(|&&op| func.opcode(op) == tir::VIEW) {
        viewed[root_buffer(func, func.operand(op, 0)).as_u32() as usize] = true;
    }
    viewed
}

fn memref(n: Option<u64>, number: &str, space: &str) -> String {
    match n {
        Some(n) => format!("memref<{}x{number}, {space}>", n.max(1)),
        None => format!("memref<?x{number}, {space}>"),
    }
}

impl Kernel<'_> {
    /// The elements of `buffer`, and how many numbers they are, if that is known.
    fn extent(&mut self, buffer: Value) -> (Scalar, Option<u64>) {
        let func = self.func;
        // A barrier is a word of 64 bits that only its own instructions read.
        let of_barriers = || is_barriers(func, buffer).then_some(Scalar::of(Elem::U64));
        let Some(elem) = element(func, func.value_type(buffer)).or_else(of_barriers) else {
            self.stray("a buffer of something that is no number");
            return (Scalar::of(Elem::U8), Some(1));
        };
        (elem, n_elements(func, buffer).and_then(|n| n.checked_mul(elem.lanes.into())))
    }

    fn is_viewed(&self, buffer: Value) -> bool {
        self.viewed[buffer.as_u32() as usize]
    }

    /// Remembers where `buffer` lies.
    pub(crate) fn keep(&mut self, buffer: Value, memory: Memory) {
        self.memory[buffer.as_u32() as usize] = Some(Rc::new(memory));
    }

    /// The buffer `value`.
    pub(crate) fn memory(&mut self, value: Value) -> Rc<Memory> {
        if let Some(memory) = &self.memory[value.as_u32() as usize] {
            return memory.clone();
        }
        let name = self.stray("a buffer that was not declared");
        let elem = Scalar::of(Elem::U8);
        Rc::new(Memory {
            name,
            ty: memref(Some(1), "i8", "#private"),
            elem,
            space: "#private",
            bytes: None,
            offset: None,
        })
    }

    /// Declares a name that belongs to the one of `value`: `%A_bytes`.
    fn beside(&mut self, value: Value, what: &str) -> Rc<str> {
        let base = self.func.value_text(value).to_string();
        format!("%{}", self.names.declare(&format!("{base}_{what}"), what)).into()
    }

    /// Declares the parameter `param`, a buffer: `%A: memref<…>`.
    pub(crate) fn param_buffer(&mut self, param: Value) -> String {
        let name = self.declare(param, "arg");
        let (elem, n) = self.extent(param);
        let number = types::stored(elem.elem);
        let ty = memref(n, number, "#global");
        let mut memory = Memory { name, ty, elem, space: "#global", bytes: None, offset: None };
        let text = if self.is_viewed(param) {
            let bytes = n.and_then(|n| n.checked_mul(Scalar::of(elem.elem).bytes().into()));
            let bytes_ty = memref(Some(bytes.unwrap_or(1)), "i8", "#global");
            let name = self.beside(param, "bytes");
            let text = format!("{name}: {bytes_ty}");
            memory.bytes = Some((name, bytes_ty));
            text
        } else if n.is_none() {
            format!("{}: {}", self.beside(param, "start"), memref(Some(1), number, "#global"))
        } else {
            format!("{}: {}", memory.name, memory.ty)
        };
        // What is not the parameter itself is made of it once the sizes are known.
        self.keep(param, memory);
        text
    }

    /// Makes buffers of parameters that were handed over as something else.
    pub(crate) fn open_params(&mut self, params: &[String]) {
        let func = self.func;
        for (&param, text) in func.params().iter().zip(params) {
            let Some(memory) = self.memory[param.as_u32() as usize].clone() else { continue };
            let Some((start, start_ty)) = text.split_once(": ") else { continue };
            let (start, start_ty) = (start, start_ty.split(" {").next().unwrap_or(start_ty));
            if *start == *memory.name {
                continue;
            }
            let size = if memory.ty.starts_with("memref<?") { Some(self.n_numbers(param, &memory)) } else { None };
            let Memory { name, ty, .. } = &*memory;
            let text = match (&memory.bytes, size) {
                (None, Some(size)) => {
                    format!(
                        "memref.reinterpret_cast {start} to offset: [0], sizes: [{size}], strides: [1] : {start_ty} to {ty}"
                    )
                }
                (_, size) => {
                    let zero = self.int(0, "index");
                    let size = size.map_or(String::new(), |size| size.to_string());
                    format!("memref.view {start}[{zero}][{size}] : {start_ty} to {ty}")
                }
            };
            self.out.op(&format!("{name} = {text}"));
        }
    }

    /// The numbers of a parameter whose size is open.
    fn n_numbers(&mut self, param: Value, memory: &Memory) -> Rc<str> {
        let func = self.func;
        let shape = func.as_shaped(func.value_type(param)).map(|(_, shape, _)| shape.to_vec()).unwrap_or_default();
        let mut product = Formula::Int(memory.elem.lanes.into());
        for extent in shape {
            let factor = match func.attr_data(extent) {
                AttrData::Int(extent, _) => i64::try_from(*extent).ok().map(Formula::Int),
                _ => sizes::of_attr(func, extent),
            };
            product = match (product, factor) {
                (Formula::Int(1), Some(factor)) => factor,
                (product, Some(factor)) => Formula::op(BinaryOp::Mul, product, factor),
                (product, None) => product,
            };
        }
        match self.formula(&product) {
            Some(size) => size,
            // The kernel does not take that size, so that it does not depend on it either.
            None => self.int(i64::MAX.into(), "index"),
        }
    }

    /// A formula of sizes as an `index`; `None` where the kernel is not given all of them.
    fn formula(&mut self, formula: &Formula) -> Option<Rc<str>> {
        let func = self.func;
        match formula {
            Formula::Int(value) => Some(self.int((*value).into(), "index")),
            Formula::Size(name) => {
                let size = *sizes::symbols(func).iter().find(|&&size| func.value_text(size) == name)?;
                self.name_of(size)?;
                Some(self.index(size))
            }
            Formula::Op(op, parts) => {
                let (lhs, rhs) = (self.formula(&parts.0)?, self.formula(&parts.1)?);
                // Sizes are not negative, nor is what is divided of them.
                let name = match op {
                    BinaryOp::Add => "addi",
                    BinaryOp::Sub => "subi",
                    BinaryOp::Mul => "muli",
                    BinaryOp::FloorDiv | BinaryOp::TruncDiv => "divsi",
                    BinaryOp::FloorMod | BinaryOp::TruncMod => "remsi",
                    BinaryOp::Min => "minsi",
                    BinaryOp::Max => "maxsi",
                    _ => return None,
                };
                Some(self.temp(format!("arith.{name} {lhs}, {rhs} : index")))
            }
        }
    }

    /// Declares the buffers that the allocs among `ops` make, at the head.
    pub(crate) fn declare_buffers(&mut self, ops: &[Op]) {
        for &op in ops {
            if self.func.opcode(op) == tir::ALLOC
                && self.is_statement(op)
                && let Some(buffer) = self.func.result(op)
            {
                self.alloc(buffer);
            }
        }
    }

    fn alloc(&mut self, buffer: Value) {
        let func = self.func;
        if facts::fragment_of(func, buffer).is_some() {
            return self.fragments(buffer);
        }
        let (elem, n) = self.extent(buffer);
        let name = self.declare(buffer, "buf");
        let scope = scope_name(func, buffer);
        let space = types::space(if scope == "global" { "local" } else { scope });
        let number = types::stored(elem.elem);
        let ty = memref(n, number, space);
        let mut memory = Memory { name: name.clone(), ty: ty.clone(), elem, space, bytes: None, offset: None };
        let zero = self.int(0, "index");
        let is_shared = Scope::parse(scope).is_some_and(Scope::is_shared);
        if Scope::parse(scope).is_some_and(Scope::is_sized_by_launch) {
            self.uses.dynamic_shared = self.uses.dynamic_shared.max(self.facts.shared_alignment(func, buffer));
            let all = self.beside(buffer, "start");
            self.top.op(&format!("{all} = memref.get_global @{DYNAMIC} : {DYNAMIC_TYPE}"));
            self.top.op(&format!("{name} = memref.view {all}[{zero}][] : {DYNAMIC_TYPE} to {ty}"));
            memory.bytes = Some((all, DYNAMIC_TYPE.to_string()));
            return self.keep(buffer, memory);
        }
        let is_viewed = self.is_viewed(buffer);
        let (made, made_ty) = if is_viewed && number != "i8" {
            let bytes = n.unwrap_or(1).saturating_mul(Scalar::of(elem.elem).bytes().into());
            (self.beside(buffer, "bytes"), memref(Some(bytes), "i8", space))
        } else {
            (name.clone(), ty.clone())
        };
        if is_shared {
            let align = self.facts.shared_alignment(func, buffer);
            self.workgroup.push(format!("{made}: {made_ty} {{llvm.align = {align} : i64}}"));
        } else {
            let align = declared_alignment(func, buffer).max(self.facts.alignment(func, buffer));
            let align = align.max(alignment(elem).into());
            self.top.op(&format!("{made} = memref.alloca() {{alignment = {align} : i64}} : {made_ty}"));
        }
        if *made != *name {
            self.top.op(&format!("{name} = memref.view {made}[{zero}][] : {made_ty} to {ty}"));
        }
        memory.bytes = is_viewed.then_some((made, made_ty));
        self.keep(buffer, memory);
    }

    /// Makes the buffer inside another one that `op` makes.
    pub(crate) fn view(&mut self, op: Op) {
        let func = self.func;
        let (Some(view), &[outer, offset]) = (func.result(op), func.operands(op)) else { return };
        let outer = self.memory(outer);
        let Some((bytes, bytes_ty)) = outer.bytes.clone() else {
            self.stray("a view of something that has no bytes");
            return;
        };
        let is_start = func.const_int(offset) == Some(0);
        let at = match &outer.offset {
            Some(start) if is_start => start.clone(),
            Some(start) => {
                let offset = self.index(offset);
                self.temp(format!("arith.addi {start}, {offset} : index"))
            }
            None => self.index(offset),
        };
        let (elem, n) = self.extent(view);
        let ty = memref(Some(n.unwrap_or(1)), types::stored(elem.elem), outer.space);
        let name = self.declare(view, "buf");
        self.out.op(&format!("{name} = memref.view {bytes}[{at}][] : {bytes_ty} to {ty}"));
        let memory = Memory { name, ty, elem, space: outer.space, bytes: Some((bytes, bytes_ty)), offset: Some(at) };
        self.keep(view, memory);
    }

    /// The number of the first number of element `index` of a buffer of such elements.
    pub(crate) fn number_of(&mut self, index: Rc<str>, elem: Scalar) -> Rc<str> {
        if elem.lanes == 1 {
            return index;
        }
        let lanes = self.int(elem.lanes.into(), "index");
        self.temp(format!("arith.muli {index}, {lanes} overflow<nsw> : index"))
    }

    /// The buffer behind the reference `place`, and the number there that the reference is to.
    pub(crate) fn position(&mut self, place: Value) -> (Rc<Memory>, Rc<str>) {
        let func = self.func;
        let memory = self.memory(buffer_of(func, place));
        let indices = self.indices_of(place);
        let index = self.sum_of(&indices, memory.elem);
        (memory, index)
    }

    /// The same but for a number of elements that are added to the index, and that number: `i` and 16 of `&AS[i + 16]`. Places that
    /// differ by such a number alone have one index.
    pub(crate) fn position_apart(&mut self, place: Value) -> (Rc<Memory>, Rc<str>, i64) {
        let func = self.func;
        let memory = self.memory(buffer_of(func, place));
        let mut indices = self.indices_of(place);
        let is_known = |base: Value| self.name_of(base).is_some() || self.indices[base.as_u32() as usize].is_some();
        let ahead = numbers_apart(func, &mut indices, is_known, |index| func.const_int(index));
        let index = self.sum_of(&indices, memory.elem);
        (memory, index, ahead)
    }

    /// The indices of the references that `place` goes through, whose sum is its position.
    fn indices_of(&self, place: Value) -> Vec<Value> {
        let func = self.func;
        let is_number = |value: &Value| matches!(func.type_data(func.value_type(*value)), TypeData::Scalar(_));
        let index_of = |op: Op| func.operands(op).iter().skip(1).copied().find(is_number);
        references(func, place).into_iter().filter_map(index_of).collect()
    }

    /// The number of the first number of the element that the sum of `indices` counts.
    fn sum_of(&mut self, indices: &[Value], elem: Scalar) -> Rc<str> {
        let mut sum: Option<Rc<str>> = None;
        for &index in indices.iter().filter(|&&index| self.func.const_int(index) != Some(0)) {
            let index = self.index(index);
            sum = Some(match sum {
                Some(sum) => self.temp(format!("arith.addi {index}, {sum} overflow<nsw> : index")),
                None => index,
            });
        }
        match sum {
            Some(sum) => self.number_of(sum, elem),
            None => self.int(0, "index"),
        }
    }

    /// The address of what the reference `place` is to, as one of LLVM's pointers, in the space that the buffer is in; and the
    /// pointer's type.
    pub(crate) fn pointer(&mut self, place: Value) -> (Rc<str>, String) {
        let (memory, index) = self.position(place);
        self.pointer_to(&memory, &index)
    }

    /// The address of number `index` of `memory`, and the pointer's type.
    pub(crate) fn pointer_to(&mut self, memory: &Memory, index: &str) -> (Rc<str>, String) {
        let ptr = match types::space_number(memory.space) {
            0 => "ptr".to_string(),
            space => format!("ptr<{space}>"),
        };
        let descriptor = format!("!llvm.struct<({ptr}, {ptr}, i64, array<1 x i64>, array<1 x i64>)>");
        let Memory { name, ty, .. } = memory;
        let parts = self.temp(format!("builtin.unrealized_conversion_cast {name} : {ty} to {descriptor}"));
        let start = self.temp(format!("llvm.extractvalue {parts}[1] : {descriptor}"));
        let offset = self.temp(format!("arith.index_cast {index} : index to i64"));
        let address = self.temp(format!(
            "llvm.getelementptr {start}[{offset}] : (!llvm.{ptr}, i64) -> !llvm.{ptr}, {}",
            memory.number()
        ));
        (address, format!("!llvm.{ptr}"))
    }
}
