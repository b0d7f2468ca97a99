//! Loops that stand directly in one another.

use rustc_hash::FxHashSet;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::clone::ValueMap;
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{Func, Op, Region, Rewriter, Value, effects};

/// The body of the loop `op`.
pub(super) fn body(func: &Func, op: Op) -> Region {
    func.op_regions(op)[0]
}

/// The variable of the loop `op`.
pub(super) fn var(func: &Func, op: Op) -> Value {
    func.region_args(body(func, op))[0]
}

/// Does the loop hand values from one iteration to the next?
pub(super) fn carries(func: &Func, op: Op) -> bool {
    func.operands(op).len() > 2
}

/// Has nobody said how the loop runs?
pub(super) fn is_plain(func: &Func, op: Op) -> bool {
    tir::loop_kind(func, op) == Some(LoopKind::Serial) && func.entries(func.op_attrs(op)).is_empty()
}

/// The outermost loop around `op`, or `op`.
pub(super) fn outermost(func: &Func, op: Op) -> Op {
    ancestors(func, op).filter(|&outer| func.opcode(outer) == tir::FOR).last().unwrap_or(op)
}

/// Why loops are no perfect nest.
#[derive(Clone, Copy, Debug)]
pub(super) enum Imperfect {
    /// The one loop is not inside the other.
    Outside,
    /// This stands between them.
    Between(Op),
    /// The bounds of the loop follow a variable of the nest.
    Bounds(Op),
}

/// The only op in `region` that does anything.
pub(super) fn only_effect(func: &Func, region: Region) -> Result<Option<Op>, Op> {
    let mut found = None;
    for op in func.ops(region) {
        if !effects::summary(func, op).is_pure() || func.opcode(op) == tir::FOR {
            if found.is_some() {
                return Err(op);
            }
            found = Some(op);
        }
    }
    Ok(found)
}

/// Loops, each the only thing in the one before: a perfect nest, whose bounds do not follow its variables.
pub(super) struct Chain {
    pub(super) loops: Vec<Op>,
}

impl Chain {
    /// The nest from `outer` to `inner`.
    pub(super) fn between(func: &Func, outer: Op, inner: Op) -> Result<Chain, Imperfect> {
        let mut loops = vec![outer];
        let mut at = outer;
        while at != inner {
            if func.opcode(at) != tir::FOR || carries(func, at) {
                return Err(Imperfect::Between(at));
            }
            match only_effect(func, body(func, at)) {
                Ok(Some(next)) => at = next,
                Ok(None) => return Err(Imperfect::Outside),
                Err(other) => return Err(Imperfect::Between(other)),
            }
            loops.push(at);
        }
        let chain = Chain { loops };
        match chain.follower(func) {
            Some(op) => Err(Imperfect::Bounds(op)),
            None => Ok(chain),
        }
    }

    /// The longest nest from `outer` inwards.
    pub(super) fn from(func: &Func, outer: Op) -> Chain {
        let mut loops = vec![outer];
        let mut at = outer;
        while let Ok(Some(next)) = only_effect(func, body(func, at))
            && func.opcode(next) == tir::FOR
            && !carries(func, next)
            && Chain::between(func, outer, next).is_ok()
        {
            loops.push(next);
            at = next;
        }
        Chain { loops }
    }

    /// The innermost loop.
    pub(super) fn inner(&self) -> Op {
        self.loops[self.loops.len() - 1]
    }

    /// What stands between the loops and does nothing.
    fn ops(&self, func: &Func, nth: usize) -> Vec<Op> {
        let next = self.loops[nth + 1];
        func.ops(body(func, self.loops[nth])).filter(|&op| op != next).collect()
    }

    /// The values between the loops that follow their variables.
    fn following(&self, func: &Func) -> FxHashSet<Value> {
        let mut following: FxHashSet<Value> = self.loops.iter().map(|&op| var(func, op)).collect();
        for nth in 0..self.loops.len() - 1 {
            for op in self.ops(func, nth) {
                if !can_hoist(func, op, &following) {
                    following.extend(func.results(op));
                }
            }
        }
        following
    }

    /// A loop whose bounds follow the variable of another.
    fn follower(&self, func: &Func) -> Option<Op> {
        let following = self.following(func);
        let follows = |&&op: &&Op| func.operands(op).iter().any(|value| following.contains(value));
        self.loops[1..].iter().find(follows).copied()
    }

    /// Lets nothing stand between the loops: what follows their variables goes into the innermost, the rest before the nest.
    pub(super) fn tidy(&self, rw: &mut Rewriter<'_>) {
        let following = self.following(rw.func());
        let (first, inner) = (self.loops[0], body(rw.func(), self.inner()));
        for nth in 0..self.loops.len() - 1 {
            for op in self.ops(rw.func(), nth) {
                if can_hoist(rw.func(), op, &following) {
                    rw.move_before(op, first);
                }
            }
        }
        for nth in (0..self.loops.len() - 1).rev() {
            for op in self.ops(rw.func(), nth).into_iter().rev() {
                match rw.func().first_op(inner) {
                    Some(place) => rw.move_before(op, place),
                    None => rw.move_to_end(op, inner),
                }
            }
        }
    }
}

fn can_hoist(func: &Func, op: Op, following: &FxHashSet<Value>) -> bool {
    effects::summary(func, op).speculatable && func.operands(op).iter().all(|value| !following.contains(value))
}

/// Lets values stand for others in `ops` and what is in them.
pub(super) fn substitute(rw: &mut Rewriter<'_>, ops: &[Op], map: &ValueMap) {
    let inner = |func: &Func, op: Op| -> Vec<Op> {
        func.op_regions(op).iter().flat_map(|&region| ops_under(func, region)).collect()
    };
    for op in ops.iter().flat_map(|&op| std::iter::once(op).chain(inner(rw.func(), op))).collect::<Vec<_>>() {
        for nth in 0..rw.func().operands(op).len() {
            if let Some(&new) = map.get(&rw.func().operand(op, nth)) {
                rw.set_operand(op, nth, new);
            }
        }
    }
}
