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

/// Has no directive said how the loop runs?
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
    /// The loop carries values.
    Carries(Op),
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

/// Loops, each the only thing in the one before but for conditions around it: a perfect nest, whose bounds do not follow its
/// variables.
pub(super) struct Chain {
    pub(super) loops: Vec<Op>,
}

/// What stands between the loops of a nest.
#[derive(Clone, Copy)]
pub(super) enum Between {
    /// It computes a value.
    Value(Op),
    /// A conditional around all that follows.
    Guard(Op),
}

/// The region of a conditional that has no other branch and hands nothing on.
pub(super) fn guard(func: &Func, op: Op) -> Option<Region> {
    let is_empty = |&region: &Region| func.first_op(region).is_none();
    let is_one = func.opcode(op) == tir::IF && func.n_results(op) == 0 && func.op_regions(op)[1..].iter().all(is_empty);
    is_one.then(|| func.op_regions(op)[0])
}

/// The next loop inside `op`, through conditionals, with all that stands between.
fn next_loop(func: &Func, op: Op) -> Result<(Op, Vec<Between>), Imperfect> {
    let (mut region, mut between) = (body(func, op), Vec::new());
    loop {
        let next = only_effect(func, region).map_err(Imperfect::Between)?.ok_or(Imperfect::Outside)?;
        between.extend(func.ops(region).filter(|&other| other != next).map(Between::Value));
        if func.opcode(next) == tir::FOR {
            return Ok((next, between));
        }
        region = guard(func, next).ok_or(Imperfect::Between(next))?;
        between.push(Between::Guard(next));
    }
}

impl Chain {
    /// The nest from `outer` to `inner`.
    pub(super) fn between(func: &Func, outer: Op, inner: Op) -> Result<Chain, Imperfect> {
        let mut loops = vec![outer];
        let mut at = outer;
        if carries(func, outer) {
            return Err(Imperfect::Carries(outer));
        }
        while at != inner {
            at = next_loop(func, at)?.0;
            if carries(func, at) {
                return Err(Imperfect::Carries(at));
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
        let mut chain = Chain { loops: vec![outer] };
        while let Ok((next, _)) = next_loop(func, chain.inner())
            && !carries(func, next)
        {
            chain.loops.push(next);
            if chain.follower(func).is_some() {
                chain.loops.pop();
                break;
            }
        }
        chain
    }

    /// The innermost loop.
    pub(super) fn inner(&self) -> Op {
        self.loops[self.loops.len() - 1]
    }

    /// Is a condition around one of the loops?
    pub(super) fn is_guarded(&self, func: &Func) -> bool {
        self.items(func).iter().any(|item| matches!(item, Between::Guard(_)))
    }

    /// What stands between the loops, from the outermost on.
    fn items(&self, func: &Func) -> Vec<Between> {
        let outer = &self.loops[..self.loops.len() - 1];
        outer.iter().filter_map(|&op| next_loop(func, op).ok()).flat_map(|(_, between)| between).collect()
    }

    /// The values between the loops that follow their variables.
    fn following(&self, func: &Func) -> FxHashSet<Value> {
        let mut following: FxHashSet<Value> = self.loops.iter().map(|&op| var(func, op)).collect();
        for item in self.items(func) {
            if let Between::Value(op) = item
                && !can_hoist(func, op, &following)
            {
                following.extend(func.results(op));
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

    /// Lets nothing stand between the loops: what follows their variables and conditions go into the innermost, the rest
    /// before the nest.
    pub(super) fn tidy(&self, rw: &mut Rewriter<'_>) {
        self.put_in_order(rw, &self.loops);
    }

    /// The same, with the loops in another order.
    pub(super) fn put_in_order(&self, rw: &mut Rewriter<'_>, order: &[Op]) {
        let (first, last) = (self.loops[0], order[order.len() - 1]);
        let following = self.following(rw.func());
        let items = self.items(rw.func());
        let innermost: Vec<Op> = rw.func().ops(body(rw.func(), self.inner())).collect();
        let (before, inside): (Vec<Between>, Vec<Between>) = items
            .into_iter()
            .partition(|item| matches!(*item, Between::Value(op) if can_hoist(rw.func(), op, &following)));
        for item in before {
            if let Between::Value(op) = item {
                rw.move_before(op, first);
            }
        }
        // All loops stand beside one another for a while.
        self.loops[1..].iter().for_each(|&op| rw.move_before(op, first));
        let mut into = body(rw.func(), last);
        for item in inside {
            match item {
                Between::Value(op) => rw.move_to_end(op, into),
                Between::Guard(op) => {
                    rw.move_to_end(op, into);
                    into = rw.func().op_regions(op)[0];
                }
            }
        }
        innermost.into_iter().for_each(|op| rw.move_to_end(op, into));
        for pair in order.windows(2).rev() {
            let into = body(rw.func(), pair[0]);
            rw.move_to_end(pair[1], into);
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
