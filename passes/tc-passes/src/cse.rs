//! Replaces ops that compute the same value by one of them: common subexpression elimination.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! The same program; no two ops without effects in scope of each other have the same opcode, operands, attributes and
//! types. Ops that read memory, have regions or must not be duplicated are left unchanged. Literals are ops too.
//!
//! # Example
//!
//! ```tir
//! A[i * 4 + 1] = B[i * 4] + C[i * 4]
//! ->
//! let $1 = i * 4
//! A[$1 + 1] = B[$1] + C[$1]
//! ```
//!
//! # Algorithm
//!
//! The pass walks the text in order with a table of the ops in scope, keyed by a hash of opcode, operands, attributes
//! and type; the order of the operands of a commutative op does not matter. At the end of a region it removes the
//! region's ops from the table: dominance is scope.
//!
//! # Limits
//!
//! Two equal expressions in two branches, neither in scope of the other, stay; the pass hoists nothing.
//!
//! # Remarks
//!
//! `computed-again`: an expression that equals an earlier one in a loop or branch that has ended.
//!
//! # References
//!
//! Cocke (1970), "Global common subexpression elimination"; the scoped table as in Cooper and Torczon, Engineering a
//! Compiler (2011), section 8.4.1.

use crate::analysis::launch::LaunchNests;
use crate::analysis::words;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use tc_dialects::tir;
use tc_ir::opdef::Role;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Opcode, Region, Rewriter, Value, effects};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};
use tc_support::{Diagnostic, Location};

tc_pass::options! {
    /// `cse` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "cse",
    page: tc_support::page!("cse.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(Cse))),
};

/// The pass.
pub struct Cse;

impl FuncPass for Cse {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        // Of the ops some have no result, and some equal others.
        let known = HashTable::with_capacity(func.n_op_ids() / 4);
        let mut table = Table { rw: Rewriter::new(func), known, undo: Vec::new(), n_merged: 0 };
        table.walk();
        table.rw.settle();
        let n_merged = table.n_merged;
        drop(table);
        cx.count("ops merged", n_merged);
        if cx.wants_missed() {
            computed_again(func).into_iter().for_each(|found| cx.report(found));
        }
        n_merged > 0
    }
}

/// What is in scope.
struct Table<'f> {
    rw: Rewriter<'f>,
    known: HashTable<Known>,
    /// What became known, in order.
    undo: Vec<Known>,
    n_merged: u64,
}

/// An op with its hash. A large function has more of these than a cache holds, so they are small.
#[derive(Clone, Copy)]
struct Known {
    hash: u32,
    op: Op,
}

