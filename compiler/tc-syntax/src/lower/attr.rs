//! Attributes and types.

use super::call::UNKNOWN_TYPE;
use super::decode;
use super::state::Lower;
use crate::tree::{self, ExprId, ExprKind, Id, List, TextRange, TypeArg, UnaryOp};
use tc_ir::attrs::AttrData;
use tc_ir::types::{TypeData, TypeParam};
use tc_ir::{Attr, Attrs, Elem, Loc, Name, Scalar, Type};
use tc_support::{LineCol, suggest};

/// How long a chain of operators in an attribute may be: attributes are walked by recursion.
const MAX_CHAIN: usize = 256;

impl<'a> Lower<'a> {
    /// `{a = 1, b}` as a list of attributes; a key given twice is an error.
    pub(super) fn attr_list(&mut self, attrs: List<tree::Attr>) -> Attrs {
        self.attrs_with(attrs, AttrData::Unit)
    }

    /// The same, of an op: there `b` stands for `b = true`, as the generic form writes it.
    pub(super) fn op_attrs(&mut self, attrs: List<tree::Attr>) -> Attrs {
        self.attrs_with(attrs, AttrData::Bool(true))
    }

    fn attrs_with(&mut self, attrs: List<tree::Attr>, alone: AttrData) -> Attrs {
        let mut entries: Vec<(Name, Attr)> = Vec::with_capacity(attrs.len());
        for &attr in &self.tree[attrs] {
            let text = self.text(attr.key);
            let key = self.func.name(text);
            let value = match attr.value {
                None => Some(self.func.attr(alone.clone())),
                Some(value) => self.attr_value(value),
            };
            let Some(value) = value else { continue };
            if entries.iter().any(|(name, _)| *name == key) {
                self.error(attr.key, "attribute", format!("attribute `{}` is given twice", suggest::shorten(text)));
                continue;
            }
            entries.push((key, value));
        }
        self.func.dict(&entries)
    }

    /// A value of an attribute.
    pub(super) fn attr_value(&mut self, value: tree::Value) -> Option<Attr> {
        match value {
            tree::Value::Expr(expr) => self.attr_expr(expr),
            tree::Value::Type(ty) => {
                let ty = self.buffer_type(ty, None)?;
                Some(self.func.attr(AttrData::Type(ty)))
            }
            tree::Value::Dict(dict) => {
                let attrs = self.attr_list(self.tree[dict].attrs);
                Some(self.func.attr(AttrData::Dict(attrs)))
            }
        }
    }

    /// An expression as an attribute: literals, words, and operators over them.
    pub(super) fn attr_expr(&mut self, expr: ExprId) -> Option<Attr> {
        let node = self.tree[expr];
        let text = self.text(node.range);
        let data = match node.kind {
            ExprKind::Path => AttrData::Word(self.func.name(text)),
            ExprKind::Bool(value) => AttrData::Bool(value),
            ExprKind::Int => self.attr_int(node.range, false)?,
            ExprKind::Float => self.attr_float(node.range, false)?,
            ExprKind::Str => match decode::string(text) {
                Ok(text) => AttrData::Str(text.into()),
                Err(reason) => return self.refuse(node.range, reason),
            },
            ExprKind::Sym => match decode::symbol(text) {
                Ok(name) => AttrData::Symbol(name.into()),
                Err(reason) => return self.refuse(node.range, reason),
            },
            ExprKind::List(list) => {
                let mut values = Vec::with_capacity(list.len());
                for &value in &self.tree[list] {
                    values.push(self.attr_value(value)?);
                }
                AttrData::List(values.into())
            }
            ExprKind::Unary { op, value } => {
                let inner = self.tree[value];
                let direct = self.is_signed(node.range, inner.range);
                match (op, inner.kind) {
                    (UnaryOp::Neg, ExprKind::Int) if direct => self.attr_int(inner.range, true)?,
                    (UnaryOp::Neg, ExprKind::Float) if direct => self.attr_float(inner.range, true)?,
                    _ => AttrData::Unary(op, self.attr_expr(value)?),
                }
            }
            ExprKind::Binary { .. } => return self.attr_chain(expr),
            ExprKind::Call { symbol: false, args, .. } => {
                let name = self.func.name(self.text(self.tree.name(expr)));
                let mut values = Vec::with_capacity(args.len());
                for &arg in &self.tree[args] {
                    if let Some(key) = arg.key {
                        return self.refuse(self.tree[key], "a call in an attribute takes no keys".to_string());
                    }
                    values.push(self.attr_value(arg.value)?);
                }
                AttrData::Call(name, values.into())
            }
            ExprKind::Call { .. }
            | ExprKind::Index { .. }
            | ExprKind::Reduce(_)
            | ExprKind::Cast { .. }
            | ExprKind::Ref(_) => {
                return self.refuse(node.range, "this is no attribute: it would have to be computed".to_string());
            }
        };
        Some(self.func.attr(data))
    }

    fn attr_chain(&mut self, expr: ExprId) -> Option<Attr> {
        let mut spine = self.tree.left_spine(expr);
        let mut steps: Vec<_> = spine.by_ref().take(MAX_CHAIN + 1).collect();
        if steps.len() > MAX_CHAIN {
            return self.refuse(
                self.tree[expr].range,
                format!("an expression here has at most {MAX_CHAIN} operators in a row"),
            );
        }
        steps.reverse();
        let mut acc = self.attr_expr(spine.first())?;
        for (_, op, rhs) in steps {
            let rhs = self.attr_expr(rhs)?;
            acc = self.func.attr(AttrData::Binary(op, acc, rhs));
        }
        Some(acc)
    }

