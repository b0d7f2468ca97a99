//! The rewriting: indices, references, types.

use super::panels::Panels;
use super::references::Whole;
use super::strides::Flattening;
use tc_dialects::{arith, tir};
use tc_ir::attrs::{AttrData, BinOp};
use tc_ir::opdef::Role;
use tc_ir::walk::all_ops;
use tc_ir::{Attr, Builder, Func, Op, Opcode, Rewriter, TypeData, Value, effects, keys};

/// Rewrites all accesses; gives their number.
pub(super) fn accesses(func: &mut Func, plan: &Flattening) -> u64 {
    let ops: Vec<Op> = all_ops(func)
        .filter(|&op| matches!(func.opcode(op), tir::LOAD | tir::STORE | tir::REF | tir::REGION))
        .filter(|op| plan.buffers.contains_key(&func.operand(*op, 0)) || plan.references.firsts.contains_key(op))
        .collect();
    let mut rw = Rewriter::new(func);
    let mut old_indices = Vec::new();
    for &op in &ops {
        old_indices.extend_from_slice(&rw.func().operands(op)[1..]);
        access(&mut rw, op, plan);
    }
    for (&(op, idx), whole) in &plan.references.buffers {
        let buffer = rw.func().operand(op, idx);
        let ty = plan.buffers.get(&buffer).map_or(rw.func().value_type(buffer), |flat| flat.ty);
        let length = rw.func().as_shaped(ty).and_then(|(_, shape, _)| shape.first().copied());
        let mut b = rw.before(op);
        let start = b.index(0);
        let place = match (whole, length) {
            (Whole::First, _) => refer_to_element(&mut b, buffer, start),
            (Whole::All, Some(length)) => refer_to_stretch(&mut b, buffer, start, length),
            (Whole::All, None) => None,
        };
        if let Some(place) = place {
            rw.set_operand(op, idx, place);
        }
    }
    // A vector of indices that was taken apart, and the like.
    erase_unused(&mut rw, old_indices);
    ops.len() as u64
}

/// Takes out what `values` are computed from and nothing else uses.
pub(super) fn erase_unused(rw: &mut Rewriter<'_>, values: Vec<Value>) {
    let mut worklist = values;
    while let Some(value) = worklist.pop() {
        let func = rw.func();
        let Some(def) = func.def_op(value).filter(|&def| func.region_of(def).is_some()) else { continue };
        let unused = func.results(def).all(|value| func.n_uses(value) == 0);
        if unused && func.value_name(value).is_none() && effects::summary(func, def).is_pure() {
            worklist.extend_from_slice(func.operands(def));
            rw.erase(def);
        }
    }
}

fn access(rw: &mut Rewriter<'_>, op: Op, plan: &Flattening) {
    let func = rw.func_mut();
    let operands = func.operands(op).to_vec();
    let n_indices = operands.len() - 1 - usize::from(func.role(op) == Role::Store);
    let strides = plan.strides(func, operands[0]);
    let panels = plan.buffers.get(&operands[0]).and_then(|flat| flat.panels);
    let at = position(&mut rw.before(op), &operands[1..=n_indices], &strides, panels);
    if let Some(users) = plan.references.firsts.get(&op)
        && let Some(first) = refer_to_element(&mut rw.before(op), operands[0], at)
    {
        for user in users {
            rw.set_operand(user.op, user.idx, first);
        }
        if rw.func().results(op).all(|result| rw.func().n_uses(result) == 0) {
            rw.erase(op);
            return;
        }
    }
    if let Some(&length) = plan.references.stretches.get(&op) {
        if let Some(stretch) = refer_to_stretch(&mut rw.before(op), operands[0], at, length) {
            rw.replace_op(op, &[stretch]);
        }
        return;
    }
    if !plan.buffers.contains_key(&operands[0]) {
        return;
    }
    let mut new = vec![operands[0], at];
    new.extend_from_slice(&operands[1 + n_indices..]);
    rw.set_operands(op, &new);
}

/// A reference to the element at `at` of the flat buffer; the type of `buffer` may be the old one yet.
fn refer_to_element(b: &mut Builder<'_>, buffer: Value, at: Value) -> Option<Value> {
    let (elem, _, scope) = tir::place_type(b.func, buffer)?;
    let ty = b.func.ty(TypeData::Ref { elem, shape: [].into(), scope });
    let op = tir::ElementRef::build(b, buffer, &[at], &[], &[ty]);
    b.func.result(op)
}

