//! Buffers: shapes, allocations, views, loads and stores.

use super::annotations::string;
use super::scan::literal_int;
use super::state::{Bound, Place, Reader};
use crate::types;
use ruff_python_ast::{Arguments, Expr, ExprCall, ExprSlice, ExprSubscript, Operator};
use ruff_text_size::{Ranged, TextRange};
use tc_dialects::scope::Scope;
use tc_dialects::{arith, tir};
use tc_ir::attrs::BinOp;
use tc_ir::{Attr, AttrData, Elem, Name, Scalar, Type, TypeData, Value, keys};
use tc_support::counted;

/// What a declaration says of a buffer.
pub(crate) struct Declared {
    pub(crate) elem: Type,
    pub(crate) shape: Vec<Attr>,
    pub(crate) scope: String,
    /// Alignment and strides.
    pub(crate) attrs: Vec<(Name, Attr)>,
}

impl<'a> Reader<'a> {
    /// What `T.Buffer(…)`, `T.alloc_buffer(…)` and others say in their parentheses.
    pub(crate) fn declared(&mut self, arguments: &'a Arguments, scope: &str) -> Option<Declared> {
        let Some(shape) = arguments.find_argument_value("shape", 0) else {
            self.error(arguments.range, "arguments", "a buffer has extents");
            return None;
        };
        let shape = self.shape(shape)?;
        let elem = match arguments.find_argument_value("dtype", 1) {
            Some(ty) => self.element(ty)?,
            None => self.func.elem_ty(Elem::F32),
        };
        let scope = match arguments.find_keyword("scope") {
            Some(keyword) => self.scope(&keyword.value)?,
            None => scope.to_string(),
        };
        let mut attrs = Vec::new();
        if let Some(keyword) = arguments.find_keyword("align").or_else(|| arguments.find_keyword("data_alignment")) {
            let Some(bytes) = literal_int(&keyword.value) else {
                self.error(keyword.range(), "arguments", "an alignment is a number of bytes");
                return None;
            };
            attrs.push((keys::ALIGN, self.func.int_attr(bytes)));
        }
        if let Some(keyword) = arguments.find_keyword("strides") {
            let strides = self.shape(&keyword.value)?;
            if !strides.is_empty() {
                attrs.push((keys::STRIDES, self.func.attr(AttrData::List(strides.into()))));
            }
        }
        Some(Declared { elem, shape, scope, attrs })
    }

    pub(crate) fn buffer_type(&mut self, declared: &Declared) -> Type {
        let scope = Some(self.func.name(&declared.scope));
        self.func.ty(TypeData::Shaped { elem: declared.elem, shape: declared.shape.clone().into(), scope })
    }

    /// `"float32"`, `T.float32`
    pub(crate) fn element(&mut self, expr: &Expr) -> Option<Type> {
        let name = string(expr).or_else(|| super::state::member(expr, &self.words.tir));
        match name.as_deref().and_then(types::parse) {
            Some(scalar) => Some(self.func.scalar_ty(scalar)),
            None => {
                let text = format!("tc has no type `{}`", tc_support::suggest::shorten(self.text(expr.range())));
                self.error(expr.range(), "type", text);
                None
            }
        }
    }

    fn scope(&mut self, expr: &Expr) -> Option<String> {
        let name = string(expr)?;
        // TVM numbers virtual memories behind a scope; `local` has none.
        if Scope::parse(&name).is_some() {
            return Some(name);
        }
        self.error(expr.range(), "scope", format!("tc has no scope `{}`", tc_support::suggest::shorten(&name)));
        None
    }

    /// `(4, n)`: extents over sizes.
    pub(crate) fn shape(&mut self, expr: &'a Expr) -> Option<Vec<Attr>> {
        let elements = match expr {
            Expr::Tuple(tuple) => &tuple.elts[..],
            Expr::List(list) => &list.elts[..],
            other => std::slice::from_ref(other),
        };
        elements.iter().map(|extent| self.extent(extent)).collect()
    }

