//! Gives every `index` a width: 32 bits where they are proved to suffice, else 64.
//!
//! # Input form
//!
//! A program whose buffers hold no `index`: elements in memory have the width that the operator gives them.
//!
//! # Output form
//!
//! No value of type `index` is left but the function's sizes, which are converted at the head where they are used. Values
//! that must have one type, because an op takes both, have one.
//!
//! # Example
//!
//! ```tir
//! for i in 0..513 bind(blockIdx.x) {
//!   A[i * 32] = 0.0
//! }
//! ->
//! for i in 0..513i32 bind(blockIdx.x) {
//!   A[i * 32] = 0.0
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Convert the sizes that are used, and use the results.
//! 2. Join values of type `index` that an op ties to each other into classes (union-find, Tarjan 1975).
//! 3. Bound every value by the ranges of sizes, and by the ranges of the loops around it. A class all of whose values
//!    lie in 32 bits becomes `i32`, any other `i64`.
//! 4. Set the types; casts between integers of equal type are left to be folded.
//!
//! # Limits
//!
//! A size without an upper end, and all that is computed of it, is 64 bits wide. Bounds come from loop ranges, not from
//! conditions: an index that only a condition keeps small becomes 64 bits wide.
//!
//! # Remarks
//!
//! `wide-index`: of the values that must have one width, the first that is not proved to fit 32 bits, with how far it may
//! reach; all of them get 64.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/narrow_datatype.cc`, without its rule that an index inherits the width of what it loads.

mod left;

use crate::analysis::fold::fold_op;
use rustc_hash::FxHashMap;
use tc_arith::{BinaryOp, Interval};
use tc_dialects::algebra::Algebra;
use tc_dialects::{arith, gpu, tir};
use tc_ir::opdef::{Infer, Role};
use tc_ir::rewrite::rewrite_ops;
use tc_ir::walk::all_ops;
use tc_ir::{Builder, Elem, Func, Op, Opcode, Region, Rewriter, Scalar, Type, Value, keys};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `narrow-index` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "narrow-index",
    source: include_str!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(NarrowIndex))),
};

/// The pass.
pub struct NarrowIndex;

impl FuncPass for NarrowIndex {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        if refuse_buffers(func, cx) || !has_index(func) {
            return false;
        }
        convert_sizes(func);
        divide_literals(func);
        let mut classes = Classes::new(func.n_value_ids());
        classes.wide = cx.wants_missed().then(Vec::new);
        for op in all_ops(func) {
            tie(func, op, &mut classes);
        }
        bound_all(func, &mut classes);
        left::tell(func, &mut classes, cx);
        set_types(func, &mut classes, cx);
        rewrite_ops(func, |rw, op| {
            if rw.func().opcode(op) == arith::CAST {
                fold_op(rw, op);
            }
        });
        true
    }
}

/// What lies in memory has a width that everybody who reads it knows: a buffer of `index` has none.
fn refuse_buffers(func: &Func, cx: &mut PassCx) -> bool {
    let of_ops = all_ops(func).flat_map(|op| func.results(op).map(move |value| (value, func.op_location(op))));
    let of_params = func.params().iter().map(|&param| (param, func.location(func.header.loc)));
    let mut refused = false;
    for (buffer, at) in of_params.chain(of_ops) {
        let elem = func.as_shaped(func.value_type(buffer)).and_then(|(elem, _, _)| func.as_scalar(elem));
        if elem.is_some_and(|elem| elem.elem == Elem::Index) {
            let text =
                format!("`{}` holds elements of `index`, which have no width in memory", func.value_text(buffer));
            let help = "compute elements of `i32` or `i64`: `cast<i32>(…)`";
            cx.report(Diagnostic::error("index-in-memory", at, text).help(help));
            refused = true;
        }
    }
    refused
}

/// Puts a conversion at the head for each size that is computed with, so that only that has a width: the size itself
/// stays what the types of buffers speak of.
fn convert_sizes(func: &mut Func) {
    let body = func.body();
    let sizes: Vec<Value> = func.region_args(body)[..func.header.symbols.len()].to_vec();
    let ops: Vec<Op> = all_ops(func).collect();
    for size in sizes.into_iter().rev().filter(|&size| func.n_uses(size) > 0).collect::<Vec<_>>() {
        let (index, name) = (func.index_ty(), func.value_name(size));
        let mut b = Builder::at_start(func, body);
        let cast = arith::Cast::build(&mut b, size, &[], &[index]);
        let Some(width) = b.func.result(cast) else { continue };
        b.func.set_value_name(width, name);
        let mut rw = Rewriter::new(func);
        for &op in &ops {
            for idx in 0..rw.func().operands(op).len() {
                if rw.func().operand(op, idx) == size {
                    rw.set_operand(op, idx, width);
                }
            }
        }
    }
}

