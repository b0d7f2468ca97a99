//! Statements.

use super::number::Number;
use super::state::{Bound, Reader};
use ruff_python_ast::{Expr, Stmt, StmtIf};
use ruff_text_size::{Ranged, TextRange};
use tc_dialects::tir;

/// Functions of `T` that open what a program of tc has no counterpart of, and what to do about it.
const LOWERED: &[(&str, &str)] = &[
    ("sblock", "lower blocks first: `tvm.s_tir.transform.LowerOpaqueBlock` and what precedes it"),
    ("block", "lower blocks first: `tvm.tir.transform.LowerOpaqueBlock` and what precedes it"),
    ("parallel", "a loop over threads of a processor; `T.thread_binding` is one over threads of a GPU"),
];

impl<'a> Reader<'a> {
    /// The statements of a block. A launch without a block of its own holds those that follow it.
    pub(crate) fn block(&mut self, body: &'a [Stmt]) {
        let (region, mark) = (self.region, self.enter());
        for stmt in body {
            self.deeper(stmt.range(), |reader| {
                reader.stmt(stmt);
                Some(())
            });
        }
        self.leave(mark);
        self.region = region;
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Pass(_) => {}
            Stmt::Expr(expr) => self.expr_stmt(&expr.value),
            Stmt::Assign(assign) => self.assign(assign),
            Stmt::AnnAssign(assign) => self.annotated(assign),
            Stmt::AugAssign(assign) => self.augmented(assign),
            Stmt::For(node) => self.for_loop(node),
            Stmt::If(node) => self.if_stmt(node),
            Stmt::With(node) => self.with(node),
            Stmt::While(node) => self.refuse(node.range, "tc has no loops without bounds"),
            Stmt::Break(node) => self.refuse(node.range, "tc has no `break`"),
            Stmt::Continue(node) => self.refuse(node.range, "tc has no `continue`"),
            Stmt::Return(node) => self.refuse(node.range, "a program returns nothing: it stores its results"),
            Stmt::Assert(node) => {
                let help = "what holds of sizes stands behind `where` in tc";
                self.error_with(node.range, "no-counterpart", "tc has no assertions", help);
            }
            other => self.refuse(other.range(), "this is no statement of TVM's"),
        }
    }

    fn expr_stmt(&mut self, expr: &'a Expr) {
        if expr.is_string_literal_expr() || expr.is_ellipsis_literal_expr() {
            return;
        }
        let Expr::Call(call) = expr else {
            return self.refuse(expr.range(), "this statement does nothing");
        };
        let Some(name) = self.called(call) else {
            return self.refuse(expr.range(), "calls are of functions of `T`");
        };
        let args = &call.arguments.args[..];
        match (name.as_str(), args) {
            ("func_attr", [dict]) => self.func_attrs(dict),
            ("evaluate", [Expr::Call(inner)]) => self.effect(inner),
            ("evaluate", [_]) => {}
            ("match_buffer", _) => {}
            ("launch_thread", _) => self.launch(call, None),
            _ => self.effect(call),
        }
    }

    fn if_stmt(&mut self, node: &'a StmtIf) {
        let mut arms: Vec<(Option<&'a Expr>, &'a [Stmt], TextRange)> = vec![(Some(&node.test), &node.body, node.range)];
        for clause in &node.elif_else_clauses {
            arms.push((clause.test.as_ref(), &clause.body, clause.range));
        }
        self.arms(&arms);
    }

    /// `if`, `elif`, `else`.
    fn arms(&mut self, arms: &[(Option<&'a Expr>, &'a [Stmt], TextRange)]) {
        let region = self.region;
        let mut rest = arms;
        while let Some((&(test, body, range), more)) = rest.split_first() {
            rest = more;
            let Some(test) = test else {
                self.block(body);
                break;
            };
            let Some(condition) = self.condition(test) else { break };
            let n_regions = if more.is_empty() { 1 } else { 2 };
            let op = self.op(range, tir::IF, &[condition], &[], &[], n_regions);
            let regions = self.func.op_regions(op).to_vec();
            self.inside(regions[0], |reader| reader.block(body));
            if let Some(&otherwise) = regions.get(1) {
                self.region = otherwise;
            }
        }
        self.region = region;
    }

    /// `T` opens something that has no counterpart: what to do about it.
    pub(crate) fn refuse_frame(&mut self, range: TextRange, name: &str) {
        let text = format!("tc has no counterpart of `T.{}`", tc_support::suggest::shorten(name));
        match LOWERED.iter().find(|(known, _)| *known == name) {
            Some((_, help)) => self.error_with(range, "no-counterpart", text, help),
            None => self.refuse(range, text),
        }
    }

    /// `name` stands for a number from here on.
    pub(crate) fn bind_number(
        &mut self,
        range: TextRange,
        name: &'a str,
        number: Number,
        expected: Option<tc_ir::Type>,
    ) {
        let Some(value) = self.settle(range, number, expected) else { return self.bind(name, Bound::Missing) };
        self.name(value, name);
        self.bind(name, Bound::Value(value));
    }
}
