//! What has to be known of a function before its first statement: names that are assigned more than once, parameters that
//! are only accessed through a view of other extents, and names that stand in shapes.

use super::state::member;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtFunctionDef};
use rustc_hash::{FxHashMap, FxHashSet};

/// Functions of `T` that declare a buffer over memory that there is.
const DECLARES: &[&str] = &["Buffer", "decl_buffer", "buffer_decl"];

/// The facts.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    assigned: FxHashMap<String, u32>,
    written: FxHashSet<String>,
    accessed: FxHashSet<String>,
    views: FxHashMap<String, Vec<Option<Vec<i64>>>>,
    tir: String,
}

impl Scan {
    /// Looks at `function`, whose text calls TVM's dialect `tir`.
    pub(crate) fn of(function: &StmtFunctionDef, tir: &str) -> Scan {
        let mut scan = Scan { tir: tir.to_string(), ..Scan::default() };
        scan.visit_body(&function.body);
        scan
    }

    /// Does the name get a new value after its first one?
    pub(crate) fn is_reassigned(&self, name: &str) -> bool {
        self.written.contains(name) || self.assigned.get(name).is_some_and(|&n| n > 1)
    }

    /// The extents of all views of the parameter `name`, if it is accessed through these alone.
    pub(crate) fn only_view(&self, name: &str) -> Option<&[i64]> {
        let views = self.views.get(name)?;
        let first = views.first()?.as_ref()?;
        let all = views.iter().all(|view| view.as_ref() == Some(first));
        (all && !self.accessed.contains(name)).then_some(first)
    }

    fn assign(&mut self, target: &Expr) {
        if let Expr::Name(name) = target {
            *self.assigned.entry(name.id.to_string()).or_default() += 1;
        }
    }

    fn call(&mut self, call: &ExprCall) {
        let Some(function) = member(&call.func, &self.tir) else { return };
        // The first operands of these are written to.
        if function.starts_with("ptx.") || function == "tvm_thread_allreduce" || function == "address_of" {
            for arg in &call.arguments.args {
                if let Expr::Name(name) = arg {
                    self.written.insert(name.id.to_string());
                }
            }
        }
        if !DECLARES.contains(&function.as_str()) {
            return;
        }
        let data = call.arguments.find_keyword("data").map(|keyword| &keyword.value);
        if let Some(Expr::Attribute(data)) = data
            && let ("data", Expr::Name(base)) = (data.attr.as_str(), &*data.value)
        {
            let plain =
                ["elem_offset", "byte_offset", "strides"].iter().all(|key| call.arguments.find_keyword(key).is_none());
            let shape = call.arguments.find_argument_value("shape", 0).and_then(literal_shape).filter(|_| plain);
            self.views.entry(base.id.to_string()).or_default().push(shape);
        }
    }
}

/// `(4, 8)` as numbers.
pub(crate) fn literal_shape(expr: &Expr) -> Option<Vec<i64>> {
    let elements = match expr {
        Expr::Tuple(tuple) => &tuple.elts[..],
        Expr::List(list) => &list.elts[..],
        other => std::slice::from_ref(other),
    };
    elements.iter().map(literal_int).collect()
}

/// `4` as a number.
pub(crate) fn literal_int(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::NumberLiteral(number) => number.value.as_int()?.as_i64(),
        // `T.int64(4)`
        Expr::Call(call) if call.arguments.len() == 1 => {
            let Expr::Attribute(function) = &*call.func else { return None };
            let is_int = matches!(function.attr.as_str(), "int32" | "int64" | "i32" | "i64");
            call.arguments.args.first().filter(|_| is_int).and_then(literal_int)
        }
        _ => None,
    }
}

impl<'a> Visitor<'a> for Scan {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.assign(target)),
            Stmt::AnnAssign(assign) if assign.value.is_some() => self.assign(&assign.target),
            Stmt::AugAssign(assign) => {
                if let Expr::Name(name) = &*assign.target {
                    self.written.insert(name.id.to_string());
                }
            }
            _ => {}
        }
        visitor::walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.call(call),
            Expr::Subscript(subscript) => {
                if let Expr::Name(name) = &*subscript.value {
                    self.accessed.insert(name.id.to_string());
                }
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}
