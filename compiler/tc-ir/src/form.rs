//! Forms: what a function may and may not hold at a stage of the pipeline, as lists of rules that can be run.

use crate::entity::Op;
use crate::func::Func;
use crate::opdef::Opcode;
use crate::walk::all_ops;
use smallvec::SmallVec;
use tc_support::{Diagnostic, Diagnostics, Location, counted};

/// Gives the reason why an op may not stand where it does.
pub type AskOp = fn(&Func, Op) -> Option<String>;

/// Some ops, by what they are.
#[derive(Clone, Copy)]
pub enum Ops {
    /// All.
    Any,
    /// Those with one of these opcodes.
    Rows(&'static [Opcode]),
    /// Those of the dialects with these numbers.
    Dialects(&'static [u8]),
    /// Those of all other dialects.
    Others(&'static [u8]),
}

impl Ops {
    fn contains(self, opcode: Opcode) -> bool {
        match self {
            Ops::Any => true,
            Ops::Rows(opcodes) => opcodes.contains(&opcode),
            Ops::Dialects(numbers) => numbers.contains(&opcode.dialect()),
            Ops::Others(numbers) => !numbers.contains(&opcode.dialect()),
        }
    }

    /// Are there any of the dialect `number`?
    fn has_dialect(self, number: u8) -> bool {
        match self {
            Ops::Any => true,
            Ops::Rows(opcodes) => opcodes.iter().any(|opcode| opcode.dialect() == number),
            Ops::Dialects(numbers) => numbers.contains(&number),
            Ops::Others(numbers) => !numbers.contains(&number),
        }
    }
}

/// One rule of a form.
#[derive(Clone, Copy)]
pub struct Rule {
    /// A kebab-case name.
    pub name: &'static str,
    /// What holds in the form, as a sentence.
    pub summary: &'static str,
    /// Asked of the ops that are `of`: the reason why one may not stand here.
    pub op: Option<AskOp>,
    /// The ops that can break the rule.
    pub of: Ops,
    /// Asked of the function: the reason why it is not in the form.
    pub func: Option<fn(&Func) -> Option<String>>,
    /// The passes that see to it, as a help names them.
    pub passes: Option<&'static str>,
}

impl Rule {
    /// The reason why `op` may not stand where it does.
    fn refuses(&self, func: &Func, op: Op) -> Option<String> {
        let is_asked = self.of.contains(func.opcode(op));
        self.op.filter(|_| is_asked).and_then(|ask| ask(func, op))
    }

    /// The same rule, which `passes` see to: `` `narrow-index` ``.
    pub const fn by(self, passes: &'static str) -> Rule {
        Rule { passes: Some(passes), ..self }
    }
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
        let mut report = |rule: &Rule, location, reason| found.push(self.refusal(rule, location, reason));
        for rule in self.rules {
            if let Some(reason) = rule.func.and_then(|ask| ask(func)) {
                report(rule, func.location(func.header.loc), reason);
            }
        }
        for op in all_ops(func) {
            for rule in self.rules {
                if let Some(reason) = rule.refuses(func, op) {
                    report(rule, func.op_location(op), reason);
                }
            }
        }
        found
    }

    fn refusal(&self, rule: &Rule, location: Location, reason: String) -> Diagnostic {
        let note = format!("the form `{}` asks: {}", self.name, rule.summary);
        Diagnostic::assumption("form", location, reason).note(note)
    }

    /// The same in short, one diagnostic for each rule: the first place that it refuses, and how many more there are. A
    /// pass that did not run leaves work at many ops.
    pub fn check_in_short(&self, func: &Func) -> Diagnostics {
        if self.holds(func) {
            return Diagnostics::new();
        }
        let of_rule = |rule: &Rule| {
            let header = rule.func.and_then(|ask| ask(func)).map(|reason| (func.location(func.header.loc), reason));
            let of_ops = all_ops(func).filter_map(|op| Some((func.op_location(op), rule.refuses(func, op)?)));
            let mut refused = header.into_iter().chain(of_ops);
            let (location, reason) = refused.next()?;
            let mut first = self.refusal(rule, location, reason);
            first.help = rule.passes.map(|passes| format!("run {passes}, as the pipeline `cuda` does"));
            let n_more = refused.count();
            Some(if n_more == 0 { first } else { first.note(format!("and {}", counted(n_more, "further place"))) })
        };
        self.rules.iter().filter_map(of_rule).collect()
    }

    /// Is `func` in this form?
    pub fn holds(&self, func: &Func) -> bool {
        let of_func = |rule: &Rule| rule.func.is_none_or(|ask| ask(func).is_none());
        if !self.rules.iter().all(of_func) {
            return false;
        }
        let of_ops: SmallVec<[(AskOp, Ops); 16]> =
            self.rules.iter().filter_map(|rule| Some((rule.op?, rule.of))).collect();
        // Most ops are of a dialect that no rule is about.
        let mut is_asked: [Option<bool>; 256] = [None; 256];
        let fits = |op: Op| {
            let opcode = func.opcode(op);
            let dialect = opcode.dialect();
            let is_asked = is_asked[usize::from(dialect)]
                .get_or_insert_with(|| of_ops.iter().any(|(_, ops)| ops.has_dialect(dialect)));
            !*is_asked || of_ops.iter().all(|(ask, ops)| !ops.contains(opcode) || ask(func, op).is_none())
        };
        of_ops.is_empty() || all_ops(func).all(fits)
    }
}
