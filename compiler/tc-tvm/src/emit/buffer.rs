//! Buffers: their types, allocations, views, loads and stores.

use super::expr::Expr;
use super::func::Writer;
use crate::table::{self, prec};
use tc_dialects::scope::scope_text;
use tc_ir::{Attr, AttrData, Elem, Name, Op, Scalar, UnOp, Value, keys};

/// The deepest expression of an extent that is written.
const MAX_DEPTH: u32 = 64;

impl Writer<'_> {
    /// What stands in the parentheses of `T.Buffer(…)` and `T.alloc_buffer(…)`; `None` where TVM lacks something.
    pub(crate) fn buffer_type(&mut self, value: Value, attrs: &[(Name, Attr)]) -> Option<String> {
        let func = self.func;
        let (elem, shape, scope) = func.as_shaped(func.value_type(value))?;
        let scalar = self.stored(func.as_scalar(elem)?);
        let padded = self.padded.contains(&value);
        let mut text = format!("{}, \"{}\"", self.tuple(shape, padded)?, self.type_name(scalar)?);
        let scope = scope_text(func, scope);
        if scope != "global" {
            text.push_str(&format!(", scope=\"{scope}\""));
        }
        let mut rest = Vec::new();
        for &(key, attr) in attrs {
            match (key, func.attr_data(attr)) {
                (keys::ALIGN, AttrData::Int(bytes, _)) => text.push_str(&format!(", align={bytes}")),
                (keys::STRIDES, AttrData::List(strides)) => {
                    text.push_str(&format!(", strides={}", self.tuple(strides, padded)?));
                }
                _ => rest.push(self.annotation(key, attr)),
            }
        }
        // Parameters have no annotations.
        if !rest.is_empty() {
            func.def_op(value)?;
            text.push_str(&format!(", annotations={{{}}}", rest.join(", ")));
        }
        Some(text)
    }

    /// The type that elements have in memory: an `index` is an `i64`.
    fn stored(&self, scalar: Scalar) -> Scalar {
        let elem = if scalar.elem == Elem::Index { Elem::I64 } else { scalar.elem };
        Scalar { elem, ..scalar }
    }

    /// `(4, n)`; with one more dimension where the buffer is padded.
    fn tuple(&mut self, list: &[Attr], padded: bool) -> Option<String> {
        let mut texts: Vec<String> =
            list.iter().map(|&attr| self.extent(attr, 0).map(|expr| expr.text)).collect::<Option<_>>()?;
        if padded {
            texts.push("1".to_string());
        }
        Some(match &texts[..] {
            [one] => format!("({one},)"),
            all => format!("({})", all.join(", ")),
        })
    }

    /// An expression over sizes.
    fn extent(&mut self, attr: Attr, depth: u32) -> Option<Expr> {
        let func = self.func;
        if depth > MAX_DEPTH {
            return None;
        }
        match func.attr_data(attr) {
            AttrData::Int(value, _) if *value < 0 => Some(Expr::new(value.to_string(), prec::UNARY)),
            AttrData::Int(value, _) => Some(Expr::atom(value.to_string())),
            AttrData::Word(name) => {
                let nth = func.header.symbols.iter().position(|size| size.name == *name)?;
                let size = func.region_args(func.body())[nth];
                self.spelled.get(&size).cloned()
            }
            AttrData::Unary(UnOp::Neg, value) => {
                let value = self.extent(*value, depth + 1)?.within(prec::UNARY);
                Some(Expr::new(format!("-{value}"), prec::UNARY))
            }
            AttrData::Binary(sign, lhs, rhs) => {
                let (text, binds) = table::python(*sign, false);
                let lhs = self.extent(*lhs, depth + 1)?.within(binds);
                let rhs = self.extent(*rhs, depth + 1)?.within(binds + 1);
                Some(Expr::new(format!("{lhs} {text} {rhs}"), binds))
            }
            AttrData::Call(name, args) => {
                let name = func.text(*name);
                let known = matches!(name, "min" | "max").then_some(name)?;
                let args: Vec<String> =
                    args.iter().map(|&arg| self.extent(arg, depth + 1).map(|arg| arg.text)).collect::<Option<_>>()?;
                Some(Expr::atom(format!("T.{known}({})", args.join(", "))))
            }
            _ => None,
        }
    }

    pub(crate) fn alloc(&mut self, op: Op) {
        let func = self.func;
        let Some(buffer) = func.result(op) else { return };
        let attrs = func.entries(func.op_attrs(op)).to_vec();
        if self.loses_scope(buffer, attrs.is_empty()) {
            self.padded.insert(buffer);
        }
        match self.buffer_type(buffer, &attrs) {
            Some(ty) => {
                let name = self.declare(buffer, "buffer");
                self.line(&format!("{name} = T.alloc_buffer({ty})"));
            }
            None => self.lacks_buffer(op, buffer),
        }
    }

    /// TVM 0.27 prints a buffer of one element, `f32[1]`, as a variable, and forgets its scope and its annotations on the
    /// way. One with another dimension stays a buffer.
    fn loses_scope(&self, buffer: Value, is_plain: bool) -> bool {
        let Some((_, &[extent], scope)) = self.func.as_shaped(self.func.value_type(buffer)) else { return false };
        self.func.as_int(extent) == Some(1) && !(is_plain && scope_text(self.func, scope) == "local")
    }

    fn lacks_buffer(&mut self, op: Op, buffer: Value) {
        let ty = self.func.show_type(self.func.value_type(buffer));
        self.refuse(op, format!("TVM has no counterpart of a buffer of type `{ty}`"));
        self.declare(buffer, "buffer");
    }

    /// A buffer inside another one.
    pub(crate) fn view(&mut self, op: Op) {
        let func = self.func;
        let Some(view) = func.result(op) else { return };
        let offset = func.const_int(func.operand(op, 1));
        let bytes =
            func.as_shaped(func.value_type(view)).and_then(|(elem, ..)| func.as_scalar(elem)).map(|s| s.bytes());
        let attrs = func.entries(func.op_attrs(op)).to_vec();
        let plain = attrs.iter().all(|(key, _)| matches!(*key, keys::ALIGN | keys::STRIDES));
        let (Some(offset), Some(bytes), true) = (offset, bytes, plain) else {
            self.no_counterpart(op);
            self.declare(view, "view");
            return;
        };
        let base = self.text(func.operand(op, 0));
        match self.buffer_type(view, &attrs) {
            Some(ty) => {
                let name = self.declare(view, "view");
                let first = offset / i64::from(bytes.max(1));
                self.line(&format!("{name} = T.decl_buffer({ty}, data={base}.data, elem_offset={first})"));
            }
            None => self.lacks_buffer(op, view),
        }
    }

    /// `A[i, j]`
    pub(crate) fn element(&mut self, buffer: Value, indices: &[Value]) -> String {
        let name = self.value(buffer).within(prec::ATOM);
        let more = if self.padded.contains(&buffer) { ", 0" } else { "" };
        let indices = if indices.is_empty() { "()".to_string() } else { self.texts(indices) };
        format!("{name}[{indices}{more}]")
    }

    pub(crate) fn load(&mut self, op: Op) -> Expr {
        let func = self.func;
        let &[buffer, ref indices @ ..] = func.operands(op) else { return self.no_counterpart(op) };
        if func.as_shaped(func.value_type(buffer)).is_none() {
            return self.no_counterpart(op);
        }
        let text = self.element(buffer, indices);
        match func.result(op).and_then(|value| func.value_scalar(value)) {
            Some(scalar) if scalar.elem == Elem::Index && !self.wide => {
                let name = self.type_name(scalar).unwrap_or_default();
                Expr::atom(format!("T.Cast(\"{name}\", {text})"))
            }
            Some(_) => Expr::atom(text),
            None => self.no_counterpart(op),
        }
    }

    pub(crate) fn store(&mut self, op: Op) {
        let func = self.func;
        let &[buffer, ref indices @ .., value] = func.operands(op) else { return };
        if func.as_shaped(func.value_type(buffer)).is_none() {
            self.no_counterpart(op);
            return;
        }
        let place = self.element(buffer, indices);
        let stored = func.value_scalar(value).map(|scalar| (scalar, self.stored(scalar)));
        let value = self.text(value);
        match stored {
            Some((scalar, stored)) if scalar != stored && !self.wide => {
                let name = self.type_name(stored).unwrap_or_default();
                self.line(&format!("{place} = T.Cast(\"{name}\", {value})"));
            }
            _ => self.line(&format!("{place} = {value}")),
        }
    }
}