    fn extent(&mut self, expr: &'a Expr) -> Option<Attr> {
        self.deeper(expr.range(), |reader| reader.any_extent(expr))
    }

    fn any_extent(&mut self, expr: &'a Expr) -> Option<Attr> {
        if let Some(value) = literal_int(expr) {
            return Some(self.func.int_attr(value));
        }
        match expr {
            Expr::Name(name) => match self.lookup(name.id.as_str()) {
                Some(Bound::Value(value)) if self.is_size(*value) => {
                    let name = self.func.value_name(*value)?;
                    Some(self.func.attr(AttrData::Word(name)))
                }
                Some(Bound::Missing) => None,
                Some(_) => {
                    self.error(expr.range(), "extent", format!("`{}` is no size of the function", name.id));
                    None
                }
                None => {
                    self.unknown(expr.range(), name.id.as_str());
                    None
                }
            },
            Expr::BinOp(binary) => {
                let sign = match binary.op {
                    Operator::Add => BinOp::Add,
                    Operator::Sub => BinOp::Sub,
                    Operator::Mult => BinOp::Mul,
                    Operator::FloorDiv => BinOp::Div,
                    Operator::Mod => BinOp::Mod,
                    _ => return self.no_extent(expr),
                };
                let (lhs, rhs) = (self.extent(&binary.left)?, self.extent(&binary.right)?);
                Some(self.func.attr(AttrData::Binary(sign, lhs, rhs)))
            }
            Expr::Call(call) => match (self.called(call).as_deref(), &call.arguments.args[..]) {
                (Some(name @ ("min" | "max")), [lhs, rhs]) => {
                    let (lhs, rhs) = (self.extent(lhs)?, self.extent(rhs)?);
                    let name = self.func.name(name);
                    Some(self.func.attr(AttrData::Call(name, [lhs, rhs].into())))
                }
                _ => self.no_extent(expr),
            },
            _ => self.no_extent(expr),
        }
    }

    fn no_extent(&mut self, expr: &Expr) -> Option<Attr> {
        self.error(expr.range(), "extent", "an extent is an integer or an expression over sizes");
        None
    }

    /// `x = T.alloc_buffer(…)`
    pub(crate) fn alloc(&mut self, range: TextRange, name: &'a str, call: &'a ExprCall, scope: &str) -> Option<()> {
        let declared = self.declared(&call.arguments, scope)?;
        let mut attrs = declared.attrs.clone();
        if let Some(keyword) = call.arguments.find_keyword("annotations") {
            attrs.extend(self.annotations(&keyword.value)?);
        }
        let ty = self.buffer_type(&declared);
        let buffer = self.make_alloc(range, name, ty, &attrs)?;
        self.bind(name, Bound::Buffer(Place { base: buffer, view: None }));
        Some(())
    }

    pub(crate) fn make_alloc(
        &mut self,
        range: TextRange,
        name: &str,
        ty: Type,
        attrs: &[(Name, Attr)],
    ) -> Option<Value> {
        let op = self.op(range, tir::ALLOC, &[], attrs, &[ty], 0);
        let buffer = self.func.result(op)?;
        self.name(buffer, name);
        Some(buffer)
    }

    /// A buffer of one element of type `elem`.
    pub(crate) fn cell(&mut self, range: TextRange, name: &'a str, elem: Type, scope: &str) -> Option<Value> {
        let one = self.func.int_attr(1);
        let scope = Some(self.func.name(scope));
        let ty = self.func.ty(TypeData::Shaped { elem, shape: [one].into(), scope });
        let buffer = self.make_alloc(range, name, ty, &[])?;
        self.bind(name, Bound::Buffer(Place { base: buffer, view: None }));
        Some(buffer)
    }

