//! The order of ops that text implies.
//!
//! An op that prints inside its user has its place in the text there, and reading the text puts it right before the
//! statement, operands from left to right. A pass that builds such ops in another order leaves a program that is equal in
//! text but not in the order of ops, and a pass that takes the first of equal ops would then tell the two apart. So the
//! pass manager settles the order after each pass that edited a function.

use crate::effects::Summary;
use crate::entity::{Op, Region};
use crate::func::Func;
use crate::opdef::Role;
use crate::rewrite::Rewriter;
use crate::walk::{all_ops, ops_under};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// Brings ops that print inside their users into the order of the text.
pub fn settle(func: &mut Func) {
    let mut regions = Vec::new();
    contents(func, func.body(), &mut regions);
    debug_assert!(
        orders(func, &all_regions(func)).iter().all(|(region, _)| regions.contains(region)),
        "what one walk takes for settled is so at a closer look"
    );
    if regions.is_empty() {
        return;
    }
    let orders = orders(func, &regions);
    let mut rw = Rewriter::new(func);
    for (region, order) in orders {
        for op in order {
            rw.move_to_end(op, region);
        }
    }
}

fn all_regions(func: &Func) -> Vec<Region> {
    std::iter::once(func.body()).chain(all_ops(func).flat_map(|op| func.op_regions(op).iter().copied())).collect()
}

/// Those of `regions` whose ops stand in another order than the text has, with that order.
fn orders(func: &Func, regions: &[Region]) -> Vec<(Region, Vec<Op>)> {
    let text = Text::of(func, regions);
    let mut scratch = Scratch { positions: vec![0; func.n_op_ids()], ..Scratch::default() };
    let mut orders = Vec::new();
    for &region in regions {
        text.order(func, region, &mut scratch);
        if scratch.now != scratch.order {
            orders.push((region, scratch.order.clone()));
        }
    }
    orders
}

/// What the ops of a region print as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    /// One expression, that of what the region hands on.
    Expression,
    /// Statements.
    Statements,
}

/// What `region` holds. The regions in it, and itself, of which it takes a closer look to see their order go to `unsettled`:
/// most passes leave most regions in order, and one walk tells so.
fn contents(func: &Func, region: Region, unsettled: &mut Vec<Region>) -> Contents {
    let mut held = Contents::Expression;
    let mut is_settled = true;
    // What prints inside of an op that is yet to come: its operands from left to right, each behind its own.
    let mut worklist: SmallVec<[Op; 8]> = SmallVec::new();
    for op in func.ops(region) {
        if !worklist.is_empty() {
            for &operand in func.operands(op).iter().rev() {
                if worklist.last().is_some_and(|&part| func.def_op(operand) == Some(part)) {
                    worklist.pop();
                }
            }
        }
        let facts = func.registry().facts(func.opcode(op));
        let mut is_part = is_used_in_place(func, op) && facts.text & (ACTS | ALLOCATES) == 0 && !facts.terminator;
        for &inner in func.op_regions(op) {
            let n_unsettled = unsettled.len();
            is_part &= contents(func, inner, unsettled) == Contents::Expression && func.role(op) == Role::If;
            // Whether it prints as an expression depends on the order of its arms.
            is_settled &= unsettled.len() == n_unsettled || !is_used_in_place(func, op);
        }
        if is_part {
            worklist.push(op);
            continue;
        }
        // A statement: what stands before it and does not belong to it prints later.
        is_settled &= worklist.is_empty();
        if held == Contents::Expression && !facts.terminator && !is_plain_literal(func, op) {
            held = Contents::Statements;
        }
    }
    if !is_settled || !worklist.is_empty() {
        unsettled.push(region);
    }
    held
}

/// Does `op` have one result without a name, used once?
fn is_used_in_place(func: &Func, op: Op) -> bool {
    func.result(op).is_some_and(|result| func.n_uses(result) == 1 && func.value_name(result).is_none())
}

/// Is `op` a literal without a name?
fn is_plain_literal(func: &Func, op: Op) -> bool {
    func.role(op) == Role::Constant && func.result(op).is_some_and(|result| func.value_name(result).is_none())
}

/// More than reading, and making buffers?
fn acts(own: Summary) -> bool {
    own.writes || own.synchronises || own.unknown || own.convergent
}

/// It, or an op in it, does more than read.
pub(crate) const ACTS: u8 = 1;
/// It, or an op in it, reads.
const READS: u8 = 2;
/// It has regions, and no expression could print for one of them.
const STATES: u8 = 4;
/// It, or an op in it, makes a buffer: it prints on a line of its own, and reads print past that.
const ALLOCATES: u8 = 8;

/// What the text asks of an op that does `own`.
pub(crate) fn flags(own: Summary) -> u8 {
    let flags = [(acts(own), ACTS), (own.reads, READS), (own.allocates, ALLOCATES)];
    flags.iter().filter(|(is, _)| *is).fold(0, |all, (_, flag)| all | flag)
}