impl Known {
    /// The hash as a table takes it, which asks for good bits at both ends (Knuth 1973, multiplicative hashing).
    fn spread(&self) -> u64 {
        u64::from(self.hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// What is left to do: an op and those after it, or the end of a region.
enum WorkItem {
    Ops(Op),
    Leave(usize),
}

impl Table<'_> {
    fn walk(&mut self) {
        let body = self.rw.func().body();
        let mut worklist: Vec<WorkItem> = self.rw.func().first_op(body).map(WorkItem::Ops).into_iter().collect();
        while let Some(step) = worklist.pop() {
            match step {
                WorkItem::Leave(mark) => self.leave(mark),
                WorkItem::Ops(op) => {
                    worklist.extend(self.rw.func().next_op(op).map(WorkItem::Ops));
                    self.rw.refresh(op);
                    if self.visit(op) {
                        continue;
                    }
                    let regions: Vec<Region> = self.rw.func().op_regions(op).to_vec();
                    for &region in regions.iter().rev() {
                        // A region starts with what is known here: what it adds is gone before the next one starts.
                        worklist.push(WorkItem::Leave(self.undo.len()));
                        worklist.extend(self.rw.func().first_op(region).map(WorkItem::Ops));
                    }
                }
            }
        }
    }

    fn leave(&mut self, mark: usize) {
        for known in self.undo.drain(mark..) {
            if let Ok(entry) = self.known.find_entry(known.spread(), |other| other.op == known.op) {
                entry.remove();
            }
        }
    }

    /// Merges `op` into an equal one, or makes it known. Was it merged?
    fn visit(&mut self, op: Op) -> bool {
        let func = self.rw.func();
        let row = func.row(op);
        if !is_eligible(func, op) {
            return false;
        }
        let new = Known { hash: hash_of(func, op, row.commutative), op };
        let equals = |known: &Known| known.hash == new.hash && same(func, known.op, op, row.commutative);
        match self.known.entry(new.spread(), equals, Known::spread) {
            Entry::Occupied(earlier) => {
                let value = func.result(earlier.get().op).expect("only ops with one result are known");
                self.rw.replace_op(op, &[value]);
                self.n_merged += 1;
                true
            }
            Entry::Vacant(place) => {
                place.insert(new);
                self.undo.push(new);
                false
            }
        }
    }
}

/// May one op stand for all that equal `op`?
fn is_eligible(func: &Func, op: Op) -> bool {
    func.n_results(op) == 1
        && func.row(op).regions.is_empty()
        && func.opcode(op) != Opcode::UNKNOWN
        && effects::summary(func, op).is_pure()
}

/// What is reported of the expressions that are computed in several places of which none sees another.
fn computed_again(func: &Func) -> Vec<Diagnostic> {
    // Values get equal numbers where they are computed alike, wherever they stand.
    let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
    let mut known: FxHashMap<(Opcode, Vec<usize>, String), usize> = FxHashMap::default();
    let mut first: Vec<Value> = Vec::new();
    let mut again: Vec<(Op, Value, usize)> = Vec::new();
    let mut fresh = |numbers: &mut FxHashMap<Value, usize>, value: Value| {
        first.push(value);
        numbers.insert(value, first.len() - 1);
        first.len() - 1
    };
    for op in all_ops(func) {
        let Some(result) = func.result(op).filter(|_| is_eligible(func, op)) else { continue };
        let mut operands: Vec<usize> = Vec::new();
        for &operand in func.operands(op) {
            let number = numbers.get(&operand).copied().unwrap_or_else(|| fresh(&mut numbers, operand));
            operands.push(number);
        }
        if func.row(op).commutative {
            operands.sort_unstable();
        }
        let ty = func.show_type(func.value_type(result));
        let attrs: Vec<String> = func.entries(func.op_attrs(op)).iter().map(|entry| format!("{entry:?}")).collect();
        let key = (func.opcode(op), operands, format!("{ty} {attrs:?}"));
        match known.get(&key) {
            Some(&number) => {
                numbers.insert(result, number);
                if func.role(op) != Role::Constant {
                    again.push((op, result, number));
                }
            }
            None => {
                let number = fresh(&mut numbers, result);
                known.insert(key, number);
            }
        }
    }
    // A part of what is computed again is so too, and nothing to speak of.
    let parts: FxHashSet<Value> = again.iter().flat_map(|&(op, ..)| func.operands(op).iter().copied()).collect();
    let whole = again.into_iter().filter(|(_, result, _)| !parts.contains(result));
    whole
        .filter_map(|(op, result, number)| {
            let earlier = func.def_op(first[number]).unwrap_or(op);
            // What the compiler made has no name or no place, and nothing to tell an author.
            let shown = words::authored(func, result).filter(|_| func.op_location(op) != Location::None)?;
            let text = format!("`{shown}` is computed again: the first time is in a loop or branch that ends before");
            let found = Diagnostic::remark("computed-again", func.op_location(op), text)
                .label(func.op_location(earlier), "computed here as well")
                .help(
                    "compute it once before both: by `let t = …` in a program, as a tensor of its own in an operator",
                );
            Some(found)
        })
        .collect()
}

/// The operands, those of a commutative op in one order.
fn ordered(operands: &[Value], commutative: bool) -> (Option<(Value, Value)>, &[Value]) {
    match operands {
        [lhs, rhs, rest @ ..] if commutative => (Some((*lhs.min(rhs), *lhs.max(rhs))), rest),
        all => (None, all),
    }
}

fn hash_of(func: &Func, op: Op, commutative: bool) -> u32 {
    let mut hasher = FxHasher::default();
    func.opcode(op).hash(&mut hasher);
    ordered(func.operands(op), commutative).hash(&mut hasher);
    func.op_attrs(op).hash(&mut hasher);
    func.result(op).map(|value| func.value_type(value)).hash(&mut hasher);
    // The upper half of the word that it hashes in, to which all bits contribute.
    (hasher.finish() >> (usize::BITS - 32)) as u32
}

fn same(func: &Func, a: Op, b: Op, commutative: bool) -> bool {
    func.opcode(a) == func.opcode(b)
        && func.op_attrs(a) == func.op_attrs(b)
        && func.keyed_mask(a) == func.keyed_mask(b)
        && ordered(func.operands(a), commutative) == ordered(func.operands(b), commutative)
        // Where a literal without a name stands, and whether one is shared, is nothing that text tells.
        && (func.role(a) != Role::Constant || is_named(func, a) == is_named(func, b))
        && func.result(a).map(|value| func.value_type(value)) == func.result(b).map(|value| func.value_type(value))
}

fn is_named(func: &Func, op: Op) -> bool {
    func.result(op).is_some_and(|value| func.value_name(value).is_some())
}