    fn attr_int(&mut self, range: TextRange, negative: bool) -> Option<AttrData> {
        match decode::int(self.text(range)) {
            Ok(int) => Some(AttrData::Int(if negative { -int.value } else { int.value }, int.elem)),
            Err(reason) => self.refuse(range, reason),
        }
    }

    fn attr_float(&mut self, range: TextRange, negative: bool) -> Option<AttrData> {
        match decode::float(self.text(range)) {
            Ok(float) => {
                let value = if negative { -float.value } else { float.value };
                Some(AttrData::Float(value.to_bits(), float.elem))
            }
            Err(reason) => self.refuse(range, reason),
        }
    }

    fn refuse<T>(&mut self, range: TextRange, message: String) -> Option<T> {
        self.error(range, "attribute", message);
        None
    }

    /// A type that a value has: its elements are numbers, or of a type that some dialect declares.
    pub(super) fn declared_type(&mut self, ty: Id<tree::Type>, scope: Option<Name>) -> Option<Type> {
        let found = self.buffer_type(ty, scope)?;
        let elem = match self.func.type_data(found) {
            TypeData::Shaped { elem, .. } | TypeData::Ref { elem, .. } => *elem,
            _ => found,
        };
        let TypeData::Opaque { path, .. } = self.func.type_data(elem) else { return Some(found) };
        let name = self.func.text(*path);
        let types = self.func.registry().type_names();
        if self.options.allow_unknown_ops || name == UNKNOWN_TYPE || types.clone().any(|known| known == name) {
            return Some(found);
        }
        let text = format!("there is no type `{}`", suggest::shorten(name));
        let near = suggest::nearest(name, Elem::ALL.iter().map(|elem| elem.name()).chain(types));
        let help = near.map(|near| format!("did you mean `{near}`?"));
        let mut at = self.tree[ty];
        if let Some(&[TypeArg::Type(inner)]) =
            at.args.map(|args| &self.tree[args]).filter(|_| self.text(at.name) == "ref")
        {
            at = self.tree[inner];
        }
        self.error_with(at.name, "type", text, help);
        None
    }

    /// A type, with the scope of a buffer.
    pub(super) fn buffer_type(&mut self, ty: Id<tree::Type>, scope: Option<Name>) -> Option<Type> {
        let node = self.tree[ty];
        if !node.element && self.text(node.name) == "ref" {
            return self.ref_type(node, scope);
        }
        let elem = self.elem_type(node)?;
        let Some(shape) = node.shape else { return Some(elem) };
        let mut dims = Vec::with_capacity(shape.len());
        for &dim in &self.tree[shape] {
            dims.push(self.attr_expr(dim)?);
        }
        Some(self.func.ty(TypeData::Shaped { elem, shape: dims.into(), scope }))
    }

    fn elem_type(&mut self, node: tree::Type) -> Option<Type> {
        let text = self.text(node.name);
        if node.element {
            let Some(scalar) = Scalar::parse(text) else {
                return self.refuse(node.name, format!("there is no type `{}`", suggest::shorten(text)));
            };
            return Some(self.func.scalar_ty(scalar));
        }
        let mut params = Vec::new();
        for &arg in node.args.map_or(&[][..], |args| &self.tree[args]) {
            params.push(match arg {
                TypeArg::Type(ty) => TypeParam::Type(self.buffer_type(ty, None)?),
                TypeArg::Int(range) => match decode::int(self.text(range)).map(|int| i64::try_from(int.value)) {
                    Ok(Ok(value)) => TypeParam::Int(value),
                    _ => return self.refuse(range, "this number is too large for a type".to_string()),
                },
                TypeArg::Str(range) => match decode::string(self.text(range)) {
                    Ok(text) => TypeParam::Str(text.into()),
                    Err(reason) => return self.refuse(range, reason),
                },
            });
        }
        let path = match self.own_type(text) {
            Some(full) => self.func.name(full),
            None => self.func.name(text),
        };
        Some(self.func.ty(TypeData::Opaque { path, params: params.into() }))
    }

    /// The full name of the type `text` of the item's dialect, `sched.stage` for `stage`.
    fn own_type(&self, text: &str) -> Option<&'static str> {
        let registry = self.func.registry();
        let dialect = registry.dialect(self.func.header.opcode)?;
        dialect.types.iter().copied().find(|full| {
            let rest = full.strip_prefix(dialect.name).and_then(|rest| rest.strip_prefix('.'));
            rest == Some(text)
        })
    }

    /// `ref<f32[4]>`, the type of a reference.
    fn ref_type(&mut self, node: tree::Type, scope: Option<Name>) -> Option<Type> {
        let args = node.args.map_or(&[][..], |args| &self.tree[args]);
        let &[TypeArg::Type(inner)] = args else {
            return self.refuse(node.range, "a reference is `ref<f32>` or `ref<f32[4]>`".to_string());
        };
        let inner = self.tree[inner];
        let elem = self.elem_type(inner)?;
        let mut shape = Vec::new();
        for &dim in inner.shape.map_or(&[][..], |shape| &self.tree[shape]) {
            shape.push(self.attr_expr(dim)?);
        }
        Some(self.func.ty(TypeData::Ref { elem, shape: shape.into(), scope }))
    }

    /// A location that the text writes: `#12:5`, `#"f.tir":12:5`.
    pub(super) fn written_loc(&mut self, range: TextRange) -> Loc {
        match crate::literal::location(self.text(range)) {
            Ok(place) => {
                let at = LineCol { line: place.line, col: place.col };
                self.func.named_loc(place.file.as_deref(), at)
            }
            Err(reason) => {
                self.error(range, "location", reason.message);
                Loc::NONE
            }
        }
    }
}
