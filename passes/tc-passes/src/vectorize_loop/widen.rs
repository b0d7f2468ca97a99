//! The widening of one loop.

use super::decide::remark;
use super::lanes::{Varying, is_choice};
use super::split;
use crate::analysis::launch::loop_var;
use crate::analysis::privatize::{Place, candidates, privatize};
use crate::analysis::remake::as_loop;
use crate::analysis::structure::run_once;
use crate::analysis::variance::Variance;
use rustc_hash::{FxHashMap, FxHashSet};
use tc_dialects::algebra::const_extent;
use tc_dialects::{arith, tir};
use tc_ir::builder::OpSpec;
use tc_ir::clone::{ValueMap, clone_op};
use tc_ir::walk::ops_under;
use tc_ir::{Builder, Elem, Func, Op, Region, Rewriter, Scalar, Type, Value, keys};
use tc_support::Diagnostic;

/// Widens the loop `op`, whose extent is the number of lanes; gives what could not be.
pub(super) fn widen(func: &mut Func, op: Op) -> Vec<Diagnostic> {
    let lanes = const_extent(func, op).unwrap_or(0);
    if lanes == 0 {
        Rewriter::new(func).erase(op);
        return Vec::new();
    }
    let lo = func.operand(op, 0);
    if lanes == 1 {
        run_once(&mut Rewriter::new(func), op, lo);
        return Vec::new();
    }
    let mut variance = Variance::by(func, op);
    match candidates(func, op, &variance, Place::Innermost) {
        Err((at, reason)) => {
            let found = remark(func, op, &reason).label(func.op_location(at), "here");
            split::make_serial(func, op);
            return vec![found];
        }
        Ok(allocs) if !allocs.is_empty() => {
            for alloc in allocs {
                privatize(func, op, alloc, Place::Innermost);
            }
            variance = Variance::by(func, op);
        }
        Ok(_) => {}
    }
    let (body, var) = (func.op_regions(op)[0], loop_var(func, op));
    let groups = variance.groups(func, body);
    let tied = variance.tied(func, &groups);
    let mut varying = Varying::of(func, var);
    let faults = varying.visit(&groups);
    let Varying { values: varying, scalars, .. } = varying;
    // A loop over the lanes can neither take vectors nor give them.
    if let Some((at, reason)) = faults.iter().zip(&tied).find_map(|(fault, &tied)| fault.as_ref().filter(|_| tied)) {
        let found = remark(func, op, reason).label(func.op_location(*at), "here");
        split::make_serial(func, op);
        return vec![found];
    }
    let mut found = Vec::new();
    let mut wide = Wide { lanes: lanes as u16, varying, values: FxHashMap::default(), copies: ValueMap::default() };
    let mut b = Builder::before(func, op);
    let elem = b.func.value_scalar(var).map_or(Elem::Index, |scalar| scalar.elem);
    let one = b.int(1, elem);
    wide.values.insert(var, Lanes::Ramp(lo, one));
    for (group, fault) in groups.iter().zip(faults) {
        match fault {
            None => group.iter().for_each(|&op| wide.op(&mut Builder::before(func, op), op)),
            Some((at, reason)) => {
                let name = func.value_text(var);
                let text = format!("a statement of the vectorized loop `{name}` runs lane by lane: {reason}");
                found.push(Diagnostic::remark("not-vectorized", func.op_location(at), text));
                // What others use of it and can be computed apart is a vector all the same.
                for &op in group.iter().filter(|&&op| variance.computed_again(func, op)).collect::<Vec<_>>() {
                    if !func.results(op).any(|result| scalars.contains(&result)) {
                        wide.op(&mut Builder::before(func, op), op);
                    }
                }
                let kind = split::kind(func, lanes, group);
                as_loop(func, op, group, &variance, &kind);
            }
        }
    }
    let members: FxHashSet<Op> = groups.into_iter().flatten().collect();
    let originals: Vec<Op> = ops_under(func, body).filter(|op| members.contains(op)).collect();
    let mut rw = Rewriter::new(func);
    for original in originals.into_iter().rev() {
        rw.erase(original);
    }
    run_once(&mut rw, op, lo);
    found
}