/// A reference to `length` elements from `at` on of the flat buffer.
fn refer_to_stretch(b: &mut Builder<'_>, buffer: Value, at: Value, length: Attr) -> Option<Value> {
    let (elem, _, scope) = tir::place_type(b.func, buffer)?;
    let ty = b.func.ty(TypeData::Ref { elem, shape: [length].into(), scope });
    let list = b.func.attr(AttrData::List([length].into()));
    let key = b.func.name("lengths");
    let op = tir::RegionRef::build(b, buffer, &[at], &[(key, list)], &[ty]);
    b.func.result(op)
}

/// The position of an element: `i * 2048 + j * 512 + k`, constants last. The last index may be a vector.
fn position(b: &mut Builder<'_>, indices: &[Value], strides: &[Attr], panels: Option<Panels>) -> Value {
    if let (Some(panels), Some((&column, rows))) = (panels, indices.split_last()) {
        return position_in_panels(b, (rows, column), strides, panels);
    }
    let lanes = indices.last().and_then(|&last| b.func.value_scalar(last)).map_or(1, |scalar| scalar.lanes);
    let (scalars, vector) = if lanes > 1 { indices.split_at(indices.len() - 1) } else { (indices, &indices[..0]) };
    let mut sum = Sum { value: None, constant: 0 };
    for (&index, &stride) in scalars.iter().zip(strides) {
        sum.add(b, index, stride);
    }
    let Some((&vector, &stride)) = vector.first().zip(strides.last()) else { return sum.finish(b) };
    let ramp = b.func.def_op(vector).filter(|&op| b.func.opcode(op) == arith::RAMP);
    let lanes = b.func.int_attr(i64::from(lanes));
    if let Some(ramp) = ramp {
        let (base, step) = (b.func.operand(ramp, 0), b.func.operand(ramp, 1));
        sum.add(b, base, stride);
        let start = sum.finish(b);
        let mut step_sum = Sum { value: None, constant: 0 };
        step_sum.add(b, step, stride);
        let step = step_sum.finish(b);
        return b.value(arith::RAMP, &[start, step], &[(keys::LANES, lanes)]);
    }
    // A gather: every lane has its own index.
    let start = sum.finish(b);
    let start = b.value(arith::BROADCAST, &[start], &[(keys::LANES, lanes)]);
    let factor = attr_value(b, stride);
    let factor = b.value(arith::BROADCAST, &[factor], &[(keys::LANES, lanes)]);
    let wide = b.func.value_type(factor);
    let vector = cast(b, vector, wide);
    let scaled = b.value(arith::MUL, &[vector, factor], &[]);
    b.value(arith::ADD, &[start, scaled], &[])
}

/// The same where the last dimension is divided: the panel, the row, the column in it.
fn position_in_panels(
    b: &mut Builder<'_>,
    (rows, column): (&[Value], Value),
    strides: &[Attr],
    panels: Panels,
) -> Value {
    let mut sum = Sum { value: None, constant: 0 };
    let (elements, one) = (b.func.int_attr(panels.elements), b.func.int_attr(1));
    let [panel, within] = match b.func.const_int(column) {
        Some(column) => {
            [column.div_euclid(panels.columns), column.rem_euclid(panels.columns)].map(|part| b.index(part))
        }
        None => {
            let ty = b.func.index_ty();
            let column = cast(b, column, ty);
            let columns = b.index(panels.columns);
            [arith::DIV, arith::MOD].map(|opcode| b.value(opcode, &[column, columns], &[]))
        }
    };
    sum.add(b, panel, elements);
    for (&index, &stride) in rows.iter().zip(strides) {
        sum.add(b, index, stride);
    }
    sum.add(b, within, one);
    sum.finish(b)
}

/// A sum in the making.
struct Sum {
    value: Option<Value>,
    constant: i64,
}

