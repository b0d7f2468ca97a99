//! Which ops are printed inside the op that uses them, which as statements of their own, and which not at all.
//!
//! An op goes inside its user if it has one result, one use and no name of the author's, its user stands in the same
//! region, and it is pure, or a read with no write, synchronisation or unknown effect between it and the statement
//! that it lands in. Three kinds of op go inside all their users: literals, and `ramp` and `broadcast`, which CUDA
//! has no values for; their operands are therefore names or short sums.
//!
//! References have no variables either: they stand where they are used.
//!
//! Long expressions are cut: what has more than [`MAX_SIZE`] ops becomes a statement. What nothing needs is left out.

use tc_dialects::{arith, tir};
use tc_ir::attrs::BinOp;
use tc_ir::opdef::Role;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Region, Value};
use tc_kernel::live::{self, ACTS, READS};
use tc_kernel::{access, place};

/// The most ops that are printed as one expression, lanes counted one by one.
const MAX_SIZE: u32 = 40;

/// The same for an expression that is printed once a lane.
const MAX_REPEATED: u32 = 6;

/// Where an inlined op is printed.
#[derive(Clone, Copy)]
struct Landing {
    /// The statement.
    op: Op,
    /// It is evaluated again and again there: the bound of a loop.
    repeated: bool,
    /// It is printed once a lane there.
    copied: bool,
}

/// Where the ops of a kernel are printed.
pub(crate) struct Placement {
    inline: Vec<bool>,
    live: Vec<bool>,
    effects: Vec<u8>,
}

impl Placement {
    /// Where the ops of `func` are printed.
    pub(crate) fn new(func: &Func) -> Placement {
        let ops: Vec<Op> = all_ops(func).collect();
        let mut placer = Placer {
            func,
            inline: vec![false; func.n_op_ids()],
            effects: live::effects(func, &ops),
            users: vec![None; func.n_value_ids()],
            landings: vec![None; func.n_op_ids()],
            epochs: vec![0; func.n_op_ids()],
            sizes: vec![1; func.n_op_ids()],
        };
        placer.collect(&ops);
        placer.region(func.body());
        let live = live::values(func, &ops, &placer.effects);
        Placement { inline: placer.inline, live, effects: placer.effects }
    }

    /// Is `op` printed inside its users?
    pub(crate) fn is_inline(&self, op: Op) -> bool {
        self.inline[op.as_u32() as usize]
    }

    /// Does anything need `value`?
    pub(crate) fn is_live(&self, value: Value) -> bool {
        self.live[value.as_u32() as usize]
    }

    /// Is `op` printed as a statement?
    pub(crate) fn is_statement(&self, func: &Func, op: Op) -> bool {
        !self.is_inline(op)
            && !func.row(op).terminator
            && (self.effects[op.as_u32() as usize] & ACTS != 0 || func.results(op).any(|value| self.is_live(value)))
    }

    /// Can the conditional `op` be printed as `c ? a : b`?
    pub(crate) fn is_expression(&self, func: &Func, op: Op) -> bool {
        is_expression(func, op, &self.inline, &self.effects)
    }
}

fn is_expression(func: &Func, op: Op, inline: &[bool], effects: &[u8]) -> bool {
    func.opcode(op) == tir::IF
        && effects[op.as_u32() as usize] & ACTS == 0
        && func.result(op).and_then(|value| func.value_scalar(value)).is_some_and(|scalar| scalar.lanes == 1)
        && func
            .op_regions(op)
            .iter()
            .flat_map(|&region| func.ops(region))
            .all(|inner| inline[inner.as_u32() as usize] || func.row(inner).terminator)
}

/// Literals, ramps and broadcasts go into all their users.
fn goes_everywhere(func: &Func, op: Op) -> bool {
    match func.opcode(op) {
        arith::CONSTANT => func.result(op).is_some_and(|value| func.value_name(value).is_none()),
        arith::RAMP | arith::BROADCAST => true,
        _ => false,
    }
}

struct Placer<'f> {
    func: &'f Func,
    inline: Vec<bool>,
    effects: Vec<u8>,
    /// The last op that uses a value: the only one, where there is one use.
    users: Vec<Option<(Op, usize)>>,
    landings: Vec<Option<Landing>>,
    /// How many ops that act stand before an op in its region.
    epochs: Vec<u32>,
    /// How many ops are printed with an op, itself included.
    sizes: Vec<u32>,
}

