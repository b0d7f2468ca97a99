//! Statements, and the regions they hold.
//!
//! Regions are printed from a stack of our own, so that no nesting is too deep.

use super::Body;
use super::form::Form;
use super::generic::Commas;
use super::names::Mark;
use super::types::{write_attr, write_entries, write_symbol, write_type};
use super::words::is_path;
use crate::attrs::AttrData;
use crate::entity::{Name, Op, Region, Type, Value};
use crate::names::keys;
use crate::opdef::Role;
use crate::types::TypeData;

/// Past this many levels lines are indented no further: the parser takes fewer, and what is built deeper shall not
/// print as mostly blanks.
const MAX_INDENT: usize = 256;
const BLANKS: &str = "                                                                                                ";

/// A region that is being printed.
pub(super) struct Frame {
    /// The next op.
    pub(super) next: Option<Op>,
    /// The op that the region belongs to; `None` for the body.
    pub(super) op: Option<Op>,
    /// The region's index.
    pub(super) idx: usize,
    /// The names to go back to at the end, where the region is a scope.
    pub(super) mark: Option<Mark>,
    /// What is expected of the values that the region hands on.
    pub(super) expected: Expected,
    /// Is it the `else` region of an `else if`, of which nothing shows?
    pub(super) hidden: bool,
}

/// The types that are expected of what a region hands on.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    Nothing,
    /// Those of the results of the op it belongs to.
    Results,
    /// Those of the results of the item.
    Item,
}

