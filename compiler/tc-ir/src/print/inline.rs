//! Which ops print inside the op that uses them.
//!
//! An op prints inside its user if it has one result without a name and one use, its user stands in the same region,
//! and it only reads, with nothing that may write between it and the statement it lands in. A literal without a
//! name prints at each of its uses, as do the stages and axes of a schedule.
//!
//! A region is looked at when its statements are about to be printed: a walk forward finds the shape of each op and
//! its user, a walk back decides where each lands. Trees of more than [`Body::inline_limit`] levels are cut.

use super::Body;
use super::form::{Form, Shape};
use super::style::Style;
use crate::attrs::BinOp;
use crate::entity::{Op, Region, Value};
use crate::opdef::{Context, Role};
use crate::types::TypeData;

/// It prints inside its user.
const INLINE: u8 = 1;
/// It reads memory.
const READS: u8 = 2;
/// It is its user's first operand.
const FIRST: u8 = 4;
/// It prints inside its user if it may stand there.
const CANDIDATE: u8 = 8;
/// Its regions hold an op that no read may move past; or they are known not to.
const BLOCKS: u8 = 16;
const FREE: u8 = 32;

/// What is known of an op.
#[derive(Clone, Copy, Default)]
pub(super) struct OpState {
    /// The number of the block it was last looked at in.
    block: u32,
    /// One more than the number of its only user, if that is in the same block.
    user: u32,
    /// How many ops before it, or before the statement it lands in, no read may move past.
    barriers: u32,
    pub(super) form: Form,
    /// How deep it stands in the expression it lands in.
    depth: u8,
    /// How deep the expressions in its own regions go.
    height: u8,
    bits: u8,
}

impl OpState {
    /// Does it print inside its users?
    pub(super) fn is_inline(self) -> bool {
        self.bits & INLINE != 0
    }
}

/// The whole of a region is one expression for each value that it yields.
#[derive(Clone, Copy)]
pub(super) struct Whole {
    pub(super) height: u8,
    pub(super) reads: bool,
}

impl<'a> Body<'a> {
    /// What is known of `op`.
    pub(super) fn state(&self, op: Op) -> OpState {
        self.ops[op.as_u32() as usize]
    }

