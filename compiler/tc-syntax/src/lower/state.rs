//! What lowering an item carries along, and how it makes ops and reports errors.

use super::item::ParseOptions;
use super::scope::{Binding, Scopes};
use crate::tree::{ExprId, TextRange, Tree};
use rustc_hash::FxHashSet;
use tc_ir::attrs::{BinOp, UnOp};
use tc_ir::builder::OpSpec;
use tc_ir::opdef::{Context, Role};
use tc_ir::{Attr, Attrs, Builder, Func, Loc, Locs, Name, Op, Opcode, Region, Registry, Type, Value, keys};
use tc_support::{Diagnostic, Diagnostics, Fix, FixEdit, Pos, suggest};

/// The ops behind sugar, looked up once an item.
#[derive(Clone, Copy)]
pub(super) struct Sugar {
    pub(super) constant: Opcode,
    pub(super) compare: Opcode,
    pub(super) cast: Opcode,
    pub(super) load: Opcode,
    pub(super) read: Opcode,
    pub(super) store: Opcode,
    pub(super) branch: Opcode,
    pub(super) yields: Opcode,
    binary: [Opcode; BinOp::ALL.len()],
    unary: [Opcode; 2],
}

impl Sugar {
    pub(super) fn new(registry: &Registry, context: Context) -> Sugar {
        let any = |role| registry.by_role(Context::Any, role).unwrap_or(Opcode::UNKNOWN);
        let here = |role| registry.by_role(context, role).unwrap_or(Opcode::UNKNOWN);
        let mut binary = [Opcode::UNKNOWN; BinOp::ALL.len()];
        for (slot, &op) in binary.iter_mut().zip(BinOp::ALL) {
            *slot = any(Role::Binary(op));
        }
        Sugar {
            constant: any(Role::Constant),
            compare: any(Role::Compare),
            cast: any(Role::Cast),
            load: any(Role::Load),
            read: registry.by_role(Context::Te, Role::Load).unwrap_or(Opcode::UNKNOWN),
            store: any(Role::Store),
            branch: here(Role::If),
            yields: any(Role::Yield),
            binary,
            unary: [any(Role::Unary(UnOp::Neg)), any(Role::Unary(UnOp::Not))],
        }
    }

    pub(super) fn binary(&self, op: BinOp) -> Opcode {
        self.binary[op as usize]
    }

    pub(super) fn unary(&self, op: UnOp) -> Opcode {
        self.unary[op as usize]
    }
}

/// Lowers one item.
pub(super) struct Lower<'a> {
    pub(super) tree: &'a Tree,
    pub(super) source: &'a str,
    pub(super) options: &'a ParseOptions,
    pub(super) base: Pos,
    pub(super) func: Func,
    pub(super) context: Context,
    pub(super) sugar: Sugar,
    pub(super) scopes: Scopes,
    /// Names whose definition failed: their uses are not reported as well.
    pub(super) missing: FxHashSet<&'a str>,
    pub(super) region: Region,
    /// Do `index` and other integers mix here? They do inside brackets and bounds.
    pub(super) mixing: bool,
    /// The location of the directive that made the current statement, as the text says.
    pub(super) directive: Loc,
    pub(super) found: Diagnostics,
}

/// Diagnostics of one item beyond this number are dropped.
const MAX_DIAGNOSTICS: usize = 100;

