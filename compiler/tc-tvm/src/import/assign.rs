//! Assignments: bindings, cells, declarations, stores.

use super::annotations::string;
use super::number::Number;
use super::state::{Bound, Place, Reader, member};
use crate::types;
use ruff_python_ast::{Expr, ExprCall, Operator, StmtAnnAssign, StmtAssign, StmtAugAssign};
use ruff_text_size::{Ranged, TextRange};
use tc_ir::attrs::BinOp;
use tc_ir::{Elem, Type, TypeData};

/// What an annotation says of a name.
enum Annotation {
    /// `T.let`, `T.let[…]`: it keeps its value.
    Let(Option<Type>),
    /// `T.int32`: TVM 0.16 binds it, and TVM 0.27 makes a cell of it.
    Cell(Type),
    /// `T.float32[4]`
    Vector(Type, Vec<i64>),
}

impl<'a> Reader<'a> {
    pub(crate) fn assign(&mut self, node: &'a StmtAssign) {
        let [target] = &node.targets[..] else {
            return self.refuse(node.range, "TVM assigns to one target");
        };
        match target {
            Expr::Subscript(subscript) => {
                let Some((buffer, indices)) = self.element_of(subscript) else { return };
                self.store(node.range, buffer, &indices, &node.value);
            }
            Expr::Name(name) => self.assign_name(node.range, name.id.as_str(), &node.value),
            other => self.refuse(other.range(), "a statement assigns to a name or an element"),
        }
    }

    fn assign_name(&mut self, range: TextRange, name: &'a str, value: &'a Expr) {
        if let Expr::Call(call) = value
            && let Some(function) = self.called(call)
            && self.declares(range, name, &function, call)
        {
            if self.lookup(name).is_none() {
                self.bind(name, Bound::Missing);
            }
            return;
        }
        if let Expr::Call(call) = value
            && let Expr::Attribute(method) = &*call.func
            && method.attr.as_str() == "view"
            && self.called(call).is_none()
        {
            if self.view_method(range, name, &method.value, call).is_none() {
                self.bind(name, Bound::Missing);
            }
            return;
        }
        match self.lookup(name).cloned() {
            Some(Bound::Buffer(place)) if self.has_one_element(&place) => {
                let zero = self.builder(range).index(0);
                self.store(range, place.base, &[zero], value);
            }
            _ => self.cell_or_let(range, name, None, value),
        }
    }

    /// Makes what `function` of `T` declares as `name`; says whether it declares something.
    fn declares(&mut self, range: TextRange, name: &'a str, function: &str, call: &'a ExprCall) -> bool {
        let done = match function {
            "alloc_buffer" | "sblock_alloc_buffer" => self.alloc(range, name, call, "global"),
            "alloc_shared" => self.alloc(range, name, call, "shared"),
            "alloc_local" => self.alloc(range, name, call, "local"),
            "Buffer" | "decl_buffer" | "buffer_decl" => self.declare_view(range, name, call),
            "allocate" => self.allocate(range, name, call),
            "local_scalar" => self.scalar_cell(range, name, call, "local"),
            "shared_scalar" => self.scalar_cell(range, name, call, "shared"),
            "launch_thread" => {
                self.launch(call, Some(name));
                Some(())
            }
            "env_thread" => self.env_thread(name, call),
            // The header read it.
            "match_buffer" => Some(()),
            "var" => Some(()),
            _ if call.arguments.is_empty() && types::parse(function).is_some() => Some(()),
            _ => return false,
        };
        if done.is_none() {
            self.bind(name, Bound::Missing);
        }
        true
    }

    fn env_thread(&mut self, name: &'a str, call: &'a ExprCall) -> Option<()> {
        let Some(tag) = call.arguments.args.first().and_then(string) else {
            self.refuse(call.range(), "a launch coordinate is named by a string");
            return None;
        };
        self.bind(name, Bound::Thread(tag));
        Some(())
    }

    /// `T.local_scalar("float32")`
    fn scalar_cell(&mut self, range: TextRange, name: &'a str, call: &'a ExprCall, scope: &str) -> Option<()> {
        let elem = match call.arguments.find_argument_value("dtype", 0) {
            Some(ty) => self.element(ty)?,
            None => self.func.elem_ty(Elem::F32),
        };
        self.cell(range, name, elem, scope).map(drop)
    }

