//! The syntax tree as text, for tests: one node a line where it has a body, nested in parentheses otherwise.

use super::{
    Arg, Attr, Block, Else, Expr, ExprId, ExprKind, Id, If, Item, List, Param, Slice, Stmt, StmtKind, Tail,
    TerminatorKind, TextRange, Tree, Type, TypeArg, UnaryOp, Value,
};

impl Tree {
    /// The item as text, with what each node says. `source` is the text that was parsed.
    pub fn dump(&self, item: &Item, source: &str) -> String {
        let mut dump = Dump { tree: self, source, out: String::new(), indent: 0 };
        dump.item(item);
        dump.out
    }
}

struct Dump<'t> {
    tree: &'t Tree,
    source: &'t str,
    out: String,
    indent: usize,
}

impl Dump<'_> {
    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.indent));
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn text(&mut self, range: TextRange) {
        self.put(range.of(self.source));
    }

    fn word(&mut self, range: TextRange) {
        self.put(" ");
        self.text(range);
    }

    fn words(&mut self, names: List<TextRange>) {
        for &name in &self.tree[names] {
            self.word(name);
        }
    }

    fn exprs(&mut self, list: List<ExprId>) {
        for &expr in &self.tree[list] {
            self.put(" ");
            self.expr(expr);
        }
    }

    fn item(&mut self, item: &Item) {
        self.put("(item");
        self.word(item.kind);
        self.word(item.name);
        self.indent += 1;
        if !item.targets.is_empty() {
            self.put(" (for");
            self.words(item.targets);
            self.put(")");
        }
        for symbol in &self.tree[item.symbols] {
            self.line();
            self.put("(symbol");
            self.word(symbol.name);
            if let Some((low, high)) = symbol.bounds {
                self.put(" (bounds ");
                self.expr(low);
                self.put(" ");
                self.expr(high);
                self.put(")");
            }
            self.tagged("default", symbol.default);
            self.put(")");
        }
        if let Some(params) = item.params {
            self.line();
            self.put("(params");
            self.params(params);
            self.put(")");
        }
        if !item.results.is_empty() {
            self.line();
            self.put("(results");
            self.params(item.results);
            self.put(")");
        }
        if !item.facts.is_empty() {
            self.line();
            self.put("(where");
            self.exprs(item.facts);
            self.put(")");
        }
        self.tail(item.tail);
        self.block(item.block);
        self.indent -= 1;
        self.put(")\n");
    }

    fn tagged(&mut self, tag: &str, expr: Option<ExprId>) {
        if let Some(expr) = expr {
            self.put(" (");
            self.put(tag);
            self.put(" ");
            self.expr(expr);
            self.put(")");
        }
    }

    fn params(&mut self, params: List<Param>) {
        for param in &self.tree[params] {
            self.put(" (param ");
            if param.name.is_empty() {
                self.put("-");
            }
            self.text(param.name);
            if let Some(ty) = param.ty {
                self.put(" ");
                self.ty(ty);
            }
            self.tagged("in", param.within);
            self.tagged("=", param.default);
            self.attrs(param.attrs);
            self.put(")");
        }
    }

    fn tail(&mut self, tail: Option<Id<Tail>>) {
        let Some(tail) = tail else { return };
        let Tail { attrs, loc, directive } = self.tree[tail];
        self.attrs(attrs);
        for loc in loc.into_iter().chain(directive) {
            self.word(self.tree[loc]);
        }
    }

    fn attrs(&mut self, attrs: List<Attr>) {
        if attrs.is_empty() {
            return;
        }
        self.put(" (attributes");
        self.entries(attrs);
        self.put(")");
    }

    fn entries(&mut self, attrs: List<Attr>) {
        for attr in &self.tree[attrs] {
            self.word(attr.key);
            if let Some(value) = attr.value {
                self.put("=");
                self.value(value);
            }
        }
    }

    fn value(&mut self, value: Value) {
        match value {
            Value::Expr(expr) => self.expr(expr),
            Value::Type(ty) => self.ty(ty),
            Value::Dict(dict) => {
                self.put("(dict");
                self.entries(self.tree[dict].attrs);
                self.put(")");
            }
        }
    }

    fn ty(&mut self, ty: Id<Type>) {
        let Type { name, element, args, shape, .. } = self.tree[ty];
        self.put(if element { "(element" } else { "(type" });
        self.word(name);
        if let Some(args) = args {
            self.put(" (args");
            for &arg in &self.tree[args] {
                match arg {
                    TypeArg::Type(ty) => {
                        self.put(" ");
                        self.ty(ty);
                    }
                    TypeArg::Int(range) | TypeArg::Str(range) => self.word(range),
                }
            }
            self.put(")");
        }
        if let Some(shape) = shape {
            self.put(" (shape");
            self.exprs(shape);
            self.put(")");
        }
        self.put(")");
    }

    fn block(&mut self, block: Id<Block>) {
        let Block { stmts, end, .. } = self.tree[block];
        self.line();
        self.put("(block");
        self.indent += 1;
        for stmt in &self.tree[stmts] {
            self.stmt(stmt);
        }
        if let Some(end) = end {
            self.line();
            let word = match self.tree[end].kind {
                TerminatorKind::Return => "(return",
                TerminatorKind::Yield => "(yield",
            };
            self.put(word);
            self.exprs(self.tree[end].values);
            self.put(")");
        }
        self.indent -= 1;
        self.put(")");
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.line();
        self.indent += 1;
        match stmt.kind {
            StmtKind::Compute { names, axes, value } => {
                self.put("(compute");
                self.words(names);
                for axis in &self.tree[axes] {
                    self.put(" (axis");
                    self.word(axis.name);
                    self.put(" ");
                    self.expr(axis.extent);
                    self.tagged("high", axis.high);
                    self.put(")");
                }
                self.put(" ");
                self.expr(value);
                self.tail(stmt.tail);
            }
            StmtKind::Store { place, value } => {
                self.put("(store ");
                self.expr(place);
                self.put(" ");
                self.expr(value);
                self.tail(stmt.tail);
            }
            StmtKind::Let { name, ty, value } => {
                self.put("(let");
                self.word(name);
                if let Some(ty) = ty {
                    self.put(" ");
                    self.ty(ty);
                }
                self.put(" ");
                self.expr(value);
                self.tail(stmt.tail);
            }
            StmtKind::Alloc { name, ty, scope } => {
                self.put("(alloc");
                self.word(name);
                self.put(" ");
                self.ty(ty);
                self.word(scope);
                self.tail(stmt.tail);
            }
            StmtKind::Call(call) => {
                self.put("(do ");
                self.expr(call);
                self.tail(stmt.tail);
            }
            StmtKind::Assign { names, value } => {
                self.put("(assign");
                self.words(names);
                self.put(" ");
                self.expr(value);
                self.tail(stmt.tail);
            }
            StmtKind::PathBlock { name, block } => {
                self.put("(path-block");
                self.word(name);
                self.block(block);
            }
            StmtKind::Op(op) => {
                self.put("(op");
                self.op(op);
                self.tail(stmt.tail);
            }
            StmtKind::For(node) => {
                self.put("(for");
                self.for_loop(node, stmt.tail);
            }
            StmtKind::If { names, branch } => {
                self.put("(if");
                self.names(names);
                self.branches(branch);
            }
        }
        self.indent -= 1;
        self.put(")");
    }

    fn names(&mut self, names: List<TextRange>) {
        if !names.is_empty() {
            self.put(" (names");
            self.words(names);
            self.put(")");
        }
    }

    fn op(&mut self, op: Id<super::Op>) {
        let op = self.tree[op];
        self.names(op.names);
        self.put(" ");
        self.expr(op.call);
        for result in &self.tree[op.types] {
            self.put(" (result ");
            self.ty(result.ty);
            if let Some(scope) = result.scope {
                self.put(" in");
                self.word(self.tree[scope]);
            }
            self.put(")");
        }
        for region in &self.tree[op.regions] {
            self.line();
            self.put("(region");
            self.params(region.params);
            self.indent += 1;
            self.block(region.block);
            self.indent -= 1;
            self.put(")");
        }
    }

    fn for_loop(&mut self, node: Id<super::For>, tail: Option<Id<Tail>>) {
        let node = self.tree[node];
        self.names(node.names);
        self.word(node.var);
        self.put(" ");
        self.expr(node.low);
        self.put(" ");
        self.expr(node.high);
        if !node.kinds.is_empty() {
            self.put(" (kinds");
            self.exprs(node.kinds);
            self.put(")");
        }
        self.tail(tail);
        self.block(node.block);
    }

    fn branches(&mut self, first: Id<If>) {
        let mut branch = first;
        loop {
            let If { condition, tail, then, otherwise, .. } = self.tree[branch];
            self.put(" ");
            self.expr(condition);
            self.tail(tail);
            self.block(then);
            match otherwise {
                Else::None => return,
                Else::Block(block) => {
                    self.line();
                    self.put("else");
                    return self.block(block);
                }
                Else::If(next) => {
                    self.line();
                    self.put("else-if");
                    branch = next;
                }
            }
        }
    }

    fn slices(&mut self, slices: List<Slice>) {
        for slice in &self.tree[slices] {
            self.put(" ");
            let Some(second) = slice.second else {
                self.expr(slice.first);
                continue;
            };
            self.put("(slice ");
            self.expr(slice.first);
            self.put(" ");
            self.expr(second);
            self.tagged("high", slice.third);
            self.put(")");
        }
    }

    fn args(&mut self, args: List<Arg>) {
        for arg in &self.tree[args] {
            self.put(" ");
            if let Some(key) = arg.key {
                self.text(self.tree[key]);
                self.put("=");
            }
            self.value(arg.value);
        }
    }

    fn expr(&mut self, id: ExprId) {
        let Expr { range, kind } = self.tree[id];
        match kind {
            ExprKind::Path | ExprKind::Int | ExprKind::Float | ExprKind::Bool(_) | ExprKind::Str | ExprKind::Sym => {
                return self.text(range);
            }
            ExprKind::Index { slices, .. } => {
                self.put("(index");
                self.word(self.tree.name(id));
                self.slices(slices);
            }
            ExprKind::Call { args, .. } => {
                self.put("(call");
                self.word(self.tree.name(id));
                self.args(args);
            }
            ExprKind::Reduce(node) => {
                let node = self.tree[node];
                self.put("(reduce");
                self.word(self.tree.name(id));
                self.put(" (axes");
                self.slices(node.axes);
                self.put(")");
                self.args(node.args);
            }
            ExprKind::Cast { ty, value } => {
                self.put("(cast");
                self.word(self.tree[ty]);
                self.put(" ");
                self.expr(value);
            }
            ExprKind::Unary { op, value } => {
                self.put(match op {
                    UnaryOp::Neg => "(neg ",
                    UnaryOp::Not => "(not ",
                });
                self.expr(value);
            }
            ExprKind::Binary { .. } => return self.chain(id),
            ExprKind::Ref(place) => {
                self.put("(ref ");
                self.expr(place);
            }
            ExprKind::List(values) => {
                self.put("(list");
                for &value in &self.tree[values] {
                    self.put(" ");
                    self.value(value);
                }
            }
        }
        self.put(")");
    }

    fn chain(&mut self, id: ExprId) {
        let mut spine = self.tree.left_spine(id);
        let mut steps: Vec<_> = spine.by_ref().collect();
        for (_, op, _) in &steps {
            self.put("(");
            self.put(op.text());
            self.put(" ");
        }
        self.expr(spine.first());
        while let Some((_, _, rhs)) = steps.pop() {
            self.put(" ");
            self.expr(rhs);
            self.put(")");
        }
    }
}