/// Gives every use of a literal a literal of its own, as it has in text: one that several share would tie them.
fn divide_literals(func: &mut Func) {
    let ops: Vec<Op> = all_ops(func).collect();
    for op in ops {
        for idx in 0..func.operands(op).len() {
            let value = func.operand(op, idx);
            let literal = func.constant(value).filter(|_| {
                func.n_uses(value) > 1 && func.value_name(value).is_none() && index_lanes(func, value).is_some()
            });
            let Some(literal) = literal else { continue };
            let ty = func.value_type(value);
            let own = arith::Constant::build(&mut Builder::before(func, op), &[(keys::VALUE, literal)], &[ty]);
            if let Some(own) = func.result(own) {
                Rewriter::new(func).set_operand(op, idx, own);
            }
        }
    }
}

fn index_lanes(func: &Func, value: Value) -> Option<u16> {
    func.value_scalar(value).filter(|scalar| scalar.elem == Elem::Index).map(|scalar| scalar.lanes)
}

fn values_of(func: &Func, op: Op) -> impl Iterator<Item = Value> + '_ {
    let args = func.op_regions(op).iter().flat_map(|&region| func.region_args(region).iter().copied());
    func.results(op).chain(args)
}

fn has_index(func: &Func) -> bool {
    let params = func.params().iter().any(|&value| index_lanes(func, value).is_some());
    params || all_ops(func).any(|op| values_of(func, op).any(|value| index_lanes(func, value).is_some()))
}

/// Classes of values that must have one width.
struct Classes {
    parent: Vec<u32>,
    is_wide: Vec<bool>,
    /// The bounds of vectors, which the algebra does not see into.
    vectors: FxHashMap<Value, Interval>,
    /// The values that may leave 32 bits, with what is known of them, where somebody asks.
    wide: Option<Vec<(Value, String, Interval)>>,
}

impl Classes {
    fn new(n: usize) -> Classes {
        Classes { parent: (0..n as u32).collect(), is_wide: vec![false; n], vectors: FxHashMap::default(), wide: None }
    }

    fn root(&mut self, value: Value) -> usize {
        let mut at = value.as_u32();
        while self.parent[at as usize] != at {
            let next = self.parent[at as usize];
            self.parent[at as usize] = self.parent[next as usize];
            at = next;
        }
        at as usize
    }

    fn join(&mut self, a: Value, b: Value) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b) as u32;
    }
}

/// Joins the values that `op` wants to be of one type.
fn tie(func: &Func, op: Op, classes: &mut Classes) {
    let mut group: Vec<Value> = Vec::new();
    match func.role(op) {
        Role::For => {
            let body = func.op_regions(op)[0];
            let args = func.region_args(body);
            group.extend([func.operand(op, 0), func.operand(op, 1), args[0]]);
            for (nth, result) in func.results(op).enumerate() {
                for other in [func.operand(op, nth + 2), args[nth + 1], func.yielded(body)[nth]] {
                    classes.join(result, other);
                }
            }
        }
        Role::If => {
            for &region in func.op_regions(op) {
                for (result, &value) in func.results(op).zip(func.yielded(region)) {
                    classes.join(result, value);
                }
            }
        }
        // Of a reduction, each value has its own two arguments of the combiner.
        _ if func.opcode(op) == gpu::ALL_REDUCE => {
            let body = func.op_regions(op)[0];
            let args = func.region_args(body);
            for (nth, result) in func.results(op).enumerate() {
                for other in [func.operand(op, nth), args[nth], args[nth + args.len() / 2], func.yielded(body)[nth]] {
                    classes.join(result, other);
                }
            }
        }
        // A cast is where widths meet; accesses take any.
        Role::Cast | Role::Load | Role::Store | Role::RefElement | Role::RefRegion | Role::Constant => {}
        _ => match func.row(op).infer {
            Infer::Same(from) => {
                group.extend(func.operands(op)[from..].iter().copied());
                group.extend(func.result(op));
            }
            _ => {
                group.extend(func.operands(op).iter().copied());
                group.extend(func.results(op));
            }
        },
    }
    group.retain(|&value| index_lanes(func, value).is_some());
    if let Some((&first, rest)) = group.split_first() {
        rest.iter().for_each(|&value| classes.join(first, value));
    }
}