    /// `T.allocate([4], "float32", "shared")`
    pub(crate) fn allocate(&mut self, range: TextRange, name: &'a str, call: &'a ExprCall) -> Option<()> {
        let arguments = &call.arguments;
        let (Some(extents), Some(ty)) =
            (arguments.find_argument_value("extents", 0), arguments.find_argument_value("dtype", 1))
        else {
            self.error(range, "arguments", "`T.allocate` takes extents and a type");
            return None;
        };
        let (shape, elem) = (self.shape(extents)?, self.element(ty)?);
        let scope = arguments.find_argument_value("scope", 2).and_then(string).unwrap_or_else(|| "global".to_string());
        if tc_dialects::scope::Scope::parse(&scope).is_none() {
            self.error(range, "scope", format!("tc has no scope `{}`", tc_support::suggest::shorten(&scope)));
            return None;
        }
        let scope = Some(self.func.name(&scope));
        let ty = self.func.ty(TypeData::Shaped { elem, shape: shape.into(), scope });
        let buffer = self.make_alloc(range, name, ty, &[])?;
        self.bind(name, Bound::Pointer(buffer));
        Some(())
    }

    /// `V = U.view("float32")`: all of `U`, with elements of another type.
    fn view_method(&mut self, range: TextRange, name: &'a str, base: &'a Expr, call: &'a ExprCall) -> Option<()> {
        let place = match base {
            Expr::Name(base) => match self.lookup(base.id.as_str()) {
                Some(Bound::Buffer(place @ Place { view: None, .. })) => Some(place.clone()),
                _ => None,
            },
            _ => None,
        };
        let (Some(place), [ty]) = (place, &call.arguments.args[..]) else {
            self.refuse(range, "a view of this kind");
            return None;
        };
        let elem = self.element(ty)?;
        let (old, shape, scope) = self.func.as_shaped(self.func.value_type(place.base))?;
        let bytes = |ty| self.func.as_scalar(ty).map(|scalar| i64::from(scalar.bytes()));
        let (n, from, to) = (shape.first().and_then(|&dim| self.func.as_int(dim)), bytes(old), bytes(elem));
        let scope = scope.map_or("global".to_string(), |scope| self.func.text(scope).to_string());
        let ([_], Some(n), Some(from), Some(to)) = (shape, n, from, to) else {
            self.refuse(range, "a view of a buffer with several dimensions");
            return None;
        };
        let extent = n.saturating_mul(from) / to.max(1);
        let shape = vec![self.func.int_attr(extent)];
        let view = super::buffer::Declared { elem, shape, scope, attrs: Vec::new() };
        let place = self.view_of(range, name, place.base, view, 0)?;
        self.bind(name, Bound::Buffer(place));
        Some(())
    }

    pub(crate) fn annotated(&mut self, node: &'a StmtAnnAssign) {
        let Expr::Name(name) = &*node.target else {
            return self.refuse(node.target.range(), "an annotation is of a name");
        };
        let name = name.id.as_str();
        let Some(annotation) = self.annotation_of(&node.annotation) else {
            return self.bind(name, Bound::Missing);
        };
        match (annotation, &node.value) {
            (Annotation::Let(ty), Some(value)) => self.let_name(node.range, name, ty, value),
            (Annotation::Cell(ty), Some(value)) => self.cell_or_let(node.range, name, Some(ty), value),
            (Annotation::Cell(ty), None) => drop(self.cell(node.range, name, ty, "local")),
            (Annotation::Vector(elem, extents), None) => {
                let shape = extents.into_iter().map(|n| self.func.int_attr(n)).collect();
                let scope = Some(self.func.name("local"));
                let ty = self.func.ty(TypeData::Shaped { elem, shape, scope });
                if let Some(base) = self.make_alloc(node.range, name, ty, &[]) {
                    self.bind(name, Bound::Buffer(Place { base, view: None }));
                }
            }
            (Annotation::Let(_), None) => self.error(node.range, "let", "`T.let` wants a value"),
            (Annotation::Vector(..), Some(_)) => self.refuse(node.range, "a vector begins without a value"),
        }
    }

