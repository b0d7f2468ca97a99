//! Conditionals, those of schedules included, whose branches bind names for what follows.

use super::Body;
use super::form::Form;
use super::stmt::{Expected, Frame};
use crate::entity::{Op, Region, Value};
use crate::opdef::Context;

impl Body<'_> {
    pub(super) fn if_stmt(&mut self, op: Op) {
        let func = self.func;
        if self.context() == Context::Sched {
            func.results(op).for_each(|result| self.names.give(func, result));
        } else {
            self.results(op);
        }
        self.branch(op, Expected::Nothing);
    }

    /// `if c {`
    fn branch(&mut self, op: Op, expected: Expected) {
        self.out.push_str("if ");
        self.expr(self.func.operand(op, 0), 0, Some(self.func.bool_ty()));
        self.attributes(op, &[]);
        if self.context() != Context::Sched {
            self.loc(op);
        }
        self.out.push(' ');
        self.enter(Some(op), 0, self.func.op_regions(op)[0], expected);
    }

    /// `else { … }`, `else if … { … }`, or nothing if there is nothing in it.
    pub(super) fn otherwise(&mut self, op: Op, region: Region) {
        let func = self.func;
        self.analyse(region);
        self.ready = Some(region);
        if self.context() == Context::Sched {
            self.share_exports(op, region);
        }
        let mut shown = func.ops(region).filter(|&inner| self.shows(inner));
        let (first, second) = (shown.next(), shown.next());
        match first {
            None => self.close(op),
            Some(inner) if self.is_chain(op, inner, second) => {
                self.out.push_str(" else ");
                let is_scope = self.context() != Context::Sched;
                let mark = is_scope.then(|| self.names.mark());
                let hidden =
                    Frame { next: None, op: Some(op), idx: 1, mark, expected: Expected::Nothing, hidden: true };
                self.frames.push(hidden);
                if !is_scope {
                    func.results(inner).for_each(|result| self.names.give(func, result));
                }
                self.branch(inner, Expected::Results);
            }
            Some(_) => {
                self.out.push_str(" else ");
                self.enter(Some(op), 1, region, Expected::Results);
            }
        }
    }

    /// Does `op` print something on a line of its own?
    fn shows(&self, op: Op) -> bool {
        let state = self.state(op);
        match state.form {
            _ if state.is_inline() => false,
            Form::Hidden => false,
            Form::Exports => self.aliases(op).next().is_some(),
            _ => true,
        }
    }

    /// Is `inner`, which `end` may follow, all that there is in the `else` region of `op`?
    fn is_chain(&self, op: Op, inner: Op, end: Option<Op>) -> bool {
        let func = self.func;
        if self.state(inner).form != Form::If {
            return false;
        }
        if self.context() == Context::Sched {
            return end.is_none();
        }
        let passes_on = |value: Value| func.n_uses(value) == 1 && func.value_name(value).is_none();
        match end {
            None => func.n_results(op) == 0 && func.n_results(inner) == 0,
            Some(end) => {
                self.state(end).form == Form::End
                    && func.results(inner).eq(func.operands(end).iter().copied())
                    && func.results(inner).all(passes_on)
            }
        }
    }

    pub(super) fn is_sched_if(&self, op: Op) -> bool {
        !self.options.generic && self.context() == Context::Sched && self.state(op).form == Form::If
    }

    /// Lets what the branch `region` of `op` names print under the names of the results of `op`.
    pub(super) fn share_exports(&mut self, op: Op, region: Region) {
        let func = self.func;
        for (result, &value) in func.results(op).zip(func.yielded(region)) {
            let Some(def) = func.def_op(value).filter(|&def| func.region_of(def) == Some(region)) else { continue };
            let name = func.value_name(value);
            let state = self.state(def);
            let is_same = name.is_none() || name == func.value_name(result);
            if is_same && !state.is_inline() && state.form != Form::Hidden && !self.names.shares(value) {
                self.names.share(value, result);
            }
        }
    }

    /// What the end `op` of a branch of a schedule hands on that goes by another name so far, with the results that
    /// it becomes.
    fn aliases(&self, op: Op) -> impl Iterator<Item = (Value, Value)> + '_ {
        let func = self.func;
        let results = func.parent_op(op).into_iter().flat_map(|parent| func.results(parent));
        results.zip(func.operands(op).iter().copied()).filter(|&(result, value)| {
            let hidden = func.def_op(value).is_some_and(|def| self.state(def).form == Form::Hidden);
            !hidden && !self.names.share_one(value, result)
        })
    }

    pub(super) fn exports(&mut self, op: Op) {
        let aliases: Vec<(Value, Value)> = self.aliases(op).collect();
        for (result, value) in aliases {
            self.blanks();
            match self.inline_op(value) {
                Some(def) => self.definition(def, result),
                None => {
                    self.name(result);
                    self.out.push_str(" = ");
                    self.name(value);
                }
            }
            self.out.push('\n');
        }
    }
}
