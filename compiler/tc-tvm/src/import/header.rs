//! Headers of functions: parameters, sizes, attributes.
//!
//! TVM has no sizes: a scalar parameter that stands in the shape of a buffer is one, and so is a name that a shape
//! introduces, `T.Buffer(("n",), …)`, or that the body declares for `T.match_buffer`, `n = T.int32()`. Sizes come first in
//! tc. Those that tc exported bring their ranges and defaults along.

use super::annotations::string;
use super::buffer::Declared;
use super::state::{Bound, Place, Reader, member};
use crate::emit::OURS;
use crate::types;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};
use tc_ir::clone::Importer;
use tc_ir::func::{ParamDecl, SymbolDecl};
use tc_ir::{Attr, AttrData, Attrs, Elem, Scalar, Value, keys};

/// Attributes of functions that say nothing that a program of tc would have to know.
const IGNORED: &[&str] = &["from_legacy_te_schedule", "global_symbol", "tirx.is_entry_func", "tir.is_entry_func"];

/// Names in an expression.
#[derive(Default)]
struct Names<'a>(Vec<&'a str>);

impl<'a> Visitor<'a> for Names<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => self.0.push(name.id.as_str()),
            // A quoted extent introduces the names in it; a single one is enough.
            Expr::StringLiteral(literal) => {
                let text = literal.value.to_str();
                let is_name = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                if is_name && !text.as_bytes()[0].is_ascii_digit() {
                    self.0.push(text);
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

/// A parameter as the text has it.
struct Param<'a> {
    name: &'a str,
    range: TextRange,
    /// What stands for its type: the annotation, or the call of `T.match_buffer`.
    ty: &'a Expr,
    is_handle: bool,
}

impl<'a> Reader<'a> {
    /// Reads the header, with what the first statements of the body say of parameters.
    pub(crate) fn header(&mut self, function: &'a StmtFunctionDef) {
        let Some(params) = self.written_params(function) else { return };
        let buffers: Vec<&'a ExprCall> = params.iter().filter_map(|param| self.buffer_call(param.ty)).collect();
        let mut names = Names::default();
        for call in &buffers {
            let shape = call.arguments.find_argument_value("shape", usize::from(self.is_match(call)));
            shape.into_iter().for_each(|shape| names.visit_expr(shape));
        }
        let tir = self.words.tir.clone();
        let mut sizes: Vec<&'a str> = Vec::new();
        for param in params.iter().filter(|param| self.is_scalar(param.ty)) {
            if names.0.contains(&param.name) {
                sizes.push(param.name);
            }
        }
        for &name in names.0.iter().filter(|name| **name != tir) {
            if !sizes.contains(&name) {
                sizes.push(name);
            }
        }
        let exported = self.exported(function);
        self.sizes(function, &sizes, exported);
        for param in params.iter().filter(|param| !sizes.contains(&param.name)) {
            self.param(param);
        }
    }

    fn written_params(&mut self, function: &'a StmtFunctionDef) -> Option<Vec<Param<'a>>> {
        let parameters = &function.parameters;
        let plain = parameters.posonlyargs.is_empty() && parameters.kwonlyargs.is_empty();
        if !plain || parameters.vararg.is_some() || parameters.kwarg.is_some() {
            self.refuse(parameters.range, "a program has positional parameters only");
            return None;
        }
        let mut params = Vec::new();
        for param in &parameters.args {
            let name = param.parameter.name.as_str();
            let range = param.parameter.range;
            let Some(ty) = param.parameter.annotation.as_deref() else {
                self.error(range, "type", format!("the parameter `{name}` has no type"));
                return None;
            };
            let handle = matches!(member(ty, &self.words.tir).as_deref(), Some("handle"))
                || matches!(ty, Expr::Call(call) if self.called(call).as_deref() == Some("handle"));
            let matched = if handle { self.matched(function, name) } else { None };
            match matched {
                Some((name, ty)) => params.push(Param { name, range, ty, is_handle: true }),
                None => params.push(Param { name, range, ty, is_handle: false }),
            }
        }
        Some(params)
    }

    /// `A = T.match_buffer(a, …)`: the name and the call, for the parameter `a`.
    fn matched(&self, function: &'a StmtFunctionDef, param: &str) -> Option<(&'a str, &'a Expr)> {
        function.body.iter().find_map(|stmt| {
            let Stmt::Assign(assign) = stmt else { return None };
            let ([Expr::Name(name)], Expr::Call(call)) = (&assign.targets[..], &*assign.value) else { return None };
            let is_one = self.is_match(call)
                && matches!(call.arguments.args.first(), Some(Expr::Name(first)) if first.id == *param);
            is_one.then_some((name.id.as_str(), &*assign.value))
        })
    }

    /// Is it `T.match_buffer(…)`?
    pub(crate) fn is_match(&self, call: &ExprCall) -> bool {
        self.called(call).as_deref() == Some("match_buffer")
    }

    fn buffer_call(&self, expr: &'a Expr) -> Option<&'a ExprCall> {
        let Expr::Call(call) = expr else { return None };
        matches!(self.called(call).as_deref(), Some("Buffer" | "match_buffer")).then_some(call)
    }

    fn is_scalar(&self, ty: &Expr) -> bool {
        let name = match ty {
            Expr::Call(call) if call.arguments.is_empty() => self.called(call),
            other => member(other, &self.words.tir),
        };
        name.is_some_and(|name| types::parse(&name).is_some())
    }

    /// Is `value` a size of the function?
    pub(crate) fn is_size(&self, value: Value) -> bool {
        let n_sizes = self.func.header.symbols.len();
        self.func.region_args(self.func.body())[..n_sizes].contains(&value)
    }

    /// The strings of `"tc.sizes"` and `"tc.where"`, as tc wrote them.
    fn exported(&self, function: &'a StmtFunctionDef) -> Option<(Vec<String>, Vec<String>, TextRange)> {
        let dict = function.body.iter().find_map(|stmt| self.func_attr(stmt))?;
        let Expr::Dict(dict) = dict else { return None };
        let list = |wanted: &str| {
            let key = format!("{OURS}{wanted}");
            let item = dict.items.iter().find(|item| item.key.as_ref().and_then(string).as_deref() == Some(&key))?;
            let Expr::List(list) = &item.value else { return None };
            list.elts.iter().map(string).collect::<Option<Vec<String>>>()
        };
        let sizes = list("sizes")?;
        Some((sizes, list("where").unwrap_or_default(), dict.range))
    }

    /// The dictionary of `T.func_attr({…})`.
    pub(crate) fn func_attr(&self, stmt: &'a Stmt) -> Option<&'a Expr> {
        let Stmt::Expr(expr) = stmt else { return None };
        let Expr::Call(call) = &*expr.value else { return None };
        let is_one = self.called(call).as_deref() == Some("func_attr");
        call.arguments.args.first().filter(|_| is_one)
    }

    fn sizes(
        &mut self,
        function: &'a StmtFunctionDef,
        names: &[&'a str],
        exported: Option<(Vec<String>, Vec<String>, TextRange)>,
    ) {
        let index = self.func.index_ty();
        let body = self.func.body();
        let mut decls: Vec<SymbolDecl> = Vec::new();
        let mut order: Vec<&'a str> = names.to_vec();
        if let Some((sizes, facts, range)) = exported {
            let text = format!(
                "tir.func @f<{}>(){} {{\n}}\n",
                sizes.join(", "),
                if facts.is_empty() { String::new() } else { format!(" where {}", facts.join(", ")) }
            );
            let Some(header) = self.parse_header(range, &text) else { return };
            let mut importer = Importer::new(&header);
            for symbol in &header.header.symbols {
                let name = importer.name(&mut self.func, symbol.name);
                let range = symbol
                    .range
                    .map(|(low, high)| (importer.attr(&mut self.func, low), importer.attr(&mut self.func, high)));
                let default = symbol.default.map(|default| importer.attr(&mut self.func, default));
                decls.push(SymbolDecl { name, range, default });
            }
            let facts: Vec<Attr> =
                header.header.facts.iter().map(|&fact| importer.attr(&mut self.func, fact)).collect();
            self.func.header.facts = facts;
            // Those that no shape names are the first parameters all the same.
            let first = function.parameters.args.iter().take(decls.len()).map(|param| param.parameter.name.as_str());
            order = first.collect();
        }
        for (nth, name) in order.into_iter().enumerate() {
            if nth >= decls.len() {
                let name = self.func.name(name);
                decls.push(SymbolDecl { name, range: None, default: None });
            }
            let value = self.func.push_arg(body, index, None);
            self.func.set_value_name(value, Some(decls[nth].name));
            self.bind(name, Bound::Value(value));
        }
        self.func.header.symbols = decls;
    }

    fn param(&mut self, param: &Param<'a>) {
        // One that tc exported as a size was declared.
        if self.lookup(param.name).is_some() {
            return;
        }
        let declared = match self.buffer_call(param.ty) {
            Some(call) => self.param_buffer(call, param),
            None => self.param_scalar(param),
        };
        let Some((ty, attrs)) = declared else { return self.bind(param.name, Bound::Missing) };
        self.func.header.params.push(ParamDecl { attrs, choices: None, default: None });
        let body = self.func.body();
        let value = self.func.push_arg(body, ty, Some(param.name));
        let is_buffer = self.func.as_shaped(ty).is_some();
        let bound = if is_buffer { Bound::Buffer(Place { base: value, view: None }) } else { Bound::Value(value) };
        self.bind(param.name, bound);
    }

    fn param_buffer(&mut self, call: &'a ExprCall, param: &Param<'a>) -> Option<(tc_ir::Type, Attrs)> {
        if call.arguments.find_keyword("elem_offset").is_some() || call.arguments.find_keyword("data").is_some() {
            self.refuse(call.range(), "a parameter is a buffer of its own, from its first element on");
            return None;
        }
        let mut declared =
            if param.is_handle { self.matched_buffer(call)? } else { self.declared(&call.arguments, "global")? };
        if let Some(view) = self.scan.only_view(param.name).map(<[i64]>::to_vec) {
            self.flatten(&mut declared, &view);
        }
        let ty = self.buffer_type(&declared);
        let attrs = self.func.dict(&declared.attrs);
        Some((ty, attrs))
    }

    /// `T.match_buffer(a, shape, dtype, …)`
    fn matched_buffer(&mut self, call: &'a ExprCall) -> Option<Declared> {
        let Some(shape) = call.arguments.find_argument_value("shape", 1) else {
            self.error(call.range(), "arguments", "a buffer has extents");
            return None;
        };
        let shape = self.shape(shape)?;
        let elem = match call.arguments.find_argument_value("dtype", 2) {
            Some(ty) => self.element(ty)?,
            None => self.func.elem_ty(Elem::F32),
        };
        let mut attrs = Vec::new();
        if let Some(keyword) = call.arguments.find_keyword("align")
            && let Some(bytes) = super::scan::literal_int(&keyword.value)
        {
            attrs.push((keys::ALIGN, self.func.int_attr(bytes)));
        }
        if let Some(keyword) = call.arguments.find_keyword("strides") {
            let strides = self.shape(&keyword.value)?;
            if !strides.is_empty() {
                attrs.push((keys::STRIDES, self.func.attr(AttrData::List(strides.into()))));
            }
        }
        Some(Declared { elem, shape, scope: "global".to_string(), attrs })
    }

    /// A parameter that is only accessed through a view with as many elements has the extents of the view.
    fn flatten(&mut self, declared: &mut Declared, view: &[i64]) {
        let n_elements = |shape: &[i64]| shape.iter().try_fold(1i64, |product, &n| product.checked_mul(n));
        let shape: Option<Vec<i64>> = declared.shape.iter().map(|&dim| self.func.as_int(dim)).collect();
        let same = shape.and_then(|shape| n_elements(&shape)) == n_elements(view);
        if same && declared.attrs.iter().all(|(key, _)| *key != keys::STRIDES) {
            declared.shape = view.iter().map(|&n| self.func.int_attr(n)).collect();
        }
    }

    fn param_scalar(&mut self, param: &Param<'a>) -> Option<(tc_ir::Type, Attrs)> {
        let name = match param.ty {
            Expr::Call(call) if call.arguments.is_empty() => self.called(call),
            other => member(other, &self.words.tir),
        };
        match name.as_deref().and_then(types::parse) {
            Some(scalar @ Scalar { lanes: 1, .. }) => Some((self.func.scalar_ty(scalar), Attrs::EMPTY)),
            _ => {
                let text = "a parameter is a `T.Buffer(…)`, a number, or a handle with a `T.match_buffer`";
                self.refuse(param.range, text);
                None
            }
        }
    }

    /// `T.func_attr({…})`
    pub(crate) fn func_attrs(&mut self, dict: &'a Expr) {
        let Expr::Dict(dict) = dict else { return self.refuse(dict.range(), "attributes are written as a dictionary") };
        for item in &dict.items {
            let Some(key) = item.key.as_ref().and_then(string) else {
                self.refuse(item.value.range(), "the keys of attributes are strings");
                continue;
            };
            match key.as_str() {
                "tirx.noalias" | "tir.noalias" => self.func_entry("noalias", &item.value),
                key if IGNORED.contains(&key) => {}
                key => match key.strip_prefix(OURS) {
                    Some("sizes" | "where") => {}
                    Some(ours) => self.func_entry(ours, &item.value),
                    None => self.refuse(item.value.range(), format!("tc has no counterpart of the attribute `{key}`")),
                },
            }
        }
    }

    fn func_entry(&mut self, key: &str, value: &Expr) {
        let Some(value) = self.annotation(value) else { return };
        if *self.func.attr_data(value) == AttrData::Bool(false) {
            return;
        }
        let key = self.func.name(key);
        let attrs = self.func.header.attrs;
        self.func.header.attrs = self.func.with_entry(attrs, key, value);
    }
}
