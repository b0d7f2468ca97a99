//! The order of ops that text implies.
//!
//! An op that prints inside its user has its place in the text there, and reading the text puts it right before the
//! statement, operands from left to right. A pass that builds such ops in another order leaves a program that is equal in
//! text but not in the order of ops, and a pass that takes the first of equal ops would then tell the two apart. So the
//! pass manager settles the order after each pass that edited a function.

use crate::effects::{self, Summary};
use crate::entity::{Op, Region};
use crate::func::Func;
use crate::opdef::Role;
use crate::rewrite::Rewriter;
use crate::walk::all_ops;

/// Brings ops that print inside their users into the order of the text.
pub fn settle(func: &mut Func) {
    if is_settled(func) {
        debug_assert!(unsettled(func).is_empty(), "the short way agrees with the long one");
        return;
    }
    let orders = unsettled(func);
    let mut rw = Rewriter::new(func);
    for (region, order) in orders {
        for op in order {
            rw.move_to_end(op, region);
        }
    }
}

/// The regions whose ops stand in another order than the text has, with that order.
fn unsettled(func: &Func) -> Vec<(Region, Vec<Op>)> {
    let text = Text::of(func);
    let mut scratch = Scratch { positions: vec![0; func.n_op_ids()], ..Scratch::default() };
    let mut orders = Vec::new();
    for &region in &text.regions {
        text.order(func, region, &mut scratch);
        if scratch.now != scratch.order {
            orders.push((region, scratch.order.clone()));
        }
    }
    orders
}

/// Does each op that may print inside its user stand where the text has it, told in one walk? `false` where that takes a
/// closer look: most passes leave most functions in order.
fn is_settled(func: &Func) -> bool {
    // What prints inside of an op that is yet to come: its operands from left to right, each behind its own.
    let mut worklist: Vec<Op> = Vec::new();
    for op in all_ops(func) {
        for &operand in func.operands(op).iter().rev() {
            worklist.pop_if(|part| func.def_op(operand) == Some(*part));
        }
        if func.op_regions(op).is_empty() {
            if may_be_part(func, op, effects::own(func, op)) {
                worklist.push(op);
                continue;
            }
        } else if func.role(op) == Role::If && is_used_in_place(func, op) {
            // Whether it prints as an expression depends on what its arms hold.
            return false;
        }
        // A statement: what stands before it and does not belong to it prints later.
        if !worklist.is_empty() {
            return false;
        }
    }
    worklist.is_empty()
}

/// Does `op` have one result without a name, used once?
fn is_used_in_place(func: &Func, op: Op) -> bool {
    func.result(op).is_some_and(|result| func.n_uses(result) == 1 && func.value_name(result).is_none())
}

/// May `op`, which has no regions and does `own`, print inside its user?
fn may_be_part(func: &Func, op: Op, own: Summary) -> bool {
    is_used_in_place(func, op) && !acts(own) && !own.allocates && !func.row(op).terminator
}

/// More than reading, and making buffers?
fn acts(own: Summary) -> bool {
    own.writes || own.synchronises || own.unknown || own.convergent
}

/// It, or an op in it, does more than read.
const ACTS: u8 = 1;
/// It, or an op in it, reads.
const READS: u8 = 2;
/// It has regions, and no expression could print for one of them.
const STATES: u8 = 4;
/// It, or an op in it, makes a buffer: it prints on a line of its own, and reads print past that.
const ALLOCATES: u8 = 8;

/// What the order of a function's text depends on.
struct Text {
    regions: Vec<Region>,
    /// An op that uses a value, by the value's number: the only one, where it is used just once.
    users: Vec<Option<Op>>,
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
    fn of(func: &Func) -> Text {
        let ops: Vec<Op> = all_ops(func).collect();
        let mut text = Text {
            regions: vec![func.body()],
            users: vec![None; func.n_value_ids()],
            effects: vec![0; func.n_op_ids()],
        };
        for &op in &ops {
            text.regions.extend_from_slice(func.op_regions(op));
            for &operand in func.operands(op) {
                text.users[operand.as_u32() as usize] = Some(op);
            }
        }
        // What stands in an op comes after it.
        for &op in ops.iter().rev() {
            let own = effects::own(func, op);
            let at = op.as_u32() as usize;
            let flags = [(acts(own), ACTS), (own.reads, READS), (own.allocates, ALLOCATES)];
            text.effects[at] |= flags.iter().filter(|(is, _)| *is).fold(0, |all, (_, flag)| all | flag);
            if let Some(outer) = func.parent_op(op) {
                text.effects[outer.as_u32() as usize] |= text.effects[at] & (ACTS | READS | ALLOCATES);
                // In an expression everything prints inside of what it hands on.
                let row = func.row(op);
                let is_unnamed = func.result(op).is_some_and(|result| func.value_name(result).is_none());
                let is_literal = row.role == Role::Constant && is_unnamed;
                let is_part =
                    text.inlined_into(func, op).is_some_and(|user| func.region_of(user) == func.region_of(op));
                if !row.terminator && !is_literal && !is_part {
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
            let user = self.inlined_into(func, op).filter(|&user| func.region_of(user) == Some(region));
            let Some(user) = user else { continue };
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

    /// The op that `op` prints inside, as far as that does not depend on what stands between.
    fn inlined_into(&self, func: &Func, op: Op) -> Option<Op> {
        let result = func.result(op).filter(|_| is_used_in_place(func, op))?;
        if self.effects(op) & (ACTS | ALLOCATES) != 0 {
            return None;
        }
        let row = func.row(op);
        let states = self.effects(op) & STATES != 0 || row.role != Role::If;
        if row.terminator || (!func.op_regions(op).is_empty() && states) {
            return None;
        }
        self.users[result.as_u32() as usize]
    }
}