/// Those of `regions` that stand in no other one of them.
fn outermost(func: &Func, regions: &[Region]) -> Vec<Region> {
    let all: FxHashSet<Region> = regions.iter().copied().collect();
    let outer = |region: &Region| func.region_parent(*region).and_then(|parent| func.region_of(parent));
    let is_inner = |region: Region| std::iter::successors(outer(&region), outer).any(|outer| all.contains(&outer));
    regions.iter().copied().filter(|&region| !is_inner(region)).collect()
}

/// What the order of a function's text depends on.
struct Text {
    /// The op of the same region that each op prints inside, by its number, as far as that does not depend on what stands
    /// between the two.
    into: Vec<Option<Op>>,
    /// What each op does, by its number.
    effects: Vec<u8>,
}

/// What is needed for one region at a time.
#[derive(Default)]
struct Scratch {
    /// Where an op stands in its region, by its number.
    positions: Vec<u32>,
    /// The ops of the region as they stand, and as the text has them.
    now: Vec<Op>,
    order: Vec<Op>,
    /// The position of the statement that each op is printed in; its own, if it is one.
    lands: Vec<usize>,
    /// How many ops before each one do more than read.
    n_acts: Vec<usize>,
    worklist: Vec<(Op, bool)>,
}

impl Text {
    /// That of all that stands in `regions`.
    fn of(func: &Func, regions: &[Region]) -> Text {
        let ops: Vec<Op> = outermost(func, regions).into_iter().flat_map(|region| ops_under(func, region)).collect();
        let mut text = Text { into: vec![None; func.n_op_ids()], effects: vec![0; func.n_op_ids()] };
        // An op that uses a value, by the value's number: the only one, where it is used just once.
        let mut users: Vec<Option<Op>> = vec![None; func.n_value_ids()];
        for &op in &ops {
            for &operand in func.operands(op) {
                users[operand.as_u32() as usize] = Some(op);
            }
        }
        // What stands in an op comes after it.
        for &op in ops.iter().rev() {
            let facts = func.registry().facts(func.opcode(op));
            let at = op.as_u32() as usize;
            text.effects[at] |= facts.text;
            text.into[at] = text.inlined_into(func, op, &users);
            if let Some(outer) = func.parent_op(op) {
                text.effects[outer.as_u32() as usize] |= text.effects[at] & (ACTS | READS | ALLOCATES);
                // In an expression everything prints inside of what it hands on.
                let is_part = text.into[at].is_some();
                if !is_part && !facts.terminator && !is_plain_literal(func, op) {
                    text.effects[outer.as_u32() as usize] |= STATES;
                }
            }
        }
        text
    }

    fn effects(&self, op: Op) -> u8 {
        self.effects[op.as_u32() as usize]
    }

    /// Finds the order of `region`, next to the one that it has now.
    fn order(&self, func: &Func, region: Region, scratch: &mut Scratch) {
        let Scratch { positions, now, order, lands, n_acts, worklist } = scratch;
        now.clear();
        now.extend(func.ops(region));
        n_acts.clear();
        let mut n = 0;
        for (nth, &op) in now.iter().enumerate() {
            positions[op.as_u32() as usize] = nth as u32;
            n_acts.push(n);
            n += usize::from(self.effects(op) & ACTS != 0);
        }
        lands.clear();
        lands.extend(0..now.len());
        // From the end, so that the statement a user lands in is known before what it uses.
        for (nth, &op) in now.iter().enumerate().rev() {
            let Some(user) = self.into[op.as_u32() as usize] else { continue };
            let statement = lands[positions[user.as_u32() as usize] as usize];
            let is_read = self.effects(op) & READS != 0;
            if !is_read || n_acts[statement] == n_acts[nth] {
                lands[nth] = statement;
            }
        }
        order.clear();
        let is_inside = |op: Op| {
            let nth = positions[op.as_u32() as usize] as usize;
            func.region_of(op) == Some(region) && lands[nth] != nth
        };
        for (nth, &root) in now.iter().enumerate() {
            if lands[nth] != nth {
                continue;
            }
            // What prints inside of it, operands from left to right, and then the statement.
            worklist.push((root, false));
            while let Some((op, done)) = worklist.pop() {
                if done {
                    order.push(op);
                    continue;
                }
                worklist.push((op, true));
                let defs = func.operands(op).iter().rev().filter_map(|&operand| func.def_op(operand));
                worklist.extend(defs.filter(|&def| is_inside(def)).map(|def| (def, false)));
            }
        }
    }

    /// See [`Text::into`]; what the op does is known.
    fn inlined_into(&self, func: &Func, op: Op, users: &[Option<Op>]) -> Option<Op> {
        let result = func.result(op).filter(|_| is_used_in_place(func, op))?;
        if self.effects(op) & (ACTS | ALLOCATES) != 0 {
            return None;
        }
        let states = || self.effects(op) & STATES != 0 || func.role(op) != Role::If;
        if func.registry().facts(func.opcode(op)).terminator || (!func.op_regions(op).is_empty() && states()) {
            return None;
        }
        users[result.as_u32() as usize].filter(|&user| func.region_of(user) == func.region_of(op))
    }
}