/// A value in all lanes.
#[derive(Clone, Copy)]
enum Lanes {
    /// `base, base + stride, …`
    Ramp(Value, Value),
    Vector(Value),
}

/// What stands for the values of the loop's body.
struct Wide {
    lanes: u16,
    varying: FxHashSet<Value>,
    values: FxHashMap<Value, Lanes>,
    /// Of ops that are the same in all lanes.
    copies: ValueMap,
}

impl Wide {
    fn uniform(&self, value: Value) -> Value {
        *self.copies.get(&value).unwrap_or(&value)
    }

    /// `value` as a vector.
    fn vector(&self, b: &mut Builder<'_>, value: Value) -> Value {
        let lanes = b.func.int_attr(i64::from(self.lanes));
        match self.values.get(&value) {
            Some(&Lanes::Vector(vector)) => vector,
            Some(&Lanes::Ramp(base, stride)) => b.value(arith::RAMP, &[base, stride], &[(keys::LANES, lanes)]),
            None => {
                let value = self.uniform(value);
                b.value(arith::BROADCAST, &[value], &[(keys::LANES, lanes)])
            }
        }
    }

    fn widened(&self, func: &mut Func, ty: Type) -> Type {
        match func.as_scalar(ty) {
            Some(Scalar { elem, .. }) => func.scalar_ty(Scalar { elem, lanes: self.lanes }),
            None => ty,
        }
    }

    /// Makes what stands for `op` at the builder's place.
    fn op(&mut self, b: &mut Builder<'_>, op: Op) {
        let opcode = b.func.opcode(op);
        let varies = b.func.operands(op).iter().any(|operand| self.varying.contains(operand));
        let hands_on = b.func.results(op).any(|result| self.varying.contains(&result));
        b.locs = b.func.op_locs(op);
        match opcode {
            tir::IF if varies => self.choice(b, op),
            tir::IF if hands_on || touches(b.func, op, &self.varying) => self.branch(b, op),
            _ if !varies => {
                clone_op(b, op, &mut self.copies);
            }
            tir::LOAD | tir::STORE => self.access(b, op),
            _ => self.arith(b, op),
        }
    }

    fn give(&mut self, b: &mut Builder<'_>, old: Value, new: Lanes) {
        let name = b.func.value_name(old);
        let (Lanes::Vector(value) | Lanes::Ramp(value, _)) = new;
        // Where the base of a ramp was there before, it keeps its own name.
        if name.is_some() && b.func.value_name(value).is_none() && b.func.constant(value).is_none() {
            b.func.set_value_name(value, name);
        }
        self.values.insert(old, new);
    }

    fn access(&mut self, b: &mut Builder<'_>, op: Op) {
        let operands = b.func.operands(op).to_vec();
        let is_store = b.func.opcode(op) == tir::STORE;
        let last = operands.len() - 1 - usize::from(is_store);
        let new: Vec<Value> = operands
            .iter()
            .enumerate()
            .map(|(nth, &operand)| if nth >= last { self.vector(b, operand) } else { self.uniform(operand) })
            .collect();
        let types: Vec<Type> = b.func.results(op).map(|result| b.func.value_type(result)).collect();
        let types: Vec<Type> = types.into_iter().map(|ty| self.widened(b.func, ty)).collect();
        let attrs = b.func.op_attrs(op);
        let attrs = b.func.without_entry(attrs, keys::ALIGNED);
        let keyed = b.func.keyed_mask(op);
        let opcode = b.func.opcode(op);
        let made = b.op(OpSpec { opcode, operands: &new, keyed, attrs, results: &types, n_regions: 0 });
        if let Some((old, new)) = b.func.result(op).zip(b.func.result(made)) {
            self.give(b, old, Lanes::Vector(new));
        }
    }

