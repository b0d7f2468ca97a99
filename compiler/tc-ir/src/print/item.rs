//! Headers of items, and locations.

use super::Body;
use super::generic::Commas;
use super::types::{
    PREFIX, scope_of, write_attr, write_dict, write_loc, write_own_type, write_prec, write_symbol, write_type,
};
use crate::entity::{Attrs, Loc, Op, Type, Value};
use crate::func::ResultDecl;
use crate::names::keys;
use crate::opdef::{Context, Role};

impl Body<'_> {
    /// Writes the whole item.
    pub(super) fn item(&mut self) {
        let func = self.func;
        if self.context() == Context::Sched {
            self.reserve_stages();
        }
        let row = func.item_row();
        self.out.push_str(row.item.map_or(row.name, |item| item.keyword));
        self.out.push(' ');
        write_symbol(&mut self.out, func.symbol());
        for (nth, target) in func.header.targets.iter().enumerate() {
            self.out.push_str(if nth > 0 { ", " } else { " for " });
            write_symbol(&mut self.out, target);
        }
        self.symbols();
        self.params();
        self.declared_results();
        for (nth, &fact) in func.header.facts.iter().enumerate() {
            self.out.push_str(if nth > 0 { ", " } else { " where " });
            write_attr(&mut self.out, func, fact);
        }
        self.attrs(func.header.attrs);
        self.write_loc(func.header.loc);
        self.out.push(' ');
        self.body();
    }

    /// Keeps values of a schedule from going by the names of the operator's stages.
    fn reserve_stages(&mut self) {
        let func = self.func;
        for op in crate::walk::all_ops(func) {
            if self.style(op).role == Role::Stage
                && let Some(name) = func.word_of(op, keys::NAME)
            {
                self.names.reserve(func, name);
            }
        }
    }

    /// `<n: 1..65536 = 1024, m>`
    fn symbols(&mut self) {
        let func = self.func;
        let symbols = &func.header.symbols;
        if symbols.is_empty() {
            return;
        }
        self.out.push('<');
        let mut list = Commas::default();
        for (symbol, &value) in symbols.iter().zip(func.region_args(func.body())) {
            list.next(&mut self.out);
            self.names.give(func, value);
            self.name(value);
            if let Some((lo, hi)) = symbol.range {
                self.out.push_str(": ");
                write_prec(&mut self.out, func, lo, PREFIX);
                self.out.push_str("..");
                write_prec(&mut self.out, func, hi, PREFIX);
            }
            if let Some(default) = symbol.default {
                self.out.push_str(" = ");
                write_prec(&mut self.out, func, default, PREFIX);
            }
        }
        self.out.push('>');
    }

    fn params(&mut self) {
        let func = self.func;
        let params: &[Value] = func.region_args(func.body()).get(func.header.symbols.len()..).unwrap_or(&[]);
        if self.context() == Context::Sched {
            // What follows an operator stands apart from it; a function takes its parameters as others do.
            if !func.header.targets.is_empty() {
                if params.is_empty() {
                    return;
                }
                self.out.push(' ');
            }
        }
        self.out.push('(');
        let mut list = Commas::default();
        for (nth, &param) in params.iter().enumerate() {
            list.next(&mut self.out);
            self.names.give(func, param);
            self.name(param);
            self.out.push_str(": ");
            let ty = func.value_type(param);
            self.header_type(ty);
            // A buffer of a program is global where the text does not say otherwise.
            if self.context() != Context::Tir || scope_of(func, ty) != Some(keys::GLOBAL) {
                self.scope(ty);
            }
            if let Some(decl) = func.header.params.get(nth) {
                if let Some(choices) = decl.choices {
                    self.out.push_str(" in ");
                    write_attr(&mut self.out, func, choices);
                }
                if let Some(default) = decl.default {
                    self.out.push_str(" = ");
                    write_attr(&mut self.out, func, default);
                }
                self.attrs(decl.attrs);
            }
        }
        self.out.push(')');
    }

    fn declared_results(&mut self) {
        match &self.func.header.results[..] {
            [] => {}
            [ResultDecl { name: None, ty, .. }] => {
                self.out.push_str(" -> ");
                self.header_type(*ty);
            }
            results => {
                self.out.push_str(" -> (");
                let mut list = Commas::default();
                for result in results {
                    list.next(&mut self.out);
                    self.declared_result(result);
                }
                self.out.push(')');
            }
        }
    }

    fn declared_result(&mut self, result: &ResultDecl) {
        let func = self.func;
        if let Some(name) = result.name {
            self.out.push_str(func.text(name));
            self.out.push_str(": ");
        }
        self.header_type(result.ty);
        // A result without a name has a type and nothing else.
        if result.name.is_some() {
            self.scope(result.ty);
            self.attrs(result.attrs);
        }
    }

    fn header_type(&mut self, ty: Type) {
        match self.options.generic {
            true => write_type(&mut self.out, self.func, ty),
            false => write_own_type(&mut self.out, self.func, ty),
        }
    }

    fn attrs(&mut self, attrs: Attrs) {
        if attrs != Attrs::EMPTY {
            self.out.push_str(" attributes ");
            write_dict(&mut self.out, self.func, attrs);
        }
    }

    /// Writes the locations of `op`, if locations are asked for: the operator's, and behind it the directive's.
    pub(super) fn loc(&mut self, op: Op) {
        let locs = self.func.op_locs(op);
        self.write_loc(locs.source);
        if !locs.source.is_none() {
            self.write_loc(locs.directive);
        }
    }

    fn write_loc(&mut self, loc: Loc) {
        if self.options.locations {
            write_loc(&mut self.out, self.func, self.sources, loc);
        }
    }
}
