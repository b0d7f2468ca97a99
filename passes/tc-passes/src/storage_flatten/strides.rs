//! How far apart the elements of each dimension lie, and which references can be flattened.

use indexmap::IndexMap;
use tc_dialects::tir;
use tc_ir::uses::{Use, Uses};
use tc_ir::walk::all_ops;
use tc_ir::{Attr, AttrData, BinOp, Func, Op, Type, TypeData, UnOp, Value, keys};
use tc_support::{Diagnostic, Diagnostics, Location};

/// A buffer to be flattened.
pub(super) struct Flat {
    /// The distance of neighbours in each dimension, in elements; integers or expressions over symbols.
    pub(super) strides: Vec<Attr>,
    /// The type afterwards.
    pub(super) ty: Type,
}

/// What is to be done.
#[derive(Default)]
pub(super) struct Plan {
    /// The buffers whose type changes.
    pub(super) buffers: IndexMap<Value, Flat>,
    /// References to regions that become stretches, with their lengths.
    pub(super) stretches: IndexMap<Op, Attr>,
}

/// Computes strides and refuses what cannot be flattened.
pub(super) fn plan(func: &mut Func) -> Result<Plan, Diagnostics> {
    let (mut plan, mut found) = (Plan::default(), Diagnostics::new());
    let mut buffers: Vec<(Value, Location)> =
        func.params().iter().map(|&param| (param, func.location(func.header.loc))).collect();
    let makers: Vec<Op> = all_ops(func).filter(|&op| matches!(func.opcode(op), tir::ALLOC | tir::VIEW)).collect();
    buffers.extend(makers.into_iter().filter_map(|op| Some((func.result(op)?, func.op_location(op)))));
    for (buffer, location) in buffers {
        if func.buffer_attr(buffer, keys::LAYOUT).is_some() {
            let text = format!("the layout of `{}` cannot be applied", func.value_text(buffer));
            found.push(
                Diagnostic::error("layout", location, text).help("give the buffer `strides`, or write the indices out"),
            );
            continue;
        }
        match flatten(func, buffer) {
            Ok(Some(flat)) => drop(plan.buffers.insert(buffer, flat)),
            Ok(None) => {}
            Err(reason) => found.push(Diagnostic::error("strides", location, reason)),
        }
    }
    let uses = Uses::of(func);
    let refs: Vec<Op> = all_ops(func).filter(|&op| matches!(func.opcode(op), tir::REF | tir::REGION)).collect();
    for op in refs {
        if !plan.buffers.contains_key(&func.operand(op, 0)) {
            continue;
        }
        match stretch(func, op, &plan) {
            Ok(Some(_)) if is_indexed(func, &uses, op) => found.push(gaps(func, op, "is indexed further")),
            Ok(Some(length)) => drop(plan.stretches.insert(op, length)),
            Ok(None) => {}
            Err(diagnostic) => found.push(diagnostic),
        }
    }
    if found.is_empty() { Ok(plan) } else { Err(found) }
}

/// `None` where the buffer has one dimension and no strides already.
fn flatten(func: &mut Func, buffer: Value) -> Result<Option<Flat>, String> {
    let Some((elem, shape, scope)) = func.as_shaped(func.value_type(buffer)) else { return Ok(None) };
    let (shape, name) = (shape.to_vec(), func.value_text(buffer).to_string());
    let given = func.buffer_attr(buffer, keys::STRIDES);
    if shape.len() == 1 && given.is_none() {
        return Ok(None);
    }
    let (strides, size) = match given {
        None => row_major(func, &shape),
        Some(attr) => {
            let AttrData::List(list) = func.attr_data(attr) else {
                return Err(format!("the strides of `{name}` are no list"));
            };
            let list = list.to_vec();
            if list.len() != shape.len() {
                return Err(format!("`{name}` has {} dimensions and {} strides", shape.len(), list.len()));
            }
            let size = strided_size(func, &shape, &list);
            (list, size)
        }
    };
    let too_big = |attr: Attr| matches!(func.attr_data(attr), AttrData::Int(..)) && func.as_int(attr).is_none();
    if strides.iter().chain([&size]).any(|&attr| too_big(attr)) {
        return Err(format!("the extents of `{name}` overflow"));
    }
    if let Some(&odd) = strides.iter().chain([&size]).find(|&&attr| !is_computable(func, attr)) {
        return Err(format!("the extents of `{name}` hold `{}`, which cannot be computed", func.show_attr(odd)));
    }
    let ty = func.ty(TypeData::Shaped { elem, shape: [size].into(), scope });
    Ok(Some(Flat { strides, ty }))
}

fn row_major(func: &mut Func, shape: &[Attr]) -> (Vec<Attr>, Attr) {
    let mut strides = vec![func.int_attr(1); shape.len()];
    let mut size = func.int_attr(1);
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = size;
        size = mul(func, extent, size);
    }
    (strides, size)
}

