//! Attributes: what TVM knows under names of its own, and ours that TVM kept.

use super::state::Reader;
use crate::emit::{OURS, PRAGMAS};
use ruff_python_ast::{Expr, Number, UnaryOp};
use ruff_text_size::{Ranged, TextRange};
use tc_ir::clone::Importer;
use tc_ir::{Attr, AttrData, Func, Name};
use tc_syntax::{ParseOptions, parse_module};

impl<'a> Reader<'a> {
    /// The entries of `annotations={…}` of a loop or an allocation.
    pub(crate) fn annotations(&mut self, expr: &Expr) -> Option<Vec<(Name, Attr)>> {
        let Expr::Dict(dict) = expr else {
            self.refuse(expr.range(), "annotations are written as a dictionary");
            return None;
        };
        let mut entries = Vec::new();
        for item in &dict.items {
            let key = item.key.as_ref().and_then(string);
            let Some(key) = key else {
                self.refuse(item.value.range(), "the keys of annotations are strings");
                return None;
            };
            let pragma = PRAGMAS.iter().find(|(_, theirs)| *theirs == key).map(|(ours, _)| *ours);
            let Some(ours) = pragma.or_else(|| key.strip_prefix(OURS)) else {
                self.refuse(item.value.range(), format!("tc has no counterpart of the annotation `{key}`"));
                return None;
            };
            let value = self.annotation(&item.value)?;
            entries.push((self.func.name(ours), value));
        }
        Some(entries)
    }

    /// The value of an annotation: a number, a truth value, or an attribute as tc writes it.
    pub(crate) fn annotation(&mut self, expr: &Expr) -> Option<Attr> {
        if let Some(text) = string(expr) {
            return self.attr_of_text(expr.range(), &text);
        }
        match plain(expr, &self.words.tir) {
            Some(Plain::Bool(true)) => Some(self.func.attr(AttrData::Unit)),
            Some(Plain::Bool(false)) => Some(self.func.attr(AttrData::Bool(false))),
            Some(Plain::Int(value)) => Some(self.func.int_attr(value)),
            None => {
                self.refuse(expr.range(), "an annotation is a number, a truth value or a string");
                None
            }
        }
    }

    /// An attribute in the language of tc.
    fn attr_of_text(&mut self, range: TextRange, text: &str) -> Option<Attr> {
        let header = self.parse_header(range, &format!("tir.func @f() attributes {{value = {text}}} {{\n}}\n"))?;
        let (_, attr) = *header.entries(header.header.attrs).first()?;
        Some(Importer::new(&header).attr(&mut self.func, attr))
    }

    /// The function of a text in the language of tc, for what its header holds.
    pub(crate) fn parse_header(&mut self, range: TextRange, text: &str) -> Option<Func> {
        let registry = self.func.registry().clone();
        let (mut module, found) = parse_module("annotation", text, &registry, &ParseOptions::default());
        match module.items.pop() {
            Some(func) if !found.has_errors() && module.items.is_empty() => Some(func),
            _ => {
                let why = found.iter().next().map_or(String::new(), |first| format!(": {}", first.message));
                self.error(range, "annotation", format!("this is no attribute of tc{why}"));
                None
            }
        }
    }
}

/// A literal.
pub(crate) enum Plain {
    /// `True`, `T.bool(True)`
    Bool(bool),
    /// `4`, `T.int32(4)`
    Int(i64),
}

/// A literal, bare or in a call of its type.
pub(crate) fn plain(expr: &Expr, tir: &str) -> Option<Plain> {
    match expr {
        Expr::BooleanLiteral(literal) => Some(Plain::Bool(literal.value)),
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(value) => value.as_i64().map(Plain::Int),
            _ => None,
        },
        Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => match plain(&unary.operand, tir)? {
            Plain::Int(value) => value.checked_neg().map(Plain::Int),
            Plain::Bool(_) => None,
        },
        Expr::Call(call) if super::state::member(&call.func, tir).is_some() => match &call.arguments.args[..] {
            [one] if call.arguments.keywords.is_empty() && !one.is_call_expr() => plain(one, tir),
            _ => None,
        },
        _ => None,
    }
}

/// A string literal.
pub(crate) fn string(expr: &Expr) -> Option<String> {
    match expr {
        Expr::StringLiteral(literal) => Some(literal.value.to_str().to_string()),
        _ => None,
    }
}