    /// The buffer whose memory `data=` names: `A.data`, or what `T.allocate` gave.
    pub(crate) fn data(&mut self, expr: &'a Expr) -> Option<Value> {
        let (name, pointer) = match expr {
            Expr::Attribute(attribute) if attribute.attr.as_str() == "data" => (&*attribute.value, false),
            other => (other, true),
        };
        let Expr::Name(name) = name else {
            self.refuse(expr.range(), "memory is named by `A.data` or by what `T.allocate` gave");
            return None;
        };
        match self.lookup(name.id.as_str()) {
            Some(Bound::Pointer(base)) if pointer => Some(*base),
            Some(Bound::Buffer(Place { base, view: None })) if !pointer => Some(*base),
            Some(Bound::Missing) => None,
            Some(_) => {
                self.refuse(expr.range(), "a view of a view: name the buffer that has the memory");
                None
            }
            None => {
                self.unknown(expr.range(), name.id.as_str());
                None
            }
        }
    }

    /// `x = T.decl_buffer(…, data=A.data)`: the memory of `A` with other extents.
    pub(crate) fn declare_view(&mut self, range: TextRange, name: &'a str, call: &'a ExprCall) -> Option<()> {
        let Some(data) = call.arguments.find_argument_value("data", 2) else {
            // Without memory of another buffer it has its own.
            return self.alloc(range, name, call, "global");
        };
        let base = self.data(data)?;
        let declared = self.declared(&call.arguments, "global")?;
        let offset = match call.arguments.find_keyword("elem_offset") {
            Some(keyword) => match literal_int(&keyword.value) {
                Some(offset) if offset >= 0 => offset,
                _ => {
                    self.refuse(keyword.range(), "the offset of a view is a number");
                    return None;
                }
            },
            None => 0,
        };
        let place = self.view_of(range, name, base, declared, offset)?;
        self.bind(name, Bound::Buffer(place));
        Some(())
    }

    pub(crate) fn view_of(
        &mut self,
        range: TextRange,
        name: &str,
        base: Value,
        view: Declared,
        offset: i64,
    ) -> Option<Place> {
        let (elem, shape, scope) = self.func.as_shaped(self.func.value_type(base))?;
        let (elem, shape) = (elem, shape.to_vec());
        if elem == view.elem && shape == view.shape && offset == 0 {
            return Some(Place { base, view: None });
        }
        if elem != view.elem {
            let scope = scope.map_or("global".to_string(), |scope| self.func.text(scope).to_string());
            return self.byte_view(range, name, base, Declared { scope, ..view }, offset);
        }
        let extents: Option<Vec<i64>> = view.shape.iter().map(|&dim| self.func.as_int(dim)).collect();
        let plain = |key: Name, attrs: &[(Name, Attr)]| attrs.iter().any(|(known, _)| *known == key);
        let strided = plain(keys::STRIDES, &view.attrs) || self.func.buffer_attr(base, keys::STRIDES).is_some();
        let constant = shape.iter().all(|&dim| self.func.as_int(dim).is_some());
        match extents {
            Some(extents) if !strided && constant => Some(Place { base, view: Some((extents, offset)) }),
            _ => {
                self.refuse(range, "a view with other extents has constant ones, and no strides");
                None
            }
        }
    }

    /// A view with elements of another type.
    fn byte_view(&mut self, range: TextRange, name: &str, base: Value, view: Declared, offset: i64) -> Option<Place> {
        if self.func.def_op(base).is_none() {
            self.refuse(range, "a view of a parameter has elements of the parameter's type");
            return None;
        }
        let bytes = self.func.as_scalar(view.elem).map_or(1, Scalar::bytes);
        let Some(offset) = offset.checked_mul(i64::from(bytes)) else {
            self.error(range, "offset", "the offset of the view is too large");
            return None;
        };
        let ty = self.buffer_type(&view);
        let offset = self.builder(range).index(offset);
        let op = self.op(range, tir::VIEW, &[base, offset], &view.attrs, &[ty], 0);
        let buffer = self.func.result(op)?;
        self.name(buffer, name);
        Some(Place { base: buffer, view: None })
    }

