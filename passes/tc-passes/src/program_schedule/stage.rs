//! A statement that computes a buffer: a perfect nest over its dimensions, and what is in it.

use super::nest::{Chain, body, carries, is_plain, var};
use tc_dialects::tir;
use tc_ir::verify::has_flag;
use tc_ir::walk::{all_ops, ancestors, is_inside, ops_under};
use tc_ir::{Func, Op, Region, Rewriter, Value, effects, keys};

/// What computes a buffer.
pub(super) struct Producer {
    /// The outermost loop.
    pub(super) root: Op,
    /// The loop over each dimension.
    pub(super) by_dim: Vec<Op>,
    /// The innermost of these.
    pub(super) inner: Op,
    /// These, as they stand in one another.
    chain: Chain,
}

/// Why a statement is no producer, and an op to point at.
pub(super) struct NoProducer {
    pub(super) text: String,
    pub(super) at: Option<Op>,
}

/// The loads and stores of `buffer`; an op that uses it in another way, as the error.
pub(super) fn accesses(func: &Func, buffer: Value) -> Result<(Vec<Op>, Vec<Op>), Op> {
    let (mut loads, mut stores) = (Vec::new(), Vec::new());
    for op in all_ops(func) {
        for (nth, &operand) in func.operands(op).iter().enumerate() {
            if operand == buffer {
                match func.opcode(op) {
                    tir::LOAD if nth == 0 => loads.push(op),
                    tir::STORE if nth == 0 => stores.push(op),
                    _ => return Err(op),
                }
            }
        }
    }
    Ok((loads, stores))
}

/// The indices of a load or a store.
pub(super) fn indices(func: &Func, op: Op) -> &[Value] {
    let operands = func.operands(op);
    if func.opcode(op) == tir::STORE { &operands[1..operands.len() - 1] } else { &operands[1..] }
}

/// The op of `region` that `op` is, or is in.
pub(super) fn statement_in(func: &Func, region: Region, op: Op) -> Option<Op> {
    std::iter::once(op).chain(ancestors(func, op)).find(|&at| func.region_of(at) == Some(region))
}

/// The region that a buffer belongs to: where it is made, or the body of the program.
pub(super) fn home(func: &Func, buffer: Value) -> Region {
    func.def_op(buffer).and_then(|alloc| func.region_of(alloc)).unwrap_or(func.body())
}

impl Producer {
    /// What computes `buffer`: the one statement where it belongs that stores to it.
    pub(super) fn of(func: &Func, buffer: Value) -> Result<Producer, NoProducer> {
        let no = |text: &str, at: Option<Op>| NoProducer { text: text.to_string(), at };
        let (_, stores) = accesses(func, buffer).map_err(|op| no("it is used as a whole", Some(op)))?;
        let Some(&first) = stores.first() else { return Err(no("nothing stores to it", None)) };
        let region = home(func, buffer);
        let root = statement_in(func, region, first).ok_or_else(|| no("it is stored to elsewhere", Some(first)))?;
        if let Some(&other) = stores.iter().find(|&&store| store != root && !is_inside(func, store, root)) {
            return Err(no("two statements store to it", Some(other)));
        }
        if func.opcode(root) != tir::FOR || carries(func, root) {
            return Err(no("what computes it is no loop over its elements", Some(root)));
        }
        let chain = Chain::from(func, root);
        let rank = func.as_shaped(func.value_type(buffer)).map_or(0, |(_, shape, _)| shape.len());
        let loop_of = |value: Value| chain.loops.iter().copied().find(|&op| var(func, op) == value);
        let by_dim: Option<Vec<Op>> = indices(func, first).iter().map(|&index| loop_of(index)).collect();
        let Some(by_dim) = by_dim.filter(|dims| dims.len() == rank && rank > 0) else {
            return Err(no("an index of it is no variable of the loops around", Some(first)));
        };
        let is_repeated = |(nth, op): (usize, &Op)| by_dim[..nth].contains(op);
        if by_dim.iter().enumerate().any(is_repeated) {
            return Err(no("two of its indices are one variable", Some(first)));
        }
        let vars: Vec<Value> = by_dim.iter().map(|&op| var(func, op)).collect();
        let inside = ops_under(func, body(func, root))
            .filter(|&op| matches!(func.opcode(op), tir::LOAD | tir::STORE) && func.operand(op, 0) == buffer);
        if let Some(other) = inside.into_iter().find(|&op| indices(func, op) != &vars[..]) {
            return Err(no("it is not always accessed by the variables of the loops around", Some(other)));
        }
        if let Some(&other) = chain.loops[..rank].iter().find(|op| !by_dim.contains(op)) {
            return Err(no("another loop stands around those over its dimensions", Some(other)));
        }
        if let Some(&other) = by_dim.iter().find(|&&op| !is_plain(func, op)) {
            return Err(no("it was said how a loop over its dimensions runs", Some(other)));
        }
        let chain = Chain { loops: chain.loops[..rank].to_vec() };
        Ok(Producer { root, by_dim, inner: chain.inner(), chain })
    }

    /// The loops over the dimensions, as they stand in one another.
    pub(super) fn loops(&self) -> &[Op] {
        &self.chain.loops
    }

    /// Is a condition around one of the loops?
    pub(super) fn is_guarded(&self, func: &Func) -> bool {
        self.chain.is_guarded(func)
    }

    /// Lets nothing stand between the loops over the dimensions.
    pub(super) fn tidy(&self, rw: &mut Rewriter<'_>) {
        self.chain.tidy(rw);
    }

    /// Does each element get a value before it is read?
    pub(super) fn starts_with_store(&self, func: &Func, buffer: Value) -> bool {
        let first = func.ops(body(func, self.inner)).find(|&op| {
            let own = std::iter::once(op).chain(func.op_regions(op).iter().flat_map(|&region| ops_under(func, region)));
            own.into_iter().any(|op| {
                effects::accesses(func, op).iter().any(|&(place, _)| effects::root_buffer(func, place) == buffer)
            })
        });
        !self.is_guarded(func) && first.is_some_and(|op| func.opcode(op) == tir::STORE)
    }
}

/// May the two buffers be one?
pub(super) fn may_alias(func: &Func, a: Value, b: Value) -> bool {
    let is_param = |value: Value| func.def_op(value).is_none();
    a == b || (is_param(a) && is_param(b) && !has_flag(func, func.header.attrs, keys::NOALIAS))
}
