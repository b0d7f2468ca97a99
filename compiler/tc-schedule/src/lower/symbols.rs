//! Sizes that stay open: the program's header, extents of buffers.

use super::Emitter;
use crate::size::{Size, to_attr};
use tc_arith::{Expr, Var};
use tc_ir::func::SymbolDecl;
use tc_ir::{Attr, Func};
use tc_support::Diagnostic;

impl Emitter<'_> {
    /// Declares the operator's open sizes as sizes of the program.
    pub(super) fn open_sizes(&mut self) -> Result<(), Diagnostic> {
        let te = self.operator.te;
        let symbols = &self.operator.symbols;
        // What is said over open sizes alone stays as the author wrote it.
        let as_said = symbols.list.len() == te.header.symbols.len();
        for symbol in &symbols.list {
            let decl = &te.header.symbols[symbol.nth];
            let name = self.te.name(&mut self.func, decl.name);
            let said = [decl.range.map(|(low, _)| low), decl.range.map(|(_, high)| high), decl.default];
            let exprs = [symbol.low, symbol.high, symbol.default];
            let mut attrs = [None; 3];
            for ((attr, said), expr) in attrs.iter_mut().zip(said).zip(exprs) {
                *attr = match (said, expr) {
                    (Some(said), _) if as_said => Some(self.te.attr(&mut self.func, said)),
                    (_, Some(expr)) => Some(self.attr(expr)?),
                    _ => None,
                };
            }
            let [low, high, default] = attrs;
            self.func.header.symbols.push(SymbolDecl { name, range: low.zip(high), default });
            let (body, index) = (self.func.body(), self.func.index_ty());
            let value = self.func.push_arg(body, index, Some(te.text(decl.name)));
            self.values.insert(symbol.var, value);
        }
        for &(said, fact) in &symbols.facts {
            let fact = match fact {
                _ if as_said => self.te.attr(&mut self.func, said),
                Some(fact) => self.attr(fact)?,
                None => {
                    let text = format!("`{}` speaks of sizes of which only some stay open", te.show_attr(said));
                    let help = "leave all of them open, or give all of them a value";
                    return Err(Diagnostic::error("size-open", te.location(te.header.loc), text).help(help));
                }
            };
            self.func.header.facts.push(fact);
        }
        Ok(())
    }

    /// `size` as an extent of a buffer.
    pub(super) fn extent(&mut self, size: Size) -> Result<Attr, Diagnostic> {
        match size {
            Size::Int(int) => Ok(self.func.int_attr(int)),
            Size::Expr(expr) => self.attr(expr),
        }
    }

    fn attr(&mut self, expr: Expr) -> Result<Attr, Diagnostic> {
        let (operator, pool) = (self.operator, &self.bounds.analyzer.pool);
        let mut name = |func: &mut Func, var: Var| {
            let symbol = operator.symbols.list.iter().find(|symbol| symbol.var == var)?;
            Some(func.word_attr(operator.te.text(operator.te.header.symbols[symbol.nth].name)))
        };
        to_attr(&mut self.func, pool, expr, &mut name).ok_or_else(|| {
            let text = format!("`{}` cannot be written as an extent", pool.display(expr));
            let te = operator.te;
            let help = "give the sizes that it depends on a value";
            Diagnostic::error("size-open", te.location(te.header.loc), text).help(help)
        })
    }
}
