//! The verifier: what holds of every function, whatever its form.
//!
//! - Every operand is in scope: defined before, in the same region or one around it.
//! - An op has the operands, attributes, results and regions that its row declares.
//! - A terminator stands last in its region and nowhere else.
//! - Use counts and links are right; a failure here is a bug of ours.
//! - What the row's own verifier says.
//!
//! All diagnostics are collected; nothing stops at the first.

use crate::attrs::AttrData;
use crate::entity::{Attrs, Op, Region, Value};
use crate::func::{Func, OpData};
use crate::names::keys;
use crate::opdef::{OpDef, Opcode, Param, ParamKind, Results};
use crate::row_facts::RowFacts;
use cranelift_entity::EntityRef;
use std::mem::take;
use tc_support::{Diagnostic, Diagnostics, counted};

#[cfg(test)]
mod tests;

/// Diagnostics beyond this number are dropped: a broken function repeats itself.
const MAX_DIAGNOSTICS: usize = 100;

/// What is wrong with `func`.
pub fn verify(func: &Func) -> Diagnostics {
    verify_but(func, &mut Vec::new(), |_| false)
}

/// As [`verify`]; of ops that are as they were when this last found nothing wrong with `func` it asks only what may depend on
/// others, and nothing at all if nothing was edited since.
pub fn verify_edited(func: &mut Func) -> Diagnostics {
    if func.is_all_checked() {
        return Diagnostics::new();
    }
    let mut seen = func.take_zeros();
    let found = verify_but(func, &mut seen, |op| func.is_checked(op));
    if found.is_empty() {
        func.note_checked(seen);
    }
    found
}

/// What is wrong with `func`, where each op alone of which `is_checked` holds is right. `seen` is room for the walk: all zeros,
/// and so again if nothing is wrong.
fn verify_but(func: &Func, seen: &mut Vec<u32>, is_checked: impl Fn(Op) -> bool) -> Diagnostics {
    let mut rows = Rows { func, fitting: vec![Opcode::UNKNOWN; func.n_attr_lists()], found: Diagnostics::new() };
    if let Some(check) = func.item_row().item.and(func.item_row().verify) {
        // An item has no op of its own; its verifier looks at the header and is given the first op, if any.
        if let Some(first) = func.first_op(func.body()) {
            check(func, first, &mut rows.found);
        }
    }
    seen.resize(func.n_value_ids(), 0);
    let mut scope = Scope { seen, defined: Vec::with_capacity(64), is_counted: true };
    region(func, func.body(), &mut scope, &mut rows, is_checked);
    if !scope.is_counted {
        rows.use_counts();
    }
    rows.found
}

/// Set for a value that is in scope; the bits below it count its uses.
const VISIBLE: u32 = 1 << 31;

/// What is defined and used where a walk is.
struct Scope<'s> {
    /// [`VISIBLE`] and the number of uses of each value.
    seen: &'s mut [u32],
    /// What is in scope, the innermost last.
    defined: Vec<Value>,
    /// The uses on record are those that were seen, of all values that went out of scope.
    is_counted: bool,
}

impl Scope<'_> {
    #[inline]
    fn define(&mut self, value: Value) {
        self.seen[value.index()] |= VISIBLE;
        self.defined.push(value);
    }

    /// Counts the uses by an op of `operands`; are all of them in scope?
    #[inline]
    fn enter_uses(&mut self, operands: &[Value]) -> bool {
        let mut all_visible = VISIBLE;
        for &operand in operands {
            let seen = &mut self.seen[operand.index()];
            *seen += 1;
            all_visible &= *seen;
        }
        all_visible != 0
    }

    /// Takes what was defined from number `len` on out of scope.
    fn leave(&mut self, func: &Func, len: usize) {
        for &value in &self.defined[len..] {
            let n_uses = take(&mut self.seen[value.index()]) & !VISIBLE;
            self.is_counted &= n_uses as usize == func.n_uses(value);
        }
        self.defined.truncate(len);
    }
}