impl Placer<'_> {
    fn collect(&mut self, ops: &[Op]) {
        for &op in ops.iter().rev() {
            for (nth, &operand) in self.func.operands(op).iter().enumerate() {
                self.users[operand.as_u32() as usize] = Some((op, nth));
            }
        }
    }

    fn region(&mut self, region: Region) {
        let func = self.func;
        let mut epoch = 0;
        for op in func.ops(region) {
            for &inner in func.op_regions(op) {
                self.region(inner);
            }
            let idx = op.as_u32() as usize;
            self.epochs[idx] = epoch;
            epoch += u32::from(self.effects[idx] & ACTS != 0);
        }
        let mut op = func.last_op(region);
        while let Some(at) = op {
            self.decide(at);
            op = func.prev_op(at);
        }
        for op in func.ops(region) {
            self.measure(op);
        }
    }

    /// Users are decided before what they use.
    fn decide(&mut self, op: Op) {
        let idx = op.as_u32() as usize;
        if goes_everywhere(self.func, op) {
            self.inline[idx] = true;
            return;
        }
        if place::is_reference(self.func, op) {
            self.inline[idx] = true;
            self.landings[idx] = self.landing(op);
            return;
        }
        let Some(landing) = self.landing(op) else { return };
        let reads = self.effects[idx] & READS != 0;
        if reads
            && (landing.repeated || landing.copied || self.epochs[idx] != self.epochs[landing.op.as_u32() as usize])
        {
            return;
        }
        if landing.copied && !is_cheap(self.func, op) {
            return;
        }
        self.inline[idx] = true;
        self.landings[idx] = Some(landing);
    }

    /// Where `op` would be printed, if it may go inside its user at all.
    fn landing(&self, op: Op) -> Option<Landing> {
        let func = self.func;
        let result = func.result(op)?;
        let is_reference = place::is_reference(func, op);
        let lanes = func.value_scalar(result).map(|scalar| scalar.lanes).or(is_reference.then_some(1))?;
        if func.n_uses(result) != 1 || func.value_name(result).is_some() || !self.may_move(op, lanes) {
            return None;
        }
        let (user, operand) = self.users[result.as_u32() as usize]?;
        if func.region_of(user) != func.region_of(op) {
            return None;
        }
        if place::is_reference(func, user) {
            let everywhere = Landing { op: user, repeated: false, copied: true };
            return Some(self.landings[user.as_u32() as usize].unwrap_or(everywhere));
        }
        if goes_everywhere(func, user) {
            return Some(self.through_vector(user));
        }
        if func.opcode(op) == tir::LOAD && lanes > 1 {
            // A vector is read whole only to be written whole.
            let copies = func.opcode(user) == tir::STORE && access::form(func, user).is_whole();
            return copies.then_some(Landing { op: user, repeated: false, copied: false });
        }
        let user_lanes = func.result(user).and_then(|value| func.value_scalar(value)).map_or(1, |scalar| scalar.lanes);
        let mut landing = match self.landings[user.as_u32() as usize] {
            Some(landing) if self.inline[user.as_u32() as usize] => landing,
            _ => Landing { op: user, repeated: false, copied: false },
        };
        landing.repeated |= func.opcode(user) == tir::FOR && operand == 1;
        landing.copied |= lanes == 1 && user_lanes > 1 && func.opcode(user).dialect() == arith::ADD.dialect();
        Some(landing)
    }

    /// Where an operand of a ramp or broadcast is printed.
    fn through_vector(&self, vector: Op) -> Landing {
        let func = self.func;
        let everywhere = Landing { op: vector, repeated: false, copied: true };
        let Some(result) = func.result(vector).filter(|&result| func.n_uses(result) == 1) else { return everywhere };
        let Some((user, _)) = self.users[result.as_u32() as usize] else { return everywhere };
        let is_access = matches!(func.opcode(user), tir::LOAD | tir::STORE) && access::form(func, user).is_whole();
        if !is_access || func.region_of(user) != func.region_of(vector) {
            return everywhere;
        }
        match self.landings[user.as_u32() as usize] {
            Some(landing) if self.inline[user.as_u32() as usize] => landing,
            _ => Landing { op: user, repeated: false, copied: false },
        }
    }

    /// Is `op` of a kind that is an expression?
    fn may_move(&self, op: Op, lanes: u16) -> bool {
        let func = self.func;
        if func.opcode(op) == tir::IF {
            return lanes == 1 && is_expression(func, op, &self.inline, &self.effects);
        }
        func.opcode(op) == tir::LOAD
            || place::is_reference(func, op)
            || (func.op_regions(op).is_empty() && func.opcode(op).dialect() == arith::ADD.dialect())
    }

    /// Operands are measured before what uses them.
    fn measure(&mut self, op: Op) {
        let func = self.func;
        let idx = op.as_u32() as usize;
        let mut size =
            func.result(op).and_then(|value| func.value_scalar(value)).map_or(1, |scalar| scalar.lanes.into());
        for &operand in func.operands(op) {
            if let Some(def) = func.def_op(operand)
                && func.opcode(def) != arith::CONSTANT
                && self.inline[def.as_u32() as usize]
            {
                size = u32::saturating_add(size, self.sizes[def.as_u32() as usize]);
            }
        }
        if func.opcode(op) == tir::IF {
            for inner in func.op_regions(op).iter().flat_map(|&region| func.terminator(region)) {
                size = size.saturating_add(self.sizes[inner.as_u32() as usize]);
            }
        }
        self.sizes[idx] = size;
        if place::is_reference(func, op) {
            return;
        }
        let Some(landing) = self.landings[idx].filter(|_| self.inline[idx]) else { return };
        // An arm may have been cut since this was decided.
        let broken = func.opcode(op) == tir::IF && !is_expression(func, op, &self.inline, &self.effects);
        if broken || size > if landing.copied { MAX_REPEATED } else { MAX_SIZE } {
            self.inline[idx] = false;
            self.sizes[idx] = 1;
        }
    }
}

/// May `op` be printed several times without a loss? Sums and products of integers may.
fn is_cheap(func: &Func, op: Op) -> bool {
    matches!(func.role(op), Role::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl))
        && func.value_scalar(func.operand(op, 0)).is_some_and(|scalar| scalar.elem.is_int() && scalar.lanes == 1)
}