    fn arith(&mut self, b: &mut Builder<'_>, op: Op) {
        let Some(result) = b.func.result(op) else { return };
        if let Some(ramp) = self.ramp(b, op) {
            return self.give(b, result, ramp);
        }
        let operands = b.func.operands(op).to_vec();
        let new: Vec<Value> = operands.iter().map(|&operand| self.vector(b, operand)).collect();
        let old_type = b.func.value_type(result);
        let ty = self.widened(b.func, old_type);
        let (opcode, keyed, attrs) = (b.func.opcode(op), b.func.keyed_mask(op), b.func.op_attrs(op));
        let made = b.op(OpSpec { opcode, operands: &new, keyed, attrs, results: &[ty], n_regions: 0 });
        if let Some(new) = b.func.result(made) {
            self.give(b, result, Lanes::Vector(new));
        }
    }

    /// The ramp that `op` makes of ramps and numbers. Integers that wrap stay vectors.
    fn ramp(&mut self, b: &mut Builder<'_>, op: Op) -> Option<Lanes> {
        let exact = |func: &Func, value: Value| {
            func.value_scalar(value).is_some_and(|scalar| matches!(scalar.elem, Elem::Index | Elem::I32 | Elem::I64))
        };
        let operands = b.func.operands(op).to_vec();
        if !exact(b.func, *operands.first()?) || !b.func.result(op).is_some_and(|result| exact(b.func, result)) {
            return None;
        }
        let parts: Vec<(Value, Option<Value>)> = operands
            .iter()
            .map(|&operand| match self.values.get(&operand) {
                Some(&Lanes::Ramp(base, stride)) => Some((base, Some(stride))),
                Some(Lanes::Vector(_)) => None,
                None => Some((self.uniform(operand), None)),
            })
            .collect::<Option<_>>()?;
        let opcode = b.func.opcode(op);
        match (opcode, &parts[..]) {
            (arith::ADD | arith::SUB, &[(lhs, left), (rhs, right)]) => {
                let base = b.value(opcode, &[lhs, rhs], &[]);
                let stride = match (left, right) {
                    (Some(left), Some(right)) => b.value(opcode, &[left, right], &[]),
                    (Some(left), None) => left,
                    (None, Some(right)) if opcode == arith::ADD => right,
                    (None, Some(right)) => negated(b, right),
                    (None, None) => return None,
                };
                Some(Lanes::Ramp(base, stride))
            }
            (arith::MUL, &[(lhs, left), (rhs, right)]) => {
                let (stride, factor) = match (left, right) {
                    (Some(stride), None) => (stride, rhs),
                    (None, Some(stride)) => (stride, lhs),
                    _ => return None,
                };
                let base = b.value(arith::MUL, &[lhs, rhs], &[]);
                Some(Lanes::Ramp(base, product(b, stride, factor)))
            }
            (arith::CAST, &[(base, Some(stride))]) => {
                let ty = b.func.value_type(b.func.result(op)?);
                let bits = |value: Value| b.func.value_scalar(value).map_or(0, |scalar| scalar.elem.bits());
                // To a narrower type each lane is cast for itself, and may wrap.
                if bits(base) > b.func.as_scalar(ty).map_or(0, |scalar| scalar.elem.bits()) {
                    return None;
                }
                let [base, stride] = [base, stride].map(|value| cast(b, value, ty));
                Some(Lanes::Ramp(base, stride))
            }
            _ => None,
        }
    }

