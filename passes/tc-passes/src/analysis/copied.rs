//! Is a stored value one that is loaded, or zero where a condition does not hold?

use tc_dialects::{arith, tir};
use tc_ir::{AttrData, Func, Op, Region, Value};

/// Where a stored value comes from.
pub(crate) struct Source {
    pub(crate) load: Op,
    /// The condition without which it is zero, and the answer to it that asks for the load.
    pub(crate) when: Option<(Value, bool)>,
    /// The branch that the load stands in.
    pub(crate) branch: Option<Region>,
    /// The load, or the conditional around it.
    pub(crate) outermost: Op,
}

/// Why a value is not copied as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoCopy {
    /// It is computed.
    Computed,
    /// It changes its type.
    Converted,
    /// Where the condition does not hold it is not zero.
    NotZero,
    /// The condition differs between the lanes of a vector.
    DiffersByLane,
}

/// The load that `value` is copied from.
pub(crate) fn source(func: &Func, value: Value) -> Result<Source, NoCopy> {
    let op = func.def_op(value).ok_or(NoCopy::Computed)?;
    match func.opcode(op) {
        tir::LOAD => Ok(Source { load: op, when: None, branch: None, outermost: op }),
        tir::IF if func.n_results(op) == 1 && func.op_regions(op).len() == 2 => {
            let regions = [func.op_regions(op)[0], func.op_regions(op)[1]];
            let [then, otherwise] = regions.map(|region| func.yielded(region).first().copied());
            let (Some(then), Some(otherwise)) = (then, otherwise) else { return Err(NoCopy::Computed) };
            let (load, holds) = either(func, then, otherwise)?;
            let branch = regions[usize::from(!holds)];
            // A load before the conditional is done in any case, and needs nothing moved.
            let is_under = func.region_of(load) == Some(branch);
            let outermost = if is_under { op } else { load };
            let when = Some((func.operand(op, 0), holds));
            Ok(Source { load, when, branch: is_under.then_some(branch), outermost })
        }
        arith::SELECT if func.value_scalar(func.operand(op, 0)).is_some_and(|scalar| scalar.lanes == 1) => {
            let (load, holds) = either(func, func.operand(op, 1), func.operand(op, 2))?;
            Ok(Source { load, when: Some((func.operand(op, 0), holds)), branch: None, outermost: load })
        }
        arith::SELECT => Err(NoCopy::DiffersByLane),
        arith::CAST => Err(NoCopy::Converted),
        _ => Err(NoCopy::Computed),
    }
}

/// The load among two values of which the other is zero, and whether it is the first.
fn either(func: &Func, then: Value, otherwise: Value) -> Result<(Op, bool), NoCopy> {
    let load_of = |value: Value| func.def_op(value).filter(|&op| func.opcode(op) == tir::LOAD);
    match (load_of(then), load_of(otherwise)) {
        (Some(load), _) if is_zero(func, otherwise) => Ok((load, true)),
        (_, Some(load)) if is_zero(func, then) => Ok((load, false)),
        _ => Err(NoCopy::NotZero),
    }
}

/// Are all bits of the value zero?
fn is_zero(func: &Func, value: Value) -> bool {
    let Some(op) = func.def_op(value) else { return false };
    let scalar = if func.opcode(op) == arith::BROADCAST { func.operand(op, 0) } else { value };
    match func.constant(scalar).map(|attr| func.attr_data(attr)) {
        Some(AttrData::Int(value, _)) => *value == 0,
        Some(AttrData::Float(bits, _)) => *bits == 0,
        _ => false,
    }
}