    pub(super) fn style(&self, op: Op) -> &'a Style {
        self.styles.of(self.func.opcode(op))
    }

    pub(super) fn context(&self) -> Context {
        self.styles.context
    }

    fn state_mut(&mut self, op: Op) -> &mut OpState {
        &mut self.ops[op.as_u32() as usize]
    }

    /// The op that prints where `value` is used.
    pub(super) fn inline_op(&self, value: Value) -> Option<Op> {
        self.func.def_op(value).filter(|&op| self.state(op).is_inline())
    }

    /// How many levels deep expressions may go here: the parser bounds brackets, blocks and operators that wait for
    /// their right operand, all taken together.
    pub(super) fn inline_limit(&self) -> u8 {
        let room = 240usize.saturating_sub(self.frames.len()) / 2;
        room.clamp(8, self.options.max_inline_depth.clamp(8, 200)) as u8
    }

    /// Decides for each op of `region` where it prints.
    pub(super) fn analyse(&mut self, region: Region) {
        let block = self.open_block();
        let mut at = self.func.first_op(region);
        let mut barriers = 0;
        while let Some(op) = at {
            at = self.func.next_op(op);
            self.look_at(op, block, &mut barriers);
        }
        self.settle_all(region);
    }

    /// The same for a region that shall be nothing but one expression for each value that it yields; `None`, as
    /// soon as it turns out not to be.
    pub(super) fn analyse_whole(&mut self, region: Region) -> Option<Whole> {
        let func = self.func;
        let end = func.last_op(region).filter(|&op| self.style(op).role == Role::Yield)?;
        let block = self.open_block();
        let (mut at, mut barriers) = (func.first_op(region), 0);
        while let Some(op) = at {
            at = func.next_op(op);
            self.look_at(op, block, &mut barriers);
            let state = self.state(op);
            let is_tree = state.bits & (CANDIDATE | INLINE) != 0;
            if op != end && !is_tree && state.form != Form::Hidden {
                return None;
            }
        }
        self.settle_all(region);
        let mut whole = Whole { height: 0, reads: false };
        for op in func.ops(region).filter(|&op| op != end) {
            let state = self.state(op);
            if !state.is_inline() && state.form != Form::Hidden {
                return None;
            }
            whole.height = whole.height.max(state.depth.saturating_add(state.height));
            whole.reads |= state.bits & READS != 0;
        }
        Some(whole)
    }

    fn open_block(&mut self) -> u32 {
        self.n_blocks += 1;
        self.n_blocks
    }

    fn look_at(&mut self, op: Op, block: u32, barriers: &mut u32) {
        let Shape { form, height, reads } = self.classify(op);
        let mut bits = self.state(op).bits & (BLOCKS | FREE);
        if reads {
            bits |= READS;
        }
        bits |= self.standing(op, form);
        *self.state_mut(op) = OpState { block, user: 0, barriers: *barriers, form, depth: 0, height, bits };
        self.note_uses(op, block, form);
        if self.blocks(op, form) {
            *barriers += 1;
        }
    }

    /// May `op` print inside its user, or does it in any case?
    fn standing(&self, op: Op, form: Form) -> u8 {
        if !form.is_expr() {
            return 0;
        }
        let Some(result) = self.func.result(op).filter(|&result| self.func.value_name(result).is_none()) else {
            return 0;
        };
        match form {
            Form::Literal | Form::Stage | Form::Axis => INLINE,
            // Where a place is wanted only its name or a reference can be written.
            Form::Call | Form::Choose if self.is_place(result) => 0,
            _ if self.func.n_uses(result) == 1 => CANDIDATE,
            _ => 0,
        }
    }

    fn is_place(&self, value: Value) -> bool {
        matches!(self.func.type_data(self.func.value_type(value)), TypeData::Shaped { .. } | TypeData::Ref { .. })
    }

    /// Tells the operands of `op` who uses them.
    fn note_uses(&mut self, op: Op, block: u32, form: Form) {
        let func = self.func;
        let takes_name = matches!(form, Form::Load | Form::Store | Form::RefElement | Form::RefRegion);
        for (idx, &operand) in func.operands(op).iter().enumerate() {
            // Before a bracket stands a name.
            if takes_name && idx == 0 {
                continue;
            }
            let Some(def) = func.def_op(operand) else { continue };
            let state = self.state_mut(def);
            if state.block == block && state.bits & CANDIDATE != 0 {
                state.user = op.as_u32() + 1;
                if idx == 0 {
                    state.bits |= FIRST;
                }
            }
        }
    }

    fn settle_all(&mut self, region: Region) {
        let limit = self.inline_limit();
        let mut at = self.func.last_op(region);
        while let Some(op) = at {
            at = self.func.prev_op(op);
            let state = self.state(op);
            let Some(user) = state.user.checked_sub(1) else { continue };
            let user = self.state(Op::from_u32(user));
            let deeper = !(state.bits & FIRST != 0 && continues(user.form, state.form));
            let depth = user.depth.saturating_add(u8::from(deeper));
            let fits = depth.saturating_add(state.height) <= limit;
            let unmoved = state.bits & READS == 0 || state.barriers == user.barriers;
            if fits && unmoved {
                let state = self.state_mut(op);
                state.depth = depth;
                state.barriers = user.barriers;
                state.bits |= INLINE;
            }
        }
    }

    /// May no read move past `op`?
    fn blocks(&mut self, op: Op, form: Form) -> bool {
        if form.is_expr() {
            return false;
        }
        if self.context() != Context::Sched && self.style(op).blocks {
            return true;
        }
        !self.func.op_regions(op).is_empty() && self.regions_block(op)
    }

    /// Do the regions of `op` hold an op that no read may move past? What is found is kept for the ops inside.
    fn regions_block(&mut self, op: Op) -> bool {
        let func = self.func;
        match self.state(op).bits & (BLOCKS | FREE) {
            0 => {}
            known => return known == BLOCKS,
        }
        let mut seen = vec![op];
        let mut worklist: Vec<Op> = func.op_regions(op).iter().filter_map(|&region| func.first_op(region)).collect();
        while let Some(inner) = worklist.pop() {
            let known = self.state(inner).bits & (BLOCKS | FREE);
            if known == BLOCKS || self.style(inner).blocks {
                let mut outer = func.parent_op(inner);
                while let Some(around) = outer {
                    self.state_mut(around).bits |= BLOCKS;
                    outer = func.parent_op(around).filter(|_| around != op);
                }
                return true;
            }
            worklist.extend(func.next_op(inner));
            if known == 0 && !func.op_regions(inner).is_empty() {
                seen.push(inner);
                worklist.extend(func.op_regions(inner).iter().filter_map(|&region| func.first_op(region)));
            }
        }
        for op in seen {
            self.state_mut(op).bits |= FREE;
        }
        false
    }
}

/// Does `first` stand unbracketed as the left operand of `user`, so that the chain just goes on?
fn continues(user: Form, first: Form) -> bool {
    let (Some(outer), Some(inner)) = (user.infix(), first.infix()) else { return false };
    inner.precedence() >= left_precedence(outer)
}

/// How tightly the left operand of `op` binds, at the least, without parentheses. Comparisons do not chain.
pub(super) fn left_precedence(op: BinOp) -> u8 {
    op.precedence() + u8::from(op.is_comparison())
}