/// Marks the classes in which a value may leave 32 bits.
fn bound_all(func: &Func, classes: &mut Classes) {
    let mut algebra = Algebra::of_func(func);
    bound_region(func, func.body(), &mut algebra, classes);
    for &param in func.params() {
        if index_lanes(func, param).is_some() {
            let root = classes.root(param);
            classes.is_wide[root] = true;
        }
    }
}

fn bound_region(func: &Func, region: Region, algebra: &mut Algebra, classes: &mut Classes) {
    for op in func.ops(region) {
        for value in func.results(op) {
            bound(func, value, algebra, classes);
        }
        for &inner in func.op_regions(op) {
            let mark = algebra.analyzer.mark();
            if func.opcode(op) == tir::FOR {
                algebra.enter_region(func, inner);
            }
            for &arg in func.region_args(inner) {
                bound(func, arg, algebra, classes);
            }
            bound_region(func, inner, algebra, classes);
            algebra.analyzer.rollback(mark);
        }
    }
}

fn bound(func: &Func, value: Value, algebra: &mut Algebra, classes: &mut Classes) {
    let Some(lanes) = index_lanes(func, value) else { return };
    let fits = if lanes == 1 {
        let expr = algebra.expr(func, value);
        // Most values are small by their operands' ranges alone.
        is_narrow(algebra.analyzer.quick_bounds(expr)) || is_narrow(algebra.analyzer.bounds(expr))
    } else {
        is_narrow(vector_bounds(func, value, algebra, classes))
    };
    if !fits {
        let root = classes.root(value);
        classes.is_wide[root] = true;
        if classes.wide.is_some() {
            left::note(func, value, algebra, classes);
        }
    }
}

/// Do 32 bits hold all of it?
fn is_narrow(interval: Interval) -> bool {
    interval.min().is_some_and(|min| min >= i64::from(i32::MIN))
        && interval.max().is_some_and(|max| max <= i64::from(i32::MAX))
}

/// The bounds of all lanes of a vector.
fn vector_bounds(func: &Func, value: Value, algebra: &mut Algebra, classes: &mut Classes) -> Interval {
    let Some(op) = func.def_op(value) else { return Interval::default() };
    let mut of = |nth: usize| {
        let operand = func.operand(op, nth);
        match func.value_scalar(operand) {
            Some(Scalar { lanes: 1, .. }) => {
                let expr = algebra.expr(func, operand);
                algebra.analyzer.bounds(expr)
            }
            // Operands stand before their users.
            Some(_) => classes.vectors.get(&operand).copied().unwrap_or_default(),
            None => Interval::default(),
        }
    };
    let bounds = match func.opcode(op) {
        arith::BROADCAST => of(0),
        arith::RAMP => {
            let steps = func.value_scalar(value).map_or(0, |scalar| i64::from(scalar.lanes) - 1);
            of(0) + Interval::apply(BinaryOp::Mul, of(1), Interval::new(0, steps))
        }
        arith::SELECT => of(1).union(of(2)),
        arith::NEG => Interval::apply(BinaryOp::Sub, Interval::point(0), of(0)),
        opcode => match binary(opcode) {
            Some(binary) => Interval::apply(binary, of(0), of(1)),
            None => Interval::default(),
        },
    };
    classes.vectors.insert(value, bounds);
    bounds
}

fn binary(opcode: Opcode) -> Option<BinaryOp> {
    Some(match opcode {
        arith::ADD => BinaryOp::Add,
        arith::SUB => BinaryOp::Sub,
        arith::MUL => BinaryOp::Mul,
        arith::DIV => BinaryOp::FloorDiv,
        arith::MOD => BinaryOp::FloorMod,
        arith::TDIV => BinaryOp::TruncDiv,
        arith::TMOD => BinaryOp::TruncMod,
        arith::MIN => BinaryOp::Min,
        arith::MAX => BinaryOp::Max,
        _ => return None,
    })
}

fn set_types(func: &mut Func, classes: &mut Classes, cx: &mut PassCx) {
    let ops: Vec<Op> = all_ops(func).collect();
    let mut values: Vec<Value> = func.params().to_vec();
    for &op in &ops {
        values.extend(values_of(func, op));
    }
    for value in values {
        let Some(lanes) = index_lanes(func, value) else { continue };
        let root = classes.root(value);
        let elem = if classes.is_wide[root] { Elem::I64 } else { Elem::I32 };
        cx.count(if elem == Elem::I32 { "values of 32 bits" } else { "values of 64 bits" }, 1);
        let ty: Type = func.scalar_ty(Scalar { elem, lanes });
        Rewriter::new(func).set_type(value, ty);
    }
}
