//! What reading a function carries along; making ops; names in scope.

use super::MAX_DEPTH;
use super::scan::Scan;
use ruff_python_ast::{Expr, ExprCall, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tc_dialects::tir;
use tc_ir::builder::OpSpec;
use tc_ir::{Attr, Attrs, Builder, Func, Loc, Name, Op, Opcode, Region, Registry, Type, Value};
use tc_support::{Diagnostic, Diagnostics, Pos, Span};

/// What the text calls the modules of TVM.
#[derive(Clone, Debug)]
pub(crate) struct Vocabulary {
    pub(crate) tir: String,
}

impl Default for Vocabulary {
    fn default() -> Vocabulary {
        Vocabulary { tir: "T".to_string() }
    }
}

/// A buffer as a name of the text sees it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) base: Value,
    /// Extents of its own, where they are not those of `base`, and the element of `base` that it begins with.
    pub(crate) view: Option<(Vec<i64>, i64)>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    /// A number.
    Value(Value),
    /// A buffer; of one element also that element.
    Buffer(Place),
    /// What `T.allocate` gives: buffers are declared over it.
    Pointer(Value),
    /// A launch coordinate that `T.env_thread` names.
    Thread(String),
    /// Its definition failed.
    Missing,
}

/// A function on its way.
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a str,
    pub(crate) base: Pos,
    pub(crate) words: &'a Vocabulary,
    pub(crate) scan: Scan,
    pub(crate) func: Func,
    /// Where ops are made.
    pub(crate) region: Region,
    pub(crate) found: Diagnostics,
    /// The combiner of the reduction across threads that is being read.
    pub(crate) reducer: Option<&'a Expr>,
    names: FxHashMap<&'a str, Vec<Bound>>,
    log: Vec<&'a str>,
    depth: u32,
}

/// The piece `range` of the file that starts at `base`.
pub(crate) fn span(base: Pos, range: TextRange) -> Span {
    Span::new(Pos(base.0 + u32::from(range.start())), Pos(base.0 + u32::from(range.end())))
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        registry: Arc<Registry>,
        source: &'a str,
        base: Pos,
        words: &'a Vocabulary,
        function: &'a StmtFunctionDef,
    ) -> Reader<'a> {
        let func = Func::new(registry, tir::FUNC, function.name.as_str());
        let region = func.body();
        Reader {
            source,
            base,
            words,
            scan: Scan::of(function, &words.tir),
            func,
            region,
            found: Diagnostics::new(),
            reducer: None,
            names: FxHashMap::default(),
            log: Vec::new(),
            depth: 0,
        }
    }

    /// The program, if nothing was wrong, and what was found.
    pub(crate) fn read(mut self, function: &'a StmtFunctionDef) -> (Option<Func>, Diagnostics) {
        self.func.header.loc = self.loc(function.name.range());
        self.header(function);
        if !self.found.has_errors() {
            self.block(&function.body);
        }
        self.func.shrink();
        let keep = !self.found.has_errors();
        (keep.then_some(self.func), self.found)
    }

    pub(crate) fn loc(&self, range: TextRange) -> Loc {
        Loc::pos(Pos(self.base.0 + u32::from(range.start())))
    }

    /// The text of a piece.
    pub(crate) fn text(&self, range: TextRange) -> &'a str {
        self.source.get(range.start().into()..range.end().into()).unwrap_or("")
    }

    pub(crate) fn error(&mut self, range: TextRange, code: &'static str, text: impl Into<String>) {
        self.found.push(Diagnostic::error(code, span(self.base, range), text));
    }

    pub(crate) fn error_with(&mut self, range: TextRange, code: &'static str, text: impl Into<String>, help: &str) {
        self.found.push(Diagnostic::error(code, span(self.base, range), text).help(help));
    }

    /// tc has no counterpart of what stands at `range`.
    pub(crate) fn refuse(&mut self, range: TextRange, text: impl Into<String>) {
        self.error(range, "no-counterpart", text);
    }

    /// Runs `run` one level deeper; an error where that is too deep.
    pub(crate) fn deeper<T>(&mut self, range: TextRange, run: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.error(range, "too-deep", format!("expressions and blocks may be nested {MAX_DEPTH} deep"));
            return None;
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    pub(crate) fn builder(&mut self, range: TextRange) -> Builder<'_> {
        let loc = self.loc(range);
        let mut builder = Builder::at_end(&mut self.func, self.region);
        builder.locs.source = loc;
        builder
    }

    pub(crate) fn op(
        &mut self,
        range: TextRange,
        opcode: Opcode,
        operands: &[Value],
        attrs: &[(Name, Attr)],
        results: &[Type],
        n_regions: usize,
    ) -> Op {
        let attrs = if attrs.is_empty() { Attrs::EMPTY } else { self.func.dict(attrs) };
        self.builder(range).op(OpSpec { opcode, operands, keyed: 0, attrs, results, n_regions })
    }

    /// Makes an op with one result, whose type its row infers.
    pub(crate) fn infer(
        &mut self,
        range: TextRange,
        opcode: Opcode,
        operands: &[Value],
        attrs: &[(Name, Attr)],
    ) -> Option<Value> {
        let dict = self.func.dict(attrs);
        match self.func.infer_type(opcode, operands, dict) {
            Ok(ty) => {
                let op = self.op(range, opcode, operands, attrs, &[ty], 0);
                self.func.result(op)
            }
            Err(reason) => {
                self.error(range, "type", reason);
                None
            }
        }
    }

    /// Makes ops in `region`, then goes on where this was.
    pub(crate) fn inside<T>(&mut self, region: Region, run: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.region, region);
        let mark = self.enter();
        let result = run(self);
        self.leave(mark);
        self.region = outer;
        result
    }

    pub(crate) fn enter(&self) -> usize {
        self.log.len()
    }

    pub(crate) fn leave(&mut self, mark: usize) {
        for name in self.log.drain(mark..) {
            if let Some(stack) = self.names.get_mut(name) {
                stack.pop();
            }
        }
    }

    /// `name` stands for `bound` from here on, until its block ends.
    pub(crate) fn bind(&mut self, name: &'a str, bound: Bound) {
        self.names.entry(name).or_default().push(bound);
        self.log.push(name);
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<&Bound> {
        self.names.get(name).and_then(|stack| stack.last())
    }

    pub(crate) fn visible_names(&self) -> impl Iterator<Item = &'a str> + Clone + '_ {
        self.log.iter().copied()
    }

    /// Gives `value` the name, unless it has one.
    pub(crate) fn name(&mut self, value: Value, name: &str) {
        if self.func.value_name(value).is_none() {
            let name = self.func.name(name);
            self.func.set_value_name(value, Some(name));
        }
    }

    /// The function of `T` that is called: `min` of `T.min(…)`, `ptx.ex2.approx` of `T.ptx.ex2.approx(…)`.
    pub(crate) fn called(&self, call: &ExprCall) -> Option<String> {
        member(&call.func, &self.words.tir)
    }
}

/// The path below `T` of an expression: `min` of `T.min`.
pub(crate) fn member(expr: &Expr, tir: &str) -> Option<String> {
    let (mut at, mut parts) = (expr, Vec::new());
    loop {
        match at {
            Expr::Attribute(attribute) => {
                parts.push(attribute.attr.as_str());
                at = &attribute.value;
            }
            Expr::Name(name) if name.id.as_str() == tir && !parts.is_empty() => {
                parts.reverse();
                return Some(parts.join("."));
            }
            _ => return None,
        }
    }
}