    fn annotation_of(&mut self, expr: &'a Expr) -> Option<Annotation> {
        if member(expr, &self.words.tir).as_deref() == Some("let") {
            return Some(Annotation::Let(None));
        }
        match expr {
            Expr::Subscript(subscript) if member(&subscript.value, &self.words.tir).as_deref() == Some("let") => {
                self.element(&subscript.slice).map(|ty| Annotation::Let(Some(ty)))
            }
            Expr::Subscript(subscript) => {
                let elem = self.element(&subscript.value)?;
                match super::scan::literal_shape(&subscript.slice) {
                    Some(shape) => Some(Annotation::Vector(elem, shape)),
                    None => {
                        self.error(expr.range(), "extent", "the extents of a vector are numbers");
                        None
                    }
                }
            }
            other => self.element(other).map(Annotation::Cell),
        }
    }

    /// What a name is called that keeps its value. Integers that count are `index`, whatever their width.
    fn let_name(&mut self, range: TextRange, name: &'a str, ty: Option<Type>, value: &'a Expr) {
        let Some(number) = self.expr(value) else { return self.bind(name, Bound::Missing) };
        let elem = ty.and_then(|ty| self.func.as_scalar(ty)).map(|scalar| scalar.elem);
        let of_width = |number: Number| match number {
            Number::Value(value) => self.scalar(value).is_some_and(|scalar| scalar.elem == Elem::Index),
            Number::Int(_) => true,
            Number::Float(_) => false,
        };
        let counts = matches!(elem, Some(Elem::I32 | Elem::I64)) && of_width(number);
        self.bind_number(range, name, number, ty.filter(|_| !counts));
    }

    /// A name that gets another value later is a cell in `local` memory.
    fn cell_or_let(&mut self, range: TextRange, name: &'a str, ty: Option<Type>, value: &'a Expr) {
        if !self.scan.is_reassigned(name) {
            return self.let_name(range, name, ty, value);
        }
        let Some(number) = self.expr(value) else { return self.bind(name, Bound::Missing) };
        let ty = match (ty, number) {
            (Some(ty), _) => ty,
            (None, Number::Value(value)) => self.func.value_type(value),
            (None, Number::Int(_)) => self.func.elem_ty(Elem::I32),
            (None, Number::Float(_)) => self.func.elem_ty(Elem::F32),
        };
        let ty = if ty == self.func.index_ty() { self.func.elem_ty(Elem::I32) } else { ty };
        let Some(value) = self.settle(range, number, Some(ty)) else { return self.bind(name, Bound::Missing) };
        let Some(cell) = self.cell(range, name, ty, "local") else { return };
        let zero = self.builder(range).index(0);
        self.store_value(range, cell, &[zero], value);
    }

    /// `A[i] += x`
    pub(crate) fn augmented(&mut self, node: &'a StmtAugAssign) {
        let sign = match node.op {
            Operator::Add => BinOp::Add,
            Operator::Sub => BinOp::Sub,
            Operator::Mult => BinOp::Mul,
            Operator::Div | Operator::FloorDiv => BinOp::Div,
            Operator::Mod => BinOp::Mod,
            _ => return self.refuse(node.range, format!("TVM has no operator `{}=`", node.op.as_str())),
        };
        let element = match &*node.target {
            Expr::Subscript(subscript) => self.element_of(subscript),
            Expr::Name(name) => match self.lookup(name.id.as_str()).cloned() {
                Some(Bound::Buffer(place)) if self.has_one_element(&place) => {
                    let zero = self.builder(node.range).index(0);
                    Some((place.base, vec![zero]))
                }
                Some(Bound::Missing) => None,
                _ => {
                    self.error(node.range, "type", format!("`{}` cannot be assigned to", name.id));
                    None
                }
            },
            other => {
                self.refuse(other.range(), "a statement assigns to a name or an element");
                None
            }
        };
        let Some((buffer, indices)) = element else { return };
        let operands: Vec<tc_ir::Value> = std::iter::once(buffer).chain(indices.iter().copied()).collect();
        let Some(before) = self.infer(node.range, tc_dialects::tir::LOAD, &operands, &[]) else { return };
        let Some(rhs) = self.expr(&node.value) else { return };
        let is_float = self.scalar(before).is_some_and(|scalar| scalar.elem.is_float());
        if sign == BinOp::Div && is_float != (node.op == Operator::Div) {
            return self.error(node.range, "type", "`/` divides floats, and `//` integers");
        }
        let Some(number) = self.binary(node.range, sign, Number::Value(before), rhs) else { return };
        let expected = self.stored_type(buffer, &indices);
        let Some(value) = self.settle(node.range, number, expected) else { return };
        self.store_value(node.range, buffer, &indices, value);
    }
}