impl<'a> Lower<'a> {
    /// The text of `range`.
    pub(super) fn text(&self, range: TextRange) -> &'a str {
        range.of(self.source)
    }

    /// Reports an error at `range`.
    pub(super) fn error(&mut self, range: TextRange, code: &'static str, message: impl Into<String>) {
        self.report(Diagnostic::error(code, self.tree.span(range), message));
    }

    /// Reports an error at `range` with a help.
    pub(super) fn error_with(&mut self, range: TextRange, code: &'static str, message: String, help: Option<String>) {
        let mut diagnostic = Diagnostic::error(code, self.tree.span(range), message);
        diagnostic.help = help;
        self.report(diagnostic);
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < MAX_DIAGNOSTICS {
            self.found.push(diagnostic);
        }
    }

    /// The location of `range` in the file.
    pub(super) fn loc(&self, range: TextRange) -> Loc {
        Loc::pos(Pos(self.base.0 + range.start))
    }

    /// The location of an expression.
    pub(super) fn expr_loc(&self, expr: ExprId) -> Loc {
        self.loc(self.tree[expr].range)
    }

    /// A builder at the end of the current region.
    pub(super) fn builder(&mut self, loc: Loc) -> Builder<'_> {
        let mut builder = Builder::at_end(&mut self.func, self.region);
        builder.locs = Locs { source: loc, directive: self.directive };
        builder
    }

    /// Makes an op at the end of the current region.
    pub(super) fn emit(&mut self, loc: Loc, spec: OpSpec<'_>) -> Op {
        self.builder(loc).op(spec)
    }

    /// Makes an op with one result at the end of the current region.
    pub(super) fn emit_value(&mut self, loc: Loc, opcode: Opcode, operands: &[Value], attrs: Attrs, ty: Type) -> Value {
        let op = self.emit(loc, OpSpec { opcode, operands, keyed: 0, attrs, results: &[ty], n_regions: 0 });
        self.func.result(op).expect("it was made with one result")
    }

    /// Makes a literal.
    pub(super) fn literal(&mut self, loc: Loc, value: Attr, ty: Type) -> Value {
        let attrs = self.func.dict(&[(keys::VALUE, value)]);
        self.emit_value(loc, self.sugar.constant, &[], attrs, ty)
    }

    /// Ends the current region.
    pub(super) fn emit_yield(&mut self, loc: Loc, values: &[Value]) {
        let opcode = self.sugar.yields;
        self.emit(loc, OpSpec { opcode, operands: values, keyed: 0, attrs: Attrs::EMPTY, results: &[], n_regions: 0 });
    }

    /// Runs `body` with `region` as the current one, in a scope of its own.
    pub(super) fn inside<T>(&mut self, region: Region, body: impl FnOnce(&mut Lower<'a>) -> T) -> T {
        let outer = std::mem::replace(&mut self.region, region);
        self.scopes.open();
        let result = body(self);
        self.scopes.drop_scope();
        self.region = outer;
        result
    }

    /// Runs `body` where `index` and other integers mix.
    pub(super) fn mixing<T>(&mut self, body: impl FnOnce(&mut Lower<'a>) -> T) -> T {
        let outer = std::mem::replace(&mut self.mixing, true);
        let result = body(self);
        self.mixing = outer;
        result
    }

    /// The author's part of a name: `x$1` and `$3` were made by the printer.
    pub(super) fn author_name(&mut self, text: &str) -> Option<Name> {
        let plain = text.split('$').next().unwrap_or("");
        (!plain.is_empty()).then(|| self.func.name(plain))
    }

    /// Binds the name at `range` to `value`, and lets the value carry it. `_` discards.
    pub(super) fn bind(&mut self, range: TextRange, value: Value) {
        let text = self.text(range);
        if text == "_" || text.is_empty() {
            return;
        }
        if self.func.value_name(value).is_none() {
            let name = self.author_name(text);
            self.func.set_value_name(value, name);
        }
        self.bind_only(range, value);
    }

    /// Binds the name at `range` to `value`, whose own name stays.
    pub(super) fn bind_only(&mut self, range: TextRange, value: Value) {
        let text = self.text(range);
        let name = self.func.name(text);
        if let Err(earlier) = self.scopes.bind(name, Binding { value, at: range }) {
            let shown = suggest::shorten(text);
            let diagnostic = Diagnostic::error("rebound", self.tree.span(range), format!("`{shown}` is bound twice"))
                .label(self.tree.span(earlier.at), "it was bound here")
                .help("a name is bound once; choose another one");
            self.report(diagnostic);
        }
    }

    /// What the name `text` stands for.
    pub(super) fn lookup(&self, text: &str) -> Option<Value> {
        self.scopes.get(self.func.find_name(text)?)
    }

    /// The texts of the names that can be seen.
    pub(super) fn visible_names(&self) -> impl Iterator<Item = &str> + Clone + '_ {
        self.scopes.names().map(|name| self.func.text(name))
    }

    /// Reports that nothing is called `name`.
    pub(super) fn unknown_name(&mut self, range: TextRange, name: &str) {
        if self.missing.contains(name) {
            return;
        }
        let near = suggest::nearest(name, self.visible_names()).map(str::to_string);
        let text = format!("nothing is called `{}` here", suggest::shorten(name));
        let error = Diagnostic::error("unknown-name", self.tree.span(range), text);
        // The name of an axis may follow behind a dot.
        let head = TextRange::new(range.start, range.start + name.len() as u32);
        self.report(self.with_near(error, head, near));
    }

    /// `error`, with the name that may be meant at `range`.
    pub(super) fn with_near(&self, error: Diagnostic, range: TextRange, near: Option<String>) -> Diagnostic {
        let Some(near) = near else { return error };
        let title = format!("did you mean `{near}`?");
        let at = self.tree.span(range).into();
        error.help(title.clone()).fix(Fix::new(title, FixEdit::Replace { at, text: near }))
    }
}
