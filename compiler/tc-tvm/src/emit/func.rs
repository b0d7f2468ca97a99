//! A program: its header, its lines, and what is known while they are written.

use super::expr::Expr;
use super::names;
use super::nest::Nesting;
use rustc_hash::{FxHashMap, FxHashSet};
use tc_ir::walk::all_ops;
use tc_ir::{Attr, AttrData, BinOp, Elem, Func, Name, Op, Scalar, TypeData, Value, keys};
use tc_kernel::names::Names;
use tc_support::{Diagnostic, Diagnostics};

/// Attributes of functions that TVM has a name of its own for.
const FUNC_ATTRS: &[(Name, &str)] = &[(keys::NOALIAS, "tirx.noalias")];

/// Before a key of ours in TVM's text.
pub(crate) const OURS: &str = "tc.";

/// A function in the making.
pub(crate) struct Writer<'a> {
    pub(crate) func: &'a Func,
    pub(crate) nest: Nesting,
    pub(crate) names: Names,
    /// What is written where a value is used that is no expression of its own.
    pub(crate) spelled: FxHashMap<Value, Expr>,
    /// Buffers that are written with one dimension more than they have, of extent 1.
    pub(crate) padded: FxHashSet<Value>,
    /// Does `index` have 64 bits here?
    pub(crate) wide: bool,
    pub(crate) found: Diagnostics,
    lines: String,
    depth: usize,
}

impl<'a> Writer<'a> {
    /// Nothing yet of `func`.
    pub(crate) fn new(func: &'a Func) -> Writer<'a> {
        let all = func.params().iter().copied().chain(all_ops(func).flat_map(|op| func.results(op)));
        let args = all_ops(func).flat_map(|op| func.op_regions(op).iter().flat_map(|&region| func.region_args(region)));
        let authors: Vec<&str> = all.chain(args.copied()).map(|value| func.value_text(value)).collect();
        let is_name = |name: &&str| !name.is_empty();
        Writer {
            func,
            nest: Nesting::new(func),
            names: Names::new(names::safe, authors.into_iter().filter(is_name)),
            spelled: FxHashMap::default(),
            padded: FxHashSet::default(),
            wide: is_wide(func),
            found: Diagnostics::new(),
            lines: String::new(),
            depth: 1,
        }
    }

    /// The definition of the function under the name `symbol`.
    pub(crate) fn write(mut self, symbol: &str) -> Result<String, Diagnostics> {
        self.line("@T.prim_func");
        let params = self.params();
        self.open(&format!("def {symbol}({}):", params.join(", ")));
        self.attributes();
        self.block(self.func.body());
        if self.found.has_errors() { Err(self.found) } else { Ok(self.lines) }
    }

    /// The sizes, then what the caller hands over: names of sizes stand in the shapes of buffers.
    fn params(&mut self) -> Vec<String> {
        let func = self.func;
        let args = func.region_args(func.body());
        let (sizes, params) = args.split_at(func.header.symbols.len());
        let mut texts = Vec::new();
        for &size in sizes {
            let name = self.declare(size, "n");
            let ty = self.type_name(Scalar::of(Elem::Index)).unwrap_or_default();
            texts.push(format!("{name}: T.{ty}"));
        }
        for (nth, &param) in params.iter().enumerate() {
            let name = self.declare(param, "p");
            let attrs = func.header.params.get(nth).map_or(&[][..], |decl| func.entries(decl.attrs));
            match func.type_data(func.value_type(param)) {
                TypeData::Scalar(scalar) => match self.type_name(*scalar) {
                    Some(ty) => texts.push(format!("{name}: T.{ty}")),
                    None => self.lacks_param(param),
                },
                TypeData::Shaped { .. } => match self.buffer_type(param, attrs) {
                    Some(ty) => texts.push(format!("{name}: T.Buffer({ty})")),
                    None => self.lacks_param(param),
                },
                _ => self.lacks_param(param),
            }
        }
        texts
    }

    fn lacks_param(&mut self, param: Value) {
        let func = self.func;
        let (name, ty) = (func.value_text(param), func.show_type(func.value_type(param)));
        let text = format!("TVM has no counterpart of the parameter `{name}` of type `{ty}`");
        self.found.push(Diagnostic::error("no-counterpart", func.location(func.header.loc), text));
    }

    /// What the header says besides parameters.
    fn attributes(&mut self) {
        let func = self.func;
        let mut entries: Vec<String> = Vec::new();
        for &(key, value) in func.entries(func.header.attrs) {
            match FUNC_ATTRS.iter().find(|(known, _)| *known == key) {
                Some((_, name)) => entries.push(format!("\"{name}\": True")),
                // The operator stays behind.
                None if key == keys::IMPLEMENTS => {}
                None => entries.push(self.annotation(key, value)),
            }
        }
        let quote = |texts: Vec<String>| texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ");
        let sizes: Vec<String> = func.header.symbols.iter().map(|size| self.size(size)).collect();
        if !sizes.is_empty() {
            entries.push(format!("\"{OURS}sizes\": [{}]", quote(sizes)));
        }
        let facts: Vec<String> = func.header.facts.iter().map(|&fact| func.show_attr(fact)).collect();
        if !facts.is_empty() {
            entries.push(format!("\"{OURS}where\": [{}]", quote(facts)));
        }
        if !entries.is_empty() {
            self.line(&format!("T.func_attr({{{}}})", entries.join(", ")));
        }
    }

    /// `n: 1..65536 = 1024`, with the name that the size has here.
    fn size(&self, size: &tc_ir::func::SymbolDecl) -> String {
        let func = self.func;
        let mut text = func.text(size.name).to_string();
        if let Some((low, high)) = size.range {
            text.push_str(&format!(": {}..{}", func.show_attr(low), func.show_attr(high)));
        }
        if let Some(default) = size.default {
            text.push_str(&format!(" = {}", func.show_attr(default)));
        }
        text
    }

    /// An attribute of ours that TVM keeps without knowing it.
    pub(crate) fn annotation(&self, key: Name, value: Attr) -> String {
        let name = format!("{OURS}{}", self.func.text(key));
        let value = match self.func.attr_data(value) {
            AttrData::Unit => "True".to_string(),
            AttrData::Int(value, None) if i32::try_from(*value).is_ok() => value.to_string(),
            _ => quoted(&self.func.show_attr(value)),
        };
        format!("{}: {value}", quoted(&name))
    }

    /// A name for `value`, and that it is what is written for it.
    pub(crate) fn declare(&mut self, value: Value, fallback: &str) -> String {
        let text = self.func.value_text(value);
        let name = if text.is_empty() && fallback.is_empty() {
            self.names.temporary()
        } else {
            self.names.declare(text, fallback)
        };
        self.spelled.insert(value, Expr::atom(&*name));
        name.to_string()
    }

    pub(crate) fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.lines.push_str("    ");
        }
        self.lines.push_str(text);
        self.lines.push('\n');
    }

    /// How much was written so far.
    pub(crate) fn length(&self) -> usize {
        self.lines.len()
    }

    /// A line that opens a block.
    pub(crate) fn open(&mut self, text: &str) {
        self.line(text);
        self.depth += 1;
    }

    /// Ends a block.
    pub(crate) fn close(&mut self) {
        self.depth -= 1;
    }

    /// TVM has no counterpart of `op`.
    pub(crate) fn no_counterpart(&mut self, op: Op) -> Expr {
        let text = format!("TVM has no counterpart of `{}`", self.func.op_name(op));
        self.refuse(op, text)
    }

    /// TVM has no type `scalar`, which `op` makes.
    pub(crate) fn lacks_type(&mut self, op: Op, scalar: Scalar) -> Expr {
        self.refuse(op, format!("TVM has no type `{scalar}`"))
    }

    /// `op` cannot be written.
    pub(crate) fn refuse(&mut self, op: Op, text: String) -> Expr {
        self.found.push(Diagnostic::error("no-counterpart", self.func.op_location(op), text));
        Expr::atom("0")
    }

    /// A value that was not declared: what should have done so was refused.
    pub(crate) fn stray(&mut self, value: Value) -> Expr {
        if !self.found.has_errors() {
            let text = format!("`{}` is used and was not written", self.func.value_text(value));
            self.found.push(Diagnostic::bug("undeclared", self.func.location(self.func.header.loc), text));
        }
        Expr::atom("0")
    }
}