impl Sum {
    /// Adds `index * stride`.
    fn add(&mut self, b: &mut Builder<'_>, index: Value, stride: Attr) {
        let number = b.func.as_int(stride);
        if let (Some(index), Some(stride)) = (b.func.const_int(index), number)
            && let Some(constant) = index.checked_mul(stride).and_then(|product| product.checked_add(self.constant))
        {
            self.constant = constant;
            return;
        }
        let ty = b.func.index_ty();
        let index = cast(b, index, ty);
        let term = match number {
            Some(1) => index,
            _ => {
                let stride = attr_value(b, stride);
                b.value(arith::MUL, &[index, stride], &[])
            }
        };
        self.value = Some(match self.value {
            Some(sum) => b.value(arith::ADD, &[sum, term], &[]),
            None => term,
        });
    }

    fn finish(self, b: &mut Builder<'_>) -> Value {
        match (self.value, self.constant) {
            (Some(value), 0) => value,
            (None, constant) => b.index(constant),
            (Some(value), constant) => {
                // `p - 33` reads better than `p + -33`.
                let (opcode, magnitude) = match constant.checked_neg() {
                    Some(positive) if constant < 0 => (arith::SUB, positive),
                    _ => (arith::ADD, constant),
                };
                let constant = b.index(magnitude);
                b.value(opcode, &[value, constant], &[])
            }
        }
    }
}

fn cast(b: &mut Builder<'_>, value: Value, ty: tc_ir::Type) -> Value {
    if b.func.value_type(value) == ty {
        return value;
    }
    let op = arith::Cast::build(b, value, &[], &[ty]);
    b.func.result(op).expect("a cast has one result")
}

/// The `index` value of an expression over symbols, which the plan has found computable.
fn attr_value(b: &mut Builder<'_>, attr: Attr) -> Value {
    match b.func.attr_data(attr).clone() {
        AttrData::Int(value, _) => b.index(i64::try_from(value).expect("the plan refuses what does not fit")),
        AttrData::Word(name) => {
            let nth = b.func.header.symbols.iter().position(|symbol| symbol.name == name);
            b.func.region_args(b.func.body())[nth.expect("the plan refuses unknown names")]
        }
        AttrData::Unary(_, arg) => {
            let arg = attr_value(b, arg);
            b.value(arith::NEG, &[arg], &[])
        }
        AttrData::Binary(op, lhs, rhs) => {
            let (lhs, rhs) = (attr_value(b, lhs), attr_value(b, rhs));
            b.value(opcode(op), &[lhs, rhs], &[])
        }
        AttrData::Call(name, args) => {
            let args: Vec<Value> = args.iter().map(|&arg| attr_value(b, arg)).collect();
            let opcode = match b.func.text(name) {
                "min" => arith::MIN,
                "max" => arith::MAX,
                "floordiv" => arith::DIV,
                "floormod" => arith::MOD,
                "tdiv" => arith::TDIV,
                _ => arith::TMOD,
            };
            b.value(opcode, &args, &[])
        }
        _ => unreachable!("the plan refuses what cannot be computed"),
    }
}

fn opcode(op: BinOp) -> Opcode {
    match op {
        BinOp::Add => arith::ADD,
        BinOp::Sub => arith::SUB,
        BinOp::Div => arith::DIV,
        BinOp::Mod => arith::MOD,
        _ => arith::MUL,
    }
}

/// Sets the types of buffers and of references into them, takes strides off, and notes that positions are mixed.
pub(super) fn types(func: &mut Func, plan: &Flattening) {
    for nth in 0..func.header.params.len() {
        if plan.buffers.contains_key(&func.params()[nth]) {
            let attrs = func.header.params[nth].attrs;
            func.header.params[nth].attrs = func.without_entry(attrs, keys::STRIDES);
        }
    }
    let mut rw = Rewriter::new(func);
    for (&buffer, flat) in &plan.buffers {
        rw.set_type(buffer, flat.ty);
        if let Some(op) = rw.func().def_op(buffer) {
            let attrs = rw.func().op_attrs(op);
            let func = rw.func_mut();
            let mut attrs = func.without_entry(attrs, keys::STRIDES);
            attrs = func.without_entry(attrs, keys::PANEL);
            if let Some(mixed) = func.entry(attrs, keys::SWIZZLE).filter(|_| flat.swizzle.is_some()) {
                attrs = func.without_entry(attrs, keys::SWIZZLE);
                attrs = func.with_entry(attrs, keys::SWIZZLED, mixed);
            }
            rw.set_attrs(op, attrs);
        }
    }
}
