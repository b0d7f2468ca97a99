//! Which ops are written inside the op that uses them.
//!
//! An op goes inside its user if it is an expression with one result, one use and no name, its user stands in the same
//! region, and it is pure, or a read with no write or synchronisation between it and the statement that it lands in.
//! Literals go inside all their users. A conditional whose regions are one expression each is an expression.
//!
//! Expressions are cut where they get too high or too large for Python's parser and for readers.

use super::stmt::is_expression;
use tc_dialects::{arith, tir};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Region, Role, Value};
use tc_kernel::live::{self, ACTS, READS};

const MAX_HEIGHT: u32 = 24;
const MAX_SIZE: u32 = 60;

/// Where the ops of a function are written.
pub(crate) struct Nesting {
    inline: Vec<bool>,
    choice: Vec<bool>,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// How many ops before it in its region act.
    epoch: u32,
    /// The same for the statement that it lands in.
    landing: u32,
    height: u32,
    size: u32,
    candidate: bool,
}

struct Decider<'a> {
    func: &'a Func,
    effects: Vec<u8>,
    states: Vec<State>,
    nesting: Nesting,
}

impl Nesting {
    /// Decides for all ops of `func`.
    pub(crate) fn new(func: &Func) -> Nesting {
        let ops: Vec<Op> = all_ops(func).collect();
        let n_ops = func.n_op_ids();
        let mut decider = Decider {
            func,
            effects: live::effects(func, &ops),
            states: vec![State::default(); n_ops],
            nesting: Nesting { inline: vec![false; n_ops], choice: vec![false; n_ops] },
        };
        // An op stands before those in its regions: backwards, inner regions come first.
        for &op in ops.iter().rev() {
            for &region in func.op_regions(op) {
                decider.region(region);
            }
            decider.nesting.choice[index(op)] = decider.is_choice(op);
        }
        decider.region(func.body());
        decider.nesting
    }

    /// Is `op` written where its result is used?
    pub(crate) fn is_inline(&self, op: Op) -> bool {
        self.inline[index(op)]
    }

    /// Is `op` a conditional that is one expression?
    pub(crate) fn is_choice(&self, op: Op) -> bool {
        self.choice[index(op)]
    }
}

fn index(op: Op) -> usize {
    op.as_u32() as usize
}

impl Decider<'_> {
    fn region(&mut self, region: Region) {
        self.look(region);
        let mut at = self.func.last_op(region);
        while let Some(op) = at {
            at = self.func.prev_op(op);
            if !self.nesting.inline[index(op)] {
                self.states[index(op)].landing = self.states[index(op)].epoch;
            }
            self.operands(op, region);
        }
    }

    /// Forward: what each op is, and how large it is with what may go inside it.
    fn look(&mut self, region: Region) {
        let func = self.func;
        let mut epoch = 0;
        for op in func.ops(region) {
            let (mut height, mut size) = (0, 1);
            for &operand in func.operands(op) {
                if let Some(def) = func.def_op(operand).filter(|&def| self.states[index(def)].candidate) {
                    height = height.max(self.states[index(def)].height + 1);
                    size += self.states[index(def)].size;
                }
            }
            for &inner in func.op_regions(op) {
                if let Some(end) = func.terminator(inner).filter(|_| self.nesting.choice[index(op)]) {
                    height = height.max(self.states[index(end)].height + 1);
                    size += self.states[index(end)].size;
                }
            }
            let fits = height < MAX_HEIGHT && size < MAX_SIZE;
            let is_literal = func.opcode(op) == arith::CONSTANT;
            self.nesting.inline[index(op)] = is_literal;
            let candidate = !is_literal && fits && self.may_nest(op);
            let (height, size) = if candidate || func.role(op) == Role::Yield { (height, size) } else { (0, 1) };
            self.states[index(op)] = State { epoch, landing: epoch, height, size, candidate };
            if self.effects[index(op)] & ACTS != 0 {
                epoch += 1;
            }
        }
    }

    fn may_nest(&self, op: Op) -> bool {
        let func = self.func;
        let is_expression = is_expression(func, op) || self.nesting.choice[index(op)];
        let Some(result) = func.result(op).filter(|_| is_expression) else { return false };
        func.value_name(result).is_none() && func.n_uses(result) == 1
    }

    /// Backward: the user is settled, so where its operands land is known.
    fn operands(&mut self, user: Op, region: Region) {
        let func = self.func;
        let landing = self.states[index(user)].landing;
        // TVM evaluates the bounds of a loop more than once.
        let repeats = func.opcode(user) == tir::FOR;
        for &operand in func.operands(user) {
            let Some(def) = self.candidate(operand, region) else { continue };
            let reads = self.effects[index(def)] & READS != 0;
            if reads && (repeats || self.states[index(def)].epoch != landing) {
                continue;
            }
            self.nesting.inline[index(def)] = true;
            self.states[index(def)].landing = landing;
        }
    }

    fn candidate(&self, value: Value, region: Region) -> Option<Op> {
        let def = self.func.def_op(value)?;
        (self.func.region_of(def) == Some(region) && self.states[index(def)].candidate).then_some(def)
    }

    /// Is all of both regions of `op` one expression each?
    fn is_choice(&self, op: Op) -> bool {
        let func = self.func;
        if func.opcode(op) != tir::IF || func.n_results(op) != 1 || func.op_regions(op).len() != 2 {
            return false;
        }
        func.op_regions(op).iter().all(|&region| {
            func.terminator(region).is_some()
                && func.ops(region).all(|inner| self.nesting.inline[index(inner)] || func.role(inner) == Role::Yield)
        })
    }
}
