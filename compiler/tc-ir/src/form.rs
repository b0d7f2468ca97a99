//! Forms: what a function may and may not hold at a stage of the pipeline, as lists of rules that can be run.

use crate::entity::Op;
use crate::func::Func;
use crate::walk::all_ops;
use tc_support::{Diagnostic, Diagnostics};

/// One rule of a form.
#[derive(Clone, Copy)]
pub struct Rule {
    /// A kebab-case name.
    pub name: &'static str,
    /// What holds in the form, as a sentence.
    pub summary: &'static str,
    /// Asked of every op: the reason why it may not stand here.
    pub op: Option<fn(&Func, Op) -> Option<String>>,
    /// Asked of the function: the reason why it is not in the form.
    pub func: Option<fn(&Func) -> Option<String>>,
}

/// A form: all its rules hold.
#[derive(Clone, Copy)]
pub struct Form {
    /// The adjective by which passes name it.
    pub name: &'static str,
    /// What it is good for, as a sentence.
    pub summary: &'static str,
    /// The rules.
    pub rules: &'static [Rule],
}

impl Form {
    /// What keeps `func` out of this form: a diagnostic for each op that a rule refuses, at its place.
    pub fn check(&self, func: &Func) -> Diagnostics {
        let mut found = Diagnostics::new();
        if self.holds(func) {
            return found;
        }
        let mut report = |rule: &Rule, location, reason: String| {
            let note = format!("the form `{}` asks: {}", self.name, rule.summary);
            found.push(Diagnostic::assumption("form", location, reason).note(note));
        };
        for rule in self.rules {
            if let Some(reason) = rule.func.and_then(|ask| ask(func)) {
                report(rule, func.location(func.header.loc), reason);
            }
        }
        for op in all_ops(func) {
            for rule in self.rules {
                if let Some(reason) = rule.op.and_then(|ask| ask(func, op)) {
                    report(rule, func.op_location(op), reason);
                }
            }
        }
        found
    }

    /// Is `func` in this form?
    pub fn holds(&self, func: &Func) -> bool {
        let of_func = |rule: &Rule| rule.func.is_none_or(|ask| ask(func).is_none());
        let of_op = |op: Op| self.rules.iter().all(|rule| rule.op.is_none_or(|ask| ask(func, op).is_none()));
        let asks_ops = self.rules.iter().any(|rule| rule.op.is_some());
        self.rules.iter().all(of_func) && (!asks_ops || all_ops(func).all(of_op))
    }
}
