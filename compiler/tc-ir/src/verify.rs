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
use crate::func::Func;
use crate::names::keys;
use crate::opdef::{OpDef, Opcode, Param, ParamKind, Results};
use cranelift_entity::SecondaryMap;
use tc_support::{Diagnostic, Diagnostics, counted};

/// Diagnostics beyond this number are dropped: a broken function repeats itself.
const MAX_DIAGNOSTICS: usize = 100;

/// What is wrong with `func`.
pub fn verify(func: &Func) -> Diagnostics {
    let mut state = Verifier {
        func,
        visible: SecondaryMap::with_capacity(func.n_value_ids()),
        n_uses: SecondaryMap::with_capacity(func.n_value_ids()),
        defined: Vec::new(),
        fitting: SecondaryMap::new(),
        found: Diagnostics::new(),
    };
    if let Some(check) = func.item_row().item.and(func.item_row().verify) {
        // An item has no op of its own; its verifier looks at the header and is given the first op, if any.
        if let Some(first) = func.first_op(func.body()) {
            check(func, first, &mut state.found);
        }
    }
    state.region(func.body());
    state.use_counts();
    state.found
}

struct Verifier<'f> {
    func: &'f Func,
    visible: SecondaryMap<Value, bool>,
    n_uses: SecondaryMap<Value, u32>,
    defined: Vec<Value>,
    /// The row that a list of attributes was last found to fit: most lists are those of many ops.
    fitting: SecondaryMap<Attrs, Option<Opcode>>,
    found: Diagnostics,
}

impl Verifier<'_> {
    fn region(&mut self, root: Region) {
        enum Pending {
            Enter(Region),
            Ops(Option<Op>),
            /// The end of a region: what was defined from this number on is out of scope.
            Leave(usize),
            /// The end of an op's regions: its results come into scope.
            Results(Op),
        }
        let func = self.func;
        let mut worklist = vec![Pending::Enter(root)];
        while let Some(step) = worklist.pop() {
            match step {
                Pending::Enter(region) => {
                    worklist.push(Pending::Leave(self.defined.len()));
                    for &arg in func.region_args(region) {
                        self.define(arg);
                    }
                    worklist.push(Pending::Ops(func.first_op(region)));
                }
                Pending::Ops(None) => {}
                Pending::Ops(Some(op)) => {
                    if self.found.len() > MAX_DIAGNOSTICS {
                        return;
                    }
                    self.op(op);
                    // After the regions: the op's own results are not in scope there.
                    worklist.push(Pending::Ops(func.next_op(op)));
                    if func.op_regions(op).is_empty() {
                        func.results(op).for_each(|value| self.define(value));
                    } else {
                        worklist.push(Pending::Results(op));
                        worklist.extend(func.op_regions(op).iter().rev().map(|&region| Pending::Enter(region)));
                    }
                }
                Pending::Results(op) => func.results(op).for_each(|value| self.define(value)),
                Pending::Leave(len) => {
                    for value in self.defined.drain(len..) {
                        self.visible[value] = false;
                    }
                }
            }
        }
    }

    fn define(&mut self, value: Value) {
        self.visible[value] = true;
        self.defined.push(value);
    }

    fn op(&mut self, op: Op) {
        let func = self.func;
        let row = func.row(op);
        for &operand in func.operands(op) {
            self.n_uses[operand] += 1;
            if !self.visible[operand] {
                let name = func.value_text(operand);
                let what = if name.is_empty() { format!("{operand:?}") } else { format!("`{name}`") };
                self.error(op, format!("`{}` uses {what}, which is not in scope there", func.op_name(op)));
            }
        }
        if row.terminator && func.next_op(op).is_some() {
            self.error(op, format!("`{}` does not stand at the end of its block", row.name));
        }
        if func.opcode(op) == Opcode::UNKNOWN {
            return;
        }
        let before = self.found.len();
        self.against_row(op, row);
        // A row's verifier may lean on what the row declares.
        if self.found.len() == before
            && let Some(check) = row.verify
        {
            check(func, op, &mut self.found);
        }
    }

    fn against_row(&mut self, op: Op, row: &OpDef) {
        let func = self.func;
        let n_operands = func.operands(op).len();
        let n_expected = match func.registry().facts(func.opcode(op)).n_operands {
            Some(n) => usize::from(n),
            None => {
                let mut n_expected = 0;
                func.for_each_param(op, row, |_, _, n| n_expected += n);
                n_expected
            }
        };
        if n_operands != n_expected {
            self.error(op, format!("`{}` takes {}, not {n_operands}", row.name, counted(n_expected, "operand")));
            return;
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
        let (attrs, opcode) = (func.op_attrs(op), Some(func.opcode(op)));
        if self.fitting[attrs] != opcode {
            let before = self.found.len();
            self.attributes(op, row);
            if self.found.len() == before {
                self.fitting[attrs] = opcode;
            }
        }
    }

    fn attributes(&mut self, op: Op, row: &OpDef) {
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
        let data = func.attr_data(attr);
        let fits = match param.kind {
            ParamKind::Word => matches!(data, AttrData::Word(_) | AttrData::Str(_)),
            ParamKind::Int => matches!(data, AttrData::Int(..)),
            ParamKind::Str => matches!(data, AttrData::Str(_) | AttrData::Word(_)),
            ParamKind::Symbol => matches!(data, AttrData::Symbol(_)),
            _ => true,
        };
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
        let is_right = |(value, kept): (Value, u32)| kept == self.n_uses[value];
        if self.func.kept_use_counts().all(is_right) {
            return;
        }
        for op in crate::walk::all_ops(self.func) {
            for value in self.func.results(op) {
                if self.func.n_uses(value) != self.n_uses[value] as usize && !self.found.has_errors() {
                    let (kept, real) = (self.func.n_uses(value), self.n_uses[value]);
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

/// Does `op` carry the attribute `key` as a flag?
pub fn has_flag(func: &Func, attrs: crate::Attrs, key: crate::Name) -> bool {
    func.entry(attrs, key).is_some_and(|attr| !matches!(func.attr_data(attr), AttrData::Bool(false)))
}

/// Is `func` threaded: has `thread-sync` run on it?
pub fn is_threaded(func: &Func) -> bool {
    has_flag(func, func.header.attrs, keys::THREADED)
}