impl Body<'_> {
    /// Writes the body of the item, up to its closing brace.
    pub(super) fn body(&mut self) {
        let region = self.func.body();
        let results = &self.func.header.results;
        let all_numbers = results.iter().all(|result| self.func.as_scalar(result.ty).is_some());
        let expected = if all_numbers { Expected::Item } else { Expected::Nothing };
        self.enter(None, 0, region, expected);
        while let Some(frame) = self.frames.last_mut() {
            match frame.next {
                Some(op) => {
                    frame.next = self.func.next_op(op);
                    self.stmt(op);
                }
                None => self.leave(),
            }
        }
    }

    pub(super) fn enter(&mut self, op: Option<Op>, idx: usize, region: Region, expected: Expected) {
        let mark = self.names.mark();
        self.enter_marked(op, idx, region, expected, mark);
    }

    /// Opens a region whose first names were given after `mark`.
    pub(super) fn enter_marked(&mut self, op: Option<Op>, idx: usize, region: Region, expected: Expected, mark: Mark) {
        self.out.push_str("{\n");
        self.indent += 1;
        if !self.options.generic && self.ready != Some(region) {
            self.analyse(region);
        }
        let mut mark = Some(mark);
        if let Some(op) = op
            && self.is_sched_if(op)
        {
            // What a branch of a schedule names is named after it too.
            mark = None;
            self.share_exports(op, region);
        }
        self.frames.push(Frame { next: self.func.first_op(region), op, idx, mark, expected, hidden: false });
    }

    /// Closes the innermost region, and goes on with the op it belongs to.
    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        if let Some(mark) = frame.mark {
            self.names.restore(mark);
        }
        if frame.hidden {
            return;
        }
        self.indent -= 1;
        self.blanks();
        self.out.push('}');
        let Some(op) = frame.op else { return self.out.push('\n') };
        let next = frame.idx + 1;
        match self.func.op_regions(op).get(next) {
            Some(&region) if self.options.generic || self.state(op).form == Form::Statement => {
                self.out.push(' ');
                self.open_region(op, next, region);
            }
            Some(&region) if self.state(op).form == Form::If => self.otherwise(op, region),
            _ => self.close(op),
        }
    }

    /// What follows the last region of `op`.
    pub(super) fn close(&mut self, op: Op) {
        if self.options.generic || self.state(op).form == Form::Statement {
            self.loc(op);
        }
        self.out.push('\n');
    }

    pub(super) fn blanks(&mut self) {
        let mut left = 2 * self.indent.min(MAX_INDENT);
        while left > 0 {
            let n = left.min(BLANKS.len());
            self.out.push_str(&BLANKS[..n]);
            left -= n;
        }
    }

    fn stmt(&mut self, op: Op) {
        if self.options.generic {
            self.blanks();
            return self.op_stmt(op);
        }
        let state = self.state(op);
        if state.is_inline() {
            return;
        }
        match state.form {
            Form::Hidden => {}
            Form::Exports => self.exports(op),
            form => {
                self.blanks();
                self.visible(op, form);
            }
        }
    }

    fn visible(&mut self, op: Op, form: Form) {
        match form {
            Form::For => self.for_loop(op),
            Form::If => self.if_stmt(op),
            Form::Store => self.store(op),
            Form::Alloc => self.alloc(op),
            Form::SymbolCall => self.symbol_call(op),
            Form::Compute | Form::Reduction => self.compute(op, form),
            Form::Block => {
                self.out.push_str(self.style(op).call);
                self.out.push(' ');
                self.enter(Some(op), 0, self.func.op_regions(op)[0], Expected::Item);
            }
            Form::End => self.end(op),
            form if form.is_expr() => {
                if let Some(result) = self.func.result(op) {
                    self.names.give(self.func, result);
                    self.definition(op, result);
                }
                self.loc(op);
                self.out.push('\n');
            }
            _ => self.op_stmt(op),
        }
    }

    /// `let x = e`; a stage or an axis of a schedule needs no `let`.
    pub(super) fn definition(&mut self, op: Op, name: Value) {
        if !matches!(self.state(op).form, Form::Stage | Form::Axis) {
            self.out.push_str("let ");
        }
        self.name(name);
        self.out.push_str(" = ");
        self.op_expr(op, 0, None);
    }

    fn op_stmt(&mut self, op: Op) {
        self.generic_head(op);
        match self.func.op_regions(op).first() {
            Some(&region) => {
                self.out.push(' ');
                self.open_region(op, 0, region);
            }
            None => {
                self.loc(op);
                self.out.push('\n');
            }
        }
    }

    fn open_region(&mut self, op: Op, idx: usize, region: Region) {
        let mark = self.names.mark();
        self.region_args(region);
        self.enter_marked(Some(op), idx, region, Expected::Results, mark);
    }

    /// `for i in lo..hi kind carry(a = e) attributes {…} { … }`
    fn for_loop(&mut self, op: Op) {
        let func = self.func;
        self.results(op);
        let mark = self.names.mark();
        let region = func.op_regions(op)[0];
        let args = func.region_args(region);
        for &arg in args {
            self.names.give(func, arg);
        }
        self.out.push_str("for ");
        self.name(args[0]);
        self.out.push_str(" in ");
        self.bounds(func.operand(op, 0), func.operand(op, 1));
        let said = self.loop_kind(op);
        if args.len() > 1 {
            self.out.push_str(" carry(");
            let mut list = Commas::default();
            for (&arg, &init) in args[1..].iter().zip(&func.operands(op)[2..]) {
                list.next(&mut self.out);
                self.name(arg);
                self.out.push_str(" = ");
                self.expr(init, 0, None);
            }
            self.out.push(')');
        }
        self.attributes(op, said);
        self.loc(op);
        self.out.push(' ');
        self.enter_marked(Some(op), 0, region, Expected::Results, mark);
    }

    /// `lo..hi`: one type for both.
    fn bounds(&mut self, lo: Value, hi: Value) {
        let func = self.func;
        let mut expected = self.common_type(&[lo, hi], Some(func.index_ty()));
        // Of two literals the second says the type of both.
        if self.is_literal(lo) && self.is_literal(hi) {
            expected = Some(func.value_type(lo));
        }
        self.expr(lo, 0, expected);
        self.out.push_str("..");
        let both = self.is_literal(lo) && self.is_literal(hi);
        self.expr(hi, 0, if both { Some(func.index_ty()) } else { expected });
    }

    pub(super) fn is_literal(&self, value: Value) -> bool {
        self.inline_op(value).is_some_and(|op| self.state(op).form == Form::Literal)
    }

    /// Writes the kind of a loop, and gives the keys that it says.
    fn loop_kind(&mut self, op: Op) -> &'static [Name] {
        let func = self.func;
        match func.word_of(op, keys::KIND) {
            Some("serial") => &[keys::KIND],
            Some("unroll") => {
                self.out.push_str(" unroll");
                if let Some(factor) = func.attr_of(op, keys::FACTOR) {
                    self.out.push_str("(factor = ");
                    write_attr(&mut self.out, func, factor);
                    self.out.push(')');
                }
                &[keys::KIND, keys::FACTOR]
            }
            Some("vectorize") => {
                self.out.push_str(" vectorize");
                &[keys::KIND]
            }
            Some("bind") => match func.word_of(op, keys::AXIS).filter(|axis| is_path(axis)) {
                Some(axis) => {
                    self.out.push_str(" bind(");
                    self.out.push_str(axis);
                    self.out.push(')');
                    &[keys::KIND, keys::AXIS]
                }
                None => &[],
            },
            _ => &[],
        }
    }

    /// Writes `attributes {…}` for what `op` carries but for the keys that were said already.
    pub(super) fn attributes(&mut self, op: Op, said: &[Name]) {
        let func = self.func;
        let entries = func.entries(func.op_attrs(op));
        let rest = || entries.iter().copied().filter(|(key, _)| !said.contains(key));
        if rest().next().is_some() {
            self.out.push_str(" attributes ");
            write_entries(&mut self.out, func, rest());
        }
    }

    fn store(&mut self, op: Op) {
        let func = self.func;
        let operands = func.operands(op);
        let (value, indices) = (operands[operands.len() - 1], &operands[1..operands.len() - 1]);
        self.indexed(operands[0], indices);
        self.out.push_str(" = ");
        // Literals inside a vector, as in `broadcast(0.0, 8)`, take the type of its elements.
        let expected = match func.type_data(func.value_type(operands[0])) {
            TypeData::Shaped { elem, .. } | TypeData::Ref { elem, .. } => Some(*elem),
            _ => None,
        };
        self.expr(value, 0, expected);
        self.attributes(op, &[]);
        self.loc(op);
        self.out.push('\n');
    }

    fn alloc(&mut self, op: Op) {
        let func = self.func;
        let Some(result) = func.result(op) else { return };
        self.out.push_str("alloc ");
        self.names.give(func, result);
        self.name(result);
        self.out.push_str(": ");
        let ty = func.value_type(result);
        write_type(&mut self.out, func, ty);
        self.scope(ty);
        self.attributes(op, &[]);
        self.loc(op);
        self.out.push('\n');
    }

    /// `y = @callee(a, b, key = value)`
    fn symbol_call(&mut self, op: Op) {
        let func = self.func;
        self.results(op);
        if let Some(AttrData::Symbol(callee)) = func.attr_of(op, keys::CALLEE).map(|attr| func.attr_data(attr)) {
            write_symbol(&mut self.out, callee);
        }
        self.out.push('(');
        self.loose_arguments(op, keys::CALLEE, &mut Commas::default());
        self.out.push(')');
        let style = self.style(op);
        self.result_types(op, style);
        self.loc(op);
        self.out.push('\n');
    }

    /// `yield a, b`, `return a, b`
    fn end(&mut self, op: Op) {
        let func = self.func;
        self.out.push_str(if self.style(op).role == Role::Return { "return" } else { "yield" });
        for (nth, &value) in func.operands(op).iter().enumerate() {
            self.out.push_str(if nth > 0 { ", " } else { " " });
            let expected = self.expected_result(nth);
            self.expr(value, 0, expected);
        }
        self.out.push('\n');
    }

    fn expected_result(&self, nth: usize) -> Option<Type> {
        let frame = self.frames.last()?;
        match frame.expected {
            Expected::Nothing => None,
            Expected::Results => self.func.results(frame.op?).nth(nth).map(|result| self.func.value_type(result)),
            Expected::Item => self.func.header.results.get(nth).map(|result| result.ty),
        }
    }
}