/// `text` as a literal of Python.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Has a buffer too many elements for indices of 32 bits, or may have as many as a size without a bound says?
fn is_wide(func: &Func) -> bool {
    const LIMIT: i128 = 1 << 31;
    let unbounded = func.header.symbols.iter().any(|size| match size.range {
        Some((_, high)) => func.as_int(high).is_none_or(|high| i128::from(high) > LIMIT),
        None => true,
    });
    let high = |name: Name| {
        let size = func.header.symbols.iter().find(|size| size.name == name)?;
        func.as_int(size.range?.1).map(i128::from)
    };
    let results = all_ops(func).flat_map(|op| func.results(op));
    let buffers = func.params().iter().copied().chain(results);
    let n_elements = |value: Value| {
        let (_, shape, _) = func.as_shaped(func.value_type(value))?;
        let mut product = 1i128;
        for &dim in shape {
            product = product.saturating_mul(greatest(func, dim, &high, 0)?);
        }
        Some(product)
    };
    let is_large =
        |value: Value| func.as_shaped(func.value_type(value)).is_some() && n_elements(value).is_none_or(|n| n >= LIMIT);
    unbounded || buffers.into_iter().any(is_large)
}

/// A bound of an extent, which is positive, where sizes have bounds.
fn greatest(func: &Func, dim: Attr, high: &dyn Fn(Name) -> Option<i128>, depth: u32) -> Option<i128> {
    const MAX_DEPTH: u32 = 64;
    if depth > MAX_DEPTH {
        return None;
    }
    let bound = |attr: Attr| greatest(func, attr, high, depth + 1);
    match func.attr_data(dim) {
        AttrData::Int(value, _) => Some(*value),
        AttrData::Word(name) => high(*name),
        AttrData::Binary(BinOp::Mul, lhs, rhs) => bound(*lhs)?.checked_mul(bound(*rhs)?.max(1)),
        AttrData::Binary(BinOp::Add, lhs, rhs) => bound(*lhs)?.checked_add(bound(*rhs)?),
        AttrData::Binary(BinOp::Sub | BinOp::Div | BinOp::Mod, lhs, _) => bound(*lhs),
        _ => None,
    }
}
