//! How far apart the elements of each dimension lie, and how many there are.

use super::boxes;
use super::factors::{self, Factors};
use super::panels::{self, Panels};
use super::references::{self, ReferenceRewrites};
use super::swizzle::{self, Swizzle};
use crate::analysis::structure::is_marked;
use indexmap::IndexMap;
use tc_dialects::fragment::{Fragment, scope_use};
use tc_dialects::tir;
use tc_ir::uses::Uses;
use tc_ir::walk::all_ops;
use tc_ir::{Attr, AttrData, BinOp, Func, Op, Type, TypeData, UnOp, Value, keys};
use tc_support::{Diagnostic, Diagnostics, Location, counted};

/// A buffer to be flattened.
pub(super) struct Flat {
    /// The distance of neighbours in each dimension, in elements; integers or expressions over symbols.
    pub(super) strides: Vec<Attr>,
    /// The type afterwards.
    pub(super) ty: Type,
    /// The panels that the last dimension is divided into. Strides are those of one panel then.
    pub(super) panels: Option<Panels>,
    /// Which bits of a position are mixed into which.
    pub(super) swizzle: Option<Swizzle>,
}

/// What is to be done.
#[derive(Default)]
pub(super) struct Flattening {
    /// The buffers whose type or order of elements changes.
    pub(super) buffers: IndexMap<Value, Flat>,
    /// What becomes of references to more than an element.
    pub(super) references: ReferenceRewrites,
    /// The descriptors of the factors of products.
    pub(super) factors: Factors,
    /// The swizzles that the maps of bulk copies get, by the load.
    pub(super) boxes: Vec<(Op, i64)>,
}

impl Flattening {
    /// Is there nothing to do?
    pub(super) fn is_empty(&self) -> bool {
        self.buffers.is_empty()
            && self.references.firsts.is_empty()
            && self.references.buffers.is_empty()
            && self.factors.is_empty()
    }

    /// The distance of neighbours in each dimension of `buffer`, which may have been flat before.
    pub(super) fn strides(&self, func: &mut Func, buffer: Value) -> Vec<Attr> {
        match self.buffers.get(&buffer) {
            Some(flat) => flat.strides.clone(),
            None => vec![func.int_attr(1)],
        }
    }
}

/// Computes strides and refuses what cannot be flattened.
pub(super) fn plan(func: &mut Func) -> Result<Flattening, Diagnostics> {
    let (mut plan, mut found) = (Flattening::default(), Diagnostics::new());
    let mut buffers: Vec<(Value, Location)> =
        func.params().iter().map(|&param| (param, func.location(func.header.loc))).collect();
    let makers: Vec<Op> = all_ops(func).filter(|&op| matches!(func.opcode(op), tir::ALLOC | tir::VIEW)).collect();
    buffers.extend(makers.into_iter().filter_map(|op| Some((func.result(op)?, func.op_location(op)))));
    check_marks(func, &mut found);
    for (buffer, location) in buffers {
        if let Some(scope) = tile_scope(func, buffer) {
            let name = func.value_text(buffer);
            let text = format!("`{name}` in `{scope}` is still one of numbers, whose tiles have no order in memory");
            let help = "run `tensorize-to-wmma`, `infer-fragment` and `distribute-fragments` before";
            found.push(Diagnostic::error("tiles", location, text).help(help));
            continue;
        }
        if func.buffer_attr(buffer, keys::LAYOUT).is_some() {
            let text = format!("the layout of `{}` cannot be applied", func.value_text(buffer));
            found.push(
                Diagnostic::error("layout", location, text).help("give the buffer `strides`, or write the indices out"),
            );
            continue;
        }
        let swizzle = match swizzle::of(func, buffer) {
            Ok(swizzle) => swizzle,
            Err(reason) => {
                let help =
                    "write `swizzle = [bits, base, shift]` on an alloc in shared memory, `shift` not below `bits`";
                found.push(Diagnostic::error("swizzle", location, reason).help(help));
                continue;
            }
        };
        let panels = match panels::of(func, buffer) {
            Ok(panels) => panels,
            Err(reason) => {
                let help = "write `panel = n` on an alloc without strides, `n` a divisor of the last extent";
                found.push(Diagnostic::error("panel", location, reason).help(help));
                continue;
            }
        };
        match flatten(func, buffer, panels, swizzle) {
            Ok(Some(flat)) => drop(plan.buffers.insert(buffer, flat)),
            Ok(None) => {}
            Err(reason) => found.push(Diagnostic::error("strides", location, reason)),
        }
    }
    let uses = Uses::of(func);
    panels::check_uses(func, &plan, &mut found);
    factors::plan(func, &mut plan, &mut found);
    boxes::plan(func, &mut plan, &mut found);
    references::plan(func, &uses, &mut plan, &mut found);
    swizzle::check_uses(func, &uses, &plan, &mut found);
    if found.is_empty() { Ok(plan) } else { Err(found) }
}

/// Loops that were to give way to an intrinsic must have done so: flat, nothing matches one any more.
fn check_marks(func: &Func, found: &mut Diagnostics) {
    for op in all_ops(func).filter(|&op| is_marked(func, op)) {
        let intrinsic = func.attr_of(op, keys::TENSORIZE).map(|attr| func.show_attr(attr)).unwrap_or_default();
        let text = format!("the directive `tensorize` of this loop, with `{intrinsic}`, was not carried out");
        let help = "run `tensorize-to-wmma` before `storage-flatten`";
        found.push(Diagnostic::error("tensorize", func.op_location(op), text).help(help));
    }
}

/// The scope of `buffer` where it is one of tiles that no pass has made fragments or registers of.
fn tile_scope(func: &Func, buffer: Value) -> Option<&str> {
    let (elem, _, scope) = func.as_shaped(func.value_type(buffer))?;
    let scope = func.text(scope?);
    (scope_use(scope).is_some() && Fragment::of(func, elem).is_none()).then_some(scope)
}

/// `None` where the buffer has one dimension already, no strides, and its elements in order.
fn flatten(
    func: &mut Func,
    buffer: Value,
    panels: Option<Panels>,
    swizzle: Option<Swizzle>,
) -> Result<Option<Flat>, String> {
    let Some((elem, shape, scope)) = func.as_shaped(func.value_type(buffer)) else { return Ok(None) };
    let (shape, name) = (shape.to_vec(), func.value_text(buffer).to_string());
    let given = func.buffer_attr(buffer, keys::STRIDES);
    if shape.len() == 1 && given.is_none() && swizzle.is_none() {
        return Ok(None);
    }
    let (strides, size) = match given {
        None if let Some(panels) = panels => panels.strides(func, &shape),
        None => row_major(func, &shape),
        Some(attr) => {
            let AttrData::List(list) = func.attr_data(attr) else {
                return Err(format!("the strides of `{name}` are no list"));
            };
            let list = list.to_vec();
            if list.len() != shape.len() {
                return Err(format!("`{name}` has {} and {} strides", counted(shape.len(), "dimension"), list.len()));
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
    let size = match swizzle {
        Some(swizzle) => {
            let Some(whole) = func.as_int(size).and_then(|size| swizzle.rounded(size)) else {
                return Err(format!("`{name}` has no constant size, and its `swizzle` mixes the bits of positions"));
            };
            func.int_attr(whole)
        }
        None => size,
    };
    let ty = func.ty(TypeData::Shaped { elem, shape: [size].into(), scope });
    Ok(Some(Flat { strides, ty, panels, swizzle }))
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