    /// The buffer called by the expression before a bracket.
    fn place(&mut self, expr: &'a Expr) -> Option<Place> {
        let Expr::Name(name) = expr else {
            self.refuse(expr.range(), "before a bracket stands the name of a buffer");
            return None;
        };
        match self.lookup(name.id.as_str()).cloned() {
            Some(Bound::Buffer(place)) => Some(place),
            Some(Bound::Missing) => None,
            Some(_) => {
                self.error(expr.range(), "type", format!("`{}` has no elements", name.id));
                None
            }
            None => {
                self.unknown(expr.range(), name.id.as_str());
                None
            }
        }
    }

    /// The buffer of `A[i, j]`, and indices into it.
    pub(crate) fn element_of(&mut self, subscript: &'a ExprSubscript) -> Option<(Value, Vec<Value>)> {
        let place = self.place(&subscript.value)?;
        let slices = match &*subscript.slice {
            Expr::Tuple(tuple) => &tuple.elts[..],
            one => std::slice::from_ref(one),
        };
        let mut indices = Vec::new();
        for slice in slices {
            indices.push(match slice {
                Expr::Slice(slice) => self.slice(slice)?,
                index => self.index(index)?,
            });
        }
        let rank = match &place.view {
            Some((extents, _)) => extents.len(),
            None => self.func.as_shaped(self.func.value_type(place.base)).map_or(0, |(_, shape, _)| shape.len()),
        };
        if rank != indices.len() {
            let text = format!("the buffer has {}, not {}", counted(rank, "dimension"), indices.len());
            self.error(subscript.range(), "rank", text);
            return None;
        }
        let indices = match &place.view {
            Some((extents, offset)) => self.reshaped(subscript.range(), place.base, extents, *offset, indices)?,
            None => indices,
        };
        Some((place.base, indices))
    }

    /// `A[i:i + 4]`: lanes.
    fn slice(&mut self, slice: &'a ExprSlice) -> Option<Value> {
        let range = slice.range();
        let (Some(lower), Some(upper)) = (&slice.lower, &slice.upper) else {
            self.refuse(range, "lanes have a first and a last index");
            return None;
        };
        let stride = slice.step.as_deref().map_or(Some(1), literal_int);
        let length = match (literal_int(lower), literal_int(upper)) {
            (Some(lower), Some(upper)) => upper.checked_sub(lower),
            _ => self.distance(lower, upper),
        };
        let (Some(stride), Some(length)) = (stride, length.filter(|&n| n > 0)) else {
            self.refuse(range, "how many lanes there are is a number: `i:i + 4`");
            return None;
        };
        let lanes = if stride > 0 { length / stride + i64::from(length % stride != 0) } else { 0 };
        if !(1..=i64::from(Scalar::MAX_LANES)).contains(&lanes) {
            self.error(range, "lanes", format!("a vector has 1 to {} lanes", Scalar::MAX_LANES));
            return None;
        }
        let base = self.index(lower)?;
        if lanes == 1 {
            return Some(base);
        }
        let stride = self.builder(range).index(stride);
        let lanes = self.func.int_attr(lanes);
        self.infer(range, arith::RAMP, &[base, stride], &[(keys::LANES, lanes)])
    }

    /// The number `n` of `lower + n`.
    fn distance(&self, lower: &Expr, upper: &Expr) -> Option<i64> {
        let Expr::BinOp(sum) = upper else { return None };
        let same = sum.op == Operator::Add && self.text(sum.left.range()) == self.text(lower.range());
        literal_int(&sum.right).filter(|_| same)
    }