/// Checks the ops of `root` and of the regions in it, in their order.
fn region(func: &Func, root: Region, scope: &mut Scope<'_>, rows: &mut Rows<'_>, is_checked: impl Fn(Op) -> bool) {
    enum Pending {
        Enter(Region),
        /// The end of a region: what was defined from this number on is out of scope.
        Leave(usize),
        /// The end of an op's regions.
        After(Op),
    }
    let mut worklist = vec![Pending::Enter(root)];
    while let Some(step) = worklist.pop() {
        let mut next = match step {
            Pending::Enter(region) => {
                worklist.push(Pending::Leave(scope.defined.len()));
                func.region_args(region).iter().for_each(|&arg| scope.define(arg));
                func.first_op(region)
            }
            Pending::Leave(len) => {
                scope.leave(func, len);
                None
            }
            Pending::After(op) => {
                func.results(op).for_each(|value| scope.define(value));
                func.next_op(op)
            }
        };
        while let Some(op) = next {
            let data = &func.ops[op];
            let facts = func.registry().facts(data.opcode);
            next = func.next_op(op);
            if !scope.enter_uses(func.operands_of(data)) {
                rows.out_of_scope(op, scope);
            }
            if facts.terminator && next.is_some() {
                rows.error(op, format!("`{}` does not stand at the end of its block", facts.row.name));
            }
            let is_checked = is_checked(op);
            if !is_checked || facts.verify.is_some() || cfg!(debug_assertions) {
                rows.op(op, data, facts, is_checked);
            }
            if rows.found.len() > MAX_DIAGNOSTICS {
                return;
            }
            if !data.regions.is_empty() {
                // The op's own results are not in scope in its regions.
                worklist.push(Pending::After(op));
                worklist.extend(func.op_regions(op).iter().rev().map(|&region| Pending::Enter(region)));
                break;
            }
            data.results().for_each(|value| scope.define(value));
        }
    }
}

/// Checks of ops by their rows, and what was found.
struct Rows<'f> {
    func: &'f Func,
    /// The row that a list of attributes was last found to fit: most lists are those of many ops.
    fitting: Vec<Opcode>,
    found: Diagnostics,
}

impl Rows<'_> {
    /// What the row of `op` asks of it.
    fn op(&mut self, op: Op, data: &OpData, facts: &RowFacts, is_checked: bool) {
        if data.opcode == Opcode::UNKNOWN {
            return;
        }
        let before = self.found.len();
        if !is_checked || cfg!(debug_assertions) {
            self.alone(op, data, facts);
        }
        debug_assert!(!is_checked || self.found.len() == before, "`{}` taken for checked", self.func.op_name(op));
        // A row's verifier may lean on what the row declares.
        if self.found.len() == before
            && let Some(check) = facts.verify
        {
            check(self.func, op, &mut self.found);
        }
    }

    /// What is asked of an op apart from all others.
    fn alone(&mut self, op: Op, data: &OpData, facts: &RowFacts) {
        let (func, before) = (self.func, self.found.len());
        let operands = func.operands_of(data);
        let (n_results, n_regions) = (usize::from(data.n_results), func.op_regions(op).len());
        let is_fit = facts.arity.fits(operands.len(), data.keyed, n_results, n_regions);
        // What looks well is well; what is wrong with the rest a closer look finds.
        let is_counted = (is_fit && cfg!(not(debug_assertions))) || self.arity(op);
        debug_assert_eq!(is_fit, self.found.len() == before, "two ways to count at `{}`", func.op_name(op));
        let (is_known, n_found) = (self.is_known(data.attrs, data.opcode, facts), self.found.len());
        if is_counted && (!is_known || cfg!(debug_assertions)) {
            self.attributes(op);
        }
        debug_assert!(!is_known || self.found.len() == n_found, "attributes of `{}` taken for known", func.op_name(op));
        if self.found.len() == before
            && let Some(check) = facts.verify_alone
        {
            check(func, op, &mut self.found);
        }
    }

    /// Is it seen without a look at names that a list of attributes fits a row?
    fn is_known(&self, attrs: Attrs, opcode: Opcode, facts: &RowFacts) -> bool {
        match self.func.entries(attrs) {
            [] => !facts.needs_attrs,
            [(key, _)] if facts.only_attr == Some(*key) => true,
            _ => self.fitting[attrs.index()] == opcode,
        }
    }

    #[cold]
    fn out_of_scope(&mut self, op: Op, scope: &Scope<'_>) {
        let func = self.func;
        for &operand in func.operands(op) {
            if scope.seen[operand.index()] & VISIBLE == 0 {
                let name = func.value_text(operand);
                let what = if name.is_empty() { format!("{operand:?}") } else { format!("`{name}`") };
                self.error(op, format!("`{}` uses {what}, which is not in scope there", func.op_name(op)));
            }
        }
    }

    /// Reports in what the numbers of operands, results and regions of `op` differ from its row; returns whether that of
    /// operands is right.
    #[cold]
    fn arity(&mut self, op: Op) -> bool {
        let (func, row) = (self.func, self.func.row(op));
        let n_operands = func.operands(op).len();
        let mut n_expected = 0;
        func.for_each_param(op, row, |_, _, n| n_expected += n);
        if n_operands != n_expected {
            self.error(op, format!("`{}` takes {}, not {n_operands}", row.name, counted(n_expected, "operand")));
            return false;
        }
        if let Results::Count(n) = row.results
            && func.n_results(op) != usize::from(n)
        {
            self.error(op, format!("`{}` has {}, not {}", row.name, counted(n, "result"), func.n_results(op)));
        }
        let n_regions = func.op_regions(op).len();
        let n_least = row.regions.iter().filter(|region| !region.optional).count();
        if n_regions < n_least || n_regions > row.regions.len() {
            self.error(op, format!("`{}` has {}, not {n_regions}", row.name, counted(row.regions.len(), "region")));
        }
        let keyed = row.params.iter().enumerate().filter(|(_, param)| param.kind.is_operand() && param.keyed);
        for (idx, param) in keyed {
            if !param.optional && !func.param_given(op, idx) {
                self.error(op, format!("`{}` lacks `{} = …`", row.name, param.name));
            }
        }
        true
    }

    fn attributes(&mut self, op: Op) {
        let (func, row, attrs) = (self.func, self.func.row(op), self.func.op_attrs(op));
        let before = self.found.len();
        // What looks well is well, as above.
        let is_fit = entries_fit(func, attrs, row);
        if !is_fit || cfg!(debug_assertions) {
            self.each_attribute(op, row);
        }
        debug_assert!(!is_fit || self.found.len() == before, "a closer look at `{}` finds nothing", func.op_name(op));
        if self.found.len() == before {
            self.fitting[attrs.index()] = func.opcode(op);
        }
    }

    fn each_attribute(&mut self, op: Op, row: &OpDef) {
        let func = self.func;
        for param in row.params.iter().filter(|param| !param.kind.is_operand()) {
            self.attribute(op, row, param);
        }
        if !row.open_attrs {
            for &(key, _) in func.entries(func.op_attrs(op)) {
                let key = func.text(key);
                let known = row.params.iter().any(|param| !param.kind.is_operand() && param.name == key);
                // A dotted key is a stranger's note; aligned accesses and the like are keys that passes share.
                if !known && !key.contains('.') {
                    self.error(op, format!("`{}` has no attribute `{key}`", row.name));
                }
            }
        }
    }

    fn attribute(&mut self, op: Op, row: &OpDef, param: &Param) {
        let func = self.func;
        let Some(attr) = func.attr_named(op, param.name) else {
            if !param.optional {
                self.error(op, format!("`{}` lacks its attribute `{}`", row.name, param.name));
            }
            return;
        };
        let fits = kind_fits(param.kind, func.attr_data(attr));
        if !fits {
            let want = match param.kind {
                ParamKind::Word => "a word",
                ParamKind::Int => "an integer",
                ParamKind::Str => "a string",
                _ => "a symbol",
            };
            self.error(op, format!("attribute `{}` of `{}` must be {want}", param.name, row.name));
        }
    }

    fn use_counts(&mut self) {
        let mut n_uses = vec![0; self.func.n_value_ids()];
        for op in crate::walk::all_ops(self.func) {
            self.func.operands(op).iter().for_each(|operand| n_uses[operand.index()] += 1);
        }
        for op in crate::walk::all_ops(self.func) {
            for value in self.func.results(op) {
                let (kept, real) = (self.func.n_uses(value), n_uses[value.index()]);
                if kept != real && !self.found.has_errors() {
                    let text = format!(
                        "{value:?} of `{}` is used {real} times, but {kept} are on record",
                        self.func.op_name(op)
                    );
                    self.found.push(Diagnostic::bug("use-count", self.func.op_location(op), text));
                }
            }
        }
    }

    fn error(&mut self, op: Op, message: String) {
        self.found.push(Diagnostic::error("verify", self.func.op_location(op), message));
    }
}