    /// Both branches, and for each result the one that a lane takes.
    fn choice(&mut self, b: &mut Builder<'_>, op: Op) {
        debug_assert!(is_choice(b.func, op), "it was found that both branches may be evaluated");
        let regions = b.func.op_regions(op).to_vec();
        for &region in &regions {
            self.region(b, region);
        }
        let condition = self.vector(b, b.func.operand(op, 0));
        for (nth, result) in b.func.results(op).enumerate() {
            let arms: Vec<Value> = regions.iter().map(|&region| b.func.yielded(region)[nth]).collect();
            let [on_true, on_false] = [arms[0], arms[1]].map(|arm| self.vector(b, arm));
            let value = b.value(arith::SELECT, &[condition, on_true, on_false], &[]);
            self.give(b, result, Lanes::Vector(value));
        }
    }

    /// A conditional that all lanes take alike.
    fn branch(&mut self, b: &mut Builder<'_>, op: Op) {
        let results: Vec<Value> = b.func.results(op).collect();
        let mut types = Vec::with_capacity(results.len());
        for &result in &results {
            let ty = b.func.value_type(result);
            types.push(if self.varying.contains(&result) { self.widened(b.func, ty) } else { ty });
        }
        let condition = self.uniform(b.func.operand(op, 0));
        let (attrs, regions) = (b.func.op_attrs(op), b.func.op_regions(op).to_vec());
        let keyed = b.func.keyed_mask(op);
        let spec =
            OpSpec { opcode: tir::IF, operands: &[condition], keyed, attrs, results: &types, n_regions: regions.len() };
        let made = b.op(spec);
        for (nth, &region) in regions.iter().enumerate() {
            let target = b.func.op_regions(made)[nth];
            b.within(target, |b| {
                self.region(b, region);
                let Some(end) = b.func.terminator(region) else { return };
                b.locs = b.func.op_locs(end);
                let yielded = b.func.yielded(region).to_vec();
                let values: Vec<Value> = yielded
                    .iter()
                    .zip(&results)
                    .map(
                        |(&value, result)| {
                            if self.varying.contains(result) { self.vector(b, value) } else { self.uniform(value) }
                        },
                    )
                    .collect();
                tir::Yield::build(b, &values, &[], &[]);
            });
        }
        for (old, new) in results.into_iter().zip(b.func.results(made)) {
            if self.varying.contains(&old) {
                self.give(b, old, Lanes::Vector(new));
            } else {
                self.copies.insert(old, new);
            }
        }
    }

    fn region(&mut self, b: &mut Builder<'_>, region: Region) {
        let ops: Vec<Op> = b.func.ops(region).filter(|&op| !b.func.row(op).terminator).collect();
        for op in ops {
            self.op(b, op);
        }
    }
}

/// Does an op under `op` use a varying value?
fn touches(func: &Func, op: Op, varying: &FxHashSet<Value>) -> bool {
    let mut under = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
    under.any(|inner| func.operands(inner).iter().any(|operand| varying.contains(operand)))
}

fn negated(b: &mut Builder<'_>, value: Value) -> Value {
    match b.func.const_int(value).and_then(i64::checked_neg).zip(b.func.value_scalar(value)) {
        Some((value, scalar)) => b.int(value, scalar.elem),
        None => b.value(arith::NEG, &[value], &[]),
    }
}

fn product(b: &mut Builder<'_>, lhs: Value, rhs: Value) -> Value {
    let constant = b.func.const_int(lhs).zip(b.func.const_int(rhs)).and_then(|(lhs, rhs)| lhs.checked_mul(rhs));
    match constant.zip(b.func.value_scalar(lhs)) {
        Some((value, scalar)) => b.int(value, scalar.elem),
        None => b.value(arith::MUL, &[lhs, rhs], &[]),
    }
}

fn cast(b: &mut Builder<'_>, value: Value, ty: Type) -> Value {
    if b.func.value_type(value) == ty {
        return value;
    }
    if let (Some(number), Some(scalar)) = (b.func.const_int(value), b.func.as_scalar(ty)) {
        return b.int(number, scalar.elem);
    }
    let op = arith::Cast::build(b, value, &[], &[ty]);
    b.func.result(op).expect("a cast has one result")
}