    /// Indices into `base`, from those of a view of it with the extents `extents`.
    fn reshaped(
        &mut self,
        range: TextRange,
        base: Value,
        extents: &[i64],
        offset: i64,
        indices: Vec<Value>,
    ) -> Option<Vec<Value>> {
        let shape: Vec<i64> = {
            let (_, shape, _) = self.func.as_shaped(self.func.value_type(base))?;
            shape.iter().map(|&dim| self.func.as_int(dim)).collect::<Option<_>>()?
        };
        if let [index] = indices[..]
            && shape.len() == 1
            && offset == 0
        {
            return Some(vec![index]);
        }
        let vector = indices.iter().any(|&index| self.scalar(index).is_some_and(|scalar| scalar.lanes > 1));
        if vector {
            self.refuse(range, "lanes of a view with other extents");
            return None;
        }
        let mut linear: Option<Value> = None;
        for (&index, &extent) in indices.iter().zip(extents) {
            linear = Some(match linear {
                None => index,
                Some(outer) => {
                    let extent = self.builder(range).index(extent);
                    let scaled = self.builder(range).infix(BinOp::Mul, &[outer, extent]);
                    self.builder(range).infix(BinOp::Add, &[scaled, index])
                }
            });
        }
        let mut linear = linear.unwrap_or_else(|| self.builder(range).index(0));
        if offset != 0 {
            let offset = self.builder(range).index(offset);
            linear = self.builder(range).infix(BinOp::Add, &[linear, offset]);
        }
        Some(self.divided(range, linear, &shape))
    }

    /// The indices that the position `linear` has in a buffer with the extents `shape`.
    fn divided(&mut self, range: TextRange, linear: Value, shape: &[i64]) -> Vec<Value> {
        let mut indices = Vec::new();
        for nth in 0..shape.len() {
            let stride: i64 = shape[nth + 1..].iter().fold(1i64, |product, &n| product.saturating_mul(n)).max(1);
            let mut index = linear;
            if stride > 1 {
                let stride = self.builder(range).index(stride);
                index = self.builder(range).infix(BinOp::Div, &[index, stride]);
            }
            if nth > 0 {
                let extent = self.builder(range).index(shape[nth].max(1));
                index = self.builder(range).infix(BinOp::Mod, &[index, extent]);
            }
            indices.push(index);
        }
        indices
    }

    pub(crate) fn load(&mut self, subscript: &'a ExprSubscript) -> Option<Value> {
        let (buffer, indices) = self.element_of(subscript)?;
        let operands: Vec<Value> = std::iter::once(buffer).chain(indices).collect();
        self.infer(subscript.range(), tir::LOAD, &operands, &[])
    }

    /// The element of a buffer that has one.
    pub(crate) fn only_element(&mut self, range: TextRange, name: &str, place: &Place) -> Option<Value> {
        if !self.has_one_element(place) {
            self.error(range, "type", format!("`{name}` is a buffer: name an element of it"));
            return None;
        }
        let zero = self.builder(range).index(0);
        self.infer(range, tir::LOAD, &[place.base, zero], &[])
    }

    pub(crate) fn has_one_element(&self, place: &Place) -> bool {
        let shaped = self.func.as_shaped(self.func.value_type(place.base));
        place.view.is_none()
            && shaped.is_some_and(|(_, shape, _)| matches!(shape, [one] if self.func.as_int(*one) == Some(1)))
    }

    /// `buffer[indices] = value`
    pub(crate) fn store(&mut self, range: TextRange, buffer: Value, indices: &[Value], value: &'a Expr) -> Option<()> {
        let expected = self.stored_type(buffer, indices)?;
        let value = self.value(value, Some(expected))?;
        self.store_value(range, buffer, indices, value);
        Some(())
    }

    pub(crate) fn store_value(&mut self, range: TextRange, buffer: Value, indices: &[Value], value: Value) {
        let mut operands = vec![buffer];
        operands.extend_from_slice(indices);
        operands.push(value);
        self.op(range, tir::STORE, &operands, &[], &[], 0);
    }

    pub(crate) fn stored_type(&mut self, buffer: Value, indices: &[Value]) -> Option<Type> {
        let (elem, ..) = self.func.as_shaped(self.func.value_type(buffer))?;
        let lanes = indices.last().and_then(|&index| self.scalar(index)).map_or(1, |scalar| scalar.lanes);
        match self.func.as_scalar(elem) {
            Some(Scalar { elem, lanes: 1 }) if lanes > 1 => Some(self.func.scalar_ty(Scalar { elem, lanes })),
            _ => Some(elem),
        }
    }
}