/// Are the entries of `attrs` those that `row` declares, in its order, and no others? So they mostly are.
fn entries_fit(func: &Func, attrs: Attrs, row: &OpDef) -> bool {
    let mut entries = func.entries(attrs);
    for param in row.params.iter().filter(|param| !param.kind.is_operand()) {
        match entries.split_first() {
            Some((&(key, attr), rest)) if func.text(key) == param.name => {
                if !kind_fits(param.kind, func.attr_data(attr)) {
                    return false;
                }
                entries = rest;
            }
            _ if param.optional => {}
            _ => return false,
        }
    }
    // An attribute that the row declares may stand behind others: that takes a closer look.
    entries.is_empty()
}

/// Does an attribute stand where one of `kind` is wanted?
fn kind_fits(kind: ParamKind, data: &AttrData) -> bool {
    match kind {
        ParamKind::Word => matches!(data, AttrData::Word(_) | AttrData::Str(_)),
        ParamKind::Int => matches!(data, AttrData::Int(..)),
        ParamKind::Str => matches!(data, AttrData::Str(_) | AttrData::Word(_)),
        ParamKind::Symbol => matches!(data, AttrData::Symbol(_)),
        _ => true,
    }
}

/// Does `op` carry the attribute `key` as a flag?
pub fn has_flag(func: &Func, attrs: crate::Attrs, key: crate::Name) -> bool {
    func.entry(attrs, key).is_some_and(|attr| !matches!(func.attr_data(attr), AttrData::Bool(false)))
}

/// Is `func` threaded: has `thread-sync` run on it?
pub fn is_threaded(func: &Func) -> bool {
    has_flag(func, func.header.attrs, keys::THREADED)
}