/// As many elements as the outermost dimension's stride asks for where strides are constant and in order, which keeps
/// the padding of the last row; else up to the last element that there is.
fn strided_size(func: &mut Func, shape: &[Attr], strides: &[Attr]) -> Attr {
    let constant: Option<Vec<(i64, i64)>> = shape
        .iter()
        .zip(strides)
        .map(|(&extent, &stride)| Some((func.as_int(extent)?, func.as_int(stride)?)))
        .collect();
    if let Some(dims) = constant {
        let products = dims.iter().map(|&(extent, stride)| i128::from(extent) * i128::from(stride));
        let size = products.chain([1]).max().unwrap_or(1);
        return func.attr(AttrData::Int(size, None));
    }
    let one = func.int_attr(1);
    let mut last = one;
    for (&extent, &stride) in shape.iter().zip(strides) {
        let steps = func.attr(AttrData::Binary(BinOp::Sub, extent, one));
        let reach = mul(func, steps, stride);
        last = func.attr(AttrData::Binary(BinOp::Add, reach, last));
    }
    last
}

/// `lhs * rhs`, folded where both are numbers.
pub(super) fn mul(func: &mut Func, lhs: Attr, rhs: Attr) -> Attr {
    let number = |attr: Attr| match func.attr_data(attr) {
        AttrData::Int(value, _) => Some(*value),
        _ => None,
    };
    match (number(lhs), number(rhs)) {
        (Some(a), Some(b)) => {
            // What does not fit is told by the caller: no size of 2^100 fits.
            let product = a.checked_mul(b).unwrap_or(1 << 100);
            func.attr(AttrData::Int(product, None))
        }
        (Some(1), None) => rhs,
        (None, Some(1)) => lhs,
        _ => func.attr(AttrData::Binary(BinOp::Mul, lhs, rhs)),
    }
}

/// The length of the stretch that a reference to more than an element becomes; `None` for one to an element.
fn stretch(func: &mut Func, op: Op, plan: &Plan) -> Result<Option<Attr>, Diagnostic> {
    let buffer = func.operand(op, 0);
    let strides = plan.buffers[&buffer].strides.clone();
    let Some((_, shape, _)) = func.as_shaped(func.value_type(buffer)) else { return Ok(None) };
    let shape = shape.to_vec();
    let one = func.int_attr(1);
    let lengths = if func.opcode(op) == tir::REF {
        let n_indices = func.operands(op).len() - 1;
        if n_indices == shape.len() {
            return Ok(None);
        }
        let mut lengths = vec![one; n_indices];
        lengths.extend_from_slice(&shape[n_indices..]);
        lengths
    } else {
        match func.attr_named(op, "lengths").map(|attr| func.attr_data(attr)) {
            Some(AttrData::List(list)) => list.to_vec(),
            _ => return Ok(None),
        }
    };
    // Inside out: while a dimension is covered whole and lies close, the next one may have any length; after that, one.
    let mut length = one;
    let mut close = true;
    for dim in (0..shape.len()).rev() {
        if lengths[dim] == one {
            close &= shape[dim] == one;
            continue;
        }
        if !close || strides[dim] != length {
            return Err(gaps(func, op, "has gaps"));
        }
        close = lengths[dim] == shape[dim];
        length = mul(func, length, lengths[dim]);
    }
    Ok(Some(length))
}

fn gaps(func: &Func, op: Op, why: &str) -> Diagnostic {
    let name = func.value_text(func.operand(op, 0));
    let text = format!("this region of `{name}` {why}, and `{name}` is to have one dimension");
    let help = "refer to its first element, and give the distance of rows to the op that takes it";
    Diagnostic::error("region", func.op_location(op), text).help(help)
}

/// Is the reference that `op` makes to several dimensions, and taken for a buffer by an access?
fn is_indexed(func: &Func, uses: &Uses, op: Op) -> bool {
    let Some(result) = func.result(op) else { return false };
    let many = matches!(func.type_data(func.value_type(result)), TypeData::Ref { shape, .. } if shape.len() > 1);
    let taken =
        |user: &Use| user.idx == 0 && matches!(func.opcode(user.op), tir::LOAD | tir::STORE | tir::REF | tir::REGION);
    many && uses.of_value(result).iter().any(taken)
}

/// Is `attr` made of numbers, symbols and what is computed with them?
fn is_computable(func: &Func, attr: Attr) -> bool {
    match func.attr_data(attr) {
        AttrData::Int(value, _) => i64::try_from(*value).is_ok(),
        AttrData::Word(name) => func.header.symbols.iter().any(|symbol| symbol.name == *name),
        AttrData::Unary(UnOp::Neg, arg) => is_computable(func, *arg),
        AttrData::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Mod, lhs, rhs) => {
            is_computable(func, *lhs) && is_computable(func, *rhs)
        }
        AttrData::Call(name, args) => {
            matches!(func.text(*name), "min" | "max" | "floordiv" | "floormod" | "tdiv" | "tmod")
                && args.len() == 2
                && args.iter().all(|&arg| is_computable(func, arg))
        }
        _ => false,
    }
}
